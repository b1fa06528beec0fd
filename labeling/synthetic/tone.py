"""T1: rude or blaming words of the agent, and what looks rude and is not.

The hard negatives: short answers, firm rules, corrections, own fault, quoted rudeness, rude customers who
get a calm reply.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from dialint.labeling.synthetic.domains import reply_indexes
from dialint.labeling.synthetic.example_draft import (
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Mark,
    Pool,
    clean_turn,
    join_texts,
    match_agent_style,
)
from dialint.labeling.synthetic.insertion import (
    Idea,
    apply_style,
    edit_turn,
    exchange_words,
    harmless_negative,
    heldout_inserter,
    idea_inserter,
    open_agent_turns,
    open_replies,
    read_ideas,
    sample_style,
)
from dialint.labeling.synthetic.wordings import Wordings, render

_TRAIN = Wordings("train/tone")
CURT = _TRAIN.texts("curt")
FIRM = _TRAIN.texts("firm")
CORRECTING = _TRAIN.texts("correcting")
OWN_FAULT = _TRAIN.texts("own_fault")
INSULTS = _TRAIN.texts("insults")
REPORTED = _TRAIN.texts("reported")
QUOTES = _TRAIN.texts("quotes")
RUDE_CUSTOMER = _TRAIN.texts("rude_customer")
CALM = _TRAIN.texts("calm")
COMEBACKS = _TRAIN.texts("comebacks")
DEMANDS = _TRAIN.pairs("barked")
DEMAND_SLOTS = _TRAIN.grammar("barked_slots")

_HELDOUT = Wordings("heldout/tone")
FIRM_HELDOUT = _HELDOUT.texts("firm")

IDEAS: tuple[Idea, ...] = (
    *read_ideas("train", "rude"),
    *read_ideas("train", "rude_blame"),
    *read_ideas("train", "rude_brief"),
    *read_ideas("train", "rude_rants"),
    *read_ideas("dev", "tone"),
    *read_ideas("heldout", "tone"),
)

_ASK = re.compile(
    r"(?:(?:may|can|could|might) i (?:please )?(?:have|get|know)|what(?:'s| is| are)) "
    r"your (?P<thing>(?!prefer)[a-z][a-z' ]{2,30}?)(?:,? please)? ?\?",
    re.IGNORECASE,
)


def _demand(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The agent's own question for something, turned into a bark; in the twin, into a request."""
    asks = [
        (index, ask) for index in open_agent_turns(draft) if (ask := _ASK.search(draft.turns[index].text))
    ]
    if not asks:
        return None
    index, ask = rng.choice(asks)
    slots = {**DEMAND_SLOTS, "thing": (ask["thing"].lower(),)}
    wrong, right = (render(template, slots, rng) for template in rng.choice(DEMANDS))
    turn = draft.turns[index]
    style = replace(sample_style(turn.text, rng, "after"), bare=False)
    head, tail = turn.text[: ask.start()], turn.text[ask.end() :]

    def version(words: str, family: str | None) -> ExampleDraft:
        words = apply_style(words, style)
        if head.strip() and head.rstrip()[-1] not in ".!?":
            words = words[0].lower() + words[1:]
        mark = Mark("T1", family, len(head), len(head) + len(words)) if family else None
        return draft.with_turn(index, edit_turn(turn, head + words + tail, mark))

    return ErrorPair(error=version(wrong, "T1.bark"), twin=version(right, None))


def _rude_customer(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer is rude, the agent stays calm."""
    indexes = [
        index
        for index in open_agent_turns(draft)
        if index and draft.turns[index - 1].role == "customer" and not draft.turns[index - 1].touched
    ]
    if not indexes:
        return None
    index = rng.choice(indexes)
    rude, calm = (render(rng.choice(texts), {}, rng) for texts in (RUDE_CUSTOMER, CALM))
    return exchange_words(draft, index, rude, calm, "T1", rng)


def _quoting(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer reports what somebody rude said, and the agent quotes and disowns it."""
    indexes = [index for index in open_replies(draft) if not draft.turns[index - 1].touched]
    if not indexes:
        return None
    slots = {"insult": (rng.choice(INSULTS),)}
    report, words = (render(rng.choice(texts), slots, rng) for texts in (REPORTED, QUOTES))
    return exchange_words(draft, rng.choice(indexes), report, words, "T1", rng)


def _firm(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The agent is short or firm but not rude."""
    for index in reply_indexes(draft, rng):
        words = match_agent_style(render(rng.choice(FIRM_HELDOUT), {}, rng), draft)
        own, first = draft.turns[index].text, rng.random() < 0.5
        text = join_texts(words, own)[0] if first else join_texts(own, words)[0]
        return draft.with_turn(index, clean_turn("agent", text, "T1"))
    return None


FAMILIES: tuple[Family, ...] = (
    *(
        Family(
            "T1",
            f"T1.{idea.name}",
            heldout_inserter("T1", idea) if idea.use == "heldout" else idea_inserter("T1", idea, COMEBACKS),
            idea.use,
        )
        for idea in IDEAS
    ),
    Family("T1", "T1.bark", _demand),
)
NEGATIVES: tuple[HardNegative, ...] = (
    harmless_negative("T1", "curt", CURT, {}, COMEBACKS),
    harmless_negative("T1", "firm", FIRM, {}, COMEBACKS),
    harmless_negative("T1", "correcting", CORRECTING, {}, COMEBACKS),
    harmless_negative("T1", "own-fault", OWN_FAULT, {}, COMEBACKS),
    HardNegative("T1", "T1.not-quoting", _quoting),
    HardNegative("T1", "T1.not-the-customer", _rude_customer),
    HardNegative("T1", "T1.not-firm-answer", _firm, "heldout"),
)
