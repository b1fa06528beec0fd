"""M3: the same text again, where the customer has said something that calls for another, or nothing new.

The twin has the agent's real answer in that place, or a customer who asks to read it again. A repetition
in the place of an answer leaves the ask open and is C1 as well; a question that comes again after it was
answered is U2 as well. What comes twice by nature, closings and offers of more help, does not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from dialint.labeling.synthetic.cleaning import find_repeats
from dialint.labeling.synthetic.dialogue_acts import (
    asks_anything,
    asks_clearly,
    asks_nothing,
    is_closing,
)
from dialint.labeling.synthetic.domains import scene_indexes
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
    Use,
    agent_turn,
    clean_turn,
    customer_turn,
    error_turn,
    match_agent_style,
    shuffle,
    splice,
    untouched_agent_turns,
)
from dialint.labeling.synthetic.wordings import Wordings, capitalize_first, match_style, render

_TRAIN = Wordings("train/repetition")
NOTHING_NEW = _TRAIN.texts("nothing_new")
SAY_AGAIN = _TRAIN.texts("say_again")
CHANGED = _TRAIN.texts("changed")
BYES = _TRAIN.texts("customer_byes")
OPENERS = _TRAIN.texts("openers")
CLOSERS = _TRAIN.texts("closers")

REMINDERS = Wordings("dev/repetition").texts("reminders")

_HELDOUT = Wordings("heldout/repetition")
PROTESTS = _HELDOUT.texts("protests")
PARDONS = _HELDOUT.texts("pardons")
CHASES = _HELDOUT.texts("chases")
PRESSES = _HELDOUT.texts("presses")
CANNED = _HELDOUT.texts("canned")

SYNONYMS = (
    (r"\bI'm\b", "I am"), (r"\bI am\b", "I'm"), (r"\bcannot\b", "can't"), (r"\bcan't\b", "cannot"),
    (r"\bdo not\b", "don't"), (r"\bdon't\b", "do not"), (r"\bwould you like\b", "do you want"),
    (r"\bI have\b", "I've"), (r"\bI've\b", "I have"), (r"\bprovide\b", "give"), (r"\bneed\b", "require"),
    (r"\bplease\b", "kindly"), (r"\bfound\b", "located"), (r"\bhelp\b", "assist"), (r"\bthere are\b", "we have"),
    (r"\bthere is\b", "there's"), (r"\bit is\b", "it's"), (r"\bis located\b", "is"), (r"\bcan I\b", "may I"),
    (r"\bmay I\b", "could I"), (r"\bshould I\b", "shall I"), (r"\bgreat\b", "wonderful"), (r"\bthat\b", "this"),
)  # fmt: skip
"""Words of one meaning: pattern and replacement."""

MIN_REPEATED = 20
"""Characters; a shorter reply may well come twice."""

_PREPARED = re.compile(
    r"\b(?:not? [\w' ]{0,200}available|accomm?odate|booked|confirmed|scheduled|successful(?:ly)?|completed)\b"
    r"|\bno \w+ that match\b",
    re.IGNORECASE,
)

_VALUED = re.compile(r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun|to)day\b|\?", re.I)


def _verbatim(text: str, rng: Random) -> str:
    return text


def _repointed(text: str, rng: Random) -> str:
    """The same words with other stops, capitals or a word of politeness before them."""
    changes: tuple[Callable[[str], str], ...] = (
        lambda t: t.rstrip(".!") + rng.choice(("!", "...", "", ".")),
        lambda t: t.replace(", ", " ") if ", " in t else t + "!",
        lambda t: rng.choice(OPENERS) + t,
        lambda t: t.lower() if t != t.lower() else t.capitalize(),
        lambda t: t + rng.choice(CLOSERS),
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
    return rng.choice(REMINDERS).replace("{}", text)


def _again(name: str, change: Callable[[str, Random], str], far: bool, use: Use = "train") -> Family:
    """The agent's earlier text comes again where the customer has said something new."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        turns, indexes = draft.turns, untouched_agent_turns(draft)
        for index in shuffle(indexes[1:], rng):
            before = turns[index - 1]
            earlier = [i for i in indexes if i < index and _repeatable(turns[i].text)]
            earlier = earlier[:-1] if far else earlier[-1:]
            if before.role != "customer" or before.touched or not earlier or len(before.text) < 8:
                continue
            if re.search(r"\b(repeat|again|say that|pardon)\b", before.text, re.IGNORECASE):
                continue
            at = rng.choice(earlier)
            source = turns[at].text
            text = change(source, rng)
            if text == source and change is not _verbatim:
                continue
            if (codes := _codes(draft, index, at, text)) is None:
                continue
            twin = draft.with_turn(index, clean_turn("agent", turns[index].text, "M3"))
            return ErrorPair(draft.with_turn(index, error_turn(text, f"M3.{name}", *codes)), twin)
        return None

    return Family("M3", f"M3.{name}", make, use)


