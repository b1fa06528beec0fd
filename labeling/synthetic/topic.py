"""U5: the agent leaves the topic for one that the customer never raised.

Turns are borrowed from other domains, or are of somebody else's case. In the twin the customer has raised
that topic first, so the same agent turn is in order there.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.dialogue_acts import (
    content_words,
    is_closing,
    is_nod,
    is_thanks,
    leaves_ask_open,
)
from dialint.labeling.synthetic.domains import (
    ASPECTS,
    MIN_TURNS,
    is_silent_on,
    reply_indexes,
    sample_side_question,
    scene_indexes,
)
from dialint.labeling.synthetic.example_draft import (
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
    add_customer_words,
    clean_turn,
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

_TRAIN = Wordings("train/topic")
ERRANDS = _TRAIN.records("errands", "customer", "agent")
LINKS = _TRAIN.texts("links")
NODS = _TRAIN.texts("heard")
AT_THE_END = _TRAIN.texts("at_the_end")

_DEV = Wordings("dev/topic")
PERSONS = _DEV.texts("persons")
CHAT = _DEV.grammar("chat")
CHAT_QUESTIONS = _DEV.grammar("chat_asked")
MISDIRECTED = _DEV.grammar("misdirected")
MISDIRECTED_QUESTIONS = _DEV.grammar("misdirected_asked")

_HELDOUT = Wordings("heldout/topic")
OTHER_CASE = _HELDOUT.records("other_case", "agent", "customer", "topic")
BULLETINS = _HELDOUT.records("bulletins", "agent", "customer", "topic")
LEADS = _HELDOUT.texts("leads")

MAX_TRIES = 30

MIN_FOREIGN_WORDS = 4

_TRAVEL = frozenset({"travel", "hotel", "restaurant", "ride", "trip", "plane", "airline"})


def _akin(one: str, other: str) -> bool:
    """Whether two domains may share topics."""
    a, b = set(one.split("+")), set(other.split("+"))
    return bool(a & b) or bool(a & _TRAVEL and b & _TRAVEL) or {"star"} & (a | b) != set()


def _foreign(draft: ExampleDraft, rng: Random, pool: Pool, asking: bool) -> tuple[str, str] | None:
    """A customer turn and the agent's reply from another domain, with hardly a word in common."""
    domains = [domain for domain in pool.exchanges if not _akin(domain, draft.domain)]
    words_so_far = content_words(" ".join(turn.text for turn in draft.turns))
    for _ in range(MAX_TRIES if domains else 0):
        request, reply = rng.choice(pool.exchanges[rng.choice(domains)])
        words = content_words(reply)
        strange = words - words_so_far
        if (
            25 <= len(reply) <= 220
            and 12 <= len(request) <= 220
            and ("?" in reply) == asking
            and len(strange) >= MIN_FOREIGN_WORDS
            and len(strange) >= 0.7 * len(words)
            and content_words(request) & words
            and not is_closing(reply)
        ):
            return request, reply
    return None


def _jump_indexes(draft: ExampleDraft, rng: Random) -> list[int]:
    """Agent turns inside the dialogue that answer the customer, in random order."""
    return shuffle(
        (
            index
            for index in untouched_agent_turns(draft)
            if index >= 2
            and draft.turns[index - 1].role == "customer"
            and not draft.turns[index - 1].touched
            and not is_thanks(draft.turns[index - 1].text)
        ),
        rng,
    )


def _codes(customer_text: str, before: str) -> tuple[str, ...] | None:
    """The codes of a jump in reply to `customer_text`; C1 too if that is a request, since it is left
    unanswered. None if it is not clear whether it is one. `before` is the agent's previous text."""
    open_ask = leaves_ask_open(customer_text, before)
    return None if open_ask is None else ("U5", "C1") if open_ask else ("U5",)


def _before(draft: ExampleDraft, index: int) -> str:
    """The text of the agent turn right before the customer turn at `index`, or none."""
    return draft.turns[index - 1].text if index and draft.turns[index - 1].role == "agent" else ""


def _unmet(draft: ExampleDraft, rng: Random, pool: Pool, met: tuple[str, str]) -> str | None:
    """A customer's text of a third domain that shares no word with the exchange `met`; sometimes None, so
    that off-topic customer turns occur in errors as in twins."""
    other = _foreign(draft, rng, pool, asking=rng.random() < 0.5) if rng.random() < 0.65 else None
    strange = other and not content_words(" ".join(other)) & content_words(" ".join(met))
    return other[0] if other and strange and leaves_ask_open(other[0]) is not None else None


