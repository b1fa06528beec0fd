"""Texts from small grammars, so that one idea comes out in hundreds of surface forms.

``@rule`` is another rule or a value given by the caller, ``(a|b|)`` a choice. Knows of grammars only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

Grammar = Mapping[str, Sequence[str]]


_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")


_INNER_CHOICE = re.compile(r"\(([^()|]*+\|[^()]*+)\)")
_RULE = re.compile(r"@([a-z_]+[0-9]*)")


class ThinnedRandom(Random):
    """A generator that knows only a fixed share of the wordings, for the ablation of their number.

    Wordings stand in tuples, what is sampled from dialogues in lists, which are left whole.
    """

    def __init__(self, seed: str, share: float) -> None:
        """`share` of each tuple may be chosen, above 0 to 1; always at least one of it."""
        super().__init__(seed)
        self._share = share

    def choice(self, seq: Any) -> Any:
        """As Random's; the same part of a tuple every time."""
        if self._share < 1 and isinstance(seq, tuple):
            seq = _part(seq, self._share)
        return super().choice(seq)


_PARTS: dict[tuple[float, int], tuple[Any, Any]] = {}
"""Parts of tuples already ranked, by share and identity; each holds its tuple, so that no id comes again."""


def _part(seq: tuple[Any, ...], share: float) -> Any:
    key = (share, id(seq))
    if key not in _PARTS:
        ranked = sorted(seq, key=lambda item: hashlib.sha256(repr(item).encode()).digest())
        _PARTS[key] = (seq, ranked[: max(1, round(share * len(seq)))])
    return _PARTS[key][1]


def expand(grammar: Grammar, rng: Random, start: str = "say", **values: str) -> str:
    """One sentence of the grammar, from rule `start`; `values` go in last and are left as they are.

    Raises:
        KeyError: a rule is neither in the grammar nor among the values.
    """
    text = rng.choice(grammar[start])
    while True:
        wider = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), text)
        wider = _RULE.sub(
            lambda match: rng.choice(grammar[match[1]]) if match[1] in grammar else match[0], wider
        )
        if wider == text:
            break
        text = wider
    return normalize_spaces(_RULE.sub(lambda match: values[match[1]], normalize_spaces(text)))


def resolve_choices(template: str, rng: Random) -> str:
    """The template with its choices made, innermost and leftmost first; its rules are left open."""
    while match := _INNER_CHOICE.search(template):
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return template


def count_forms(grammar: Grammar, start: str = "say") -> int:
    """How many surface forms a rule has, values not counted; an upper bound where forms coincide."""

    def of(text: str) -> int:
        total = 1
        rest = text
        while match := _CHOICE.search(rest):
            total *= sum(of(option) for option in match[1].split("|"))
            rest = rest[: match.start()] + rest[match.end() :]
        for name in _RULE.findall(rest):
            total *= count_forms(grammar, name) if name in grammar else 1
        return total

    return sum(of(text) for text in grammar[start])


def normalize_spaces(text: str) -> str:
    """Single spaces, none before a comma or full stop that empty choices left behind."""
    text = re.sub(r"[ \t]{2,}", " ", text)
    return re.sub(r"(?<! ) ++([,.!?])", r"\1", text).strip()


def capitalize_first(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def match_style(text: str, neighbours: Sequence[str]) -> str:
    """`text` in the style of the agent's other turns: lower case, or no last full stop, if they
    mostly do so. Style must not give away a made turn among a real one."""
    others = [other for other in neighbours if other.strip()]
    if not others:
        return text
    lower = sum(other[0].islower() for other in others)
    bare = sum(other.rstrip()[-1].isalnum() for other in others)
    if lower * 2 > len(others):
        text = text[:1].lower() + text[1:] if not text.startswith(("I ", "I'")) else text
    if bare * 2 > len(others) and text.endswith("."):
        text = text[:-1]
    return text
