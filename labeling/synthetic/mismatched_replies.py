"""C1 by replies to something else: only question and reply together show that they do not belong together.

Error and twin have the same reply, and both customers ask. Where the reply brings in another matter than
the dialogue was about it is U5 as well. What has no clear answer to either is left out.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.dialogue_acts import (
    asks_question,
    content_words,
    is_closing,
    is_other_topic,
    is_surely_unanswered,
    opens_like_answer,
    sentences,
)
from dialint.labeling.synthetic.draft import (
    Draft,
    DraftTurn,
    ErrorPair,
    Family,
    HardNegative,
    Pool,
    clean_turn,
    customer_texts,
    customer_turn,
    error_turn,
    match_agent_style,
    shuffle,
    splice,
    untouched_agent_turns,
)
from dialint.labeling.synthetic.insertion import render
from dialint.labeling.synthetic.phrases import match_style
from dialint.labeling.synthetic.scenes import ASPECTS, SIDE_QUESTIONS, sample_side_question, scene_indexes
from dialint.labeling.synthetic.wordings import Wordings

_TRAIN = Wordings("train/mismatched_replies")
FITTING = _TRAIN.pairs("fitting", "customer", "agent")
COUNTERS = _TRAIN.pairs("counters", "customer", "agent")
COUNTER_QUESTIONS = _TRAIN.pairs("counters_asked", "customer", "agent")

NEAR = tuple(frozenset(group) for group in SIDE_QUESTIONS.groups("near"))
"""Aspects so close that an answer about one may pass for an answer about the other."""
DEFERRALS = SIDE_QUESTIONS.texts("deferrals")

MAX_TRIES = 60


POINTED = re.compile(
    r"\b(what|which|how|when|where|why|who|is there|are there|is it|is that|are they|do they|does|do you"
    r"|will it|can i|could i|have you)\b[^?]{5,500}\?",
    re.IGNORECASE,
)
"""A customer's question with a point to it."""


_DEFERS = re.compile(
    r"\b(check|moment|look|minute|sorry|hold|wait|unable|cannot|can't|i will|i'll|let me|not know|don't know"
    r"|apolog\w*|afraid|unfortunately|don't have)\b",
    re.IGNORECASE,
)


def pointed_indexes(draft: Draft, rng: Random, asking: re.Pattern[str] = POINTED) -> list[int]:
    """Agent turns that answer a question of the kind `asking`, in random order."""
    indexes = (i for i in answered_asks(draft) if asking.search(draft.turns[i - 1].text))
    return shuffle(indexes, rng)


def pair_for_ask(
    draft: Draft, index: int, ask: str, fitting: str, reply: str, name: str, *more: str
) -> ErrorPair:
    """The reply after a question that it does not answer, and after one that it fits; `more` codes."""
    error, twin = (draft.with_turn(index - 1, clean_turn("customer", text)) for text in (ask, fitting))
    return ErrorPair(
        error.with_turn(index, error_turn(reply, f"C1.{name}", "C1", *more)),
        twin.with_turn(index, clean_turn("agent", reply, "C1")),
    )


def _statement(reply: str) -> str:
    """The reply without the questions at its end."""
    parts = sentences(reply)
    while parts and "?" in parts[-1]:
        parts.pop()
    return "".join(parts).strip()


def _answers(ask: str, reply: str) -> bool:
    """Whether the reply is a plain statement, long enough to be an answer to this question alone."""
    return (
        25 <= len(reply) <= 240
        and "?" not in reply
        and len(ask) <= 240
        and bool(POINTED.search(ask))
        and not is_closing(reply)
        and not _DEFERS.search(reply)
        and len(content_words(reply)) >= 3
    )


def _mine(draft: Draft, index: int) -> tuple[str, str, Draft] | None:
    """The question, its answer, and the draft to put them in: the log ends here if the agent had gone on
    to ask something, for that is left out."""
    ask, text = draft.turns[index - 1].text, draft.turns[index].text
    reply = _statement(text)
    if not _answers(ask, reply) or any(turn.marks for turn in draft.turns[index:]):
        return None
    return ask, reply, draft if reply == text.strip() else splice(draft, index + 1, len(draft.turns), ())


