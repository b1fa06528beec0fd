"""The reviewed score of many dialogues: people's decisions where there are any, and for the rest an estimate
by a random sample of them that people read.

The mean of unread dialogues is the model's own plus the mean difference in the sample (prediction-powered;
the unit is the dialogue), apart for dialogues with and without a finding, as audits may sample only the
latter. Only tasks with an inclusion probability are a sample: a dialogue read for another reason, such as an
appeal, represents only itself, even if it was sampled as well. Where the sample is too small, there is no
score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from dialint.detector.records import Record
from dialint.detector.statistics import Z_95, Estimate, betting_interval

WIDEST = 20.0
"""Widest 95 % interval of a score, in points."""
LEAST_RATED = 10
"""Least number of rated dialogues of a correlation."""


class ScoredDialogues(NamedTuple):
    """`n` dialogues that are alike: quality by the `model` and by people (`reviewed`), of which one at least
    is there, whether the model has a finding (`flagged`), the customer's `rating` or the reward in the log,
    and the inclusion `probability` with which they were sampled and read, None if they were not."""

    n: int
    model: float | None
    reviewed: float | None
    flagged: bool
    rating: float | None = None
    probability: float | None = None

    @property
    def is_sampled(self) -> bool:
        """True if they represent others: a difference between people and model was measured on them."""
        return self.probability is not None and self.model is not None and self.reviewed is not None


class DialogueScore(Record):
    """The scores of one dialogue, as `dialint export scores` writes them; the fields are those of
    `ScoredDialogues`."""

    dialogue_id: str
    at: datetime
    agent: str | None = None
    team: str | None = None
    channel: str | None = None
    model: float | None = None
    reviewed: float | None = None
    flagged: bool = False
    rating: float | None = None
    probability: Annotated[float, Field(gt=0, le=1)] | None = None

    @property
    def scored(self) -> ScoredDialogues:
        """As a row of `estimate_score`."""
        return ScoredDialogues(1, *(getattr(self, name) for name in ScoredDialogues._fields[1:]))


class Part(NamedTuple):
    """`n` dialogues with their mean scores; None where there is none. The model's is of the `n_judged`
    that it judged as a whole. Of unread ones `reviewed` is an estimate."""

    n: int = 0
    model: float | None = None
    reviewed: float | None = None
    n_judged: int = 0


@dataclass(frozen=True)
class ReviewedScore:
    """The mean reviewed score of `n` dialogues, the 95 % interval from `low` to `high`; all None where there
    is not enough evidence. `decided` and `sampled` are those that people read, on their own account and as a
    random sample, `unread` the others. `model` is the mean quality by the model, `rating` the mean rating of
    `n_rated`, and `correlation` that of their ratings with their scores, Spearman's, None where it is not
    defined or fewer than `LEAST_RATED`."""

    n: int
    value: float | None
    low: float | None
    high: float | None
    model: float | None
    decided: Part
    sampled: Part
    unread: Part
    n_rated: int
    rating: float | None
    correlation: Estimate | None

    @property
    def n_read(self) -> int:
        """Number of dialogues that people have read."""
        return self.decided.n + self.sampled.n


def estimate_score(rows: Iterable[ScoredDialogues]) -> ReviewedScore:
    """Return the reviewed score of dialogues.

    Exact where people have decided everything. Else the interval is a betting interval of the mean
    difference, which holds for any sample, less what is read already (finite population), and of flagged and
    other dialogues together by their distances from the estimate (MOVER), which is an approximation.
    Source: Angelopoulos et al., Prediction-powered inference (2023); Newcombe 1998 for the sum.
    """
    rows = [row for row in rows if row.n]
    n, total, below, above = sum(row.n for row in rows), 0.0, 0.0, 0.0
    for flagged in (False, True):
        stratum = [row for row in rows if row.flagged == flagged]
        unread = [row for row in stratum if row.reviewed is None]
        total += sum(row.n * row.reviewed for row in stratum if row.reviewed is not None)
        if unread:
            n_unread = sum(row.n for row in unread)
            sampled = [row for row in stratum if row.is_sampled]
            mean, low, high = _estimate_unread(unread, sampled)
            n_sampled = sum(row.n for row in sampled)
            scale = n_unread / math.sqrt(1 - n_sampled / (n_unread + n_sampled))
            total += n_unread * mean
            below = math.hypot(below, scale * (mean - low))
            above = math.hypot(above, scale * (high - mean))
    value = total / n if n else 0.0
    low, high = (max(0.0, value - below / n), min(100.0, value + above / n)) if n else (0.0, 100.0)
    is_estimated = n > 0 and high - low <= WIDEST
    read = [row for row in rows if row.reviewed is not None]
    rest = _mean_part([row for row in rows if row.reviewed is None])
    sum_reviewed = sum(row.n * (row.reviewed or 0.0) for row in read)
    if is_estimated and rest.n:
        rest = rest._replace(reviewed=(total - sum_reviewed) / rest.n)
    figures: tuple[float | None, float | None, float | None] = (value, low, high)
    figures = figures if is_estimated else (None, None, None)
    decided, sample = (_mean_part([row for row in read if row.is_sampled == of]) for of in (False, True))
    return ReviewedScore(n, *figures, _mean_part(rows).model, decided, sample, rest, *_compare_ratings(rows))


def _estimate_unread(
    unread: Sequence[ScoredDialogues], sampled: Sequence[ScoredDialogues]
) -> tuple[float, float, float]:
    """The mean score of unread dialogues, with its interval, without the correction for a finite population;
    without a sample the model's mean, and all from 0 to 100."""
    models = np.asarray([row.model for row in (*unread, *sampled)], float)
    counts = [row.n for row in sampled]
    model = float(np.average(models[: len(unread)], weights=[row.n for row in unread]))
    if not sampled:
        return model, 0.0, 100.0
    reviewed = np.asarray([row.reviewed for row in sampled], float)
    differences = np.repeat(reviewed - models[len(unread) :], counts)
    weights = np.repeat([1 / (row.probability or 1.0) for row in sampled], counts)
    limits = float(-models.max()), float(100 - models.min())
    mean = float(np.average(differences, weights=weights))
    low, high = betting_interval(differences, limits, weights)
    return model + mean, model + min(low, mean), model + max(high, mean)


