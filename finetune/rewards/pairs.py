"""Preference pairs of answers, from reviewers' corrections and from labels.

The ``preferences`` of a data set have an answer of the model and what a reviewer made of it. Labels give more
pairs, in such a way that the answers alone do not tell which is preferred: every kind of answer is right for
one question and wrong for another of the same code, equally often.

| the question is | chosen | rejected |
|---|---|---|
| an error | the accusation | "no error" |
| none | "no error" | the accusation that was right for another question |
| an error | an accusation that quotes another passage | "no error" |
| none | "no error" | an accusation that quotes some passage |
| an error | the accusation | the same that quotes another passage |
| an error | the same that quotes another passage | what was right for another question |

Verdicts, probabilities, severities, rewrites and the lengths of quotes have the same distribution on both
sides; truncated answers are a small share of their own. `agreement` is the probability that a random person
prefers the chosen one.
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
"""Pairs with a truncated answer, as a share of the pairs from labels."""
MAX_USES = 3
"""Times that a question is used for the rarer class of its code, at most."""


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


def read_pairs(dataset: Path, split: str, config: QuestionConfig, seed: int) -> list[PreferencePair]:
    """All pairs of one split: those of reviewers first, then those from labels.

    Raises:
        InputRefused: a file cannot be read.
        OutputRefused: the folder is not complete.
    """
    questions = read_questions(dataset, split, config, seed)
    return [*_reviewer_pairs(dataset, split, config, questions), *pairs_from_labels(questions, seed)]


def _reviewer_pairs(
    dataset: Path, split: str, config: QuestionConfig, questions: Sequence[LabelledQuestion]
) -> Iterator[PreferencePair]:
    if find_set(dataset, "preferences") is None:
        return
    posteriors = {
        (item.question.dialogue.id, item.question.turn, item.question.code): item.probability
        for item in questions
    }
    path = verified_split(dataset, "preferences")
    codes = load_taxonomy(config.taxonomy).codes
    for row in read_preferences(path):
        if row.split != split or row.code not in codes or (config.codes and row.code not in config.codes):
            continue
        dialogue, _ = mask_dialogue(row.dialogue)
        yield PreferencePair(
            question=Question(dialogue=dialogue, turn=row.turn, code=row.code),
            code=codes[row.code],
            chosen=_render(row.chosen),
            rejected=_render(row.rejected),
            agreement=_agreement(row, posteriors.get((row.dialogue.id, row.turn, row.code))),
            source=row.dialogue.id.partition("~")[0],
            origin="reviewer",
        )


def _agreement(row: Preference, posterior: float | None) -> float:
    """The probability of the reviewer's verdict; unknown where both sides have the same."""
    if posterior is None or row.chosen.verdict == row.rejected.verdict:
        return DEFAULT_AGREEMENT
    return max(MIN_AGREEMENT, posterior if row.chosen.verdict == "error" else 1 - posterior)


def _render(side: Judgement) -> str:
    probability = 0.98 if side.verdict == "error" else 0.02
    return answer_json(fit_answer(Answer(probability=probability, **side.model_dump())))


def pairs_from_labels(questions: Sequence[LabelledQuestion], seed: int) -> list[PreferencePair]:
    """Pairs that follow from labels; for each code, equally many for errors and for turns without one."""
    pairs: list[PreferencePair] = []
    for code in sorted({item.code.code for item in questions}):
        rng = random.Random(f"{seed}/pairs/{code}")
        own = [item for item in questions if item.code.code == code]
        rng.shuffle(own)
        errors, others = ([item for item in own if item.is_error == side] for side in (True, False))
        if errors and others:
            pairs += _LabelPairs(errors, others, rng).pairs()
    random.Random(f"{seed}/pairs").shuffle(pairs)
    return pairs


@dataclass(frozen=True)
class _LabelPairs:
    """The pairs of one code, from its errors and its questions without one."""

    errors: Sequence[LabelledQuestion]
    others: Sequence[LabelledQuestion]
    rng: random.Random

    def pairs(self) -> Iterator[PreferencePair]:
        """Take an error and another question at a time, and exchange their answers."""
        rarer, more = sorted((len(self.errors), len(self.others)))
        for number in range(min(more, MAX_USES * rarer)):
            error, other = self.errors[number % len(self.errors)], self.others[number % len(self.others)]
            accusation, no_error = target_answer(error), target_answer(other)
            another_no_error = target_answer(self.rng.choice(self.others))
            yield _pair(error, accusation, another_no_error, error.probability)
            yield _pair(other, no_error, accusation, 1 - other.probability)
            misplaced_quote = self._misplaced_quote(error)
            if misplaced_quote is not None:
                misquoted = accusation.model_copy(update={"quote": misplaced_quote})
                yield _pair(error, misquoted, another_no_error, error.probability)
                yield _pair(other, no_error, self._false_accusation(other, accusation), 1 - other.probability)
                foreign = self._foreign_answer(error, accusation)
                if error.span is not None and foreign is not None:
                    yield _pair(error, accusation, misquoted, DEFAULT_AGREEMENT)
                    yield _pair(error, misquoted, foreign, DEFAULT_AGREEMENT)
            if self.rng.random() < 6 * TRUNCATED_SHARE:
                item, answer = self.rng.choice(((error, accusation), (other, no_error)))
                text = answer_json(self.rng.choice((accusation, no_error)))
                truncated = text[: self.rng.randrange(len(text) // 3, len(text))]
                yield _pair(item, answer, truncated, 0.98, "form")

    def _misplaced_quote(self, error: LabelledQuestion) -> str | None:
        """Words of the turn outside of the evidence, as many as the evidence of some error has."""
        start, end = error.span or (0, 0)
        outside = [error.text[:start], error.text[end:]]
        part = ""
        if any(text.strip() for text in outside):
            part = self.rng.choices(outside, [len(text.split()) for text in outside])[0]
        return self._random_passage(part)

    def _false_accusation(self, other: LabelledQuestion, accusation: Answer) -> Answer:
        """`accusation` with a quote and a rewrite for a question that is no error."""
        rewrite = None
        if accusation.rewrite is not None:
            rewrite = self.rng.choice(self.others).text
        quote = self._random_passage(other.text)
        return accusation.model_copy(update={"quote": quote, "rewrite": rewrite})

    def _random_passage(self, text: str) -> str | None:
        """Consecutive words of `text`, as many as the evidence of a random error has."""
        words = text.split(" ")
        error = self.rng.choice(self.errors)
        start, end = error.span or (0, 0)
        count = len(error.text[start:end].split()) or self.rng.randint(1, 6)
        first = self.rng.randrange(max(1, len(words) - count + 1))
        return " ".join(words[first : first + count]).strip() or text.strip() or None

    def _foreign_answer(self, error: LabelledQuestion, accusation: Answer) -> Answer | None:
        """An answer that was right for another error and is not for this one, with a rewrite if `accusation`
        has one."""
        for _ in range(20):
            answer = target_answer(self.rng.choice(self.errors))
            if (answer.rewrite is None) != (accusation.rewrite is None):
                continue
            evidence = locate_quote(answer, error.text)
            start, end = error.span or (0, len(error.text))
            if evidence is None or evidence[0] >= end or evidence[1] <= start:
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
