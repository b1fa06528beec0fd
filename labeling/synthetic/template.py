"""M2: a macro whose slots nobody filled.

A twin has the same sentence with its slot filled. Placeholders that masking makes, ``[NAME_1]``,
count as values and never as errors.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.inject.surface import macros
from dialint.labeling.inject.wordings.templates import (
    BLANKS,
    CLEAN_LINES,
    GREETINGS,
    LEFTOVER_RULES,
    LEFTOVERS,
    OTHER_GREETINGS,
    OTHER_SENTENCES,
    OTHER_SYNTAXES,
    SENTENCES,
    SIGNOFFS,
    SLOTS,
    SYNTAXES,
)
from dialint.labeling.synthetic.domains import fitting, names_known
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Made, Pool, Use
from dialint.labeling.synthetic.phrases import like, say, tidy
from dialint.labeling.synthetic.places import free_agent_turns, plain, shuffled, wrong

_SLOT = re.compile("@(" + "|".join(SLOTS) + r")\b")
_VALUE = re.compile(
    r"(?<![\w.])(?P<amount>[£$]\s?\d[\d,.]*\d|\d+(?:\.\d\d)? (?:pounds|GBP|dollars|credits|gbp))|"
    r"(?<![\w.])(?P<date>\d{1,2}(?::\d\d)?\s?(?:am|pm)\b|\d{1,2}:\d\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|"
    r"(?P<order>\b(?=[A-Z0-9]*\d)[A-Z0-9]{5,10}\b|\b\d{5,11}\b)",
    re.IGNORECASE,
)


def _hole(kind: str, rng: Random, syntaxes: tuple[str, ...], blanks: bool) -> str:
    if blanks and rng.random() < 0.3:
        return rng.choice(BLANKS[kind])
    label = rng.choice(SLOTS[kind]["labels"])
    return (
        rng.choice(syntaxes)
        .replace("@label", label if rng.random() < 0.5 else label.replace("_", " "))
        .replace("@upper", label.upper() if rng.random() < 0.5 else label.upper().replace("_", " "))
        .replace("@dotted", label.replace(" ", "_") if rng.random() < 0.7 else label.replace(" ", "."))
    )


def _put(text: str, line: str, after: bool) -> tuple[str, int]:
    """`line` before or after `text`, and where it begins in the result."""
    if not after:
        return f"{line} {text}", 0
    gap = " " if text.rstrip()[-1:] in ".!?,:" else ". "
    return text.rstrip() + gap + line, len(text.rstrip() + gap)


def _sentence_family(
    name: str,
    lines: tuple[str, ...],
    after: tuple[bool, ...],
    syntaxes: tuple[str, ...] = SYNTAXES,
    use: Use = "train",
) -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = shuffled(free_agent_turns(draft), rng)
        if not places:
            return None
        place, text = places[0], draft.turns[places[0]].text
        chosen = _chosen(draft, lines, rng) if use == "train" else _widened(rng.choice(lines), rng)
        if chosen is None:
            return None
        line = like(chosen, [text])
        slot = _SLOT.search(line)
        if slot is None:
            return None
        hole = _hole(slot[1], rng, syntaxes, blanks=use == "train")
        value = rng.choice(SLOTS[slot[1]]["values"])
        side = rng.choice(after)
        bad, at = _put(text, line[: slot.start()] + hole + line[slot.end() :], side)
        good, _ = _put(text, line[: slot.start()] + value + line[slot.end() :], side)
        start = at + slot.start()
        return Made(
            draft.with_turn(place, wrong(bad, f"M2.{name}", "M2", start=start, end=start + len(hole))),
            draft.with_turn(place, plain("agent", good, "M2")),
        )

    return Family("M2", f"M2.{name}", make, use)


def _chosen(draft: Draft, lines: tuple[str, ...], rng: Random) -> str | None:
    """A line that fits the dialogue, its slot left open; it names nobody where names are known."""
    known = names_known(draft)

    def allowed(line: str) -> bool:
        return not (known and re.search("@name|@agent", line))

    return fitting(
        draft, rng, lambda: _widened(rng.choice(lines), rng), lambda line: (_SLOT.sub("", line),), allowed
    )


def _widened(line: str, rng: Random) -> str:
    """The choices of a line made, its slot left open."""
    while found := re.search(r"\(([^()|]*+\|[^()]*+)\)", line):
        line = line[: found.start()] + rng.choice(found[1].split("|")) + line[found.end() :]
    return tidy(line)


def _value(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """A value that the agent did give becomes the slot it came from."""
    for place in shuffled(free_agent_turns(draft), rng):
        text = draft.turns[place].text
        found = [m for m in _VALUE.finditer(text) if m.lastgroup]
        if not found:
            continue
        match = rng.choice(found)
        hole = _hole(str(match.lastgroup), rng, SYNTAXES, blanks=True)
        bad = text[: match.start()] + hole + text[match.end() :]
        made = wrong(bad, "M2.value", "M2", start=match.start(), end=match.start() + len(hole))
        return Made(draft.with_turn(place, made), draft.with_turn(place, plain("agent", text, "M2")))
    return None


def _leftover(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """What a template tells its user stays in what the customer gets."""
    places = shuffled(free_agent_turns(draft), rng)
    if not places:
        return None
    text = draft.turns[places[0]].text
    line = _leftover_line(rng)
    side = rng.random() < 0.5
    bad, at = _put(text, line, side)
    good, _ = _put(text, say({"say": CLEAN_LINES}, rng), side)
    made = wrong(bad, "M2.leftover", "M2", start=at, end=at + len(line))
    return Made(draft.with_turn(places[0], made), draft.with_turn(places[0], plain("agent", good, "M2")))


def _leftover_line(rng: Random) -> str:
    template = rng.choice(LEFTOVERS)
    if template.startswith("{"):  # spintax keeps its bars
        return template.replace("@offer", rng.choice(LEFTOVER_RULES["offer"]))
    return say({"say": (template,), **LEFTOVER_RULES}, rng)


FAMILIES: tuple[Family, ...] = (
    *macros.FAMILIES,
    _sentence_family("greeting", GREETINGS, (False,)),
    _sentence_family("sentence", SENTENCES, (False, True)),
    _sentence_family("signoff", SIGNOFFS, (True,)),
    Family("M2", "M2.value", _value),
    _sentence_family(
        "other-syntax", OTHER_GREETINGS + OTHER_SENTENCES, (False, True), OTHER_SYNTAXES, use="dev"
    ),
    Family("M2", "M2.leftover", _leftover, use="dev"),
)
NEGATIVES: tuple[HardNegative, ...] = macros.NEGATIVES
