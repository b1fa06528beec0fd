"""T2: no word of sympathy at stated distress, and what looks like it and is not.

The twin acknowledges the distress, or has the same reply to a customer who states none. The hard
negatives: mild annoyance, distress that is over, short sympathy, sympathy shown a turn ago.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random

from dialint.labeling.synthetic.domains import is_silent_on, reply_indexes
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    MakeError,
    Mark,
    Pool,
    Use,
    add_customer_words,
    add_words,
    clean_turn,
    error_turn,
    match_agent_style,
)
from dialint.labeling.synthetic.insertion import (
    Style,
    add_to_customer_turn,
    edit_turn,
    exchange_words,
    lead_in,
    open_agent_turns,
    sample_style,
)
from dialint.labeling.synthetic.wordings import Wordings, render

_TRAIN = Wordings("train/empathy")
SLOTS = _TRAIN.grammar("slots")
COLD = _TRAIN.texts("cold")
NEUTRAL = _TRAIN.texts("neutral")
MILD = _TRAIN.texts("mild")
RESOLVED = _TRAIN.texts("resolved")
SHORT_SYMPATHY = _TRAIN.texts("short_heard")

_DEV = Wordings("dev/empathy")

_HELDOUT = Wordings("heldout/empathy")
DISTRESS_HELDOUT = _HELDOUT.pairs_by_name("distress", "sad", "calm")
INDIFFERENT_HELDOUT = _HELDOUT.texts("deaf")
SYMPATHY_HELDOUT = _HELDOUT.texts("heard")
MILD_HELDOUT = _HELDOUT.texts("mild")


@dataclass(frozen=True)
class Distress:
    """One kind of distress: templates of the customer's `complaints`, and `sympathies` that fit it, besides
    those of its `voice`."""

    name: str
    complaints: tuple[str, ...]
    sympathies: tuple[str, ...]


@dataclass(frozen=True)
class Voice:
    """How agents of one author answer: `sympathies` fit every distress, `indifferent` answers ignore it."""

    sympathies: tuple[str, ...]
    indifferent: tuple[str, ...]
    use: Use = "train"


def _kinds(file: Wordings) -> tuple[Distress, ...]:
    kinds = file.records_by_name("distress", "said", "heard")
    return tuple(Distress(name, complaints, sympathies) for name, (complaints, sympathies) in kinds.items())


KINDS = _kinds(_TRAIN)
VOICE = Voice(_TRAIN.texts("heard"), _TRAIN.texts("unheard"))
DEV_KINDS = _kinds(_DEV)
DEV_VOICE = Voice(_DEV.texts("heard"), _DEV.texts("unheard"), "dev")

_SYMPATHY = re.compile(
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


def distress_indexes(draft: ExampleDraft) -> list[int]:
    """Agent turns right after a customer turn where distress may be stated and is not acknowledged yet."""
    indexes = []
    upset = (i for i, turn in enumerate(draft.turns) if turn.role == "customer" and _UPSET.search(turn.text))
    first_upset = next(upset, len(draft.turns))
    for index in open_agent_turns(draft):
        if index > first_upset:
            break
        before = draft.turns[index - 1] if index else None
        if before is None or before.role != "customer" or before.touched or not before.text.strip():
            continue
        if _SYMPATHY.search(draft.turns[index].text) or _PARTING.search(draft.turns[index].text):
            continue
        if not _PARTING.search(before.text):
            indexes.append(index)
    return indexes


def _ignore_distress(
    draft: ExampleDraft, index: int, words: str, style: Style, family: str | None
) -> ExampleDraft:
    """The agent's turn led in by the words, if any; all of it is marked as an error of `family`, if one."""
    text = lead_in(draft.turns[index].text, words, style)
    mark = Mark("T2", family, 0, len(text)) if family else None
    return draft.with_turn(index, edit_turn(draft.turns[index], text, mark))


def distress_ignorer(kind: Distress, voice: Voice) -> MakeError:
    """Makes replies that ignore one kind of distress. The twin acknowledges it, or, one time in three, has
    the same reply to a customer who states no distress."""
    name = f"T2.{kind.name}"

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = distress_indexes(draft)
        if not indexes:
            return None
        index = rng.choice(indexes)
        before, turn = draft.turns[index - 1], draft.turns[index]
        distress = render(rng.choice(kind.complaints), SLOTS, rng)
        calm = render(rng.choice(NEUTRAL), SLOTS, rng)
        sympathy = render(rng.choice((*kind.sympathies, *kind.sympathies, *voice.sympathies)), SLOTS, rng)
        cold = voice.use == "train" and rng.random() < 0.1
        dry = rng.choice(COLD if cold else voice.indifferent)
        cold_lead = render(dry, SLOTS, rng) if rng.random() < 0.75 else ""
        complaint_style = sample_style(before.text, rng, rng.choice(("before", "after")))
        leading = sample_style(turn.text, rng, "before")
        trailing = replace(leading, where="after") if rng.random() < 0.15 else leading

        def version(customer_words: str, words: str, style: Style, family: str | None) -> ExampleDraft:
            with_complaint = draft.with_turn(
                index - 1, add_to_customer_turn(before, customer_words, complaint_style)
            )
            return _ignore_distress(with_complaint, index, words, style, family)

        error = version(distress, cold_lead, leading, name)
        if rng.random() < 0.35 and not (cold and cold_lead):
            return ErrorPair(error=error, twin=version(calm, cold_lead, leading, None))
        return ErrorPair(error=error, twin=version(distress, sympathy, trailing, None))

    return make


