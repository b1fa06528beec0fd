"""All that can be held against the people of a crowd, out of their answers alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.raters.collusion import Group, compare_pairs, find_groups, weaker_evidence
from dialint.labeling.raters.competence import Competence, estimate_competence
from dialint.labeling.raters.flags import Flag, FlagRule, benjamini_hochberg
from dialint.labeling.raters.leave_one_out import LeaveOneOut, leave_one_out
from dialint.labeling.raters.response_time import ResponseTimes, measure_response_times


@dataclass(frozen=True)
class CrowdAnomalies:
    """`workers` names them; `others` is what the others make of each code's answers, `pace` of whoever
    is timed; `flags` are in order of the kinds of evidence."""

    workers: tuple[str, ...]
    others: dict[str, LeaveOneOut]
    knowledge: Competence
    pace: ResponseTimes
    groups: tuple[Group, ...]
    flags: tuple[Flag, ...]


def find_anomalies(
    codes: Mapping[str, Answers],
    timed: Answers | None = None,
    sizes: Floats | None = None,
    to_read: Floats | None = None,
    rule: FlagRule | None = None,
) -> CrowdAnomalies:
    """Everybody looked at. `codes` share their workers, each code is a question of its own. `timed` holds
    the seconds where they are not those of single answers to a code, and `sizes`, shape (its tasks,),
    how many characters there were to read; `to_read` as `measure_response_times` takes it."""
    rule = rule or FlagRule()
    fits = {code: _fits(answers) for code, answers in codes.items() if len(answers)}
    if not fits:
        raise ValueError("nobody answered anything")
    seen = {code: max(two, key=lambda fit: fit.log_likelihood) for code, two in fits.items()}
    parts = list(seen.values())
    workers = parts[0].answers.workers
    knows = estimate_competence(parts)
    speed = measure_response_times(
        timed if timed is not None else _timed([part.answers for part in parts]),
        sizes,
        to_read,
        rule.words_per_minute,
    )
    found = tuple(_groups(fits.values(), rule.rate))
    pupils = {workers[place] for group in found if group.school for place in group.workers}
    blind = [flag for flag in _blind(workers, knows, rule) if not _of_school(flag, pupils)]
    flags = [*blind, *_fast(workers, speed, rule), *_agreeing(workers, found)]
    return CrowdAnomalies(workers, seen, knows, speed, found, tuple(flags))


def _fits(answers: Answers) -> tuple[LeaveOneOut, LeaveOneOut]:
    return leave_one_out(answers, "moot"), leave_one_out(answers, "alike")


def _groups(fits: Collection[tuple[LeaveOneOut, LeaveOneOut]], rate: float) -> list[Group]:
    """Groups that agree beyond what either fit explains."""
    moot, alike = (compare_pairs(two[place] for two in fits) for place in (0, 1))
    return find_groups(weaker_evidence(moot, alike), [two[0] for two in fits], rate)


def _timed(parts: Sequence[Answers]) -> Answers:
    """All answers that say how long they took, as if to one question."""
    if len(parts) == 1:
        return parts[0]
    kept = [part for part in parts if part.seconds is not None] or [parts[0]]
    task, worker, label = (
        np.concatenate([getattr(part, name) for part in kept]) for name in ("task", "worker", "label")
    )
    seconds = [np.full(len(part), np.nan) if part.seconds is None else part.seconds for part in kept]
    return Answers(task, worker, label, (), kept[0].workers, (), np.concatenate(seconds))


def _blind(workers: Sequence[str], knows: Competence, rule: FlagRule) -> Iterator[Flag]:
    from scipy.special import ndtr

    for place in np.flatnonzero((knows.blind >= rule.sure) & (knows.n > 0)).tolist():
        n, share, slope = int(knows.n[place]), float(knows.commonest[place]), float(knows.slope[place])
        sure = float(knows.blind[place])
        if np.isnan(slope):
            why = f"always the same answer to the same question, {n} times"
            yield Flag("one answer", (workers[place],), n, why, probability=sure)
        else:
            why = f"answers move {slope:.2f} times as far with the items as an average person's"
            why += f"; {share:.0%} are the commonest answer"
            yield Flag("no knowledge", (workers[place],), n, why, probability=sure)
    told = ~np.isnan(knows.slope)
    p_values = np.ones(len(workers))
    p_values[told] = ndtr(knows.slope[told] / knows.spread[told])
    for place in np.flatnonzero(benjamini_hochberg(p_values, rule.rate) & told).tolist():
        n, slope = int(knows.n[place]), float(knows.slope[place])
        why = f"answers move against the others' (slope {slope:.2f}): the labels may be mistaken"
        yield Flag("contrary", (workers[place],), n, why, p_value=float(p_values[place]))


def _of_school(flag: Flag, pupils: set[str]) -> bool:
    """Whether a flag says no more than that its worker reads the tasks as a whole school does."""
    return flag.kind in ("no knowledge", "contrary") and not pupils.isdisjoint(flag.workers)


def _fast(workers: Sequence[str], speed: ResponseTimes, rule: FlagRule) -> Iterator[Flag]:
    for place in np.flatnonzero(benjamini_hochberg(speed.p_value, rule.rate) & (speed.fast > 0)).tolist():
        n, fast, median = int(speed.n[place]), int(speed.fast[place]), float(speed.median[place])
        why = f"{fast} of {n} timed answers are far faster than people are here; the median is {median:.1f} s"
        yield Flag("too fast", (workers[place],), n, why, p_value=float(speed.p_value[place]))
    for place in np.flatnonzero(
        benjamini_hochberg(speed.unread_p_value, rule.rate) & (speed.unread > 0)
    ).tolist():
        n, unread, median = int(speed.n[place]), int(speed.unread[place]), float(speed.median[place])
        why = (
            f"{unread} of {n} timed answers took less than reading does at {rule.words_per_minute:.0f} words"
        )
        why += f" a minute; the median is {median:.1f} s"
        yield Flag("unread", (workers[place],), n, why, p_value=float(speed.unread_p_value[place]))


def _agreeing(workers: Sequence[str], found: Sequence[Group]) -> Iterator[Flag]:
    for group in found:
        names = tuple(workers[place] for place in group.workers)
        same = f"same answer {group.together} of {group.met} times, by chance {group.by_chance:.0f}"
        wrong = f"{group.wrong} times, by chance {group.wrong_by_chance:.0f}"
        if group.school:
            why = f"{same}, against the others {wrong}; so many rather read the instructions in another way"
            yield Flag("second school", names, group.met, why, p_value=group.p_value)
        else:
            yield Flag(
                "copying", names, group.met, f"{same}; same wrong answer {wrong}", p_value=group.p_value
            )
