"""Fits the calibration and contract of a release: a curve and a threshold for each code, on a separate split.

Calibration is Platt's: a logistic curve over the raw score. The threshold is the lowest one whose rate
of false accusations stays under the required rate with the required confidence: an exact binomial bound,
tested on a fixed grid of raw scores from the strictest down until it fails, so that testing many
needs no correction. It assumes that clean units are independent; turns of one dialogue nearly are.
Source: Platt 1999; Clopper and Pearson 1934; Angelopoulos et al. 2021, "Learn then Test", fixed sequence.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from dialint.detector.calibration import Contract, NaturalThreshold, Scan
from dialint.detector.records import Example
from dialint.detector.statistics import Bools, Floats, clopper_pearson_upper
from dialint.eval.results import source_of

MIN_PROBABILITY = 0.5
"""Lowest probability of a finding, whatever the rate would allow."""

MIN_ERRORS = 8
"""Least number of errors in real dialogues for a curve fitted to them."""
MIN_FLAGGED = 6
"""Least number of flagged turns for a threshold by their precision."""

ROUNDS = 100
"""Steps of the fit of a curve, at most."""

GRID = np.arange(20.0, -20.0, -0.05)
"""Raw scores that may become a threshold, strictest first; fixed before any data are read."""


def fit_contract(
    truth: Floats | Bools,
    scores: Floats,
    per_100: float,
    confidence: float = 0.9,
    per: Literal["turn", "dialogue"] = "turn",
) -> Scan:
    """Fits calibration and contract of one code to its scores on a labelled split, shape (n,).

    `truth` is 0 or 1, or the probability of an error: the curve is then fitted to that probability,
    and for the contract an error is a probability above one half. `per_100` is the highest rate of false
    accusations on 100 clean units. Where no threshold keeps it, the contract is None: the code may not be
    flagged, only suggested.
    """
    slope, offset = fit_platt(truth, scores)
    truth = truth > 0.5
    chosen = find_threshold(truth, scores, per_100, confidence)
    even = (np.log(MIN_PROBABILITY / (1 - MIN_PROBABILITY)) - offset) / slope
    chosen = None if chosen is None else max(chosen, float(even))
    if chosen is None or not (scores[truth] >= chosen).any():
        return Scan(slope=slope, offset=offset, contract=None)
    promise = Contract(
        threshold=float(1.0 / (1.0 + np.exp(-(slope * chosen + offset)))),
        false_accusations_per_100=per_100,
        confidence=confidence,
        recall=float(np.mean(scores[truth] >= chosen)),
        n_errors=int(truth.sum()),
        n_clean=int((~truth).sum()),
        per=per,
    )
    return Scan(slope=slope, offset=offset, contract=promise)


def fit_natural_curve(scan: Scan | None, truth: Floats, scores: Floats) -> Scan:
    """Refits the curve of one code's scan to labelled turns of real dialogues, shape (n,).

    `truth` is the probability of an error; uncertain turns (over 0.1, under 0.9) are left out. The contract
    of `scan`, fitted on injected errors, keeps its score. With fewer errors than `MIN_ERRORS` nothing
    changes.

    Raises:
        ValueError: there is no scan, and too few errors to fit one.
    """
    decided = _is_decided(truth)
    is_error, scores = truth[decided] > 0.5, scores[decided]
    if int(is_error.sum()) < MIN_ERRORS:
        if scan is None:
            raise ValueError("too few errors")
        return scan
    slope, offset = fit_platt(is_error, scores)
    if scan is None:
        return Scan(slope=slope, offset=offset, contract=None)
    contract = scan.contract
    if contract is not None:
        limit = math.log(contract.threshold / (1 - contract.threshold))
        score = (limit - scan.offset) / scan.slope
        threshold = max(float(1.0 / (1.0 + np.exp(-(slope * score + offset)))), MIN_PROBABILITY)
        contract = contract.model_copy(update={"threshold": threshold})
    return scan.model_copy(update={"slope": slope, "offset": offset, "contract": contract})


def choose_natural_thresholds(
    scan: Scan,
    truth: Floats,
    scores: Floats,
    precision: float,
    suggested: float,
    corpora: Sequence[str],
) -> Scan:
    """Sets the scan's thresholds by labelled turns of real dialogues, shape (n,), as of `fit_natural_curve`.

    A finding needs a score from which on `precision` of the turns are errors, a suggestion one with
    `suggested` among the other turns, each in every corpus (`find_precise_threshold`); no finding has a
    probability under `MIN_PROBABILITY`. `corpora` is the corpus of each turn, as "corpus" or "corpus/part".
    Where there are several, findings must be supported by two, as one says nothing of another log.

    Where no threshold is precise enough the code makes no findings, unless its contract flags so few turns
    that their precision is unknown (`MIN_FLAGGED`). With fewer errors than `MIN_ERRORS` nothing changes.
    """
    decided = _is_decided(truth)
    is_error, scores = truth[decided] > 0.5, scores[decided]
    if int(is_error.sum()) < MIN_ERRORS:
        return scan
    corpora = np.asarray(corpora)[decided].tolist()
    natural, contract = None, scan.contract
    chosen = find_precise_threshold(is_error, scores, precision, corpora)
    if chosen is not None:
        chosen = max(chosen, (math.log(MIN_PROBABILITY / (1 - MIN_PROBABILITY)) - scan.offset) / scan.slope)
        flagged = scores >= chosen
        seen = Counter(corpus.partition("/")[0] for corpus in np.asarray(corpora)[flagged].tolist())
        n_corpora = len({corpus.partition("/")[0] for corpus in corpora})
        if sum(n >= MIN_FLAGGED for n in seen.values()) < min(2, n_corpora):
            chosen = None
    if chosen is None and contract is not None:
        passing = sum(scan.probability(score) >= contract.threshold for score in scores)
        contract = contract if passing < MIN_FLAGGED else None
    if chosen is not None:
        natural = NaturalThreshold(
            threshold=scan.probability(chosen),
            flagged=int(flagged.sum()),
            right=int((flagged & is_error).sum()),
            n_errors=int(is_error.sum()),
            n_turns=len(is_error),
        )
    below = scores if chosen is None else np.where(scores >= chosen, -np.inf, scores)
    lower = find_precise_threshold(is_error, below, suggested, corpora)
    return scan.model_copy(
        update={
            "contract": contract,
            "natural": natural,
            "suggest_at": None if lower is None else scan.probability(lower),
        }
    )


def _is_decided(truth: Floats) -> Bools:
    """Returns the mask of turns with a certain label."""
    decided: Bools = (truth <= 0.1) | (truth >= 0.9)
    return decided


def find_precise_threshold(
    truth: Bools, scores: Floats, precision: float, corpora: Sequence[str]
) -> float | None:
    """Returns the lowest score of the grid at which `MIN_FLAGGED` turns or more are flagged and their share
    of errors, smoothed as (right + 1) / (flagged + 2), is at least `precision`: of all turns, of each corpus
    with `MIN_FLAGGED` flagged turns, and of the other corpora together, if they have so many. None without
    one."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    names, corpus = np.unique(np.asarray(corpora), return_inverse=True)
    member = np.eye(len(names), dtype=int)[corpus[order]]  # (turns, corpora)
    flagged_so_far = member.cumsum(axis=0)
    right_so_far = (member * truth[order][:, None]).cumsum(axis=0)
    chosen = None
    for score in GRID:
        n_flagged = int(np.searchsorted(-ranked, -score, side="right"))
        if n_flagged < MIN_FLAGGED:
            continue
        flagged, right = flagged_so_far[n_flagged - 1], right_so_far[n_flagged - 1]
        small = flagged < MIN_FLAGGED
        flagged = np.array([n_flagged, *flagged[~small], flagged[small].sum()])
        right = np.array([right.sum(), *right[~small], right[small].sum()])
        if ((right + 1) / (flagged + 2) >= precision)[flagged >= MIN_FLAGGED].all():
            chosen = float(score)
    return chosen


