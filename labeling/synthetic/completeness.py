"""C1: a question that the agent passes over, or answers with something else.

The reply is neither an answer, nor a deferral with a reason, nor a question about it. Twins hold the same
words where they are in order: after what they do answer, or beside the answer. A reply that brings in another
matter than the dialogue was about is U5 as well.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.dialogue_acts import (
    ask_points,
    asks_nothing,
    asks_question,
    content_words,
    is_closing,
    is_surely_unanswered,
    sentences,
)
from dialint.labeling.synthetic.domains import ASPECTS, SIDE_QUESTIONS, sample_side_question, scene_indexes
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
    Use,
    clean_turn,
    customer_texts,
    customer_turn,
    error_turn,
    join_texts,
    match_agent_style,
    shuffle,
    splice,
    untouched_agent_turns,
)
from dialint.labeling.synthetic.wordings import (
    Grammar,
    Wordings,
    capitalize_first,
    expand,
    match_style,
    render,
)

_REPLIES = Wordings("train/mismatched_replies")
FITTING = _REPLIES.pairs("fitting", "customer", "agent")
COUNTERS = _REPLIES.pairs("counters", "customer", "agent")
COUNTER_QUESTIONS = _REPLIES.pairs("counters_asked", "customer", "agent")

NEAR = tuple(frozenset(group) for group in SIDE_QUESTIONS.groups("near"))
"""Aspects so close that an answer about one may pass for an answer about the other."""
DEFERRALS = SIDE_QUESTIONS.texts("deferrals")

POINTED = re.compile(
    r"\b(what|which|how|when|where|why|who|is there|are there|is it|is that|are they|do they|does|do you"
    r"|will it|can i|could i|have you)\b[^?]{5,500}\?",
    re.IGNORECASE,
)
"""A customer's question with a point to it."""


def pointed_indexes(draft: ExampleDraft, rng: Random, asking: re.Pattern[str] = POINTED) -> list[int]:
    """Agent turns that answer a question of the kind `asking`, in random order."""
    indexes = (i for i in answered_asks(draft) if asking.search(draft.turns[i - 1].text))
    return shuffle(indexes, rng)


def pair_for_ask(
    draft: ExampleDraft, index: int, ask: str, fitting: str, reply: str, name: str, *more: str
) -> ErrorPair:
    """The reply after a question that it does not answer, and after one that it fits; `more` codes."""
    error, twin = (draft.with_turn(index - 1, clean_turn("customer", text)) for text in (ask, fitting))
    return ErrorPair(
        error.with_turn(index, error_turn(reply, f"C1.{name}", "C1", *more)),
        twin.with_turn(index, clean_turn("agent", reply, "C1")),
    )


