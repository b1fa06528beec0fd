"""M3: the same text again, where the customer has said something that calls for another.

The twin has the agent's real answer in that place. A repetition in the place of an answer leaves the
ask open and is C1 as well. What comes twice by nature, closings and offers of more help, does not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from labeling.inject.draft import Draft, Family, Made, Pool, Use
from labeling.inject.places import (
    asks_anything,
    free_agent_turns,
    is_closing,
    plain,
    shuffled,
    spliced,
    wrong,
)
from labeling.inject.wordings.templates import SYNONYMS

MIN_REPEATED = 20
"""Characters; a shorter reply may well come twice."""


def _verbatim(text: str, rng: Random) -> str:
    return text


def _repointed(text: str, rng: Random) -> str:
    """The same words with other stops, capitals or a word of politeness before them."""
    changes: tuple[Callable[[str], str], ...] = (
        lambda t: t.rstrip(".!") + rng.choice(("!", "...", "", ".")),
        lambda t: t.replace(", ", " ") if ", " in t else t + "!",
        lambda t: rng.choice(("Okay, ", "So, ", "Sure. ", "Right, ", "Well, ", "Hello, ", "Alright. ")) + t,
        lambda t: t.lower() if t != t.lower() else t.capitalize(),
        lambda t: t + rng.choice((" Thanks.", " Thank you.", " :)", " OK?")),
        lambda t: t.replace(". ", " - ", 1) if ". " in t else "  ".join(t.split(" ", 1)),
    )
    return rng.choice(changes)(text)


def _reworded(text: str, rng: Random) -> str:
    """The same statement with contractions and small words exchanged."""
    for pattern, new in rng.sample(SYNONYMS, len(SYNONYMS))[:14]:
        text = re.sub(pattern, new, text, count=1, flags=re.IGNORECASE)
    return text[:1].upper() + text[1:]


def _reminder(text: str, rng: Random) -> str:
    """The text again with an unhelpful frame around it."""
    frame = rng.choice(
        (
            "As I said: {}", "Again: {}", "{} That is all I can say.", "Like I mentioned, {}", "I repeat: {}",
            "Once more: {}", "{} As stated before.", "As per my last message: {}", "See above. {}",
        )
    )  # fmt: skip
    return frame.replace("{}", text)


def _again(name: str, change: Callable[[str, Random], str], far: bool, use: Use = "train") -> Family:
    """The agent's earlier text comes again where the customer has said something new."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        turns, places = draft.turns, free_agent_turns(draft)
        for place in shuffled(places[1:], rng):
            before = turns[place - 1]
            earlier = [i for i in places if i < place and _repeatable(turns[i].text)]
            earlier = earlier[:-1] if far else earlier[-1:]
            if before.role != "customer" or before.touched or not earlier or len(before.text) < 8:
                continue
            if re.search(r"\b(repeat|again|say that|pardon)\b", before.text, re.IGNORECASE):
                continue
            source = turns[rng.choice(earlier)].text
            text = change(source, rng)
            if text == source and change is not _verbatim:
                continue
            codes = ("M3", "C1") if asks_anything(before.text) else ("M3",)
            twin = draft.with_turn(place, plain("agent", turns[place].text, "M3"))
            return Made(draft.with_turn(place, wrong(text, f"M3.{name}", *codes)), twin)
        return None

    return Family("M3", f"M3.{name}", make, use)


def _repeatable(text: str) -> bool:
    return len(text) >= MIN_REPEATED and not is_closing(text) and "anything else" not in text.lower()


def _twice(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The same message sent twice in a row, as by a double click on a macro."""
    for place in shuffled(free_agent_turns(draft), rng):
        text = draft.turns[place].text
        if _repeatable(text) and not is_closing(text):
            pair = (plain("agent", text), wrong(text, "M3.twice", "M3"))
            single = (plain("agent", text, "M3"),)
            return Made(spliced(draft, place, place + 1, pair), spliced(draft, place, place + 1, single))
    return None


FAMILIES: tuple[Family, ...] = (
    _again("verbatim", _verbatim, far=False),
    _again("verbatim-later", _verbatim, far=True),
    _again("repointed", _repointed, far=False),
    Family("M3", "M3.twice", _twice),
    _again("reworded", _reworded, far=False, use="dev"),
    _again("reminder", _reminder, far=True, use="dev"),
)