def with_recall(scan: Scan, truth: Floats | Bools, scores: Floats) -> Scan:
    """Measures the contract's recall anew at the scan's threshold, which labelled turns of real dialogues may
    have raised: `truth` and `scores` of the set that the contract was fitted on, shape (n,)."""
    errors = scores[truth > 0.5]
    if scan.contract is None or scan.threshold is None or not len(errors):
        return scan
    threshold = scan.threshold
    recall = float(np.mean([scan.probability(score) >= threshold for score in errors.tolist()]))
    contract = scan.contract.model_copy(update={"recall": recall, "n_errors": len(errors)})
    return scan.model_copy(update={"contract": contract})


def distinct_units(
    scores: Sequence[Mapping[int, float]], examples: Sequence[Example], code: str, *, whole_dialogue: bool
) -> tuple[Floats, Floats, list[str]]:
    """Returns probability of an error, score and corpus of each distinct unit, shape (n,), from each
    example's scores by turn. The corpus is the `source` in the dialogue's metadata, else empty.

    A set has several copies of a clean turn, in twins and rounds: they count once, with the highest score, or
    the units of the bound would not be independent.
    """
    seen: dict[tuple[object, ...], tuple[float, str]] = {}
    for index, (turns, example) in enumerate(zip(scores, examples, strict=True)):
        if code in example.unlabelled:
            continue
        labelled = {label.turn: label.probability for label in example.labels if label.code == code}
        corpus = str(example.dialogue.metadata.get("source", ""))
        text = {turn.index: turn.text for turn in example.dialogue.turns}
        units = [(labelled.get(turn, 0.0), text[turn], score) for turn, score in turns.items()]
        if whole_dialogue:
            units = [(max(labelled.values(), default=0.0), "", max(turns.values()))] if turns else []
        for error, words, score in units:
            key = (error, index if error else source_of(example), words)
            seen[key] = max(score, seen.get(key, (score, ""))[0]), corpus
    scored = np.array([score for score, _ in seen.values()])
    return np.array([key[0] for key in seen], float), scored, [corpus for _, corpus in seen.values()]