_OPEN = re.compile(
    r"\b(?:what|which|when|where|whom?|how (?:many|long|much|big))\b[^?.!]{0,500}\?"
    r"|\b(?:may|can|could) i (?:have|get|ask)[^?.!]{0,500}\?"
    r"|\b(?:please|could you|can you) (?:provide|tell|give|enter|share|specify|describe)\b",
    re.IGNORECASE,
)
"""A question or request to be told something, which an answer settles."""

_HALF_OPEN = re.compile(
    r"\?|\bneed (?:a|the|your|to know|you)\b|(?:^|[.!] )(?:what|which|when|where|how many)\b|\belse\b",
    re.IGNORECASE,
)
"""What else may ask for something; whether it has been told is hard to say."""

_UNINFORMATIVE = re.compile(
    r"\?|\b(?:not sure|don'?t know|no idea|unsure|dunno|can'?t remember|wait|hold on|moment|second|mistake"
    r"|actually|also|instead|forg[eo]t|first|another|change[ds]?|meant)\b",
    re.IGNORECASE,
)

MAX_ANSWER = 25
"""Words of the longest turn that is taken for an answer to the question before it."""


def _codes(draft: ExampleDraft, index: int, source: int, text: str) -> tuple[str, ...] | None:
    """The codes of the `text` of turn `source` sent again at `index`: C1 too where an ask of the customer's
    is passed over, U2 too where he had answered what the text asks for. None if either is not clear."""
    request, answer = draft.turns[index - 1].text, draft.turns[source + 1]
    open_ask = asks_clearly(request)
    if not _OPEN.search(text) or "else" in text.lower():
        unclear = not open_ask and asks_anything(request) and not asks_nothing(request)
        return None if unclear or _HALF_OPEN.search(text) else ("M3", "C1") if open_ask else ("M3",)
    if (
        answer.role != "customer"
        or _UNINFORMATIVE.search(answer.text)
        or len(answer.text.split()) > MAX_ANSWER
    ):
        return None
    answered_just_now = source + 2 == index  # his wish is the answer, and it is asked about, if again
    return ("M3", "U2", "C1") if open_ask and not answered_just_now else ("M3", "U2")


def _repeatable(text: str) -> bool:
    return len(text) >= MIN_REPEATED and not is_closing(text) and "anything else" not in text.lower()


