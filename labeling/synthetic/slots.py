"""What customers state of themselves and their wishes: found by patterns of plain English, and made up.

A customer's statement knows how the sentence reads without it, so that a clean twin can be made in which it
was never made. Not an extractor for anybody else: it prefers missing a statement to guessing. `is_silent`
errs in the other direction: in doubt, a detail counts as stated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from dialint.labeling.synthetic.wordings import Grammar, Wordings, capitalize_first, expand

_PATTERNS = Wordings("rules/statements")

CUSTOMER_PATTERNS = _PATTERNS.mapping("customer_patterns")
"""For each kind: `value` is what was stated, `cut` what goes when it is left unsaid."""

_JOURNEY = re.compile(
    r"\b(train|taxi|flight|fly|bus|ride|travel|trip|go|going|leav|depart|get)", re.IGNORECASE
)

_CUSTOMER_REGEXES = {
    kind: re.compile(pattern, 0 if kind == "name" else re.IGNORECASE)
    for kind, pattern in CUSTOMER_PATTERNS.items()
}


@dataclass(frozen=True)
class CustomerStatement:
    """`value` of a `kind`, and the customer's text `without` it ("" if nothing much is left)."""

    kind: str
    value: str
    without: str


def customer_statements(text: str) -> list[CustomerStatement]:
    """Everything the text states once; a kind stated twice in one turn is left out."""
    statements = []
    for kind, pattern in _CUSTOMER_REGEXES.items():
        matches = list(pattern.finditer(text))
        if kind in ("destination", "departure") and not _JOURNEY.search(text):
            continue
        if len(matches) == 1:
            match = matches[0]
            rest = _mended(text, text[: match.start("cut")] + text[match.end("cut") :])
            statements.append(CustomerStatement(kind, match["value"], rest if len(rest.split()) >= 4 else ""))
    return statements


def mentions(kind: str, text: str) -> bool:
    """Whether the text says anything of this kind."""
    return bool(_CUSTOMER_REGEXES[kind].search(text))


def _mended(whole: str, text: str) -> str:
    """A sentence after a cut: no doubled blanks or stops, no dangling small words, its first capital."""
    high = whole[:1].isupper()
    text = re.sub(r"(?<!\s)\s++([,.?!])", r"\1", re.sub(r"[ ]{2,}", " ", text)).strip(" ,")
    text = re.sub(r"\ban (?=[b-df-hj-np-tv-z])", "a ", re.sub(r"\ba (?=[aeio])", "an ", text))
    text = re.sub(r"\b(and|or|but|on|at|for|in|to|from|with|that|serving|serves)\s*+([.?!]|$)", r"\2", text)
    text = re.sub(r"^(and\b|or\b|but\b|so\b|[,.])[,. ]*+", "", re.sub(r"([.?!])[ .]*\.", r"\1", text).strip())
    return text[:1].upper() + text[1:] if high else text


_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_UNITS = {"hour": 60, "hours": 60, "week": 7, "weeks": 7, "month": 30, "months": 30}

_NUMBERS = {word: number for number, word in enumerate(_WORDS, 2)} | {
    "a": 1, "an": 1, "one": 1, "eleven": 11, "twelve": 12,
}  # fmt: skip

_SMALL = frozenset(
    {"a", "an", "of", "the", "one", "on", "in", "at", "next", "business", "working", "mr", "ms", "dr"}
)


def is_same_value(one: str, other: str) -> bool:
    """Whether two values may mean the same, however they are written: "nine weeks" and "63 days", "2:15 pm"
    and "14:15", "Mr Miller" and "Dr Miller". Errs towards yes."""
    a, b = _meaning(one), _meaning(other)
    return a <= b or b <= a


def _meaning(value: str) -> set[str]:
    """What a value comes down to: its amount if it is one, else its words."""
    text = value.lower().replace("half an hour", "30 minutes").strip(" .,")
    if text == "noon":
        return {"0 h"}
    clock = re.fullmatch(r"(?:at )?(\d{1,2})(?::(\d\d))? ?(am|pm)?", text)
    if clock and (clock[2] or clock[3]):
        return {f"{int(clock[1]) % 12 * 60 + int(clock[2] or 0)} h"}
    if amount := re.fullmatch(
        r"[$£€]?(\d++(?:[.,]\d++)?|[a-z]++)(?: ?%|(?: [a-z]++){0,2}+ ?([a-z]++)?)?", text
    ):
        number, unit = amount[1], text.split()[-1]
        if number[0].isdigit():
            return {f"{float(number.replace(',', '.')) * _UNITS.get(unit, 1):g}"}
        if number in _NUMBERS and (unit in _UNITS or number not in ("a", "an")):
            return {f"{_NUMBERS[number] * _UNITS.get(unit, 1):g}"}
    return {word for word in re.findall(r"[a-z0-9]+", text) if word not in _SMALL} or {text}


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
