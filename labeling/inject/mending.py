"""Clean text made cleaner: slips that the corpora's own agents made.

About 1 agent turn in 130 holds a natural misspelling (2026-11-20), and 1 in 40 a slip that the patterns
of `natural_slips` know (2,462 of 97,871 turns, 2026-11-21), several times what the tests inject for L2;
each would be counted as a false alarm. Well-known ones are corrected; a dialogue with another likely one
is left out. A slip that no pattern knows stays.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from dialint.labeling.inject.draft import Draft, DraftTurn
from dialint.labeling.inject.wordings.misspellings import MISSPELLINGS, REAL_WORDS
from dialint.labeling.inject.wordings.natural_slips import CONTRACTIONS, MENDS, REFUSED

COMMON = 60
"""Times that a word must occur to count as known."""
RARE = 3
MIN_LENGTH = 5

_WORD = re.compile(r"(?<![\w@#./'-])[a-z]{4,}(?![\w@#/-]|\.\w|'(?!s\b))")
_RIGHT = {slip: right for right, slips in MISSPELLINGS.items() for slip in slips if slip not in REAL_WORDS}
_CONTRACTION = re.compile(rf"(?<![\w@./'-])({'|'.join(CONTRACTIONS)})'?(?![\w@/-])", re.IGNORECASE)
_MENDS = tuple((re.compile(pattern, re.IGNORECASE), new) for pattern, new in MENDS)
_REFUSED = tuple(re.compile(pattern, re.IGNORECASE) for pattern in REFUSED)


@dataclass(frozen=True)
class Mender:
    """What is known of the words of the corpora: `suspects` are most likely misspellings."""

    suspects: frozenset[str]

    def mended(self, draft: Draft) -> Draft | None:
        """The draft with well-known slips of its agent corrected; None if another likely one is left."""
        turns = tuple(_corrected(turn) if turn.role == "agent" else turn for turn in draft.turns)
        words = {word for turn in turns if turn.role == "agent" for word in _WORD.findall(turn.text)}
        if words & self.suspects or any(turn.role == "agent" and is_broken(turn.text) for turn in turns):
            return None
        return replace(draft, turns=turns)


@lru_cache(maxsize=1 << 16)
def corrected(text: str) -> str:
    """The text with those slips mended that can be mended for certain."""
    text = _WORD.sub(lambda match: _RIGHT.get(match[0], match[0]), text)
    text = _CONTRACTION.sub(lambda match: _in_case(match[1], CONTRACTIONS[match[1].lower()]), text)
    for pattern, new in _MENDS:
        text = pattern.sub(new, text)
    return text


@lru_cache(maxsize=1 << 16)
def is_broken(text: str) -> bool:
    """Whether the text holds a slip of grammar that only its author could mend."""
    return any(pattern.search(text) for pattern in _REFUSED)


def _in_case(old: str, new: str) -> str:
    return new[:1].upper() + new[1:] if old[0].isupper() else new


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
    text = corrected(turn.text)
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
