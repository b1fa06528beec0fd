"""Pairs of answers, one preferred over the other: what reviewers corrected, and what labelers agree on.

A data set's ``preferences`` hold what the model had said and what a person made of it. Labels give more: the
answer that people hold to be right over its contrary, over one that points elsewhere, and over one that is no
answer. `agreement` is how probable it is that a person drawn at random prefers the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from detector.example_files import read_preferences, set_at
from detector.judge import Answer, Question, fitted, rounded, written
from detector.masking import mask_dialogue
from detector.records import Judgement, Preference
from detector.taxonomy import Code, load
from eval.questions import Asked, Asking, read_asked, taught, verified

Origin = Literal["reviewer", "label"]
UNTOLD = 0.9
"""Agreement where only the one who decided is known."""
LEAST_AGREEMENT = 0.5


@dataclass(frozen=True)
class Pair:
    """Two answers to one question, as text; `agreement` in [0.5, 1]."""

    question: Question
    code: Code
    chosen: str
    rejected: str
    agreement: float
    source: str
    origin: Origin


def read_pairs(dataset: Path, split: str, asking: Asking, seed: int) -> list[Pair]:
    """All pairs of one split: the reviewers' first, then those of the labels.

    Raises:
        InputRefused: a file cannot be read.
        OutputRefused: the folder is not complete.
    """
    asked = read_asked(dataset, split, asking, seed)
    known = {(a.question.dialogue.id, a.question.turn, a.question.code): a.probability for a in asked}
    return [*_of_reviewers(dataset, split, asking, known), *of_labels(asked, seed)]


def _of_reviewers(
    dataset: Path, split: str, asking: Asking, known: dict[tuple[str, int, str], float]
) -> Iterator[Pair]:
    if set_at(dataset, "preferences") is None:
        return
    path = verified(dataset, "preferences")
    codes = load(asking.taxonomy).codes
    for row in read_preferences(path):
        if row.split != split or row.code not in codes or (asking.codes and row.code not in asking.codes):
            continue
        dialogue, _ = mask_dialogue(row.dialogue)
        posterior = known.get((row.dialogue.id, row.turn, row.code))
        yield Pair(
            question=Question(dialogue=dialogue, turn=row.turn, code=row.code),
            code=codes[row.code],
            chosen=_said(row.chosen),
            rejected=_said(row.rejected),
            agreement=_agreement(row, posterior),
            source=row.dialogue.id.partition("~")[0],
            origin="reviewer",
        )


def _agreement(row: Preference, posterior: float | None) -> float:
    """How many would decide as the reviewer did; where both sides accuse, the finer points are his alone."""
    if posterior is None or row.chosen.verdict == row.rejected.verdict:
        return UNTOLD
    return max(LEAST_AGREEMENT, posterior if row.chosen.verdict == "error" else 1 - posterior)


def _said(side: Judgement) -> str:
    sure = 0.98 if side.verdict == "error" else 0.02
    return written(fitted(Answer(probability=sure, **side.model_dump())))


def of_labels(asked: Sequence[Asked], seed: int) -> Iterator[Pair]:
    """Pairs that follow from labels: one for each question over its contrary, and one over a flaw."""
    for place, item in enumerate(asked):
        chance = random.Random(f"{seed}/{place}")
        right, agreement = taught(item), max(item.probability, 1 - item.probability)
        for wrong, sure in (
            (written(_contrary(item, chance)), agreement),
            (_flawed(item, right, chance), 0.98),
        ):
            yield Pair(
                question=item.question,
                code=item.code,
                chosen=written(right),
                rejected=wrong,
                agreement=sure,
                source=item.source,
                origin="label",
            )


def _contrary(item: Asked, chance: random.Random) -> Answer:
    """The other verdict, with evidence at random where it accuses."""
    probability = rounded(1 - item.probability)
    if item.is_error:
        return Answer(verdict="no_error", probability=probability)
    return Answer(
        verdict="error",
        probability=probability,
        quote=_words(item.text, chance),
        severity=item.severity,
    )


def _flawed(item: Asked, right: Answer, chance: random.Random) -> str:
    """The right verdict with evidence that is wrong or made up, or an answer that breaks off."""
    if item.is_error and chance.random() < 0.7:
        quote = _words(item.text, chance) if chance.random() < 0.5 else _words(item.text, chance)[::-1]
        if quote.strip() and quote != right.quote:
            return written(right.model_copy(update={"quote": quote}))
    text = written(right)
    return text[: chance.randrange(len(text) // 3, len(text))]


def _words(text: str, chance: random.Random) -> str:
    """A run of whole words."""
    words = text.split(" ")
    start = chance.randrange(len(words))
    found = " ".join(words[start : start + chance.randint(1, 6)]).strip()
    return found or text.strip()
