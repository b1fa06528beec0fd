"""Compares aggregation methods on real answers: few answers an item, with and without a model.

Run: ``DIALINT_DATA=... python runs/studies/aggregation_peers.py --tasks 390 --draws 8 --out FILE.json``.
Samples items of dbdc3 (30 people a turn) and stc3_dch1 (the same 19 people on all) and some answers to each;
the truth is the plurality of the other answers, items with a tie do not count. The model is a logistic
regression of words on answers about other dialogues. Methods that the package lacks are defined here: IBCC,
and votes shrunk towards the model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal
from zlib import crc32

import numpy as np
import pyarrow.parquet as pq
from answer_tables import from_rows
from cyclopts import App, Parameter
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import digamma
from scipy.stats import t as student

from dialint.detector.artifacts import atomic_file
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.methods import dawid_skene, majority
from dialint.labeling.aggregation.posterior import Posterior, normalise, worker_label_pairs

TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], bool], tuple[str, ...]]] = {
    "dbdc3": ("dbdc3", lambda label: True, ("X",)),
    "nuggets": ("stc3_dch1", lambda label: label["value"].startswith("HN"), ("HNUG*",)),
    "satisfaction": ("stc3_dch1", lambda label: label["category"] == "quality_S", ("-2", "-1")),
    "quality": ("stc3_dch1", lambda label: label["category"] == "quality_A", ("-2", "-1")),
}
"""Corpus, filter of labels, and the labels that count as yes in the binary version of the question."""
FOLDS = 5


@Parameter(name="*")
@dataclass(frozen=True)
class PeersConfig:
    """Options of the study."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    out: Path
    """File for the figures of each draw (JSON)."""
    table: tuple[str, ...] = tuple(TABLES)
    """Tables to do."""
    tasks: int = 390
    """Items of each draw."""
    answers: int = 3
    """Answers of each item that the methods see."""
    draws: int = 8
    """Times that items and answers are drawn."""
    half: Literal["development", "other"] | None = None
    """Draw only from the dialogues of this half (by CRC-32); methods are chosen on the development half."""
    first_seed: int = 1000
    """Seed of the first draw; 0 to 4 were used in development."""


def study(config: PeersConfig) -> None:
    """Compare the methods on few answers of real people."""
    results: dict[str, dict[str, list[list[float]]]] = {}
    for name in config.table:
        answers, model, yes = read_table(config.data, name)
        if config.half:
            in_half = np.array([crc32(task.split("#")[0].encode()) % 2 == 0 for task in answers.tasks])
            in_half ^= config.half == "other"
            answers, model = answers.where(in_half[answers.task]).compact(), model[in_half]
        share = model[:, yes].sum(axis=1)
        is_yes = np.isin(answers.label, yes).astype(np.int32)
        questions = {
            name: (answers, model),
            f"{name}, {'/'.join(TABLES[name][2])}?": (
                replace(answers, label=is_yes, labels=("no", "yes")),
                np.column_stack([1 - share, share]),
            ),
        }
        for question, (table, probabilities) in questions.items():
            for seed in range(config.first_seed, config.first_seed + config.draws):
                for method, values in compare(table, probabilities, config, seed).items():
                    results.setdefault(question, {}).setdefault(method, []).append(values)
            print_table(question, results[question])
    with atomic_file(config.out) as file:
        file.write(json.dumps(results).encode())


