"""Tone made wrong: rude or blaming words (T1), and no word of sympathy at stated distress (T2).

The wordings are in `labeling.inject.wordings`. Grammar, register and greetings are not made here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from labeling.inject.draft import Draft, DraftTurn, Family, Made, Make, Mark, Pool
from labeling.inject.insertion import Manner, dressed, inserter, manner, marked, open_places, placed, spoken
from labeling.inject.wordings import barked, distress, rude, rude_exam
from labeling.inject.wordings.distress import Distress, Voice

_ASK = re.compile(
    r"(?:(?:may|can|could|might) i (?:please )?(?:have|get|know)|what(?:'s| is| are)) "
    r"your (?P<thing>(?!prefer)[a-z][a-z' ]{2,30}?)(?:,? please)? ?\?",
    re.IGNORECASE,
)
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


def _bark(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent's own question for something, turned into a bark; in the twin, into a request."""
    asks = [(place, ask) for place in open_places(draft) if (ask := _ASK.search(draft.turns[place].text))]
    if not asks:
        return None
    place, ask = rng.choice(asks)
    slots = {**barked.SLOTS, "thing": (ask["thing"].lower(),)}
    wrong, right = (spoken(template, slots, rng) for template in rng.choice(barked.PAIRS))
    turn = draft.turns[place]
    how = replace(manner(turn.text, rng, "after"), bare=False)
    head, tail = turn.text[: ask.start()], turn.text[ask.end() :]

    def version(words: str, family: str | None) -> Draft:
        words = dressed(words, how)
        if head.rstrip().endswith(","):
            words = words[0].lower() + words[1:]
        mark = Mark("T1", family, len(head), len(head) + len(words)) if family else None
        return draft.with_turn(place, marked(turn, head + words + tail, mark))

    return Made(error=version(wrong, "T1.bark"), twin=version(right, None))


def _open_hearts(draft: Draft) -> list[int]:
    """Agent turns right after a customer turn where distress may be stated and is not acknowledged yet."""
    places = []
    for place in open_places(draft):
        before = draft.turns[place - 1] if place else None
        if before is None or before.role != "customer" or before.touched or not before.text.strip():
            continue
        told = [turn.text for turn in draft.turns[:place] if turn.role == "customer"]
        if _HEARD.search(draft.turns[place].text) or _PARTING.search(draft.turns[place].text):
            continue
        if not _PARTING.search(before.text) and not any(_UPSET.search(text) for text in told):
            places.append(place)
    return places


def _telling(turn: DraftTurn, words: str, how: Manner) -> DraftTurn:
    """The customer's turn with the words in it."""
    return marked(turn, placed(turn.text, words, how)[0], None)


def _answering(turn: DraftTurn, words: str, how: Manner, family: str | None) -> DraftTurn:
    """The agent's turn, led in by the words if there are any; all of it is marked if it is an error."""
    core = turn.text if not words else _CHEER.sub("", turn.text)
    core = core[:1].upper() + core[1:] if not how.lower else core
    text = placed(core, words, how)[0] if words else turn.text
    return marked(turn, text, Mark("T2", family, 0, len(text)) if family else None)


def deaf_to(kind: Distress, voice: Voice) -> Make:
    """Makes replies that pass over one kind of distress. The twin acknowledges it, or, one time in
    three, has the same reply to a customer who said nothing distressing."""
    name = f"T2.{kind.name}"

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = _open_hearts(draft)
        if not places:
            return None
        place = rng.choice(places)
        asked, turn = draft.turns[place - 1], draft.turns[place]
        told = spoken(rng.choice(kind.said), distress.SLOTS, rng)
        neutral = spoken(rng.choice(distress.NEUTRAL), distress.SLOTS, rng)
        heard = spoken(rng.choice((*kind.heard, *kind.heard, *voice.heard)), distress.SLOTS, rng)
        unheard = spoken(rng.choice(voice.unheard), distress.SLOTS, rng) if rng.random() < 0.75 else ""
        telling = manner(asked.text, rng, rng.choice(("before", "after")))
        leading = manner(turn.text, rng, "before")
        trailing = replace(leading, where="after") if rng.random() < 0.15 else leading

        def version(said: str, words: str, how: Manner, family: str | None) -> Draft:
            told_so = draft.with_turn(place - 1, _telling(asked, said, telling))
            return told_so.with_turn(place, _answering(turn, words, how, family))

        error = version(told, unheard, leading, name)
        if rng.random() < 0.35:
            return Made(error=error, twin=version(neutral, unheard, leading, None))
        return Made(error=error, twin=version(told, heard, trailing, None))

    return make


RUDE = tuple(
    Family("T1", f"T1.{idea.name}", inserter("T1", idea), idea.use)
    for idea in (*rude.IDEAS, *rude_exam.IDEAS)
)
DEAF = tuple(
    Family("T2", f"T2.{kind.name}", deaf_to(kind, voice), voice.use)
    for kinds, voice in ((distress.TRAINED, distress.TRAINED_VOICE), (distress.EXAM, distress.EXAM_VOICE))
    for kind in kinds
)
FAMILIES: tuple[Family, ...] = (*RUDE, Family("T1", "T1.bark", _bark), *DEAF)