def _no_distress(name: str, remarks: tuple[str, ...]) -> HardNegative:
    """The customer makes one of the `remarks`; the agent goes on, half the time with a dry lead-in."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        indexes = distress_indexes(draft)
        if not indexes:
            return None
        dry = render(rng.choice(VOICE.indifferent), SLOTS, rng) if rng.random() < 0.5 else ""
        words = render(rng.choice(remarks), SLOTS, rng)
        return exchange_words(draft, rng.choice(indexes), words, dry, "T2", rng)

    return HardNegative("T2", f"T2.not-{name}", make)


def _short_sympathy(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """Distress, and two words of sympathy before business."""
    indexes = distress_indexes(draft)
    if not indexes:
        return None
    complaint = render(rng.choice(rng.choice(KINDS).complaints), SLOTS, rng)
    words = render(rng.choice(SHORT_SYMPATHY), {}, rng)
    return exchange_words(draft, rng.choice(indexes), complaint, words, "T2", rng)


def _sympathy_before(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """Distress with sympathy one agent turn earlier; the agent's next turn may be plain business."""
    distressed = set(distress_indexes(draft))
    indexes = [index for index in sorted(distressed) if index + 2 in distressed]
    if not indexes:
        return None
    index = rng.choice(indexes)
    kind = rng.choice(KINDS)
    complaint = render(rng.choice(kind.complaints), SLOTS, rng)
    words = render(rng.choice((*kind.sympathies, *VOICE.sympathies)), SLOTS, rng)
    made = exchange_words(draft, index, complaint, words, "", rng)
    later = made.turns[index + 2]
    return made.with_turn(index + 2, replace(later, touched=True, probe="T2"))


_FEELING = r"\b(sorry|sad|unfortunate|apolog|hope you|take care|oh no|hear that)"


def _ignored_heldout(name: str, pairs: tuple[tuple[str, str], ...]) -> Family:
    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in reply_indexes(draft, rng)[:3]:
            own = draft.turns[index].text
            if not is_silent_on(_FEELING, [own]):
                continue
            sad, calm = (render(words, {}, rng) for words in rng.choice(pairs))
            lead = match_agent_style(rng.choice(INDIFFERENT_HELDOUT), draft) if rng.random() < 0.4 else ""
            text = _led(own, lead)
            history = add_customer_words(draft, index - 1, sad)
            error = history.with_turn(index, error_turn(text, f"T2.{name}", "T2"))
            if rng.random() < 0.5:
                sympathetic = _led(own, match_agent_style(rng.choice(SYMPATHY_HELDOUT), draft))
                return ErrorPair(error, history.with_turn(index, clean_turn("agent", sympathetic, "T2")))
            same = add_customer_words(draft, index - 1, calm).with_turn(
                index, clean_turn("agent", text, "T2")
            )
            return ErrorPair(error, same)
        return None

    return Family("T2", f"T2.{name}", make, "heldout")


def _led(text: str, lead: str) -> str:
    words = lead.lower().split()
    if not words or re.match(re.escape(words[0].strip(".,!")) + r"\b", text, re.IGNORECASE):
        return text
    return add_words(DraftTurn("agent", text), lead, first=True).text


def _mild(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """A remark in passing, which calls for no sympathy."""
    for index in reply_indexes(draft, rng):
        with_remark = add_customer_words(draft, index - 1, rng.choice(MILD_HELDOUT))
        return with_remark.with_turn(index, clean_turn("agent", draft.turns[index].text, "T2"))
    return None


FAMILIES: tuple[Family, ...] = (
    *(Family("T2", f"T2.{kind.name}", distress_ignorer(kind, VOICE)) for kind in KINDS),
    *(Family("T2", f"T2.{kind.name}", distress_ignorer(kind, DEV_VOICE), "dev") for kind in DEV_KINDS),
    *(_ignored_heldout(name, pairs) for name, pairs in DISTRESS_HELDOUT.items()),
)
NEGATIVES: tuple[HardNegative, ...] = (
    _no_distress("mild", MILD),
    _no_distress("resolved", RESOLVED),
    HardNegative("T2", "T2.not-brief", _short_sympathy),
    HardNegative("T2", "T2.not-heard-before", _sympathy_before),
    HardNegative("T2", "T2.not-mild-remark", _mild, "heldout"),
)
