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
from dialint.labeling.synthetic.domains import asks_for_stated, sample_fitting
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    HardNegative,
    MakeError,
    Mark,
    Pool,
    Use,
)
from dialint.labeling.synthetic.wordings import Grammar, Wordings, render

Placement = Literal["before", "between", "after", "instead"]

MAX_TURN = 900
"""Characters of the longest agent turn that gets an insertion."""

DRAWS = 12
"""Draws of a pair before a dialogue is given up: few, so that an idea of one domain is not worn down to the
few wordings that fit all others."""

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
"""By code, the domains whose words fit any dialogue: insults are figures of speech, and asking for a secret
is the error itself."""

_CHEER = re.compile(
    r"^(?:great|perfect|awesome|wonderful|excellent|fantastic|sounds good|sure|no problem|absolutely|lovely)"
    r"(?:,? thanks?(?: you)?)?[.,!]+\s+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Idea:
    """One author's idea of an error. `pairs` are (wrong, right) templates; `slots` the rules that
    they share; see `dialint.labeling.synthetic.wordings` for how they are written."""

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
class Style:
    """How words are put into a turn; the same for an error and its twin."""

    where: Placement
    lower: bool
    bare: bool
    joint: str


def sample_style(text: str, rng: Random, where: Placement) -> Style:
    """A style that suits the turn `text`: its capitals, its final stops, now and then a new line."""
    is_lower = text == text.lower()
    unstopped = not text.rstrip().endswith((".", "!", "?"))
    return Style(
        where=where,
        lower=is_lower or rng.random() < 0.06,
        bare=rng.random() < (0.7 if unstopped else 0.12),
        joint=rng.choice((" ",) * 9 + ("\n",)),
    )


def apply_style(words: str, style: Style) -> str:
    """The words in that style: lower-case where the turn is, without a last stop where it has none."""
    if style.lower:
        words = words.lower()
    if style.bare and style.where in ("after", "instead"):
        words = words.removesuffix(".")
    return words


def insert_text(text: str, words: str, style: Style) -> tuple[str, int, int]:
    """`words` set into `text`; the new text and where in it the words begin and end."""
    words = apply_style(words, style)
    if style.where == "instead":
        return words, 0, len(words)
    if style.where == "before":
        return words + style.joint + text, 0, len(words)
    seam = _SEAM.search(text) if style.where == "between" else None
    head, tail = (text[: seam.start()], text[seam.end() :]) if seam else (text.rstrip(), "")
    if head and head[-1].isalnum() and style.joint != "\n":
        head += "."
    start = len(head) + len(style.joint)
    end = start + len(words)
    return head + style.joint + words + (" " + tail if tail else ""), start, end


def open_agent_turns(draft: ExampleDraft) -> list[int]:
    """Agent turns that no family has changed, with text, and short enough to take more."""
    return [
        index
        for index, turn in enumerate(draft.turns)
        if turn.role == "agent" and not turn.touched and turn.text.strip() and len(turn.text) <= MAX_TURN
    ]


def sample_placement(draft: ExampleDraft, index: int, rng: Random) -> Placement:
    """Where in a turn to put words. `instead` only where nothing that was asked for is dropped: neither
    an answer that is due nor the agent's own question, nor the end of the dialogue."""
    turn = draft.turns[index]
    idle = "?" not in turn.text and bool(_COURTESY.match(turn.text))
    free = idle and index + 1 < len(draft.turns) and is_nothing_due(draft, index)
    weights: dict[Placement, int] = {
        "before": 4,
        "after": 4,
        "between": 2 if _SEAM.search(turn.text) else 0,
        "instead": 4 if free and len(turn.text) <= MAX_COURTESY else 0,
    }
    return rng.choices(list(weights), list(weights.values()))[0]


def is_nothing_due(draft: ExampleDraft, index: int) -> bool:
    """Whether the turn before `index` is an untouched customer turn that asks for nothing."""
    before = draft.turns[index - 1] if index else None
    if before is None or before.role != "customer" or before.touched:
        return False
    return not asks_anything(before.text) and not _BID.search(before.text)


def edit_turn(turn: DraftTurn, text: str, mark: Mark | None) -> DraftTurn:
    """The turn with new text and the mark, if any; it counts as touched either way."""
    return replace(turn, text=text, marks=turn.marks if mark is None else (*turn.marks, mark), touched=True)


def insert_words(
    draft: ExampleDraft, index: int, words: str, style: Style, code: str, family: str | None
) -> ExampleDraft:
    """The draft with `words` in the turn at `index`, marked as an error of `family` unless that is None."""
    turn = draft.turns[index]
    text, start, end = insert_text(turn.text, words, style)
    mark = Mark(code=code, family=family, start=start, end=end) if family else None
    return draft.with_turn(index, edit_turn(turn, text, mark))


def open_replies(draft: ExampleDraft) -> list[int]:
    """Indexes of open agent turns that directly follow a customer turn."""
    return [index for index in open_agent_turns(draft) if index and draft.turns[index - 1].role == "customer"]


def insert_exchange(
    draft: ExampleDraft, index: int, words: str, reply: str, style: Style, mark: tuple[str, str] | None
) -> ExampleDraft:
    """The draft with an agent turn of `words` and the customer's `reply` before the turn at `index`;
    `mark` is the code and the family of the error, if it is one."""
    text = apply_style(words, style)
    marks = (Mark(*mark, start=0, end=len(text)),) if mark else ()
    turns = (
        DraftTurn("agent", text, marks, touched=True),
        DraftTurn("customer", apply_style(reply, style), touched=True),
    )
    return replace(draft, turns=(*draft.turns[:index], *turns, *draft.turns[index:]))


def _pair(draft: ExampleDraft, index: int, code: str, idea: Idea, rng: Random) -> tuple[str, str] | None:
    """A wrong and a right wording that fit the dialogue; the right one asks for nothing given already.
    Ideas that are not trained on are taken as they come, so that they stay what they were."""

    def draw() -> tuple[str, str]:
        wrong, right = rng.choice(idea.pairs)
        return render(wrong, idea.slots, rng), render(right, idea.slots, rng)

    if idea.use != "train":
        return draw()
    free = ANYWHERE.get(code, frozenset())
    return sample_fitting(
        draft, rng, draw, lambda two: two, lambda two: not asks_for_stated(two[1], draft, index), free, DRAWS
    )


def word_inserter(code: str, idea: Idea) -> MakeError:
    """Makes errors of one idea: the wrong wording in an agent turn, the right one in the twin."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = open_agent_turns(draft)
        if not indexes:
            return None
        index = rng.choice(indexes)
        pair = _pair(draft, index, code, idea, rng)
        if pair is None:
            return None
        wrong, right = pair
        style = sample_style(draft.turns[index].text, rng, sample_placement(draft, index, rng))
        return ErrorPair(
            error=insert_words(draft, index, wrong, style, code, f"{code}.{idea.name}"),
            twin=insert_words(draft, index, right, style, code, None),
        )

    return make


def exchange_inserter(code: str, idea: Idea, replies: tuple[str, ...]) -> MakeError:
    """Makes a turn of its own of the wording and the customer's reply, before the agent goes on; a
    question of the customer's does not come right before it."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = [index for index in open_replies(draft) if is_nothing_due(draft, index)]
        if not indexes:
            return None
        index = rng.choice(indexes)
        pair = _pair(draft, index, code, idea, rng)
        if pair is None:
            return None
        wrong, right = pair
        reply = render(rng.choice(replies), {}, rng)
        style = sample_style(draft.turns[index].text, rng, "instead")
        return ErrorPair(
            error=insert_exchange(draft, index, wrong, reply, style, (code, f"{code}.{idea.name}")),
            twin=insert_exchange(draft, index, right, reply, style, None),
        )

    return make


def idea_inserter(code: str, idea: Idea, replies: tuple[str, ...], alone: float = 0.25) -> MakeError:
    """Puts the wording into a turn or, in a share `alone` of cases, makes a turn of its own of it."""
    within, apart = word_inserter(code, idea), exchange_inserter(code, idea, replies)

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        made = apart(draft, rng, pool) if rng.random() < alone else None
        return made or within(draft, rng, pool)

    return make


def harmless_negative(
    code: str, idea: str, texts: tuple[str, ...], slots: Grammar, replies: tuple[str, ...]
) -> HardNegative:
    """A hard negative "<code>.not-<idea>": one of the `texts` beside the agent's own words, or in a
    turn of its own with one of the customer's `replies`. Nothing that the agent said is lost."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        apart = [index for index in open_replies(draft) if is_nothing_due(draft, index)]
        alone = bool(apart) and rng.random() < 0.35
        indexes = apart if alone else open_agent_turns(draft)
        if not indexes:
            return None
        index = rng.choice(indexes)
        turn = draft.turns[index]
        words = sample_fitting(
            draft,
            rng,
            lambda: render(rng.choice(texts), slots, rng),
            lambda text: (text,),
            lambda text: not asks_for_stated(text, draft, index),
            ANYWHERE.get(code, frozenset()),
        )
        if words is None:
            return None
        if alone:
            reply = render(rng.choice(replies), {}, rng)
            made = insert_exchange(draft, index, words, reply, sample_style(turn.text, rng, "instead"), None)
        else:
            beside: list[Placement] = ["before", "after", "between" if _SEAM.search(turn.text) else "after"]
            made = insert_words(
                draft, index, words, sample_style(turn.text, rng, rng.choice(beside)), code, None
            )
        return made.with_turn(index, replace(made.turns[index], probe=code))

    return HardNegative(code, f"{code}.not-{idea}", make)


def sample_heldout_placement(draft: ExampleDraft, index: int, rng: Random) -> Placement:
    """As `sample_placement`, but the agent's own words go only after a nod."""
    chosen = sample_placement(draft, index, rng)
    if chosen == "instead" and not is_nod(draft.turns[index - 1].text):
        return "before" if rng.random() < 0.5 else "after"
    return chosen


def end_with_stop(words: str, style: Style) -> str:
    """The words with a full stop if others follow them in the turn."""
    ended = words.endswith((".", "!", "?", ":"))
    return words if ended or style.where in ("after", "instead") else words + "."


def heldout_inserter(code: str, idea: Idea) -> MakeError:
    """Makes errors of one idea: the wrong wording in an agent turn, the right one in the twin."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = open_agent_turns(draft)
        if not indexes:
            return None
        index = rng.choice(indexes)
        style = sample_style(draft.turns[index].text, rng, sample_heldout_placement(draft, index, rng))
        wrong, right = (
            end_with_stop(render(template, idea.slots, rng), style) for template in rng.choice(idea.pairs)
        )
        return ErrorPair(
            error=insert_words(draft, index, wrong, style, code, f"{code}.{idea.name}"),
            twin=insert_words(draft, index, right, style, code, None),
        )

    return make


def lead_in(text: str, words: str, style: Style) -> str:
    """The agent's text led in by the words, if there are any; its own cheerful opening gives way to them."""
    if not words:
        return text
    core = _CHEER.sub("", text)
    core = core[:1].upper() + core[1:] if not style.lower else core
    return insert_text(core, words, style)[0]


def add_to_customer_turn(turn: DraftTurn, words: str, style: Style) -> DraftTurn:
    """The customer's turn with the words in it."""
    return edit_turn(turn, insert_text(turn.text, words, style)[0], None)


def exchange_words(
    draft: ExampleDraft, index: int, customer_words: str, words: str, code: str, rng: Random
) -> ExampleDraft:
    """`customer_words` in the customer's turn before `index`, and the agent's turn there led in by
    `words`, if any."""
    before, turn = draft.turns[index - 1], draft.turns[index]
    with_words = add_to_customer_turn(
        before, customer_words, sample_style(before.text, rng, rng.choice(["before", "after"]))
    )
    answered = edit_turn(turn, lead_in(turn.text, words, sample_style(turn.text, rng, "before")), None)
    return draft.with_turn(index - 1, with_words).with_turn(index, replace(answered, probe=code))
