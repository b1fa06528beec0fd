"""L1 and L2: spelling and grammar broken in the agent's own words, at the exact place.

Trained families and held-out ones break words by different mechanisms. The twin of a misspelling is
the same slip in the customer's mouth. Nothing here touches names, codes or capitalised words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from dialint.labeling.inject.wordings.misspellings import HOMOPHONES, MISSPELLINGS, PHONETIC, REAL_WORDS
from dialint.labeling.inject.wordings.misspelt_sentences import MISSPELT, RUN_TOGETHER, UNUSUAL
from dialint.labeling.synthetic import grammar
from dialint.labeling.synthetic.cleaning import CONTRACTIONS
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Mark, Pool, Use
from dialint.labeling.synthetic.grammar_rules import HELD_OUT_RULES, RULES, Rule
from dialint.labeling.synthetic.places import free_agent_turns, shuffled
from dialint.labeling.synthetic.rewriting import by_rules

Slip = Callable[[str, Random], str | None]
"""Misspells one lower-case word, or returns None if it cannot."""

_WORD = re.compile(r"(?<![\w@#./'-])[A-Za-z][a-z]{3,}(?![\w@#/-]|\.\w)")
_NEIGHBOURS = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo",
    "j": "hk", "k": "jl", "l": "k", "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "w", "r": "et",
    "s": "ad", "t": "ry", "u": "yi", "v": "cb", "w": "qe", "x": "zc", "y": "tu", "z": "x",
}  # fmt: skip


def _keys(word: str, rng: Random) -> str | None:
    at = rng.randrange(1, len(word))
    return word[:at] + rng.choice(_NEIGHBOURS[word[at]]) + word[at + 1 :]


def _swap(word: str, rng: Random) -> str | None:
    places = [i for i in range(1, len(word) - 1) if word[i] != word[i + 1]]
    if not places:
        return None
    at = rng.choice(places)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _double(word: str, rng: Random) -> str | None:
    at = rng.randrange(1, len(word) - 1)
    if rng.random() < 0.4:
        return word[:at] + word[at] + word[at:]
    return word[:at] + word[at + 1 :]


def _vowel(word: str, rng: Random) -> str | None:
    places = [i for i in range(1, len(word)) if word[i] in "aeiou"]
    if not places or len(word) < 5:
        return None
    at = rng.choice(places)
    return word[:at] + rng.choice([v for v in "aeiou" if v != word[at]]) + word[at + 1 :]


def _phonetic(word: str, rng: Random) -> str | None:
    fits = [(sound, spelt) for sound, spelt in PHONETIC if sound in word]
    if not fits:
        return None
    sound, spelt = rng.choice(fits)
    return word.replace(sound, spelt, 1)


def _extra(word: str, rng: Random) -> str | None:
    at = rng.randrange(1, len(word))
    return word[:at] + rng.choice(_NEIGHBOURS[word[at - 1]]) + word[at:]


def _ending(word: str, rng: Random) -> str | None:
    """The end of a word slips most in haste: lost, doubled or out of order."""
    if len(word) < 5:
        return None
    made = rng.choice((word[:-1], word + word[-1], word[:-2] + word[-1], word[:-2] + word[-1] + word[-2]))
    return None if _is_inflected(word, made) else made


def _is_inflected(word: str, made: str) -> bool:
    """Whether only an ending such as -s, -e, -d or -y went, which may leave a word."""
    return made == word[:-1] and word[-1] in "sedyr"


def _scrambled(word: str, rng: Random) -> str | None:
    """Two slips in one word."""
    first = rng.choice((_swap, _double, _keys))(word, rng)
    return rng.choice((_swap, _double, _extra))(first, rng) if first and len(word) > 5 else None


def _known(word: str, rng: Random) -> str | None:
    return rng.choice(MISSPELLINGS[word]) if word in MISSPELLINGS else None


def _capitalised(draft: Draft) -> set[str]:
    """Words that the dialogue writes with a capital inside a sentence: names, most likely."""
    found: set[str] = set()
    for turn in draft.turns:
        found.update(word.lower() for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", turn.text))
    return found


def _misspelt(text: str, slip: Slip, spared: set[str], rng: Random) -> tuple[str, int, int] | None:
    """The text with one word misspelt, and where; None if no word lends itself."""
    found = [m for m in _WORD.finditer(text) if m[0].islower() or m.start() == 0]
    rng.shuffle(found)
    for match in found[:8]:
        word = match[0].lower()
        made = None if word in spared else slip(word, rng)
        if not made or made == word or made in REAL_WORDS or made in MISSPELLINGS:
            continue
        shown = made.capitalize() if match[0][0].isupper() else made
        return text[: match.start()] + shown + text[match.end() :], match.start(), match.start() + len(shown)
    return None


def _slipped(turn: DraftTurn, slip: Slip, family: str, spared: set[str], rng: Random) -> DraftTurn | None:
    """The turn with one, at times two, marked misspellings."""
    first = _misspelt(turn.text, slip, spared, rng)
    if first is None:
        return None
    text, start, end = first
    marks = [Mark("L1", family, start, end)]
    if rng.random() < 0.25 and (more := _misspelt(text[end:], slip, spared, rng)):
        text = text[:end] + more[0]
        marks.append(Mark("L1", family, end + more[1], end + more[2]))
    return DraftTurn("agent", text, tuple(marks), touched=True)


def _spelling(name: str, slip: Slip, use: Use = "train") -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        spared = _capitalised(draft)
        for place in shuffled(free_agent_turns(draft), rng):
            if made := _slipped(draft.turns[place], slip, f"L1.{name}", spared, rng):
                twin = _customer_slip(draft, place, slip, spared, rng) if rng.random() < 0.5 else None
                return Made(draft.with_turn(place, made), twin)
        return None

    return Family("L1", f"L1.{name}", make, use)


def _customer_slip(draft: Draft, place: int, slip: Slip, spared: set[str], rng: Random) -> Draft | None:
    """The clean twin: the customer misspells, the agent's turn at `place` stays as it was."""
    customers = [i for i, turn in enumerate(draft.turns) if turn.role == "customer" and not turn.touched]
    for other in shuffled(customers, rng):
        if made := _misspelt(draft.turns[other].text, slip, spared, rng):
            slipped = draft.with_turn(other, DraftTurn("customer", made[0], (), touched=True))
            agent = DraftTurn("agent", draft.turns[place].text, (), touched=True, probe="L1")
            return slipped.with_turn(place, agent)
    return None


