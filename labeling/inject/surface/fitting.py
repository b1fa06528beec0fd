"""Whether made-up words fit a dialogue: of its trade or of none, and asking for nothing that was given.

A sentence about bins in a talk about coffee would be a topic jump, an error of another code, in the error
and in its twin alike. Judged by word lists alone; what the sentence says is not checked against the facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import TypeVar

from dialint.labeling.inject.draft import Draft
from dialint.labeling.inject.wordings.trades import GIVEN, TRADES

Words = TypeVar("Words")

_ASKING = re.compile(
    r"\?|\b(?:please|pls|need|tell|give|send|may i|provide|confirm|let me have|state|spell|type|what)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:my|your|the) (?:first |full |last )?name\b|\bname is\b|\bthis is [A-Z]\w+|\bI(?:'?m| am) [A-Z]\w+"
    r"|\b(?:Mr|Mrs|Ms|Dr)\b|\[NAME|(?:^|[.!] )(?:Hi|Hello|Dear) [A-Z]\w+"
)
_BARE_ASK = 6
"""Words of a text that may be an ask without any verb."""

TRIES = 60
"""Draws before a dialogue is given up, if not said otherwise."""

_TRADE = tuple((name, re.compile(rf"\b(?:{words})", re.IGNORECASE)) for name, words in TRADES.items())
_GIVEN = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(told, re.IGNORECASE)) for asked, told in GIVEN.values()
)


@lru_cache(maxsize=1 << 15)
def trades(text: str) -> frozenset[str]:
    """The trades that the text speaks of; empty for words that fit any chat."""
    return frozenset(name for name, pattern in _TRADE if pattern.search(text))


def heard(draft: Draft) -> frozenset[str]:
    """The trades that the dialogue speaks of."""
    return trades("\n".join((*(turn.text for turn in draft.turns), draft.domain)))


def asks_given(words: str, draft: Draft, place: int) -> bool:
    """Whether the words ask for a thing that came up before the turn at `place`."""
    if not _ASKING.search(words) and len(words.split()) > _BARE_ASK:
        return False
    asked = [told for ask, told in _GIVEN if ask.search(words)]
    before = "\n".join(turn.text for turn in draft.turns[:place]) if asked else ""
    return any(told.search(before) for told in asked)


def names_known(draft: Draft) -> bool:
    """Whether somebody is named in the dialogue, so that any other name would be a wrong one."""
    return any(_NAMED.search(turn.text) for turn in draft.turns)


def fitting(
    draft: Draft,
    rng: Random,
    draw: Callable[[], Words],
    texts: Callable[[Words], tuple[str, ...]],
    allowed: Callable[[Words], bool] = lambda words: True,
    anywhere: frozenset[str] = frozenset(),
    tries: int = TRIES,
) -> Words | None:
    """The first draw that is `allowed` and of which no text is of a trade that the dialogue does not know;
    the trades in `anywhere` are known everywhere. None after `tries` draws."""
    known = heard(draft) | anywhere
    for _ in range(tries):
        drawn = draw()
        if all(trades(text) <= known for text in texts(drawn)) and allowed(drawn):
            return drawn
    return None
