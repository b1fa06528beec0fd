"""U5: the agent leaves the topic for one that the customer never raised.

Turns are borrowed from other domains, or are of somebody else's case. In the twin the customer has raised
that topic first, so the same agent turn is in order there.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.dialogue_acts import content_words, is_closing, is_nod, is_thanks, left_open
from dialint.labeling.synthetic.draft import (
    Draft,
    Family,
    HardNegative,
    Made,
    Pool,
    agent_texts,
    as_agent,
    customer,
    free_agent_turns,
    joined,
    plain,
    shuffled,
    spliced,
    told,
    wrong,
)
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.phrases import Grammar, capital, like, say
from dialint.labeling.synthetic.scenes import ASPECTS, MIN_TURNS, pauses, replies, side_question, silent_on
from dialint.labeling.synthetic.wordings import Wordings

_TRAIN = Wordings("train/topic")
ERRANDS = _TRAIN.records("errands", "customer", "agent")
LINKS = _TRAIN.texts("links")
HEARD = _TRAIN.texts("heard")
AT_THE_END = _TRAIN.texts("at_the_end")

_DEV = Wordings("dev/topic")
PERSONS = _DEV.texts("persons")
CHAT = _DEV.grammar("chat")
CHAT_ASKED = _DEV.grammar("chat_asked")
MISDIRECTED = _DEV.grammar("misdirected")
MISDIRECTED_ASKED = _DEV.grammar("misdirected_asked")

_HELDOUT = Wordings("heldout/topic")
OTHER_CASE = _HELDOUT.records("other_case", "agent", "customer", "topic")
BULLETINS = _HELDOUT.records("bulletins", "agent", "customer", "topic")
LEADS = _HELDOUT.texts("leads")

MAX_TRIES = 30


MIN_FOREIGN_WORDS = 4


_TRAVEL = frozenset({"travel", "hotel", "restaurant", "ride", "trip", "plane", "airline"})


def _akin(one: str, other: str) -> bool:
    """Whether two trades may share topics."""
    a, b = set(one.split("+")), set(other.split("+"))
    return bool(a & b) or bool(a & _TRAVEL and b & _TRAVEL) or {"star"} & (a | b) != set()


def _foreign(draft: Draft, rng: Random, pool: Pool, asking: bool) -> tuple[str, str] | None:
    """A customer turn and the agent's reply from another trade, with hardly a word in common."""
    domains = [domain for domain in pool.exchanges if not _akin(domain, draft.domain)]
    known = content_words(" ".join(turn.text for turn in draft.turns))
    for _ in range(MAX_TRIES if domains else 0):
        said, reply = rng.choice(pool.exchanges[rng.choice(domains)])
        words = content_words(reply)
        strange = words - known
        if (
            25 <= len(reply) <= 220
            and 12 <= len(said) <= 220
            and ("?" in reply) == asking
            and len(strange) >= MIN_FOREIGN_WORDS
            and len(strange) >= 0.7 * len(words)
            and content_words(said) & words
            and not is_closing(reply)
        ):
            return said, reply
    return None


def _places(draft: Draft, rng: Random) -> list[int]:
    """Agent turns inside the talk that answer the customer, in random order."""
    return shuffled(
        (
            place
            for place in free_agent_turns(draft)
            if place >= 2
            and draft.turns[place - 1].role == "customer"
            and not draft.turns[place - 1].touched
            and not is_thanks(draft.turns[place - 1].text)
        ),
        rng,
    )


def _codes(said: str, before: str) -> tuple[str, ...] | None:
    """The codes of a jump in reply to what the customer `said`; C1 too if that was an ask, since it is
    passed over. None if it is not clear whether it was one. `before` is what the agent had said."""
    open_ask = left_open(said, before)
    return None if open_ask is None else ("U5", "C1") if open_ask else ("U5",)


def _before(draft: Draft, place: int) -> str:
    """What the agent said just before the customer turn at `place`, if anything."""
    return draft.turns[place - 1].text if place and draft.turns[place - 1].role == "agent" else ""


def _unmet(draft: Draft, rng: Random, pool: Pool, met: tuple[str, str]) -> str | None:
    """What a customer might say of a third trade, with no word of the exchange `met`; now and then None,
    so that the error's customer says strange things as the twin's does."""
    other = _foreign(draft, rng, pool, asking=rng.random() < 0.5) if rng.random() < 0.65 else None
    strange = other and not content_words(" ".join(other)) & content_words(" ".join(met))
    return other[0] if other and strange and left_open(other[0]) is not None else None


