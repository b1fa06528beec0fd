"""U2 on planted things: the customer states one thing, the agent asks for it or for another.

Error and twin have the same question, the same answer and the same number of things stated; only which
thing the customer stated before differs. What the corpora's customers really stated is asked for in
`state`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from dialint.labeling.synthetic.dialogue_acts import asks_question, is_closing, is_thanks
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
    agent_texts,
    clean_turn,
    error_turn,
    join_texts,
    match_agent_style,
    splice,
)
from dialint.labeling.synthetic.slots import (
    IDENTIFYING,
    ask_slot,
    sample_noun,
    sample_third_kind,
    sample_two_kinds,
    sample_value,
    state_slot,
)
from dialint.labeling.synthetic.wordings import Wordings, capitalize_first, expand, match_style

_TRAIN = Wordings("train/state_planted")
ACKNOWLEDGE = _TRAIN.texts("acknowledgements")
BOTH = _TRAIN.texts("which_of_both")
CHANGE = _TRAIN.texts("change_requests")
PUT_OFF = _TRAIN.texts("put_off")
READ_BACK = _TRAIN.texts("read_back")
REPLY = _TRAIN.texts("answers")
SECOND = _TRAIN.pairs("second_person", "customer", "agent")
SECURITY = _TRAIN.texts("security_checks")
CHANGE_ACCEPTED = _TRAIN.texts("change_accepted")
UNREADABLE = _TRAIN.texts("unreadable")
CONFIRMATIONS = _TRAIN.texts("confirmations")

MIN_TURNS = 4
"""A dialogue that is shorter is no talk."""


@dataclass(frozen=True)
class _Scene:
    """Where to ask (before the agent turn at `ask_at`), where it was stated, and what."""

    draft: ExampleDraft
    ask_at: int
    stated_at: int
    kind: str
    other: str
    value: str
    other_value: str


def _scene(
    draft: ExampleDraft, rng: Random, stated_by: str = "customer", changeable: bool = False
) -> _Scene | None:
    turns = draft.turns
    indexes = [
        at
        for at in range(1, len(turns))
        if turns[at].role == "agent"
        and turns[at - 1].role == "customer"
        and not asks_question(turns[at - 1].text)
        and not is_thanks(turns[at - 1].text)
        and not is_closing(turns[at].text)
    ]
    if not indexes or len(turns) < MIN_TURNS:
        return None
    ask_at = rng.choice(indexes)
    tellers = [
        at
        for at in range(ask_at)
        if turns[at].role == stated_by and not turns[at].touched and (stated_by == "customer" or at)
    ]
    kinds = sample_two_kinds(
        "\n".join(turn.text for turn in turns[:ask_at] if turn.role == "customer"), rng, changeable
    )
    if not kinds or not tellers:
        return None
    one, other = kinds
    return _Scene(
        draft, ask_at, rng.choice(tellers), one, other, sample_value(one, rng), sample_value(other, rng)
    )


def _insert_statement(draft: ExampleDraft, at: int, words: str, ahead: bool) -> ExampleDraft:
    """The draft whose customer turn `at` also says the words, ahead or after, in the customer's style."""
    words, text = match_style(words, _customer_texts(draft)), draft.turns[at].text
    first = ahead and at >= 2  # not before a greeting
    return draft.with_turn(
        at, clean_turn("customer", join_texts(words, text)[0] if first else join_texts(text, words)[0])
    )


def _customer_texts(draft: ExampleDraft) -> list[str]:
    return [turn.text for turn in draft.turns if turn.role == "customer"]


def _with_distractor(scene: _Scene, rng: Random) -> ExampleDraft:
    """The draft in which the customer also states a third thing, in error and twin alike."""
    turns = scene.draft.turns
    stated = " ".join(turn.text for turn in turns if turn.role == "customer")
    free = [
        at
        for at in range(scene.ask_at)
        if turns[at].role == "customer" and not turns[at].touched and at != scene.stated_at
    ]
    kind = sample_third_kind(stated, (scene.kind, scene.other), rng)
    if not free or not kind or rng.random() < 0.35:
        return scene.draft
    words = state_slot(kind, sample_value(kind, rng), rng)
    return _insert_statement(scene.draft, rng.choice(free), words, rng.random() < 0.4)


def _answer(value: str, rng: Random) -> list[DraftTurn] | None:
    """The customer's answer, with the value or putting it off; None: the log ends with the question."""
    draw = rng.random()
    if draw < 0.3:
        return None
    if draw < 0.55:
        return [clean_turn("customer", rng.choice(PUT_OFF))]
    return [clean_turn("customer", capitalize_first(expand({"say": REPLY}, rng, value=value)))]


