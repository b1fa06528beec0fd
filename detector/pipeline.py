"""Turns a validated dialogue into a verdict: mask, detect languages, scan, check, calibrate, quote.

A code is judged on a turn only if the release covers the turn's language and, where the turn's words alone do
not show the error, that of the customer's turn before. A dialogue of which no turn is covered is not scanned.
Turns in other languages still serve as context for the rest.
`ReleaseDetector` implements `dialint.detector.interface.Detector`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from dialint.detector.artifacts import fingerprint
from dialint.detector.calibration import POLICY_CHECK, Check, CodeRelease, Scan, round_probability
from dialint.detector.checks import Check as ExactCheck
from dialint.detector.checks import CheckContext, Hit, check_plugins
from dialint.detector.demotions import read_demotions
from dialint.detector.errors import ConfigError, DialogueFailed, ReleaseRefused
from dialint.detector.extras import require_library
from dialint.detector.gates import GATES, Suspicion, append_proof
from dialint.detector.interface import Detector, DetectorConfig, default_threads
from dialint.detector.language_coverage import LanguageCoverage, TurnCoverage
from dialint.detector.languages import parse_languages
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile, profile_log
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.natural import NaturalPrecision, load_natural
from dialint.detector.plugins import Plugin, describe
from dialint.detector.policy import Policy, load_policies, policy_for
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, PolicyVersion, Turn, Verdict
from dialint.detector.registry import resolve_release
from dialint.detector.release import EMBEDDED, Release, ReleaseInfo
from dialint.detector.render import Renderer
from dialint.detector.scanner import Engine, Scanner, TurnScores, evidence_span
from dialint.detector.taxonomy import Code, Taxonomy, load_taxonomy
from dialint.detector.thresholds import Thresholds, read_thresholds

MAX_WORDS = 100
"""Most characters of a turn that a reason quotes."""
FAR_LOG = "the log is far from what the release was calibrated on"
NO_POLICY = "no policy with rules for it applies to the dialogue"
_Kind = Literal["finding", "suggestion", "dropped"]
_SENTENCE_END = re.compile(r"[.!?？؟;。\n]")


def load_detector(config: DetectorConfig | None = None, *, unfinished: bool = False) -> ReleaseDetector:
    """Load the detector of a release and verify it; without a `config`, that of the embedded release.

    Only an `unfinished` release may cover no code yet.

    Raises:
        ReleaseRefused: the release is missing, damaged, covers nothing, or is of another taxonomy.
        ConfigError: a wrong option, or a broken taxonomy file.
    """
    config = config or DetectorConfig()
    if config.row_tokens < 1 or config.threads < 0:
        raise ConfigError("E_OPTION", "--row-tokens must be at least 1 and --threads at least 0")
    languages = parse_languages(config.languages)
    taxonomy = load_taxonomy(config.taxonomy)
    release = Release(resolve_release("scan", config.release) if config.release else EMBEDDED)
    _validate_codes(release, taxonomy, unfinished)

    import torch  # heavy; only when something is scored

    from dialint.detector.engines import local

    torch.set_num_threads(config.threads or default_threads())
    engine: Engine
    if config.engine == "local":
        engine = local.load_engine(release, config.precision, config.row_tokens, config.device)
    else:
        require_library("httpx2", "--engine http:")
        from dialint.detector.engines.pooling import open_pooling_engine

        engine = open_pooling_engine(release, config.engine, config.row_tokens)
    info = release.info
    scanner = Scanner(
        Renderer(info.render, release.tokenizer_json()),
        engine,
        tuple(code in info.dialogue_codes for code in info.head_codes),
        tuple(code in taxonomy.codes and taxonomy.codes[code].context_free for code in info.head_codes),
    )
    policies = load_policies(config.policy)
    natural = load_natural(config.spot_check, info.id)
    demoted = {**(natural.demoted if natural else {}), **read_demotions(config.demoted, info.id)}
    return ReleaseDetector(
        info,
        release.fingerprint,
        scanner,
        taxonomy,
        languages,
        demoted=demoted,
        policies=policies,
        natural=natural,
        trust_domain=config.domain == "trust",
        thresholds=read_thresholds(config.thresholds, info.id, info.codes),
        plugins=check_plugins(config.check),
    )


def score(
    dialogues: Iterable[Dialogue], detector: Detector | None = None, *, all_probabilities: bool = False
) -> list[Verdict]:
    """Return the verdict of each dialogue, in order; without a `detector`, that of the embedded release.

    A dialogue that cannot be judged gets a verdict with the status ``failed`` and the reason. Personal data
    are masked before anything is judged. What is learnt of the log as a whole, such as the marks of its own
    masking, is learnt of these dialogues, unless the detector has a profile already. For logs in files, and
    for more than fits into memory, use ``dialint score``.

    Raises:
        ReleaseRefused: the embedded release is damaged.
    """
    detector, dialogues = detector or load_detector(), tuple(dialogues)
    if isinstance(detector, ReleaseDetector) and detector.log == EMPTY_PROFILE:
        detector = detector.with_log(profile_log(dialogues, detector.info.domain))
    verdicts = detector.verdicts(dialogues, all_probabilities=all_probabilities)
    return [verdict.with_origin(each) for verdict, each in zip(verdicts, dialogues, strict=True)]


def _validate_codes(release: Release, taxonomy: Taxonomy, unfinished: bool) -> None:
    """Check that a release was made for this version of the taxonomy; only the patch version may differ."""
    info = release.info
    if not info.codes and not unfinished:
        raise ReleaseRefused(
            "E_RELEASE", "{path}: covers no code, so every dialogue would look clean", path=release.folder
        )
    if info.taxonomy.split(".")[:2] != taxonomy.version.split(".")[:2]:
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
    info: ReleaseInfo, checks: Mapping[str, ExactCheck], plugins: Mapping[str, Plugin], taxonomy: Taxonomy
) -> ReleaseInfo:
    """Return a release's description with the checks of others added, for the codes of the taxonomy."""
    codes = dict(info.codes)
    for name, check in checks.items():
        for code, evidence in check.codes.items():
            if plugins[name].is_own or code not in taxonomy.codes:
                continue
            added = Check(name=name, precision=evidence.precision, report=evidence.outcome)
            before = codes.get(code)
            if before is None:
                codes[code] = CodeRelease(checks=(added,))
            elif added not in before.checks:
                codes[code] = before.model_copy(update={"checks": (*before.checks, added)})
    return info if codes == info.codes else info.model_copy(update={"codes": codes})


