"""Confident learning: which labels a model that did not learn from them is sure are wrong.

Knows probabilities only, not where they come from.

Source: Northcutt, Jiang and Chuang 2021, Confident Learning: Estimating Uncertainty in Dataset Labels,
Journal of Artificial Intelligence Research 70, section 3.1 (thresholds, confident joint) and 3.2 (suspected
are the joint's off-diagonals, their C_confusion). Of two classes; a soft label counts to each with its
share, which for hard labels is theirs. We depart in one thing: where one turn in a hundred is an error and
the model is weak, the off-diagonal holds half of all labelled errors (13,858 made examples, 10 % flipped:
precision .25 at recall .93, 2026-11-22). So only its far ends are suspected, see `TIMES`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dialint.eval.metrics import Floats, Truth

TIMES = 5
"""What is suspected is so many times as likely flipped as any label of an error: as far down as clean turns
are so many times as dense as labelled errors, as far up as labelled errors outnumber all others so often."""


@dataclass(frozen=True)
class Joint:
    """The confident joint of one code: `counts[given][held]`, 0 for no error and 1 for one, and the
    thresholds of both: how sure the model is on average of what is labelled so."""

    clean_from: float
    error_from: float
    counts: tuple[tuple[int, int], tuple[int, int]]


def off_diagonal(given: Floats, probability: Floats) -> tuple[Truth, Joint]:
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

    return (said & is_clean) | (~said & is_error), Joint(clean_from, error_from, (row(~said), row(said)))


def far_ends(given: Floats, probability: Floats) -> tuple[float, float]:
    """The probability up to which labels of an error, and from which all others, are suspected by `TIMES`;
    -1 and 2 where none are. Shapes as above."""
    values, place = np.unique(probability, return_inverse=True)
    errors, cleans = (np.bincount(place, share, len(values)) for share in (given, 1 - given))
    below = np.cumsum(cleans) * errors.sum() >= TIMES * np.cumsum(errors) * cleans.sum()
    above = np.cumsum(errors[::-1])[::-1] >= TIMES * np.cumsum(cleans[::-1])[::-1]
    return float(values[below].max(initial=-1.0)), float(values[above].min(initial=2.0))


def suspected(given: Floats, probability: Floats) -> tuple[Truth, Joint]:
    """Which labels are suspected of being flipped, shape (n,), and the confident joint.

    Raises:
        ValueError: there is no label of one of the two classes.
    """
    off, joint = off_diagonal(given, probability)
    low, high = far_ends(given, probability)
    far = np.where(given > 0.5, probability <= low, probability >= high)
    return off & far, joint
