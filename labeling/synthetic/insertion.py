"""Words put into an agent's turn: how a template is rendered, styled like its neighbours and placed.

An idea is a list of pairs, a wrong wording and a right one of the same form, so that being inserted gives
nothing away. Which turn deserves them is for the category to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from dialint.labeling.synthetic.dialogue_acts import asks_anything, is_nod
from dialint.labeling.synthetic.domains import asks_given, fitting
from dialint.labeling.synthetic.draft import Draft, DraftTurn, HardNegative, Made, Make, Mark, Pool, Use
from dialint.labeling.synthetic.phrases import Grammar, say
from dialint.labeling.synthetic.wordings import Wordings

Where = Literal["before", "between", "after", "instead"]


MAX_TURN = 900
"""Characters of the longest agent turn that gets an insertion."""


DRAWS = 12
"""Draws of a pair before a dialogue is given up: few, so that an idea of one trade is not worn down to the
few wordings that fit all others."""


_ARTICLE = re.compile(r"\b([Aa])(?= (?:[aeio]|un(?!i))(?!ne\b))")


_SEAM = re.compile(r"(?<=[.!?])\s+(?=\w)")


_COURTESY = re.compile(
    r"(?:you'?re|you are)? ?(?:very )?"
    r"(?:welcome|thank|glad|happy|great|lovely|ok\b|okay|sure|perfect|no problem|of course|alright)",
    re.IGNORECASE,
)
"""How an agent's turn begins that says nothing more than a kind word."""


MAX_COURTESY = 60
"""Characters of the longest such turn, which may be replaced."""


_BID = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|book|reserve|find|get|order|send|change|cancel|add|fix|help|go ahead|tell"
    r"|show|give|look(?:ing)? for|trying|wish|search|pull up|let's|make|check|take me|wan(?:t|na))\b",
    re.IGNORECASE,
)
"""A customer's answer that gives the agent something to do."""


ANYWHERE: Mapping[str, frozenset[str]] = {
    "T1": frozenset({"scene", "family", "calendar", "price", "line"}),
    "V2": frozenset({"card", "account"}),
}
"""By code, the trades whose words fit any dialogue: insults are figures of speech, and asking for a secret
is the error itself."""


