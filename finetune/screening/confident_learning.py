"""Confident learning: labels that a model which was not trained on them is confident are wrong, and by whom.

Source: Northcutt, Jiang and Chuang 2021, Confident Learning: Estimating Uncertainty in Dataset Labels,
Journal of Artificial Intelligence Research 70, section 3.1 (thresholds, confident joint) and 3.2 (label
errors are the joint's off-diagonals, their C_confusion). Of two classes; a soft label counts for each with
its share, which for hard labels is theirs. We depart in one thing: where one turn in a hundred is an error
and the model is weak, the off-diagonal has half of all labelled errors (13,858 made examples, 10 % flipped:
precision .25 at recall .93, 2026-11-22). So only its tails are suspected, see `DENSITY_RATIO`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dialint.detector.records import Example
from dialint.eval.metrics import Bools, Floats
from dialint.finetune.screening.cross_validation import (
    TurnTable,
    assign_folds,
    predict_out_of_fold,
    trainable_codes,
)
from dialint.finetune.screening.dataset import LabelerBias, Suspect

DENSITY_RATIO = 5
"""A label is suspected if it is that many times as likely flipped as any label of an error: down to where
clean turns are that many times as dense as labelled errors, and up from where labelled errors outnumber the
others that many times."""


@dataclass(frozen=True)
class ConfidentJoint:
    """The confident joint of one code: `counts[label][predicted]`, 0 for no error and 1 for one, and the
    thresholds of both classes, the model's mean confidence in what is labelled so."""

    clean_from: float
    error_from: float
    counts: tuple[tuple[int, int], tuple[int, int]]


def off_diagonal(labels: Floats, probability: Floats) -> tuple[Bools, ConfidentJoint]:
    """Which labels are off the confident joint's diagonal, and the joint.

    `labels` and `probability` are of shape (n,), in [0, 1]: the label, an error above one half, and the
    out-of-fold probability of an error.

    Raises:
        ValueError: one of the two classes has no label.
    """
    errors, cleans = float(labels.sum()), float((1 - labels).sum())
    if not errors or not cleans:
        raise ValueError("labels of both classes are needed")
    error_from = float((labels * probability).sum()) / errors
    clean_from = float(((1 - labels) * (1 - probability)).sum()) / cleans
    is_error, is_clean = probability >= error_from, 1 - probability >= clean_from
    both = is_error & is_clean
    is_error &= ~both | (probability > 0.5)
    is_clean &= ~both | (probability <= 0.5)
    labeled_error = labels > 0.5

    def count(rows: Bools) -> tuple[int, int]:
        return int((rows & is_clean).sum()), int((rows & is_error).sum())

    joint = ConfidentJoint(clean_from, error_from, (count(~labeled_error), count(labeled_error)))
    return (labeled_error & is_clean) | (~labeled_error & is_error), joint


def tail_thresholds(labels: Floats, probability: Floats) -> tuple[float, float]:
    """The probability up to which labels of an error, and from which all others, are suspected by
    `DENSITY_RATIO`; -1 and 2 where none are. Shapes as above."""
    values, inverse = np.unique(probability, return_inverse=True)
    errors, cleans = (np.bincount(inverse, share, len(values)) for share in (labels, 1 - labels))
    below = np.cumsum(cleans) * errors.sum() >= DENSITY_RATIO * np.cumsum(errors) * cleans.sum()
    above = np.cumsum(errors[::-1])[::-1] >= DENSITY_RATIO * np.cumsum(cleans[::-1])[::-1]
    return float(values[below].max(initial=-1.0)), float(values[above].min(initial=2.0))


def find_label_errors(labels: Floats, probability: Floats) -> tuple[Bools, ConfidentJoint]:
    """Which labels are suspected of being flipped, shape (n,), and the confident joint.

    Raises:
        ValueError: one of the two classes has no label.
    """
    off, joint = off_diagonal(labels, probability)
    low, high = tail_thresholds(labels, probability)
    in_tail = np.where(labels > 0.5, probability <= low, probability >= high)
    return off & in_tail, joint


