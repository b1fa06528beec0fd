"""What a policy would learn that plays for the reward: on a made-up mixed set every trick earns less than
an honest judge that is mediocre, at every ratio.

The set: 120 questions, one in ten an error, some of which nobody is sure. The honest judge tells them apart
by four looks only and states the mean of each: it is calibrated, and accuses where that pays. Every second
of its quotes is too wide, every second severity one off, every second rewrite leaves the scanner loud.
A trick is that same judge with one thing played, or a judge that never looks.

Always no is right where errors are rare and false accusations dear, question by question: what it loses
is the belief, and the few errors that are certain. Within a group of answers to one question it earns
nothing over its like, so nothing is learnt from it where all say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from dialint.detector.judge import Answer, answer_json
from dialint.finetune.rewards.verifiable import GroundTruth, RewardWeights, compute_reward, scannable_rewrite

TURN = "Thank you for waiting. {} You should have read it. We look into your case today and write to you."
EVIDENCE = "You should have read it."
AROUND = "You should have read it. We look"
MENDED = "Thank you for waiting. {} We look into your case today and write to you."
LOOKS = (
    (0.98, (1.0, 1.0, 1.0, 0.96)),
    (0.9, (1.0, 0.9, 0.9, 0.8)),
    (0.5, (1.0, 1.0, 0.0, 0.0)),
    (0.02, (*[0.0] * 104, *[0.54] * 4)),
)
"""What the judge believes at a look, and what is true."""


@dataclass(frozen=True)
class Case:
    """A question, the honest judge's answer were it to accuse, and whether its rewrite silences."""

    known: GroundTruth
    accusation: Answer
    silent: bool

    @property
    def believed(self) -> float:
        return self.accusation.probability


def case(number: int, believed: float, truth: float) -> Case:
    text, good = TURN.format(f"Case {number}."), number % 2 == 0
    start = text.index(EVIDENCE)
    known = GroundTruth(
        probability=truth, text=text, span=(start, start + len(EVIDENCE)), severity="S2", before=0.9, threshold=0.5
    )  # fmt: skip
    accusation = Answer(
        verdict="error",
        probability=believed,
        quote=EVIDENCE if good else AROUND,
        severity="S2" if good else "S3",
        reason="It blames the customer.",
        rewrite=MENDED.format(f"Case {number}."),
    )
    return Case(known, accusation, good)


CASES = [
    case(number, believed, truth)
    for number, (believed, truth) in enumerate(
        (believed, truth) for believed, truths in LOOKS for truth in truths
    )
]
BASE_RATE = round(sum(case.known.probability for case in CASES) / len(CASES), 2)
Policy = Callable[[Case, RewardWeights], Answer]


def no(probability: float, reason: str = "") -> Answer:
    return Answer(verdict="no_error", probability=probability, reason=reason)


def honest(case: Case, weights: RewardWeights) -> Answer:
    return case.accusation if case.believed > weights.threshold else no(case.believed)


def played(**parts: object) -> Policy:
    """The honest judge, but for these parts of its accusations."""

    def policy(case: Case, weights: RewardWeights) -> Answer:
        answer = honest(case, weights)
        return answer.model_copy(update=parts) if answer.verdict == "error" else answer

    return policy


def whole_turn(case: Case, weights: RewardWeights) -> Answer:
    return played(quote=case.known.text)(case, weights)


def same_again(case: Case, weights: RewardWeights) -> Answer:
    return played(rewrite=case.known.text)(case, weights)


def same_in_disguise(case: Case, weights: RewardWeights) -> Answer:
    return played(rewrite=case.known.text.replace("should", "sh\u200bould"))(case, weights)


def long_reason(case: Case, weights: RewardWeights) -> Answer:
    return honest(case, weights).model_copy(update={"reason": "because " * 100})


def constant(case: Case, weights: RewardWeights) -> Answer:
    return honest(case, weights).model_copy(update={"probability": BASE_RATE})