def _written(name: str, *ideas: tuple[tuple[str, str], ...]) -> Family:
    """A reply of another matter; the twin's customer had said what it takes up. Half of the questions
    that are passed over are the customer's own, half belong to another reply of the list."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def answered_asks(draft: ExampleDraft) -> list[int]:
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


def _neighbour(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _elsewhere(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _deferred(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """A question put off with a reason and a time, or asked about."""
    for index in scene_indexes(draft, rng):
        request = customer_turn(render(rng.choice(rng.choice(list(ASPECTS.values()))[0]), {}, rng), draft)
        words = match_agent_style(render(rng.choice(DEFERRALS), {}, rng), draft)
        return splice(draft, index, index, (request, clean_turn("agent", words, "C1")))
    return None


_TRAIN = Wordings("train/completeness")
STALL = _TRAIN.grammar("stall")
STALLS = _TRAIN.texts("stalls")
DEFER = {**STALL, **_TRAIN.grammar("defer")}
GO_AHEAD = _TRAIN.grammar("go_ahead")
MORE = _TRAIN.grammar("offer_more")
ASSENT = _TRAIN.grammar("assent")
NOTED = _TRAIN.grammar("noted")
STATEMENTS = _TRAIN.texts("statements")
SETTLED = _TRAIN.texts("settled")
NEXT_REQUESTS = _TRAIN.texts("next_asked")
MORE_REQUESTS = _TRAIN.texts("more_asked")
STALL_REQUESTS = _TRAIN.records("stall_asked", "customer", "agent")
NOD_FITS = _TRAIN.texts("nod_fits")
CLARIFY = _TRAIN.texts("clarify")
NO_ANSWER = _TRAIN.texts("no_answer")
SHORT = _TRAIN.grammar("short")

_DEV = Wordings("dev/completeness")
ECHO = _DEV.grammar("echo")
ADVERT = _DEV.grammar("advert")

_OFFER = re.compile(
    r"^\s*(and |so )?(would you like|do you want|shall i|should i|can i|may i|could i|is there anything"
    r"|anything else|does that|is that|how does that|do you need)\b",
    re.IGNORECASE,
)

_FACT = re.compile(
    r"\b(what(?! about)|which|how(?! about| come)|when|where|who)\b[^?]{5,500}\?", re.IGNORECASE
)
"""A question that a mere yes cannot answer."""

_ENQUIRY = re.compile(
    r"\b(?:what(?! about)|which|how(?! about| come)|when|where|who|does it|do they|are|is|do you)\b"
    r"[^?]{5,500}\?",
    re.IGNORECASE,
)
"""A question for something to be told, and not a wish that pleasant words might grant."""

_YES_OR_NO = re.compile(
    r"^(?![^?]*\b(?:what|which|how|when|where|why|who|or|could|would|can|you)\b)"
    r"(?=[^?]*+\?[^?]*+$)(?:[^?]*[.!,] )?(?:is|are|does|did|will|was|were|has)\b",
    re.IGNORECASE,
)
"""A single question that yes or no answers."""

_VERB = re.compile(
    r"\b(?:is (?:it|that|this)|are (?:they|these|those)|does (?:it|that|this)|do they|(?:is|are) there)\b",
    re.IGNORECASE,
)

_OFFERS_MORE = re.compile(r"\b(?:anything|something|what) else\b|\bfurther\b|\bmore\b", re.IGNORECASE)

_HINTS = re.compile(r"\b(?:another|other|different|instead|somewhere|elsewhere|such|any)\b", re.IGNORECASE)
"""An offer that tells something of the answer: that there is none, or which."""

Fit = tuple[tuple[str, ...], Grammar]
"""What the twin's customer may say, and the agent's words that are in order after it."""


def _for_words(
    name: str, options: tuple[Fit, ...], asking: re.Pattern[str], definite: bool = False
) -> Family:
    """Words without an answer. In the twin the customer has said something that asks for no more, or has
    asked what these very words do answer. `definite`: only after questions for a place, a price, a time,
    where the words may be no hint at the answer."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in pointed_indexes(draft, rng, asking):
            requests, words = rng.choice(options)
            if "?" not in requests[0] and index >= 2 and "?" in draft.turns[index - 2].text:
                continue  # the agent waits for an answer, and the twin's customer would not give it
            reply = match_agent_style(capitalize_first(expand(words, rng)), draft)
            ask, fitting = (
                draft.turns[index - 1].text,
                match_style(rng.choice(requests), customer_texts(draft)),
            )
            other = rng.choice(FITTING)[0]
            passed = (
                match_style(other, customer_texts(draft))
                if rng.random() < 0.5 and asking.search(other)
                else ask
            )
            if passed == ask and definite and not ask_points(ask):
                continue
            if passed == ask and rng.random() < 0.4:  # the rest of the message stays: length is no sign
                rest = "".join(part for part in sentences(ask) if "?" not in part).strip()
                fitting = join_texts(rest, fitting)[0] if rest and asks_nothing(rest) else fitting
            return pair_for_ask(draft, index, passed, fitting, reply, name)
        return None

    return Family("C1", f"C1.{name}", make)


