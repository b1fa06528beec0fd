"""Turns a validated dialogue into a verdict: mask -> suspicions -> decide -> verdict.

Suspicions come from exact checks, policies and the scan; `dialint.detector.decide` makes findings and
suggestions of them. A code is judged on a turn only if the release covers the turn's language and, where the
turn's words alone do not show the error, that of the customer's turn before. A dialogue of which no turn is
covered is not scanned. Turns in other languages still serve as context for the rest.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any

from dialint.detector.artifacts import fingerprint
from dialint.detector.calibration import POLICY_CHECK, CheckPrecision, CodeRelease, round_probability
from dialint.detector.checks import Check, CheckContext, check_plugins
from dialint.detector.decide import Decision, Facts, Rules, build_finding, decide, drop_doubles
from dialint.detector.environment import require_library
from dialint.detector.errors import (
    ConfigError,
    DialintError,
    DialogueFailed,
    ReleaseRefused,
    describe_defect,
)
from dialint.detector.interface import Detector, DetectorConfig, Monitor, default_threads, runs_by_onnx
from dialint.detector.languages import parse_languages
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile, profile_log
from dialint.detector.masking import MaskedText, mask_dialogue, recognizer_plugins
from dialint.detector.overrides import NO_OVERRIDES, Overrides, read_overrides
from dialint.detector.plugins import Plugin, describe
from dialint.detector.policy import Policy, load_policies, policy_for
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, PolicyVersion, Turn, Verdict
from dialint.detector.registry import resolve_release
from dialint.detector.release import EMBEDDED, LanguageCoverage, Release, ReleaseInfo, TurnCoverage
from dialint.detector.render import Renderer
from dialint.detector.scanner import Engine, Scanner
from dialint.detector.suspicions import PreparedDialogue, SuspicionFinder
from dialint.detector.taxonomy import Taxonomy, load_taxonomy


def load_detector(config: DetectorConfig | None = None, *, unfinished: bool = False) -> ReleaseDetector:
    """Load the detector of a release and verify it; without a `config`, that of the embedded release.

    Only an `unfinished` release may cover no code yet.

    Raises:
        ReleaseRefused: the release is missing, damaged, covers nothing, or is of another taxonomy.
        ConfigError: a wrong option, or a broken taxonomy file.
    """
    config = config or DetectorConfig()
    if config.threads < 0:
        raise ConfigError("E_OPTION", "--threads must be at least 0")
    languages = parse_languages(config.languages)
    taxonomy = load_taxonomy(config.taxonomy)
    folder = resolve_release("scan", config.release) if config.release else EMBEDDED
    release = Release(folder, has_scan=config.scan == "auto")
    _validate_codes(release, taxonomy, unfinished)

    overrides = read_overrides(config.overrides)
    if config.overrides is not None:
        overrides.check_release(config.overrides, release.info.id, release.info.codes)
    is_scanned = config.scan == "auto"
    return ReleaseDetector(
        release.info if is_scanned or not release.info.scan_reports else release.info.without_scan(),
        release.fingerprint,
        _load_scanner(release, taxonomy, config) if is_scanned else None,
        taxonomy,
        languages=languages,
        overrides=overrides,
        policies=load_policies(config.policy),
        trust_domain=config.domain == "trust",
        plugins=check_plugins(config.check),
    )


def _load_scanner(release: Release, taxonomy: Taxonomy, config: DetectorConfig) -> Scanner:
    info = release.info
    return Scanner(
        Renderer(info.render, release.tokenizer_json()),
        _load_engine(release, config),
        tuple(code in info.dialogue_codes for code in info.head_codes),
        tuple(code in taxonomy.codes and taxonomy.codes[code].context_free for code in info.head_codes),
    )


def _load_engine(release: Release, config: DetectorConfig) -> Engine:
    """ONNX Runtime on CPUs for what it can run, else torch."""
    threads = config.threads or default_threads()
    if runs_by_onnx(config, release.config):
        from dialint.detector.engines import onnx_scan  # heavy, as torch is; only when something is scanned

        return onnx_scan.OnnxEngine(release, threads)
    require_library("torch", f"the scan of {release.info.id}")
    import torch

    from dialint.detector.engines import local

    torch.set_num_threads(threads)
    return local.load_engine(release, config.precision, config.device)


def score(
    dialogues: Iterable[Dialogue], detector: Detector | None = None, *, all_probabilities: bool = False
) -> list[Verdict]:
    """Return the verdict of each dialogue, in order; without a `detector`, that of the embedded release.

    A dialogue that cannot be judged gets a verdict with the status ``failed`` and the reason. Personal data
    are masked before anything is judged. The profile of the log, such as the marks of its own masking, is
    made of these dialogues, unless the detector has one. For logs in files, and for more than fits into
    memory, use ``dialint score``.

    Raises:
        ReleaseRefused: the embedded release is damaged.
    """
    dialogues = tuple(dialogues)
    if detector is None:
        is_scanned = all_probabilities or Release(EMBEDDED, has_scan=False).info.scan_reports
        detector = load_detector(DetectorConfig(scan="auto" if is_scanned else "off"))
    if isinstance(detector, ReleaseDetector) and detector.log == EMPTY_PROFILE:
        detector = detector.with_log(profile_log(dialogues, detector.info.domain))
    verdicts = detector.verdicts(dialogues, all_probabilities=all_probabilities)
    return [verdict.with_origin(each) for verdict, each in zip(verdicts, dialogues, strict=True)]


def _validate_codes(release: Release, taxonomy: Taxonomy, unfinished: bool) -> None:
    """Check that a release was made for this version of the taxonomy; only the patch version may differ."""
    info = release.info
    if not info.covered and not unfinished:
        raise ReleaseRefused(
            "E_RELEASE", "{path}: covers no code, so every dialogue would look clean", path=release.folder
        )
    if not taxonomy.fits(info.taxonomy):
        raise ReleaseRefused(
            "E_TAXONOMY", "{path}: made for taxonomy {version}, and this one is {own}",
            path=release.folder, version=info.taxonomy, own=taxonomy.version,
        )  # fmt: skip
    unknown = sorted(set(info.codes) - set(taxonomy.codes))
    if unknown:
        raise ReleaseRefused(
            "E_TAXONOMY", "{path}: codes {codes} are not in the taxonomy",
            path=release.folder, codes=str(unknown),
        )  # fmt: skip


def add_checks(
    info: ReleaseInfo, checks: Mapping[str, Check], plugins: Mapping[str, Plugin], taxonomy: Taxonomy
) -> ReleaseInfo:
    """Return a release's description with the checks of others added, for the codes of the taxonomy."""
    codes = dict(info.codes)
    for name, check in checks.items():
        for code, evidence in check.codes.items():
            if plugins[name].is_own or code not in taxonomy.codes:
                continue
            added = CheckPrecision(name=name, precision=evidence.precision, report=evidence.outcome)
            before = codes.get(code)
            if before is None:
                codes[code] = CodeRelease(checks=(added,))
            elif added not in before.checks:
                unscanned = tuple(each for each in before.unscanned_languages if not check.covers(each))
                update = {"checks": (*before.checks, added), "unscanned_languages": unscanned}
                codes[code] = before.model_copy(update=update)
    return info if codes == info.codes else info.model_copy(update={"codes": codes})


