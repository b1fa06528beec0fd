"""Three judges of one base model beside what is true: how sure is a posterior of them, and how often wrong?

Run: ``DIALINT_DATA=... python runs/studies/judge_groups.py``. tau_bench holds the scores from 1 to 5 that
GPT-4o gave the agent's turns of 501 dialogues under three prompts (consistency of the conversation, with the
tools' results, with the policy); 3 or less is taken for an error. Two truths: at turns, the sure errors of a
whole reading by another language model (``natural/readings.jsonl``, 292 of the dialogues); of dialogues, in
which a judge finds an error if he does in any turn, that the task failed. Dialogues are drawn for an audit,
whose truth is gold; all others are what is measured, with the interval over draws.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow.parquet as pq
from answer_tables import from_rows
from cyclopts import App, Parameter
from numpy.typing import NDArray
from scipy.stats import t as student

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.judge_groups import grouped_posterior
from dialint.labeling.aggregation.methods import dawid_skene, majority

READINGS = Path(__file__).parent / "natural" / "readings.jsonl"
ERROR = 3
"""A score of so much or less is an error."""
SURE, LEAST = 0.99, 1e-3


@Parameter(name="*")
@dataclass(frozen=True)
class JudgesConfig:
    """What is drawn, and how often."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    audit: int = 50
    """Dialogues whose truth is known."""
    draws: int = 10
    """Times that the audit is drawn."""


def study(config: JudgesConfig) -> None:
    """Compare the posteriors of three judges with the truth."""
    for name, (answers, truth) in read_judges(config.data).items():
        dialogue = np.unique([task.rpartition("#")[0] for task in answers.tasks], return_inverse=True)[1]
        sys.stdout.write(f"{name}: {len(truth)}, {truth.mean():.3f} of them errors\n")
        found: dict[str, list[list[float]]] = defaultdict(list)
        plain, grouped = replace(answers, groups=None), replace(answers, groups=("gpt-4o",) * 3)
        fixed = {
            "majority": majority(plain).probabilities,
            "Dawid-Skene": dawid_skene(plain).probabilities,
            "joint, as if independent": joint_posterior(plain).probabilities,
            "joint, in a group": grouped_posterior(grouped).probabilities,
        }
        for seed in range(config.draws):
            drawn = np.random.default_rng(seed).permutation(dialogue.max() + 1)[: config.audit]
            audited = np.isin(dialogue, drawn)
            gold = np.where(audited, truth, -1)
            with_audit = {
                "best single judge of the audit": best_judge(answers, truth, audited),
                "share of errors by votes, audit": by_votes(answers, truth, audited),
                "joint, in a group, audit": grouped_posterior(grouped, gold=gold).probabilities,
            }
            for method, probabilities in {**fixed, **with_audit}.items():
                found[method].append(measure(probabilities[~audited], truth[~audited]))
        for method, rows in found.items():
            means, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
            spread *= student.ppf(0.975, len(rows) - 1)
            parts = ("accuracy", "log loss", "share over .99 sure", "of these wrong")
            figures = zip(parts, means, spread, strict=True)
            line = ", ".join(f"{part} {mean:.3f} +- {half:.3f}" for part, mean, half in figures)
            sys.stdout.write(f"  {method}: {line}\n")


def measure(probabilities: Floats, truth: NDArray[np.int64]) -> list[float]:
    """Accuracy, log loss, the share over .99 sure and how many of these are wrong."""
    winners, row = probabilities.argmax(axis=1), np.arange(len(truth))
    sure = probabilities.max(axis=1) > SURE
    log_loss = -np.log(np.maximum(probabilities[row, truth], LEAST)).mean()
    wrong = (winners != truth)[sure].mean() if sure.any() else float("nan")
    return [float((winners == truth).mean()), float(log_loss), float(sure.mean()), float(wrong)]


def by_votes(answers: Answers, truth: NDArray[np.int64], audited: NDArray[np.bool_]) -> Floats:
    """The share of errors among audited tasks with as many votes, one of each kind added."""
    return _shares(answers.votes()[:, 1].astype(np.int64), truth, audited)


def best_judge(answers: Answers, truth: NDArray[np.int64], audited: NDArray[np.bool_]) -> Floats:
    """The same by the vote of the one judge who predicts the audited truth best."""
    votes = [answers.where(answers.worker == judge).votes()[:, 1].astype(np.int64) for judge in range(3)]
    shares = [_shares(vote, truth, audited) for vote in votes]
    rows = np.flatnonzero(audited)
    return max(shares, key=lambda one: float(np.log(one[rows, truth[rows]]).sum()))


def _shares(kind: NDArray[np.int64], truth: NDArray[np.int64], audited: NDArray[np.bool_]) -> Floats:
    errors = np.bincount(kind[audited], truth[audited], kind.max() + 1) + 1.0
    share = errors / (np.bincount(kind[audited], minlength=kind.max() + 1) + 2.0)
    return np.column_stack([1.0 - share, share])[kind]


def read_judges(data: Path) -> dict[str, tuple[Answers, NDArray[np.int64]]]:
    """The answers no and yes of the three judges, and the truth, of turns and of dialogues."""
    lines = map(json.loads, READINGS.read_text(encoding="utf-8").splitlines())
    read = {one["dialogue"]: {e["turn"] for e in one["errors"] if e["sure"]} for one in lines}
    turns: list[tuple[str, str, str]] = []
    dialogues: list[tuple[str, str, str]] = []
    failed, wrong = set(), set()
    for row in pq.read_table(data / "tau_bench" / "data.parquet").to_pylist():
        name, worst = row["dialogue_id"], dict[str, int]()
        for label in row["labels"]:
            if label["category"] == "task_reward":
                failed |= {name} if float(label["value"]) == 0 else set()
                continue
            score = int(label["value"])
            worst[label["category"]] = min(score, worst.get(label["category"], score))
            if name in read:
                task = f"{name}#{label['turn_id']}"
                turns.append((task, label["category"], "yes" if score <= ERROR else "no"))
                wrong |= {task} if label["turn_id"] in read[name] else set()
        dialogues += [
            (f"{name}#", judge, "yes" if score <= ERROR else "no") for judge, score in worst.items()
        ]
    tables = {"turns": from_rows(turns, ("no", "yes")), "dialogues": from_rows(dialogues, ("no", "yes"))}
    return {
        "turns": (tables["turns"], np.array([task in wrong for task in tables["turns"].tasks], np.int64)),
        "dialogues": (
            tables["dialogues"],
            np.array([task.rpartition("#")[0] in failed for task in tables["dialogues"].tasks], np.int64),
        ),
    }


if __name__ == "__main__":
    app = App(help="Compare posteriors of three judges of one base model with the truth.")
    app.default(study)
    app()
