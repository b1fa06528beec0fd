"""The house method beside its peers: crowds made up with rare and frequent errors, and real people.

Run: ``python runs/studies/peer_study.py simulated --out FOLDER`` and ``... real --data CORPORA
--out FOLDER``; either may be ended and goes on where it was. ``... table --out FOLDER`` prints what is there.
Simulated people answer questions of yes and no, three answers a task; the model tells a calibrated
probability of the truth, or is thrice as sure of it in log odds, or tells that of another task. Of real
people three answers an item are drawn, and the plurality of all others is the truth; the model is
`study_model`, which never saw an answer about the dialogue it tells of. Writes one line a crowd or draw into
FOLDER, nothing else.

"Below" in the table: the house method is worse than the best of its peers on the same crowds, and the 95 %
interval of the difference (Student, over crowds) does not hold 0.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from aggregation_study import answers_of, auroc, drawn, rows_of
from aggregation_study_model import predictions
from cyclopts import App, Parameter
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.crowdkit_methods import mace
from dialint.labeling.aggregation.methods import METHODS, WITH_MODEL
from dialint.labeling.aggregation.posterior import Posterior
from dialint.labeling.simulation.answer_tables import CrowdPlan, simulate_crowd

PREVALENCES = (0.02, 0.1, 0.3, 0.5)
PEOPLE: dict[str, dict[str, float]] = {
    "even": {"skill": 0.88, "spread": 1000.0},
    "uneven": {"skill": 0.8, "spread": 6.0},
    "20 % spam": {"skill": 0.85, "spread": 20.0, "spammers": 0.2},
    "10 % collude": {"skill": 0.85, "spread": 20.0, "colluders": 0.1},
}
SIZES = {200: 20, 1000: 50, 5000: 100}
"""Workers by tasks."""
APART = 2.0
"""Distance of the model's scores of tasks with and without the error, in standard deviations."""
MODELS: dict[str, Callable[[Floats, np.random.Generator], Floats] | None] = {
    "none": None,
    "calibrated": lambda odds, _: odds,
    "overconfident": lambda odds, _: 3.0 * odds,
    "noise": lambda odds, random: random.permutation(odds),
}
ALONE = ("joint", "majority", "shrunk-votes", "dawid-skene", "ibcc", "ebcc")
FIGURES = ("accuracy", "F1", "log loss", "AUROC", "calibration error")
HIGHER = (1.0, 1.0, -1.0, 1.0, -1.0)
LEAST = 1e-3
"""No probability counts as less in the log loss."""


@Parameter(name="*")
@dataclass(frozen=True)
class PeerStudyConfig:
    """What is drawn, and where it goes."""

    out: Path
    """Folder for the figures, one line a crowd; what is there is not done again."""
    data: Annotated[Path | None, Parameter(env_var="DIALINT_DATA")] = None
    """Folder of the corpora."""
    draws: tuple[int, int, int] = (6, 4, 3)
    """Crowds of each kind with 200, 1,000 and 5,000 tasks."""
    real_draws: int = 4
    """Draws of three answers an item of each real table."""
    first_seed: int = 20_000
    """Seed of the first draw; 0 to 3, and 20 and 21, were looked at while the method was made."""


def simulated_crowds(config: PeerStudyConfig) -> None:
    """All methods on made-up crowds whose truth is known."""
    for draw in range(max(config.draws)):
        for (n_tasks, draws), prevalence, people in itertools.product(
            zip(SIZES, config.draws, strict=True), PREVALENCES, PEOPLE
        ):
            if draw < draws:
                key: dict[str, Any] = {"tasks": n_tasks, "prevalence": prevalence, "people": people}
                key["seed"] = config.first_seed + draw
                _once(config.out / "simulated.jsonl", key, partial(_simulated, **key))