_APOSTROPHES = tuple(
    Rule(rf"(?<![\w'])({right})(?![\w'])", (slip,)) for slip, right in CONTRACTIONS.items() if slip != "wont"
)
_JOINED = tuple(Rule(rf"\b{words}\b", (words.replace(" ", ""),)) for words in RUN_TOGETHER)

FAMILIES: tuple[Family, ...] = (
    _spelling("keys", _keys),
    _spelling("swap", _swap),
    _spelling("double", _double),
    _spelling("known", _known),
    by_rules("L1", "homophone", HOMOPHONES),
    _spelling("extra", _extra),
    _spelling("ending", _ending),
    _spelling("scrambled", _scrambled),
    by_rules("L1", "joined", _APOSTROPHES + _JOINED),
    grammar.of_sentences("L1", "sentence", MISSPELT),
    _spelling("vowel", _vowel, use="dev"),
    _spelling("phonetic", _phonetic, use="dev"),
    *(by_rules("L2", name, rules) for name, rules in RULES.items()),
    *(by_rules("L2", name, rules, use="dev") for name, rules in HELD_OUT_RULES.items()),
    *grammar.FAMILIES,
)
NEGATIVES: tuple[HardNegative, ...] = (
    grammar.of_right("L1", "unusual", UNUSUAL),
    grammar.of_quoted("L1"),
    *grammar.NEGATIVES,
)
