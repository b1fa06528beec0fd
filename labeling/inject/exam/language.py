"""Misspellings (L1) by endings, by sounds left out and by word boundaries, and slips of grammar (L2) from
another language or in haste. The marks are exact; the twin is the right text, the customer slips instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from dialint.labeling.inject.exam.placing import stopped, where
from dialint.labeling.inject.exam.staging import added, as_agent, replies, told
from dialint.labeling.inject.exam.wordings.slips import (
    BRITISH,
    ELISIONS,
    ENDINGS,
    HURRIED,
    JOINED,
    OWN_WORDS,
    QUOTED,
    SPLIT,
    TERSE,
    TRANSFER,
    TYPOS,
)
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Mark, Pool
from dialint.labeling.synthetic.insertion import manner, marked, open_places, placed
from dialint.labeling.synthetic.phrases import capital, say
from dialint.labeling.synthetic.places import plain, shuffled

Slipped = tuple[str, int, int]
Slip = Callable[[str, Random], Slipped | None]

_WORD = re.compile(r"(?<![\w@#./'&-])[A-Za-z][a-z]{3,}(?![\w@#/'-]|\.\w)")
_PROPER = {
    "angeles", "avalon", "berkeley", "brasserie", "magdalene", "mandarin", "peterborough", "ristorante",
    "starbucks", "stortford", "strangelove", "victoria",
}  # fmt: skip
"""Names that the corpora also write small."""
_BRACES = re.compile(r"\{([^{}=]*)=>([^{}]*)\}")
_WORD_RULES = {
    name: tuple((re.compile(rf"\A(?:{pattern})"), new) for pattern, new in rules)
    for name, rules in (("endings", ENDINGS), ("elisions", ELISIONS))
}
_OWN_RULES = tuple((re.compile(pattern), new) for pattern, new in OWN_WORDS)
_JOINED = re.compile(r"\b(" + "|".join(JOINED) + r")\b", re.IGNORECASE)
_TORN = {each.replace("|", ""): each.replace("|", " ") for each in SPLIT}
_TEARABLE = re.compile(r"\b(" + "|".join(_TORN) + r")\b", re.IGNORECASE)


def _put(text: str, start: int, end: int, new: str) -> Slipped:
    return text[:start] + new + text[end:], start, start + len(new)


def _names(text: str) -> set[str]:
    """Words with a capital inside a sentence, in lower case: names, most likely."""
    return {found.lower() for found in re.findall(r"(?<=[a-z,;] )[A-Z][a-z]+", text)}


def _by_words(name: str) -> Slip:
    def slip(text: str, rng: Random) -> Slipped | None:
        names = _names(text)
        for found in rng.sample(words := list(_WORD.finditer(text)), len(words)):
            word = found[0].lower()
            if word in names | _PROPER or (
                found[0] != word and found.start() and text[found.start() - 2] not in ".!?"
            ):
                continue
            rules = list(_WORD_RULES[name])
            rng.shuffle(rules)
            for rule, new in rules:
                match = rule.fullmatch(word)
                made = re.sub(r"(.)@", r"\1\1", match.expand(new)) if match else word
                if made != word:
                    made = capital(made) if found[0][0].isupper() else made
                    return _put(text, found.start(), found.end(), made)
        return None

    return slip


def _boundary(text: str, rng: Random) -> Slipped | None:
    """Two words run together or one torn apart."""
    found = list(_JOINED.finditer(text)) + list(_TEARABLE.finditer(text)) * 2
    if not found:
        return None
    match = rng.choice(found)
    new = match[0].replace(" ", "") if " " in match[0] else _TORN[match[0].lower()]
    new = capital(new) if match[0][0].isupper() else new
    return _put(text, match.start(), match.end(), new)


def _own_words(text: str, rng: Random) -> Slipped | None:
    """Words of the turn itself, as a hurried or foreign writer leaves them."""
    found = [(rule, new) for rule, new in _OWN_RULES if rule.search(text)]
    if not found:
        return None
    rest = [each for each in found if each[0] is not _OWN_RULES[0][0]]  # a word typed twice fits anywhere
    rule, new = rng.choice(rest if rest and rng.random() < 0.75 else found)
    match = rng.choice(list(rule.finditer(text)))
    made = match.expand(new).replace("@", "A" if match[0][0].isupper() else "a")
    tail = re.match(r"\A\w+", text[match.end() :]) if made.endswith(" ") else None
    changed, start, end = _put(text, match.start(), match.end(), made)
    return changed, start, end + (tail.end() if tail else 0)


def _spelling(name: str, slip: Slip) -> Family:
    """A slip in the agent's words; in the twin the customer makes one, if his words allow it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in shuffled(open_places(draft), rng):
            turn = draft.turns[place]
            if not (slipped := slip(turn.text, rng)):
                continue
            text, start, end = slipped
            error = draft.with_turn(place, marked(turn, text, Mark("L1", f"L1.{name}", start, end)))
            twin = draft.with_turn(place, plain("agent", turn.text, "L1"))
            before = draft.turns[place - 1] if place else turn
            if before.role == "customer" and not before.touched and (own := slip(before.text, rng)):
                twin = twin.with_turn(place - 1, DraftTurn("customer", own[0], touched=True))
            return Made(error, twin)
        return None

    return Family("L1", f"L1.{name}", make, "exam")