class ReleaseDetector:
    """Judges dialogues with a release's scanner and exact checks."""

    def __init__(
        self,
        info: ReleaseInfo,
        weights: str,
        scanner: Scanner,
        taxonomy: Taxonomy,
        languages: tuple[str, ...] = (),
        log: LogProfile = EMPTY_PROFILE,
        demoted: Mapping[str, str] | None = None,
        policies: Mapping[str, Policy] | None = None,
        natural: NaturalPrecision | None = None,
        trust_domain: bool = False,
        thresholds: Thresholds | None = None,
        plugins: Mapping[str, Plugin] | None = None,
    ) -> None:
        """`weights` is the fingerprint of the release's files; `languages` as `dialint.detector.languages`
        forces them; `log` is what the whole log says about its dialogues; `demoted` maps codes that may only
        be suggested here to why; `policies` are the team's by their names; `natural` is what a spot check
        says of the probabilities; with `trust_domain` no log is far from what the release was calibrated
        on; `thresholds` are the team's; `plugins` are the checks."""
        self.scanner = scanner
        self.taxonomy = taxonomy
        self.info = info
        self._weights = weights
        self._languages = languages
        self.log = log
        self.demoted = dict(demoted or {})
        self._policies = dict(policies or {})
        self._natural = natural
        self._trust_domain = trust_domain
        self.thresholds = thresholds
        is_far = info.domain is not None and info.domain.is_far(log.distance, log.n_dialogues)
        self._far_from = info.domain if is_far and not trust_domain else None
        self._plugins = check_plugins() if plugins is None else plugins
        self._checks = {name: plugin.load(ExactCheck) for name, plugin in self._plugins.items()}
        self.info = info = add_checks(info, self._checks, self._plugins, taxonomy)
        self._context = CheckContext(log, policies=self._policies)
        self._coverage = LanguageCoverage(info, taxonomy, self._checks)
        self.on_step: Callable[[int | None], None] = lambda position: None
        """Called before each step that may take long: with the position of the dialogue that is masked,
        rendered or judged, or None for a row that goes through the model."""
        self.on_progress: Callable[[int, int, int], None] = lambda dialogues, tokens, findings: None
        """Called by `verdicts` before every row that goes through the model and after every dialogue, with
        the number of dialogues done, tokens processed and findings."""
        self._done = self._reported = self._n_findings = self._reached = 0
        self._tokens = self._tokens_before = 0
        self.stage_seconds = {"mask": 0.0, "scan": 0.0, "checks": 0.0}
        """Wall-clock seconds of all `verdicts` so far: mask (with languages), scan (with the windows), checks
        (with gates and calibration)."""
        self.release = info.id
        self.codes = tuple(info.codes)
        self.fingerprint = fingerprint(
            [
                weights,
                info.model_dump(mode="json"),
                taxonomy.model_dump(mode="json"),
                scanner.engine.fingerprint,
                *([languages] if languages else []),
                *([] if log == EMPTY_PROFILE else [log.fingerprint]),
                *([{"demoted": self.demoted}] if self.demoted else []),
                *[policy.model_dump(mode="json") for policy in self._policies.values()],
                *([] if natural is None else [natural.fingerprint]),
                *(["domain: trust"] if trust_domain else []),
                *([] if thresholds is None else [{"thresholds": thresholds.fingerprint}]),
                *describe(self._plugins.values()),
            ]
        )

    def with_info(self, info: ReleaseInfo) -> ReleaseDetector:
        """The same weights under another `release.json`, for a release in the making."""
        return self._copy(info=info)

    def with_log(self, log: LogProfile) -> ReleaseDetector:
        """The same detector for dialogues of a log with this profile."""
        return self._copy(log=log)

    def with_demoted(self, demoted: Mapping[str, str]) -> ReleaseDetector:
        """The same detector where findings of some codes are suggestions only: `demoted` maps them to
        why, in words without brackets."""
        return self._copy(demoted={**self.demoted, **demoted})

    def _copy(
        self,
        info: ReleaseInfo | None = None,
        log: LogProfile | None = None,
        demoted: Mapping[str, str] | None = None,
    ) -> ReleaseDetector:
        return ReleaseDetector(
            info or self.info,
            self._weights,
            self.scanner,
            self.taxonomy,
            self._languages,
            self.log if log is None else log,
            self.demoted if demoted is None else demoted,
            self._policies,
            self._natural,
            self._trust_domain,
            self.thresholds,
            self._plugins,
        )

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        self._done = self._reported = self._n_findings = self._reached = 0
        self._tokens_before = self._tokens
        engine: Any = self.scanner.engine
        if hasattr(engine, "on_row"):  # the engine is shared by the detectors of several logs
            engine.on_row = lambda: self._begin_row(engine.n_tokens, engine.share_scanned)
        masked = []
        coverages = []
        for index, dialogue in enumerate(dialogues):
            self.on_step(index)
            started_s = time.perf_counter()
            masked.append(mask_dialogue(dialogue))
            coverages.append(self._coverage.turns(masked[-1][0], self._languages))
            self.stage_seconds["mask"] += time.perf_counter() - started_s
        judged = [[turn.index for turn in dialogue.turns if self._can_judge(turn)] for dialogue, _ in masked]
        scanned = [
            index
            for index, turns in enumerate(judged)
            if not turns or any(coverages[index][turn].is_judged for turn in turns)
        ]
        scans = self.scanner.stream(self._iterate_scanned([(index, masked[index][0]) for index in scanned]))
        read = set(scanned)
        verdicts = []
        for index, (dialogue, (changed, texts)) in enumerate(zip(dialogues, masked, strict=True)):
            started_s = time.perf_counter()
            scan = next(scans) if index in read else ()
            scanned_s = time.perf_counter()
            self.stage_seconds["scan"] += scanned_s - started_s
            self.on_step(index)
            verdicts.append(
                self._failed_verdict(dialogue, scan)
                if isinstance(scan, DialogueFailed)
                else self._build_verdict(
                    dialogue, changed, texts, judged[index], scan, coverages[index], all_probabilities
                )
            )
            self.stage_seconds["checks"] += time.perf_counter() - scanned_s
            self._done, self._n_findings = self._done + 1, self._n_findings + len(verdicts[-1].findings)
            self._report_progress(self._done)
        return verdicts

    def _begin_row(self, tokens: int, share: float) -> None:
        """A row goes into the model, after `tokens` tokens in all and a `share` of those that are scanned
        together."""
        self.on_step(None)
        self._tokens = tokens
        ahead = int(share * max(0, self._reached - self._done))
        self._report_progress(self._done + ahead)

    def _report_progress(self, done: int) -> None:
        self._reported = max(self._reported, done)
        self.on_progress(self._reported, self._tokens - self._tokens_before, self._n_findings)

    def _can_judge(self, turn: Turn) -> bool:
        """Whether a turn is judged if its language is covered, by the renderer's rules."""
        return turn.role in JUDGED_ROLES and turn.role in self.info.render.roles and bool(turn.text.strip())

    def _iterate_scanned(self, dialogues: Iterable[tuple[int, Dialogue]]) -> Iterator[Dialogue]:
        for position, dialogue in dialogues:
            self.on_step(position)
            self._reached = position
            yield dialogue

    def _failed_verdict(self, dialogue: Dialogue, failure: DialogueFailed) -> Verdict:
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="failed",
            failure=failure.code,
            **self._origin(dialogue),
        )

    def _limit(self, code: str, scan: Scan, probability: float) -> tuple[_Kind, str]:
        """What the thresholds of the release and of the team allow, and why it is less than the release's."""
        if self.thresholds is None:
            return scan.outcome(probability), ""
        return self.thresholds.outcome(code, scan, probability)

    def _origin(self, dialogue: Dialogue) -> dict[str, Any]:
        """The fields of a verdict that say by which of the team's own rules it was made."""
        applies = policy_for(dialogue, self._policies)
        policy = applies and PolicyVersion(name=applies.policy, sha256=applies.fingerprint)
        return {"policy": policy, "thresholds": self.thresholds and self.thresholds.fingerprint}

    def _build_verdict(
        self,
        dialogue: Dialogue,
        masked: Dialogue,
        texts: Sequence[MaskedText],
        judged: Sequence[int],
        scan: Sequence[TurnScores],
        coverage: Mapping[int, TurnCoverage],
        all_probabilities: bool,
    ) -> Verdict:
        """The verdict. `judged` are the indices of the agents' turns, `scan` their scores if any."""
        place_of = {turn.index: position for position, turn in enumerate(dialogue.turns)}
        scores_of = {turn.turn: turn for turn in scan}
        hits = self._run_checks(dialogue, coverage)
        lacking = self._codes_without_policy(dialogue)
        no_policy = tuple(
            code
            for code in lacking
            if self.info.codes[code].scan is None
            and all(check.name == POLICY_CHECK for check in self.info.codes[code].checks)
        )
        reported: dict[_Kind, list[Finding]] = {"finding": [], "suggestion": [], "dropped": []}
        probabilities: dict[int, dict[str, float]] = {}
        for index in judged:
            position = place_of[index]
            probabilities[index] = {}
            for code, how in self.info.codes.items():
                if code in no_policy:
                    continue
                check, hit = hits.get((index, code), (None, None))
                scores = scores_of.get(index) if code in coverage[index].scanned else None
                is_checked = any(
                    each.name != POLICY_CHECK or code not in lacking
                    for each in coverage[index].checked.get(code, ())
                )
                if hit is None and scores is None and (how.scan or not is_checked):
                    continue
                by_scan = 0.0
                if how.scan is not None and scores is not None:
                    column = self.info.head_codes.index(code)
                    by_scan = how.scan.probability(float(scores.scores[column]))
                stated = by_scan if self._far_from is None else self._far_from.temper(by_scan)
                probability = max(stated, check.precision if check is not None else 0.0)
                probabilities[index][code] = round_probability(probability)
                outcome: _Kind = "dropped" if check is None else check.report
                proofs = [f"exact check '{check.name}', no model: {hit.why}"] if check and hit else []
                where = (hit.start, hit.end) if hit is not None else (0, 0)
                limit = None if how.scan is None else self._limit(code, how.scan, by_scan)
                if outcome != "finding" and limit is not None and limit[0] != "dropped":
                    evidence = self._evidence(code, texts[position], scores)
                    suspicion = Suspicion(dialogue, position, *evidence, by_scan, self.log)
                    scanned, gate_proofs = _scan_outcome(how, suspicion, *limit)
                    if scanned == "finding" and self._far_from is not None:
                        scanned = "suggestion"
                        gate_proofs.append(f"demoted: {FAR_LOG}")
                    if scanned == "finding" and code in lacking:
                        scanned = "suggestion"
                        gate_proofs.append(f"demoted: {NO_POLICY}")
                    if scanned == "finding" or outcome == "dropped":
                        outcome, proofs, where = scanned, gate_proofs, evidence
                if outcome == "dropped":
                    continue
                if self._natural is not None:
                    probability = self._natural.calibrate(code, outcome, probability)
                finding = self._finding(
                    code,
                    dialogue.turns[position],
                    masked.turns[: position + 1],
                    texts[position],
                    probability,
                    where,
                )
                for proof in proofs:
                    finding = append_proof(finding, proof)
                if outcome == "finding" and code in self.demoted:
                    outcome = "suggestion"
                    finding = append_proof(finding, f"demoted: {self.demoted[code]}")
                reported[outcome].append(finding)
        findings = tuple(reported["finding"])
        share = sum(coverage[index].is_judged for index in judged) / len(judged)
        gaps = self._coverage.gaps(coverage, judged, lacking)
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="scored" if share else "not_judged",
            quality=None if gaps else self.taxonomy.quality(findings),
            findings=findings,
            suggestions=tuple(reported["suggestion"]),
            probabilities=probabilities if all_probabilities else None,
            judged_share=None if share in (0.0, 1.0) else round(share, 4),
            not_judged=gaps,
            no_policy=no_policy,
            agent_turns=len(judged),
            **self._origin(dialogue),
        )

    def _codes_without_policy(self, dialogue: Dialogue) -> tuple[str, ...]:
        """The codes that the check of policies serves, where no policy with rules for them applies."""
        needing = [
            code
            for code, how in self.info.codes.items()
            if any(check.name == POLICY_CHECK for check in how.checks)
        ]
        policy = policy_for(dialogue, self._policies) if needing else None
        return tuple(code for code in needing if policy is None or code not in policy.codes)

    def _run_checks(
        self, dialogue: Dialogue, coverage: Mapping[int, TurnCoverage]
    ) -> dict[tuple[int, str], tuple[Check, Hit]]:
        """The best hit for each turn and code: of a check that accuses rather than of one that suggests, and
        of the more precise one. Clauses of a policy that are broken in the same turn are one hit with all
        their reasons."""
        hits: dict[tuple[int, str], tuple[Check, Hit]] = {}
        by_name: dict[str, tuple[Hit, ...]] = {}
        for code, how in self.info.codes.items():
            for check in sorted(how.checks, key=lambda check: (check.report == "finding", check.precision)):
                if check.name not in by_name:
                    by_name[check.name] = tuple(self._checks[check.name](dialogue, self._context))
                for hit in by_name[check.name]:
                    if hit.code in (None, code) and check in coverage[hit.turn].checked.get(code, ()):
                        before = hits.get((hit.turn, code))
                        if check.name == POLICY_CHECK and before is not None and before[0] is check:
                            hit = replace(before[1], why=f"{before[1].why}; {hit.why}")
                        hits[hit.turn, code] = check, hit
        return hits

    def _evidence(self, code: str, text: MaskedText, scores: TurnScores | None) -> tuple[int, int]:
        """Where the scan sees the error, as offsets into the turn's text before masking."""
        span = _stripped_span(text.text)
        if self.taxonomy.codes[code].scope == "span" and scores is not None:
            span = evidence_span(scores, self.info.head_codes.index(code), text.text)
        return text.to_original(*span)

    def _finding(
        self,
        code: str,
        original: Turn,
        turns: Sequence[Turn],
        text: MaskedText,
        probability: float,
        where: tuple[int, int],
    ) -> Finding:
        """The finding with its evidence at `where` in the text of the log, and the quote of the masked one.
        `turns` are masked, the last one is judged."""
        entry, masked = self.taxonomy.codes[code], turns[-1]
        masked_span = text.from_original(*where)
        start, end = original.to_log(*where)
        return Finding(
            code=code,
            turn=original.index,
            severity=entry.severity,
            fault="bot" if original.role == "bot" else entry.fault,
            probability=round_probability(probability),
            quote=masked.text[masked_span[0] : masked_span[1]],
            start=start,
            end=end,
            reason=_reason(entry, turns, masked.text[masked_span[0] : masked_span[1]]),
        )


