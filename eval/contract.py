"""Fits what a release may claim: calibration and a threshold for each code, on a split of its own.

Calibration is Platt's: a logistic curve over the raw score. The threshold is the lowest one whose rate
of false accusations stays under the wanted rate with the wanted confidence: an exact binomial
bound, tested from the strictest threshold down, so that looking at many costs nothing.
Source: Platt 1999; Clopper and Pearson 1934; Angelopoulos et al. 2021, "Learn then Test", fixed sequence.
"""

from __future__ import annotations

import numpy as np

from detector.calibration import Contract, Scan
from eval.metrics import Floats, Truth

STEPS = 200


def fit(truth: Truth, scores: Floats, per_100: float, confidence: float = 0.9) -> Scan:
    """Calibration and contract of one code from its scores on a labelled split, shape (n,).

    `per_100` is the rate of false accusations on 100 clean turns that may not be passed. Without any
    threshold that keeps it, the contract is None: the code may not be flagged, only suggested.
    """
    slope, offset = platt(truth, scores)
    probabilities = 1.0 / (1.0 + np.exp(-(slope * scores + offset)))
    return Scan(slope=slope, offset=offset, contract=contract(truth, probabilities, per_100, confidence))


def platt(truth: Truth, scores: Floats, rounds: int = 100) -> tuple[float, float]:
    """Slope and offset of the logistic curve of greatest likelihood, with Platt's smoothed targets."""
    positives, negatives = int(truth.sum()), int((~truth).sum())
    target = np.where(truth, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
    design = np.column_stack((scores.astype(float), np.ones(len(scores))))
    weights = np.array([1.0, 0.0])
    for _ in range(rounds):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -60, 60)))
        gradient = design.T @ (p - target)
        curvature = (design * (p * (1 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step * min(1.0, 5.0 / (np.abs(step).max() + 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return max(float(weights[0]), 1e-6), float(weights[1])


def contract(truth: Truth, probabilities: Floats, per_100: float, confidence: float) -> Contract | None:
    """The lowest threshold that keeps the rate, or None."""
    clean, errors = np.sort(probabilities[~truth]), probabilities[truth]
    if not len(errors) or not len(clean):
        return None
    grid = np.unique(np.quantile(probabilities, 1.0 - np.geomspace(1e-5, 0.3, STEPS)))[::-1]
    kept = None
    for threshold in grid:
        accused = len(clean) - int(np.searchsorted(clean, threshold, side="left"))
        if upper_bound(accused, len(clean), confidence) > per_100 / 100.0:
            break
        kept = float(threshold)
    if kept is None or not (errors >= kept).any():
        return None
    return Contract(
        threshold=kept,
        false_accusations_per_100=per_100,
        confidence=confidence,
        recall=float(np.mean(errors >= kept)),
        n_errors=len(errors),
        n_clean=len(clean),
    )


def upper_bound(hits: int, n: int, confidence: float) -> float:
    """Exact one-sided upper bound of a rate of which `hits` of `n` were seen.

    Source: Clopper and Pearson 1934, by bisection on the binomial tail.
    """
    if hits >= n:
        return 1.0
    low, high = hits / n, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        if _binomial_cdf(hits, n, rate) > 1.0 - confidence:
            low = rate
        else:
            high = rate
    return high


def _binomial_cdf(hits: int, n: int, rate: float) -> float:
    """P(X <= hits) for X binomial, summed in logarithms."""
    if rate <= 0.0:
        return 1.0
    if rate >= 1.0:
        return float(hits >= n)
    k = np.arange(hits + 1)
    steps = np.log((n - k[1:] + 1) / k[1:]) if hits else np.array([])
    log_choose = np.concatenate(([0.0], np.cumsum(steps)))
    terms = log_choose + k * np.log(rate) + (n - k) * np.log1p(-rate)
    peak = terms.max()
    return float(np.exp(peak) * np.exp(terms - peak).sum())
