"""Clean text made cleaner: slips that the corpora's own agents made.

About 1 agent turn in 130 holds a natural misspelling (2026-11-20), more than the tests inject, and
each would be counted as a false alarm. Well-known ones are corrected; a dialogue with another likely
one is left out. Grammar is not touched.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from labeling.inject.draft import Draft, DraftTurn
from labeling.inject.wordings.misspellings import MISSPELLINGS, REAL_WORDS

COMMON = 60
"""Times that a word must occur to count as known."""
RARE = 3
MIN_LENGTH = 5

_WORD = re.compile(r"(?<![\w@#./'-])[a-z]{4,}(?![\w@#/-]|\.\w|'(?!s\b))")
_RIGHT = {slip: right for right, slips in MISSPELLINGS.items() for slip in slips if slip not in REAL_WORDS}


@dataclass(frozen=True)
class Mender:
    """What is known of the words of the corpora: `suspects` are most likely misspellings."""

    suspects: frozenset[str]

    def mended(self, draft: Draft) -> Draft | None:
        """The draft with well-known slips of its agent corrected; None if another likely one is left."""
        turns = tuple(_corrected(turn) if turn.role == "agent" else turn for turn in draft.turns)
        words = {word for turn in turns if turn.role == "agent" for word in _WORD.findall(turn.text)}
        return None if words & self.suspects else replace(draft, turns=turns)


def mender_of(drafts: Iterable[Draft]) -> Mender:
    """Learn which words are common in `drafts`, and which rare ones are one slip away from those."""
    counts: Counter[str] = Counter()
    for draft in drafts:
        for turn in draft.turns:
            counts.update(_WORD.findall(turn.text))
    by_stump: dict[str, set[str]] = defaultdict(set)
    for word, count in counts.items():
        if count >= COMMON and len(word) >= MIN_LENGTH:
            for stump in _stumps(word):
                by_stump[stump].add(word)
    rare = (word for word, count in counts.items() if count <= RARE and len(word) >= MIN_LENGTH)
    return Mender(frozenset(word for word in rare if word not in REAL_WORDS and _is_slip(word, by_stump)))


def _corrected(turn: DraftTurn) -> DraftTurn:
    text = _WORD.sub(lambda match: _RIGHT.get(match[0], match[0]), turn.text)
    return turn if text == turn.text else replace(turn, text=text)


def _stumps(word: str) -> set[str]:
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def _is_slip(word: str, by_stump: dict[str, set[str]]) -> bool:
    near = {known for stump in _stumps(word) for known in by_stump.get(stump, ())}
    return any(_one_slip(word, known) and not _inflected(word, known) for known in near)


def _inflected(word: str, known: str) -> bool:
    """Whether the two may be forms of one word, ``reach`` and ``reached``."""
    short, long = sorted((word, known), key=len)
    return long.startswith(short) or word[:-1] == known[:-1]


def _one_slip(word: str, known: str) -> bool:
    """One letter more, less or other, or two neighbours exchanged; the first letter stands."""
    if word[0] != known[0]:
        return False
    if len(word) != len(known):
        return abs(len(word) - len(known)) == 1
    apart = [i for i, (a, b) in enumerate(zip(word, known, strict=True)) if a != b]
    if len(apart) == 2:
        first, second = apart
        return second == first + 1 and word[first] == known[second] and word[second] == known[first]
    return len(apart) == 1
