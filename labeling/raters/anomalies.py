"""Anomaly flags of a crowd, from its answers only: reasons to review the work of a person or of a group.

A flag is a suspicion and not a proof, and is worded so: it leads to a control task or a conversation, and a
person decides. The flag "second school" is about the instructions, not about its workers.

Response times: an answer faster than its words can be read needs no comparison. For the others the logarithm
of the seconds is regressed on the length of the item. A *fast* answer is below the
0.1 % quantile by the robust spread of honest people: between people (their medians) and within one person,
both by median absolute deviations, so that up to half of the crowd may cheat. People have heavier tails than
a normal distribution, so a labeler is tested against one fast answer in a hundred, by a binomial tail: few
answers are flagged only if nearly all are fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialint.detector.statistics import adjust_p_values
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.collusion import ColludingGroup, combine_fits, compare_pairs, find_groups
from dialint.labeling.raters.competence import Competence, LeaveOneOut, estimate_competence, leave_one_out
from dialint.labeling.raters.estimates import binomial_tail

WORDS_PER_MINUTE = 1000.0
"""Four times what adults read on average (238 words of prose: Brysbaert, J. Mem. Lang. 109, 2019)."""

FENCE = 3.09
"""One in a thousand of a normal curve, in standard deviations."""
FAST_SHARE = 0.01
"""Share of fast answers that is expected of an honest person."""
MAD_SCALE = 1.4826
"""From a median absolute deviation to a standard deviation of a normal curve."""
MIN_ANSWERS = 5
"""Least timed answers of a labeler whose median is used to estimate the distribution of honest people."""
MIN_LABELERS = 5
BINS = 20
CHARACTERS_PER_WORD = 6.0
"""Including the blank after the word; too many for scripts that write more in fewer characters."""
UNREAD_SHARE = 0.1
"""Share of the answers that honest people may give without reading all: the turn alone was enough."""
MIN_SPREAD = 0.3
"""Lower bound, in log seconds, of the spread between people and of that within a person: in a small crowd of
equals the fastest reader would be flagged otherwise."""


@dataclass(frozen=True)
class ResponseTimes:
    """Figures of each worker, shape (workers,): the number `n` of timed answers and of `fast` ones, `median`
    seconds (NaN without any) and the `p_value` of so many fast ones, 1 where too few people are timed to
    compare with. `slope` is the exponent with which seconds grow with the length. `unread` counts the answers
    faster than reading; `unread_p_value` is the probability of so many if one in ten may be, without any
    comparison."""

    n: Floats
    fast: Floats
    median: Floats
    p_value: Floats
    slope: float
    unread: Floats
    unread_p_value: Floats


def measure_response_times(
    answers: Answers, sizes: Floats | None = None, to_read: Floats | None = None
) -> ResponseTimes:
    """Measure the response times of each worker. `sizes`, shape (tasks,), is the number of characters to
    read, `to_read`, shape (answers,), that of those which the worker had not read before; by default all.

    Answers without seconds, or with 0 seconds, do not count.
    """
    n_workers = len(answers.workers)
    seconds = np.full(len(answers), np.nan) if answers.seconds is None else answers.seconds
    timed = np.flatnonzero(seconds > 0)
    worker, logs = answers.worker[timed], np.log(seconds[timed])
    n = np.bincount(worker, minlength=n_workers).astype(float)
    median = np.exp(_medians(logs, worker, n_workers))
    slope = 0.0
    if sizes is not None:
        length = np.log(np.maximum(sizes[answers.task[timed]], 1.0))
        slope = _slope(logs, length, worker, n_workers)
        logs = logs - slope * length
    fence = _fence(logs, worker, n)
    fast = np.bincount(worker[logs < fence], minlength=n_workers).astype(float)
    if to_read is None and sizes is not None:
        to_read = sizes[answers.task]
    unread = np.zeros(n_workers)
    if to_read is not None:
        floor = 60.0 * to_read[timed] / (CHARACTERS_PER_WORD * WORDS_PER_MINUTE)
        unread = np.bincount(worker[seconds[timed] < floor], minlength=n_workers).astype(float)
    p_value, unread_p_value = (
        np.where(k > 0, binomial_tail(np.maximum(k, 1.0), n, share), 1.0)
        for k, share in ((fast, FAST_SHARE), (unread, UNREAD_SHARE))
    )
    return ResponseTimes(n, fast, median, p_value, slope, unread, unread_p_value)


def _fence(logs: Floats, worker: NDArray[np.int32], n: Floats) -> float:
    """The log seconds below which an answer is fast, minus infinity with too few labelers."""
    usual = n >= MIN_ANSWERS
    if usual.sum() < MIN_LABELERS:
        return -np.inf
    medians = _medians(logs, worker, len(n))
    within = MAD_SCALE * _medians(np.abs(logs - medians[worker]), worker, len(n))
    centre = float(np.median(medians[usual]))
    between = MAD_SCALE * float(np.median(np.abs(medians[usual] - centre)))
    spreads = max(MIN_SPREAD, between), max(MIN_SPREAD, float(np.median(within[usual])))
    return centre - FENCE * float(np.hypot(*spreads))


def _medians(values: Floats, worker: NDArray[np.int32], n_workers: int) -> Floats:
    """The median of each worker's values, shape (workers,), NaN without any."""
    order = np.lexsort((values, worker))
    counts = np.bincount(worker, minlength=n_workers)
    ends = np.cumsum(counts)
    medians, some = np.full(n_workers, np.nan), counts > 0
    middle = (ends - counts + (counts - 1) // 2)[some], (ends - counts + counts // 2)[some]
    medians[some] = (values[order[middle[0]]] + values[order[middle[1]]]) / 2
    return medians


def _slope(logs: Floats, length: Floats, worker: NDArray[np.int32], n_workers: int) -> float:
    """The exponent of the length, 0 to 1: a line through the medians of bins of similar length, each answer
    relative to the median of its worker."""
    if len(logs) < 2 * BINS or float(np.ptp(length)) < 1e-9:
        return 0.0
    own = logs - _medians(logs, worker, n_workers)[worker]
    parts = np.array_split(np.argsort(length, kind="stable"), BINS)
    x = np.array([np.median(length[part]) for part in parts])
    y = np.array([np.median(own[part]) for part in parts])
    x -= x.mean()
    return float(np.clip((x @ y) / max(float(x @ x), 1e-12), 0.0, 1.0))


SURE = 0.95
"""Probability of no knowledge from which a flag is raised."""
FALSE_DISCOVERY_RATE = 0.01
"""Of the flags of each other kind: for speed, copying and contrary answers."""
Kind = Literal["no knowledge", "one answer", "contrary", "too fast", "unread", "copying", "second school"]


@dataclass(frozen=True)
class Flag:
    """A suspicion against `workers`: one, or a group that agrees on wrong answers.

    `p_value` is the probability of such evidence among honest people, before the correction for multiple
    tests; none where `probability` (of the suspicion, 0 to 1) takes its place. `n` is the number of answers
    that the evidence is from; `why` is a sentence with the figures and no text of a dialogue.
    """

    kind: Kind
    workers: tuple[str, ...]
    n: int
    why: str
    p_value: float | None = None
    probability: float | None = None

    @property
    def personal(self) -> bool:
        """True if it is about its workers; a second school is about the instructions."""
        return self.kind != "second school"


@dataclass(frozen=True)
class CrowdAnomalies:
    """The figures of all `workers`, by index; `others` are the leave-one-out posteriors of each code; `flags`
    are in the order of the kinds of evidence."""

    workers: tuple[str, ...]
    others: dict[str, LeaveOneOut]
    competence: Competence
    response_times: ResponseTimes
    groups: tuple[ColludingGroup, ...]
    flags: tuple[Flag, ...]


def find_anomalies(
    codes: Mapping[str, Answers],
    timed: Answers | None = None,
    sizes: Floats | None = None,
    to_read: Floats | None = None,
) -> CrowdAnomalies:
    """Compute the figures and flags of every worker. `codes` share their workers; each code is a question of
    its own. `timed` has the seconds if they are not those of single answers to a code; `sizes`, shape (tasks
    of `timed`,), and `to_read` are those of `measure_response_times`.

    Raises:
        ValueError: there are no answers.
    """
    fits = {
        code: (leave_one_out(answers, "heterogeneous"), leave_one_out(answers, "homogeneous"))
        for code, answers in codes.items()
        if len(answers)
    }
    if not fits:
        raise ValueError("nobody answered anything")
    best = {code: max(both, key=lambda fit: fit.log_likelihood) for code, both in fits.items()}
    parts = list(best.values())
    workers = parts[0].answers.workers
    competence = estimate_competence(parts)
    response_times = measure_response_times(
        timed if timed is not None else _join_answers([part.answers for part in parts]), sizes, to_read
    )
    # groups that agree more than either form of the fit explains
    heterogeneous, homogeneous = (compare_pairs(both[form] for both in fits.values()) for form in (0, 1))
    pairs = combine_fits(heterogeneous, homogeneous)
    groups = tuple(find_groups(pairs, [both[0] for both in fits.values()], FALSE_DISCOVERY_RATE))
    school_workers = {workers[index] for group in groups if group.school for index in group.workers}
    # members of a school read the tasks in another way: only that is why they seem to know nothing
    no_knowledge = [
        flag
        for flag in _flag_no_knowledge(workers, competence)
        if flag.kind == "one answer" or school_workers.isdisjoint(flag.workers)
    ]
    flags = [*no_knowledge, *_flag_fast(workers, response_times), *_flag_groups(workers, groups)]
    return CrowdAnomalies(workers, best, competence, response_times, groups, tuple(flags))


def _join_answers(parts: Sequence[Answers]) -> Answers:
    """The timed answers to all codes as if to one question."""
    if len(parts) == 1:
        return parts[0]
    timed_parts = [part for part in parts if part.seconds is not None] or [parts[0]]
    task, worker, label = (
        np.concatenate([getattr(part, name) for part in timed_parts]) for name in ("task", "worker", "label")
    )
    seconds = [np.full(len(part), np.nan) if part.seconds is None else part.seconds for part in timed_parts]
    return Answers(task, worker, label, (), timed_parts[0].workers, (), np.concatenate(seconds))


def _flag_no_knowledge(workers: Sequence[str], competence: Competence) -> Iterator[Flag]:
    from scipy.special import ndtr

    for index in np.flatnonzero((competence.no_knowledge >= SURE) & (competence.n > 0)).tolist():
        n, slope = int(competence.n[index]), float(competence.slope[index])
        share, sure = float(competence.commonest[index]), float(competence.no_knowledge[index])
        if np.isnan(slope):
            why = f"always the same answer to the same question, {n} times"
            yield Flag("one answer", (workers[index],), n, why, probability=sure)
        else:
            why = f"answers move {slope:.2f} times as far with the items as an average person's"
            why += f"; {100 * share:.0f} % are the commonest answer"
            yield Flag("no knowledge", (workers[index],), n, why, probability=sure)
    has_slope = ~np.isnan(competence.slope)
    p_values = np.ones(len(workers))
    p_values[has_slope] = ndtr(competence.slope[has_slope] / competence.spread[has_slope])
    for index in np.flatnonzero((adjust_p_values(p_values) <= FALSE_DISCOVERY_RATE) & has_slope).tolist():
        n, slope = int(competence.n[index]), float(competence.slope[index])
        why = f"answers move against the others' (slope {slope:.2f}): the labels may be mistaken"
        yield Flag("contrary", (workers[index],), n, why, p_value=float(p_values[index]))


def _flag_fast(workers: Sequence[str], times: ResponseTimes) -> Iterator[Flag]:
    unread = f"took less than reading does at {WORDS_PER_MINUTE:.0f} words a minute"
    kinds: tuple[tuple[Kind, Floats, Floats, str], ...] = (
        ("too fast", times.fast, times.p_value, "are far faster than people are here"),
        ("unread", times.unread, times.unread_p_value, unread),
    )
    for kind, counts, p_values, words in kinds:
        flagged = (adjust_p_values(p_values) <= FALSE_DISCOVERY_RATE) & (counts > 0)
        for index in np.flatnonzero(flagged).tolist():
            n, median = int(times.n[index]), float(times.median[index])
            why = f"{int(counts[index])} of {n} timed answers {words}; the median is {median:.1f} s"
            yield Flag(kind, (workers[index],), n, why, p_value=float(p_values[index]))


def _flag_groups(workers: Sequence[str], groups: Sequence[ColludingGroup]) -> Iterator[Flag]:
    for group in groups:
        names = tuple(workers[index] for index in group.workers)
        same = f"same answer {group.n_same} of {group.n_shared} times, by chance {group.expected_same:.0f}"
        wrong = f"{group.n_same_wrong} times, by chance {group.expected_same_wrong:.0f}"
        if group.school:
            why = f"{same}, against the others {wrong}; so many rather read the instructions in another way"
            yield Flag("second school", names, group.n_shared, why, p_value=group.p_value)
        else:
            yield Flag(
                "copying", names, group.n_shared, f"{same}; same wrong answer {wrong}", p_value=group.p_value
            )