def compare(answers: Answers, model: Floats, config: PeersConfig, seed: int) -> dict[str, list[float]]:
    """Returns accuracy, log loss and calibration error (ten bins) of every method on one sample."""
    random = np.random.default_rng(seed)
    n_tasks = len(answers.tasks)
    sample = np.sort(random.choice(n_tasks, min(config.tasks, n_tasks), replace=False))
    answers, model = answers.where(np.isin(answers.task, sample)).compact(), model[sample]
    order = np.lexsort((random.random(len(answers)), answers.task))
    place = np.empty(len(answers), np.int64)
    place[order] = np.arange(len(answers)) - np.searchsorted(answers.task[order], answers.task[order])
    seen = answers.where(place < config.answers)
    others = answers.where(place >= config.answers).votes()
    truth, single = others.argmax(axis=1), (others == others.max(axis=1, keepdims=True)).sum(axis=1) == 1
    methods = {
        "joint, model": joint_posterior(seen, model),
        "model alone": Posterior(model, model),
        "shrunk votes, model": shrunk_votes(seen, model),
        "IBCC, model as worker": ibcc(seen, model),
        "joint": joint_posterior(seen),
        "majority": majority(seen),
        "Dawid-Skene": dawid_skene(seen),
        "shrunk votes": shrunk_votes(seen),
        "IBCC": ibcc(seen),
    }
    noise = random.random(others.shape) * 1e-9
    return {
        name: figures(one.probabilities[single] + noise[single], truth[single])
        for name, one in methods.items()
    }


def figures(probabilities: Floats, truth: NDArray[np.int64]) -> list[float]:
    """Returns accuracy, log loss and calibration error."""
    right, confidence = probabilities.argmax(axis=1) == truth, probabilities.max(axis=1)
    bins = np.minimum((confidence * 10).astype(int), 9)
    error = np.abs(np.bincount(bins, confidence - right)).sum() / len(truth)
    chosen = np.maximum(probabilities[np.arange(len(truth)), truth], 1e-3)
    return [float(right.mean()), float(-np.log(chosen).mean()), float(error)]


def print_table(question: str, figures: dict[str, list[list[float]]]) -> None:
    """Prints means over draws, the 95 % interval of the accuracy, and the difference of joint to each."""
    sys.stdout.write(f"{question}, {len(figures['joint'])} draws\n")
    for name, rows in figures.items():
        accuracy, log_loss, error = np.array(rows).T
        own = "joint, model" if "model" in name else "joint"
        gain, spread = interval(np.array(figures[own])[:, 0] - accuracy)
        mean, half = interval(accuracy)
        sys.stdout.write(
            f"  {name}: {mean:.3f} +- {half:.3f}, log loss {log_loss.mean():.3f}, "
            f"calibration error {error.mean():.3f}; "
            f"{own} less it {gain:+.3f} +- {spread:.3f}\n"
        )
    sys.stdout.flush()


def interval(values: Floats) -> tuple[float, float]:
    """Returns the mean and half the width of its 95 % interval (Student)."""
    n = len(values)
    return float(values.mean()), float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))


def ibcc(answers: Answers, model: Floats | None = None) -> Posterior:
    """Dawid-Skene with Dirichlet priors by mean field, 4 right pseudo-answers and 1 of each wrong label; the
    model is an additional worker. Source: Kim and Ghahramani 2012; Simpson et al. 2013, section 3."""
    if model is not None:
        n, last = len(model), len(answers.workers)
        answers = replace(
            answers,
            task=np.concatenate([answers.task, np.arange(n, dtype=np.int32)]),
            worker=np.concatenate([answers.worker, np.full(n, last, np.int32)]),
            label=np.concatenate([answers.label, model.argmax(axis=1).astype(np.int32)]),
            workers=(*answers.workers, "\x1fmodel"),
        )
    pairs, size, n_workers = worker_label_pairs(answers), len(answers.labels), len(answers.workers)
    truth = normalise(answers.votes() + 1e-9)
    counts = pairs.by_pair @ truth
    pseudo, change = np.where(np.eye(size) > 0, 4.0, 1.0), 1.0
    while change > 1e-4:
        seen = np.tile(pseudo.sum(axis=1), (n_workers, 1))
        np.add.at(seen, pairs.worker, counts)
        table = digamma(counts + pseudo[:, pairs.label].T) - digamma(seen)[pairs.worker]
        classes = digamma(truth.sum(axis=0) + 1.0)
        counts, _, change = pairs.expectation(table, np.tile(classes, (len(truth), 1)), truth)
    return Posterior(truth, truth)


