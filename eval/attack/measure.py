"""Runs the trials of a target and makes figures of them: how often attacks succeed beyond their controls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from dialint.detector.statistics import (
    bootstrap_counts,
    grouped_sum,
    percentile_interval,
    ratio,
)
from dialint.eval.attack.battery import Attack, Battery, Goal
from dialint.eval.attack.trials import Subject, Target, TargetVerdict, Trial, is_flipped, make_trial
from dialint.eval.results import source_name

BATCH = 256
"""Trials whose dialogues are in memory together."""


@dataclass(frozen=True)
class Outcome:
    """What came of an attack: whether it and its control succeeded. `unread`: the attacked
    verdict failed, or the turn was not judged for its language, and the verdict says so."""

    family: str
    goal: Goal
    place: str
    attack: str
    dialogue_id: str
    turn: int
    code: str
    flipped: bool
    control_flipped: bool
    unread: bool


def run_attacks(
    target: Target,
    battery: Battery,
    attacks: Sequence[Attack],
    subjects: dict[Goal, list[Subject]],
    copies: int,
    seed: int,
) -> list[Outcome]:
    """The outcome of every attack at `copies` subjects each, drawn by the seed."""
    pairs: list[tuple[Attack, Subject]] = []
    for attack in attacks:
        fitting = [s for s in subjects[attack.goal] if attack.code is None or attack.code in s.codes]
        drawn = random.Random(f"{seed}/{attack.id}").sample(fitting, min(copies, len(fitting)))
        pairs += [(attack, subject) for subject in drawn]
    outcomes: list[Outcome] = []
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        trials = [make_trial(battery, attack, subject, seed) for attack, subject in batch]
        placed = [each for trial in trials for each in (trial.attacked, trial.control)]
        verdicts = iter(target.read([each.dialogue for each in placed]))
        outcomes += [_outcome(target, trial, next(verdicts), next(verdicts)) for trial in trials]
    return outcomes


def _outcome(target: Target, trial: Trial, attacked: TargetVerdict, control: TargetVerdict) -> Outcome:
    attack = trial.attack
    is_judged = (trial.attacked.turn, trial.code) in attacked.judged
    return Outcome(
        family=attack.family,
        goal=attack.goal,
        place=attack.place,
        attack=attack.id,
        dialogue_id=trial.subject.dialogue.id,
        turn=trial.subject.turn,
        code=trial.code,
        flipped=is_flipped(trial, trial.attacked, attacked, target.taxonomy),
        control_flipped=is_flipped(trial, trial.control, control, target.taxonomy),
        unread=attacked.status != "scored" or (attack.goal == "hide" and not is_judged),
    )


def summarize(outcomes: Sequence[Outcome], rounds: int) -> dict[str, Any]:
    """Figures by goal: of all outcomes, and by family, place and code."""
    figures: dict[str, Any] = {}
    for goal in get_args(Goal):
        of_goal = [each for each in outcomes if each.goal == goal]
        figures[goal] = {"all": _rates(of_goal, rounds)}
        for name in ("family", "place", "code"):
            groups: dict[str, list[Outcome]] = {}
            for each in of_goal:
                groups.setdefault(getattr(each, name), []).append(each)
            figures[goal][f"by_{name}"] = {value: _rates(own, rounds) for value, own in groups.items()}
    return figures


def _rates(outcomes: Sequence[Outcome], rounds: int) -> dict[str, Any]:
    """Share of flips of attacks, of controls, and their paired difference, with 95 % intervals.

    Intervals draw whole source dialogues. Where every source agrees, so that the bootstrap has no spread, the
    interval of a share is Wilson's with the number of sources as n, and that of the difference is not given.
    """
    numbers: dict[str, int] = {}
    groups = np.array(
        [numbers.setdefault(source_name(each.dialogue_id), len(numbers)) for each in outcomes], int
    )
    counts = bootstrap_counts(len(numbers), rounds)
    attacked = np.array([each.flipped for each in outcomes], float)
    control = np.array([each.control_flipped for each in outcomes], float)
    result: dict[str, Any] = {
        "trials": len(outcomes),
        "dialogues": len(numbers),
        "flips": int(attacked.sum()),
        "control_flips": int(control.sum()),
        "unread": sum(each.unread for each in outcomes),
    }
    if not outcomes:
        return result
    total = grouped_sum(counts, np.ones(len(outcomes)), groups)
    for name, values in (
        ("rate", attacked),
        ("control_rate", control),
        ("beyond_control", attacked - control),
    ):
        replicates = ratio(grouped_sum(counts, values, groups), total)
        low, high = percentile_interval(replicates, None if name == "beyond_control" else len(numbers))
        has_interval = rounds > 0 and (high > low or name != "beyond_control")
        result[name] = float(replicates[0])
        result[f"{name}_95"] = [float(low), float(high)] if has_interval else [None, None]
    return result
