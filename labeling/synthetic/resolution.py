"""R1: the agent closes while the customer's last ask is open. The label sits on the closing turn.

In the twin the same closing follows once the ask has been answered, or the customer has said that all is
well. A closing that leaves the ask ignored for good is C1 as well. The hard negatives are ends with an
open ask that are nobody's fault, and answers that say goodbye.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from dialint.labeling.synthetic.dialogue_acts import asks_clearly, is_closing, is_thanks, sentences
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

_TRAIN = Wordings("train/resolution")
CLOSE = _TRAIN.grammar("close")
PLAIN = _TRAIN.texts("plain")
SETTLED_CLOSINGS = _TRAIN.texts("settled")
FILED_CLOSINGS = _TRAIN.texts("filed")
UNSOLVED = _TRAIN.texts("unsolved")
SOLVED = _TRAIN.texts("solved")
NOT_DONE = _TRAIN.texts("not_done")
ALL_DONE = _TRAIN.texts("all_done")
LEAVING = _TRAIN.texts("leaving")
PROMISE = _TRAIN.texts("promise")
AGREED = _TRAIN.texts("agreed")
BYES = _TRAIN.texts("customer_byes")
DONE_THANKS = _TRAIN.texts("done_thanks")
MOMENT = _TRAIN.texts("moment")
NODS = _TRAIN.texts("nods")

_DEV = Wordings("dev/resolution")
NOTICE = _DEV.grammar("notice")
SURVEY = _DEV.grammar("survey")

_HELDOUT = Wordings("heldout/resolution")
OPEN_CASES = _HELDOUT.pairs("open_cases", "open", "settled")
REPORTS = _HELDOUT.records_by_name("reports", "broken", "solved")
TROUBLES = _HELDOUT.records("troubles", "customer", "agent", "reports")
LEADS = _HELDOUT.texts("leads")
FAREWELLS = _HELDOUT.texts("farewells")
FOLLOW_UPS = _HELDOUT.records("follow_ups", "ask", "plan", "consent")

MIN_TURNS_BEFORE = 2

ANY = {
    **CLOSE,
    "say": (*PLAIN, *PLAIN, *SETTLED_CLOSINGS, *FILED_CLOSINGS, *CLOSE["say"]),
}
"""Every closing that is trained on."""

SETTLED = {"say": SETTLED_CLOSINGS}

FILED = {"say": FILED_CLOSINGS}

_CONFIRMS = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|ya|correct|right|exactly|that|it (?:is|does)|sounds|looks|perfect|ok|okay|sure"
    r"|fine|no|nope|nah|not|nothing)\b"
    r"|\b(?:no need|never ?mind|i'm (?:good|fine)|that'?s (?:right|correct|all|it)|correct)\b",
    re.IGNORECASE,
)
"""A customer who only confirms or declines: whether anything is left to be done, nobody can see."""

_OFFERS_MORE = re.compile(
    r"\b(?:anything|something|what) else\b|\bfurther\b|\bhelp you with\b", re.IGNORECASE
)

_ASKS_BACK = re.compile(
    r"(?:^|[.!,:] ?)(?:please|kindly|could you|can you|may i|would you)\b"
    r"(?! (?:let me know|feel free|contact|enjoy|note|be aware|don't hesitate))"
    r"|\b(?:what (?:time|day|kind|type)|i(?:'ll| will)? need (?:you|the|to know|to have)|one moment|checking"
    r"|let me (?:check|see|look|find)|please (?:provide|confirm|tell|specify|choose|check|select))\b",
    re.IGNORECASE,
)
"""An agent who is not through yet, question mark or not: nothing to end a dialogue after."""


def _open_asks(draft: ExampleDraft, rng: Random) -> list[int]:
    """Agent turns that serve a customer's question or wish without asking back, late enough to end a
    talk, in random order."""
    turns = draft.turns
    indexes = (
        index
        for index in untouched_agent_turns(draft)
        if index > MIN_TURNS_BEFORE
        and turns[index - 1].role == "customer"
        and not turns[index - 1].touched
        and asks_clearly(turns[index - 1].text)
        and (index + 1 == len(turns) or turns[index + 1].role == "customer")
        and _answers(turns[index].text)
    )
    return shuffle(indexes, rng)


def _answer(text: str) -> str:
    """An agent's turn without the offers of more help at its end."""
    parts = sentences(text)
    while parts and "?" in parts[-1] and _OFFERS_MORE.search(parts[-1]):
        parts.pop()
    return "".join(parts).strip()


def _answers(turn: str) -> bool:
    """Whether an agent's turn gives something and neither asks back nor takes leave."""
    text = _answer(turn)
    return bool(text) and "?" not in text and not is_closing(text) and not _ASKS_BACK.search(text)


