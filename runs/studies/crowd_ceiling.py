"""Releases beside what the people themselves reach, on codes that exclude one another.

Run: ``python runs/studies/crowd_ceiling.py --examples FOLDER --report report.json``. `FOLDER` is a dataset
whose labels are shares of people (`dialint export dataset` without ``--labels``); the report is one of
``dialint eval run`` on its test set, in which each release is called NAME.SEED. Two baselines come before the
releases: always the shares of the training answers, and one person against all the others of the same turn.
Prints a Markdown table; trains nothing, writes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App, Parameter

from dialint.detector.errors import ConfigError
from dialint.detector.example_files import read_examples, require_set
from dialint.detector.records import Example
from dialint.detector.statistics import bootstrap_counts
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.figures.multiclass import ClassShares, summarize_classes
from dialint.eval.metrics import Floats
from dialint.eval.results import Indices


@Parameter(name="*")
@dataclass(frozen=True)
class CrowdConfig:
    """What is set side by side."""

    examples: Path
    """Folder of a dataset whose labels are shares of people."""
    report: Path
    """Report of `dialint eval run` on its test set."""
    taxonomy: Path
    """Its taxonomy."""
    category: str
    """The category of codes that exclude one another."""
    rounds: int = 1000
    """Bootstrap rounds of the baselines' intervals."""


def crowd(config: CrowdConfig) -> None:
    """Print accuracy, F1 and divergence of the crowd's baselines and of each release of a report."""
    codes = tuple(code.code for code in load_taxonomy(config.taxonomy).select(config.category))
    votes, dialogues = votes_of(read_examples(require_set(config.examples, "test")), codes)
    learnt, _ = votes_of(read_examples(require_set(config.examples, "train")), codes)
    if not len(votes) or not len(learnt):
        raise ConfigError("E_EXAMPLE", f"{config.examples}: train or test holds no label of these codes")
    counts = bootstrap_counts(int(dialogues.max()) + 1, config.rounds)
    baselines = {"prior": prior(votes, dialogues, learnt), "one person": one_person(votes, dialogues)}
    runs = {name: [summarize_classes(rows, codes, counts)] for name, rows in baselines.items()}
    content = json.loads(config.report.read_text())["sets"]["test"]
    runs |= dict(sorted(releases(content, config.category).items()))
    sys.stdout.write("\n".join(table(runs, codes)) + "\n")


def votes_of(examples: Iterable[Example], codes: Sequence[str]) -> tuple[Floats, Indices]:
    """How many people gave each code, shape (turns, codes), and a number of each turn's dialogue."""
    rows: list[list[float]] = []
    dialogues: list[int] = []
    for number, example in enumerate(examples):
        of_turn: dict[int, dict[str, float]] = {}
        for label in example.labels:
            people = float(round(label.probability * label.n_labelers))
            of_turn.setdefault(label.turn, {})[label.code] = people
        for _, given in sorted(of_turn.items()):
            rows.append([given.get(code, 0.0) for code in codes])
            dialogues.append(number)
    return np.array(rows).reshape(-1, len(codes)), np.array(dialogues, np.int64)


def prior(votes: Floats, dialogues: Indices, learnt: Floats) -> ClassShares:
    """The shares of all `learnt` votes, whatever the turn."""
    shares = learnt.sum(axis=0, keepdims=True) / learnt.sum()
    return ClassShares(
        votes / votes.sum(axis=1, keepdims=True), np.repeat(shares, len(votes), axis=0), dialogues
    )


def one_person(votes: Floats, dialogues: Indices) -> ClassShares:
    """A row for each single vote, certain of itself, against the shares of the others on its turn."""
    votes, dialogues = votes[votes.sum(axis=1) > 1], dialogues[votes.sum(axis=1) > 1]
    turns, said = np.nonzero(votes)
    people = votes[turns, said].astype(int)
    turns, said = np.repeat(turns, people), np.repeat(said, people)
    alone = np.eye(votes.shape[1])[said]
    others = votes[turns] - alone
    return ClassShares(others / others.sum(axis=1, keepdims=True), alone, dialogues[turns])


def releases(content: Mapping[str, Any], category: str) -> dict[str, list[dict[str, Any]]]:
    """The figures of every release of a report by its name without the seed."""
    found: dict[str, list[dict[str, Any]]] = {}
    for told in content["against"].values():
        found.setdefault(told["release"].rpartition(".")[0], []).append(told["exclusive"][category])
    return found


def table(runs: Mapping[str, Sequence[Mapping[str, Any]]], codes: Sequence[str]) -> Iterator[str]:
    """Lines of Markdown: the mean over seeds of each figure, of the bounds of its 95 % interval, and the
    least and the greatest seed; then what the report's own release has more of it, by pairs."""
    names = ("accuracy", *(f"f1_{code}" for code in codes), "divergence")
    heads = ("", "seeds", "accuracy", *(f"F1 of {code}" for code in codes), "divergence")
    yield f"| {' | '.join(heads)} | less its accuracy | less its divergence |"
    yield "|---" * (len(heads) + 2) + "|"
    for name, of_seeds in runs.items():
        cells = [_cell([(run[key], *run[f"{key}_95"]) for run in of_seeds], ".3f") for key in names]
        for key in ("accuracy", "divergence"):
            apart = [run[f"{key}_difference"] for run in of_seeds if f"{key}_difference" in run]
            cells.append(_cell(apart, "+.3f"))
        yield f"| {name} | {len(of_seeds)} | {' | '.join(cells)} |"


def _cell(of_seeds: Sequence[Sequence[float | None]], form: str) -> str:
    """Value, low and high of each seed as one text; of seeds without a number nothing is told."""
    known = [[each for each in row if each is not None] for row in of_seeds if None not in row]
    if not known:
        return ""
    value, low, high = (float(each) for each in np.mean(known, axis=0))
    values = [row[0] for row in known]
    spread = f"; {min(values):{form}} to {max(values):{form}}" if len(known) > 1 else ""
    return f"{value:{form}} ({low:{form}} to {high:{form}}{spread})"


if __name__ == "__main__":
    app = App(help="Set releases beside what people reach.")
    app.default(crowd)
    app()