def _reason(code: Code, turns: Sequence[Turn], quote: str) -> str:
    """The reason of a finding: the code, its turn and the evidence in the words of the dialogue; for a turn
    that is wrong as an answer, also the customer's last words before it. It does not explain the model."""
    seen = f"{code.name.en} in turn {turns[-1].index}: {_quote(quote)}"
    requested = next(
        (turn for turn in reversed(turns) if turn.role == "customer" and turn.text.strip()), None
    )
    if not code.answers_customer or requested is None:
        return f"{seen}."
    question = _last_question(requested.text)
    verb, words = ("asked", question) if question else ("said", requested.text)
    return f"{seen}; before it, in turn {requested.index}, the customer {verb} {_quote(words)}."


def _last_question(text: str) -> str:
    """The last sentence that ends with a question mark, empty without any."""
    start, result = 0, ""
    for end in _SENTENCE_END.finditer(text):
        if end[0] in "?？؟" and text[start : end.start()].strip():
            result = text[start : end.end()]
        start = end.end()
    return result


def _quote(words: str) -> str:
    """`words` on one line, shortened at the end."""
    line = " ".join(words.split())
    if len(line) > MAX_WORDS:
        line = line[: MAX_WORDS + 1].rpartition(" ")[0] or line[:MAX_WORDS]
        line += " …"
    return f"“{line}”"


def _scan_outcome(
    how: CodeRelease, suspicion: Suspicion, outcome: _Kind, why: str
) -> tuple[_Kind, list[str]]:
    """What becomes of a suspicion of the scan with this `outcome` by thresholds, which `why` is about if it
    is less than the release's; and the proofs for its reason. What a gate does not confirm is suggested from
    `Scan.suggest_at` on."""
    proofs: list[str] = []
    if how.gate is not None:
        result = GATES[how.gate](suspicion)
        proofs.append(f"gate '{how.gate}': {result.why}")
        if result.outcome == "inapplicable":
            return "dropped", proofs
        if result.outcome != "finding":
            suggest_at = None if how.scan is None else how.scan.suggest_at
            is_suggested = suggest_at is not None and suspicion.probability >= suggest_at
            return "suggestion" if is_suggested else result.outcome, proofs
    if outcome == "suggestion":
        proofs.append(f"demoted: {why or 'below the contract'}")
    return outcome, proofs


def _stripped_span(text: str) -> tuple[int, int]:
    """The whole text less outer blanks."""
    return len(text) - len(text.lstrip()), len(text.rstrip())
