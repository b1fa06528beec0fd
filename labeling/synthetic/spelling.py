"""L1: spelling broken in the agent's own words, at the exact place.

The families of training, dev and test break words by different mechanisms. The twin of a misspelling is
the same slip in the customer's mouth. Nothing here touches names, codes or capitalised words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from dialint.labeling.synthetic import grammar
from dialint.labeling.synthetic.cleaning import CONTRACTIONS, MISSPELLINGS, REAL_WORDS
from dialint.labeling.synthetic.domains import reply_indexes
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Mark,
    Pool,
    Use,
    add_customer_words,
    add_words,
    clean_turn,
    match_agent_style,
    shuffle,
    untouched_agent_turns,
)
from dialint.labeling.synthetic.grammar import HOMOPHONES, Rule, Slipped, replace_span
from dialint.labeling.synthetic.insertion import edit_turn, open_agent_turns
from dialint.labeling.synthetic.wordings import Wordings, capitalize_first, expand

_TRAIN = Wordings("train/spelling")
MISSPELT = _TRAIN.texts("misspelt")
UNUSUAL = _TRAIN.texts("unusual")
RUN_TOGETHER = _TRAIN.texts("run_together")

_HELDOUT = Wordings("heldout/spelling")
JOINED = _HELDOUT.texts("joined")
TORN = _HELDOUT.texts("torn")
TYPOS = _HELDOUT.pairs("typos")
QUOTED = _HELDOUT.texts("quoted")
UNUSUAL_HELDOUT = _HELDOUT.texts("unusual")
SEARCHED = _HELDOUT.text("searched")

_RULES = Wordings("rules/spelling")
PHONETIC = _RULES.pairs("phonetic", "pattern", "becomes")
"""Spellings and what a writer by ear makes of them."""

ENDINGS = _RULES.pairs("endings", "pattern", "becomes")
"""A word (all of it) and what people make of its ending, doubling or vowels; ``@`` doubles the letter before."""

ELISIONS = _RULES.pairs("elisions", "pattern", "becomes")
"""A word (all of it) and what is left when a sound that is hardly spoken goes unwritten."""

Slip = Callable[[str, Random], str | None]
"""Misspells one lower-case word, or returns None if it cannot."""

_WORD = re.compile(r"(?<![\w@#./'-])[A-Za-z][a-z]{3,}(?![\w@#/-]|\.\w)")

_NEIGHBOURS = _RULES.mapping("neighbours")


def _keys(word: str, rng: Random) -> str | None:
    at = rng.randrange(1, len(word))
    return word[:at] + rng.choice(_NEIGHBOURS[word[at]]) + word[at + 1 :]


def _swap(word: str, rng: Random) -> str | None:
    indexes = [i for i in range(1, len(word) - 1) if word[i] != word[i + 1]]
    if not indexes:
        return None
    at = rng.choice(indexes)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _vowel(word: str, rng: Random) -> str | None:
    indexes = [i for i in range(1, len(word)) if word[i] in "aeiou"]
    if not indexes or len(word) < 5:
        return None
    at = rng.choice(indexes)
    return word[:at] + rng.choice([v for v in "aeiou" if v != word[at]]) + word[at + 1 :]


def _phonetic(word: str, rng: Random) -> str | None:
    fits = [(sound, spelt) for sound, spelt in PHONETIC if sound in word]
    if not fits:
        return None
    sound, spelt = rng.choice(fits)
    return word.replace(sound, spelt, 1)


def _common_misspelling(word: str, rng: Random) -> str | None:
    return rng.choice(MISSPELLINGS[word]) if word in MISSPELLINGS else None


def _capitalised(draft: ExampleDraft) -> set[str]:
    """Words that the dialogue writes with a capital inside a sentence: names, most likely."""
    names: set[str] = set()
    for turn in draft.turns:
        names.update(word.lower() for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", turn.text))
    return names


def _misspelt(text: str, slip: Slip, spared: set[str], rng: Random) -> tuple[str, int, int] | None:
    """The text with one word misspelt, and where; None if no word lends itself."""
    matches = [m for m in _WORD.finditer(text) if m[0].islower() or m.start() == 0]
    rng.shuffle(matches)
    for match in matches[:8]:
        word = match[0].lower()
        made = None if word in spared else slip(word, rng)
        if not made or made == word or made in REAL_WORDS or made in MISSPELLINGS:
            continue
        word_made = made.capitalize() if match[0][0].isupper() else made
        return (
            text[: match.start()] + word_made + text[match.end() :],
            match.start(),
            match.start() + len(word_made),
        )
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
    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        spared = _capitalised(draft)
        for index in shuffle(untouched_agent_turns(draft), rng):
            if made := _slipped(draft.turns[index], slip, f"L1.{name}", spared, rng):
                twin = _customer_slip(draft, index, slip, spared, rng) if rng.random() < 0.5 else None
                return ErrorPair(draft.with_turn(index, made), twin)
        return None

    return Family("L1", f"L1.{name}", make, use)


def _customer_slip(
    draft: ExampleDraft, index: int, slip: Slip, spared: set[str], rng: Random
) -> ExampleDraft | None:
    """The clean twin: the customer misspells, the agent's turn at `index` stays as it was."""
    customers = [i for i, turn in enumerate(draft.turns) if turn.role == "customer" and not turn.touched]
    for other in shuffle(customers, rng):
        if made := _misspelt(draft.turns[other].text, slip, spared, rng):
            slipped = draft.with_turn(other, DraftTurn("customer", made[0], (), touched=True))
            agent = DraftTurn("agent", draft.turns[index].text, (), touched=True, probe="L1")
            return slipped.with_turn(index, agent)
    return None