def _closing(grammar: Grammar, draft: ExampleDraft, rng: Random) -> str:
    number = rng.choice(["", "#", "C-", "SR"]) + str(rng.randrange(10_000, 9_999_999))
    return match_agent_style(capitalize_first(expand(grammar, rng, number=number)), draft)


def _sample_customer_turn(texts: tuple[str, ...], draft: ExampleDraft, rng: Random) -> DraftTurn:
    """One of the customer's sentences, in the style of his other ones."""
    others = [turn.text for turn in draft.turns if turn.role == "customer"]
    return clean_turn("customer", match_style(capitalize_first(expand({"say": texts}, rng)), others))


def _ended(draft: ExampleDraft, index: int, turns: tuple[DraftTurn, ...]) -> ExampleDraft:
    return splice(draft, index, len(draft.turns), turns)


def _unanswered(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """The closing stands in the place of the answer."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in _open_asks(draft, rng):
            text = _closing(grammar, draft, rng)
            answer = clean_turn("agent", _answer(draft.turns[index].text))
            done = _sample_customer_turn(DONE_THANKS, draft, rng)
            return ErrorPair(
                _ended(draft, index, (error_turn(text, f"R1.{name}", "R1", "C1"),)),
                _ended(draft, index, (answer, done, clean_turn("agent", text, "R1"))),
            )
        return None

    return Family("R1", f"R1.{name}", make, use)


def _after_moment(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """The agent says that he will look, and then closes without having said anything."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in _open_asks(draft, rng):
            text = _closing(grammar, draft, rng)
            wait = clean_turn(
                "agent", match_agent_style(capitalize_first(expand({"say": MOMENT}, rng)), draft)
            )
            between = [_sample_customer_turn(NODS, draft, rng)] if rng.random() < 0.6 else []
            answer = clean_turn("agent", _answer(draft.turns[index].text))
            return ErrorPair(
                _ended(draft, index, (wait, *between, error_turn(text, f"R1.{name}", "R1", "C1"))),
                _ended(draft, index, (wait, *between, answer, clean_turn("agent", text, "R1"))),
            )
        return None

    return Family("R1", f"R1.{name}", make, use)


def _cut_off(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer gives what the agent asked for, and is sent off instead of served."""
    turns = draft.turns
    for index in shuffle(untouched_agent_turns(draft), rng):
        if index <= MIN_TURNS_BEFORE or [turn.role for turn in turns[index - 2 : index]] != [
            "agent",
            "customer",
        ]:
            continue
        question, customer_answer, reply = (turn.text for turn in turns[index - 2 : index + 1])
        if (
            "?" not in question
            or _OFFERS_MORE.search(question)
            or "?" in customer_answer
            or not _answers(reply)
        ):
            continue
        if is_thanks(customer_answer) or _CONFIRMS.search(customer_answer) or turns[index - 1].touched:
            continue
        codes = ("R1", "C1") if asks_clearly(customer_answer) else ("R1",)
        text = _closing(ANY, draft, rng)
        answer, done = clean_turn("agent", _answer(reply)), _sample_customer_turn(DONE_THANKS, draft, rng)
        return ErrorPair(
            _ended(draft, index, (error_turn(text, "R1.cut-off", *codes),)),
            _ended(draft, index, (answer, done, clean_turn("agent", text, "R1"))),
        )
    return None


def _regardless(
    name: str, open_end: tuple[str, ...], met_end: tuple[str, ...], codes: tuple[str, ...]
) -> Family:
    """The agent has answered and the customer is not done; in the twin he is. One closing for both."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in _open_asks(draft, rng):
            text = _closing(ANY, draft, rng)
            answer = clean_turn("agent", _answer(draft.turns[index].text))
            which = rng.randrange(len(open_end))
            still, met = (_sample_customer_turn((texts[which],), draft, rng) for texts in (open_end, met_end))
            return ErrorPair(
                _ended(draft, index, (answer, still, error_turn(text, f"R1.{name}", *codes))),
                _ended(draft, index, (answer, met, clean_turn("agent", text, "R1"))),
            )
        return None

    return Family("R1", f"R1.{name}", make)


def _ends_well(
    name: str, turns_of: Callable[[ExampleDraft, int, Random], tuple[DraftTurn, ...]]
) -> HardNegative:
    """A clean end in the place of an answer; `turns_of` makes it."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        for index in _open_asks(draft, rng):
            return _ended(draft, index, turns_of(draft, index, rng))
        return None

    return HardNegative("R1", f"R1.not-{name}", make)


def _bye(draft: ExampleDraft, rng: Random) -> DraftTurn:
    return clean_turn("agent", _closing(ANY, draft, rng), "R1")


def _left(draft: ExampleDraft, index: int, rng: Random) -> tuple[DraftTurn, ...]:
    """The customer drops his question himself."""
    wait = clean_turn("agent", match_agent_style(capitalize_first(expand({"say": MOMENT}, rng)), draft))
    text = match_agent_style(capitalize_first(expand(CLOSE, rng)), draft)
    return wait, _sample_customer_turn(LEAVING, draft, rng), clean_turn("agent", text, "R1")


def _agreed(draft: ExampleDraft, index: int, rng: Random) -> tuple[DraftTurn, ...]:
    """A follow-up with a deadline, to which the customer agrees."""
    promise = clean_turn("agent", match_agent_style(capitalize_first(expand({"say": PROMISE}, rng)), draft))
    return promise, _sample_customer_turn(AGREED, draft, rng), _bye(draft, rng)


def _parted(draft: ExampleDraft, index: int, rng: Random) -> tuple[DraftTurn, ...]:
    """The ask is met, both take leave, and the customer has the last word."""
    answer, done = (
        clean_turn("agent", _answer(draft.turns[index].text)),
        _sample_customer_turn(DONE_THANKS, draft, rng),
    )
    return answer, done, _bye(draft, rng), _sample_customer_turn(BYES, draft, rng)


def _answered_goodbye(draft: ExampleDraft, index: int, rng: Random) -> tuple[DraftTurn, ...]:
    """The answer and the goodbye are one turn, and the customer is content."""
    text, _, _ = join_texts(
        _answer(draft.turns[index].text), _closing({**CLOSE, "say": (*PLAIN,)}, draft, rng)
    )
    return clean_turn("agent", text, "R1"), _sample_customer_turn(DONE_THANKS, draft, rng)


MIN_BEFORE = 4
"""Turns before the scene that ends the dialogue, at least."""


def _ends(draft: ExampleDraft, rng: Random) -> int | None:
    """Where the dialogue may end: the last place where the agent has spoken and asked nothing, so that the
    customer's own matters are behind him."""
    return max((index for index in scene_indexes(draft, rng) if index >= MIN_BEFORE), default=None)


def _pair(one: str, other: str, rng: Random) -> tuple[str, str]:
    """Both texts with the same lead."""
    lead = rng.choice(LEADS)
    first, second = (render(text, {}, rng) for text in (one, other))
    return lead + first, lead + second


def _open_case(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    index = _ends(draft, rng)
    if index is None:
        return None
    still, settled = (customer_turn(text, draft) for text in _pair(*rng.choice(OPEN_CASES), rng))
    bye = _farewell(draft, rng)
    return ErrorPair(
        splice(draft, index, len(draft.turns), (still, error_turn(bye, "R1.open-case", "R1", "C1"))),
        splice(draft, index, len(draft.turns), (settled, clean_turn("agent", bye, "R1"))),
    )


def _not_solved(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    index = _ends(draft, rng)
    if index is None:
        return None
    trouble, remedy, reports = rng.choice(TROUBLES)
    lead = (customer_turn(trouble, draft), agent_turn(remedy, draft))
    broken, whole = (customer_turn(text, draft) for text in REPORTS[rng.choice(reports)])
    bye = _farewell(draft, rng)
    return ErrorPair(
        splice(draft, index, len(draft.turns), (*lead, broken, error_turn(bye, "R1.not-solved", "R1", "C1"))),
        splice(draft, index, len(draft.turns), (*lead, whole, clean_turn("agent", bye, "R1"))),
    )


def _farewell(draft: ExampleDraft, rng: Random) -> str:
    return match_agent_style(expand({"say": FAREWELLS}, rng), draft)


def _agreed_plan(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """Open, but with an owner, a time and the customer's consent."""
    index = _ends(draft, rng)
    if index is None:
        return None
    ask, plan, consent = rng.choice(FOLLOW_UPS)
    scene: tuple[DraftTurn, ...] = (
        customer_turn(render(ask, {}, rng), draft),
        agent_turn(render(plan, {}, rng), draft),
        customer_turn(consent, draft),
        clean_turn("agent", _farewell(draft, rng), "R1"),
    )
    return splice(draft, index, len(draft.turns), scene)


FAMILIES: tuple[Family, ...] = (
    _unanswered("unanswered", ANY),
    _unanswered("settled", SETTLED),
    _unanswered("filed", FILED),
    _after_moment("after-moment", ANY),
    Family("R1", "R1.cut-off", _cut_off),
    _regardless("unsolved", UNSOLVED, SOLVED, ("R1", "C1")),
    _regardless("undone", NOT_DONE, ALL_DONE, ("R1",)),
    _unanswered("notice", NOTICE, use="dev"),
    _after_moment("survey", SURVEY, use="dev"),
    Family("R1", "R1.open-case", _open_case, "heldout"),
    Family("R1", "R1.not-solved", _not_solved, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (
    _ends_well("left", _left),
    _ends_well("agreed", _agreed),
    _ends_well("parted", _parted),
    _ends_well("answered-goodbye", _answered_goodbye),
    HardNegative("R1", "R1.not-agreed-plan", _agreed_plan, "heldout"),
)