def _simulated(tasks: int, prevalence: float, people: str, seed: int) -> dict[str, dict[str, list[float]]]:
    plan = CrowdPlan(n_tasks=tasks, n_workers=SIZES[tasks], per_task=3, seed=seed, first_label=1 - prevalence)
    crowd = simulate_crowd(replace(plan, **PEOPLE[people]))  # type: ignore[arg-type]
    random = np.random.default_rng((seed, tasks))
    score = random.normal(0, 1, tasks) + APART * crowd.truth
    odds = np.log(prevalence / (1 - prevalence)) + APART * score - APART**2 / 2
    found = {}
    for name, told in MODELS.items():
        model = None
        if told is not None:
            yes = 1 / (1 + np.exp(-told(odds, random)))
            model = np.column_stack([1 - yes, yes])
        every, ways = np.ones(tasks, bool), posteriors(crowd.answers, model)
        found[name] = {way: judged(posterior, crowd.truth, every, seed) for way, posterior in ways}
    return found


def real_people(config: PeerStudyConfig) -> None:
    """All methods on three answers an item of dbdc3 and stc3_dch1, against what the others say."""
    assert config.data is not None, "--data names the corpora"
    tables = list(real_tables(config.data))
    for draw, use, (name, answers, words) in itertools.product(
        range(config.real_draws), ("none", "words"), tables
    ):
        key: dict[str, Any] = {"table": name, "model": use, "seed": config.first_seed + draw}
        model = words if use == "words" else lambda: None
        _once(config.out / "real.jsonl", key, partial(_real, answers, model, use, key["seed"]))


def _real(
    answers: Answers, model: Callable[[], Floats | None], use: str, seed: int
) -> dict[str, dict[str, list[float]]]:
    seen = drawn(answers, 3, seed)
    others = answers.where(~seen).votes()
    single = (others == others.max(axis=1, keepdims=True)).sum(axis=1) == 1
    truth = others.argmax(axis=1)
    ways = posteriors(answers.where(seen), model())
    return {use: {way: judged(posterior, truth, single, seed) for way, posterior in ways}}


def real_tables(data: Path) -> Iterator[tuple[str, Answers, Callable[[], Floats]]]:
    """Each table's name, all its answers, and what makes a model's probabilities: some minutes for each.

    Raises:
        InputRefused: a corpus is missing.
    """
    nugget: Callable[[dict[str, Any]], bool] = lambda label: label["value"].startswith("HN")  # noqa: E731
    asked: dict[str, tuple[str, Callable[[dict[str, Any]], bool], tuple[str, ...]]] = {
        "dbdc3": ("dbdc3", lambda label: True, ("X",)),
        "nuggets": ("stc3_dch1", nugget, ("HNUG*",)),
        "satisfaction": ("stc3_dch1", lambda label: label["category"] == "quality_S", ("-2", "-1")),
        "quality": ("stc3_dch1", lambda label: label["category"] == "quality_A", ("-2", "-1")),
    }
    for name, (corpus, chosen, yes) in asked.items():
        rows = rows_of(data, corpus)
        answers = answers_of(rows, chosen)
        model = cache(partial(predictions, rows, chosen, answers))
        yield name, answers, model
        places = [answers.labels.index(label) for label in yes]
        labels = np.isin(answers.label, places).astype(np.int32)
        two = replace(answers, label=labels, labels=("no", "yes"))
        yield f"{name}, {' or '.join(yes)}?", two, partial(_of_two, model, places)


def _of_two(model: Callable[[], Floats], places: list[int]) -> Floats:
    share = model()[:, places].sum(axis=1)
    return np.column_stack([1.0 - share, share])


def posteriors(answers: Answers, model: Floats | None) -> Iterator[tuple[str, Posterior]]:
    """Every method's posterior, by name."""
    if model is None:
        for name in ALONE:
            yield name, METHODS[name](answers)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pandas' future, not of ours
            yield "crowd-kit mace", mace(answers)
        return
    yield "model alone", Posterior(model, model)
    for name, method in WITH_MODEL.items():
        yield name, method(answers, model)


