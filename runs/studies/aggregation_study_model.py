"""A plain model for the study of the methods: what it makes of each item of dbdc3, items unseen.

Run: ``python runs/studies/aggregation_study_model.py --data FOLDER --out FILE``. Words and letters of the
system's turn and of the turns before it, logistic regression on the shares of the answers. Dialogues are
split into folds, and those of one are foretold by a model of the others, so that no answer about an item,
seen or hidden, has a part in its prediction. Writes CSV: task, label, probability.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from aggregation_study import TASK, rows_of
from cyclopts import App, Parameter
from numpy.typing import NDArray

from dialint.detector.artifacts import atomic_file
from dialint.detector.verdict_files import escape_cell
from dialint.labeling.aggregation.answers import Answers, Floats

Item = tuple[str, str, str, Counter[str]]
"""Task, the turn, what was said before it, and its answers."""


@Parameter(name="*")
@dataclass(frozen=True)
class ModelConfig:
    """Where the corpus is, and where the predictions go."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    out: Path
    """File for the predictions (CSV)."""
    folds: int = 10
    """Parts that dialogues are split into."""
    seed: int = 0
    """Draws the split."""


def predict(config: ModelConfig) -> None:
    """Foretell the answers about every item of dbdc3 from those about other dialogues.

    Raises:
        InputRefused: the corpus is missing.
    """
    rows_read = rows_of(config.data, "dbdc3")
    labels, tasks, found = _foretold_by_fold(rows_read, lambda label: True, config.folds, config.seed)
    rows = io.StringIO(newline="")
    table = csv.writer(rows)
    table.writerow(("task", "label", "probability"))
    for task, probabilities in zip(tasks, found, strict=True):
        table.writerows(
            (escape_cell(task), escape_cell(label), f"{share:.6f}")
            for label, share in zip(labels, probabilities, strict=True)
        )
    with atomic_file(config.out) as file:
        file.write(rows.getvalue().encode())


def predictions(
    rows: list[dict[str, Any]], asked: Callable[[dict[str, Any]], bool], answers: Answers
) -> Floats:
    """What the model makes of each task of `answers`, shape (tasks, labels), from the labels of other
    dialogues for which `asked` holds; `rows` as `study.rows_of` reads them."""
    labels, tasks, found = _foretold_by_fold(rows, asked, ModelConfig.folds, ModelConfig.seed)
    place = {task: number for number, task in enumerate(tasks)}
    columns = [labels.index(label) for label in answers.labels]
    return found[[place[task] for task in answers.tasks]][:, columns]


def _foretold_by_fold(
    rows: list[dict[str, Any]], asked: Callable[[dict[str, Any]], bool], folds: int, seed: int
) -> tuple[list[str], list[str], Floats]:
    dialogues = [_items(row, asked) for row in rows]
    fold = np.random.default_rng(seed).integers(folds, size=len(dialogues))
    items = [item for dialogue in dialogues for item in dialogue]
    of = np.repeat(fold, [len(dialogue) for dialogue in dialogues])
    labels = sorted({label for *_, answers in items for label in answers})
    found = np.full((len(items), len(labels)), np.nan)
    for one in range(folds):
        found[of == one] = _foretold(items, of != one, labels)
    return labels, [item[0] for item in items], found


def _items(row: dict[str, Any], asked: Callable[[dict[str, Any]], bool]) -> list[Item]:
    """The items of a dialogue; of a question about all of it (turn -1) the turn is all of it."""
    answers: dict[int, Counter[str]] = {}
    for label in filter(asked, row["labels"]):
        answers.setdefault(label["turn_id"], Counter())[label["value"]] += 1
    texts = [turn["text"] or "" for turn in row["turns"]]
    place = {turn["turn_id"]: number for number, turn in enumerate(row["turns"])}
    return [
        (
            TASK.format(dialogue=row["dialogue_id"], turn=turn),
            " ".join(texts) if turn < 0 else texts[place[turn]],
            texts[-1] if turn < 0 else " ".join(texts[max(0, place[turn] - 3) : place[turn]]),
            counts,
        )
        for turn, counts in answers.items()
    ]


def _foretold(items: list[Item], known: NDArray[np.bool_], labels: list[str]) -> NDArray[np.float64]:
    """Probabilities of the items not known, shape (items not known, labels)."""
    from scipy.sparse import csr_matrix, hstack, vstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    said, before = [item[1] for item in items], [item[2] for item in items]
    views = (
        (TfidfVectorizer(min_df=2, sublinear_tf=True, ngram_range=(1, 2)), said),
        (TfidfVectorizer(min_df=2, sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 4)), said),
        (TfidfVectorizer(min_df=2, sublinear_tf=True), before),
    )
    parts = []
    for vectoriser, texts in views:
        vectoriser.fit([text for text, here in zip(texts, known, strict=True) if here])
        parts.append(vectoriser.transform(texts))
    shared = [
        [len(set(one.lower().split()) & set(other.lower().split())), len(one.split())]
        for one, other in zip(said, before, strict=True)
    ]
    features = csr_matrix(hstack([*parts, csr_matrix(np.log1p(shared))]))
    weights = np.array([[item[3][label] / item[3].total() for label in labels] for item in items])
    taught = LogisticRegression(C=1.0, max_iter=500)
    taught.fit(
        vstack([features[known]] * len(labels)),
        np.repeat(np.arange(len(labels)), known.sum()),
        sample_weight=weights[known].T.ravel(),
    )
    return np.asarray(taught.predict_proba(features[~known]), np.float64)


if __name__ == "__main__":
    app = App(help="Foretell answers about dbdc3 from answers about other dialogues.")
    app.default(predict)
    app()
