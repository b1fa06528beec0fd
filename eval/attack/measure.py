"""Runs the trials of a target and makes figures of them: how often attacks succeed beyond their controls."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, get_args

import numpy as np

from dialint.detector.statistics import (
    bootstrap_counts,
    grouped_sum,
    percentile_interval,
    ratio,
)
from dialint.eval.attack.battery import Attack, Battery, Goal, Position, family_attacks
from dialint.eval.attack.trials import Reading, Subject, Target, Trial, is_flipped, make_trial, pressure
from dialint.eval.results import source_name

BATCH = 256
"""Trials whose dialogues are in memory together."""


@dataclass(frozen=True)
class Outcome:
    """What came of an attack or a search: whether it and its control succeeded. `unread`: the attacked
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


def run_static(
    target: Target,
    battery: Battery,
    attacks: Sequence[Attack],
    subjects: dict[Goal, list[Subject]],
    copies: int,
    seed: int,
) -> list[Outcome]:
    """The outcome of every attack at `copies` subjects each, drawn by the seed."""
    outcomes: list[Outcome] = []
    pairs = (
        (attack, subject)
        for attack in attacks
        for subject in _draw(attack, subjects[attack.goal], copies, seed)
    )
    while batch := list(islice(pairs, BATCH)):
        trials = [make_trial(battery, attack, subject, seed) for attack, subject in batch]
        for trial, (attacked, control) in zip(trials, read_trials(target, trials), strict=True):
            outcomes.append(_outcome(target, trial, attacked, control))
    return outcomes


def _draw(attack: Attack, subjects: Sequence[Subject], copies: int, seed: int) -> list[Subject]:
    fitting = [each for each in subjects if attack.code is None or attack.code in each.codes]
    rng = random.Random(f"{seed}/{attack.id}")
    return rng.sample(fitting, min(copies, len(fitting)))


def read_trials(target: Target, trials: Sequence[Trial]) -> list[tuple[Reading, Reading]]:
    """The target's reading of each trial's attacked dialogue and of its control."""
    placed = [(each, trial.code) for trial in trials for each in (trial.attacked, trial.control)]
    readings = target.read(
        [each.dialogue for each, _ in placed], [[(each.turn, code)] for each, code in placed]
    )
    return list(zip(readings[::2], readings[1::2], strict=True))


def _outcome(target: Target, trial: Trial, attacked: Reading, control: Reading) -> Outcome:
    attack = trial.attack
    return Outcome(
        attack.family,
        attack.goal,
        attack.place,
        attack.id,
        trial.subject.dialogue.id,
        trial.subject.turn,
        trial.code,
        is_flipped(trial, trial.attacked, attacked, target.taxonomy),
        is_flipped(trial, trial.control, control, target.taxonomy),
        attacked.status != "scored"
        or (attack.goal == "hide" and (trial.attacked.turn, trial.code) not in attacked.probabilities),
    )


def run_adaptive(
    target: Target,
    battery: Battery,
    subjects: dict[Goal, list[Subject]],
    tries: int,
    n_subjects: int,
    seed: int,
) -> list[Outcome]:
    """For every family and goal, the outcome of a search at `n_subjects` subjects.

    Half of the `tries` are drawn from all texts, places and positions of the family; the others vary the best
    of them by the target's own probability: at the other position, twice, joined with the next best, in
    capitals. The search succeeds if one of its tries does. The control searches as long among neutral texts
    of the same lengths at the same places.
    """
    outcomes: list[Outcome] = []
    for family in battery.families:
        for goal in family.goals:
            pool = family_attacks(battery, family, goal)
            rng = random.Random(f"{seed}/{family.name}/{goal}")
            usable = [each for each in subjects[goal] if each.codes]
            for subject in rng.sample(usable, min(n_subjects, len(usable))):
                own = [attack for attack in pool if attack.code is None or attack.code in subject.codes]
                first = rng.sample(own, min(max(1, tries - tries // 2), len(own)))
                trials = [make_trial(battery, attack, subject, seed) for attack in first]
                readings = read_trials(target, trials)
                best = sorted(
                    range(len(trials)),
                    key=lambda n: pressure(trials[n], trials[n].attacked, readings[n][0], target.taxonomy),
                    reverse=True,
                )
                varied = [
                    make_trial(battery, attack, subject, seed)
                    for attack in _variations([first[n] for n in best])[: tries - len(first)]
                ]
                trials, readings = trials + varied, readings + read_trials(target, varied)
                results = [
                    _outcome(target, trial, *pair) for trial, pair in zip(trials, readings, strict=True)
                ]
                chosen = next((each for each in results if each.flipped), results[best[0]])
                outcomes.append(
                    replace(chosen, control_flipped=any(each.control_flipped for each in results))
                )
    return outcomes


def _variations(best: Sequence[Attack]) -> list[Attack]:
    """Rewordings of attacks, the best first, in the order in which they are tried."""
    varied: list[Attack] = []
    for number, attack in enumerate(best):
        other: Position = "after" if attack.position == "before" else "before"
        joined = best[(number + 1) % len(best)].parts
        for name, change in (
            ("other_position", {"position": other}),
            ("twice", {"parts": tuple(f"{part}\n{part}" for part in attack.parts)}),
            ("joined", {"parts": (*attack.parts[:-1], "\n".join((attack.parts[-1], *joined)))}),
            ("capitals", {"parts": tuple(part.upper() for part in attack.parts)}),
        ):
            varied.append(replace(attack, id=f"{attack.id}/{name}", **change))
    return varied


def summarize(outcomes: Sequence[Outcome], rounds: int) -> dict[str, Any]:
    """Figures by goal: of all outcomes, and by family, place and code."""
    return {
        goal: {
            "all": _rates([each for each in outcomes if each.goal == goal], rounds),
            **{
                f"by_{name}": {
                    value: _rates(
                        [each for each in outcomes if each.goal == goal and key(each) == value], rounds
                    )
                    for value in dict.fromkeys(key(each) for each in outcomes if each.goal == goal)
                }
                for name, key in _GROUPS.items()
            },
        }
        for goal in get_args(Goal)
    }


_GROUPS: dict[str, Callable[[Outcome], str]] = {
    "family": lambda each: each.family,
    "place": lambda each: each.place,
    "code": lambda each: each.code,
}


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
