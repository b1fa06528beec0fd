"""Verifiable rewards: terms of an answer's reward that follow from what is known about its question.

Each term is a function of its own; `compute_reward` adds them up. In the unit of the terms a miss costs 1 and
a false accusation `ratio`, both over 1 + ratio, so that the scale of rewards does not depend on the ratio.
All terms but the reward model's are costs, at best 0. What evidence costs is a share of the value of a hit: a
judge with sound evidence earns most by accusing where the probability of an error is above ratio / (1 +
ratio), and at no ratio by accusing for the sake of its quotes. Calls no model: the outputs of scanner and
reward model are arguments.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.judge import Answer, answer_json, locate_quote, parse_answer
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Severity
from dialint.detector.render import visible_text
from dialint.eval.metrics import span_f1

WRONG_ABSTENTION_COST = 0.1
"""Cost, in misses, of saying no_error where not_applicable is right, and the other way round."""
MIN_WORD_RECALL = 1 / 3
"""Share of the words of the turn, or of a known good rewrite, that a rewrite must keep to count as one."""
SEVERITIES: tuple[Severity, ...] = ("S1", "S2", "S3", "S4")
MAX_DEVIATIONS = 3.0
"""Standard deviations from the mean at which a reward model's score is clipped."""


Weight = Annotated[float, Field(ge=0, lt=math.inf)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RewardWeights:
    """The weights of the terms of a reward."""

    ratio: Annotated[float, Field(gt=0, lt=math.inf)] = 5.0
    """How many missed errors are as bad as one false accusation."""
    belief_weight: Weight = 1.0
    """Weight of the stated probability's Brier score."""
    decision_weight: Annotated[float, Field(gt=0)] = 4.0
    """Weight of the verdict; --ratio has next to no effect if this is not much above --belief-weight."""
    quote_share: Weight = 0.3
    """Share of a hit's value that a quote outside of the evidence loses."""
    severity_share: Weight = 0.1
    """Share of a hit's value that a wrong severity loses."""
    rewrite_share: Weight = 0.2
    """Share of a hit's value that a rewrite loses in which the scanner still finds the error."""
    form_weight: Weight = 0.2
    """Weight of the answer's form: exact JSON, evidence and probability that agree with the verdict."""
    brevity_weight: Weight = 0.2
    """Weight of brevity."""
    answer_chars: Annotated[int, Field(ge=1)] = 240
    """Characters of an answer that are free; its quote and its rewrite are not counted up to the turn's
    length each."""
    preference_weight: Weight = 0.2
    """Weight of the reward model's score, with --reward."""
    most_stands_for: Annotated[float, Field(ge=1, lt=math.inf)] = 10.0
    """Largest weight of a randomly sampled question, which counts as the number of questions it stands for:
    errors are rarer in use than among the training questions. 1: all questions have the same weight."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.quote_share + self.severity_share + self.rewrite_share > 1:
            raise ConfigError(
                "E_OPTION", "--quote-share, --severity-share and --rewrite-share: at most 1 together"
            )

    @property
    def threshold(self) -> float:
        """The probability of an error above which an accusation pays."""
        return self.ratio / (1 + self.ratio)


@dataclass(frozen=True, kw_only=True)
class GroundTruth:
    """The facts about a question; None: unknown, not scanned.

    `probability` that the turn is an error; `text` of the turn as the judge reads it; `span` of the evidence
    in it; `rewrite`, the turn without the error; `applies`, whether the code is applicable at all; `before`,
    the scanner's probability of the code at this turn, an error from `threshold` on; `stands_for`, how many
    questions this one was sampled from.
    """

    probability: float
    text: str
    span: tuple[int, int] | None = None
    severity: Severity | None = None
    rewrite: str | None = None
    applies: bool = True
    before: float | None = None
    threshold: float = 0.5
    stands_for: float = 1.0


@dataclass(frozen=True)
class Reward:
    """The terms of a reward by name; `answer` is None where the text could not be parsed."""

    terms: dict[str, float]
    answer: Answer | None

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


def compute_reward(
    text: str,
    truth: GroundTruth,
    weights: RewardWeights,
    after: float | None = None,
    preference: float | None = None,
) -> Reward:
    """The reward of the answer `text`, times what its question stands for. A text that is no answer gets less
    than any answer.

    `after` is the scanner's probability for the turn rewritten as `scannable_rewrite` says; `preference` the
    reward model's score in [-1, 1]; None without a scanner or model.
    """
    answer = parse_answer(text)
    scale = min(truth.stands_for, weights.most_stands_for)
    if answer is None:
        terms = dict.fromkeys(("quote", "severity", "rewrite"), 0.0) | {
            "belief": -weights.belief_weight,
            "decision": -weights.decision_weight,
            "form": -weights.form_weight,
            "brevity": -weights.brevity_weight,
            "preference": 0.0 if preference is None else -weights.preference_weight,
        }
    else:
        hit = 0.0
        if is_accusation(answer, truth):
            hit = weights.decision_weight * truth.probability / (1 + weights.ratio)
        terms = {
            "belief": weights.belief_weight * belief(answer.probability, truth.probability),
            "decision": weights.decision_weight * decision(answer, truth, weights.ratio),
            "quote": -weights.quote_share * hit * (1 - quote(answer, truth)),
            "severity": -weights.severity_share * hit * (1 - severity(answer, truth)),
            "rewrite": -weights.rewrite_share * hit * (1 - rewrite(answer, truth, after)),
            "form": -weights.form_weight * (1 - form(answer, text, truth, weights.threshold)),
            "brevity": -weights.brevity_weight * (1 - brevity(answer, text, truth, weights.answer_chars)),
            "preference": weights.preference_weight * (preference or 0.0),
        }
    return Reward({name: scale * value for name, value in terms.items()}, answer)


def is_accusation(answer: Answer, truth: GroundTruth) -> bool:
    """Return whether the answer becomes a finding: an error with a verbatim quote."""
    return answer.verdict == "error" and locate_quote(answer, truth.text) is not None


def belief(stated: float, probability: float) -> float:
    """The negative Brier score of a stated probability, in [-1, 0]: a proper score, for outcomes of 0 and 1
    and for soft ones.

    Source: Brier 1950; Gneiting and Raftery 2007, section 3.
    """
    return -((stated - probability) ** 2)


def decision(answer: Answer, truth: GroundTruth, ratio: float) -> float:
    """The negative expected cost of the verdict, in [-1, 0]: a miss costs 1, a false accusation `ratio`, both
    over 1 + ratio.

    An error without a verbatim quote is dropped: it costs the accusation and the miss. Of the two verdicts
    without an accusation the wrong one costs `WRONG_ABSTENTION_COST` misses, so that neither is a way around
    the other.
    """
    missed, accused = truth.probability / (1 + ratio), (1 - truth.probability) * ratio / (1 + ratio)
    if answer.verdict == "error":
        return -accused if is_accusation(answer, truth) else -(accused + missed)
    right = (answer.verdict == "no_error") == truth.applies
    return -min(1.0, missed + (0.0 if right else WRONG_ABSTENTION_COST / (1 + ratio)))


def quote(answer: Answer, truth: GroundTruth) -> float:
    """The match of the quote with the labelled evidence, in [0, 1]: F1 of characters, less the share of the
    turn that is quoted outside of the evidence. So the whole turn earns nothing where the evidence is less
    than sqrt(2) - 1 of it. 1 for any verbatim quote where no evidence is labelled."""
    quoted = locate_quote(answer, truth.text)
    if quoted is None or truth.span is None:
        return float(quoted is not None)
    start, end = truth.span
    outside = max(0, start - quoted[0]) + max(0, quoted[1] - end)
    return max(0.0, span_f1(quoted, truth.span) - outside / len(truth.text))


def severity(answer: Answer, truth: GroundTruth) -> float:
    """1 for the right severity, 1/2 for an adjacent one, else 0; 1 where it is unknown."""
    if truth.severity is None:
        return 1.0
    if answer.severity is None:
        return 0.0
    return max(0.0, 1 - abs(SEVERITIES.index(answer.severity) - SEVERITIES.index(truth.severity)) / 2)


def scannable_rewrite(answer: Answer | None, truth: GroundTruth) -> str | None:
    """The rewrite to scan, or None: that of a finding where the scanner found an error too, not blank, not
    the unchanged turn, and with at least `MIN_WORD_RECALL` of the words of the turn, or of the known rewrite
    (where the whole turn is the error, a good rewrite keeps none of it)."""
    if answer is None or not is_accusation(answer, truth):
        return None
    if truth.before is None or truth.before < truth.threshold:
        return None
    new, old = _normalize(answer.rewrite or ""), _normalize(truth.text)
    recall = max(word_recall(old, new), word_recall(truth.rewrite, new) if truth.rewrite else 0.0)
    return answer.rewrite if new and new != old and recall >= MIN_WORD_RECALL else None


def _normalize(text: str) -> str:
    return " ".join(visible_text(text)[0].split())


def word_recall(old: str, new: str) -> float:
    """Share of the words of `old` that occur in `new`, each as often, in [0, 1]; 1 where `old` has none."""
    before, after = (Counter(re.findall(r"\w+", text.casefold())) for text in (old, new))
    return (before & after).total() / before.total() if before else 1.0


def rewrite(answer: Answer, truth: GroundTruth, after: float | None) -> float:
    """1 if the scanner finds no error `after` the rewrite, else 0; 1 where it found none before or there is
    no scanner.

    Raises:
        ValueError: there is a rewrite to scan, and `after` is None. An outage is no bad answer.
    """
    if truth.before is None or truth.before < truth.threshold:
        return 1.0
    if scannable_rewrite(answer, truth) is None:
        return 0.0
    if after is None:
        raise ValueError("the rewrite was not scanned")
    return float(after < truth.threshold)


def form(answer: Answer, text: str, truth: GroundTruth, threshold: float) -> float:
    """Mean of three scores, in [0, 1]: the text is written exactly as in training; an error has its quote,
    any other verdict no evidence; the verdict agrees with the stated probability, less the distance of that
    to `threshold` on the wrong side. The last is gradual and small, or it would pay to state a probability
    that suits the verdict."""
    exact = _unescape(answer_json(answer)) == _unescape(text.strip())
    if answer.verdict == "error":
        backed, gap = is_accusation(answer, truth), threshold - answer.probability
    else:
        backed = answer.quote is None and answer.severity is None and answer.rewrite is None
        gap = answer.probability - threshold
    return (exact + backed + 1 - max(0.0, gap)) / 3


def _unescape(text: str) -> str:
    """JSON without escapes of letters: the spelling of control tokens depends on the tokenizer."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)


def brevity(answer: Answer, text: str, truth: GroundTruth, chars: int) -> float:
    """1 up to `chars` characters, then falling linearly to 0 at twice as many. The quote and the rewrite are
    not counted, each up to the turn's length."""
    free = sum(min(len(part or ""), len(truth.text)) for part in (answer.quote, answer.rewrite))
    return 1 - min(1.0, max(0, len(text) - free - chars) / chars)


def standardize(score: float, mean: float, deviation: float) -> float:
    """A reward model's score in [-1, 1]: its distance from the mean in standard deviations of held-out
    answers, clipped at `MAX_DEVIATIONS` and divided by them.

    Raises:
        ValueError: the score is not finite, or the deviation is not above 0.
    """
    if not abs(score) < float("inf") or not deviation > 0:
        raise ValueError("a reward model's score must be finite and its deviation above 0")
    return max(-1.0, min(1.0, (score - mean) / deviation / MAX_DEVIATIONS))
