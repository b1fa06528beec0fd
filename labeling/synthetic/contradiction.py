"""U3: the agent states one thing, and later another, with nothing between them to change it.

The facts are planted. The later turn is the same in error and twin; what was stated before decides. Values
are sampled alike for both, so that none is likelier to be wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from random import Random

from dialint.labeling.synthetic.dialogue_acts import content_words, is_closing
from dialint.labeling.synthetic.domains import MIN_TURNS
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
    add_words,
    agent_texts,
    clean_turn,
    error_turn,
    join_texts,
    match_agent_style,
    shuffle,
    splice,
)
from dialint.labeling.synthetic.insertion import open_agent_turns
from dialint.labeling.synthetic.slots import PARTS, is_same_value
from dialint.labeling.synthetic.wordings import Wordings, capitalize_first, expand, match_style

_TRAIN = Wordings("train/contradiction_planted")
ATTRIBUTES = _TRAIN.grammar("attributes")
VALUES = _TRAIN.grammar("values")
FIRST = _TRAIN.texts("first")
LATER = _TRAIN.texts("later")
MATTERS = _TRAIN.records("matters", "one", "other")
MATTER_FIRST = _TRAIN.texts("matter_first")
MATTER_LATER = _TRAIN.texts("matter_later")
CHANGES = _TRAIN.texts("change_requests")
WISHED = _TRAIN.texts("changed")
CHANGEABLE = _TRAIN.texts("changeable")
REPEATED_QUESTIONS = _TRAIN.texts("asked_again")
CORRECTED = _TRAIN.texts("corrected")
OTHER_ITEM = _TRAIN.texts("other_item")
MEASURED = _TRAIN.texts("measured")
ALIKE = _TRAIN.texts("same_form_only")
_REFERS_BACK = _TRAIN.texts("later_refers_back")
NEW = tuple(wording for wording in LATER if not any(word in wording for word in _REFERS_BACK))
"""Later statements that do not speak as of something stated before."""
ONE_WAY = frozenset(_TRAIN.texts("one_way"))
NEAR = tuple(frozenset(group) for group in _TRAIN.groups("near"))

_PLACEHOLDER = re.compile(r"[#&]")

_ARTICLE = re.compile(r"\b([Aa])(?= (?:[aeioAEIO]|un(?!i)))")


@dataclass(frozen=True)
class _Scene:
    """The agent turn that states and the later one that repeats, and in which part of either."""

    first: int
    later: int
    first_ahead: bool
    later_ahead: bool


def _value(form: str, rng: Random) -> str:
    """A value sampled from one of the forms, so that two of a form look alike."""
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    text = expand({**PARTS, "say": (form,)}, rng)
    return _PLACEHOLDER.sub(lambda m: str(rng.randrange(1, 10)) if m[0] == "#" else rng.choice(letters), text)


def _two_values(kind: str, rng: Random) -> tuple[str, str]:
    """Two different values of a kind, mostly of one form."""
    forms = VALUES[kind]
    form = rng.choice(forms)
    while True:
        one = _value(form, rng)
        mixed = kind not in ALIKE and rng.random() < 0.25
        other = _value(rng.choice(forms) if mixed else form, rng)
        apart = one.lower() not in other.lower() and other.lower() not in one.lower()
        if apart and not is_same_value(one, other):
            return one, other
        form = rng.choice(forms)


def _two_nouns(kinds: tuple[str, ...], rng: Random) -> tuple[str, str, str]:
    """One of the kinds and two attributes of it that nobody takes for each other."""
    apart = {kind: pairs for kind in kinds if (pairs := _apart(kind))}
    kind = rng.choice(list(apart))
    noun, beside = rng.choice(apart[kind])
    return kind, noun, beside


@cache
def _apart(kind: str) -> list[tuple[str, str]]:
    """The pairs of a kind's attributes that are not near each other."""
    pairs = permutations(ATTRIBUTES[kind], 2)
    return [(noun, beside) for noun, beside in pairs if not any({noun, beside} <= group for group in NEAR)]


def _open(turn: DraftTurn) -> bool:
    return turn.role == "agent" and not turn.touched and len(turn.text) < 500


def _scene(draft: ExampleDraft, rng: Random) -> _Scene | None:
    turns = draft.turns
    indexes = [i for i, turn in enumerate(turns) if _open(turn) and (i or len(turns) > 2)]
    if len(indexes) < 2:
        return None
    first, later = sorted(rng.sample(indexes, 2))
    if is_closing(turns[first].text):
        return None
    ahead = rng.random() < 0.3
    return _Scene(first, later, rng.random() < 0.3 and first > 1, ahead and "?" not in turns[later - 1].text)