_CHEER = re.compile(
    r"^(?:great|perfect|awesome|wonderful|excellent|fantastic|sounds good|sure|no problem|absolutely|lovely)"
    r"(?:,? thanks?(?: you)?)?[.,!]+\s+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Idea:
    """One author's idea of an error. `pairs` are (wrong, right) templates; `slots` the rules that
    they share; see `dialint.labeling.synthetic.phrases` for how they are written."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    slots: Grammar
    use: Use = "train"


def read_ideas(use: Use, file: str) -> tuple[Idea, ...]:
    """The ideas of the file `data/<use>/<file>.yaml`, which all share the file's slots."""
    wordings = Wordings(f"{use}/{file}")
    slots = wordings.grammar("slots")
    return tuple(Idea(name, pairs, slots, use) for name, pairs in wordings.pairs_by_name("ideas").items())


@dataclass(frozen=True)
class Manner:
    """How words are put into a turn; the same for an error and its twin."""

    where: Where
    lower: bool
    bare: bool
    joint: str


def spoken(template: str, slots: Grammar, rng: Random) -> str:
    """One surface form of a template, every sentence with a capital."""
    text = say({**slots, "say": (template,)}, rng).replace("?.", "?")
    text = _ARTICLE.sub(r"\1n", text)
    return re.sub(r"(?:^|(?<=[.!?] ))[a-z]", lambda found: found.group().upper(), text)


def manner(text: str, rng: Random, where: Where) -> Manner:
    """A manner that suits the turn `text`: its capitals, its final stops, now and then a new line."""
    plain = text == text.lower()
    unstopped = not text.rstrip().endswith((".", "!", "?"))
    return Manner(
        where=where,
        lower=plain or rng.random() < 0.06,
        bare=rng.random() < (0.7 if unstopped else 0.12),
        joint=rng.choice((" ",) * 9 + ("\n",)),
    )


def dressed(words: str, how: Manner) -> str:
    """The words in that manner: lower-case where the turn is, without a last stop where it has none."""
    if how.lower:
        words = words.lower()
    if how.bare and how.where in ("after", "instead"):
        words = words.removesuffix(".")
    return words


def placed(text: str, words: str, how: Manner) -> tuple[str, int, int]:
    """`words` set into `text`; the new text and where in it the words begin and end."""
    words = dressed(words, how)
    if how.where == "instead":
        return words, 0, len(words)
    if how.where == "before":
        return words + how.joint + text, 0, len(words)
    seam = _SEAM.search(text) if how.where == "between" else None
    head, tail = (text[: seam.start()], text[seam.end() :]) if seam else (text.rstrip(), "")
    if head and head[-1].isalnum() and how.joint != "\n":
        head += "."
    start = len(head) + len(how.joint)
    end = start + len(words)
    return head + how.joint + words + (" " + tail if tail else ""), start, end


def open_places(draft: Draft) -> list[int]:
    """Agent turns that no family has changed, with text, and short enough to take more."""
    return [
        place
        for place, turn in enumerate(draft.turns)
        if turn.role == "agent" and not turn.touched and turn.text.strip() and len(turn.text) <= MAX_TURN
    ]


def where_in(draft: Draft, place: int, rng: Random) -> Where:
    """Where in a turn to put words. `instead` only where nothing that was asked for is dropped: neither
    an answer that is due nor the agent's own question, nor the end of the talk."""
    turn = draft.turns[place]
    idle = "?" not in turn.text and bool(_COURTESY.match(turn.text))
    free = idle and place + 1 < len(draft.turns) and nothing_due(draft, place)
    weights: dict[Where, int] = {
        "before": 4,
        "after": 4,
        "between": 2 if _SEAM.search(turn.text) else 0,
        "instead": 4 if free and len(turn.text) <= MAX_COURTESY else 0,
    }
    return rng.choices(list(weights), list(weights.values()))[0]


def nothing_due(draft: Draft, place: int) -> bool:
    """Whether the turn before `place` is an untouched customer turn that asks for nothing."""
    before = draft.turns[place - 1] if place else None
    if before is None or before.role != "customer" or before.touched:
        return False
    return not asks_anything(before.text) and not _BID.search(before.text)


def marked(turn: DraftTurn, text: str, mark: Mark | None) -> DraftTurn:
    """The turn with new text and the mark, if any; it counts as touched either way."""
    return replace(turn, text=text, marks=turn.marks if mark is None else (*turn.marks, mark), touched=True)


def inserted(draft: Draft, place: int, words: str, how: Manner, code: str, family: str | None) -> Draft:
    """The draft with `words` in the turn at `place`, marked as an error of `family` unless that is None."""
    turn = draft.turns[place]
    text, start, end = placed(turn.text, words, how)
    mark = Mark(code=code, family=family, start=start, end=end) if family else None
    return draft.with_turn(place, marked(turn, text, mark))


def reply_places(draft: Draft) -> list[int]:
    """Open places of agent turns that directly follow a customer turn."""
    return [place for place in open_places(draft) if place and draft.turns[place - 1].role == "customer"]


def exchanged(
    draft: Draft, place: int, words: str, reply: str, how: Manner, mark: tuple[str, str] | None
) -> Draft:
    """The draft with an agent turn of `words` and the customer's `reply` before the turn at `place`;
    `mark` is the code and the family of the error, if it is one."""
    text = dressed(words, how)
    marks = (Mark(*mark, start=0, end=len(text)),) if mark else ()
    turns = (
        DraftTurn("agent", text, marks, touched=True),
        DraftTurn("customer", dressed(reply, how), touched=True),
    )
    return replace(draft, turns=(*draft.turns[:place], *turns, *draft.turns[place:]))


def _pair(draft: Draft, place: int, code: str, idea: Idea, rng: Random) -> tuple[str, str] | None:
    """A wrong and a right wording that fit the dialogue; the right one asks for nothing known already.
    Ideas that are not trained on are taken as they come, so that they stay what they were."""

    def draw() -> tuple[str, str]:
        wrong, right = rng.choice(idea.pairs)
        return spoken(wrong, idea.slots, rng), spoken(right, idea.slots, rng)

    if idea.use != "train":
        return draw()
    free = ANYWHERE.get(code, frozenset())
    return fitting(
        draft, rng, draw, lambda two: two, lambda two: not asks_given(two[1], draft, place), free, DRAWS
    )


def inserter(code: str, idea: Idea) -> Make:
    """Makes errors of one idea: the wrong wording in an agent turn, the right one in the twin."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = open_places(draft)
        if not places:
            return None
        place = rng.choice(places)
        pair = _pair(draft, place, code, idea, rng)
        if pair is None:
            return None
        wrong, right = pair
        how = manner(draft.turns[place].text, rng, where_in(draft, place, rng))
        return Made(
            error=inserted(draft, place, wrong, how, code, f"{code}.{idea.name}"),
            twin=inserted(draft, place, right, how, code, None),
        )

    return make


def exchanger(code: str, idea: Idea, replies: tuple[str, ...]) -> Make:
    """Makes a turn of its own of the wording and the customer's reply, before the agent goes on; a
    question of the customer's does not come right before it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = [place for place in reply_places(draft) if nothing_due(draft, place)]
        if not places:
            return None
        place = rng.choice(places)
        pair = _pair(draft, place, code, idea, rng)
        if pair is None:
            return None
        wrong, right = pair
        reply = spoken(rng.choice(replies), {}, rng)
        how = manner(draft.turns[place].text, rng, "instead")
        return Made(
            error=exchanged(draft, place, wrong, reply, how, (code, f"{code}.{idea.name}")),
            twin=exchanged(draft, place, right, reply, how, None),
        )

    return make


def speaker(code: str, idea: Idea, replies: tuple[str, ...], alone: float = 0.25) -> Make:
    """Puts the wording into a turn or, in a share `alone` of cases, makes a turn of its own of it."""
    within, apart = inserter(code, idea), exchanger(code, idea, replies)

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        made = apart(draft, rng, pool) if rng.random() < alone else None
        return made or within(draft, rng, pool)

    return make


def harmless(
    code: str, idea: str, texts: tuple[str, ...], slots: Grammar, replies: tuple[str, ...]
) -> HardNegative:
    """A hard negative "<code>.not-<idea>": one of the `texts` beside the agent's own words, or in a
    turn of its own with one of the customer's `replies`. Nothing that the agent said is lost."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        apart = [place for place in reply_places(draft) if nothing_due(draft, place)]
        alone = bool(apart) and rng.random() < 0.35
        places = apart if alone else open_places(draft)
        if not places:
            return None
        place = rng.choice(places)
        turn = draft.turns[place]
        words = fitting(
            draft,
            rng,
            lambda: spoken(rng.choice(texts), slots, rng),
            lambda said: (said,),
            lambda said: not asks_given(said, draft, place),
            ANYWHERE.get(code, frozenset()),
        )
        if words is None:
            return None
        if alone:
            reply = spoken(rng.choice(replies), {}, rng)
            made = exchanged(draft, place, words, reply, manner(turn.text, rng, "instead"), None)
        else:
            beside: list[Where] = ["before", "after", "between" if _SEAM.search(turn.text) else "after"]
            made = inserted(draft, place, words, manner(turn.text, rng, rng.choice(beside)), code, None)
        return made.with_turn(place, replace(made.turns[place], probe=code))

    return HardNegative(code, f"{code}.not-{idea}", make)


def heldout_where(draft: Draft, place: int, rng: Random) -> Where:
    """As `where_in`, but the agent's own words go only after a nod."""
    chosen = where_in(draft, place, rng)
    if chosen == "instead" and not is_nod(draft.turns[place - 1].text):
        return "before" if rng.random() < 0.5 else "after"
    return chosen


def stopped(words: str, how: Manner) -> str:
    """The words with a full stop if others follow them in the turn."""
    ended = words.endswith((".", "!", "?", ":"))
    return words if ended or how.where in ("after", "instead") else words + "."


def heldout_inserter(code: str, idea: Idea) -> Make:
    """Makes errors of one idea: the wrong wording in an agent turn, the right one in the twin."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = open_places(draft)
        if not places:
            return None
        place = rng.choice(places)
        how = manner(draft.turns[place].text, rng, heldout_where(draft, place, rng))
        wrong, right = (
            stopped(spoken(template, idea.slots, rng), how) for template in rng.choice(idea.pairs)
        )
        return Made(
            error=inserted(draft, place, wrong, how, code, f"{code}.{idea.name}"),
            twin=inserted(draft, place, right, how, code, None),
        )

    return make


def led_in(text: str, words: str, how: Manner) -> str:
    """The agent's text led in by the words, if there are any; its own cheerful opening gives way to them."""
    if not words:
        return text
    core = _CHEER.sub("", text)
    core = core[:1].upper() + core[1:] if not how.lower else core
    return placed(core, words, how)[0]


def telling(turn: DraftTurn, words: str, how: Manner) -> DraftTurn:
    """The customer's turn with the words in it."""
    return marked(turn, placed(turn.text, words, how)[0], None)


def answered(draft: Draft, place: int, said: str, words: str, code: str, rng: Random) -> Draft:
    """`said` in the customer's turn before `place`, and the agent's turn there led in by `words`, if any."""
    asked, turn = draft.turns[place - 1], draft.turns[place]
    told = telling(asked, said, manner(asked.text, rng, rng.choice(["before", "after"])))
    heard = marked(turn, led_in(turn.text, words, manner(turn.text, rng, "before")), None)
    return draft.with_turn(place - 1, told).with_turn(place, replace(heard, probe=code))
