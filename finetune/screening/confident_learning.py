"""Confident learning: which labels a model that did not learn from them is sure are wrong.

Knows probabilities only, not where they come from.

Source: Northcutt, Jiang and Chuang 2021, Confident Learning: Estimating Uncertainty in Dataset Labels,
Journal of Artificial Intelligence Research 70, section 3.1 (thresholds, confident joint) and 3.2 (suspected
are the joint's off-diagonals, their C_confusion). Of two classes; a soft label counts to each with its
share, which for hard labels is theirs. We depart in one thing: where one turn in a hundred is an error and
the model is weak, the off-diagonal holds half of all labelled errors (13,858 made examples, 10 % flipped:
precision .25 at recall .93, 2026-11-22). So only its far ends are suspected, see `DENSITY_RATIO`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dialint.detector.records import Example, Record
from dialint.eval.metrics import Floats, Truth
from dialint.finetune.screening.cross_validation import (
    TurnTable,
    assign_folds,
    predict_out_of_fold,
    trainable_codes,
)
from dialint.finetune.screening.dataset import Suspect

DENSITY_RATIO = 5
"""What is suspected is so many times as likely flipped as any label of an error: as far down as clean turns
are so many times as dense as labelled errors, as far up as labelled errors outnumber all others so often."""


@dataclass(frozen=True)
class ConfidentJoint:
    """The confident joint of one code: `counts[given][held]`, 0 for no error and 1 for one, and the
    thresholds of both: how sure the model is on average of what is labelled so."""

    clean_from: float
    error_from: float
    counts: tuple[tuple[int, int], tuple[int, int]]


def off_diagonal(given: Floats, probability: Floats) -> tuple[Truth, ConfidentJoint]:
    """Which labels lie off the confident joint's diagonal, and the joint.

    `given` and `probability` are of shape (n,), in [0, 1]: the label of an error, above one half if it is
    held to be one, and what a model that did not learn from it says.

    Raises:
        ValueError: there is no label of one of the two classes.
    """
    errors, cleans = float(given.sum()), float((1 - given).sum())
    if not errors or not cleans:
        raise ValueError("labels of both classes are needed")
    error_from = float((given * probability).sum()) / errors
    clean_from = float(((1 - given) * (1 - probability)).sum()) / cleans
    is_error, is_clean = probability >= error_from, 1 - probability >= clean_from
    both = is_error & is_clean
    is_error &= ~both | (probability > 0.5)
    is_clean &= ~both | (probability <= 0.5)
    said = given > 0.5

    def row(labels: Truth) -> tuple[int, int]:
        return int((labels & is_clean).sum()), int((labels & is_error).sum())

    return (said & is_clean) | (~said & is_error), ConfidentJoint(
        clean_from, error_from, (row(~said), row(said))
    )


def tail_thresholds(given: Floats, probability: Floats) -> tuple[float, float]:
    """The probability up to which labels of an error, and from which all others, are suspected by
    `DENSITY_RATIO`; -1 and 2 where none are. Shapes as above."""
    values, place = np.unique(probability, return_inverse=True)
    errors, cleans = (np.bincount(place, share, len(values)) for share in (given, 1 - given))
    below = np.cumsum(cleans) * errors.sum() >= DENSITY_RATIO * np.cumsum(errors) * cleans.sum()
    above = np.cumsum(errors[::-1])[::-1] >= DENSITY_RATIO * np.cumsum(cleans[::-1])[::-1]
    return float(values[below].max(initial=-1.0)), float(values[above].min(initial=2.0))


def find_label_errors(given: Floats, probability: Floats) -> tuple[Truth, ConfidentJoint]:
    """Which labels are suspected of being flipped, shape (n,), and the confident joint.

    Raises:
        ValueError: there is no label of one of the two classes.
    """
    off, joint = off_diagonal(given, probability)
    low, high = tail_thresholds(given, probability)
    far = np.where(given > 0.5, probability <= low, probability >= high)
    return off & far, joint


class LabelerBias(Record):
    """How often the dialogues that a labeler was asked of hold a code, against what a model that learned
    from other dialogues expects of them; `deviation` in standard deviations. Where several were asked, the
    label is that of all of them. The model is rough: what is far off is worth a look, no proof."""

    labeler: str
    code: str
    dialogues: int
    found: float
    expected: float
    deviation: float


@dataclass(frozen=True)
class LabelProbabilities:
    """What is known of the labels: `turns` has the codes that were looked at, `probability` is of the shape
    of their labels, `whole` are those of dialogue scope."""

    turns: TurnTable
    probability: Floats
    whole: frozenset[str]

    def column(self, code: str) -> tuple[Floats, Floats]:
        """Labels and probabilities of a code by turn, or by example where it is of the whole dialogue."""
        place = self.turns.codes.index(code)
        given, said = self.turns.labels[:, place], self.probability[:, place]
        return (self.turns.whole(given), self.turns.whole(said)) if code in self.whole else (given, said)


def predict_labels(
    examples: Sequence[Example], groups: Sequence[str], codes: Sequence[str], whole: Set[str], seed: int
) -> LabelProbabilities:
    """Every label with what a model says that saw no example of the same group; codes with too few errors to
    learn from are left out."""
    folds = assign_folds(groups, seed)
    codes = trainable_codes(TurnTable.of(examples, codes), folds)
    turns = TurnTable.of(examples, codes)
    probability = predict_out_of_fold(examples, turns, folds, seed) if codes else turns.labels
    return LabelProbabilities(turns, probability, frozenset(whole))


def list_suspects(
    found: LabelProbabilities, examples: Sequence[Example]
) -> tuple[list[Suspect], dict[str, Any]]:
    """The labels that are suspected, and for each code its confident joint."""
    listed: list[Suspect] = []
    joints: dict[str, Any] = {}
    for code in found.turns.codes:
        given, probability = found.column(code)
        if given.min() == given.max():
            continue  # the same everywhere, if only by dialogue: nothing to tell apart
        wrong, joint = find_label_errors(given, probability)
        joints[code] = {**asdict(joint), "suspected": int(wrong.sum())}
        for place in np.flatnonzero(wrong).tolist():
            number = place if code in found.whole else int(found.turns.example[place])
            listed.append(
                Suspect(
                    dialogue_id=examples[number].dialogue.id,
                    why="label",
                    turn=None if code in found.whole else int(found.turns.turn[place]),
                    code=code,
                    given=round(float(given[place]), 6),
                    probability=round(float(probability[place]), 6),
                )
            )
    return listed, joints


def labeler_biases(
    found: LabelProbabilities, examples: Sequence[Example], asked: Mapping[str, Sequence[str]]
) -> Iterator[LabelerBias]:
    """Each labeler's leaning in each code, the strongest first. `asked` names who was asked of a dialogue."""
    of_labeler: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        for labeler in sorted(set(asked.get(example.dialogue.id, ()))):
            of_labeler.setdefault(labeler, []).append(number)
    rows = [
        leaning
        for code in found.turns.codes
        for leaning in _leanings(code, *_sums(found, code, len(examples)), of_labeler)
    ]
    yield from sorted(rows, key=lambda row: (-abs(row.deviation), row.labeler, row.code))


def _sums(found: LabelProbabilities, code: str, n: int) -> tuple[Floats, Floats]:
    """Labels of each example and expected labels, of shape (n,). Expected is scaled so that it is right in
    sum: the model learned from too few clean turns."""
    given, probability = (values.astype(float) for values in found.column(code))
    expected = np.minimum(probability * (given.sum() / max(probability.sum(), 1e-9)), 1.0)
    example = np.arange(len(given)) if code in found.whole else found.turns.example
    given, expected = (np.asarray(np.bincount(example, part, n), float) for part in (given, expected))
    return given, expected


def _leanings(
    code: str, given: Floats, expected: Floats, of_labeler: Mapping[str, list[int]]
) -> Iterator[LabelerBias]:
    """How far labels lie from the expected in one example is measured on all, the model being too sure."""
    spread = max(float(((given - expected) ** 2).mean()) ** 0.5, 1e-9)
    for labeler, own in of_labeler.items():
        difference = float((given[own] - expected[own]).sum())
        yield LabelerBias(
            labeler=labeler,
            code=code,
            dialogues=len(own),
            found=round(float(given[own].sum()), 3),
            expected=round(float(expected[own].sum()), 3),
            deviation=round(difference / (spread * len(own) ** 0.5), 2),
        )