def _hasty(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    for place in shuffled(open_places(draft), rng):
        turn = draft.turns[place]
        if slipped := _own_words(turn.text, rng):
            text, start, end = slipped
            error = draft.with_turn(place, marked(turn, text, Mark("L2", "L2.hurried-own-words", start, end)))
            return Made(error, draft.with_turn(place, plain("agent", turn.text, "L2")))
    return None


def _both(template: str, rng: Random) -> tuple[str, str, int, int]:
    """The wrong sentence, the right one, and where the slip is in the wrong one."""
    text = say({"say": (template,)}, rng)
    slip = _BRACES.search(text)
    if slip is None:
        raise ValueError(f"no slip in {template!r}")
    head, tail = text[: slip.start()], text[slip.end() :]
    return head + slip[1] + tail, head + slip[2] + tail, len(head), len(head) + len(slip[1])


def _sentence(name: str, templates: tuple[str, ...]) -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = open_places(draft)
        if not places:
            return None
        place = rng.choice(places)
        turn = draft.turns[place]
        bad, good, begin, end = _both(rng.choice(templates), rng)
        how = manner(turn.text, rng, where(draft, place, rng))
        text, start, _ = placed(turn.text, stopped(bad, how), how)
        mark = Mark("L2", f"L2.{name}", start + begin, start + end)
        right = placed(turn.text, stopped(good, how), how)[0]
        return Made(
            draft.with_turn(place, marked(turn, text, mark)),
            draft.with_turn(place, plain("agent", right, "L2")),
        )

    return Family("L2", f"L2.{name}", make, "exam")


def _quoted(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer's own slip, quoted by the agent."""
    for place in replies(draft, rng):
        bad, good = rng.choice(TYPOS)
        words = as_agent(say({"say": QUOTED}, rng, w=bad, r=good), draft)
        said = told(draft, place - 1, f"I searched for {bad} on your page and found nothing.")
        turn = added(DraftTurn("agent", draft.turns[place].text), words)
        return said.with_turn(place, plain("agent", turn.text, "L1"))
    return None


def _in_passing(code: str, name: str, words: tuple[str, ...]) -> HardNegative:
    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        for place in replies(draft, rng):
            own = DraftTurn("agent", draft.turns[place].text)
            turn = added(own, as_agent(rng.choice(words), draft), first=rng.random() < 0.5)
            return draft.with_turn(place, plain("agent", turn.text, code))
        return None

    return HardNegative(code, f"{code}.not-{name}", make, "exam")


FAMILIES = (
    _spelling("word-endings", _by_words("endings")),
    _spelling("unspoken-sounds", _by_words("elisions")),
    _spelling("word-boundary", _boundary),
    _sentence("calque", TRANSFER),
    _sentence("hurried-rewrite", HURRIED),
    Family("L2", "L2.hurried-own-words", _hasty, "exam"),
)
NEGATIVES = (
    HardNegative("L1", "L1.not-customers-typo", _quoted, "exam"),
    _in_passing("L1", "british-or-chatty", BRITISH),
    _in_passing("L2", "elliptic-or-bookish", TERSE),
)