def _codes(draft: Draft, index: int, ask: str, reply: str) -> tuple[str, ...] | None:
    """The codes besides C1 of a reply that does not answer `ask`; None if either is not clear. A reply of
    another matter answers nothing; any other must miss the points of a definite question."""
    earlier = " ".join((*(turn.text for turn in draft.turns[: index - 1]), ask))
    jump = is_other_topic(reply, earlier)
    if jump and not opens_like_answer(reply):
        return ("U5",)
    return () if jump is False and is_surely_unanswered(ask, reply) else None


def _borrowed(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer's own question with an answer of another dialogue of the domain."""
    exchanges = pool.exchanges.get(draft.domain, [])
    for index in pointed_indexes(draft, rng) if exchanges else ():
        own = draft.turns[index - 1].text
        for _ in range(MAX_TRIES):
            fitting, whole = rng.choice(exchanges)
            reply = _statement(whole)
            if fitting == own or not _answers(fitting, reply):
                continue
            codes = _codes(draft, index, own, reply)
            if codes is not None:
                return pair_for_ask(draft, index, own, fitting, reply, "borrowed", *codes)
    return None


def _lent(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The agent's own answer after a question of another dialogue of the domain."""
    exchanges = pool.exchanges.get(draft.domain, [])
    for index in pointed_indexes(draft, rng) if exchanges else ():
        if (mine := _mine(draft, index)) is None:
            continue
        own, reply, base = mine
        for _ in range(MAX_TRIES):
            ask = rng.choice(exchanges)[0]
            if ask == own or len(ask) > 240 or not POINTED.search(ask):
                continue
            codes = _codes(base, index, ask, reply)
            if codes is not None:
                return pair_for_ask(base, index, ask, own, reply, "lent", *codes)
    return None


def _misfit(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The agent's own answer after a question of the list instead of the customer's own."""
    for index in pointed_indexes(draft, rng):
        if (mine := _mine(draft, index)) is None:
            continue
        own, reply, base = mine
        earlier = " ".join(turn.text for turn in base.turns[: index - 1])
        for ask in rng.sample([pair[0] for pair in FITTING], 8):
            if content_words(ask) & content_words(own + " " + reply) or opens_like_answer(reply):
                continue
            jump = index < 2 or is_other_topic(reply, f"{earlier} {ask}")  # the first turn raises everything
            if jump is not None:
                passed = match_style(ask, customer_texts(draft))
                return pair_for_ask(base, index, passed, own, reply, "misfit", *(("U5",) if jump else ()))
    return None


def _written(name: str, *ideas: tuple[tuple[str, str], ...]) -> Family:
    """A reply of another matter; the twin's customer had said what it takes up. Half of the questions
    that are passed over are the customer's own, half belong to another reply of the list."""

    def make(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in pointed_indexes(draft, rng)[:3]:
            own = draft.turns[index - 1].text
            fitting, reply = rng.choice(rng.choice(ideas))
            if (content_words(own) | content_words(draft.turns[index].text)) & content_words(reply):
                continue
            passed = own if rng.random() < 0.5 else rng.choice(FITTING)[0]
            if content_words(passed) & content_words(reply + " " + fitting):
                continue
            customers = customer_texts(draft)
            passed, fitting = (
                text if text == own else match_style(text, customers) for text in (passed, fitting)
            )
            return pair_for_ask(draft, index, passed, fitting, match_agent_style(reply, draft), name, "U5")
        return None

    return Family("C1", f"C1.{name}", make)


def answered_asks(draft: Draft) -> list[int]:
    """Indexes of untouched agent turns that directly follow an untouched customer question and are
    the agent's only turn before the customer speaks again."""
    turns = draft.turns
    return [
        i
        for i in untouched_agent_turns(draft)
        if i
        and turns[i - 1].role == "customer"
        and not turns[i - 1].touched
        and asks_question(turns[i - 1].text)
        and (i + 1 == len(turns) or turns[i + 1].role == "customer")
    ]


_POINTS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "phone": r"phone|number|call|\d{7}",
        "place": r"address|where|located|area|street|road|postcode|centre|center|north|south|east|west",
        "money": r"price|cost|how much|fee|fare|pounds?|gbp|[$£€]|expensive|cheap|free|dollar",
        "time": r"when|what time|how long|hours?|open|close|leave|arriv|minutes|\d:\d\d|\b[ap]m\b|day|date",
        "kind": r"what (kind|type|sort)|rating|stars?|food|cuisine|colou?r|look like|wifi|parking|internet",
        "count": r"how many|available|availab|are there|is there|do you have|do they have",
        "ref": r"reference|confirmation|booking|order|status",
    }.items()
}


_QUESTION = re.compile(
    r"\b(what|which|when|where|who|how (much|many|long|far))\b[^?.!]{6,500}\?", re.IGNORECASE
)


_PUTS_OFF = re.compile(
    r"\b(let me|i will|i'll|moment|check|look|sorry|unfortunately|cannot|can't|don't|not|"
    r"unable|sure|certainly|yes|no|would you|could you|welcome|help)\b|\?",
    re.IGNORECASE,
)


def _points(text: str) -> set[str]:
    """What the text may be about: phone, place, money and so on."""
    return {name for name, pattern in _POINTS.items() if pattern.search(text)}


def _neighbour(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """A side question, and the answer to another one, which is a jump too; the twin asks that other one."""
    for index in scene_indexes(draft, rng):
        one, other = rng.sample(list(ASPECTS), 2)
        while frozenset({one, other}) in NEAR:
            one, other = rng.sample(list(ASPECTS), 2)
        question, answer = sample_side_question(other, rng)
        passed = customer_turn(sample_side_question(one, rng)[0], draft)
        fitting, words = customer_turn(question, draft), match_agent_style(answer, draft)
        return ErrorPair(
            splice(draft, index, index, (passed, error_turn(words, "C1.neighbour-question", "C1", "U5"))),
            splice(draft, index, index, (fitting, clean_turn("agent", words, "C1"))),
        )
    return None


def _elsewhere(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The reply comes from another dialogue of this domain; the twin's customer had asked for that."""
    exchanges = pool.exchanges.get(draft.domain, [])
    for index in shuffle(answered_asks(draft), rng) if exchanges else ():
        ask = draft.turns[index - 1].text
        if (
            index < 2
            or not _QUESTION.search(ask)
            or ask.count("?") > 1
            or is_closing(draft.turns[index].text)
        ):
            continue
        for question, reply in rng.sample(exchanges, min(len(exchanges), 60)):
            if _unfit(ask, draft.turns[index].text, question, reply):
                continue
            fitting = DraftTurn("customer", question, touched=True)
            return ErrorPair(
                draft.with_turn(index, error_turn(reply, "C1.reply-from-elsewhere", "C1")),
                splice(draft, index - 1, index + 1, (fitting, clean_turn("agent", reply, "C1"))),
            )
    return None


def _unfit(ask: str, own: str, question: str, reply: str) -> bool:
    """Whether the borrowed exchange is of no use here: it may answer the ask, or is no real answer."""
    words = content_words(reply)
    return (
        len(words) < 3
        or len(reply) > 200
        or is_closing(reply)
        or bool(_PUTS_OFF.search(reply))
        or not asks_question(question)
        or bool(words & content_words(ask))
        or bool(_points(ask) & (_points(reply) | _points(question)))
        or not _points(ask)
        or not words & content_words(question) | _answering_words(question, reply)
        or reply == own
    )


def _answering_words(question: str, reply: str) -> set[str]:
    """The words of the reply if it speaks of what the question asks for."""
    return content_words(reply) if _points(question) & _points(reply) else set()


def _deferred(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """A question put off with a reason and a time, or asked about."""
    for index in scene_indexes(draft, rng):
        request = customer_turn(render(rng.choice(rng.choice(list(ASPECTS.values()))[0]), {}, rng), draft)
        words = match_agent_style(render(rng.choice(DEFERRALS), {}, rng), draft)
        return splice(draft, index, index, (request, clean_turn("agent", words, "C1")))
    return None


FAMILIES: tuple[Family, ...] = (
    Family("C1", "C1.borrowed", _borrowed),
    Family("C1", "C1.lent", _lent),
    Family("C1", "C1.misfit", _misfit),
    _written("policy", FITTING),
    _written("counter", COUNTERS, COUNTER_QUESTIONS),
    Family("C1", "C1.neighbour-question", _neighbour, "heldout"),
    Family("C1", "C1.reply-from-elsewhere", _elsewhere, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (HardNegative("C1", "C1.not-put-off", _deferred, "heldout"),)
