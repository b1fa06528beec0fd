"""How many answers an item needs: the same number for all, against asking on where it pays.

Run: ``python runs/studies/overlap_study.py --data FOLDER``. stc3_dch1 has the same 19 people on
every item: of each turn of a helpdesk, whether it solves the customer's problem, helps or does neither;
dbdc3 has some 30 on each, of many: whether a system's turn breaks the dialogue down. A jury is drawn whose
plurality is the truth, and whose answers nobody else sees; the rest answer in a random order. What all of
them together reach is what fewer answers are measured by. Writes nothing.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from aggregation_study import answers_of, dbdc3, places, rows_of
from cyclopts import App, Parameter
from numpy.typing import NDArray

from dialint.detector.artifacts import to_json_bytes
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.methods import majority
from dialint.labeling.aggregation.overlap import Decision, OverlapRule, decisions
from dialint.labeling.aggregation.posterior import Posterior

SURE = (0.8, 0.9, 0.95)
GAINS = (0.0, 0.003, 0.01, 0.03)
FIXED = (1, 2, 3, 5, 7, 9, 11)
FIGURES = (
    "answers", "agreement", "confidence", "sure", "agreement of the sure", "confidence of the sure",
    "agreement of the others", "confidence of the others",
)  # fmt: skip
"""Mean answers an item; share of the items whose winner is what the jury says, and the mean probability of
it; the same of the items that are sure in the end and of the others."""


@Parameter(name="*")
@dataclass(frozen=True)
class OverlapStudyConfig:
    """What is drawn, and how often."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    jury: int = 8
    """People whose plurality is the truth, of those who answered everything; the others answer."""
    draws: int = 5
    """Times that a jury and an order are drawn."""
    minimum: int = 2
    """Answers that every item gets."""
    maximum: int = 11
    """Answers that none gets more than, if there are so many people beside the jury."""
    corpora: tuple[str, ...] = ("stc3_dch1", "dbdc3")
    """What is asked about."""
    first_seed: int = 0
    """Seed of the first draw."""


def study(config: OverlapStudyConfig) -> None:
    """Compare fixed with dynamic overlap on real people."""
    tables = {"stc3_dch1": stc3, "dbdc3": dbdc3}
    for corpus in config.corpora:
        answers, rows = tables[corpus](config.data), dict[str, list[list[float]]]()
        for seed in range(config.first_seed, config.first_seed + config.draws):
            for name, figures in one_draw(answers, config, seed):
                rows.setdefault(name, []).append(figures)
        report = {"corpus": corpus, "items": len(answers.tasks), "people": len(answers.workers)}
        ways = {name: _summary(values) for name, values in rows.items()}
        sys.stdout.write(to_json_bytes({**report, "draws": config.draws, "ways": ways}).decode())
        sys.stdout.flush()


def stc3(data: Path) -> Answers:
    """The English stc3_dch1: items are helpdesk turns, labels HNUG* (solves), HNUG (helps), HNaN.

    Raises:
        InputRefused: the corpus is missing.
    """
    rows = rows_of(data, "stc3_dch1")
    return answers_of(rows, lambda label: label["category"] == "nugget" and label["value"].startswith("HN"))


def one_draw(answers: Answers, config: OverlapStudyConfig, seed: int) -> list[tuple[str, list[float]]]:
    """Each way's name and `FIGURES`."""
    random = np.random.default_rng(seed)
    truth, pool, place = parted(answers, config, random)
    every = min(int(place.max()) + 1, config.maximum)
    found = []
    for n in sorted({*(n for n in FIXED if n < every), every}):
        seen = pool.where(place < n)
        for name, method in (("majority", majority), ("joint", joint_posterior)):
            found.append((f"{name}, {n} each", measured(method(seen), float(n), truth, 1.0, seed)))
    for sure, gain in itertools.product(SURE, GAINS):
        rule = OverlapRule(config.minimum, every, sure, gain)
        posterior, asked = dynamic(pool, place, rule)
        name = f"joint until {sure:g} sure" + (f" or a gain below {gain:g}" if gain else "")
        found.append((name, measured(posterior, asked, truth, sure, seed)))
    return found


def parted(
    answers: Answers, config: OverlapStudyConfig, random: np.random.Generator
) -> tuple[Floats, Answers, NDArray[np.int64]]:
    """The jury's votes, shape (tasks, labels), the other answers, and the place of each in the order in which
    its item's are given. Where everybody answered everything the jury is so many people, else it is whose
    answers come after the `maximum`."""
    if len(answers) == len(answers.tasks) * len(answers.workers):
        jury = np.isin(answers.worker, random.permutation(len(answers.workers))[: config.jury])
    else:
        jury = places(answers, random) >= config.maximum
    pool = answers.where(~jury)
    return answers.where(jury).votes(), pool, places(pool, random)


def measured(posterior: Posterior, asked: float, truth: Floats, sure: float, seed: int) -> list[float]:
    """The `FIGURES` against the jury's votes, shape (tasks, labels), where these do not tie."""
    counts = (truth == truth.max(axis=1, keepdims=True)).sum(axis=1) == 1
    noise = np.random.default_rng(seed).random(truth.shape) * 1e-9  # as in `judged`: equal ones by lot
    right = (posterior.probabilities + noise).argmax(axis=1) == truth.argmax(axis=1)
    of = [counts, counts & (posterior.confidence >= sure), counts & (posterior.confidence < sure)]
    rows = [[_mean(right[one]), _mean(posterior.confidence[one])] for one in of]
    return [asked, *rows[0], float(of[1].sum() / counts.sum()), *rows[1], *rows[2]]


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def dynamic(answers: Answers, place: NDArray[np.int64], rule: OverlapRule) -> tuple[Posterior, float]:
    """The posterior when `rule` asks no more, and the mean number of answers an item got. Every round the
    house method is fitted anew to what has been answered so far, one more answer an item that is unclear."""
    wanted = np.full(len(answers.tasks), rule.minimum)
    while True:
        posterior = joint_posterior(answers.where(place < wanted[answers.task]))
        unclear = np.array([one is Decision.ASK for one in decisions(posterior, wanted, rule)])
        if not unclear.any():
            return posterior, float(np.minimum(wanted, answers.n_labelers).mean())
        wanted = wanted + unclear


def _summary(values: list[list[float]]) -> dict[str, list[float]]:
    """Mean, least and greatest of each figure over the draws that have it."""
    found = {}
    for name, column in zip(FIGURES, np.array(values).T, strict=True):
        known = column[~np.isnan(column)]
        if len(known):
            found[name] = [round(float(value), 4) for value in (known.mean(), known.min(), known.max())]
    return found


if __name__ == "__main__":
    app = App(help="Compare fixed with dynamic overlap on real people.")
    app.default(study)
    app()
