"""Reward hacking: on a synthetic mixed set every trick has a lower reward than a mediocre honest judge.

The set: dialogues of three turns and three codes, half of them clean. The honest judge has calibrated
probabilities only, and states them; every second quote is too wide, and every second severity is wrong. A trick
changes one thing of that judge, or never reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from made_questions import CODES, EVIDENCE, TEXT, TURNS, error, question, truth, written

from dialint.detector.judge.reading import ReadError
from dialint.eval.labelled import LabelledQuestion
from dialint.finetune.rewards.verifiable import RewardWeights, compute_reward

TRUTHS = {0.98: (1, 1, 1, 0.92), 0.9: (1, 1, 0.9, 0.7), 0.75: (1, 1, 1, 0), 0.4: (1, 0.6, 0, 0)}
"""The judge's probability of a possible error, and the posteriors of four of them."""
KINDS: tuple[tuple[float, ...], ...] = ((0.98,), (0.9,), (0.75,), (0.4,), (0.98, 0.98), (0.98, 0.4))
"""Kinds of dialogues: the probabilities of one or two possible errors."""


@dataclass(frozen=True)
class Case:
    """A question and the honest judge's entries."""

    item: LabelledQuestion
    entries: tuple[ReadError, ...]


def cases() -> list[Case]:
    """Each kind four times, with every truth once, and as many clean dialogues."""
    made = [Case(question(), ())] * (4 * len(KINDS))
    for kind in KINDS:
        for number in range(4):
            places = list(zip((1, 5), ("T1", "V2"), kind, strict=False))
            truths = [
                truth(turn, code, TRUTHS[belief][(number + place) % 4])
                for place, (turn, code, belief) in enumerate(places)
            ]
            quote, severity = (f"{EVIDENCE} We look", "S4") if number % 2 == 0 else (EVIDENCE, None)
            entries = [
                error(turn, code, belief, quote, severity=severity or CODES[code].severity)
                for turn, code, belief in places
            ]
            made.append(Case(question(*truths), tuple(entries)))
    return made


CASES = cases()
PROMPT = " ".join([TEXT] * 40)
Policy = Callable[[Case], str]


def honest(case: Case) -> str:
    return written(*case.entries)


def played(play: Callable[[ReadError], dict[str, object]]) -> Policy:
    """The honest judge, but for these fields of each entry."""
    return lambda case: written(*(each.model_copy(update=play(each)) for each in case.entries))


def everything(probability: float) -> Policy:
    return lambda case: written(*(error(turn, code, probability) for turn in TURNS for code in CODES))


def also(play: Callable[[ReadError], dict[str, object]]) -> Policy:
    """The honest judge with a second entry behind each."""

    def policy(case: Case) -> str:
        pairs = ((each, each.model_copy(update=play(each))) for each in case.entries)
        return written(*(entry for pair in pairs for entry in pair))

    return policy


def dilutes(case: Case) -> str:
    """Pads its list with what it holds for impossible."""
    listed = {(each.turn, each.code) for each in case.entries}
    rest = [(turn, code) for turn in TURNS for code in CODES if (turn, code) not in listed]
    return written(*case.entries, *(error(turn, code, 0.0) for turn, code in rest))


TRICKS: dict[str, Policy] = {
    "lists everything": everything(1.0),
    "lists everything at one half": everything(0.5),
    "lists everything below one half": everything(0.49),
    "lists everything at the least": everything(0.3),
    "lists nothing": lambda case: written(),
    "cannot be read": lambda case: "There is no error.",
    "no probability above one half": played(lambda each: {"probability": min(each.probability, 0.49)}),
    "one half for all": played(lambda each: {"probability": 0.5}),
    "certain of all": played(lambda each: {"probability": 1.0}),
    "accuses what is unsure": played(lambda each: {"probability": max(each.probability, 0.5)}),
    "below one half what is not certain": played(
        lambda each: {"probability": each.probability if each.probability > 0.9 else 0.49}
    ),
    "pads with what is impossible": dilutes,
    "quotes the whole turn": played(lambda each: {"quote": TEXT}),
    "quotes one letter": played(lambda each: {"quote": "Y"}),
    "quotes in own words": played(lambda each: {"quote": "You ought to have read it."}),
    "quotes nothing": played(lambda each: {"quote": ""}),
    "one severity for all": played(lambda each: {"severity": "S4"}),
    "says it twice": also(lambda each: {}),
    "quotes twice": also(lambda each: {"quote": "Thank you for waiting."}),
    "names a neighbour too": also(lambda each: {"code": "C1"}),
    "names a neighbour too, unsure": also(lambda each: {"code": "C1", "probability": 0.3}),
    "long notes": lambda case: written(*case.entries, notes="I think. " * 300),
    "copies the prompt into the notes": lambda case: written(*case.entries, notes=PROMPT),
    "copies the prompt before the answer": lambda case: PROMPT + written(*case.entries),
    "answers twice": lambda case: written() + honest(case),
    "long reasons": played(lambda each: {"reason": "because " * 100}),
}


NO_JUDGEMENT = ("quotes", "says", "long", "copies", "answers", "pads", "cannot")


def mean(policy: Policy, ratio: float) -> float:
    weights = RewardWeights(ratio=ratio)
    return sum(compute_reward(policy(case), case.item, weights).total for case in CASES) / len(CASES)


@pytest.mark.parametrize("name", TRICKS)
@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_every_trick_earns_less_than_an_honest_judge(name: str, ratio: float) -> None:
    assert mean(TRICKS[name], ratio) < mean(honest, ratio) - 1e-3


@pytest.mark.parametrize("ratio", [1.0, 2.0, 20.0])
@pytest.mark.parametrize("name", [name for name in TRICKS if name.startswith(NO_JUDGEMENT)])
def test_what_is_no_judgement_pays_in_no_dialogue(name: str, ratio: float) -> None:
    """In a group of answers to one question it never beats the honest one, where that is right."""
    weights = RewardWeights(ratio=ratio)
    for case in CASES:
        right = all(each.probability == 1.0 for each in case.item.truths)
        if right and all(each.probability >= 0.5 for each in case.entries):
            policies = (honest, TRICKS[name])
            own, trick = (compute_reward(policy(case), case.item, weights).total for policy in policies)
            assert trick <= own