def fit_platt(truth: Floats | Bools, scores: Floats) -> tuple[float, float]:
    """Fits slope and offset of a logistic curve by maximum likelihood, with Platt's smoothed targets; where
    truth is a probability, they are mixed in that proportion. Newton's method in bounded steps, halved where
    they overshoot: with scores of few values it would oscillate."""
    positives = float(truth.sum())
    negatives = len(truth) - positives
    target = truth * (positives + 1.0) / (positives + 2.0) + (1 - truth) / (negatives + 2.0)
    design = np.column_stack((scores.astype(float), np.ones(len(scores))))

    def loss(weights: Floats) -> float:
        z = np.clip(design @ weights, -60, 60)
        return float(np.sum(np.logaddexp(0.0, z) - target * z))

    weights: Floats = np.array([1.0, 0.0])
    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -60, 60)))
        gradient = design.T @ (p - target)
        curvature = (design * (p * (1 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        step = step * min(1.0, 5.0 / (np.abs(step).max() + 1e-12))
        before = loss(weights)
        for _ in range(30):
            if loss(weights - step) <= before + 1e-9 * abs(before):
                break
            step = step / 2
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return max(float(weights[0]), 1e-6), float(weights[1])


def find_threshold(truth: Bools, scores: Floats, per_100: float, confidence: float) -> float | None:
    """Returns the lowest score of the grid that keeps the rate, or None."""
    clean = np.sort(scores[~truth])
    if not len(clean):
        return None
    n, limit = len(clean), per_100 / 100.0
    allowed = bisect_right(range(n + 1), limit, key=lambda k: clopper_pearson_upper(k, n, confidence)) - 1
    chosen = None
    for score in GRID:
        if n - int(np.searchsorted(clean, score, side="left")) > allowed:
            break
        chosen = float(score)
    return chosen
