"""C1: a question that the agent passes over.

The customer asks; the reply is neither an answer, nor a deferral with a reason, nor a question about it.
Twins hold the same words where they are in order: after what they do answer, or beside the answer.
Replies to something else are in `mismatched_replies`.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.dialogue_acts import ask_points, asks_nothing, is_surely_unanswered, sentences
from dialint.labeling.synthetic.draft import (
    Draft,
    ErrorPair,
    Family,
    HardNegative,
    Pool,
    Use,
    clean_turn,
    customer_texts,
    error_turn,
    join_texts,
    match_agent_style,
)
from dialint.labeling.synthetic.mismatched_replies import FITTING, POINTED, pair_for_ask, pointed_indexes
from dialint.labeling.synthetic.phrases import Grammar, capitalize_first, expand, match_style
from dialint.labeling.synthetic.wordings import Wordings

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

    def make(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
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

    def make(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _dropped(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
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

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        for index in pointed_indexes(draft, rng, asking)[:1]:
            reply = match_agent_style(capitalize_first(expand(words, rng)), draft)
            return draft.with_turn(index, clean_turn("agent", reply, "C1"))
        return None

    return HardNegative("C1", f"C1.not-{name}", make)


def _short(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
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
)
NEGATIVES: tuple[HardNegative, ...] = (
    _honest("deferred", DEFER, POINTED),
    _honest("clarifying", {"say": CLARIFY}, POINTED),
    _honest("unknown", {"say": NO_ANSWER}, _FACT),
    HardNegative("C1", "C1.not-short", _short),
)
