"""M2 in macros of many trades: slots left open, filled with nothing, or filled with what belongs elsewhere.

The twin is the same macro, filled. What masking or redaction leaves, ``[NAME_1]`` or ``[link]``, fills a
slot and is never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from dialint.labeling.inject.wordings.macros import (
    BRACKETS,
    KINDS,
    MACROS,
    NOTES,
    SHAPES,
    SPEAKS_FOR_ITSELF,
    VOIDS,
)
from dialint.labeling.synthetic.domains import fitting, names_known
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Mark, Pool
from dialint.labeling.synthetic.grammar import of_right
from dialint.labeling.synthetic.insertion import Manner, manner, open_places, placed, where_in
from dialint.labeling.synthetic.places import plain

Hole = Callable[[str, Random], str]
"""What stands in a slot of a kind that was not filled."""

_FOREIGN_TO = {
    "name": ("amount", "date", "link", "order"),
    "agent": ("amount", "date", "link"),
    "order": ("amount", "time"),
    "date": ("name", "amount", "company"),
    "time": ("name", "amount", "product"),
    "amount": ("name", "date", "time"),
    "link": ("amount", "days"),
    "days": ("name", "company", "link"),
    "product": ("amount", "date", "time"),
    "place": ("amount", "order"),
    "company": ("amount", "time", "date"),
}
"""Kinds whose values can never stand in a slot of the kind."""
_CHOICE = re.compile(r"\(([^()|]*+\|[^()]*+)\)")
_NAMES = re.compile(
    "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in (*KINDS["name"][1], *KINDS["agent"][1]))
)
_SLOT = re.compile(r"@(\w+)")
_REDACTED = re.compile(r"\[\s*(?:[A-Z]+_\d+|name|email|phone|number|address|date|url|link)\s*\]")


def shaped(kind: str, shape: str, rng: Random) -> str:
    """The slot's label in the syntax `shape`; never what redaction would leave."""
    label = rng.choice(KINDS[kind][0])
    snake = re.sub(r"[ .]", "_", label)
    shown = shape.replace("@snakeup", snake.upper()).replace("@upper", label.upper())
    shown = shown.replace("@snake", snake).replace("@label", label)
    return shown.upper() if _REDACTED.fullmatch(shown) else shown


def _misfilled(kind: str, rng: Random) -> str:
    """A value of a kind that can never stand there."""
    return rng.choice([value for value in KINDS[rng.choice(_FOREIGN_TO[kind])][1] if "[" not in value])


def _macros(name: str, chosen: Callable[[Random], Hole], lines: tuple[str, ...] = MACROS) -> Family:
    family = f"M2.{name}"

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = open_places(draft)
        if not places:
            return None
        filled = _fitting(draft, rng, lambda: _filled(rng.choice(lines), chosen(rng), rng))
        if filled is None:
            return None
        bad, good, spans = filled
        place = rng.choice(places)
        turn = draft.turns[place]
        how = _closing(good, manner(turn.text, rng, where_in(draft, place, rng)))
        text, at, end = placed(turn.text, bad, how)
        marks = tuple(Mark("M2", family, at + a, min(at + b, end)) for a, b in spans)
        twin = plain("agent", placed(turn.text, good, how)[0], "M2")
        return Made(
            draft.with_turn(place, DraftTurn("agent", text, marks, touched=True)),
            draft.with_turn(place, twin),
        )

    return Family("M2", family, make)


def _closing(words: str, how: Manner) -> Manner:
    """The manner, but a signature, which ends without a stop, closes its turn."""
    return how if words[-1] in ".!?,:" or how.where == "instead" else replace(how, where="after")


Filled = tuple[str, str, list[tuple[int, int]]]
"""A macro with its holes, the same with its values, and where the holes are."""


def _fitting(draft: Draft, rng: Random, draw: Callable[[], Filled]) -> Filled | None:
    """A macro that fits the dialogue, filled; it names nobody where names are known."""
    known = names_known(draft)
    return fitting(
        draft, rng, draw, lambda made: (made[1],), lambda made: not (known and _NAMES.search(made[1]))
    )


def _filled(template: str, hole: Hole, rng: Random) -> Filled:
    """The macro with holes, with values, and where the holes are: all its slots, or one of them."""
    while found := _CHOICE.search(template):
        template = template[: found.start()] + rng.choice(found[1].split("|")) + template[found.end() :]
    slots = list(_SLOT.finditer(template))
    left_open = set(range(len(slots))) if rng.random() < 0.5 else {rng.randrange(len(slots))}
    bad, good, at = "", "", 0
    spans = []
    for number, slot in enumerate(slots):
        value = rng.choice(KINDS[slot[1]][1])
        shown = hole(slot[1], rng) if number in left_open else value
        lead = template[at : slot.start()]
        bad, good = bad + lead, good + lead + value
        if number in left_open:
            spans.append((len(bad), len(bad) + len(shown)))
        bad, at = bad + shown, slot.end()
    return bad + template[at:], good + template[at:], spans


def _shape(rng: Random) -> Hole:
    """One syntax for all the slots of a turn, as one tool wrote it."""
    shape = rng.choice(SHAPES)
    return lambda kind, rng: shaped(kind, shape, rng)


def _note(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """What a template says to its user, or the frame it came in, reaches the customer."""
    places = open_places(draft)
    if not places:
        return None
    pair = fitting(draft, rng, lambda: rng.choice(NOTES), lambda two: (two[1],))
    if pair is None:
        return None
    bad, good = pair
    place = rng.choice(places)
    old = draft.turns[place].text
    how = manner(old, rng, where_in(draft, place, rng))
    text, start, end = placed(old, bad, how)
    error = DraftTurn("agent", text, (Mark("M2", "M2.note", start, end),), touched=True)
    twin = plain("agent", placed(old, good, how)[0], "M2")
    return Made(draft.with_turn(place, error), draft.with_turn(place, twin))


_TIGHT = tuple(line for line in MACROS if not line.startswith(SPEAKS_FOR_ITSELF))

FAMILIES: tuple[Family, ...] = (
    _macros("macro", _shape),
    _macros("void", lambda rng: lambda kind, rng: rng.choice(VOIDS[kind])),
    _macros("misfilled", lambda rng: _misfilled, _TIGHT),
    Family("M2", "M2.note", _note),
)
NEGATIVES: tuple[HardNegative, ...] = (of_right("M2", "brackets", BRACKETS),)
