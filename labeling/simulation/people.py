"""Simulated labelers and reviewers: samples each person's skill, and their annotations from the true labels.

For trying the whole workflow without people: nothing that is measured on their annotations is a claim about
people. Does not access the store.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from dialint.detector.records import Dialogue, Finding, Label, Severity, Turn, Verdict
from dialint.detector.taxonomy import Code
from dialint.labeling.annotation import judged_turns


class Beta(NamedTuple):
    """Shape of a Beta distribution."""

    a: float
    b: float


@dataclass(frozen=True)
class SkillProfile:
    """Distribution of skill in a group. A question is one agent turn (or dialogue) and one code."""

    sensitivity: Beta
    """Of a person: share of true errors that are annotated."""
    specificity: Beta
    """Of a person: share of questions without an error that are left alone."""
    severity: float
    """Probability that the severity is the default one of the code."""
    boundary_accuracy: float
    """Probability that a boundary of the evidence is exact; else it is off by up to `MAX_WORD_SHIFT`
    words."""


LABELERS = SkillProfile(Beta(8, 2), Beta(1000, 2), severity=0.8, boundary_accuracy=0.6)
REVIEWERS = SkillProfile(Beta(18, 2), Beta(4000, 2), severity=0.95, boundary_accuracy=0.85)
MAX_WORD_SHIFT = 2
KEEP_PROBABILITY = 0.7
"""Probability that a reviewer leaves a displayed finding unchanged where it overlaps their own."""

TrueLabels = Mapping[tuple[int, str], Label]
"""The errors of a dialogue, by turn and code."""
EvidenceLengths = Mapping[str, Sequence[int]]
"""Lengths in words of the evidence of true errors, by code; 0: the whole turn."""
DEFAULT_LENGTHS = (1, 2, 3, 4, 5, 6)
"""Lengths of evidence for a code without true errors."""


def evidence_lengths(labeled: Iterable[tuple[Dialogue, TrueLabels]]) -> dict[str, list[int]]:
    """Lengths of the evidence of true errors, so that the evidence of false positives looks the same."""
    lengths: dict[str, list[int]] = {}
    for dialogue, true_labels in labeled:
        texts = {turn.index: turn.text for turn in dialogue.turns}
        for (turn, code), label in true_labels.items():
            lengths.setdefault(code, []).append(len(_labeled_words(_word_offsets(texts[turn]), label)))
    return lengths


@dataclass(frozen=True)
class Person:
    """A simulated person. `sensitivity` and `specificity` lie in [0, 1]."""

    name: str
    profile: SkillProfile
    sensitivity: float
    specificity: float

    @classmethod
    def sample(cls, name: str, profile: SkillProfile, seed: int) -> Person:
        """A person with skills from `profile`, the same for the same name and seed."""
        rng = Random(f"{seed}/{name}")
        return cls(
            name, profile, rng.betavariate(*profile.sensitivity), rng.betavariate(*profile.specificity)
        )

    def annotate(
        self,
        dialogue: Dialogue,
        true_labels: TrueLabels,
        codes: Iterable[Code],
        seed: int,
        seen: Verdict | None = None,
        lengths: EvidenceLengths | None = None,
    ) -> tuple[Finding, ...]:
        """This person's findings in `dialogue` for `codes`, the same for the same seed. `seen` is the verdict
        displayed beside the dialogue, if any; `lengths` are those of the evidence of false positives."""
        rng = Random(f"{seed}/{self.name}/{dialogue.id}")
        displayed = {
            (finding.turn, finding.code): finding for finding in (seen.findings if seen is not None else ())
        }
        findings = []
        for turn, code, label in _questions(dialogue, true_labels, codes):
            if rng.random() < (self.sensitivity if label is not None else 1 - self.specificity):
                code_lengths = (lengths or {}).get(code.code, DEFAULT_LENGTHS)
                finding = self._sample_finding(turn, code, label, code_lengths, rng)
                existing = displayed.get((turn.index, code.code))
                overlaps = (
                    existing is not None and existing.start < finding.end and finding.start < existing.end
                )
                if existing is not None and overlaps and rng.random() < KEEP_PROBABILITY:
                    finding = existing.model_copy(update={"probability": 1.0})
                findings.append(finding)
        return tuple(findings)

    def answer_seconds(self, dialogue: Dialogue, seed: int) -> float:
        """Seconds that this person needs for the dialogue: 30, and some 5 a turn."""
        rng = Random(f"{seed}/{self.name}/{dialogue.id}/seconds")
        return round(30 + 5 * len(dialogue.turns) * math.exp(rng.gauss(0, 0.4)), 1)

    def sample_evidence(
        self, text: str, label: Label | None, lengths: Sequence[int], rng: Random
    ) -> tuple[int, int]:
        """Offsets of the evidence: the label's span or, for a false positive, as many words as a length
        sampled from `lengths`, anywhere in the turn; either boundary may be off by some words."""
        words = _word_offsets(text)
        if label is None:
            length = rng.choice(lengths) or len(words)
            start = rng.randrange(max(1, len(words) - length + 1))
            covered = list(range(start, min(start + length, len(words))))
            span = (words[covered[0]][0], words[covered[-1]][1])
        else:
            covered = _labeled_words(words, label)
            if label.start is not None and label.end is not None:
                span = (label.start, label.end)
            else:
                span = (words[0][0], words[-1][1])
        if not covered or (label is not None and label.start is None):
            return span
        first, last = self._shift_boundary(covered[0], rng), self._shift_boundary(covered[-1], rng)
        if (first, last) == (covered[0], covered[-1]):
            return span
        first, last = sorted((max(0, min(first, len(words) - 1)), max(0, min(last, len(words) - 1))))
        return words[first][0], words[last][1]

    def _sample_finding(
        self, turn: Turn, code: Code, label: Label | None, lengths: Sequence[int], rng: Random
    ) -> Finding:
        start, end = self.sample_evidence(turn.text, label, lengths, rng)
        return Finding(
            code=code.code,
            turn=turn.index,
            severity=self._sample_severity(code, rng),
            fault="bot" if turn.role == "bot" else code.fault,
            probability=1.0,
            quote=turn.text[start:end],
            start=start,
            end=end,
            reason=f"{code.name.en}: {code.definition.split('. ')[0].rstrip('.')}.",
        )

    def _sample_severity(self, code: Code, rng: Random) -> Severity:
        others = [severity for severity in code.severities if severity != code.severity]
        return rng.choice(others) if others and rng.random() > self.profile.severity else code.severity

    def _shift_boundary(self, word: int, rng: Random) -> int:
        if rng.random() < self.profile.boundary_accuracy:
            return word
        return word + rng.choice([-1, 1]) * rng.randint(1, MAX_WORD_SHIFT)


def _questions(
    dialogue: Dialogue, true_labels: TrueLabels, codes: Iterable[Code]
) -> Iterator[tuple[Turn, Code, Label | None]]:
    """Every agent turn and code with its true label. A code of the scope dialogue is one question: at its
    first error, else at the last agent turn."""
    turns = {turn.index: turn for turn in dialogue.turns}
    judged = judged_turns(dialogue)
    for code in codes:
        if code.scope == "dialogue":
            index = next((turn for turn in judged if (turn, code.code) in true_labels), judged[-1])
            yield turns[index], code, true_labels.get((index, code.code))
        else:
            yield from ((turns[turn], code, true_labels.get((turn, code.code))) for turn in judged)


def _labeled_words(words: Sequence[tuple[int, int]], label: Label) -> list[int]:
    """Indexes of the words that the label's span covers or cuts; none where it has no span."""
    if label.start is None or label.end is None:
        return []
    return [index for index, (start, end) in enumerate(words) if start < label.end and end > label.start]


def _word_offsets(text: str) -> list[tuple[int, int]]:
    """Start and end of each word."""
    return [match.span() for match in re.finditer(r"\S+", text)]
