"""L2 in whole sentences: an agent's sentence comes in broken, and right in the clean twin.

Beside the rules of `labeling.inject.surface.rewriting`, which break the dialogue's own text. One mark for
each place where the two part; where a word is missing, the mark is on its neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from labeling.inject.draft import Draft, DraftTurn, Family, HardNegative, Made, Mark, Pool
from labeling.inject.insertion import dressed, manner, marked, open_places, placed, where_in
from labeling.inject.places import plain, shuffled
from labeling.inject.wordings.broken_sentences import BROKEN, CHATTY, QUOTES

_BRACKET = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_NEXT = re.compile(r"\s*[^\s.,?!]*")
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")


@dataclass(frozen=True)
class Said:
    """A sentence and the offsets, end exclusive, of its brackets."""

    text: str
    spans: tuple[tuple[int, int], ...]


def both(template: str, rng: Random) -> tuple[Said, Said]:
    """The broken and the right form of a template, the same choices taken in both."""
    while found := _CHOICE.search(template):
        template = template[: found.start()] + rng.choice(found[1].split("|")) + template[found.end() :]
    return _form(template, 1), _form(template, 2)


def _form(template: str, side: int) -> Said:
    """One side of every bracket, single-spaced, with a capital at the start."""
    text, spans, at = "", [], 0
    for found in _BRACKET.finditer(template):
        text = _grown(text, template[at : found.start()])
        start = len(_grown(text, found[side])) - len(found[side])
        text = _grown(text, found[side])
        spans.append((max(0, start), len(text)))
        at = found.end()
    text = _grown(text, template[at:])
    return Said(text[:1].upper() + text[1:], tuple(_widened(text, start, end) for start, end in spans))


def _grown(text: str, more: str) -> str:
    if not text or text.endswith(" "):
        more = more.lstrip(" ")
    if more[:1] in (".", ",", "?", "!") and more:
        text = text.rstrip(" ")
    return text + more


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without spaces at its ends or, where nothing is left, the words to both sides of it."""
    start, end = min(start, len(text)), min(end, len(text))
    if not text[start:end].strip():
        start -= len(text[:start]) - len(text[:start].rstrip().rpartition(" ")[0])
        end += len(_NEXT.match(text[end:])[0])  # type: ignore[index]  # it matches the empty string too
    core = text[start:end].strip(" .,?!")
    start = text.index(core, start)
    return start, start + len(core)


def of_sentences(code: str, name: str, lines: tuple[str, ...]) -> Family:
    """The family whose errors are the brackets of `lines`."""
    family = f"{code}.{name}"

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = open_places(draft)
        if not places:
            return None
        place = rng.choice(places)
        turn = draft.turns[place]
        bad, good = both(rng.choice(lines), rng)
        how = manner(turn.text, rng, where_in(draft, place, rng))
        text, at, end = placed(turn.text, bad.text, how)
        marks = tuple(Mark(code, family, at + a, min(at + b, end)) for a, b in bad.spans if at + a < end)
        error = DraftTurn("agent", text, marks, touched=True)
        clean = marked(turn, placed(turn.text, good.text, how)[0], None)
        twin = draft.with_turn(place, DraftTurn("agent", clean.text, touched=True, probe=code))
        return Made(draft.with_turn(place, error), _blamed(twin, bad.text, rng))

    return Family(code, family, make)


def _blamed(twin: Draft, broken: str, rng: Random) -> Draft:
    """The twin; one time in five the customer says a broken sentence in it, which is no agent's error."""
    customers = [i for i, turn in enumerate(twin.turns) if turn.role == "customer" and not turn.touched]
    if not customers or rng.random() >= 0.2:
        return twin
    place = rng.choice(customers)
    text = twin.turns[place].text
    how = manner(text, rng, "after")
    return twin.with_turn(place, plain("customer", f"{text.rstrip()} {dressed(broken, how)}"))


def of_right(code: str, name: str, lines: tuple[str, ...]) -> HardNegative:
    """Unusual but right sentences beside or instead of an agent's own."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        places = open_places(draft)
        if not places:
            return None
        place = rng.choice(places)
        text = draft.turns[place].text
        how = manner(text, rng, where_in(draft, place, rng))
        return draft.with_turn(place, plain("agent", placed(text, rng.choice(lines), how)[0], code))

    return HardNegative(code, f"{code}.not-{name}", make)


def of_quoted(code: str, groups: tuple[tuple[str, ...], ...]) -> HardNegative:
    """The agent quotes a broken sentence that the customer wrote."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        for place in shuffled(open_places(draft), rng):
            if not place or draft.turns[place - 1].role != "customer" or draft.turns[place - 1].touched:
                continue
            words = both(rng.choice(rng.choice(groups)), rng)[0].text.rstrip(".?!")
            asked = draft.turns[place - 1].text.rstrip()
            lead = rng.choice(QUOTES).replace("@words", words)
            made = draft.with_turn(place - 1, plain("customer", f"{asked} {words}"))
            return made.with_turn(place, plain("agent", f"{lead} {draft.turns[place].text}", code))
        return None

    return HardNegative(code, f"{code}.not-quoted", make)


FAMILIES: tuple[Family, ...] = tuple(of_sentences("L2", name, lines) for name, lines in BROKEN.items())
NEGATIVES: tuple[HardNegative, ...] = (
    of_right("L2", "chatty", CHATTY),
    of_quoted("L2", tuple(BROKEN.values())),
)
