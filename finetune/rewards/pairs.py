"""Pairs of answers, one preferred over the other: what reviewers corrected, and what labelers agree on.

A data set's ``preferences`` hold what the model had said and what a person made of it. Labels give more, in
such a way that the answers alone do not tell which is better: every kind of answer is right for one question
and wrong for another of the same code, as often here as there.

| the question is | preferred | over |
|---|---|---|
| an error | the accusation | "no error" |
| none | "no error" | the accusation that was right for another question |
| an error | an accusation that quotes another place | "no error" |
| none | "no error" | an accusation that quotes some place |
| an error | the accusation | the same that quotes another place |
| an error | the same that quotes another place | what was right for another question |

Verdicts, probabilities, severities, rewrites and the lengths of quotes stand on both sides alike; what is no
answer at all is a small share of its own. `agreement` is how probable it is that a person drawn at random
prefers the first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dialint.detector.example_files import find_set, read_preferences
from dialint.detector.judge import Answer, Question, answer_json, fit_answer, locate_quote
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Judgement, Preference
from dialint.detector.taxonomy import Code, load_taxonomy
from dialint.eval.questions import (
    LabelledQuestion,
    QuestionConfig,
    read_questions,
    target_answer,
    verified_split,
)

Origin = Literal["reviewer", "label", "form"]
DEFAULT_AGREEMENT = 0.9
"""Agreement where only the one who decided is known."""
MIN_AGREEMENT = 0.5
TRUNCATED_SHARE = 0.05
"""Of the pairs of labels, how many more are over an answer that breaks off."""
MAX_USES = 3
"""How often a question stands in for the rarer side of its code."""


@dataclass(frozen=True)
class PreferencePair:
    """Two answers to one question, as text; `agreement` in [0.5, 1]."""

    question: Question
    code: Code
    chosen: str
    rejected: str
    agreement: float
    source: str
    origin: Origin


def read_pairs(dataset: Path, split: str, asking: QuestionConfig, seed: int) -> list[PreferencePair]:
    """All pairs of one split: the reviewers' first, then those of the labels.

    Raises:
        InputRefused: a file cannot be read.
        OutputRefused: the folder is not complete.
    """
    asked = read_questions(dataset, split, asking, seed)
    known = {(a.question.dialogue.id, a.question.turn, a.question.code): a.probability for a in asked}
    return [*_of_reviewers(dataset, split, asking, known), *pairs_from_labels(asked, seed)]


def _of_reviewers(
    dataset: Path, split: str, asking: QuestionConfig, known: dict[tuple[str, int, str], float]
) -> Iterator[PreferencePair]:
    if find_set(dataset, "preferences") is None:
        return
    path = verified_split(dataset, "preferences")
    codes = load_taxonomy(asking.taxonomy).codes
    for row in read_preferences(path):
        if row.split != split or row.code not in codes or (asking.codes and row.code not in asking.codes):
            continue
        dialogue, _ = mask_dialogue(row.dialogue)
        posterior = known.get((row.dialogue.id, row.turn, row.code))
        yield PreferencePair(
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
        return DEFAULT_AGREEMENT
    return max(MIN_AGREEMENT, posterior if row.chosen.verdict == "error" else 1 - posterior)


def _said(side: Judgement) -> str:
    sure = 0.98 if side.verdict == "error" else 0.02
    return answer_json(fit_answer(Answer(probability=sure, **side.model_dump())))


def pairs_from_labels(asked: Sequence[LabelledQuestion], seed: int) -> list[PreferencePair]:
    """Pairs that follow from labels, of each code as many where there is an error as where there is none."""
    pairs: list[PreferencePair] = []
    for code in sorted({item.code.code for item in asked}):
        chance = random.Random(f"{seed}/pairs/{code}")
        own = [item for item in asked if item.code.code == code]
        chance.shuffle(own)
        errors, others = ([item for item in own if item.is_error == side] for side in (True, False))
        if errors and others:
            pairs += _Balanced(errors, others, chance).pairs()
    random.Random(f"{seed}/pairs").shuffle(pairs)
    return pairs


@dataclass(frozen=True)
class _Balanced:
    """The pairs of one code."""

    errors: Sequence[LabelledQuestion]
    others: Sequence[LabelledQuestion]
    chance: random.Random

    def pairs(self) -> Iterator[PreferencePair]:
        """An error and another question at a time, each side's answers exchanged between them."""
        rarer, more = sorted((len(self.errors), len(self.others)))
        for place in range(min(more, MAX_USES * rarer)):
            error, other = self.errors[place % len(self.errors)], self.others[place % len(self.others)]
            right, none = target_answer(error), target_answer(other)
            silent = self._none(error)
            yield _pair(error, right, silent, error.probability)
            yield _pair(other, none, right, 1 - other.probability)
            elsewhere = self._elsewhere(error)
            if elsewhere is not None:
                beside = right.model_copy(update={"quote": elsewhere})
                yield _pair(error, beside, silent, error.probability)
                yield _pair(other, none, self._invented(other, right), 1 - other.probability)
                foreign = self._foreign(error, right)
                if error.span is not None and foreign is not None:
                    yield _pair(error, right, beside, DEFAULT_AGREEMENT)
                    yield _pair(error, beside, foreign, DEFAULT_AGREEMENT)
            if self.chance.random() < 6 * TRUNCATED_SHARE:
                item, whole = self.chance.choice(((error, right), (other, none)))
                text = answer_json(self.chance.choice((right, none)))
                broken = text[: self.chance.randrange(len(text) // 3, len(text))]
                yield _pair(item, whole, broken, 0.98, "form")

    def _none(self, error: LabelledQuestion) -> Answer:
        """What is said of a question without an error, as sure as people are of one."""
        return target_answer(self.chance.choice(self.others))

    def _elsewhere(self, error: LabelledQuestion) -> str | None:
        """Words of the turn that the evidence does not touch, as many as evidence has."""
        start, end = error.span or (0, 0)
        around = [error.text[:start], error.text[end:]]
        part = (
            self.chance.choices(around, [len(one.split()) for one in around])[0]
            if any(one.strip() for one in around)
            else ""
        )
        return self._words(part)

    def _invented(self, other: LabelledQuestion, like: Answer) -> Answer:
        """An accusation where there is no error, in all but its evidence like one that is right."""
        rewrite = None
        if like.rewrite is not None:
            rewrite = self.chance.choice(self.others).text
        quote = self._words(other.text)
        return like.model_copy(update={"quote": quote, "rewrite": rewrite})

    def _words(self, text: str) -> str | None:
        """A run of whole words of `text`, as long as the evidence of some error."""
        words = text.split(" ")
        known = self.chance.choice(self.errors)
        start, end = known.span or (0, 0)
        count = len(known.text[start:end].split()) or self.chance.randint(1, 6)
        first = self.chance.randrange(max(1, len(words) - count + 1))
        return " ".join(words[first : first + count]).strip() or text.strip() or None

    def _foreign(self, error: LabelledQuestion, right: Answer) -> Answer | None:
        """What was right for another error and is not for this one, with a rewrite where this one has."""
        for _ in range(20):
            answer = target_answer(self.chance.choice(self.errors))
            if (answer.rewrite is None) != (right.rewrite is None):
                continue
            found = locate_quote(answer, error.text)
            start, end = error.span or (0, len(error.text))
            if found is None or found[0] >= end or found[1] <= start:
                return answer
        return None


def _pair(
    item: LabelledQuestion, chosen: Answer, rejected: Answer | str, agreement: float, origin: Origin = "label"
) -> PreferencePair:
    return PreferencePair(
        question=item.question,
        code=item.code,
        chosen=answer_json(fit_answer(chosen)),
        rejected=rejected if isinstance(rejected, str) else answer_json(fit_answer(rejected)),
        agreement=max(MIN_AGREEMENT, agreement),
        source=item.source,
        origin=origin,
    )
