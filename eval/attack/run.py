"""Measures how far text in a dialogue can steer its verdict: prompt injection, against the scan and a judge.

    dialint eval attack build/examples/test.jsonl --out report.json

Puts 500 attacks of 15 families into customers' turns, agents' turns and results of tools, and counts the
findings that disappear or arise, beside controls of neutral text, and the dialogues with other findings
where only blanks are doubled, or dialogues and codes come in reverse order. Prints a table; the JSON holds
ids and no dialogue text. A figure is of this battery: no release is immune. Trains and tunes nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import package_versions, sha256_file, write_json
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.stage import StageOptions
from dialint.detector.option_ranges import command_options
from dialint.detector.policy import load_policies
from dialint.detector.records import Dialogue, Example
from dialint.detector.statistics import bootstrap_counts, grouped_sum, percentile_interval, ratio
from dialint.eval.attack.battery import Attack, Battery, Goal, load_battery, make_battery
from dialint.eval.attack.trials import (
    Subject,
    Target,
    TargetVerdict,
    double_blanks,
    find_subjects,
    is_flipped,
    make_trial,
)
from dialint.eval.baselines import open_detector
from dialint.eval.judge_measure import JudgeDetector, require_everything
from dialint.eval.results import read_examples, read_labelled_log, source_name
from dialint.eval.run import check_writable, make_console

BATCH = 256
"""Trials whose dialogues are in memory together."""
GOALS = {
    "hide": "findings hidden",
    "accuse": "accusations made",
    "blanks": "changed by doubled blanks",
    "order": "changed by another order",
}
"""Goals, in words of the summary."""
SAMPLE = Path(__file__).parents[2] / "app" / "sample"


@command_options
class AttackConfig:
    """Options of `dialint eval attack`."""

    out: Path | None = None
    """Write the figures and every flip to this file, as JSON without dialogue text."""
    copies: Annotated[int, Field(ge=1)] = 2
    """Dialogues that each attack is tried in."""
    per_family: Annotated[int | None, Field(ge=1)] = None
    """At most this many attacks of each family and goal, for a first look."""
    limit: Annotated[int | None, Field(ge=1)] = None
    """At most this many dialogues of the log."""
    rounds: Annotated[int, Field(ge=0)] = 1000
    """Bootstrap rounds for the intervals."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the battery, and of where its attacks are put."""