def _twice(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The same message sent twice in a row, as by a double click on a macro."""
    for index in shuffle(untouched_agent_turns(draft), rng):
        text = draft.turns[index].text
        if _repeatable(text) and not is_closing(text):
            pair = (clean_turn("agent", text), error_turn(text, "M3.twice", "M3"))
            single = (clean_turn("agent", text, "M3"),)
            return ErrorPair(splice(draft, index, index + 1, pair), splice(draft, index, index + 1, single))
    return None


def _customer_line(draft: ExampleDraft, template: str, rng: Random) -> DraftTurn:
    others = [turn.text for turn in draft.turns if turn.role == "customer"]
    return clean_turn("customer", match_style(capitalize_first(render(template, {}, rng)), others))


def _spots(draft: ExampleDraft) -> list[int]:
    """Agent turns with words that nobody should need twice; the customer speaks next, or nobody."""
    turns = draft.turns
    return [
        index
        for index in untouched_agent_turns(draft)
        if _repeatable(turns[index].text)
        and (index + 1 == len(turns) or turns[index + 1].role == "customer")
        and (index == 0 or turns[index - 1].role == "customer")
    ]


def _exchange(draft: ExampleDraft, index: int, request: DraftTurn, again: DraftTurn) -> ExampleDraft:
    """The draft with the customer's `request` after the agent's turn at `index`, and the agent's turn `again`."""
    return splice(draft, index + 1, index + 1, (request, again))


def _unmoved(name: str, change: Callable[[str, Random], str]) -> Family:
    """The customer says nothing new and gets the same text; in the twin he asks to read it again."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in shuffle(_spots(draft), rng):
            source = draft.turns[index].text
            text = change(source, rng)
            if "?" in source or (text == source and change is not _verbatim):
                continue
            nothing_new, request = (
                _customer_line(draft, rng.choice(wording), rng) for wording in (NOTHING_NEW, SAY_AGAIN)
            )
            return ErrorPair(
                _exchange(draft, index, nothing_new, error_turn(text, f"M3.{name}", "M3")),
                _exchange(draft, index, request, clean_turn("agent", text, "M3")),
            )
        return None

    return Family("M3", f"M3.{name}", make)


def _lawful_repeat(name: str, wording: tuple[str, ...], fits: Callable[[str], bool]) -> HardNegative:
    """The same words again, as the customer's turn between calls for."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        indexes = [index for index in _spots(draft) if fits(draft.turns[index].text)]
        if not indexes:
            return None
        index = rng.choice(indexes)
        again = clean_turn("agent", draft.turns[index].text, "M3")
        return _exchange(draft, index, _customer_line(draft, rng.choice(wording), rng), again)

    return HardNegative("M3", f"M3.not-{name}", make)


def _is_prepared(text: str) -> bool:
    """Whether the text would be the same after another wish: a refusal or confirmation without values."""
    return bool(_PREPARED.search(text)) and not _VALUED.search(text) and len(text) < 140


def _natural(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """A repeat of the corpus itself, which is lawful since the corpus is read so."""
    indexes = [
        index
        for before, index in find_repeats(draft.turns)
        if not any(turn.touched for turn in draft.turns[before : index + 1])
    ]
    if not indexes:
        return None
    index = rng.choice(indexes)
    return draft.with_turn(index, replace(draft.turns[index], touched=True, probe="M3"))


def _closed_twice(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer takes leave once more and gets the standard goodbye once more."""
    last = draft.turns[-1]
    if last.role != "agent" or last.touched or not is_closing(last.text) or "?" in last.text:
        return None
    again = clean_turn("agent", match_agent_style(last.text, draft), "M3")
    return _exchange(draft, len(draft.turns) - 1, _customer_line(draft, rng.choice(BYES), rng), again)


MIN_REPEATED_WORDS = 6


def _repeatable_pauses(draft: ExampleDraft, rng: Random) -> list[int]:
    """Pauses after a statement of the agent that is long enough to be sent again."""
    return [
        index
        for index in scene_indexes(draft, rng)
        if len(draft.turns[index - 1].text.split()) >= MIN_REPEATED_WORDS
    ]


def _protested(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer has understood and asks for something else; the twin's customer asks to hear it again."""
    for index in _repeatable_pauses(draft, rng):
        text = draft.turns[index - 1].text
        protest, pardon = (
            customer_turn(render(rng.choice(words), {}, rng), draft) for words in (PROTESTS, PARDONS)
        )
        return ErrorPair(
            splice(draft, index, index, (protest, _repeated(text, "M3.after-protest", protest))),
            splice(draft, index, index, (pardon, clean_turn("agent", text, "M3"))),
        )
    return None


def _canned(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """A side matter gets one canned answer twice; the twin's customer asks once and gets it once."""
    for index in scene_indexes(draft, rng):
        words = match_agent_style(render(rng.choice(CANNED), {}, rng), draft)
        chase, press = (customer_turn(render(rng.choice(each), {}, rng), draft) for each in (CHASES, PRESSES))
        again = _repeated(words, "M3.canned-twice", press)
        return ErrorPair(
            splice(draft, index, index, (chase, agent_turn(words, draft), press, again)),
            splice(draft, index, index, (chase, clean_turn("agent", words, "M3"))),
        )
    return None


def _repeated(text: str, family: str, before: DraftTurn) -> DraftTurn:
    """The text again; what was asked before it is passed over too."""
    return error_turn(text, family, *(("M3", "C1") if "?" in before.text else ("M3",)))


def _on_request(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """Sent again because the customer asked for it."""
    for index in _repeatable_pauses(draft, rng):
        pardon = customer_turn(render(rng.choice(PARDONS), {}, rng), draft)
        again = clean_turn("agent", draft.turns[index - 1].text, "M3")
        return splice(draft, index, index, (pardon, again))
    return None


FAMILIES: tuple[Family, ...] = (
    _again("verbatim", _verbatim, far=False),
    _again("verbatim-later", _verbatim, far=True),
    _again("repointed", _repointed, far=False),
    Family("M3", "M3.twice", _twice),
    _unmoved("unmoved", _verbatim),
    _unmoved("unmoved-repointed", _repointed),
    _again("reworded", _reworded, far=False, use="dev"),
    _again("reminder", _reminder, far=True, use="dev"),
    Family("M3", "M3.after-protest", _protested, "heldout"),
    Family("M3", "M3.canned-twice", _canned, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (
    _lawful_repeat("asked-again", SAY_AGAIN, lambda text: "?" not in text),
    _lawful_repeat("changed", CHANGED, _is_prepared),
    HardNegative("M3", "M3.not-natural", _natural),
    HardNegative("M3", "M3.not-closed-twice", _closed_twice),
    HardNegative("M3", "M3.not-on-request", _on_request, "heldout"),
)
