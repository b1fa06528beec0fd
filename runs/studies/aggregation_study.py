"""How good the methods are on real people: few labels an item against all the others that it has.

Run: ``python runs/studies/aggregation_study.py --data FOLDER``. From dbdc3 (30 people an item), ``--labels``
answers of each item are drawn, every method is fitted to these alone, and the plurality and the
distribution of the answers not drawn are the truth. Items whose plurality is shared by several labels count
for the distribution only. Changes nothing and writes only what ``--out`` names.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from answer_tables import from_rows
from cyclopts import App, Parameter
from numpy.typing import NDArray

from dialint.detector.artifacts import to_json_bytes, write_json
from dialint.detector.errors import ConfigError, InputRefused
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.crowd_tables import read_model_answers
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.methods import dawid_skene, mace, majority, wawa
from dialint.labeling.aggregation.posterior import Posterior, normalise

FIGURES = ("accuracy", "divergence", "knows_wrong")
TASK = "{dialogue}#{turn}"
"""How an item is named in the model's file."""


@Parameter(name="*")
@dataclass(frozen=True)
class StudyConfig:
    """What is drawn, and how often."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    labels: Annotated[tuple[int, ...], Parameter(consume_multiple=True)] = (3, 5)
    """Answers of each item that the methods see."""
    draws: int = 20
    """Times that answers are drawn."""
    model: Path | None = None
    """A model's probabilities: task (DIALOGUE#TURN), label, probability; its rows are left out without."""
    yes: str | None = None
    """Make it a question of yes and no: this label is a yes, every other one a no."""
    first_seed: int = 1000
    """Seed of the first draw; 0 to 99 were looked at while the method was made."""
    out: Path | None = None
    """File for the figures as JSON; standard output has them in any case."""

    def __post_init__(self) -> None:
        if self.draws < 1 or min(self.labels) < 1:
            raise ConfigError("E_OPTION", "--draws and --labels must be at least 1")
        if self.yes is not None and self.model is not None:
            raise ConfigError("E_OPTION", "--yes: the model tells other labels")


def study(config: StudyConfig) -> None:
    """Compare the methods of aggregation on few labels of dbdc3 with what the others say."""
    answers = dbdc3(config.data)
    if config.yes is not None:
        answers = replace(
            answers,
            label=(answers.label == answers.labels.index(config.yes)).astype(np.int32),
            labels=("no", "yes"),
        )
    model = None
    if config.model is not None:
        tables, models = read_model_answers(config.model, {"": answers})
        answers, model = tables[""], models[""]
    figures = [measured(answers, n, config.draws, config.first_seed, model) for n in config.labels]
    report = {"answers": len(answers), "tasks": len(answers.tasks), "draws": config.draws, "labels": figures}
    sys.stdout.write(to_json_bytes(report).decode())
    if config.out:
        write_json(config.out, report)


def dbdc3(data: Path) -> Answers:
    """The English dbdc3: items are system turns, labels O, T, X (no, possible, certain breakdown).

    Raises:
        InputRefused: the corpus is missing.
    """
    return answers_of(rows_of(data, "dbdc3"), lambda label: True)


def rows_of(data: Path, corpus: str) -> list[dict[str, Any]]:
    """The English rows of a labelled corpus: dialogue_id, turns, labels.

    Raises:
        InputRefused: the corpus is missing.
    """
    from pyarrow import parquet

    path = data / corpus / "data_en.parquet"
    if not path.is_file():
        raise InputRefused("E_PATH", f"{path}: no such file")
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def answers_of(rows: list[dict[str, Any]], asked: Callable[[dict[str, Any]], bool]) -> Answers:
    """The labels for which `asked` holds as a crowd table; an item is a turn, named as `TASK` says."""
    return from_rows(
        [
            (
                TASK.format(dialogue=row["dialogue_id"], turn=label["turn_id"]),
                label["annotator"],
                label["value"],
            )
            for row in rows
            for label in row["labels"]
            if asked(label)
        ]
    )