def shrunk_votes(answers: Answers, model: Floats | None = None) -> Posterior:
    """Vote shares with pseudo-answers by the model's probabilities, or by the shares of all answers; their
    number maximises the likelihood of each answer given the others of its task."""
    votes = answers.votes()
    prior = np.tile(normalise(votes.sum(axis=0) + 1e-9), (len(votes), 1)) if model is None else model
    prior = normalise(np.maximum(prior, 1e-6))
    task, label = np.nonzero(votes)
    n, counts, shares = votes.sum(axis=1)[task], votes[task, label], prior[task, label]

    def loss(log_kappa: float) -> float:
        kappa = np.exp(log_kappa)
        return -float((counts * np.log((counts - 1 + kappa * shares) / (n - 1 + kappa))).sum())

    kappa = np.exp(minimize_scalar(loss, bounds=(np.log(0.05), np.log(100.0)), method="bounded").x)
    result = normalise(votes + kappa * prior)
    return Posterior(result, result)


def read_table(data: Path, name: str) -> tuple[Answers, Floats, list[int]]:
    """Returns all answers of a table, a model's probabilities, shape (tasks, labels), and the yes labels."""
    corpus, is_selected, yes = TABLES[name]
    rows = pq.read_table(data / corpus / "data_en.parquet").to_pylist()
    selected = [(row, label) for row in rows for label in row["labels"] if is_selected(label)]
    answers = from_rows(
        [
            (f"{row['dialogue_id']}#{label['turn_id']}", label["annotator"], label["value"])
            for row, label in selected
        ]
    )
    index = {task: number for number, task in enumerate(answers.tasks)}
    texts = [("", "")] * len(answers.tasks)
    dialogue = np.zeros(len(texts), np.int64)
    number_of = {row["dialogue_id"]: number for number, row in enumerate(rows)}
    for row, label in selected:
        at = index[f"{row['dialogue_id']}#{label['turn_id']}"]
        turns = [turn["text"] or "" for turn in row["turns"]]
        turn = next((n for n, one in enumerate(row["turns"]) if one["turn_id"] == label["turn_id"]), None)
        before = turns[-1:] if turn is None else turns[max(0, turn - 3) : turn]
        texts[at] = " ".join(turns) if turn is None else turns[turn], " ".join(before)
        dialogue[at] = number_of[row["dialogue_id"]]
    return answers, predict(texts, answers.votes(), dialogue), [answers.labels.index(one) for one in yes]


def predict(texts: list[tuple[str, str]], votes: Floats, dialogue: NDArray[np.int64]) -> Floats:
    """Predicts the answer shares of each item by other dialogues (cross-fitting), shape (items, labels)."""
    from scipy.sparse import hstack, vstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    text, context = ([one[side] for one in texts] for side in (0, 1))
    words = TfidfVectorizer(min_df=3, sublinear_tf=True, ngram_range=(1, 2), max_features=20_000)
    context_words = TfidfVectorizer(min_df=3, sublinear_tf=True, max_features=8_000)
    features = hstack([words.fit_transform(text), context_words.fit_transform(context)]).tocsr()
    fold = np.random.default_rng(0).integers(FOLDS, size=dialogue.max() + 1)[dialogue]
    probabilities, shares = np.zeros(votes.shape), normalise(votes)
    for each in range(FOLDS):
        train, size = fold != each, votes.shape[1]
        fitted = LogisticRegression(max_iter=400).fit(
            vstack([features[train]] * size),
            np.repeat(np.arange(size), train.sum()),
            sample_weight=shares[train].T.ravel(),
        )
        probabilities[~train] = fitted.predict_proba(features[~train])
    return probabilities


if __name__ == "__main__":
    app = App(help="Compare methods of aggregation on real people.")
    app.default(study)
    app()
