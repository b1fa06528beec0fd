"""Out-of-fold probabilities of a light model for every judged turn and code.

TF-IDF and logistic regression as in the baseline of that name, cross-validated over dialogues.
Near-duplicates and examples of one source are in the same fold, so that no model is trained on a copy of what
it scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from dialint.detector.records import Example
from dialint.eval.baselines import (
    CHUNK,
    KEEP_ONE_IN,
    MIN_ERRORS,
    PASSES,
    Unit,
    count_ngrams,
    extract_units,
    inverse_document_frequency,
    judged_positions,
    weight_blocks,
)
from dialint.eval.metrics import Bools, Floats
from dialint.eval.results import Indices, probe_turns

FOLDS = 4
PENALTY = 1e-5
"""Weight of the squared coefficients; with the baseline's a fifth fewer flips are found here (2026-11-22)."""


@dataclass(frozen=True)
class TurnTable:
    """The judged turns of examples as a table, arrays of n rows.

    `example` is the index of the example, `turn` the turn's index in the input, `labels` of shape (n, codes)
    the probability that the turn has the error, `probe` whether it was made to look like an error.
    """

    codes: tuple[str, ...]
    example: Indices
    turn: Indices
    labels: Floats
    probe: Bools

    @classmethod
    def from_examples(cls, examples: Sequence[Example], codes: Sequence[str]) -> TurnTable:
        """The judged turns of `examples` in order; labels of other turns and of other codes are left out."""
        column_of = {code: column for column, code in enumerate(codes)}
        keys = [
            (number, example.dialogue.turns[position].index)
            for number, example in enumerate(examples)
            for position in judged_positions(example.dialogue)
        ]
        row_of = {key: row for row, key in enumerate(keys)}
        labels, probe = np.zeros((len(keys), len(column_of)), np.float32), np.zeros(len(keys), bool)
        for number, example in enumerate(examples):
            for label in example.labels:
                row = row_of.get((number, label.turn))
                if row is not None and label.code in column_of:
                    labels[row, column_of[label.code]] = label.probability
            probe_rows = (row_of.get((number, turn)) for turn, _ in probe_turns(example))
            probe[[row for row in probe_rows if row is not None]] = True
        columns = np.array(keys, np.int64).reshape(-1, 2)
        return cls(tuple(codes), columns[:, 0], columns[:, 1], labels, probe)

    def max_by_example(self, values: Floats) -> Floats:
        """The highest value of each dialogue, of shape (examples, ...); 0 for one without a judged turn."""
        highest = np.zeros((int(self.example.max(initial=-1)) + 1, *values.shape[1:]), values.dtype)
        np.maximum.at(highest, self.example, values)
        return highest


def assign_folds(groups: Sequence[str], seed: int) -> Indices:
    """The fold, 0 to `FOLDS` - 1, of each dialogue, by the hash of its group."""
    digests = (hashlib.sha256(f"{seed}/{group}".encode()).digest() for group in groups)
    return np.array([int.from_bytes(digest[:8]) % FOLDS for digest in digests], np.int64)


def trainable_codes(turns: TurnTable, folds: Indices) -> tuple[str, ...]:
    """The codes with at least `MIN_ERRORS` errors and as many other turns outside of every fold."""
    errors, training = turns.labels > 0.5, [folds[turns.example] != fold for fold in range(FOLDS)]
    counts = np.array([[errors[rows].sum(axis=0), (~errors[rows]).sum(axis=0)] for rows in training])
    return tuple(
        code for code, n in zip(turns.codes, counts.min(axis=(0, 1)), strict=True) if n >= MIN_ERRORS
    )


def predict_out_of_fold(examples: Sequence[Example], turns: TurnTable, folds: Indices, seed: int) -> Floats:
    """Probability of each code at each turn by a model of the other folds, shape (n, codes); `folds` has
    shape (examples,).

    Trained on all turns that have a label or look like an error, and one in `KEEP_ONE_IN` of the others, so
    that probabilities are too high by about that factor.
    """
    selected = turns.labels.any(axis=1) | turns.probe
    selected |= np.random.default_rng(seed).random(len(selected)) < 1 / KEEP_ONE_IN
    fold = folds[turns.example]
    counts = _stack([count_ngrams(chunk) for chunk in _chunks(_units(examples, selected))])
    idf = [inverse_document_frequency(block) for block in counts]
    table = weight_blocks(counts, idf)
    del counts
    models = [
        _fit(table[fold[selected] != part], turns.labels[selected][fold[selected] != part], seed)
        for part in range(FOLDS)
    ]
    del table
    probabilities, start = np.empty_like(turns.labels), 0
    for chunk in _chunks(_units(examples, np.ones(len(selected), bool))):
        block = weight_blocks(count_ngrams(chunk), idf)
        for part, (weights, offsets) in enumerate(models):
            rows = np.flatnonzero(fold[start : start + len(chunk)] == part)
            logits = block[rows] @ weights.T + offsets
            probabilities[start + rows] = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
        start += len(chunk)
    return probabilities


def _fit(table: Any, labels: Floats, seed: int) -> tuple[Floats, Floats]:
    """Weights (codes, buckets) and offsets (codes,). A soft label is a row of each class, weighted by its
    share."""
    from sklearn.linear_model import SGDClassifier

    weights, offsets = [], []
    for column in labels.T:
        soft = np.flatnonzero((column > 0) & (column < 1))
        rows = np.concatenate([np.arange(len(column)), soft])
        target = np.concatenate([column > 0, np.zeros(len(soft), bool)])
        weight = np.concatenate([np.where(column > 0, column, 1.0), 1 - column[soft]])
        model = SGDClassifier(loss="log_loss", alpha=PENALTY, max_iter=PASSES, tol=None, random_state=seed)
        model.fit(table[rows] if len(soft) else table, target, sample_weight=weight)
        weights.append(model.coef_[0].astype(np.float32))
        offsets.append(float(model.intercept_[0]))
    return np.array(weights), np.array(offsets)


def _units(examples: Sequence[Example], selected: Bools) -> Iterator[Unit]:
    rows = (unit for example in examples for unit in extract_units(example.dialogue).values())
    return (unit for unit, is_selected in zip(rows, selected, strict=True) if is_selected)


def _chunks(rows: Iterator[Unit]) -> Iterator[list[Unit]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _stack(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Each block of all parts, stacked vertically."""
    from scipy import sparse

    return [sparse.vstack(blocks, format="csr") for blocks in zip(*parts, strict=True)]
