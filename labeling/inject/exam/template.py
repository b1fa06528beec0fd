"""Slots gone wrong (M2): a broken merge, sample data, a note to the author, or another customer's name."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from dialint.labeling.inject.exam.placing import stopped, where
from dialint.labeling.inject.exam.staging import as_agent, replies
from dialint.labeling.inject.exam.wordings.slots import (
    FILLED,
    FIRST_NAMES,
    LINES,
    NAME_LINES,
    NOTED,
    RENDERED,
    SAMPLE,
    VALUES,
)
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Made, Mark, Pool
from dialint.labeling.synthetic.insertion import Manner, manner, marked, open_places, placed
from dialint.labeling.synthetic.phrases import capital, say
from dialint.labeling.synthetic.places import joined, plain
from dialint.labeling.synthetic.statements import given_in

_MARK = "\x00"


def _line(template: str, rng: Random) -> tuple[str, str]:
    """One form of the template, cut where its slot is."""
    head, _, tail = say({"say": (template,)}, rng, slot=_MARK).partition(_MARK)
    return capital(head), tail


def _filled(draft: Draft, place: int, line: tuple[str, str], value: str, how: Manner, family: str) -> Draft:
    """The line with `value` in the turn at `place`; the value is marked unless `family` is empty."""
    turn = draft.turns[place]
    text, start, _ = placed(turn.text, stopped(line[0] + value + line[1], how), how)
    begin = start + len(line[0])
    mark = Mark("M2", family, begin, min(begin + len(value), len(text))) if family else None
    if mark is None:
        return draft.with_turn(place, plain("agent", text, "M2"))
    return draft.with_turn(place, marked(turn, text, mark))


def _put(draft: Draft, rng: Random, line: tuple[str, str], bad: str, good: str, family: str) -> Made | None:
    places = open_places(draft)
    if not places:
        return None
    place = rng.choice(places)
    how = manner(draft.turns[place].text, rng, where(draft, place, rng))
    return Made(_filled(draft, place, line, bad, how, family), _filled(draft, place, line, good, how, ""))


def _hole(name: str, holes: Mapping[str, tuple[str, ...]]) -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        names = _names(draft)
        kind = rng.choice([each for each in LINES if each != "name" or len({n for _, n in names}) < 2])
        line = _line(rng.choice(LINES[kind]), rng)
        good = names[0][1] if kind == "name" and names else rng.choice(VALUES[kind])
        return _put(draft, rng, line, rng.choice(holes[kind]), good, f"M2.{name}")

    return Family("M2", f"M2.{name}", make, "exam")


def _names(draft: Draft) -> list[tuple[int, str]]:
    """Where the customer tells his first name, and the name."""
    return [
        (place, given.value.split()[0])
        for place, turn in enumerate(draft.turns)
        if turn.role == "customer" and not turn.touched
        for given in given_in(turn.text)
        if given.kind == "name"
    ]


def _other_name(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The customer has told his name and is called by another one."""
    names = _names(draft)
    after = [place for place in open_places(draft) if names and place > names[0][0]]
    if not after or len({name for _, name in names}) > 1:
        return None
    own = names[0][1]
    whole = " ".join(turn.text for turn in draft.turns).lower()
    others = [name for name in FIRST_NAMES if name.lower() not in whole]
    place = rng.choice(after)
    how = manner(draft.turns[place].text, rng, where(draft, place, rng))
    line, bad = _line(rng.choice(NAME_LINES), rng), rng.choice(others)
    return Made(
        _filled(draft, place, line, bad, how, "M2.other-name"), _filled(draft, place, line, own, how, "")
    )


def _lawful(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Brackets, masks and forms that are meant to be read as they stand."""
    for place in replies(draft, rng):
        text = joined(draft.turns[place].text, as_agent(rng.choice(FILLED), draft))[0]
        return draft.with_turn(place, plain("agent", text, "M2"))
    return None


FAMILIES = (
    _hole("broken-merge", RENDERED),
    _hole("sample-data", SAMPLE),
    _hole("note-to-author", NOTED),
    Family("M2", "M2.other-name", _other_name, "exam"),
)
NEGATIVES = (HardNegative("M2", "M2.not-meant-as-read", _lawful, "exam"),)