def judged(
    posterior: Posterior, truth: NDArray[np.int64], counts: NDArray[np.bool_], seed: int
) -> list[float]:
    """The `FIGURES` over the tasks that count. Equal labels are put in a random order, so that no method
    gains by which comes first. F1 is of label 1 of two, else the mean over labels that are true somewhere;
    AUROC is of doubt for "this winner is wrong"; the calibration error is over ten bins of confidence."""
    noise = np.random.default_rng(seed).random(posterior.probabilities.shape) * 1e-9
    shares, right = posterior.probabilities[counts], truth[counts]
    winners = (shares + noise[counts]).argmax(axis=1)
    row = np.arange(len(right))
    correct, confidence = winners == right, shares[row, winners]
    named = [1] if shares.shape[1] == 2 else np.unique(right).tolist()
    given, true = ((labels[:, None] == named) for labels in (winners, right))
    f1 = 2 * (given & true).sum(axis=0) / np.maximum(1, given.sum(axis=0) + true.sum(axis=0))
    cell = np.minimum((confidence * 10).astype(int), 9)
    off = [abs((correct - confidence)[cell == k].sum()) for k in np.unique(cell)]
    return [
        float(correct.mean()),
        float(np.mean(f1)),
        float(-np.log(np.maximum(shares[row, right], LEAST)).mean()),
        auroc(-confidence, ~correct),
        float(sum(off) / len(right)),
    ]


def _once(path: Path, key: dict[str, Any], run: Callable[[], dict[str, Any]]) -> None:
    if path.is_file() and any(line["key"] == key for line in _lines(path)):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"key": key, "figures": run()})
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def table(config: PeerStudyConfig) -> None:
    """Print means by prevalence, people, size and model, and where the house method is below the best."""
    for name, groups in (("simulated", ("prevalence", "people", "tasks")), ("real", ("table",))):
        path = config.out / f"{name}.jsonl"
        if path.is_file():
            sys.stdout.write("\n".join(rendered_table(_lines(path), groups)) + "\n")


def rendered_table(lines: list[dict[str, Any]], groups: Iterable[str]) -> Iterator[str]:
    """Markdown: a row for each value of a group and each model."""
    for group in groups:
        yield f"\n| {group} | model | crowds | figure | joint | best peer | its mean | joint less it | |"
        yield "|" + "---|" * 9
        for value in dict.fromkeys(line["key"][group] for line in lines):
            same = [line["figures"] for line in lines if line["key"][group] == value]
            for use in dict.fromkeys(use for figures in same for use in figures):
                crowds = [figures[use] for figures in same if use in figures]
                yield from _rows(f"{value} | {use} | {len(crowds)}", crowds)


def _rows(head: str, crowds: list[dict[str, list[float]]]) -> Iterator[str]:
    for place, (figure, sign) in enumerate(zip(FIGURES, HIGHER, strict=True)):
        values = {name: np.array([one[name][place] for one in crowds], float) for name in crowds[0]}
        known = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
        if not known.any():
            continue
        means = {name: float(of[known].mean()) for name, of in values.items()}
        best = max((name for name in means if name != "joint"), key=lambda name: sign * means[name])
        gain, spread = difference(values["joint"][known], values[best][known])
        below = "below" if sign * gain + spread < 0 else ""
        yield (
            f"| {head} | {figure} | {means['joint']:.3f} | {best} | {means[best]:.3f} "
            f"| {gain:+.3f} ± {spread:.3f} | {below} |"
        )


def difference(one: Floats, other: Floats) -> tuple[float, float]:
    """The mean of paired differences, and half of its 95 % interval (infinite from a single pair)."""
    from scipy.stats import t

    gains, n = one - other, len(one)
    if n < 2:
        return float(gains.mean()), float("inf")
    return float(gains.mean()), float(t.ppf(0.975, n - 1) * gains.std(ddof=1) / np.sqrt(n))


if __name__ == "__main__":
    app = App(help="Compare joint with its peers.")
    app.command(simulated_crowds, name="simulated")
    app.command(real_people, name="real")
    app.command(table)
    app()