def measured(
    answers: Answers, n: int, draws: int, first_seed: int, model: Floats | None = None
) -> dict[str, Any]:
    """Mean and 95 % interval over draws of every method's figures, and of the house method's advantage
    over each other one on the same draw.

    `accuracy` of the winner; `divergence` (Jensen-Shannon, bits) of the expected answers from those not
    drawn; `knows_wrong`, the AUROC of doubt for "this winner is wrong".
    """
    values: dict[str, list[list[float]]] = {}
    for seed in range(first_seed, first_seed + draws):
        seen = drawn(answers, n, seed)
        others = answers.where(~seen).votes()
        for name, posterior in _posteriors(answers.where(seen), model):
            values.setdefault(name, []).append(judged(posterior, others, seed))
    arrays = {name: np.array(rows) for name, rows in values.items()}
    best = "joint and model" if model is not None else "joint"
    return {
        "labels": n,
        "methods": {name: _summary(rows) for name, rows in arrays.items()},
        "advantage": {name: _summary(arrays[best] - rows) for name, rows in arrays.items() if name != best},
    }


def drawn(answers: Answers, n: int, seed: int) -> NDArray[np.bool_]:
    """`n` random answers of every task, shape (answers,)."""
    return places(answers, np.random.default_rng(seed)) < n


def places(answers: Answers, random: np.random.Generator) -> NDArray[np.int64]:
    """The place of each answer in a random order of its task's, from 0, shape (answers,)."""
    order = np.lexsort((random.random(len(answers)), answers.task))
    starts = np.concatenate(([0], np.cumsum(answers.n_labelers)[:-1]))
    place = np.empty(len(answers), np.int64)
    place[order] = np.arange(len(answers)) - starts[answers.task[order]]
    return place


def _posteriors(seen: Answers, model: Floats | None) -> Iterator[tuple[str, Posterior]]:
    methods: dict[str, Callable[[Answers], Posterior]] = {
        "majority": majority,
        "wawa": wawa,
        "crowd-kit Dawid-Skene": dawid_skene,
        "crowd-kit MACE": mace,
        "joint": joint_posterior,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in methods.items():
            yield name, method(seen)
    yield "smoothed majority", smoothed_majority(seen)
    if model is not None:
        yield "model alone", Posterior(model, model)
        yield "joint and model", joint_posterior(seen, model)


def smoothed_majority(answers: Answers, pseudo_answers: float = 3.0) -> Posterior:
    """Shares of the votes with `pseudo_answers` of the crowd's overall shares added: what a simple
    baseline for soft labels already gains."""
    votes = answers.votes()
    shares = normalise(votes + pseudo_answers * normalise(votes.sum(axis=0)))
    return Posterior(shares, shares)


def judged(posterior: Posterior, others: Floats, seed: int) -> list[float]:
    """The figures named in `FIGURES` against `others`, votes of shape (tasks, labels). Equal labels are
    put in a random order, so that no method gains by which label comes first."""
    noise = np.random.default_rng(seed).random(others.shape) * 1e-9
    winners = (posterior.probabilities + noise).argmax(axis=1)
    leads = others == others.max(axis=1, keepdims=True)
    single = leads.sum(axis=1) == 1
    wrong = ~leads[np.arange(len(winners)), winners]
    doubt = -posterior.probabilities[np.arange(len(winners)), winners]
    distance = divergence(posterior.expected, normalise(others))
    return [1 - wrong[single].mean(), distance.mean(), auroc(doubt[single], wrong[single])]


def divergence(one: Floats, other: Floats) -> Floats:
    """Jensen-Shannon divergence of rows, in bits, 0 to 1, shape (rows,)."""
    middle = (one + other) / 2
    return (_relative(one, middle) + _relative(other, middle)) / 2


def _relative(above: Floats, below: Floats) -> Floats:
    shares = np.where(above > 0, above, 1.0)
    return np.asarray((above * np.log2(shares / np.where(above > 0, below, 1.0))).sum(axis=1), float)


def auroc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """The chance that a positive has a higher score than a negative, equal ones counting half."""
    from scipy.stats import rankdata

    n = int(positive.sum())
    if n in (0, len(positive)):
        return float("nan")
    ranks = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(ranks / (n * (len(positive) - n)))


def _summary(rows: Floats) -> dict[str, list[float]]:
    """Mean, and the interval in which 95 % of the draws lie, of each figure."""
    low, high = np.percentile(rows, (2.5, 97.5), axis=0)
    columns = zip(FIGURES, rows.mean(axis=0), low, high, strict=True)
    return {name: [round(float(value), 4) for value in values] for name, *values in columns}


if __name__ == "__main__":
    app = App(help="Compare methods of aggregation on real people.")
    app.default(study)
    app()
