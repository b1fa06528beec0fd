"""Waits for the support side, by the turns' times: slow first answers (W1), silence (W2), no apology (W3).

A wait runs from the customer's first turn without an answer, or from the agent's own "one moment", to the
agent's next turn. Limits by channel stand in the taxonomy; what a system turn or a source states goes before.
The words of ten languages stand in `waits.yaml`. Without times, or in a channel without limits, nothing is
reported.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from math import inf

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import split_words, trim
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.taxonomy import WaitLimits, load_taxonomy
from dialint.detector.yaml_document import read_packaged

DAY = 24 * 60
UNITS = {"second": 1 / 60, "minute": 1, "hour": 60, "day": DAY, "workday": DAY}
_ENDS = re.compile(r"[.!?\n]")
GRACE = 1
"""Minutes by which an announced wait may be longer than announced."""
MAX_POLITE = 14
"""Most words of a turn that asks for nothing."""


@dataclass(frozen=True)
class Wait:
    """Positions of the turn that ends a wait and of the one from which it runs. `announced` are minutes: 0
    for "one moment", infinity for another time, None without notice."""

    end: int
    since: int
    minutes: float
    is_first: bool
    announced: float | None


FILE = "checks/waits.yaml"


@cache
def _words(kind: str) -> frozenset[str]:
    return frozenset(word for words in read_packaged(FILE).values() for word in words[kind])


@cache
def _pattern(*kinds: str) -> re.Pattern[str]:
    groups = (
        f"(?P<{kind}>{'|'.join(sorted(_words(kind), key=len, reverse=True))})".replace("*", r"\w*")
        for kind in kinds
    )
    text = rf"(?<!\w)(?:{'|'.join(groups)})(?!\w)"
    return re.compile(text)


@cache
def _numbers() -> dict[str, float]:
    pairs = {
        word: value for words in read_packaged(FILE).values() for word, value in words["numbers"].items()
    }
    return {word: float(value) for word, value in pairs.items()}


@cache
def _duration() -> re.Pattern[str]:
    numbers = "|".join(sorted(map(re.escape, _numbers()), key=len, reverse=True))
    units = "|".join(
        f"(?P<{kind}>{'|'.join(map(re.escape, sorted(_words(kind), key=len, reverse=True)))})"
        for kind in UNITS
    )
    text = (
        rf"(?<![\w.,:])(?:\d{{1,3}} ?(?:-|–|to|bis|a|à|до|do|tot) ?)?"
        rf"(?:(\d{{1,3}})|({numbers})(?:[ -](?:(?:y|e|et|en) )?({numbers}))?)[ -]?(?:{units})(?!\w)"
    )
    return re.compile(text)


def durations(text: str) -> list[tuple[int, float]]:
    """Return where each duration of a text in lower case begins, and its minutes. A day more counts where
    days are working days."""
    return [
        (
            match.start(),
            (float(match[1]) if match[1] else sum(_numbers()[each] for each in match.group(2, 3) if each))
            * UNITS[kind]
            + DAY * (kind == "workday"),
        )
        for match in _duration().finditer(text)
        for kind in [str(match.lastgroup)]
    ]


def announced_minutes(text: str) -> float | None:
    """Return the wait that a turn announces, as `Wait.announced`."""
    text = text.casefold()
    stated = [minutes for _, minutes in durations(text) if minutes >= 1]
    stated += [15.0] * (_pattern("quarter").search(text) is not None)
    if _pattern("later").search(text) or any(minutes >= DAY for minutes in stated):
        return inf
    has_moment = _pattern("moment").search(text) is not None
    if stated and (has_moment or _pattern("cue").search(text)):
        return max(stated)
    return 0.0 if has_moment else None


def _longest_stated(text: str, longest: float) -> float | None:
    """Return the longest time up to `longest` that a turn speaks of, in whatever words: a wait of that length
    is no surprise. A day of the week is at most a week away."""
    text = text.casefold()
    stated = [minutes for _, minutes in durations(text)]
    stated += [7.0 * DAY] * (_pattern("weekday").search(text) is not None)
    return max((minutes for minutes in stated if 1 <= minutes <= longest), default=None)


def is_busy(text: str) -> bool:
    """Return whether a customer who wrote a text has something to do first."""
    return announced_minutes(text) == 0.0 or _pattern("trying").search(text.casefold()) is not None


def find_waits(dialogue: Dialogue, longest: float = inf) -> Iterator[Wait]:
    """Yield the waits for turns of the support side. A customer who writes again after more than `longest`
    minutes begins anew."""
    turns = dialogue.turns
    since: int | None = None
    announced: float | None = None
    offered: float | None = None  # by a turn that asks whether the customer will wait, or speaks of a time
    has_answered = is_question = False
    for position, turn in enumerate(turns):
        if turn.is_unseen or not turn.text.strip():
            continue
        if turn.role == "customer":
            if "?" not in turn.text and is_busy(turn.text):
                since = announced = None
            elif since is None or (_minutes(turns[since], turn) or 0.0) > longest:
                since = None if _is_polite(turn.text, is_question) else position
                announced = offered
        elif turn.role in JUDGED_ROLES:
            minutes = None if since is None else _minutes(turns[since], turn)
            notice, question = announced_minutes(turn.text), _ENDS.split(turn.text.rpartition("?")[0])[-1]
            is_question = bool(question) and _pattern("hold").search(question.casefold()) is None
            notice = 0.0 if question and not is_question and notice is None else notice
            if not is_question and _pattern("received").search(turn.text.casefold()):
                announced = notice
                continue
            if since is not None and minutes is not None:
                yield Wait(position, since, minutes, not has_answered, announced)
            has_answered = True
            since, announced = (None, None) if notice is None or is_question else (position, notice)
            offered = notice if is_question and notice else _longest_stated(turn.text, longest)


def _minutes(first: Turn, last: Turn) -> float | None:
    return None if first.at is None or last.at is None else (last.at - first.at).total_seconds() / 60


def _is_polite(text: str, is_question: bool) -> bool:
    """Return whether a customer's turn asks for nothing and answers no question that the agent asked."""
    words = split_words(text)
    is_polite = len(words) <= MAX_POLITE and all(word in _words("polite") for word in words)
    return is_polite and (not is_question or not _words("closing").isdisjoint(words))


