"""Verifiable rewards: terms of a reading's reward that follow from the labels of its dialogue.

| term | |
|---|---|
| f_score | F0.5 of the accusations by turn, code and quote; 1 for an empty list where there is no error |
| evidence | less a share of that for a wrong severity and for a quote beside the evidence |
| false_accusations | less the further cost of false accusations, by ``--ratio`` |
| belief | less the squared errors of the stated probabilities |
| form | less for faults of the format |
| preference | plus the standardized score of a reward model |

An accusation is a listed error of probability 0.5 or more with a quote that is in its turn. `f_score` and
`false_accusations` are expectations over independent labels by their posterior probabilities. So in a
dialogue with one possible error accusing has the higher reward exactly if its probability is above ratio / (1
+ ratio), whether the label or the judge is uncertain. Calls no model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from dialint.detector.judge.reading import (
    LEAST_PROBABILITY,
    ReadError,
    Reading,
    find_object,
    format_reading,
    parse_reading,
)
from dialint.detector.option_ranges import command_options
from dialint.eval.labelled import LabelledQuestion, Truth, accusations, f_beta, match
from dialint.eval.results import span_f1

SEVERITY_SHARE, QUOTE_SHARE = 0.1, 0.1
"""Shares of a hit's value that a wrong severity and a quote without any of the evidence lose."""
BELIEF_WEIGHT, MAX_SQUARED_ERROR = 0.2, 4.0
"""Weight of the sum of squared errors of probabilities, and the maximum of that sum."""
FORM_WEIGHT = 0.5
NOTES_CHARS, REASON_CHARS = 1000, 500
"""Characters of the notes and of a reason without penalty."""
MAX_DEVIATIONS = 3.0
"""Standard deviations from the mean at which a reward model's score is clipped."""


@command_options
class RewardWeights:
    """The configurable weights of a reward."""

    ratio: Annotated[float, Field(ge=1, lt=math.inf)] = 2.0
    """How many missed errors are as bad as one false accusation, in a dialogue with one error or none."""
    preference_weight: Annotated[float, Field(ge=0, lt=math.inf)] = 0.2
    """Weight of the reward model's score, with --reward."""


@dataclass(frozen=True)
class Reward:
    """The terms of a reward by name; `reading` is None if the text could not be parsed."""

    terms: dict[str, float]
    reading: Reading | None

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


def compute_reward(
    text: str, item: LabelledQuestion, weights: RewardWeights, preference: float | None = None
) -> Reward:
    """Computes the reward of `text` as the answer to a question. An unreadable text gets less than any
    reading.

    `preference` is the reward model's score in [-1, 1], None without one.
    """
    reading = parse_reading(text, item.question)
    if isinstance(reading, str):
        return Reward(_unreadable_terms(text, weights, preference), None)
    accused = accusations(reading)
    pairs = match(accused, item.truths)
    posteriors = [0.0] * len(accused)
    for index, row in pairs:
        posteriors[index] = item.truths[row].probability
    matched = {row for _, row in pairs}
    hits = count_distribution(posteriors)
    misses = count_distribution(
        truth.probability for row, truth in enumerate(item.truths) if row not in matched
    )
    f_score = expected_f_score(hits, misses)
    terms = {
        "f_score": f_score,
        "evidence": -f_score * evidence_loss([(accused[index], item.truths[row]) for index, row in pairs]),
        "false_accusations": -sum(
            share * false_cost(len(accused) - n, weights.ratio) for n, share in enumerate(hits)
        ),
        "belief": -BELIEF_WEIGHT * min(MAX_SQUARED_ERROR, squared_error(reading, item.truths)),
        "form": -FORM_WEIGHT * _saturate(count_faults(text, reading)),
        "preference": weights.preference_weight * (preference or 0.0),
    }
    return Reward(terms, reading)


def _unreadable_terms(text: str, weights: RewardWeights, preference: float | None) -> dict[str, float]:
    """Returns the minimum of each term; `form` includes that of false accusations. An object with an invalid
    list of errors is better than none."""
    n_broken = 1 if find_object(text, "errors") is not None else 2
    return {
        "f_score": 0.0,
        "evidence": 0.0,
        "false_accusations": 0.0,
        "belief": -BELIEF_WEIGHT * MAX_SQUARED_ERROR,
        "form": -n_broken * FORM_WEIGHT - false_cost(math.inf, weights.ratio),
        "preference": 0.0 if preference is None else -weights.preference_weight,
    }


