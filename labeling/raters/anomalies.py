"""All anomaly flags of a crowd, from its answers only: reasons to review the work of a person or of a group.

A flag is a suspicion and not a proof, and is worded so: it leads to a control task or a conversation, and a
person decides. The flag "second school" is about the instructions, not about its workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dialint.detector.statistics import adjust_p_values
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.collusion import ColludingGroup, combine_fits, compare_pairs, find_groups
from dialint.labeling.raters.competence import Competence, LeaveOneOut, estimate_competence, leave_one_out
from dialint.labeling.raters.response_time import WORDS_PER_MINUTE, ResponseTimes, measure_response_times

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
        """Whether it is about its workers; a second school is about the instructions."""
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
        timed if timed is not None else _join_answers([part.answers for part in parts]),
        sizes,
        to_read,
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
    flags = [
        *no_knowledge,
        *_flag_fast(workers, response_times),
        *_flag_groups(workers, groups),
    ]
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
            why += f"; {share:.0%} are the commonest answer"
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
