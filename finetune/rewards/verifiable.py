"""What an answer of the judge is worth, from what is known of its question: rewards that can be verified.

Every term is a small function of its own; `reward` sums them. The unit is what two mistakes cost: a miss
1 and a false accusation `ratio`, both over 1 + ratio, so that no ratio makes rewards grow. All terms but
the reward model's are costs, 0 at best. What evidence costs is a part of what a hit is worth, so that a
judge of sound evidence earns most by accusing where an error is more probable than ratio / (1 + ratio),
and at no ratio by accusing for the sake of its quotes. Runs no model: what the scanner and the reward
model say is given as numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from cyclopts import Parameter

from dialint.detector.errors import ConfigError
from dialint.detector.judge import Answer, evidence_of, parsed, written
from dialint.detector.records import Severity
from dialint.detector.render import visible_text
from dialint.eval.metrics import span_f1

SLIP = 0.1
"""What the wrong one of the two verdicts that accuse nobody costs, in misses."""
KEPT = 1 / 3
"""Share of the words, of the turn or of a rewrite known to be good, that a rewrite must have to be one."""
SEVERITIES: tuple[Severity, ...] = ("S1", "S2", "S3", "S4")
SPREADS = 3.0
"""Standard deviations from the mean at which the reward model's say ends."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Weights:
    """What counts in an answer, and how much."""

    ratio: float = 5.0
    """How many missed errors are as bad as one false accusation."""
    belief_weight: float = 1.0
    """Of the stated probability."""
    decision_weight: float = 4.0
    """Of the verdict; little more than the belief's, and the ratio would move next to nothing."""
    quote_share: float = 0.3
    """Part of a hit's worth that a quote beside the evidence loses."""
    severity_share: float = 0.1
    """Part of a hit's worth that a wrong severity loses."""
    rewrite_share: float = 0.2
    """Part of a hit's worth that a rewrite loses after which the scanner is not silent."""
    form_weight: float = 0.2
    """Of the answer's form, and of its parts agreeing with each other."""
    brevity_weight: float = 0.2
    """Of brevity."""
    answer_chars: int = 240
    """Characters of an answer that cost nothing; its quote and rewrite are free up to the turn's length."""
    preference_weight: float = 0.2
    """Of what the reward model says, where there is one."""
    most_stands_for: float = 10.0
    """A question that was drawn at random counts as those it stands for, up to so many: errors are rarer
    where the judge will work than among what it is asked here. 1: every question counts alike."""

    def refuse(self) -> None:
        """Say what cannot be.

        Raises:
            ConfigError: E_OPTION.
        """
        shares = (self.quote_share, self.severity_share, self.rewrite_share)
        weights = (self.belief_weight, self.form_weight, self.brevity_weight, self.preference_weight)
        if not 0 < self.ratio < float("inf") or self.answer_chars < 1:
            raise ConfigError("E_OPTION", "--ratio must be above 0, --answer-chars at least 1")
        if not self.decision_weight > 0 or not all(0 <= weight < float("inf") for weight in weights):
            raise ConfigError("E_OPTION", "--decision-weight must be above 0, no other weight below it")
        if not 1 <= self.most_stands_for < float("inf"):
            raise ConfigError("E_OPTION", "--most-stands-for must be at least 1")
        if not all(share >= 0 for share in shares) or not sum(shares) <= 1:
            raise ConfigError("E_OPTION", "the shares of a hit must not be negative, nor above 1 together")

    @property
    def threshold(self) -> float:
        """The probability of an error above which an accusation pays."""
        return self.ratio / (1 + self.ratio)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a question. `probability` that the turn is an error; `text` of the turn as the judge
    was shown it; `span` of the evidence in it; a `rewrite` that mends it; whether the code `applies` at all;
    `before`, the scanner's probability of the code at this turn, which is silent below `threshold`.
    None: not known, not judged. It `stands_for` so many questions that are not asked."""

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
    """What each term adds, by name; `answer` is None where the text was none."""

    terms: dict[str, float]
    answer: Answer | None

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


def reward(
    text: str, known: Known, weights: Weights, after: float | None = None, preference: float | None = None
) -> Reward:
    """The reward of the answer `text`, times what its question stands for.

    `after` is the scanner's probability once the turn is as `rewrite_of` says; `preference` what the reward
    model says, in [-1, 1]; None: there is none.

    An answer that cannot be read gets less than any that can.
    """
    answer = parsed(text)
    times = min(known.stands_for, weights.most_stands_for)
    if answer is None:
        return Reward({name: times * value for name, value in _worst(weights, preference).items()}, None)
    hit = weights.decision_weight * known.probability / (1 + weights.ratio) if accuses(answer, known) else 0.0
    terms = {
        "belief": weights.belief_weight * belief(answer.probability, known.probability),
        "decision": weights.decision_weight * decision(answer, known, weights.ratio),
        "quote": -weights.quote_share * hit * (1 - quote(answer, known)),
        "severity": -weights.severity_share * hit * (1 - severity(answer, known)),
        "rewrite": -weights.rewrite_share * hit * (1 - rewrite(answer, known, after)),
        "form": -weights.form_weight * (1 - form(answer, text, known, weights.threshold)),
        "brevity": -weights.brevity_weight * (1 - brevity(answer, text, known, weights.answer_chars)),
        "preference": weights.preference_weight * (preference or 0.0),
    }
    return Reward({name: times * value for name, value in terms.items()}, answer)


def _worst(weights: Weights, preference: float | None) -> dict[str, float]:
    """What cannot be read says nothing right."""
    return dict.fromkeys(("quote", "severity", "rewrite"), 0.0) | {
        "belief": -weights.belief_weight,
        "decision": -weights.decision_weight,
        "form": -weights.form_weight,
        "brevity": -weights.brevity_weight,
        "preference": 0.0 if preference is None else -weights.preference_weight,
    }


def accuses(answer: Answer, known: Known) -> bool:
    """Whether the answer makes a finding: an error without a verbatim quote makes none."""
    return answer.verdict == "error" and evidence_of(answer, known.text) is not None


def belief(stated: float, probability: float) -> float:
    """The Brier score of a stated probability, in [-1, 0]: highest, on average over truths of 0 and 1 as
    over soft ones, for who states what they believe.

    Source: Brier 1950; Gneiting and Raftery 2007, section 3.
    """
    return -((stated - probability) ** 2)


def decision(answer: Answer, known: Known, ratio: float) -> float:
    """Minus what the verdict costs on average, in [-1, 0]: a miss 1, a false accusation `ratio`, both over
    1 + ratio. An error without a verbatim quote dies: it accused, and found nothing. Of the two verdicts
    that accuse nobody the wrong one costs `SLIP` misses, so that neither is a way around the other."""
    missed, accused = known.probability / (1 + ratio), (1 - known.probability) * ratio / (1 + ratio)
    if answer.verdict == "error":
        return -accused if accuses(answer, known) else -(accused + missed)
    right = (answer.verdict == "no_error") == known.applies
    return -min(1.0, missed + (0.0 if right else SLIP / (1 + ratio)))


def quote(answer: Answer, known: Known) -> float:
    """How well the quote lies on the labelled evidence, in [0, 1]: F1 of characters, less the share of the
    turn that is quoted beside the evidence. So the whole turn earns nothing where the evidence is less
    than sqrt(2) - 1 of it. 1 for any verbatim quote where no evidence is labelled."""
    found = evidence_of(answer, known.text)
    if found is None or known.span is None:
        return float(found is not None)
    start, end = known.span
    beside = max(0, start - found[0]) + max(0, found[1] - end)
    return max(0.0, span_f1(found, known.span) - beside / len(known.text))


def severity(answer: Answer, known: Known) -> float:
    """1 for the right severity, 1/2 for its neighbour, else 0; 1 where it is not known."""
    if known.severity is None:
        return 1.0
    if answer.severity is None:
        return 0.0
    return max(0.0, 1 - abs(SEVERITIES.index(answer.severity) - SEVERITIES.index(known.severity)) / 2)


def rewrite_of(answer: Answer | None, known: Known) -> str | None:
    """The rewrite to put before the scanner: of a finding, where the scanner saw one too, not blank, not
    the turn over again, and with at least `KEPT` of the words of the turn, or of the rewrite that is known
    (where the whole turn is the error, mending keeps none of it); else None."""
    if answer is None or not accuses(answer, known) or known.before is None or known.before < known.threshold:
        return None
    new, old = _plain(answer.rewrite or ""), _plain(known.text)
    kept = max(kept_words(old, new), kept_words(known.rewrite, new) if known.rewrite else 0.0)
    return answer.rewrite if new and new != old and kept >= KEPT else None


def _plain(text: str) -> str:
    return " ".join(visible_text(text)[0].split())


def kept_words(old: str, new: str) -> float:
    """Share of the words of `old` that stand in `new` as often, in [0, 1]; 1 where `old` has none."""
    had, has = (Counter(re.findall(r"\w+", text.casefold())) for text in (old, new))
    return (had & has).total() / had.total() if had else 1.0


def rewrite(answer: Answer, known: Known, after: float | None) -> float:
    """1 if the scanner is silent `after` the rewrite, else 0; 1 where it was silent before or was not asked.

    Raises:
        ValueError: there is something to scan, and `after` is None. An outage is no bad answer.
    """
    if known.before is None or known.before < known.threshold:
        return 1.0
    if rewrite_of(answer, known) is None:
        return 0.0
    if after is None:
        raise ValueError("the rewrite was not put before the scanner")
    return float(silenced(known.before, after, known.threshold))


def silenced(before: float, after: float, threshold: float) -> bool:
    """Whether the scanner saw an error before, and sees none after."""
    return after < threshold <= before


def form(answer: Answer, text: str, known: Known, threshold: float) -> float:
    """Mean of three, in [0, 1]: written exactly as it is taught; an error with its quote, anything else
    without evidence; a verdict that agrees with the stated probability, less by how far that lies on the
    wrong side of `threshold`. The last is gradual and small, or it would pay to state a probability that
    suits the verdict."""
    exact = _unescaped(written(answer)) == _unescaped(text.strip())
    if answer.verdict == "error":
        backed, gap = accuses(answer, known), threshold - answer.probability
    else:
        backed = answer.quote is None and answer.severity is None and answer.rewrite is None
        gap = answer.probability - threshold
    return (exact + backed + 1 - max(0.0, gap)) / 3


def _unescaped(text: str) -> str:
    """JSON with its escapes of letters undone: how control tokens are spelled depends on the tokenizer."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)


def brevity(answer: Answer, text: str, known: Known, chars: int) -> float:
    """1 up to `chars` characters, falling to 0 at twice as many. The answer's quote and its rewrite are
    not counted, each up to the turn's length."""
    free = sum(min(len(part or ""), len(known.text)) for part in (answer.quote, answer.rewrite))
    return 1 - min(1.0, max(0, len(text) - free - chars) / chars)


def standardised(score: float, mean: float, spread: float) -> float:
    """A reward model's score in [-1, 1]: standard deviations from its mean on held-out answers, at most
    `SPREADS` of them, over as many.

    Raises:
        ValueError: the score is no number, or the spread is not above 0.
    """
    if not abs(score) < float("inf") or not spread > 0:
        raise ValueError("a reward model's score must be finite and its spread above 0")
    return max(-1.0, min(1.0, (score - mean) / spread / SPREADS))