def count_distribution(probabilities: Iterable[float]) -> list[float]:
    """Returns the probabilities that 0, 1, ... of independent events of these probabilities happen."""
    shares = [1.0]
    for probability in probabilities:
        stay = [share * (1 - probability) for share in (*shares, 0.0)]
        shares = [own + below * probability for own, below in zip(stay, (0.0, *shares), strict=True)]
    return shares


def expected_f_score(hits: Sequence[float], misses: Sequence[float]) -> float:
    """Returns the expected F0.5 in [0, 1], by the distributions of the numbers of right accusations, 0 to
    all, and of missed errors."""
    n_accused = len(hits) - 1
    return sum(
        hit_share * miss_share * f_beta(n_hits, n_accused, n_hits + n_misses)
        for n_hits, hit_share in enumerate(hits)
        for n_misses, miss_share in enumerate(misses)
    )


def false_cost(n_false: float, ratio: float) -> float:
    """Returns the cost of false accusations beside that in F0.5, in [0, 2 ratio - 1) and increasing. One
    costs `ratio` missed errors, of which F0.5 has one; all others together cost as much as the first."""
    return 2 * ratio * _saturate(n_false) - 1 if n_false else 0.0


def _saturate(n: float) -> float:
    """Returns n / (1 + n): 1/2 for one, below 1 for any number."""
    return 1 - 1 / (1 + n)


def evidence_loss(hits: Sequence[tuple[ReadError, Truth]]) -> float:
    """Returns the share of the hits' value, weighted by posterior, that their severities and quotes lose."""
    total = sum(truth.probability for _, truth in hits)
    lost = 0.0
    for error, truth in hits:
        loss = SEVERITY_SHARE * (error.severity != truth.severity)
        if truth.span is not None and error.start is not None and error.end is not None:
            loss += QUOTE_SHARE * (1 - span_f1((error.start, error.end), truth.span))
        lost += truth.probability * loss
    return lost / total if total else 0.0


def squared_error(reading: Reading, truths: Sequence[Truth]) -> float:
    """Returns the sum of squared errors of the stated probabilities against the posteriors of the labels, at
    least 0. An error without a label has posterior 0, an unlisted label a stated probability of 0. A proper
    score.

    Source: Brier 1950; Gneiting and Raftery 2007, section 3.
    """
    rows = dict(match(reading.errors, truths))
    listed = (
        (error.probability - (truths[rows[index]].probability if index in rows else 0.0)) ** 2
        for index, error in enumerate(reading.errors)
    )
    unlisted = (truth.probability**2 for row, truth in enumerate(truths) if row not in rows.values())
    return sum(listed) + sum(unlisted)


def count_faults(text: str, reading: Reading) -> int:
    """Counts faults of the format: text around the JSON or JSON in another form than the targets'; for each
    error a quote that is not in the turn, one that overlaps an earlier one of this turn and code, or a
    probability too low to list; notes and reasons for each multiple of their limit."""
    has_rewrites = any(error.rewrite is not None for error in reading.errors)
    faults = int(_unescape(text.strip()) != _unescape(format_reading(reading, has_rewrites=has_rewrites)))
    faults += len(reading.notes) // NOTES_CHARS
    for index, error in enumerate(reading.errors):
        faults += len(error.reason) // REASON_CHARS + (error.probability < LEAST_PROBABILITY)
        faults += error.start is None or any(_repeats(error, other) for other in reading.errors[:index])
    return faults


def _repeats(error: ReadError, other: ReadError) -> bool:
    if (error.turn, error.code) != (other.turn, other.code) or other.start is None or error.start is None:
        return False
    return error.start < (other.end or 0) and other.start < (error.end or 0)


def _unescape(text: str) -> str:
    """Replaces escapes of letters in JSON: the spelling of control tokens depends on the tokenizer."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda escape: chr(int(escape[1], 16)), text)


def standardize(score: float, mean: float, deviation: float) -> float:
    """Maps a reward model's score to [-1, 1]: its distance from the mean in standard deviations of held-out
    answers, clipped at `MAX_DEVIATIONS` and divided by them.

    Raises:
        ValueError: the score is not finite, or the deviation is not above 0.
    """
    if not abs(score) < float("inf") or not deviation > 0:
        raise ValueError("a reward model's score must be finite and its deviation above 0")
    return max(-1.0, min(1.0, (score - mean) / deviation / MAX_DEVIATIONS))