_APOSTROPHES = tuple(
    Rule(rf"(?<![\w'])({right})(?![\w'])", (slip,)) for slip, right in CONTRACTIONS.items() if slip != "wont"
)

_RUN_TOGETHER = tuple(Rule(rf"\b{words}\b", (words.replace(" ", ""),)) for words in RUN_TOGETHER)

HeldoutSlip = Callable[[str, Random], Slipped | None]

_HELDOUT_WORD = re.compile(r"(?<![\w@#./'&-])[A-Za-z][a-z]{3,}(?![\w@#/'-]|\.\w)")

_PROPER = frozenset(_RULES.texts("proper"))
"""Names that the corpora also write small."""

_WORD_RULES = {
    name: tuple((re.compile(rf"\A(?:{pattern})"), new) for pattern, new in rules)
    for name, rules in (("endings", ENDINGS), ("elisions", ELISIONS))
}

_JOINED = re.compile(r"\b(" + "|".join(JOINED) + r")\b", re.IGNORECASE)

_TORN = {each.replace("|", ""): each.replace("|", " ") for each in TORN}

_TEARABLE = re.compile(r"\b(" + "|".join(_TORN) + r")\b", re.IGNORECASE)


def _names(text: str) -> set[str]:
    """Words with a capital inside a sentence, in lower case: names, most likely."""
    return {name.lower() for name in re.findall(r"(?<=[a-z,;] )[A-Z][a-z]+", text)}


def _by_words(name: str) -> HeldoutSlip:
    def slip(text: str, rng: Random) -> Slipped | None:
        names = _names(text)
        for candidate in rng.sample(words := list(_HELDOUT_WORD.finditer(text)), len(words)):
            word = candidate[0].lower()
            if word in names | _PROPER or (
                candidate[0] != word and candidate.start() and text[candidate.start() - 2] not in ".!?"
            ):
                continue
            rules = list(_WORD_RULES[name])
            rng.shuffle(rules)
            for rule, new in rules:
                match = rule.fullmatch(word)
                made = re.sub(r"(.)@", r"\1\1", match.expand(new)) if match else word
                if made != word:
                    made = capitalize_first(made) if candidate[0][0].isupper() else made
                    return replace_span(text, candidate.start(), candidate.end(), made)
        return None

    return slip


def _boundary(text: str, rng: Random) -> Slipped | None:
    """Two words run together or one torn apart."""
    matches = list(_JOINED.finditer(text)) + list(_TEARABLE.finditer(text)) * 2
    if not matches:
        return None
    match = rng.choice(matches)
    new = match[0].replace(" ", "") if " " in match[0] else _TORN[match[0].lower()]
    new = capitalize_first(new) if match[0][0].isupper() else new
    return replace_span(text, match.start(), match.end(), new)


def _heldout_spelling(name: str, slip: HeldoutSlip) -> Family:
    """A slip in the agent's words; in the twin the customer makes one, if his words allow it."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in shuffle(open_agent_turns(draft), rng):
            turn = draft.turns[index]
            if not (slipped := slip(turn.text, rng)):
                continue
            text, start, end = slipped
            error = draft.with_turn(index, edit_turn(turn, text, Mark("L1", f"L1.{name}", start, end)))
            twin = draft.with_turn(index, clean_turn("agent", turn.text, "L1"))
            before = draft.turns[index - 1] if index else turn
            if before.role == "customer" and not before.touched and (own := slip(before.text, rng)):
                twin = twin.with_turn(index - 1, DraftTurn("customer", own[0], touched=True))
            return ErrorPair(error, twin)
        return None

    return Family("L1", f"L1.{name}", make, "heldout")


def _quoted(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer's own slip, quoted by the agent."""
    for index in reply_indexes(draft, rng):
        bad, good = rng.choice(TYPOS)
        words = match_agent_style(expand({"say": QUOTED}, rng, w=bad, r=good), draft)
        with_query = add_customer_words(draft, index - 1, SEARCHED.replace("@w", bad))
        turn = add_words(DraftTurn("agent", draft.turns[index].text), words)
        return with_query.with_turn(index, clean_turn("agent", turn.text, "L1"))
    return None


FAMILIES: tuple[Family, ...] = (
    _spelling("keys", _keys),
    _spelling("swap", _swap),
    _spelling("known", _common_misspelling),
    grammar.rule_family("L1", "homophone", HOMOPHONES),
    grammar.rule_family("L1", "joined", _APOSTROPHES + _RUN_TOGETHER),
    grammar.sentence_family("L1", "sentence", MISSPELT),
    _spelling("vowel", _vowel, use="dev"),
    _spelling("phonetic", _phonetic, use="dev"),
    _heldout_spelling("word-endings", _by_words("endings")),
    _heldout_spelling("unspoken-sounds", _by_words("elisions")),
    _heldout_spelling("word-boundary", _boundary),
)
NEGATIVES: tuple[HardNegative, ...] = (
    grammar.right_negative("L1", "unusual", UNUSUAL),
    grammar.quoted_negative("L1"),
    HardNegative("L1", "L1.not-customers-typo", _quoted, "heldout"),
    grammar.added_negative("L1", "british-or-chatty", UNUSUAL_HELDOUT),
)
