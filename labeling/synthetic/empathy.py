"""Where distress may be told and how a reply answers it, for the errors of T2 and what looks like them."""

from __future__ import annotations

import re

from dialint.labeling.synthetic.draft import Draft, DraftTurn, Mark
from dialint.labeling.synthetic.insertion import Manner, marked, open_places, placed

_CHEER = re.compile(
    r"^(?:great|perfect|awesome|wonderful|excellent|fantastic|sounds good|sure|no problem|absolutely|lovely)"
    r"(?:,? thanks?(?: you)?)?[.,!]+\s+",
    re.IGNORECASE,
)
_HEARD = re.compile(
    r"sorry|apolog|condolence|understand|sympath|regret|hope|unfortunate|oh no|oh dear|terrible|awful"
    r"|frustrat|concern|inconvenience|stress|worr",
    re.IGNORECASE,
)
_PARTING = re.compile(
    r"\b(?:thanks?|thank you|bye|goodbye|cheers|have a (?:good|great|nice)|that(?:'s| is|s) (?:all|it)"
    r"|that will be all|nothing else|you'?re welcome|welcome)\b",
    re.IGNORECASE,
)
_UPSET = re.compile(
    r"\b(?:died|death|funeral|sick|hospital|scared|afraid|upset|angry|furious|frustrat\w*|lost|stolen|stuck"
    r"|crying|disappointed|ridiculous|unacceptable|attack|emergency)\b",
    re.IGNORECASE,
)


def open_hearts(draft: Draft) -> list[int]:
    """Agent turns right after a customer turn where distress may be stated and is not acknowledged yet."""
    places = []
    upset = (i for i, turn in enumerate(draft.turns) if turn.role == "customer" and _UPSET.search(turn.text))
    first_upset = next(upset, len(draft.turns))
    for place in open_places(draft):
        if place > first_upset:
            break
        before = draft.turns[place - 1] if place else None
        if before is None or before.role != "customer" or before.touched or not before.text.strip():
            continue
        if _HEARD.search(draft.turns[place].text) or _PARTING.search(draft.turns[place].text):
            continue
        if not _PARTING.search(before.text):
            places.append(place)
    return places


def telling(turn: DraftTurn, words: str, how: Manner) -> DraftTurn:
    """The customer's turn with the words in it."""
    return marked(turn, placed(turn.text, words, how)[0], None)


def answering(turn: DraftTurn, words: str, how: Manner, family: str | None) -> DraftTurn:
    """The agent's turn, led in by the words if there are any; all of it is marked if it is an error."""
    core = turn.text if not words else _CHEER.sub("", turn.text)
    core = core[:1].upper() + core[1:] if not how.lower else core
    text = placed(core, words, how)[0] if words else turn.text
    return marked(turn, text, Mark("T2", family, 0, len(text)) if family else None)