def _instead(name: str, asking: bool) -> Family:
    """A turn of another trade in the place of the agent's own."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        borrowed = _foreign(draft, rng, pool, asking)
        for place in _places(draft, rng) if borrowed else ():
            said, reply = borrowed or ("", "")
            unmet = _unmet(draft, rng, pool, (said, reply))
            error = draft.with_turn(place - 1, plain("customer", unmet)) if unmet else draft
            codes = _codes(error.turns[place - 1].text, _before(draft, place - 1))
            if codes is None:
                continue
            twin = (plain("customer", said), plain("agent", reply, "U5"))
            return Made(
                error.with_turn(place, wrong(reply, f"U5.{name}", *codes)),
                spliced(draft, place - 1, place + 1, twin),
            )
        return None

    return Family("U5", f"U5.{name}", make)


def _extra(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """A turn of another trade after a nod of the customer, or after his words on another matter; the
    twin's customer has just raised it."""
    borrowed = _foreign(draft, rng, pool, asking=rng.random() < 0.5)
    places = _places(draft, rng)
    if not borrowed or not places:
        return None
    said, reply = borrowed
    at = places[0] + 1
    heard = like(rng.choice(HEARD), [turn.text for turn in draft.turns if turn.role == "customer"])
    unmet = _unmet(draft, rng, pool, borrowed)
    heard, codes = (unmet, _codes(unmet, "")) if unmet else (heard, ("U5",))
    if codes is None or "?" in draft.turns[at - 1].text:  # a nod is no answer to a question
        return None
    return Made(
        spliced(draft, at, at, (plain("customer", heard), wrong(reply, "U5.extra", *codes))),
        spliced(draft, at, at, (plain("customer", said), plain("agent", reply, "U5"))),
    )


def _raised(draft: Draft, at: int, words: str, ahead: bool) -> Draft:
    """The draft whose customer raises this in his turn `at`."""
    words = like(words, [turn.text for turn in draft.turns if turn.role == "customer"])
    text = draft.turns[at].text
    return draft.with_turn(at, plain("customer", joined(words, text)[0] if ahead else joined(text, words)[0]))


def _errand(name: str, alone: bool) -> Family:
    """The agent comes to a matter that the customer has not raised, though another; the twin's has,
    turns ago, so the agent only comes back to it. `alone`: after the answer and a nod of the customer's."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = [place for place in _places(draft, rng) if "?" not in draft.turns[place].text]
        if not places:
            return None
        place, (mine, other) = places[0], rng.sample(list(ERRANDS), 2)
        tellers = [
            i for i in range(place) if draft.turns[i].role == "customer" and not draft.turns[i].touched
        ]
        link, line = rng.choice(LINKS), rng.choice(mine[1])
        words = like(link + (line[:1].lower() + line[1:] if link else line), agent_texts(draft))
        if not tellers or content_words(words) & content_words(" ".join(t.text for t in draft.turns)):
            return None
        teller, ahead = rng.choice(tellers), rng.random() < 0.3 and place > 2
        customers = [turn.text for turn in draft.turns if turn.role == "customer"]
        nod = plain("customer", like(rng.choice(HEARD), customers))
        text, start, end = (words, 0, len(words)) if alone else joined(draft.turns[place].text, words)
        bad = wrong(text, f"U5.{name}", "U5", start=start, end=end)
        at, stop = (place + 1, place + 1) if alone else (place, place + 1)
        error, twin = (
            _raised(
                spliced(draft, at, stop, (nod, turn) if alone else (turn,)),
                teller, rng.choice(said[0]), ahead and teller > 0,
            )
            for turn, said in ((bad, other), (plain("agent", text, "U5"), mine))
        )  # fmt: skip
        return Made(error, twin)

    return Family("U5", f"U5.{name}", make)


def _at_the_end(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """An offer or a request for feedback after the customer has said thanks."""
    for place in reversed(free_agent_turns(draft)):
        if place and is_thanks(draft.turns[place - 1].text) and place >= len(draft.turns) - 3:
            words = like(rng.choice(AT_THE_END), agent_texts(draft))
            return draft.with_turn(place, plain("agent", joined(draft.turns[place].text, words)[0], "U5"))
    return None


def _tail(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent's own turn runs on into another trade; the twin's customer had asked for both."""
    borrowed = _foreign(draft, rng, pool, asking=rng.random() < 0.5)
    places = _places(draft, rng)
    if not borrowed or not places:
        return None
    said, reply = borrowed
    place = places[0]
    text, start, end = joined(draft.turns[place].text, reply)
    own, unmet = draft.turns[place - 1].text, _unmet(draft, rng, pool, borrowed)
    codes = _codes(unmet, "") if unmet else ("U5",)
    if codes is None:
        return None
    bad = wrong(text, "U5.tail", *codes, start=start, end=end)
    both = plain("customer", joined(own, said)[0])
    twin = spliced(draft, place - 1, place + 1, (both, plain("agent", text, "U5")))
    error = draft.with_turn(place - 1, plain("customer", joined(own, unmet)[0])) if unmet else draft
    return Made(error.with_turn(place, bad), twin)


