"""Corpus dialogues made fit to serve as clean text: natural slips corrected, unlawful repeats found.

About 1 agent turn in 130 of the corpora holds a natural misspelling (2026-11-20), and 1 in 40 a slip that
the patterns below know (2,462 of 97,871 turns, 2026-11-21), several times what the tests inject for L2;
each would be counted as a false alarm. Well-known slips are corrected; a dialogue with another likely one
is left out. A slip that no pattern knows stays. Errs towards leaving out: a dialogue too few in the clean
data costs less than an error that is called clean. No error is made from the tables here.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dialint.detector.checks.repeats import same_text_again
from dialint.detector.records import Dialogue, Turn
from dialint.labeling.synthetic.dialogue_acts import is_closing
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft
from dialint.labeling.synthetic.wordings import Wordings

_MISSPELLINGS = Wordings("train/misspellings")
MISSPELLINGS = _MISSPELLINGS.grammar("misspellings")
REAL_WORDS = frozenset(_MISSPELLINGS.texts("real_words"))
"""Words that a slip may make by chance; a slip that makes one is not used."""

_RULES = Wordings("rules/cleaning")

CONTRACTIONS = _RULES.mapping("contractions")

MENDS = _RULES.pairs("mends", "pattern", "becomes")
"""Patterns, case ignored, and what they become; each leaves a sentence that an editor would let pass."""

REFUSED = _RULES.texts("refused")
"""Patterns, case ignored, that no clean agent turn holds."""

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
class Corrector:
    """The words of the corpora: `suspects` are most likely misspellings."""

    suspects: frozenset[str]

    def correct(self, draft: ExampleDraft) -> ExampleDraft | None:
        """The draft with well-known slips of its agent corrected; None if another likely one is left."""
        turns = tuple(_corrected(turn) if turn.role == "agent" else turn for turn in draft.turns)
        words = {word for turn in turns if turn.role == "agent" for word in _WORD.findall(turn.text)}
        if words & self.suspects or any(turn.role == "agent" and is_broken(turn.text) for turn in turns):
            return None
        return replace(draft, turns=turns)


@lru_cache(maxsize=1 << 16)
def correct_text(text: str) -> str:
    """The text with those slips corrected that can be corrected for certain."""
    text = _WORD.sub(lambda match: _RIGHT.get(match[0], match[0]), text)
    text = _CONTRACTION.sub(lambda match: _in_case(match[1], CONTRACTIONS[match[1].lower()]), text)
    for pattern, new in _MENDS:
        text = pattern.sub(new, text)
    return text


@lru_cache(maxsize=1 << 16)
def is_broken(text: str) -> bool:
    """Whether the text holds a slip of grammar that only its author could correct."""
    return any(pattern.search(text) for pattern in _REFUSED)


def _in_case(old: str, new: str) -> str:
    return new[:1].upper() + new[1:] if old[0].isupper() else new


def fit_corrector(drafts: Iterable[ExampleDraft]) -> Corrector:
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
    return Corrector(frozenset(word for word in rare if word not in REAL_WORDS and _is_slip(word, by_stump)))


def _corrected(turn: DraftTurn) -> DraftTurn:
    text = correct_text(turn.text)
    return turn if text == turn.text else replace(turn, text=text)


def _stumps(word: str) -> set[str]:
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def _is_slip(word: str, by_stump: dict[str, set[str]]) -> bool:
    near = {common for stump in _stumps(word) for common in by_stump.get(stump, ())}
    return any(_is_one_slip(word, common) and not _is_inflection(word, common) for common in near)


def _is_inflection(word: str, common: str) -> bool:
    """Whether the two may be forms of one word, ``reach`` and ``reached``."""
    short, long = sorted((word, common), key=len)
    return long.startswith(short) or word[:-1] == common[:-1]


def _is_one_slip(word: str, common: str) -> bool:
    """One letter more, less or other, or two neighbours exchanged; the first letter stands."""
    if word[0] != common[0]:
        return False
    if len(word) != len(common):
        return abs(len(word) - len(common)) == 1
    apart = [i for i, (a, b) in enumerate(zip(word, common, strict=True)) if a != b]
    if len(apart) == 2:
        first, second = apart
        return second == first + 1 and word[first] == common[second] and word[second] == common[first]
    return len(apart) == 1


MIN_WORDS = 6
"""Words of the shortest agent turn that counts as said twice."""

_CHANGE = re.compile(
    r"\b(?:instead|how about|what about|another|different|change|try|for my|second one|next one)\b", re.I
)

_OPEN = re.compile(r"\b(?:what|which|when|where|whom?|how (?:many|long)|name|number)\b[^.!]{0,500}\?", re.I)


def repeats_lawfully(turns: Sequence[DraftTurn], after_lookup: Collection[int] = ()) -> bool | None:
    """Whether what the agent says word for word again was called for each time: a new round of questions,
    a changed request, a new number, or words that come twice by nature. None if nothing is repeated.

    Agent turns of `after_lookup` report what a system answered since the customer last spoke: the same words
    are another answer then.

    In doubt it was not: of unlawful repeats the exact check finds the plain ones only.
    """
    talk = Dialogue(id="d", turns=tuple(Turn(index=i, role=t.role, text=t.text) for i, t in enumerate(turns)))
    indexes = find_repeats(turns)
    if not indexes:
        return None
    if any(hit.turn not in after_lookup for hit in same_text_again(talk)):
        return False
    return all(_is_called_for(turns, before, index, index in after_lookup) for before, index in indexes)


def find_repeats(turns: Sequence[DraftTurn]) -> list[tuple[int, int]]:
    """(Where the words were sent last, where they come again) for each agent turn that was sent before."""
    sent: dict[str, int] = {}
    repeats = []
    for index, turn in enumerate(turns):
        words = re.findall(r"[a-z]+", turn.text.lower())
        if turn.role == "agent" and len(turn.text.split()) >= MIN_WORDS:
            key = " ".join(words)
            if key in sent:
                repeats.append((sent[key], index))
            sent[key] = index
    return repeats


def _is_called_for(turns: Sequence[DraftTurn], before: int, index: int, after_lookup: bool) -> bool:
    between, text = turns[before + 1 : index], turns[index].text
    customer_texts = [turn.text for turn in between if turn.role == "customer"]
    if not customer_texts:
        return False
    if after_lookup or is_closing(text) or "anything else" in text.lower():
        return True
    has_question = any(turn.role == "agent" and re.search(r"\?|__", turn.text) for turn in between)
    earlier_words = set(re.findall(r"\w+", " ".join(turn.text for turn in turns[: before + 1]).lower()))
    new = (
        set(re.findall(r"(?<!\w)(?:(?=[^\W\d]*+\d)\w++|\w+day\b)", customer_texts[-1].lower()))
        - earlier_words
    )
    changed = bool(new or _CHANGE.search(customer_texts[-1]))
    if "?" in text and _OPEN.search(text):
        return bool(
            _CHANGE.search(customer_texts[-1])
        )  # an open question that was answered is not asked again
    return (has_question and len(customer_texts[-1]) > 2) or ("?" not in text and changed)
