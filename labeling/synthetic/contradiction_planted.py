"""U3 on planted facts: the agent states one thing, and later the same or another thing.

The later turn is the same in error and twin; what was stated before decides. Values are sampled alike for
both, so that none is likelier to be wrong. What the corpora's agents really stated is changed in
`contradiction`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from random import Random

from dialint.labeling.synthetic.dialogue_acts import is_closing
from dialint.labeling.synthetic.draft import (
    Draft,
    DraftTurn,
    ErrorPair,
    Family,
    HardNegative,
    Pool,
    agent_texts,
    clean_turn,
    error_turn,
    join_texts,
    splice,
)
from dialint.labeling.synthetic.phrases import capitalize_first, expand, match_style
from dialint.labeling.synthetic.slots import PARTS
from dialint.labeling.synthetic.statements import is_same_value
from dialint.labeling.synthetic.wordings import Wordings

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
    forms = list(VALUES[kind])  # a list: `ThinnedRandom` must leave enough of them to find two that differ
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


def _scene(draft: Draft, rng: Random) -> _Scene | None:
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


def _stated(draft: Draft, at: int, words: str, ahead: bool) -> Draft:
    """The draft in which the agent also says this, in good order."""
    return draft.with_turn(at, clean_turn("agent", _with(draft.turns[at].text, words, ahead)[0]))


def _pair(draft: Draft, scene: _Scene, firsts: tuple[str, str], later: str, name: str) -> ErrorPair:
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


def _figure(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """A value is given and given otherwise later; the twin's agent had given that one already."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    kind = rng.choice(list(ATTRIBUTES))
    noun, seed, (one, other) = rng.choice(ATTRIBUTES[kind]), rng.random(), _two_values(kind, rng)
    firsts = (
        _render_seeded(_fit(FIRST, kind), seed, noun=noun, value=one),
        _render_seeded(_fit(FIRST, kind), seed, noun=noun, value=other),
    )
    return _pair(
        draft,
        scene,
        firsts,
        _render_seeded(_fit(LATER, kind), rng.random(), noun=noun, value=other),
        "figure",
    )


def _attribute(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """As above, but what the twin's agent had given was a value of another attribute."""
    scene = _scene(draft, rng)
    if scene is None:
        return None
    kind, noun, beside = _two_nouns(tuple(ATTRIBUTES), rng)
    seed, (one, other) = rng.random(), _two_values(kind, rng)
    firsts = (
        _render_seeded(_fit(FIRST, kind), seed, noun=noun, value=one),
        _render_seeded(_fit(FIRST, kind), seed, noun=beside, value=one),
    )
    return _pair(
        draft,
        scene,
        firsts,
        _render_seeded(_fit(NEW, kind), rng.random(), noun=noun, value=other),
        "attribute",
    )


def _two_facts(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _matter(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _wished(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _change_scene(draft: Draft, rng: Random) -> int | None:
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


def _on_request(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _negative(name: str, wordings: tuple[str, ...]) -> HardNegative:
    """Another value is given later, in words that say why."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
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


FAMILIES: tuple[Family, ...] = (
    Family("U3", "U3.figure", _figure),
    Family("U3", "U3.attribute", _attribute),
    Family("U3", "U3.two-facts", _two_facts),
    Family("U3", "U3.matter", _matter),
    Family("U3", "U3.wished", _wished),
    Family("U3", "U3.asked-for", _on_request),
)


NEGATIVES: tuple[HardNegative, ...] = (
    _negative("corrected", CORRECTED),
    _negative("other-item", OTHER_ITEM),
)