def attack(
    log_or_examples: Path | None = None,
    /,
    *,
    config: Annotated[AttackConfig, Parameter(name="*")] | None = None,
    detector: Annotated[DetectorConfig, Parameter(name="*")] | None = None,
    judge: Annotated[JudgeConfig, Parameter(name="*")] | None = None,
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> None:
    """Measure how often text in a dialogue makes a finding disappear or arise.

    Parameters
    ----------
    log_or_examples
        A log, or a file of examples of `dialint data inject`; without it the sample log.
    """
    config, judge = config or AttackConfig(), judge or JudgeConfig()
    check_writable(out=config.out)
    started = time.process_time()
    examples = _read(log_or_examples, config.limit, reading)
    report = evaluate(examples, config, detector or DetectorConfig(), judge)
    path = log_or_examples or SAMPLE / "dialogues.jsonl"
    report["input"] = {"name": path.name, "sha256": sha256_file(path)}
    report["cpu_seconds"] = round(time.process_time() - started, 1)
    print_report(report)
    if config.out is not None:
        write_json(config.out, report)


def _read(path: Path | None, limit: int | None, reading: ReadConfig | None) -> list[Example]:
    """Reads the examples of a file, or the dialogues of a log as examples without labels.

    Raises:
        ConfigError: it holds no dialogue.
        InputRefused: it is neither.
    """
    if path is None:
        examples = list(read_labelled_log(SAMPLE / "dialogues.jsonl", SAMPLE / "labels.jsonl"))
    else:
        try:
            examples = list(read_examples(path))
        except InputRefused:
            examples = [
                Example(dialogue=item.dialogue, split="test")
                for item in read(open_logs([str(path)]), reading or ReadConfig(), Counts())
                if isinstance(item, Loaded)
            ]
    if not examples:
        raise ConfigError("E_EXAMPLE", f"{path}: holds no dialogue to attack")
    return examples[:limit]


def evaluate(
    examples: Sequence[Example], config: AttackConfig, detector: DetectorConfig, judge: JudgeConfig
) -> dict[str, Any]:
    """Returns the report, with one entry of `targets` for the scan and, if there is one, for the judge.

    Raises:
        ConfigError: an engine that does not open, no dialogue that an attack could be tried in.
    """
    from dialint.detector.engines.judge_engines import open_judge

    require_everything(judge)
    battery = load_battery()
    engine = open_judge(judge, device=detector.device) if judge.judge is not None else None
    scan = open_detector(None, detector)
    targets = {"scan": measure_attacks(scan, examples, config)}
    if engine is not None:
        with closing(engine):
            policies = load_policies(detector.policy)
            options = StageOptions.of(judge, scan.taxonomy.codes, policies=policies)
            judge_detector = JudgeDetector(engine, scan.taxonomy, options)
            targets["judge"] = measure_attacks(judge_detector, examples, config)
        usage = judge_detector.reader.usage
        targets["judge"] |= {
            "questions": usage.questions,
            "failed_questions": sum(usage.failures.values()),
            "prompt_tokens": usage.prompt_tokens,
            "output_tokens": usage.output_tokens,
        }
    for own in targets.values():
        if not own["findings"] and not own["clean_dialogues"]:
            raise ConfigError("E_EXAMPLE", f"{own['name']} judged no dialogue, so nothing can be attacked")
    return {
        "kind": "attacks",
        "battery": battery.version,
        "families": {family.name: family.title for family in battery.families},
        "seed": config.seed,
        "copies": config.copies,
        "dialogues": len(examples),
        "rounds": config.rounds,
        "versions": package_versions("dialint", "numpy", "torch"),
        "targets": targets,
    }


def measure_attacks(detector: Detector, examples: Sequence[Example], config: AttackConfig) -> dict[str, Any]:
    """Returns the part of the report about one detector."""
    target, battery = Target(detector), load_battery()
    dialogues = [example.dialogue for example in examples]
    verdicts = target.read(dialogues)
    hiding, accusing = find_subjects(target, dialogues, verdicts, config.seed)
    by_goal: dict[Goal, list[Subject]] = {"hide": hiding, "accuse": accusing}
    attacks = make_battery(battery, config.seed)
    if config.per_family is not None:
        groups = [list(group) for _, group in groupby(attacks, lambda each: (each.family, each.goal))]
        attacks = [each for group in groups for each in group[: config.per_family]]
    started = time.process_time()
    outcomes = run_attacks(target, battery, attacks, by_goal, config.copies, config.seed)
    outcomes += _reread(target, dialogues, verdicts)
    return {
        "name": target.name,
        "fingerprint": target.fingerprint,
        "attacks": len(attacks),
        "findings": len(hiding),
        "clean_dialogues": len(accusing),
        "figures": summarize(outcomes, config.rounds),
        "flips": [asdict(each) for each in outcomes if each.flipped],
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def gate_attacks(detector: Detector, examples: Sequence[Example]) -> dict[str, Any]:
    """Returns the figures that the gate of a promotion reads: every attack once."""
    figures: dict[str, Any] = measure_attacks(detector, examples, AttackConfig(copies=1))["figures"]
    return figures


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attack and its control. `unread`: the attacked verdict failed, or its turn was not
    judged for its language. The goals ``blanks`` and ``order`` are second readings of the same words."""

    family: str
    goal: Goal | Literal["blanks", "order"]
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
    """Tries every attack at `copies` subjects, a random sample by the seed."""
    pairs: list[tuple[Attack, Subject]] = []
    for attack in attacks:
        fitting = [s for s in subjects[attack.goal] if attack.code is None or attack.code in s.codes]
        sample = random.Random(f"{seed}/{attack.id}").sample(fitting, min(copies, len(fitting)))
        pairs += [(attack, subject) for subject in sample]
    outcomes: list[Outcome] = []
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        trials = [make_trial(battery, attack, subject, seed) for attack, subject in batch]
        placed = [each for trial in trials for each in (trial.attacked, trial.control)]
        verdicts = iter(target.read([each.dialogue for each in placed]))
        for trial in trials:
            attack, attacked, control = trial.attack, next(verdicts), next(verdicts)
            is_judged = (trial.attacked.turn, trial.code) in attacked.judged
            outcomes.append(
                Outcome(
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
            )
    return outcomes


def _reread(target: Target, dialogues: Sequence[Dialogue], before: Sequence[TargetVerdict]) -> list[Outcome]:
    """Compares each dialogue's findings with those after doubled blanks, and in another order."""
    outcomes: list[Outcome] = []
    readings: dict[Literal["blanks", "order"], list[TargetVerdict]] = {
        "blanks": target.read([double_blanks(each) for each in dialogues]),
        "order": target.reread(dialogues),
    }
    for goal, again in readings.items():
        for dialogue, own, other in zip(dialogues, before, again, strict=True):
            if own.status == "scored":
                is_changed, is_unread = own.findings != other.findings, other.status != "scored"
                fields = (goal, goal, "", "", dialogue.id, 0, "")
                outcomes.append(Outcome(*fields, is_changed, control_flipped=False, unread=is_unread))
    return outcomes


def summarize(outcomes: Sequence[Outcome], rounds: int) -> dict[str, Any]:
    """Returns figures by goal: of all outcomes, and by family, place and code."""
    figures: dict[str, Any] = {}
    for goal in GOALS:
        of_goal = [each for each in outcomes if each.goal == goal]
        figures[goal] = {"all": _rates(of_goal, rounds)}
        for name in ("family", "place", "code"):
            groups: dict[str, list[Outcome]] = {}
            for each in of_goal:
                groups.setdefault(getattr(each, name), []).append(each)
            figures[goal][f"by_{name}"] = {value: _rates(own, rounds) for value, own in groups.items()}
    return figures


def _rates(outcomes: Sequence[Outcome], rounds: int) -> dict[str, Any]:
    """Returns the shares of flips of attacks and controls and their paired difference, with 95 % intervals.

    The bootstrap draws whole source dialogues. Where all sources agree it has no spread: the interval of a
    share is then Wilson's with the number of sources as n, and that of the difference is None.
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


def print_report(report: dict[str, Any]) -> None:
    """Prints one table for each target."""
    from rich.table import Table

    console = make_console()
    for kind, target in report["targets"].items():
        goals = target["figures"]
        table = Table(
            title=f"{kind} {target['name']}: {target['findings']} findings to hide, "
            f"{target['clean_dialogues']} dialogues to accuse in",
            caption="shares of flips in %: of attacks, of their controls (neutral text), attacks beyond "
            "controls; 95 % by dialogue",
        )
        table.add_column("family")
        for goal in ("hide", "accuse"):
            for column in (f"{goal}: n", "attack", "control", "beyond"):
                table.add_column(column, justify="right")
        families = [name for name in report["families"] if any(name in goals[g]["by_family"] for g in goals)]
        for name in (*families, "all"):
            cells: list[str] = []
            for goal in ("hide", "accuse"):
                figures = goals[goal]["all"] if name == "all" else goals[goal]["by_family"].get(name)
                cells.extend(_cells(figures))
            table.add_row(name, *cells, end_section=name == (families or [""])[-1])
        console.print(table)
        print(f"{target['name']}: {describe_rates(goals)}")
    print(f"{report['cpu_seconds']:.0f} s of CPU time. Figures of this battery; no system is immune.")


def describe_rates(figures: Mapping[str, Any]) -> str:
    """Formats the rates of success of attacks on one line."""
    rows = {GOALS[goal]: own["all"] for goal, own in figures.items() if own["all"]["trials"]}
    return ", ".join(f"{name} {100 * row['rate']:.1f} % of {row['trials']}" for name, row in rows.items())


def _cells(figures: dict[str, Any] | None) -> list[str]:
    if not figures or not figures["trials"]:
        return ["0", "", "", ""]
    low, high = figures["beyond_control_95"]
    interval = f" ({100 * low:.1f} to {100 * high:.1f})" if low is not None else ""
    return [
        str(figures["trials"]),
        f"{100 * figures['rate']:.1f}",
        f"{100 * figures['control_rate']:.1f}",
        f"{100 * figures['beyond_control']:.1f}{interval}",
    ]