def _mean_part(rows: Sequence[ScoredDialogues]) -> Part:
    def mean(name: str) -> float | None:
        values = [(row.n, getattr(row, name)) for row in rows if getattr(row, name) is not None]
        return sum(n * value for n, value in values) / sum(n for n, _ in values) if values else None

    n_judged = sum(row.n for row in rows if row.model is not None)
    return Part(sum(row.n for row in rows), mean("model"), mean("reviewed"), n_judged)


def _compare_ratings(rows: Sequence[ScoredDialogues]) -> tuple[int, float | None, Estimate | None]:
    """Returns the number of rated dialogues, the mean rating, and its rank correlation with the scores, with
    the interval of Bonett and Wright, Psychometrika 65 (2000)."""
    rated = [row for row in rows if row.rating is not None]
    counts = [row.n for row in rated]
    n = sum(counts)
    if not n:
        return 0, None, None
    ratings = np.repeat(np.asarray([row.rating for row in rated], float), counts)
    scores = np.repeat([row.model if row.reviewed is None else row.reviewed for row in rated], counts)
    mean = float(ratings.mean())
    if n < LEAST_RATED or np.ptp(ratings) == 0 or np.ptp(scores) == 0:
        return n, mean, None
    from scipy.stats import spearmanr

    value = float(spearmanr(scores, ratings).statistic)
    middle = math.atanh(min(max(value, -1 + 1e-9), 1 - 1e-9))
    half = Z_95 * math.sqrt((1 + value**2 / 2) / (n - 3))
    return n, mean, Estimate(value, math.tanh(middle - half), math.tanh(middle + half), n)