def _instead(name: str, asking: bool) -> Family:
    """A turn of another domain in the place of the agent's own."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        borrowed = _foreign(draft, rng, pool, asking)
        for index in _jump_indexes(draft, rng) if borrowed else ():
            request, reply = borrowed or ("", "")
            unmet = _unmet(draft, rng, pool, (request, reply))
            error = draft.with_turn(index - 1, clean_turn("customer", unmet)) if unmet else draft
            codes = _codes(error.turns[index - 1].text, _before(draft, index - 1))
            if codes is None:
                continue
            twin = (clean_turn("customer", request), clean_turn("agent", reply, "U5"))
            return ErrorPair(
                error.with_turn(index, error_turn(reply, f"U5.{name}", *codes)),
                splice(draft, index - 1, index + 1, twin),
            )
        return None

    return Family("U5", f"U5.{name}", make)


def _raise_matter(draft: ExampleDraft, at: int, words: str, ahead: bool) -> ExampleDraft:
    """The draft in which the customer says these words in the turn `at`, too."""
    words = match_style(words, [turn.text for turn in draft.turns if turn.role == "customer"])
    text = draft.turns[at].text
    return draft.with_turn(
        at, clean_turn("customer", join_texts(words, text)[0] if ahead else join_texts(text, words)[0])
    )


def _errand(name: str, alone: bool) -> Family:
    """The agent comes to a matter that the customer has not raised, though another; the twin's has,
    turns ago, so the agent only comes back to it. `alone`: after the answer and a nod of the customer's."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = [index for index in _jump_indexes(draft, rng) if "?" not in draft.turns[index].text]
        if not indexes:
            return None
        index, (mine, other) = indexes[0], rng.sample(list(ERRANDS), 2)
        customer_indexes = [
            i for i in range(index) if draft.turns[i].role == "customer" and not draft.turns[i].touched
        ]
        link, line = rng.choice(LINKS), rng.choice(mine[1])
        words = match_agent_style(link + (line[:1].lower() + line[1:] if link else line), draft)
        if not customer_indexes or content_words(words) & content_words(
            " ".join(t.text for t in draft.turns)
        ):
            return None
        customer_index, ahead = rng.choice(customer_indexes), rng.random() < 0.3 and index > 2
        customers = [turn.text for turn in draft.turns if turn.role == "customer"]
        nod = clean_turn("customer", match_style(rng.choice(NODS), customers))
        text, start, end = (words, 0, len(words)) if alone else join_texts(draft.turns[index].text, words)
        bad = error_turn(text, f"U5.{name}", "U5", start=start, end=end)
        at, stop = (index + 1, index + 1) if alone else (index, index + 1)
        error, twin = (
            _raise_matter(
                splice(draft, at, stop, (nod, turn) if alone else (turn,)),
                customer_index, rng.choice(errand[0]), ahead and customer_index > 0,
            )
            for turn, errand in ((bad, other), (clean_turn("agent", text, "U5"), mine))
        )  # fmt: skip
        return ErrorPair(error, twin)

    return Family("U5", f"U5.{name}", make)


def _at_the_end(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """An offer or a request for feedback after the customer has said thanks."""
    for index in reversed(untouched_agent_turns(draft)):
        if index and is_thanks(draft.turns[index - 1].text) and index >= len(draft.turns) - 3:
            words = match_agent_style(rng.choice(AT_THE_END), draft)
            return draft.with_turn(
                index, clean_turn("agent", join_texts(draft.turns[index].text, words)[0], "U5")
            )
    return None


def _written(name: str, words: Grammar, questions: Grammar) -> Family:
    """Off-topic words of another author; in the twin the customer brings the matter up."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = _jump_indexes(draft, rng)
        if not indexes:
            return None
        at = indexes[0] + 1
        person = rng.choice(PERSONS)
        topic = rng.choice([rule for rule in words if rule.startswith("topic")])
        reply = match_agent_style(capitalize_first(expand(words, rng, topic, person=person)), draft)
        request = capitalize_first(expand(questions, rng, topic, person=person))
        return ErrorPair(
            splice(draft, at, at, (error_turn(reply, f"U5.{name}", "U5"),)),
            splice(draft, at, at, (clean_turn("customer", request), clean_turn("agent", reply, "U5"))),
        )

    return Family("U5", f"U5.{name}", make, use="dev")


Topic = tuple[str, str, str]

_KEEPS_CAPITAL = re.compile(r"I\b|Napoleon|Pluto|Slovenia")


def _jump(name: str, topics: tuple[Topic, ...]) -> Family:
    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        texts = [turn.text for turn in draft.turns]
        indexes = reply_indexes(draft, rng) if len(draft.turns) >= MIN_TURNS else []
        for words, ask, pattern in rng.sample(topics, len(topics)) if indexes else ():
            if not is_silent_on(rf"\b({pattern})", [*texts, draft.domain]):
                continue
            index = indexes[0]
            remark = match_agent_style(_led(rng.choice(LEADS), render(words, {}, rng)), draft)
            alone = is_nod(texts[index - 1]) and rng.random() < 0.7
            text, start, end = (remark, 0, len(remark)) if alone else join_texts(texts[index], remark)
            jumped = error_turn(text, f"U5.{name}", "U5", start=start, end=end)
            with_question = add_customer_words(draft, index - 1, render(ask, {}, rng))
            return ErrorPair(
                draft.with_turn(index, jumped),
                with_question.with_turn(index, clean_turn("agent", text, "U5")),
            )
        return None

    return Family("U5", f"U5.{name}", make, "heldout")


def _led(lead: str, words: str) -> str:
    """The words after the lead, with a small letter after a comma or colon unless it is a name."""
    small = lead.endswith((", ", ": ")) and not _KEEPS_CAPITAL.match(words)
    return lead + (words[:1].lower() + words[1:] if small else words)


def _on_request(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer changes the topic, and the agent goes along."""
    for index in scene_indexes(draft, rng):
        question, answer = sample_side_question(rng.choice(list(ASPECTS)), rng)
        request = customer_turn("Something else: " + question, draft)
        return splice(
            draft, index, index, (request, clean_turn("agent", match_agent_style(answer, draft), "U5"))
        )
    return None


FAMILIES: tuple[Family, ...] = (
    _instead("foreign", asking=False),
    _instead("foreign-question", asking=True),
    _errand("errand", alone=False),
    _errand("errand-alone", alone=True),
    _written("chat", CHAT, CHAT_QUESTIONS),
    _written("misdirected", MISDIRECTED, MISDIRECTED_QUESTIONS),
    _jump("other-case", OTHER_CASE),
    _jump("bulletin", BULLETINS),
)
NEGATIVES: tuple[HardNegative, ...] = (
    HardNegative("U5", "U5.not-at-the-end", _at_the_end),
    HardNegative("U5", "U5.not-customers-turn", _on_request, "heldout"),
)