@dataclass(frozen=True)
class LabelProbabilities:
    """The labels of the codes that a model could be trained for: `probability`, in the shape of the table's
    labels, are its out-of-fold probabilities; `dialogue_codes` are the codes of dialogue scope."""

    turns: TurnTable
    probability: Floats
    dialogue_codes: frozenset[str]

    def column(self, code: str) -> tuple[Floats, Floats]:
        """Labels and probabilities of a code, by turn, or by example for a code of dialogue scope."""
        column = self.turns.codes.index(code)
        labels, probability = self.turns.labels[:, column], self.probability[:, column]
        if code in self.dialogue_codes:
            return self.turns.max_by_example(labels), self.turns.max_by_example(probability)
        return labels, probability


def predict_labels(
    examples: Sequence[Example],
    groups: Sequence[str],
    codes: Sequence[str],
    dialogue_codes: Set[str],
    seed: int,
) -> LabelProbabilities:
    """Out-of-fold probabilities of the labels; codes with too few errors to train on are left out."""
    folds = assign_folds(groups, seed)
    codes = trainable_codes(TurnTable.from_examples(examples, codes), folds)
    turns = TurnTable.from_examples(examples, codes)
    probability = predict_out_of_fold(examples, turns, folds, seed) if codes else turns.labels
    return LabelProbabilities(turns, probability, frozenset(dialogue_codes))


def list_suspects(
    predictions: LabelProbabilities, examples: Sequence[Example]
) -> tuple[list[Suspect], dict[str, Any]]:
    """The suspected labels, and for each code its confident joint."""
    suspects: list[Suspect] = []
    joints: dict[str, Any] = {}
    turns = predictions.turns
    for code in turns.codes:
        labels, probability = predictions.column(code)
        if labels.min() == labels.max():
            continue  # the same everywhere, if only by dialogue: one class
        is_suspected, joint = find_label_errors(labels, probability)
        joints[code] = {**asdict(joint), "suspected": int(is_suspected.sum())}
        of_dialogue = code in predictions.dialogue_codes
        for row in np.flatnonzero(is_suspected).tolist():
            number = row if of_dialogue else int(turns.example[row])
            suspects.append(
                Suspect(
                    dialogue_id=examples[number].dialogue.id,
                    why="label",
                    turn=None if of_dialogue else int(turns.turn[row]),
                    code=code,
                    given=round(float(labels[row]), 6),
                    probability=round(float(probability[row]), 6),
                )
            )
    return suspects, joints


def labeler_biases(
    predictions: LabelProbabilities, examples: Sequence[Example], labelers: Mapping[str, Sequence[str]]
) -> Iterator[LabelerBias]:
    """Each labeler's bias for each code, the strongest first. `labelers` has the labelers of each
    dialogue."""
    by_labeler: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        for labeler in sorted(set(labelers.get(example.dialogue.id, ()))):
            by_labeler.setdefault(labeler, []).append(number)
    rows = [
        bias
        for code in predictions.turns.codes
        for bias in _biases_for_code(code, *_sum_by_example(predictions, code, len(examples)), by_labeler)
    ]
    yield from sorted(rows, key=lambda row: (-abs(row.deviation), row.labeler, row.code))


def _sum_by_example(predictions: LabelProbabilities, code: str, n: int) -> tuple[Floats, Floats]:
    """Labels and expected labels of each example, of shape (n,). Expected ones are scaled to the sum of the
    labels: the model is trained on too few clean turns."""
    labels, probability = (values.astype(float) for values in predictions.column(code))
    expected = np.minimum(probability * (labels.sum() / max(probability.sum(), 1e-9)), 1.0)
    of_dialogue = code in predictions.dialogue_codes
    example = np.arange(len(labels)) if of_dialogue else predictions.turns.example
    labels, expected = (np.asarray(np.bincount(example, part, n), float) for part in (labels, expected))
    return labels, expected


def _biases_for_code(
    code: str, labels: Floats, expected: Floats, by_labeler: Mapping[str, list[int]]
) -> Iterator[LabelerBias]:
    """The standard deviation of an example's label from the expected one is that of all examples: the model
    is overconfident."""
    deviation = max(float(((labels - expected) ** 2).mean()) ** 0.5, 1e-9)
    for labeler, own in by_labeler.items():
        difference = float((labels[own] - expected[own]).sum())
        yield LabelerBias(
            labeler=labeler,
            code=code,
            dialogues=len(own),
            found=round(float(labels[own].sum()), 3),
            expected=round(float(expected[own].sum()), 3),
            deviation=round(difference / (deviation * len(own) ** 0.5), 2),
        )