@dataclass(eq=False)
class ReleaseDetector:
    """Judges dialogues with a release's scan and exact checks.

    `weights` is the fingerprint of the release's files; without a `scanner` only checks judge; `languages` as
    `dialint.detector.languages` forces them; `log` is the profile of the whole log; `policies`
    are the team's by their names; with `trust_domain` no log is far from the calibration data;
    `plugins` are the checks.
    """

    info: ReleaseInfo
    weights: str
    scanner: Scanner | None
    taxonomy: Taxonomy
    _: KW_ONLY
    languages: tuple[str, ...] = ()
    log: LogProfile = EMPTY_PROFILE
    overrides: Overrides = NO_OVERRIDES
    policies: Mapping[str, Policy] = field(default_factory=dict)
    trust_domain: bool = False
    plugins: Mapping[str, Plugin] = field(default_factory=check_plugins)
    judge_info = None

    def __post_init__(self) -> None:
        checks = {name: plugin.load(Check) for name, plugin in self.plugins.items()}
        self.info = info = add_checks(self.info, checks, self.plugins, self.taxonomy)
        self.monitor = Monitor()
        domain, log = info.domain, self.log
        is_far = domain is not None and domain.is_far(log.distance, log.n_dialogues) and not self.trust_domain
        self._rules = Rules(info.codes, self.overrides, domain if is_far else None)
        context = CheckContext(log, self.policies, self.languages, self.taxonomy.waits)
        self._finder = SuspicionFinder(info, self.taxonomy, checks, context, self._rules)
        self._coverage = LanguageCoverage(info, self.taxonomy, checks)
        self.release = info.id
        reported = {*info.covered, *self.overrides.thresholds}
        self.codes = tuple(code for code in info.codes if code in reported)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(
            [
                self.weights,
                self.info.model_dump(mode="json"),
                self.taxonomy.model_dump(mode="json"),
                "no scan" if self.scanner is None else self.scanner.engine.fingerprint,
                *([self.languages] if self.languages else []),
                *([] if self.log == EMPTY_PROFILE else [self.log.fingerprint]),
                *[policy.model_dump(mode="json") for policy in self.policies.values()],
                *([] if self.overrides.fingerprint is None else [self.overrides.fingerprint]),
                *(["domain: trust"] if self.trust_domain else []),
                *describe([*self.plugins.values(), *recognizer_plugins().values()]),
            ]
        )

    def copy(self, **changes: Any) -> ReleaseDetector:
        """The same detector with other fields, such as another `info` of a release in the making."""
        return replace(self, **changes)

    def with_log(self, log: LogProfile) -> ReleaseDetector:
        """The same detector for dialogues of a log with this profile."""
        return replace(self, log=log)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        """The verdicts in order. A dialogue at which masking or a check meets a defect gets a failed one
        (E_INTERNAL); a defect of the scan's engine, which may not work any more, is raised."""
        monitor, engine = self.monitor, None if self.scanner is None else self.scanner.engine
        n_tokens = 0 if engine is None else engine.n_tokens
        if engine is not None:  # shared by the detectors of several logs
            engine.on_row = lambda: monitor.on_step(None)
        verdicts = dict[int, Verdict]()
        masked = dict[int, tuple[Dialogue, tuple[MaskedText, ...]]]()
        coverages = dict[int, Mapping[int, TurnCoverage]]()
        for index, dialogue in enumerate(dialogues):
            monitor.on_step(index)
            started_s = time.perf_counter()
            with self._fail_alone(index, dialogue, verdicts):
                masked[index] = mask_dialogue(dialogue)
                coverages[index] = self._coverage.turns(masked[index][0], self.languages)
            monitor.add_seconds("mask", time.perf_counter() - started_s)
        is_reported = any(self._rules.least(code) <= 1 for code in self.info.codes)
        scanner = self.scanner if all_probabilities or is_reported else None
        judged = {
            index: [turn.index for turn in dialogue.turns if self._can_judge(turn)]
            for index, (dialogue, _) in masked.items()
        }
        scanned = {
            index: masked[index][0]
            for index, coverage in coverages.items()
            if scanner is not None and any(coverage[turn].scanned for turn in judged[index])
        }

        def iterate_scanned() -> Iterator[Dialogue]:
            for position, dialogue in scanned.items():
                monitor.on_step(position)
                yield dialogue

        scans = iter(()) if scanner is None else scanner.stream(iterate_scanned())
        for index, dialogue in enumerate(dialogues):
            started_s = time.perf_counter()
            scan = next(scans) if index in scanned else ()
            scanned_s = time.perf_counter()
            monitor.add_seconds("scan", scanned_s - started_s)
            monitor.on_step(index)
            silent = [turn.index for turn in dialogue.turns if turn.is_silent_act]
            if index in verdicts:
                pass
            elif not judged[index] and not silent:
                verdicts[index] = self._failed_verdict(dialogue, "E_NO_AGENT_TURN")
            elif isinstance(scan, DialogueFailed):
                verdicts[index] = self._failed_verdict(dialogue, scan.code)
            else:
                scores = {turn.turn: turn for turn in scan}
                case = PreparedDialogue(
                    dialogue, *masked[index], judged[index], silent, scores, coverages[index]
                )
                with self._fail_alone(index, dialogue, verdicts):
                    verdicts[index] = self._judge(case, all_probabilities)
            monitor.add_seconds("checks", time.perf_counter() - scanned_s)
            monitor.on_progress(index + 1)
        if engine is not None:
            monitor.tokens += engine.n_tokens - n_tokens
        return [verdicts[index] for index in range(len(dialogues))]

    @contextmanager
    def _fail_alone(self, index: int, dialogue: Dialogue, verdicts: dict[int, Verdict]) -> Iterator[None]:
        """Turns a defect at a dialogue into its failed verdict."""
        try:
            yield
        except (DialintError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  it must not fail the other dialogues
            self.monitor.on_defect(f"dialogue {dialogue.id!r}: E_INTERNAL: {describe_defect(error)}")
            verdicts[index] = self._failed_verdict(dialogue, "E_INTERNAL")

    def _can_judge(self, turn: Turn) -> bool:
        """Returns whether a turn is judged if its language is covered, by the renderer's rules."""
        render = self.info.render
        is_read = bool(turn.text.strip()) or (render.calls and turn.is_silent_act)
        return turn.role in JUDGED_ROLES and turn.role in render.roles and is_read

    def _failed_verdict(self, dialogue: Dialogue, failure: str) -> Verdict:
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="failed",
            failure=failure,
            **self._origin(dialogue),
        )

    def _origin(self, dialogue: Dialogue) -> dict[str, Any]:
        """Returns the fields of a verdict on the team's own rules that applied."""
        applies = policy_for(dialogue, self.policies)
        policy = applies and PolicyVersion(name=applies.policy, sha256=applies.fingerprint)
        return {"policy": policy, "overrides": self.overrides.fingerprint}

    def _judge(self, case: PreparedDialogue, all_probabilities: bool) -> Verdict:
        lacking = self._codes_without_policy(case.dialogue)
        no_policy = tuple(code for code in lacking if self._is_of_policies_alone(code))
        facts = Facts(case.dialogue, case.coverage, lacking, self.log)
        suspicions = self._finder.find(case)
        findings: list[Finding] = []
        suggestions: list[Finding] = []
        probabilities: dict[int, dict[str, float]] = {index: {} for index in case.judged}
        for index in sorted({*case.judged, *case.silent}):
            position = case.place_of[index]
            of_turn: dict[str, list[Finding]] = {"finding": [], "suggestion": []}
            for code in self.info.codes:
                if code in no_policy:
                    continue
                decision = decide(suspicions.get((index, code), ()), self._rules, facts)
                if all_probabilities and index in probabilities:
                    probability = self._probability(case, index, code, decision, lacking)
                    probabilities[index] |= (
                        {} if probability is None else {code: round_probability(probability)}
                    )
                if decision is not None and decision.outcome != "dropped":
                    turns, text = case.masked.turns[: position + 1], case.texts[position]
                    turn = case.dialogue.turns[position]
                    finding = build_finding(decision, turn, turns, text, self.taxonomy, self.log)
                    of_turn[decision.outcome].append(finding)
            findings += (accused := drop_doubles(of_turn["finding"], (), self.taxonomy))
            suggestions += drop_doubles(of_turn["suggestion"], accused, self.taxonomy)
        n_judged = len(case.judged)
        share = sum(case.coverage[index].is_judged for index in case.judged) / n_judged if n_judged else 1.0
        gaps = self._coverage.gaps(case.coverage, case.judged, lacking)
        return Verdict(
            dialogue_id=case.dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="scored" if share else "not_judged",
            quality=None if gaps else self.taxonomy.quality(tuple(findings), case.dialogue.team),
            findings=tuple(findings),
            suggestions=tuple(suggestions),
            probabilities=probabilities if all_probabilities else None,
            judged_share=None if share in (0.0, 1.0) else round(share, 4),
            not_judged=gaps,
            no_policy=no_policy,
            agent_turns=n_judged,
            **self._origin(case.dialogue),
        )

    def _codes_without_policy(self, dialogue: Dialogue) -> tuple[str, ...]:
        """The codes that the check of policies serves, where no policy with rules for them applies."""
        needing = [
            code
            for code, how in self.info.codes.items()
            if any(check.name == POLICY_CHECK for check in how.checks)
        ]
        policy = policy_for(dialogue, self.policies) if needing else None
        return tuple(code for code in needing if policy is None or code not in policy.codes)

    def _is_of_policies_alone(self, code: str) -> bool:
        how = self.info.codes[code]
        return "scan" not in how.covered_by and all(check.name == POLICY_CHECK for check in how.checks)

    def _probability(
        self,
        case: PreparedDialogue,
        index: int,
        code: str,
        decision: Decision | None,
        lacking: Collection[str],
    ) -> float | None:
        """The probability of an error; None where nothing judged the turn and code."""
        by_scan = self._finder.scan_probability(case, index, code)
        is_checked = any(
            check.name != POLICY_CHECK or code not in lacking
            for check in case.coverage[index].checked.get(code, ())
        )
        if (
            decision is None
            and by_scan is None
            and ((self.scanner is not None and self.info.codes[code].scan is not None) or not is_checked)
        ):
            return None
        return max(self._rules.stated(by_scan or 0.0), 0.0 if decision is None else decision.probability)
