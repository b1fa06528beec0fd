"""Labelers and reviewers that do not exist: how skilled each is, what each finds where the truth is known.

For trying the whole way without people: nothing that is measured on their answers is a claim about people.
Knows no store.
"""

from __future__ import annotations

import math
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
class Group:
    """What people of one kind are like. A question is one agent turn (or dialogue) and one code."""

    sensitivity: Beta
    """Of a person: how often an error that is there is found."""
    specificity: Beta
    """Of a person: how often a question is left alone where there is no error."""
    severity: float
    """How often the severity is the usual one of its code."""
    steady: float
    """How often an end of the evidence stands where it should; else it is off by up to `WORDS_OFF` words."""


LABELERS = Group(Beta(8, 2), Beta(1000, 2), severity=0.8, steady=0.6)
REVIEWERS = Group(Beta(18, 2), Beta(4000, 2), severity=0.95, steady=0.85)
WORDS_OFF = 2
KEEPS = 0.7
"""How often somebody leaves a finding in view as it is, where it names an error they find, in its place."""

Truth = Mapping[tuple[int, str], Label]
"""What is wrong with a dialogue, by turn and code."""
Shapes = Mapping[str, Sequence[int]]
"""How many words the evidence of true errors has, by code; 0: the whole turn."""
SHAPE = (1, 2, 3, 4, 5, 6)
"""Words of evidence where no true error of the code is known."""


def shapes_of(truths: Iterable[tuple[Dialogue, Truth]]) -> dict[str, list[int]]:
    """What evidence of true errors looks like, so that an invented one does not look otherwise."""
    found: dict[str, list[int]] = {}
    for dialogue, truth in truths:
        texts = {turn.index: turn.text for turn in dialogue.turns}
        for (turn, code), label in truth.items():
            inside = _inside(_words(texts[turn]), label)
            found.setdefault(code, []).append(len(inside))
    return found


@dataclass(frozen=True)
class Person:
    """Somebody who answers. `sensitivity` and `specificity` lie in [0, 1]."""

    name: str
    group: Group
    sensitivity: float
    specificity: float

    @classmethod
    def drawn(cls, name: str, group: Group, seed: int) -> Person:
        """One of `group`, the same for the same name and seed."""
        chance = Random(f"{seed}/{name}")
        return cls(
            name, group, chance.betavariate(*group.sensitivity), chance.betavariate(*group.specificity)
        )

    def finds(
        self,
        dialogue: Dialogue,
        truth: Truth,
        codes: Iterable[Code],
        seed: int,
        seen: Verdict | None = None,
        shapes: Shapes | None = None,
    ) -> tuple[Finding, ...]:
        """All that this person finds in `dialogue` when asked for `codes`, with the verdict in view if it is
        `seen`; the same for the same seed. `shapes`: what evidence looks like."""
        chance = Random(f"{seed}/{self.name}/{dialogue.id}")
        shown = {(found.turn, found.code): found for found in (seen.findings if seen is not None else ())}
        found = []
        for turn, code, label in _questions(dialogue, truth, codes):
            if chance.random() < (self.sensitivity if label is not None else 1 - self.specificity):
                shape = (shapes or {}).get(code.code, SHAPE)
                own = self._finding(turn, code, label, shape, chance)
                theirs = shown.get((turn.index, code.code))
                keeps = theirs is not None and _overlap(theirs, own) and chance.random() < KEEPS
                found.append(theirs.model_copy(update={"probability": 1.0}) if theirs and keeps else own)
        return tuple(found)

    def seconds(self, dialogue: Dialogue, seed: int) -> float:
        """How long this person takes: 30 seconds and some 5 a turn."""
        chance = Random(f"{seed}/{self.name}/{dialogue.id}/seconds")
        return round(30 + 5 * len(dialogue.turns) * math.exp(chance.gauss(0, 0.4)), 1)

    def _finding(
        self, turn: Turn, code: Code, label: Label | None, shape: Sequence[int], chance: Random
    ) -> Finding:
        start, end = self.evidence(turn.text, label, shape, chance)
        return Finding(
            code=code.code,
            turn=turn.index,
            severity=self._severity(code, chance),
            fault="bot" if turn.role == "bot" else code.fault,
            probability=1.0,
            quote=turn.text[start:end],
            start=start,
            end=end,
            reason=f"{code.name.en}: {code.definition.split('. ')[0].rstrip('.')}.",
        )

    def _severity(self, code: Code, chance: Random) -> Severity:
        others = [severity for severity in code.severities if severity != code.severity]
        return chance.choice(others) if others and chance.random() > self.group.severity else code.severity

    def evidence(
        self, text: str, label: Label | None, shape: Sequence[int], chance: Random
    ) -> tuple[int, int]:
        """The label's span, or for an error that is invented as many words as true ones have (drawn from
        `shape`) somewhere in the turn; the ends off by some words."""
        words = _words(text)
        if label is None:
            count = chance.choice(shape) or len(words)
            place = chance.randrange(max(1, len(words) - count + 1))
            inside = list(range(place, min(place + count, len(words))))
            whole = (words[inside[0]][0], words[inside[-1]][1])
        else:
            inside = _inside(words, label)
            if label.start is not None and label.end is not None:
                whole = (label.start, label.end)
            else:
                whole = (words[0][0], words[-1][1])
        if not inside or (label is not None and label.start is None):
            return whole
        first, last = self._moved(inside[0], chance), self._moved(inside[-1], chance)
        if (first, last) == (inside[0], inside[-1]):
            return whole
        first, last = sorted((max(0, min(first, len(words) - 1)), max(0, min(last, len(words) - 1))))
        return words[first][0], words[last][1]

    def _moved(self, place: int, chance: Random) -> int:
        steady = chance.random() < self.group.steady
        return place if steady else place + chance.choice([-1, 1]) * chance.randint(1, WORDS_OFF)


def _questions(
    dialogue: Dialogue, truth: Truth, codes: Iterable[Code]
) -> Iterator[tuple[Turn, Code, Label | None]]:
    """What is asked and what is true of it: of every agent turn, and of a whole dialogue where a code is of
    that scope: at its first error, else at the last agent turn."""
    turns = {turn.index: turn for turn in dialogue.turns}
    judged = judged_turns(dialogue)
    for code in codes:
        if code.scope == "dialogue":
            at = next((turn for turn in judged if (turn, code.code) in truth), judged[-1])
            yield turns[at], code, truth.get((at, code.code))
        else:
            yield from ((turns[turn], code, truth.get((turn, code.code))) for turn in judged)


def _inside(words: Sequence[tuple[int, int]], label: Label) -> list[int]:
    """The places of the words that the label's span covers or cuts; none where it has no span."""
    if label.start is None or label.end is None:
        return []
    return [place for place, (start, end) in enumerate(words) if start < label.end and end > label.start]


def _words(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end."""
    found, start = [], None
    for place, char in enumerate(f"{text} "):
        if char.isspace() and start is not None:
            found.append((start, place))
            start = None
        elif not char.isspace() and start is None:
            start = place
    return found


def _overlap(one: Finding, other: Finding) -> bool:
    return one.start < other.end and other.start < one.end