def _insert_question(
    draft: ExampleDraft, at: int, ask: DraftTurn, answer: list[DraftTurn] | None, used: bool = False
) -> ExampleDraft:
    """Question and answer put in before turn `at`, or in its place where the question has `used` its words;
    the draft cut off after the question where there is no answer."""
    turns = draft.turns
    if answer is None and not any(turn.marks for turn in turns[at:]):  # no other family's error is cut off
        return splice(draft, at, len(turns), (ask,))
    answer = answer or [clean_turn("customer", PUT_OFF[0])]
    end = at + used
    if used and end < len(turns) and turns[end].role == "customer":
        both = clean_turn("customer", join_texts(answer[0].text, turns[end].text)[0])
        return splice(draft, at, end + 1, (ask, both))
    return splice(draft, at, end, (ask, *answer))


def _turns(words: str, name: str, base: str) -> tuple[DraftTurn, DraftTurn]:
    """The agent's question as error and as twin; sometimes after a sentence of his own, `base`."""
    text, start, end = join_texts(base, words) if base else (words, 0, len(words))
    return error_turn(text, f"U2.{name}", "U2", start=start, end=end), clean_turn("agent", text, "U2")


def _base(scene: _Scene, rng: Random) -> str:
    """What the agent says anyhow, to which his question is added; "" where it stands alone."""
    turns, at = scene.draft.turns, scene.ask_at
    free = "?" not in turns[at].text and len(turns[at].text) < 220 and not turns[at].touched
    free = free and (at + 1 == len(turns) or turns[at + 1].role == "customer")
    return turns[at].text if free and rng.random() < 0.35 else ""