def _weekend_minutes(start: datetime, end: datetime) -> float:
    day, minutes = start.replace(hour=0, minute=0, second=0, microsecond=0), 0.0
    while day < end:
        following = day + timedelta(days=1)
        if day.weekday() >= 5:
            minutes += (min(end, following) - max(start, day)).total_seconds() / 60
        day = following
    return minutes


def limits_of(channel: str | None, limits: Sequence[WaitLimits]) -> WaitLimits | None:
    """Return the limits of a channel; None if it has none."""
    name = (channel or "").strip().casefold()
    return next((each for each in limits if name in each.channels), None)


NEAR = 60
"""Characters between what is limited and its limit."""


def stated_limits(dialogue: Dialogue, limits: WaitLimits) -> WaitLimits:
    """Return `limits` with those for the first answer and for silence that the system turns and the sources
    state, the longest of each. A limit for answers of any kind may only allow more."""
    stated: dict[str, list[float]] = {"first": [], "silence": [], "answer": []}
    texts = [turn.text for turn in dialogue.turns if turn.role == "system"]
    for text in (*texts, *dialogue.sources):
        for sentence in _ENDS.split(text.casefold()):
            if _pattern("apology").search(sentence):
                continue  # when to apologise
            words = [(match.start(), str(match.lastgroup)) for match in _pattern(*stated).finditer(sentence)]
            for start, minutes in durations(sentence):
                place, kind = words[bisect(words, (start,)) - 1] if words else (inf, "")
                if kind == "silence" and _pattern("customer").search(sentence):
                    kind = "answer"  # the silence may be his
                if 0 <= start - place <= NEAR and minutes <= limits.longest:
                    stated[kind].append(minutes)
    first_answer, silence = (
        max(stated[kind] or [value, *stated["answer"]])
        for kind, value in (("first", limits.first_answer), ("silence", limits.silence))
    )
    moment = max(limits.moment, silence)
    return limits.model_copy(update={"first_answer": first_answer, "silence": silence, "moment": moment})


@check(W1=Evidence(14, 16), W2=Evidence(10, 10), W3=Evidence(4, 4))
def long_wait(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find turns of the support side that came later than the channel's limit, or than was announced, and
    those of them without a word about it. Weekends do not count where the limit is a day.

    Counted on the test set of the written corpus, read once (2026-11-29)."""
    limits = limits_of(dialogue.channel, context.waits or load_taxonomy().waits)
    if limits is None or dialogue.started_at is None:
        return
    limits = stated_limits(dialogue, limits)
    late = [
        (wait, minutes, limit)
        for wait in find_waits(dialogue, limits.longest)
        for minutes, limit in [_measure(dialogue, wait, limits)]
        if limit < minutes
    ]
    has_apology = _apologies(dialogue) if late else []
    for wait, minutes, limit in late:
        turn, since = dialogue.turns[wait.end], dialogue.turns[wait.since]
        span = trim(turn.text)
        why = f"{minutes:.0f} minutes after turn {since.index}, where {limit:g} are allowed"
        yield Hit(turn.index, *span, why, "W1" if wait.is_first else "W2")
        if not has_apology[wait.end]:
            yield Hit(turn.index, *span, f"no apology after {minutes:.0f} minutes", "W3")


def _measure(dialogue: Dialogue, wait: Wait, limits: WaitLimits) -> tuple[float, float]:
    """Return the minutes of a wait that count, and how many are allowed."""
    limit = limits.first_answer if wait.is_first else limits.silence
    if wait.announced is not None:
        limit = max(limit, wait.announced + GRACE if wait.announced else limits.moment)
    start, end = dialogue.turns[wait.since].at, dialogue.turns[wait.end].at
    if wait.minutes > limits.longest or start is None or end is None:
        return 0.0, limit
    return wait.minutes - (_weekend_minutes(start, end) if limit >= DAY else 0.0), limit


def _apologies(dialogue: Dialogue) -> list[bool]:
    """Return by position whether the support side apologises there or before the customer's next turn."""
    results, has_apology = [False] * len(dialogue.turns), False
    for position, turn in reversed([*enumerate(dialogue.turns)]):
        if turn.role in JUDGED_ROLES:
            has_apology |= _pattern("apology").search(turn.text.casefold()) is not None
        elif turn.role == "customer":
            has_apology = False
        results[position] = has_apology
    return results
