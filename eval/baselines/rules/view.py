"""A dialogue as the rules read it: speakers, lower-case texts of unchanged length, content words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dialint.detector.records import JUDGED_ROLES, Dialogue

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d[\d.,:/-]*\d|\d")


def words(text: str) -> frozenset[str]:
    """The words of `text`, which blanks separate."""
    return frozenset(text.split())


STOP = words(
    """
    a an the and or but if so as at by for from in into of on onto to with without about over after
    before i me my mine we us our you your yours he him his she her it its they them their this that
    these those there here who whom which what when where why how is am are was were be been being do
    does did done have has had having will would shall should can could may might must not no nor yes ok
    okay please thanks thank hi hello just also too very much many more most some any all both each
    other than then now well sure let get got i'm i'll i'd i've you're you'll it's that's don't can't
    won't didn't isn't aren't there's what's we're
    """
)


@dataclass(frozen=True)
class Spoken:
    """One turn: its index in the input, its side (`customer`, `agent` or `system`) and its text."""

    index: int
    side: str
    text: str

    @cached_property
    def low(self) -> str:
        """Lower case, curly apostrophes straight, as long as `text`."""
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in self.text)
        return low.replace("’", "'")

    @cached_property
    def words(self) -> list[str]:
        return _WORD.findall(self.low)

    @cached_property
    def content(self) -> frozenset[str]:
        """Words that carry the subject, cut to their first six letters."""
        return frozenset(word[:6] for word in self.words if word not in STOP and len(word) > 2)

    @property
    def asks(self) -> bool:
        return "?" in self.text


@dataclass(frozen=True)
class Hit:
    """A rule's finding: offsets into the turn's text, and how sure the rule is, in (0, 1)."""

    code: str
    turn: int
    start: int
    end: int
    confidence: float
    why: str


def whole(code: str, turn: Spoken, confidence: float, why: str) -> Hit:
    """A hit of which the whole turn is the evidence."""
    start = len(turn.text) - len(turn.text.lstrip())
    return Hit(code, turn.index, start, len(turn.text.rstrip()), confidence, why)


@dataclass(frozen=True)
class View:
    """The turns that hold text, in order; system turns are left out."""

    turns: tuple[Spoken, ...]

    @cached_property
    def customer_words(self) -> frozenset[str]:
        return frozenset(word for turn in self.turns if turn.side == "customer" for word in turn.words)

    def agent(self) -> Iterator[tuple[int, Spoken]]:
        """Every agent turn with its place among `turns`."""
        return ((position, turn) for position, turn in enumerate(self.turns) if turn.side == "agent")

    def customer_before(self, position: int) -> Spoken | None:
        """The customer's last turn before `position`."""
        return next((turn for turn in reversed(self.turns[:position]) if turn.side == "customer"), None)


def view_of(dialogue: Dialogue) -> View:
    """`dialogue` as the rules read it."""
    return View(
        tuple(
            Spoken(turn.index, "agent" if turn.role in JUDGED_ROLES else "customer", turn.text)
            for turn in dialogue.turns
            if turn.role not in ("system", "tool") and turn.text.strip()
        )
    )
