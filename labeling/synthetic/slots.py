"""Slots: the made-up details that a customer may state, and which of them a dialogue does not state yet.

`is_silent` errs in the other direction than `statements.mentions`: in doubt, a detail counts as stated.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.wordings import Grammar, Wordings, capitalize_first, expand

_TEXTS = Wordings("train/slots")
PARTS = _TEXTS.grammar("parts")
VALUES = _TEXTS.grammar("values")
SHAPES = _TEXTS.groups("shapes")
CLASHING = _TEXTS.groups("clashing")
NOUNS = _TEXTS.grammar("nouns")
QUESTIONS = _TEXTS.grammar("questions")
STATEMENTS = _TEXTS.grammar("statements")
FIXED = frozenset(_TEXTS.texts("fixed"))
IDENTIFYING = frozenset(_TEXTS.texts("identifying"))
_ASKING = Wordings("train/state_planted")
ASK = _ASKING.grammar("ask")
STATE = _ASKING.texts("statements")

_RULES = Wordings("rules/slots")


_LOOSE = _RULES.mapping("loose")


_CASED = frozenset({"name", "other_name"})


_STATED = {
    kind: re.compile(
        _LOOSE.get(kind, r"\d{4}|\d[\d -]{3}\d|(?<!\w)(?=[^\W\d]*+\d)\w{5,}"), 0 if kind in _CASED else re.I
    )
    for kind in VALUES
}


_ARTICLE = re.compile(r"\b([Aa])(?= (?:[aeio]|un(?!i)))")


_PLACEHOLDER = re.compile(r"[#&]")


def sample_value(kind: str, rng: Random) -> str:
    """A made-up value of this kind."""
    rules: Grammar = {**PARTS, "say": VALUES[kind]}
    text = expand(rules, rng)
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    text = _PLACEHOLDER.sub(
        lambda m: str(rng.randrange(1, 10)) if m[0] == "#" else letters[rng.randrange(23)], text
    )
    return text.lower().replace("~", "@") if kind == "email" else text


def is_clash(one: str, other: str) -> bool:
    """Whether an answer to one kind may be taken for an answer to the other."""
    return one == other or any({one, other} <= set(group) for group in CLASHING)


def is_silent(kind: str, dialogue_text: str) -> bool:
    """Whether nothing in `dialogue_text` could be a value of this kind."""
    return not _STATED[kind].search(dialogue_text)


def sample_two_kinds(dialogue_text: str, rng: Random, changeable: bool = False) -> tuple[str, str] | None:
    """Two kinds that do not clash and of which `dialogue_text` says nothing, mostly of one shape; in
    either order."""
    for _ in range(16):
        group = list(rng.choice(SHAPES)) if rng.random() < 0.65 else list(VALUES)
        one, other = rng.sample(group, 2)
        if changeable and {one, other} & FIXED:
            continue
        if not is_clash(one, other) and is_silent(one, dialogue_text) and is_silent(other, dialogue_text):
            return one, other
    return None


def sample_third_kind(dialogue_text: str, excluded: tuple[str, ...], rng: Random) -> str | None:
    """A kind to distract with, which clashes with none of those `excluded`."""
    for _ in range(8):
        kind = rng.choice(list(VALUES))
        if is_silent(kind, dialogue_text) and not any(is_clash(kind, other) for other in excluded):
            return kind
    return None


def sample_noun(kind: str, rng: Random) -> str:
    """What a thing of this kind is called."""
    return rng.choice(NOUNS[kind])


def state_slot(kind: str, value: str, rng: Random) -> str:
    """A customer's sentence that gives the value."""
    own = STATEMENTS.get(kind, ())
    wordings = own if own and rng.random() < 0.5 else STATE
    if kind in ("reason", "symptom"):
        wordings = own
    return capitalize_first(expand({"say": wordings}, rng, noun=sample_noun(kind, rng), value=value))


def ask_slot(kind: str, rng: Random) -> str:
    """An agent's question for it, as if it had never been mentioned."""
    text = expand({**ASK, "question": QUESTIONS[kind]}, rng, noun=sample_noun(kind, rng))
    return capitalize_first(_ARTICLE.sub(r"\1n", text))