def _written(name: str, words: Grammar, asked: Grammar) -> Family:
    """Off-topic words of another author; in the twin the customer brings the matter up."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = _places(draft, rng)
        if not places:
            return None
        at = places[0] + 1
        person = rng.choice(PERSONS)
        topic = rng.choice([rule for rule in words if rule.startswith("topic")])
        reply = like(capital(say(words, rng, topic, person=person)), agent_texts(draft))
        said = capital(say(asked, rng, topic, person=person))
        return Made(
            spliced(draft, at, at, (wrong(reply, f"U5.{name}", "U5"),)),
            spliced(draft, at, at, (plain("customer", said), plain("agent", reply, "U5"))),
        )

    return Family("U5", f"U5.{name}", make, use="dev")


Topic = tuple[str, str, str]


_NAMED = re.compile(r"I\b|Napoleon|Pluto|Slovenia")


def _jump(name: str, topics: tuple[Topic, ...]) -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        texts = [turn.text for turn in draft.turns]
        places = replies(draft, rng) if len(draft.turns) >= MIN_TURNS else []
        for words, ask, pattern in rng.sample(topics, len(topics)) if places else ():
            if not silent_on(rf"\b({pattern})", [*texts, draft.domain]):
                continue
            place = places[0]
            said = as_agent(_led(rng.choice(LEADS), spoken(words, {}, rng)), draft)
            alone = is_nod(texts[place - 1]) and rng.random() < 0.7
            text, start, end = (said, 0, len(said)) if alone else joined(texts[place], said)
            jumped = wrong(text, f"U5.{name}", "U5", start=start, end=end)
            asked = told(draft, place - 1, spoken(ask, {}, rng))
            return Made(draft.with_turn(place, jumped), asked.with_turn(place, plain("agent", text, "U5")))
        return None

    return Family("U5", f"U5.{name}", make, "heldout")


def _led(lead: str, words: str) -> str:
    """The words after the lead, with a small letter after a comma or colon unless it is a name."""
    small = lead.endswith((", ", ": ")) and not _NAMED.match(words)
    return lead + (words[:1].lower() + words[1:] if small else words)


def _asked(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer changes the topic, and the agent goes along."""
    for place in pauses(draft, rng):
        question, answer = side_question(rng.choice(list(ASPECTS)), rng)
        asked = customer("Something else: " + question, draft)
        return spliced(draft, place, place, (asked, plain("agent", as_agent(answer, draft), "U5")))
    return None


FAMILIES: tuple[Family, ...] = (
    _instead("foreign", asking=False),
    _instead("foreign-question", asking=True),
    Family("U5", "U5.extra", _extra),
    Family("U5", "U5.tail", _tail),
    _errand("errand", alone=False),
    _errand("errand-alone", alone=True),
    _written("chat", CHAT, CHAT_ASKED),
    _written("misdirected", MISDIRECTED, MISDIRECTED_ASKED),
    _jump("other-case", OTHER_CASE),
    _jump("bulletin", BULLETINS),
)
NEGATIVES: tuple[HardNegative, ...] = (
    HardNegative("U5", "U5.not-at-the-end", _at_the_end),
    HardNegative("U5", "U5.not-customers-turn", _asked, "heldout"),
)
