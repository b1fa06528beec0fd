"""Detectors made of a simple scorer: raw scores are calibrated, accused by contract, and quoted.

Baselines differ in where their scores come from; from there on they are treated like a release: the same
calibration curve, the same promise about false accusations, the same masking of quotes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dialint.detector.artifacts import fingerprint
from dialint.detector.calibration import Scan, round_probability
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Verdict
from dialint.detector.taxonomy import Taxonomy


class AlwaysClean:
    """Every judged turn gets probability 0 of every code of the taxonomy."""

    release = "baseline-clean"
    fingerprint = "baseline-clean-1"

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.codes = tuple(taxonomy.codes)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [self._verdict(dialogue, all_probabilities) for dialogue in dialogues]

    def _verdict(self, dialogue: Dialogue, all_probabilities: bool) -> Verdict:
        judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
        nothing = dict.fromkeys(self.codes, 0.0)
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="scored" if judged else "failed",
            failure=None if judged else "E_NO_AGENT_TURN",
            quality=100.0 if judged else None,
            probabilities={turn.index: nothing for turn in judged} if judged and all_probabilities else None,
        )


@dataclass(frozen=True)
class ScoredSpan:
    """A raw score of one code at one turn; offsets of its evidence in the turn's text, end exclusive,
    where the scorer knows them at once."""

    score: float
    start: int = 0
    end: int = 0
    why: str = ""


TurnScores = Mapping[int, Mapping[str, ScoredSpan]]
"""Turn index to code to score; every judged turn is a key, codes without a score are left out."""


class Scorer(Protocol):
    """The source of a baseline's scores."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Changes with anything that can change a score."""
        ...

    @property
    def codes(self) -> tuple[str, ...]: ...

    def score_dialogues(self, dialogues: Sequence[Dialogue]) -> list[TurnScores]:
        """Of each dialogue, in order."""
        ...

    def evidence(self, text: str, code: str, suspicion: ScoredSpan) -> tuple[int, int]:
        """Offsets of the evidence in a turn's text, called for findings only; an end of 0
        stands for the whole turn."""
        ...


class ScoredDetector:
    """A detector of a scorer and, for each code that it covers, a curve with its contract."""

    def __init__(self, scorer: Scorer, scans: Mapping[str, Scan], taxonomy: Taxonomy) -> None:
        self.scorer, self.scans, self.taxonomy = scorer, dict(scans), taxonomy
        self.release = f"baseline-{scorer.name}"
        self.codes = tuple(code for code in taxonomy.codes if code in self.scans)
        self.fingerprint = fingerprint(
            [
                scorer.fingerprint,
                {code: scan.model_dump(mode="json") for code, scan in self.scans.items()},
                taxonomy.model_dump(mode="json"),
            ]
        )

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [
            self._judged(dialogue, spans, all_probabilities) if spans else self._failed(dialogue)
            for dialogue, spans in zip(dialogues, self.scorer.score_dialogues(dialogues), strict=True)
        ]

    def _failed(self, dialogue: Dialogue) -> Verdict:
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="failed",
            failure="E_NO_AGENT_TURN",
        )

    def _judged(self, dialogue: Dialogue, spans: TurnScores, all_probabilities: bool) -> Verdict:
        probabilities: dict[int, dict[str, float]] = {}
        accused: list[tuple[int, str, ScoredSpan, float]] = []
        for turn, of_code in spans.items():
            row = probabilities[turn] = dict.fromkeys(self.codes, 0.0)
            for code, suspicion in of_code.items():
                scan = self.scans.get(code)
                if scan is None:
                    continue
                probability = scan.probability(suspicion.score)
                row[code] = round_probability(probability)
                if scan.contract is not None and probability >= scan.contract.threshold:
                    accused.append((turn, code, suspicion, probability))
        findings = self._findings(dialogue, accused) if accused else ()
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="scored",
            quality=self.taxonomy.quality(findings),
            findings=findings,
            probabilities=probabilities if all_probabilities else None,
        )

    def _findings(
        self, dialogue: Dialogue, accused: Sequence[tuple[int, str, ScoredSpan, float]]
    ) -> tuple[Finding, ...]:
        """Findings with offsets in the original text and quotes of the masked one."""
        masked, texts = mask_dialogue(dialogue)
        position_of = {turn.index: position for position, turn in enumerate(dialogue.turns)}
        findings = []
        for turn, code, suspicion, probability in accused:
            original, text = dialogue.turns[position_of[turn]], texts[position_of[turn]]
            entry = self.taxonomy.codes[code]
            where = self.scorer.evidence(original.text, code, suspicion)
            if not where[1]:
                where = len(original.text) - len(original.text.lstrip()), len(original.text.rstrip())
            quote_span = text.from_original(*where)
            findings.append(
                Finding(
                    code=code,
                    turn=turn,
                    severity=entry.severity,
                    fault="bot" if original.role == "bot" else entry.fault,
                    probability=round_probability(probability),
                    quote=masked.turns[position_of[turn]].text[quote_span[0] : quote_span[1]],
                    start=where[0],
                    end=where[1],
                    reason=suspicion.why or f"{entry.name.en}.",
                )
            )
        return tuple(findings)


def judged_positions(dialogue: Dialogue) -> list[int]:
    """Positions in `dialogue.turns` of the judged turns."""
    return [
        position
        for position, turn in enumerate(dialogue.turns)
        if turn.role in JUDGED_ROLES and turn.text.strip()
    ]
