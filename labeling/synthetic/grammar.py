"""L2 in whole sentences: an agent's sentence comes in broken, and right in the clean twin.

Beside the rules of `dialint.labeling.synthetic.rewriting`, which break the dialogue's own text. One
mark for each place where the two part; where a word is missing, the mark is on its neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from dialint.labeling.inject.wordings import customer_slips
from dialint.labeling.inject.wordings.broken_sentences import BROKEN, CHATTY, QUOTES
from dialint.labeling.inject.wordings.closings import NODS
from dialint.labeling.synthetic.domains import fitting
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Mark, Pool
from dialint.labeling.synthetic.insertion import (
    dressed,
    manner,
    nothing_due,
    open_places,
    placed,
    reply_places,
    spoken,
    where_in,
)
from dialint.labeling.synthetic.places import plain, shuffled, spliced

_BRACKET = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
_NEXT = re.compile(r"\s*[^\s.,?!]*")
_CHOICE = re.compile(r"\(([^()|]*+\|[^()]*+)\)")


APART = 0.25
"""Share of sentences that make a turn of their own, where no answer of the agent's is due."""


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
        said = fitting(draft, rng, lambda: both(rng.choice(lines), rng), lambda two: (two[1].text,))
        if not places or said is None:
            return None
        bad, good = said
        apart = [place for place in reply_places(draft) if nothing_due(draft, place)]
        if apart and "?" not in good.text and rng.random() < APART:
            return _apart(draft, rng.choice(apart), said, family, rng)
        place = rng.choice(places)
        turn = draft.turns[place]
        how = manner(turn.text, rng, where_in(draft, place, rng))
        text, at, end = placed(turn.text, bad.text, how)
        error = draft.with_turn(place, _broken(text, bad, at, end, family))
        twin = draft.with_turn(place, plain("agent", placed(turn.text, good.text, how)[0], code))
        return Made(error, _blamed(twin, code, rng))

    return Family(code, family, make)


def _broken(text: str, said: Said, at: int, end: int, family: str) -> DraftTurn:
    """An agent turn in which `said` stands from `at` to `end`, every bracket marked."""
    code = family.partition(".")[0]
    marks = tuple(Mark(code, family, at + a, min(at + b, end)) for a, b in said.spans if at + a < end)
    return DraftTurn("agent", text, marks, touched=True)


def _apart(draft: Draft, place: int, said: tuple[Said, Said], family: str, rng: Random) -> Made:
    """The sentence as a turn of its own before the turn at `place`, and the customer's nod."""
    how = manner(draft.turns[place].text, rng, "instead")
    bad, good = (dressed(form.text, how) for form in said)
    nod = plain("customer", dressed(spoken(rng.choice(NODS), {}, rng), how))
    error = _broken(bad, said[0], 0, len(bad), family)
    twin = plain("agent", good, family.partition(".")[0])
    return Made(spliced(draft, place, place, (error, nod)), spliced(draft, place, place, (twin, nod)))


_SLIPS = {"L1": customer_slips.MISSPELT, "L2": customer_slips.BROKEN}


def _blamed(twin: Draft, code: str, rng: Random) -> Draft:
    """The twin; one time in five the customer says a broken sentence in it, which is no agent's error."""
    customers = [i for i, turn in enumerate(twin.turns) if turn.role == "customer" and not turn.touched]
    if not customers or rng.random() >= 0.2:
        return twin
    place = rng.choice(customers)
    text = twin.turns[place].text
    broken = both(rng.choice(_SLIPS[code]), rng)[0].text
    return twin.with_turn(place, plain("customer", placed(text, broken, manner(text, rng, "after"))[0]))


def of_right(code: str, name: str, lines: tuple[str, ...]) -> HardNegative:
    """Unusual but right sentences beside or instead of an agent's own."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        places = open_places(draft)
        line = fitting(draft, rng, lambda: rng.choice(lines), lambda said: (said,))
        if not places or line is None:
            return None
        place = rng.choice(places)
        text = draft.turns[place].text
        how = manner(text, rng, where_in(draft, place, rng))
        return draft.with_turn(place, plain("agent", placed(text, line, how)[0], code))

    return HardNegative(code, f"{code}.not-{name}", make)


def of_quoted(code: str) -> HardNegative:
    """The agent quotes a broken sentence that the customer wrote."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        for place in shuffled(open_places(draft), rng):
            if not place or draft.turns[place - 1].role != "customer" or draft.turns[place - 1].touched:
                continue
            words = both(rng.choice(_SLIPS[code]), rng)[0].text.rstrip(".?!")
            asked = draft.turns[place - 1].text
            lead = rng.choice(QUOTES).replace("@words", words)
            made = draft.with_turn(
                place - 1, plain("customer", placed(asked, words, manner(asked, rng, "after"))[0])
            )
            return made.with_turn(place, plain("agent", f"{lead} {draft.turns[place].text}", code))
        return None

    return HardNegative(code, f"{code}.not-quoted", make)


FAMILIES: tuple[Family, ...] = tuple(of_sentences("L2", name, lines) for name, lines in BROKEN.items())
NEGATIVES: tuple[HardNegative, ...] = (
    of_right("L2", "chatty", CHATTY),
    of_quoted("L2"),
)
