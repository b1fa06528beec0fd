"""Compares the verdicts of one period with those of another, and monitors the findings that people overturn.

For each measure (probabilities, length, language, channel, mix of codes, overturned findings): the population
stability index (PSI) and, of numbers, the Wasserstein distance between the means of `N_BINS` quantile bins.
Their null distribution is that of permuting whole dialogues between the two periods (the bootstrap makes PSI
too large, as it can't be negative). Corrected for all tests of a run (Holm), dialogues without any change
raise an alarm in at most `level` of the runs. A campaign or a season is a change, too.

The audit is monitored by a CUSUM for Bernoulli trials, one a dialogue: the share of its findings that were
overturned. It detects doubled odds. Its in-control rate is the upper 90 % limit of the reference's, so that
the stated run length holds for nine in ten references; its limit is the least one that has that run length.

Source: Yurdakul and Naranjo 2020 (PSI); Westfall and Young 1993, chapter 2 (permutation), Holm 1979;
Reynolds and Stoumbos 1999 (Bernoulli CUSUM), Brook and Evans 1972 (run length), Gandy and Kvaloy 2013
(guaranteed for an estimated rate).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialint.detector.records import Verdict
from dialint.detector.statistics import MAX_CELLS, ROUNDS, clopper_pearson_upper

Array = NDArray[np.float64]
Decisions = Callable[[str, int, str], bool | None]
"""Returns whether people overturned the finding of a dialogue, turn and code; None if nobody decided."""

NUMBERS = ("stated probability", "highest probability", "agent turns")
"""The first is of findings and suggestions, the second the highest of a dialogue in `--all-probabilities`."""
OVERTURNED = "overturned"
N_BINS = 20
MIN_DIALOGUES = 20
"""A period of fewer is not compared, and a reference with fewer audited dialogues starts no CUSUM."""


class Item(NamedTuple):
    """A dialogue: its start, the values of each measure, and the share of its audited findings that were
    overturned, None if none was audited."""

    name: str
    started_at: datetime | None
    values: Mapping[str, Sequence[str | float]]
    overturned: float | None


def read_item(verdict: Verdict, decisions: Decisions) -> Item:
    """Extracts the measures of a verdict. It has languages only of the turns that were not judged."""
    values: dict[str, Sequence[str | float]] = {"status": (verdict.failure or verdict.status,)}
    if verdict.channel is not None:
        values["channel"] = (verdict.channel,)
    answers = (decisions(verdict.dialogue_id, each.turn, each.code) for each in verdict.findings)
    decided = [answer for answer in answers if answer is not None]
    if verdict.status != "failed":
        gaps = Counter({gap.language: len(gap.turns) for gap in verdict.not_judged if gap.codes})
        values["language not judged"] = tuple(gaps) or ("none",)
        values["codes"] = tuple({each.code for each in verdict.findings}) or ("none",)
        reported = (*verdict.findings, *verdict.suggestions)
        values["stated probability"] = tuple(each.probability for each in reported)
        if verdict.agent_turns is not None:
            values["agent turns"] = (verdict.agent_turns,)
        if verdict.probabilities is not None:
            highest = (max(codes.values(), default=0.0) for codes in verdict.probabilities.values())
            values["highest probability"] = (max(highest, default=0.0),)
        values[OVERTURNED] = tuple("yes" if each else "no" for each in decided)
    share = sum(decided) / len(decided) if decided else None
    return Item(verdict.dialogue_id, verdict.started_at, values, share)


@dataclass(frozen=True)
class Measure:
    """A measure in the reference and in another period, with the number of its values. The `_by_chance` are
    the 95 % quantiles of PSI and distance without a change; `p_value` is the smaller one of both, corrected
    for all tests of the run. `state` is "drift" if that is within the level, but "small" if the PSI is below
    the least one. `bins` are names with the share before and after."""

    name: str
    before: int
    after: int
    psi: float
    psi_by_chance: float
    wasserstein: float | None
    wasserstein_by_chance: float | None
    p_value: float
    state: Literal["drift", "small", "no"]
    bins: tuple[tuple[str, float, float], ...]


class _Columns(NamedTuple):
    name: str
    start: int
    end: int
    labels: tuple[str, ...]
    support: Array | None


def compare_periods(
    periods: Sequence[Sequence[Item]], *, level: float, least: float, seed: int = 0
) -> list[list[Measure]]:
    """Compares each period with the first. A PSI below `least` is no drift, however significant."""
    tables = [_count_bins(periods[0], period) for period in periods[1:]]
    n_tests = sum(1 + (each.support is not None) for columns, _ in tables for each in columns)
    rounds = max(ROUNDS, math.ceil(2 * n_tests / level))
    rng = np.random.default_rng(seed)
    results = []
    for columns, counts in tables:
        n_after, total = len(counts) - len(periods[0]), counts.sum(axis=0)
        seen = counts[-n_after:].sum(axis=0, keepdims=True)
        after = np.concatenate((seen, *_permuted_sums(counts, n_after, rounds, rng)))
        rows = []
        for each in columns:
            old, new = (part[:, each.start : each.end] for part in (total - after, after))
            statistics = [compute_psi(old, new)]
            if each.support is not None:
                statistics.append(compute_wasserstein(old, new, each.support))
            rows.append((each, statistics))
        results.append(rows)
    p_values = [
        np.mean(~(values < values[0] - 1e-12))  # a draw without values counts as extreme
        for rows in results
        for _, statistics in rows
        for values in statistics
    ]
    adjusted, n_before = iter(_holm(p_values)), len(periods[0])
    compared = []
    for (_, counts), rows in zip(tables, results, strict=True):
        measures = []
        for column, statistics in rows:
            p_value = float(min(next(adjusted) for _ in statistics))
            own = counts[:, column.start : column.end]
            before, after = own[:n_before].sum(axis=0), own[n_before:].sum(axis=0)
            shares = zip(column.labels, before / before.sum(), after / after.sum(), strict=True)
            psi, *distance = [(float(each[0]), float(np.nanquantile(each, 0.95))) for each in statistics]
            measures.append(
                Measure(
                    column.name, int(before.sum()), int(after.sum()), *psi,
                    distance[0][0] if distance else None, distance[0][1] if distance else None,
                    p_value, "no" if p_value > level else "drift" if psi[0] >= least else "small",
                    tuple((name, float(old), float(new)) for name, old, new in shares),
                )
            )  # fmt: skip
        compared.append(measures)
    return compared


def _count_bins(before: Sequence[Item], after: Sequence[Item]) -> tuple[list[_Columns], Array]:
    """Returns the bins of each measure that both periods have, and the counts of values, shape (dialogues,
    bins)."""
    items = (*before, *after)
    columns: list[_Columns] = []
    parts: list[Array] = []
    start = 0
    for name in dict.fromkeys(name for item in items for name in item.values):
        owners = np.array([row for row, item in enumerate(items) for _ in item.values.get(name, ())], int)
        values = [value for item in items for value in item.values.get(name, ())]
        if not owners.size or owners[0] >= len(before) or owners[-1] < len(before):
            continue
        bins, labels, support = _cut(values) if name in NUMBERS else _sort(values)
        if len(labels) < 2:
            continue
        part = np.zeros((len(items), len(labels)))
        np.add.at(part, (owners, bins), 1)
        columns.append(_Columns(name, start, start + len(labels), labels, support))
        parts.append(part)
        start += len(labels)
    return columns, np.concatenate((np.zeros((len(items), 0)), *parts), axis=1)


def _cut(values: Sequence[str | float]) -> tuple[NDArray[np.int64], tuple[str, ...], Array]:
    """Assigns numbers to quantile bins of both periods together, as a permutation must not move them."""
    numbers = np.array(values, float)
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, N_BINS + 1)[1:-1], method="lower"))
    bins = np.unique(np.searchsorted(edges, numbers, side="right"), return_inverse=True)[1]
    ranges = [numbers[bins == each] for each in range(bins.max() + 1)]
    labels = tuple(f"{each.min():g}" + (f" to {each.max():g}" if np.ptp(each) else "") for each in ranges)
    return bins, labels, np.array([each.mean() for each in ranges])


def _sort(values: Sequence[str | float]) -> tuple[NDArray[np.int64], tuple[str, ...], None]:
    """Assigns words to bins: one for each of the most frequent, and one for all others."""
    frequent = [str(word) for word, _ in Counter(values).most_common(N_BINS)]
    place = {word: number for number, word in enumerate(frequent)}
    bins = np.array([place.get(str(word), N_BINS) for word in values], int)
    return bins, (*frequent, "others") if bins.max() == N_BINS else tuple(frequent), None


def compute_psi(before: Array, after: Array) -> Array:
    """Computes the population stability index of counts of shape (rounds, bins), with 0.5 added to each
    bin."""
    old, new = ((each + 0.5) / (each + 0.5).sum(axis=1, keepdims=True) for each in (before, after))
    return np.asarray(((new - old) * np.log(new / old)).sum(axis=1))


def compute_wasserstein(before: Array, after: Array, support: Array) -> Array:
    """Computes the first Wasserstein distance of counts of shape (rounds, bins) at `support`, ascending; NaN
    without values."""
    with np.errstate(invalid="ignore"):
        old, new = (each.cumsum(axis=1) / each.sum(axis=1, keepdims=True) for each in (before, after))
    return np.asarray(np.abs(new - old)[:, :-1] @ np.diff(support))


def _permuted_sums(counts: Array, n_after: int, rounds: int, rng: np.random.Generator) -> Iterator[Array]:
    labels = np.arange(len(counts)) < n_after
    step = max(1, MAX_CELLS // len(counts))
    for start in range(0, rounds, step):
        yield rng.permuted(np.tile(labels, (min(step, rounds - start), 1)), axis=1) @ counts


def _holm(p_values: Sequence[float]) -> Array:
    values = np.array(p_values)
    order = np.argsort(values)
    adjusted = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)).clip(max=1.0)
    return np.asarray(adjusted[np.argsort(order)])


@dataclass(frozen=True)
class Cusum:
    """The control chart of the audit. `rate` is the in-control share of overturned findings, `doubled` that
    of doubled odds, detected after `noticed_after` dialogues on average. Each dialogue adds its share to a
    sum and subtracts `step`, down to 0; the dialogue at which it passes its `limit`, both in hundredths, is
    the `signal`; `since` is the first one after the sum was 0."""

    reference: int
    watched: int
    observed: float
    rate: float
    doubled: float
    run_length: float
    noticed_after: float
    limit: int
    step: int
    signal: str | None
    since: str | None


def run_cusum(periods: Sequence[Sequence[Item]], run_length: float) -> Cusum | None:
    """Runs the CUSUM over the audited dialogues after the first period, in time order; None if either part
    has too few. In control it raises at most one false alarm in `run_length` dialogues, on average."""
    reference = [item.overturned for item in periods[0] if item.overturned is not None]
    watched = [item for period in periods[1:] for item in period if item.overturned is not None]
    if len(reference) < MIN_DIALOGUES or not watched:
        return None
    observed = sum(reference) / len(reference)
    upper = clopper_pearson_upper(math.ceil(sum(reference) - 1e-9), len(reference), 0.9)
    rate = min(max(upper, 0.02), 0.95)
    odds = 2 * rate / (1 - rate)
    doubled = odds / (1 + odds)
    step = round(100 * math.log((1 - rate) / (1 - doubled)) / math.log(2))
    highest = 100
    while compute_run_length(rate, step, highest) < run_length:
        highest *= 2
    limit = bisect_left(range(highest), run_length, key=lambda each: compute_run_length(rate, step, each))
    total, since, signal = 0.0, None, None
    for item in watched:
        assert item.overturned is not None
        total = max(0.0, total + 100 * item.overturned - step)
        since = (since or item.name) if total else None
        if total > limit:
            signal = item.name
            break
    return Cusum(
        len(reference), len(watched), observed, rate, doubled, compute_run_length(rate, step, limit),
        compute_run_length(doubled, step, limit), limit, step, signal, since if signal else None,
    )  # fmt: skip


def compute_run_length(rate: float, step: int, limit: int) -> float:
    """Computes the mean number of trials until the CUSUM, from 0, is over `limit`, by an exact Markov chain:
    a trial adds 100 - `step` with probability `rate`, and subtracts `step` otherwise."""
    states = np.arange(limit + 1)
    moves = np.eye(limit + 1)
    np.add.at(moves, (states, np.maximum(0, states - step)), rate - 1)
    up = states[: max(0, limit + 1 - (100 - step))]
    moves[up, up + 100 - step] -= rate
    return float(np.linalg.solve(moves, np.ones(limit + 1))[0])
