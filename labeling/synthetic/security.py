"""V2: an agent who asks for secrets.

The ask is a sentence in a turn or a turn of its own with the customer's reply. The twin asks for what is
lawful, or speaks of the secret without asking for it. The hard negatives talk of cards and codes, warn,
verify by what is lawful, or turn down a secret that is offered. Disclosure (V1) is not made here.
"""

from __future__ import annotations

from random import Random

from dialint.labeling.synthetic.domains import reply_indexes
from dialint.labeling.synthetic.example_draft import (
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
    clean_turn,
    join_texts,
    match_agent_style,
)
from dialint.labeling.synthetic.insertion import (
    Idea,
    exchange_words,
    harmless_negative,
    heldout_inserter,
    idea_inserter,
    open_replies,
    read_ideas,
)
from dialint.labeling.synthetic.wordings import Wordings, render

_LAWFUL = Wordings("train/security_lawful")
CARD_TALK = _LAWFUL.texts("card_talk")
WARNING = _LAWFUL.texts("warning")
SELF_ENTRY = _LAWFUL.texts("self_entry")
CHECKING = _LAWFUL.texts("checking")
BY_MESSAGE = _LAWFUL.texts("by_message")
HARMLESS = _LAWFUL.grammar("harmless")
OFFERS = _LAWFUL.texts("offers")
DECLINED = _LAWFUL.texts("declined")
REPLIES = _LAWFUL.texts("replies")
"""What customers say to it; the same in the error and in the twin."""

_HELDOUT = Wordings("heldout/security")
LAWFUL_HELDOUT = _HELDOUT.texts("lawful")

IDEAS: tuple[Idea, ...] = (
    *read_ideas("train", "security"),
    *read_ideas("train", "security_domains"),
    *read_ideas("train", "security_general"),
    *read_ideas("dev", "security"),
    *read_ideas("heldout", "security"),
)


def _declined(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer offers a secret and the agent will not have it."""
    indexes = [index for index in open_replies(draft) if not draft.turns[index - 1].touched]
    if not indexes:
        return None
    index = rng.choice(indexes)
    offer, refusal = (render(rng.choice(texts), {}, rng) for texts in (OFFERS, DECLINED))
    return exchange_words(draft, index, offer, refusal, "V2", rng)


def _lawful(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """Last four digits, warnings, and codes that the customer keeps to himself."""
    for index in reply_indexes(draft, rng):
        words = match_agent_style(render(rng.choice(LAWFUL_HELDOUT), {}, rng), draft)
        text = join_texts(draft.turns[index].text, words)[0]
        return draft.with_turn(index, clean_turn("agent", text, "V2"))
    return None


FAMILIES: tuple[Family, ...] = tuple(
    Family(
        "V2",
        f"V2.{idea.name}",
        heldout_inserter("V2", idea) if idea.use == "heldout" else idea_inserter("V2", idea, REPLIES),
        idea.use,
    )
    for idea in IDEAS
)
NEGATIVES: tuple[HardNegative, ...] = (
    harmless_negative("V2", "card-talk", CARD_TALK, {}, REPLIES[3:4]),
    harmless_negative("V2", "warning", WARNING, {}, REPLIES[3:4]),
    harmless_negative("V2", "self-entry", SELF_ENTRY, {}, REPLIES),
    harmless_negative("V2", "lawful-check", CHECKING, {}, REPLIES),
    harmless_negative("V2", "by-message", BY_MESSAGE, HARMLESS, REPLIES[3:4]),
    HardNegative("V2", "V2.not-declined", _declined),
    HardNegative("V2", "V2.not-lawful-question", _lawful, "heldout"),
)
