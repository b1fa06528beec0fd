"""How many answers an item needs: the same number for all, against asking on where it is not clear yet.

Run: ``python -m labeling.truth.overlap_study --data FOLDER``. stc3_dch1 has the same 19 people on every
item: of each turn of a helpdesk, whether it solves the customer's problem, helps or does neither. A jury
is drawn whose plurality is the truth, and whose answers nobody else sees; the rest answer in a random
order. What all of them together reach is what fewer answers are measured by. Writes nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import App, Parameter
from numpy.typing import NDArray

from detector.artifacts import rendered
from labeling.truth.answers import Answers
from labeling.truth.joint.fit import joint
from labeling.truth.overlap import Decision, OverlapRule, decisions
from labeling.truth.posterior import Posterior
from labeling.truth.study import answers_of, judged, places, rows_of
from labeling.truth.voting import majority

SURE = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
FIXED = (1, 2, 3, 5, 7, 9)


@Parameter(name="*")
@dataclass(frozen=True)
class OverlapStudyConfig:
    """What is drawn, and how often."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    jury: int = 8
    """People whose plurality is the truth; the others answer."""
    draws: int = 5
    """Times that a jury and an order are drawn."""
    minimum: int = 2
    """Answers that every item gets."""
    first_seed: int = 0
    """Seed of the first draw."""


def study(config: OverlapStudyConfig) -> None:
    """Compare fixed with dynamic overlap on the 19 people of stc3_dch1."""
    answers = stc3(config.data)
    rows: dict[str, list[tuple[float, float]]] = {}
    for seed in range(config.first_seed, config.first_seed + config.draws):
        for name, asked, accuracy in one_draw(answers, config, seed):
            rows.setdefault(name, []).append((asked, accuracy))
    figures = {name: _summary(values) for name, values in rows.items()}
    report = {"items": len(answers.tasks), "people": len(answers.workers), "jury": config.jury}
    sys.stdout.write(rendered({**report, "draws": config.draws, "ways": figures}).decode())


def stc3(data: Path) -> Answers:
    """The English stc3_dch1: items are helpdesk turns, labels HNUG* (solves), HNUG (helps), HNaN.

    Raises:
        InputRefused: the corpus is missing.
    """
    rows = rows_of(data, "stc3_dch1")
    return answers_of(rows, lambda label: label["category"] == "nugget" and label["value"].startswith("HN"))


def one_draw(answers: Answers, config: OverlapStudyConfig, seed: int) -> list[tuple[str, float, float]]:
    """Each way's name, mean answers an item, and share of the items on which it agrees with the jury."""
    random = np.random.default_rng(seed)
    jury = np.isin(answers.worker, random.permutation(len(answers.workers))[: config.jury])
    truth, pool = answers.where(jury).votes(), answers.where(~jury)
    place = places(pool, random)
    every = int(place.max()) + 1
    found = []
    for n in sorted({*(n for n in FIXED if n < every), every}):
        seen = pool.where(place < n)
        for name, method in (("majority", majority), ("joint", joint)):
            found.append((f"{name}, {n} each", float(n), judged(method(seen), truth, seed)[0]))
    for sure in SURE:
        posterior, asked = dynamic(pool, place, OverlapRule(config.minimum, every, sure))
        found.append((f"joint until {sure:g} sure", asked, judged(posterior, truth, seed)[0]))
    return found


def dynamic(answers: Answers, place: NDArray[np.int64], rule: OverlapRule) -> tuple[Posterior, float]:
    """The posterior when `rule` asks no more, and the mean number of answers an item got. Every round the
    house method is fitted anew to what has been answered so far, one more answer an item that is unclear."""
    wanted = np.full(len(answers.tasks), rule.minimum)
    while True:
        posterior = joint(answers.where(place < wanted[answers.task]))
        unclear = np.array([one is Decision.ASK for one in decisions(posterior, wanted, rule)])
        if not unclear.any():
            return posterior, float(np.minimum(wanted, answers.n_labelers).mean())
        wanted = wanted + unclear


def _summary(values: list[tuple[float, float]]) -> dict[str, Any]:
    """Means over the draws, and the lowest and highest agreement."""
    asked, agreed = np.array(values).T
    spread = [round(float(value), 4) for value in (agreed.mean(), agreed.min(), agreed.max())]
    return {"answers": round(float(asked.mean()), 3), "agreement": spread}


if __name__ == "__main__":
    app = App(help="Compare fixed with dynamic overlap on real people.")
    app.default(study)
    app()
