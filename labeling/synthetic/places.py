"""Where in a draft an error may honestly stand, and how the draft is cut and joined there.

Patterns of plain English only; what an error is, the families say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from random import Random

from dialint.detector.records import Role
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Mark
from dialint.labeling.synthetic.statements import FUNCTION_WORDS

_REQUEST = re.compile(
    r"\b(can|could|would|will) you\b|\b(please|tell me|let me know|i('d| would)? (also )?(need|like|want)"
    r"|do you|is there|are there|what|which|how (much|many|long|far|do|can|about)|when|where)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\b(what|which|how|when|where|why|who|can|could|does|do|is|are|will|would)\b[^.?!]{6,500}\?",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\b(thanks?|thank you|thx|cheers|that('s| is| will be) all|bye|great|perfect)\b", re.IGNORECASE
)
_CLOSING = re.compile(
    r"\b(good ?bye|bye|have a (great|good|nice|wonderful|lovely)|take care|enjoy your"
    r"|thank(s| you) for (using|contacting|calling|choosing))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+(?=\s|$)|[.](?=\d)[^.!?]*|$)\s*")


def free_agent_turns(draft: Draft) -> list[int]:
    """Places of agent turns that no family has touched."""
    return [i for i, turn in enumerate(draft.turns) if turn.role == "agent" and not turn.touched]


def agent_texts(draft: Draft) -> list[str]:
    """What the agent says in turns that no family has touched."""
    return [turn.text for turn in draft.turns if turn.role == "agent" and not turn.touched]


def asks_question(text: str) -> bool:
    """Whether the text holds a real question, longer than "ok?"."""
    return bool(_QUESTION.search(text))


def asks_anything(text: str) -> bool:
    """Whether the text asks for anything, as a question or as a wish."""
    return "?" in text or bool(_REQUEST.search(text))


def is_thanks(text: str) -> bool:
    """Whether the text thanks, praises or takes leave."""
    return bool(_THANKS.search(text))


def is_closing(text: str) -> bool:
    """Whether an agent takes leave in the text."""
    return bool(_CLOSING.search(text))


def answered_asks(draft: Draft) -> list[int]:
    """Places of untouched agent turns that directly follow an untouched customer question and are
    the agent's only turn before the customer speaks again."""
    turns = draft.turns
    return [
        i
        for i in free_agent_turns(draft)
        if i
        and turns[i - 1].role == "customer"
        and not turns[i - 1].touched
        and asks_question(turns[i - 1].text)
        and (i + 1 == len(turns) or turns[i + 1].role == "customer")
    ]


def sentences(text: str) -> list[str]:
    """The text cut after sentence ends; joined again they are the text."""
    found = _SENTENCE.findall(text)
    return found if "".join(found) == text else [text]


def words_of(text: str) -> set[str]:
    """The words of four letters or more, in lower case."""
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def content_words(text: str) -> set[str]:
    """The words that carry meaning, cut to six letters so that forms of one word agree."""
    return {word[:6] for word in words_of(text) if word not in FUNCTION_WORDS}


def shared(one: str, other: str) -> float:
    """Share of common words, 0 to 1, of the shorter text."""
    a, b = words_of(one), words_of(other)
    return len(a & b) / max(1, min(len(a), len(b)))


def plain(role: Role, text: str, probe: str = "") -> DraftTurn:
    """A clean turn that a family has made."""
    return DraftTurn(role, text, (), touched=True, probe=probe)


def wrong(text: str, family: str, *codes: str, start: int = 0, end: int | None = None) -> DraftTurn:
    """An agent turn with an error from `start` to `end` (the end of the text), for each code."""
    stop = len(text) if end is None else end
    return DraftTurn("agent", text, tuple(Mark(code, family, start, stop) for code in codes), touched=True)


def spliced(draft: Draft, start: int, end: int, made: Iterable[DraftTurn]) -> Draft:
    """The draft with the turns from `start` to `end` (exclusive) replaced by `made`."""
    return replace(draft, turns=(*draft.turns[:start], *made, *draft.turns[end:]))


def joined(first: str, second: str) -> tuple[str, int, int]:
    """Two texts as one, with the offsets of the second."""
    gap = " " if first.rstrip()[-1:] in (".", "!", "?", ",", ":", "") else ". "
    text = first.rstrip() + gap + second
    return text, len(text) - len(second), len(text)


def shuffled(places: Iterable[int], rng: Random) -> list[int]:
    """The places in random order."""
    order = list(places)
    rng.shuffle(order)
    return order