def _with(text: str, words: str, ahead: bool) -> tuple[str, int, int]:
    """The words ahead of or after the text, before a last question of it; with their offsets."""
    if ahead:
        return join_texts(words, text)[0], 0, len(words)
    return join_texts(text, words)


def _stated(draft: ExampleDraft, at: int, words: str, ahead: bool) -> ExampleDraft:
    """The draft in which the agent also says this."""
    return draft.with_turn(at, clean_turn("agent", _with(draft.turns[at].text, words, ahead)[0]))


def _pair(draft: ExampleDraft, scene: _Scene, firsts: tuple[str, str], later: str, name: str) -> ErrorPair:
    """`firsts` are the earlier statements of the error and of the twin; `later` is the same in both."""
    texts = agent_texts(draft)
    text, start, end = _with(draft.turns[scene.later].text, match_style(later, texts), scene.later_ahead)
    bad = draft.with_turn(scene.later, error_turn(text, f"U3.{name}", "U3", start=start, end=end))
    good = draft.with_turn(scene.later, clean_turn("agent", text, "U3"))
    made = (
        _stated(half, scene.first, match_style(words, texts), scene.first_ahead)
        for half, words in zip((bad, good), firsts, strict=True)
    )
    return ErrorPair(*made)


def _fit(wordings: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """The wordings that suit the kind: no "branch of the north gate"."""
    return wordings if kind in MEASURED else tuple(w for w in wordings if "@noun of @value" not in w)


def _render_seeded(wordings: tuple[str, ...], seed: float, **values: str) -> str:
    text = capitalize_first(expand({"say": wordings}, Random(seed), **values))
    return _ARTICLE.sub(r"\1n", text)


def _restated(name: str, other_attribute: bool) -> Family:
    """A value is given and given otherwise later; the twin's agent had given that one already or, with
    `other_attribute`, had given the first value of another attribute."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        scene = _scene(draft, rng)
        if scene is None:
            return None
        kind, noun, beside = _two_nouns(tuple(ATTRIBUTES), rng)
        seed, (one, other) = rng.random(), _two_values(kind, rng)
        fact = (beside, one) if other_attribute else (noun, other)
        firsts = (
            _render_seeded(_fit(FIRST, kind), seed, noun=noun, value=one),
            _render_seeded(_fit(FIRST, kind), seed, noun=fact[0], value=fact[1]),
        )
        wordings = NEW if other_attribute else LATER
        later = _render_seeded(_fit(wordings, kind), rng.random(), noun=noun, value=other)
        return _pair(draft, scene, firsts, later, name)

    return Family("U3", f"U3.{name}", make)


def _two_facts(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """Two attributes with their values; later one of them is given the value of the other."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    kind, noun, beside = _two_nouns(tuple(ATTRIBUTES), rng)
    one, other = _two_values(kind, rng)
    seeds = rng.random(), rng.random()
    order = rng.random() < 0.5

    def both_forms(mine: str, its: str) -> str:
        parts = [
            _render_seeded(_fit(FIRST, kind), seeds[0], noun=noun, value=mine),
            _render_seeded(_fit(FIRST, kind), seeds[1], noun=beside, value=its),
        ]
        return join_texts(*(parts if order else parts[::-1]))[0]

    later = _render_seeded(_fit(LATER, kind), rng.random(), noun=noun, value=other)
    return _pair(draft, scene, (both_forms(one, other), both_forms(other, one)), later, "two-facts")


def _matter(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """A yes becomes a no or the other way round; the twin's agent had said so from the first."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    sides = list(rng.choice(MATTERS))
    if sides[0][0] not in ONE_WAY:
        rng.shuffle(sides)
    against, same = sides
    seed, spare = rng.random(), rng.random() < 0.5
    firsts = (
        _render_seeded(MATTER_FIRST, seed, matter=rng.choice(against)),
        _render_seeded(MATTER_FIRST, seed, matter=same[spare]),
    )
    later = _render_seeded(
        MATTER_LATER, rng.random(), matter=same[not spare if rng.random() < 0.7 else spare]
    )
    return _pair(draft, scene, firsts, later, "matter")


def _wished(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer wishes one of two values changed, and the agent gives another value for the other, passing
    over the wish; the twin's is that one."""
    made = _change_scene(draft, rng)
    if made is None:
        return None
    at, texts = made, agent_texts(draft)
    kind, noun, beside = _two_nouns(CHANGEABLE, rng)
    one, other = _two_values(kind, rng)
    parts = [_render_seeded(_fit(FIRST, kind), rng.random(), noun=noun, value=one)]
    parts.append(
        _render_seeded(_fit(FIRST, kind), rng.random(), noun=beside, value=_two_values(kind, rng)[0])
    )
    rng.shuffle(parts)
    base = _stated(
        draft, rng.choice([i for i in range(at) if _open(draft.turns[i])]), join_texts(*parts)[0], False
    )
    later = match_style(_render_seeded(WISHED, rng.random(), noun=noun, value=other), texts)
    seed = rng.random()
    halves = []
    for wish, turn in (
        (beside, error_turn(later, "U3.wished", "U3", "C1")),
        (noun, clean_turn("agent", later, "U3")),
    ):
        request = clean_turn("customer", _render_seeded(CHANGES, seed, noun=wish))
        halves.append(splice(base, at, at, (request, turn)))
    return ErrorPair(*halves)


def _change_scene(draft: ExampleDraft, rng: Random) -> int | None:
    """Where a customer's wish and the agent's reply may be put in: before a customer turn."""
    turns = draft.turns
    indexes = [
        i
        for i in range(1, len(turns))
        if turns[i].role == "customer"
        and turns[i - 1].role == "agent"
        and "?" not in turns[i - 1].text
        and any(_open(turn) for turn in turns[:i])
    ]
    return rng.choice(indexes) if indexes else None


def _asked_for(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer asks for it once more and gets another value; the twin's agent had said that one."""
    at = _change_scene(draft, rng)
    if at is None:
        return None
    kind = rng.choice(list(ATTRIBUTES))
    noun, (one, other), seed = rng.choice(ATTRIBUTES[kind]), _two_values(kind, rng), rng.random()
    texts = agent_texts(draft)
    later = match_style(_render_seeded(_fit(LATER, kind), rng.random(), noun=noun, value=other), texts)
    question = clean_turn("customer", _render_seeded(REPEATED_QUESTIONS, rng.random(), noun=noun))
    first = rng.choice([i for i in range(at) if _open(draft.turns[i])])
    halves = []
    for value, turn in (
        (one, error_turn(later, "U3.asked-for", "U3")),
        (other, clean_turn("agent", later, "U3")),
    ):
        base = _stated(
            draft,
            first,
            match_style(_render_seeded(_fit(FIRST, kind), seed, noun=noun, value=value), texts),
            False,
        )
        halves.append(splice(base, at, at, (question, turn)))
    return ErrorPair(*halves)


def _explained(name: str, wordings: tuple[str, ...]) -> HardNegative:
    """Another value is given later, in words that say why."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        scene = _scene(draft, rng)
        if scene is None:
            return None
        kind = rng.choice(list(ATTRIBUTES))
        noun, (one, other) = rng.choice(ATTRIBUTES[kind]), _two_values(kind, rng)
        texts = agent_texts(draft)
        later = match_style(
            _render_seeded(_fit(wordings, kind), rng.random(), noun=noun, value=other, old=one), texts
        )
        text = _with(draft.turns[scene.later].text, later, scene.later_ahead)[0]
        first = match_style(_render_seeded(_fit(FIRST, kind), rng.random(), noun=noun, value=one), texts)
        made = draft.with_turn(scene.later, clean_turn("agent", text, "U3"))
        return _stated(made, scene.first, first, scene.first_ahead)

    return HardNegative("U3", f"U3.not-{name}", make)


_DEV = Wordings("dev/contradiction")
FLIPPED = _DEV.grammar("undone")
CLAIM_WORDS = {**FLIPPED, **_DEV.grammar("done")}

_HELDOUT = Wordings("heldout/contradiction")
FIGURES = _HELDOUT.records("figures", "first", "again", "values")
CLAIMS = _HELDOUT.records("claims", "yes", "no", "yes_again", "no_again")
CORRECTIONS = _HELDOUT.texts("corrections")

DONE = (
    r"\b(has been|have been|was|is|are|you('| a)re( all)?) (successfully )?(booked|reserved|confirmed|scheduled|cancelled"
    r"|canceled|refunded|updated|processed|exchanged)\b|\b(i|i've|i have|i was able to) (successfully )?(booked|book|reserved"
    r"|reserve|scheduled|completed|made|cancelled|processed)\b|\b(booking|reservation|order) (was|is|has been) (successful|complete\w*)\b"
)
"""The agent says that it is done."""

_DONE = re.compile(DONE, re.IGNORECASE)


def _undone(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """What was done a moment ago is not done any more; the twin stands by it."""
    turns = draft.turns
    done = [i for i, t in enumerate(turns) if t.role == "agent" and not t.touched and _DONE.search(t.text)]
    for index in shuffle(done, rng):
        if "?" in turns[index].text:
            continue
        later = [i for i in range(index + 2, len(turns)) if turns[i].role == "agent" and not turns[i].touched]
        if not later:
            continue
        seed = rng.random()
        bad, good = (
            match_agent_style(capitalize_first(expand(words, Random(seed))), draft)
            for words in (FLIPPED, CLAIM_WORDS)
        )
        text, start, end = join_texts(turns[later[0]].text, bad)
        made = error_turn(text, "U3.undone", "U3", start=start, end=end)
        twin = clean_turn("agent", join_texts(turns[later[0]].text, good)[0], "U3")
        return ErrorPair(draft.with_turn(later[0], made), draft.with_turn(later[0], twin))
    return None


MIN_APART = 2
"""Turns from the first statement to the second, at least."""


def _two_spots(draft: ExampleDraft, rng: Random) -> tuple[int, int] | None:
    """Two turns of the agent, not next to each other, to state a thing in and to state it again."""
    indexes = [index for index in open_agent_turns(draft) if not is_closing(draft.turns[index].text)]
    pairs = [(one, two) for one in indexes for two in indexes if two - one >= MIN_APART]
    return rng.choice(pairs) if pairs and len(draft.turns) >= MIN_TURNS else None


def _new_to(draft: ExampleDraft, statement: str) -> bool:
    """Whether the dialogue has not been about this."""
    return not content_words(statement) & content_words(" ".join(turn.text for turn in draft.turns))


def _line(words: tuple[str, ...], draft: ExampleDraft, rng: Random, **values: str) -> str:
    return match_agent_style(capitalize_first(expand({"say": (rng.choice(words),)}, rng, **values)), draft)


def _state(draft: ExampleDraft, index: int, words: str) -> ExampleDraft:
    return draft.with_turn(index, add_words(draft.turns[index], words))


def _state_again(draft: ExampleDraft, index: int, words: str, family: str, first: bool) -> ExampleDraft:
    """The second statement in the turn at `index`, before or after its own words."""
    turn = draft.turns[index]
    if first:
        text, start, end = join_texts(words, turn.text)[0], 0, len(words)
    else:
        text, start, end = join_texts(turn.text, words)
    made = error_turn(text, family, "U3", start=start, end=end) if family else clean_turn("agent", text, "U3")
    return draft.with_turn(index, made)


def _house_figure(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    pair = _two_spots(draft, rng)
    for first, second, values in rng.sample(FIGURES, len(FIGURES)) if pair else ():
        if pair is None or not _new_to(draft, first[0] + " " + second[0]):
            continue
        value, other = rng.sample(values, 2)
        with_first = _state(draft, pair[0], _line(first, draft, rng, v=value))
        words = rng.choice(second)
        bad, good = (_line((words,), draft, rng, v=each) for each in (other, value))
        before = rng.random() < 0.4
        return ErrorPair(
            _state_again(with_first, pair[1], bad, "U3.house-figure", before),
            _state_again(with_first, pair[1], good, "", before),
        )
    return None


def _yes_and_no(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    pair = _two_spots(draft, rng)
    for yes, no, yes_again, no_again in rng.sample(CLAIMS, len(CLAIMS)) if pair else ():
        if pair is None or not _new_to(draft, yes[0] + " " + no[0]):
            continue
        against, fitting, words = (no, yes, yes_again) if rng.random() < 0.5 else (yes, no, no_again)
        again = _line(words, draft, rng)
        before = rng.random() < 0.4
        error = _state(draft, pair[0], _line(against, draft, rng))
        twin = _state(draft, pair[0], _line(fitting, draft, rng))
        return ErrorPair(
            _state_again(error, pair[1], again, "U3.yes-and-no", before),
            _state_again(twin, pair[1], again, "", before),
        )
    return None


def _taken_back(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The agent takes a figure back openly."""
    pair = _two_spots(draft, rng)
    for first, second, values in rng.sample(FIGURES, len(FIGURES)) if pair else ():
        if pair is None or not _new_to(draft, first[0] + " " + second[0]):
            continue
        old, new = rng.sample(values, 2)
        with_first = _state(draft, pair[0], _line(first, draft, rng, v=old))
        turn = add_words(
            DraftTurn("agent", draft.turns[pair[1]].text), _line(CORRECTIONS, draft, rng, v=new, w=old)
        )
        return with_first.with_turn(pair[1], clean_turn("agent", turn.text, "U3"))
    return None


FAMILIES: tuple[Family, ...] = (
    _restated("figure", other_attribute=False),
    _restated("attribute", other_attribute=True),
    Family("U3", "U3.two-facts", _two_facts),
    Family("U3", "U3.matter", _matter),
    Family("U3", "U3.wished", _wished),
    Family("U3", "U3.asked-for", _asked_for),
    Family("U3", "U3.undone", _undone, use="dev"),
    Family("U3", "U3.house-figure", _house_figure, "heldout"),
    Family("U3", "U3.yes-and-no", _yes_and_no, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (
    _explained("corrected", CORRECTED),
    _explained("other-item", OTHER_ITEM),
    HardNegative("U3", "U3.not-taken-back", _taken_back, "heldout"),
)
