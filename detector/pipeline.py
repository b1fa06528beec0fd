"""One dialogue's way from a checked log to a verdict: mask, scan, check, calibrate, quote.

`detector.detectors` has the contract that `ReleaseDetector` keeps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from detector.artifacts import fingerprint
from detector.calibration import CodeRelease
from detector.checks import CHECKS, Hit
from detector.detectors import DetectorConfig
from detector.errors import ConfigError, DialogueFailed, ReleaseRefused
from detector.masking import MaskedText, mask_dialogue
from detector.records import Dialogue, Finding, Turn, Verdict
from detector.release import EMBEDDED, Release, ReleaseInfo
from detector.render import Renderer
from detector.scanner import Scanner, TurnScores, evidence
from detector.taxonomy import Taxonomy, load

PLACES = 6
"""Decimals of a probability as it is written; thresholds are compared before rounding."""


def load_detector(config: DetectorConfig, *, unfinished: bool = False) -> ReleaseDetector:
    """The release's detector, verified and ready. Only an `unfinished` one may cover no code yet.

    Raises:
        ReleaseRefused: the release is missing, damaged, covers nothing, or is of another taxonomy.
        ConfigError: a wrong option, or a broken taxonomy file.
    """
    if config.row_tokens < 1 or config.threads < 0:
        raise ConfigError("E_OPTION", "--row-tokens must be at least 1 and --threads at least 0")
    taxonomy = load(config.taxonomy)
    release = Release(config.release or EMBEDDED)
    _refuse_other_codes(release, taxonomy, unfinished)

    import torch  # heavy; only when something is scored

    from detector.engines import local

    torch.set_num_threads(config.threads or available_cores())
    engine = local.load(release, config.precision, config.row_tokens, config.device)
    info = release.info
    scanner = Scanner(
        Renderer(info.render, release.tokenizer_json()),
        engine,
        tuple(code in info.dialogue_codes for code in info.head_codes),
    )
    detector = ReleaseDetector(info, release.fingerprint, scanner, taxonomy)
    engine.on_row = lambda: detector.mark(None)
    return detector


def _refuse_other_codes(release: Release, taxonomy: Taxonomy, unfinished: bool) -> None:
    """A release speaks of the codes it was made for: a patch of their wording may differ, no more."""
    info = release.info
    if not info.codes and not unfinished:
        raise ReleaseRefused(
            "E_RELEASE", f"{release.folder}: covers no code, so every dialogue would look clean"
        )
    if info.taxonomy.split(".")[:2] != taxonomy.version.split(".")[:2]:
        raise ReleaseRefused(
            "E_TAXONOMY",
            f"{release.folder}: made for taxonomy {info.taxonomy}, and this one is {taxonomy.version}",
        )
    unknown = sorted(set(info.codes) - set(taxonomy.codes))
    if unknown:
        raise ReleaseRefused("E_TAXONOMY", f"{release.folder}: codes {unknown} are not in the taxonomy")


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ReleaseDetector:
    """Judges dialogues with a release's scanner and exact checks."""

    def __init__(self, info: ReleaseInfo, weights: str, scanner: Scanner, taxonomy: Taxonomy) -> None:
        """`weights` is the fingerprint of the release's files."""
        self.scanner = scanner
        self.taxonomy = taxonomy
        self.info = info
        self._weights = weights
        self.mark: Callable[[int | None], None] = lambda place: None
        """Called when a step begins that may take its time: with the place of the dialogue that is masked,
        read or judged, or none for a row that goes through the model."""
        self.release = info.id
        self.codes = tuple(info.codes)
        self.fingerprint = fingerprint(
            [
                weights,
                info.model_dump(mode="json"),
                taxonomy.model_dump(mode="json"),
                scanner.engine.fingerprint,
            ]
        )

    def under(self, info: ReleaseInfo) -> ReleaseDetector:
        """The same weights under another `release.json`, for a release in the making."""
        return ReleaseDetector(info, self._weights, self.scanner, self.taxonomy)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        masked = [mask_dialogue(dialogue) for dialogue in self._marked(dialogues)]
        scans = self.scanner.stream(self._marked([dialogue for dialogue, _ in masked]))
        verdicts = []
        for place, (dialogue, (changed, texts), scan) in enumerate(
            zip(dialogues, masked, scans, strict=True)
        ):
            self.mark(place)
            verdicts.append(
                self._failed(dialogue, scan)
                if isinstance(scan, DialogueFailed)
                else self._judged(dialogue, changed, texts, scan, all_probabilities)
            )
        return verdicts

    def _marked(self, dialogues: Sequence[Dialogue]) -> Iterator[Dialogue]:
        for place, dialogue in enumerate(dialogues):
            self.mark(place)
            yield dialogue

    def _failed(self, dialogue: Dialogue, failure: DialogueFailed) -> Verdict:
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="failed",
            failure=failure.code,
        )

    def _judged(
        self,
        dialogue: Dialogue,
        masked: Dialogue,
        texts: Sequence[MaskedText],
        scan: Sequence[TurnScores],
        all_probabilities: bool,
    ) -> Verdict:
        place_of = {turn.index: place for place, turn in enumerate(dialogue.turns)}
        hits = {
            (hit.turn, code): hit
            for code, how in self.info.codes.items()
            if how.check is not None
            for hit in CHECKS[how.check.name](dialogue)
        }
        findings = []
        probabilities: dict[int, dict[str, float]] = {}
        for turn in scan:
            place = place_of[turn.turn]
            probabilities[turn.turn] = {}
            for code, how in self.info.codes.items():
                hit = hits.get((turn.turn, code))
                probability = self._probability(turn, code, how, hit)
                probabilities[turn.turn][code] = round(probability, PLACES)
                if hit is not None or _accused(how, probability):
                    where = (hit.start, hit.end) if hit is not None else None
                    finding = self._finding(
                        turn,
                        code,
                        dialogue.turns[place],
                        masked.turns[place],
                        texts[place],
                        probability,
                        where,
                    )
                    findings.append(finding if hit is None else _by_check(finding, how, hit))
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="scored",
            quality=self.taxonomy.quality(tuple(findings)),
            findings=tuple(findings),
            probabilities=probabilities if all_probabilities else None,
        )

    def _probability(self, turn: TurnScores, code: str, how: CodeRelease, hit: Hit | None) -> float:
        by_check = how.check.precision if hit is not None and how.check is not None else 0.0
        by_scan = 0.0
        if how.scan is not None:
            by_scan = how.scan.probability(float(turn.scores[self.info.head_codes.index(code)]))
        return max(by_check, by_scan)

    def _finding(
        self,
        turn: TurnScores,
        code: str,
        original: Turn,
        masked: Turn,
        text: MaskedText,
        probability: float,
        where: tuple[int, int] | None,
    ) -> Finding:
        """The finding with its evidence: offsets in the text of the log, quote in the masked one."""
        known = self.taxonomy.codes[code]
        if where is None:
            shown = _outer(masked.text)
            if known.scope == "span":
                shown = evidence(turn, self.info.head_codes.index(code), masked.text)
            where = text.to_original(*shown)
        shown = text.from_original(*where)
        start, end = original.to_log(*where)
        return Finding(
            code=code,
            turn=turn.turn,
            severity=known.severity,
            fault="bot" if original.role == "bot" else known.fault,
            probability=round(probability, PLACES),
            quote=masked.text[shown[0] : shown[1]],
            start=start,
            end=end,
            reason=f"{known.name.en}: {known.definition.split('. ')[0].rstrip('.')}.",
        )


def _accused(how: CodeRelease, probability: float) -> bool:
    contract = how.scan.contract if how.scan is not None else None
    return contract is not None and probability >= contract.threshold


def _by_check(finding: Finding, how: CodeRelease, hit: Hit) -> Finding:
    name = how.check.name if how.check is not None else ""
    return finding.model_copy(update={"reason": f"Exact check '{name}', no model: {hit.why}."})


def _outer(text: str) -> tuple[int, int]:
    """The whole text less outer blanks."""
    return len(text) - len(text.lstrip()), len(text.rstrip())