def _instead(name: str, grammar: Grammar, beside: str, use: Use) -> Family:
    """The answer gives way to words of the grammar; in the twin they stand before or after it."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in pointed_indexes(draft, rng):
            answer = draft.turns[index].text
            if beside == "after" and "?" in answer:
                continue
            words = match_agent_style(expand(grammar, rng, topic=_topic(draft.turns[index - 1].text)), draft)
            both = join_texts(answer, words)[0] if beside == "after" else join_texts(words, answer)[0]
            return ErrorPair(
                draft.with_turn(index, error_turn(words, f"C1.{name}", "C1")),
                draft.with_turn(index, clean_turn("agent", both, "C1")),
            )
        return None

    return Family("C1", f"C1.{name}", make, use)


def _topic(ask: str) -> str:
    """The customer's question as it can be said back, without its mark."""
    questions = [part for part in sentences(ask) if "?" in part]
    topic = max(questions or [ask], key=len).strip().rstrip("?.! ")
    return topic[:120]


def _dropped(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """Of answer and offer only the offer is left; the twin's customer had nothing to ask, or asked how to
    go on."""
    for index in pointed_indexes(draft, rng):
        ask, text = draft.turns[index - 1].text, draft.turns[index].text
        parts = [part for part in sentences(text) if part.strip()]
        if len(parts) < 2 or not _OFFER.match(parts[-1]) or "?" in "".join(parts[:-1]):
            continue
        if (
            _HINTS.search(parts[-1])
            or not is_surely_unanswered(ask, parts[-1])
            or (index >= 2 and "?" in draft.turns[index - 2].text)
        ):
            continue
        offer = parts[-1].strip()
        options = SETTLED if _OFFERS_MORE.search(offer) or rng.random() < 0.5 else NEXT_REQUESTS
        fitting = match_style(rng.choice(options), customer_texts(draft))
        return pair_for_ask(draft, index, ask, fitting, offer, "dropped")
    return None


def _honest(name: str, words: Grammar, asking: re.Pattern[str]) -> HardNegative:
    """A reply that holds no answer and is in order all the same."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        for index in pointed_indexes(draft, rng, asking)[:1]:
            reply = match_agent_style(capitalize_first(expand(words, rng)), draft)
            return draft.with_turn(index, clean_turn("agent", reply, "C1"))
        return None

    return HardNegative("C1", f"C1.not-{name}", make)


def _short(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """A very short answer, in the form of the question: "Does it ...?" "It does, yes."."""
    for index in pointed_indexes(draft, rng, _YES_OR_NO):
        question = next(part for part in sentences(draft.turns[index - 1].text) if "?" in part)
        opening = _VERB.search(question)
        if opening is None:
            continue
        answers = (*SHORT[""], *SHORT.get(" ".join(opening[0].lower().split()), ()))
        reply = match_agent_style(rng.choice(answers), draft)
        return draft.with_turn(index, clean_turn("agent", reply, "C1"))
    return None


_STALLED: Fit = (STATEMENTS, {**STALL, "say": (*STALLS, *STALLS, *STALL["say"])})
"""Pleasant words; the longer ones are put together from the rules of `STALL`."""

FAMILIES: tuple[Family, ...] = (
    _for_words("stall", (_STALLED,), _ENQUIRY),
    _for_words("stall-asked", tuple((asks, {"say": replies}) for asks, replies in STALL_REQUESTS), _ENQUIRY),
    _for_words("nodded", ((NOD_FITS, ASSENT), (STATEMENTS, NOTED)), _FACT),
    _for_words(
        "onward",
        ((SETTLED, GO_AHEAD), (NEXT_REQUESTS, GO_AHEAD), (SETTLED, MORE), (MORE_REQUESTS, MORE)),
        _FACT,
        definite=True,
    ),
    Family("C1", "C1.dropped", _dropped),
    _instead("echo", ECHO, "before", use="dev"),
    _instead("advert", ADVERT, "after", use="dev"),
    _written("policy", FITTING),
    _written("counter", COUNTERS, COUNTER_QUESTIONS),
    Family("C1", "C1.neighbour-question", _neighbour, "heldout"),
    Family("C1", "C1.reply-from-elsewhere", _elsewhere, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (
    _honest("deferred", DEFER, POINTED),
    _honest("clarifying", {"say": CLARIFY}, POINTED),
    _honest("unknown", {"say": NO_ANSWER}, _FACT),
    HardNegative("C1", "C1.not-short", _short),
    HardNegative("C1", "C1.not-put-off", _deferred, "heldout"),
)
