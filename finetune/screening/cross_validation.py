"""Out-of-fold probabilities of a light model for every judged turn and code.

TF-IDF and logistic regression as in the baseline of that name, cross-validated over dialogues. Near-copies
and examples of one source share a fold, so that no model is trained on a copy of what it scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from dialint.detector.records import Example
from dialint.eval.baselines.scored import judged_positions
from dialint.eval.baselines.tfidf import (
    CHUNK,
    KEEP_ONE_IN,
    MIN_ERRORS,
    PASSES,
    Unit,
    count_ngrams,
    extract_units,
    inverse_document_frequency,
    weight_blocks,
)
from dialint.eval.metrics import Floats, Truth
from dialint.eval.results import Indices, probe_turns


@dataclass(frozen=True)
class TurnTable:
    """Judged turns in order of the examples, arrays of n rows.

    `example` numbers the examples, `turn` is the turn's index in the input, `labels` of shape (n, codes) the
    probability that the turn holds the error, `probe` says that it was made to look like an error.
    """

    codes: tuple[str, ...]
    example: Indices
    turn: Indices
    labels: Floats
    probe: Truth

    @classmethod
    def of(cls, examples: Sequence[Example], codes: Sequence[str]) -> TurnTable:
        """The judged turns of `examples`; labels of other turns and of other codes are left out."""
        column = {code: place for place, code in enumerate(codes)}
        rows = [
            (number, example.dialogue.turns[place].index)
            for number, example in enumerate(examples)
            for place in judged_positions(example.dialogue)
        ]
        place_of = {key: place for place, key in enumerate(rows)}
        labels, probe = np.zeros((len(rows), len(column)), np.float32), np.zeros(len(rows), bool)
        for number, example in enumerate(examples):
            for label in example.labels:
                place = place_of.get((number, label.turn))
                if place is not None and label.code in column:
                    labels[place, column[label.code]] = label.probability
            probed = (place_of.get((number, turn)) for turn, _ in probe_turns(example))
            probe[[place for place in probed if place is not None]] = True
        keys = np.array(rows, np.int64).reshape(-1, 2)
        return cls(tuple(codes), keys[:, 0], keys[:, 1], labels, probe)

    def whole(self, values: Floats) -> Floats:
        """The highest value of each dialogue, of shape (examples, ...); 0 for one without a judged turn."""
        found = np.zeros((int(self.example.max(initial=-1)) + 1, *values.shape[1:]), values.dtype)
        np.maximum.at(found, self.example, values)
        return found


FOLDS = 4
PENALTY = 1e-5
"""Weight of the squared coefficients; the baseline's finds a fifth fewer flips here (2026-11-22)."""


def assign_folds(groups: Sequence[str], seed: int) -> Indices:
    """The part, 0 to `FOLDS` - 1, of each dialogue: one for all of a group."""
    drawn = (hashlib.sha256(f"{seed}/{group}".encode()).digest() for group in groups)
    return np.array([int.from_bytes(digest[:8]) % FOLDS for digest in drawn], np.int64)


def trainable_codes(turns: TurnTable, folds: Indices) -> tuple[str, ...]:
    """The codes of which errors and others enough are left to learn from whichever part is left out."""
    errors, rest = turns.labels > 0.5, [folds[turns.example] != fold for fold in range(FOLDS)]
    least = np.array([[errors[rows].sum(axis=0), (~errors[rows]).sum(axis=0)] for rows in rest]).min(
        axis=(0, 1)
    )
    return tuple(code for code, n in zip(turns.codes, least, strict=True) if n >= MIN_ERRORS)


def predict_out_of_fold(examples: Sequence[Example], turns: TurnTable, folds: Indices, seed: int) -> Floats:
    """Probability of each code at each turn by a model that learned from the other parts; shape (n, codes).

    `folds` of shape (examples,). Learned from are all turns with a label or made to look like an error, and
    one in `KEEP_ONE_IN` of the others, so that probabilities are too high by about that.
    """
    kept = turns.labels.any(axis=1) | turns.probe
    kept |= np.random.default_rng(seed).random(len(kept)) < 1 / KEEP_ONE_IN
    fold = folds[turns.example]
    counts = _stacked([count_ngrams(rows) for rows in _chunks(_units(examples, kept))])
    idf = [inverse_document_frequency(block) for block in counts]
    table = weight_blocks(counts, idf)
    del counts
    models = [
        _learned(table[fold[kept] != part], turns.labels[kept][fold[kept] != part], seed)
        for part in range(FOLDS)
    ]
    del table
    found, start = np.empty_like(turns.labels), 0
    for rows in _chunks(_units(examples, np.ones(len(kept), bool))):
        block = weight_blocks(count_ngrams(rows), idf)
        for part, (weights, offsets) in enumerate(models):
            here = np.flatnonzero(fold[start : start + len(rows)] == part)
            found[start + here] = 1 / (1 + np.exp(-np.clip(block[here] @ weights.T + offsets, -30, 30)))
        start += len(rows)
    return found


def _learned(table: Any, labels: Floats, seed: int) -> tuple[Floats, Floats]:
    """Weights (codes, buckets) and offsets (codes,). A soft label is learned from both sides, each with its
    share."""
    from sklearn.linear_model import SGDClassifier

    weights, offsets = [], []
    for given in labels.T:
        soft = np.flatnonzero((given > 0) & (given < 1))
        rows = np.concatenate([np.arange(len(given)), soft])
        truth = np.concatenate([given > 0, np.zeros(len(soft), bool)])
        share = np.concatenate([np.where(given > 0, given, 1.0), 1 - given[soft]])
        model = SGDClassifier(loss="log_loss", alpha=PENALTY, max_iter=PASSES, tol=None, random_state=seed)
        model.fit(table[rows] if len(soft) else table, truth, sample_weight=share)
        weights.append(model.coef_[0].astype(np.float32))
        offsets.append(float(model.intercept_[0]))
    return np.array(weights), np.array(offsets)


def _units(examples: Sequence[Example], wanted: Truth) -> Iterator[Unit]:
    rows = (unit for example in examples for unit in extract_units(example.dialogue).values())
    return (unit for unit, want in zip(rows, wanted, strict=True) if want)


def _chunks(rows: Iterator[Unit]) -> Iterator[list[Unit]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _stacked(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """The same blocks of all parts under one another."""
    from scipy import sparse

    return [sparse.vstack(blocks, format="csr") for blocks in zip(*parts, strict=True)]