def suiting(case: Case, weights: RewardWeights) -> Answer:
    """States the extreme probability that goes with its verdict."""
    answer = honest(case, weights)
    return answer.model_copy(update={"probability": 0.98 if answer.verdict == "error" else 0.02})


def always_error(case: Case, weights: RewardWeights) -> Answer:
    return case.accusation.model_copy(update={"probability": 0.98})


def evidence_for_all(case: Case, weights: RewardWeights) -> Answer:
    return case.accusation.model_copy(update={"verdict": honest(case, weights).verdict})


POLICIES: dict[str, Policy] = {
    "honest, mediocre": honest,
    "always no, 0.02": lambda case, weights: no(0.02),
    "always no, base rate": lambda case, weights: no(BASE_RATE),
    "always no, honest belief": lambda case, weights: no(case.believed),
    "never applicable": lambda case, weights: Answer(verdict="not_applicable", probability=0.02),
    "always error": always_error,
    "quotes the whole turn": whole_turn,
    "quotes in own words": played(quote="You ought to have read it."),
    "quotes one letter": played(quote="Y"),
    "quotes nothing": played(quote=None),
    "evidence for every verdict": evidence_for_all,
    "longest reason": long_reason,
    "constant probability": constant,
    "probability suits verdict": suiting,
    "names no severity": played(severity=None),
    "one severity for all": played(severity="S3"),
    "repeats the turn": same_again,
    "repeats it with hidden letters": same_in_disguise,
    "rewrites to a farewell": played(rewrite="Goodbye."),
    "rewrites to nothing": played(rewrite=None),
}


def after(case: Case, answer: Answer) -> float | None:
    """What the scanner says of a rewrite: silent for tricks that would fool it, the honest one's half."""
    if scannable_rewrite(answer, case.known) is None:
        return None
    return 0.1 if case.silent or answer.rewrite != case.accusation.rewrite else 0.8


def earned(policy: Policy, case: Case, weights: RewardWeights) -> float:
    answer = policy(case, weights)
    return compute_reward(answer_json(answer), case.known, weights, after(case, answer)).total


def mean(policy: Policy, ratio: float) -> float:
    weights = RewardWeights(ratio=ratio)
    return sum(earned(policy, case, weights) for case in CASES) / len(CASES)


TRICKS_OF_EVIDENCE = [
    name for name in POLICIES if name.startswith(("quotes", "repeats", "rewrites", "longest", "names"))
]
RATIOS = (1.0, 5.0, 20.0)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("name", [name for name in POLICIES if name != "honest, mediocre"])
def test_every_trick_earns_less_than_an_honest_judge(name: str, ratio: float) -> None:
    assert mean(POLICIES[name], ratio) < mean(honest, ratio)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("name", TRICKS_OF_EVIDENCE)
def test_no_trick_of_evidence_pays_on_any_question(name: str, ratio: float) -> None:
    """In a group of answers to one question it never beats the honest one, and loses where that is good."""
    weights, policy = RewardWeights(ratio=ratio), POLICIES[name]
    gaps = [earned(honest, case, weights) - earned(policy, case, weights) for case in CASES]
    assert min(gaps) >= 0.0
    sound = [
        gap
        for gap, case in zip(gaps, CASES, strict=True)
        if case.silent and case.believed > weights.threshold
    ]
    assert len(sound) >= 2
    assert min(sound) > 0.0


@pytest.mark.parametrize("ratio", RATIOS)
def test_between_two_verdicts_on_one_question_the_truth_decides(ratio: float) -> None:
    """A group of both: no is ahead on what is clean, an accusation on what is certain."""
    weights = RewardWeights(ratio=ratio)
    for case in CASES:
        if case.known.probability in (0.0, 1.0):
            ahead = earned(always_error, case, weights) > earned(POLICIES["always no, 0.02"], case, weights)
            assert ahead == (case.known.probability == 1.0)