def _planted(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer volunteers a thing; later the agent asks for it. The twin's customer stated another."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    base, own = _with_distractor(scene, rng), _base(scene, rng)
    seed, ahead = rng.random(), rng.random() < 0.4
    ask = match_agent_style(ask_slot(scene.kind, rng), draft)
    bad, good = _turns(ask, "planted", own)
    answer, made = _answer(scene.value, rng), []
    for kind, value, turn in (
        (scene.kind, scene.value, bad),
        (scene.other, scene.other_value, good),
    ):
        history = _insert_statement(base, scene.stated_at, state_slot(kind, value, Random(seed)), ahead)
        made.append(_insert_question(history, scene.ask_at, turn, answer, bool(own)))
    return ErrorPair(*made)


def _repeated_question(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The agent asked, was answered, and asks again; the twin's agent first asked for another thing."""
    scene = _scene(draft, rng, stated_by="agent")
    if scene is None or draft.turns[scene.stated_at - 1].role != "customer":
        return None
    texts, base = agent_texts(draft), _with_distractor(scene, rng)
    bad, good = _turns(match_style(ask_slot(scene.kind, rng), texts), "asked-twice", "")
    answer, seed, made = _answer(scene.value, rng), rng.random(), []
    for kind, value, turn in (
        (scene.kind, scene.value, bad),
        (scene.other, scene.other_value, good),
    ):
        again = Random(seed)
        first = (
            clean_turn("agent", match_style(ask_slot(kind, again), texts)),
            clean_turn("customer", capitalize_first(expand({"say": REPLY}, again, value=value))),
        )
        second = _insert_question(base, scene.ask_at, turn, answer)
        made.append(splice(second, scene.stated_at, scene.stated_at, first))
    return ErrorPair(*made)


def _two_statements(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """Two things are stated in one turn and one is asked for; the twin's customer stated two others."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    stated = "\n".join(_customer_texts(draft))
    third = sample_third_kind(stated, (scene.kind, scene.other), rng)
    if third is None:
        return None
    seed, own, ahead, before = rng.random(), _base(scene, rng), rng.random() < 0.5, rng.random() < 0.4
    third_value, ask = sample_value(third, rng), match_agent_style(ask_slot(scene.kind, rng), draft)
    bad, good = _turns(ask, "both-told", own)
    answer, made = _answer(scene.value, rng), []
    for kind, value, turn in (
        (scene.kind, scene.value, bad),
        (scene.other, scene.other_value, good),
    ):
        again = Random(seed)
        parts = [state_slot(kind, value, again), state_slot(third, third_value, again)]
        words = join_texts(*(parts if ahead else parts[::-1]))[0]
        history = _insert_statement(draft, scene.stated_at, words, before)
        made.append(_insert_question(history, scene.ask_at, turn, answer, bool(own)))
    return ErrorPair(*made)


def _changed(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """After one of two things has been changed the agent asks for the other; the twin's customer had
    wanted both of them changed."""
    scene = _scene(draft, rng, changeable=True)
    if scene is None:
        return None
    parts = [state_slot(scene.kind, scene.value, rng), state_slot(scene.other, scene.other_value, rng)]
    rng.shuffle(parts)
    base = _insert_statement(draft, scene.stated_at, join_texts(*parts)[0], rng.random() < 0.4)
    texts, customers = agent_texts(draft), _customer_texts(draft)
    bad, good = _turns(match_style(ask_slot(scene.kind, rng), texts), "changed", "")
    bridge = clean_turn("agent", match_style(rng.choice(ACKNOWLEDGE), texts))
    noun, beside = sample_noun(scene.other, rng), sample_noun(scene.kind, rng)
    new = sample_value(scene.other, rng)
    if new == scene.other_value:
        return None
    acceptance = clean_turn(
        "agent", match_style(capitalize_first(expand({"say": CHANGE_ACCEPTED}, rng, noun=noun)), texts)
    )
    new_answer = clean_turn(
        "customer", match_style(capitalize_first(expand({"say": REPLY}, rng, value=new)), customers)
    )
    answer = None if rng.random() < 0.5 else [clean_turn("customer", rng.choice(PUT_OFF))]
    both = [noun, beside] if rng.random() < 0.5 else [beside, noun]
    seed, made = rng.random(), []
    for wished, turn in ((noun, bad), (" and the ".join(both), good)):
        wish = capitalize_first(expand({"say": CHANGE}, Random(seed), noun=wished))
        history = _insert_question(base, scene.ask_at, turn, answer)
        steps = (bridge, clean_turn("customer", wish), acceptance, new_answer)
        made.append(splice(history, scene.ask_at, scene.ask_at, steps))
    return ErrorPair(*made)


Words = Callable[[_Scene, Random], tuple[str, str]]
"""What the agent asks in a hard negative, and what the customer answers."""


def _negative(name: str, words: Words) -> HardNegative:
    """The customer stated it, the agent comes back to it, and that is in order."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        scene = _scene(draft, rng)
        if scene is None:
            return None
        ask, reply = words(scene, rng)
        history = _insert_statement(
            draft, scene.stated_at, state_slot(scene.kind, scene.value, rng), rng.random() < 0.4
        )
        ask = match_agent_style(capitalize_first(ask), draft)
        answer = None if rng.random() < 0.3 else [clean_turn("customer", reply)]
        return _insert_question(history, scene.ask_at, clean_turn("agent", ask, "U2"), answer)

    return HardNegative("U2", f"U2.not-{name}", make)


def _spoken(wordings: tuple[str, ...], scene: _Scene, rng: Random) -> str:
    other = sample_value(scene.kind, rng)
    return expand({"say": wordings}, rng, noun=sample_noun(scene.kind, rng), value=scene.value, other=other)


def _confirmed(scene: _Scene, rng: Random) -> tuple[str, str]:
    return _spoken(READ_BACK, scene, rng), rng.choice(CONFIRMATIONS)


def _verified(scene: _Scene, rng: Random) -> tuple[str, str]:
    return _spoken(SECURITY if scene.kind in IDENTIFYING else READ_BACK, scene, rng), _again(scene, rng)


def _unreadable(scene: _Scene, rng: Random) -> tuple[str, str]:
    return _spoken(UNREADABLE if scene.kind in IDENTIFYING else READ_BACK, scene, rng), _again(scene, rng)


def _again(scene: _Scene, rng: Random) -> str:
    return capitalize_first(expand({"say": REPLY}, rng, value=scene.value))


def _second(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer has stated his own; now the other person's is asked for."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    wish, ask = rng.choice(SECOND)
    statement = state_slot(scene.kind, scene.value, rng)
    base = _insert_statement(draft, scene.stated_at, statement, rng.random() < 0.4)
    texts, noun = agent_texts(draft), sample_noun(scene.kind, rng)
    ask = match_style(expand({"say": (ask,)}, rng, noun=noun), texts)
    bridge = (clean_turn("agent", match_style(rng.choice(ACKNOWLEDGE), texts)), clean_turn("customer", wish))
    history = _insert_question(
        base, scene.ask_at, clean_turn("agent", ask, "U2"), _answer(sample_value(scene.kind, rng), rng)
    )
    return splice(history, scene.ask_at, scene.ask_at, bridge)


def _which(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """Two values have been stated; the agent asks which of them holds."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    other = sample_value(scene.kind, rng)
    if other == scene.value:
        return None
    words = join_texts(state_slot(scene.kind, scene.value, rng), state_slot(scene.kind, other, rng))[0]
    history = _insert_statement(draft, scene.stated_at, words, rng.random() < 0.4)
    ask = expand({"say": BOTH}, rng, noun=sample_noun(scene.kind, rng), value=scene.value, other=other)
    ask = match_agent_style(capitalize_first(ask), draft)
    answer = _answer(rng.choice([scene.value, other]), rng)
    return _insert_question(history, scene.ask_at, clean_turn("agent", ask, "U2"), answer)


FAMILIES: tuple[Family, ...] = (
    Family("U2", "U2.planted", _planted),
    Family("U2", "U2.asked-twice", _repeated_question),
    Family("U2", "U2.both-told", _two_statements),
    Family("U2", "U2.changed", _changed),
)

NEGATIVES: tuple[HardNegative, ...] = (
    _negative("read-back", _confirmed),
    _negative("verified", _verified),
    _negative("unreadable", _unreadable),
    HardNegative("U2", "U2.not-second", _second),
    HardNegative("U2", "U2.not-which", _which),
)
