"""M2: a template whose slots nobody filled, filled with nothing, or filled with what belongs elsewhere.

The twin is the same sentence with its slot filled. What masking or redaction leaves, ``[NAME_1]`` or
``[link]``, fills a slot and is never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import NamedTuple

from dialint.labeling.synthetic.domains import names_somebody, reply_indexes, sample_fitting
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Mark,
    Pool,
    clean_turn,
    error_turn,
    join_texts,
    match_agent_style,
    shuffle,
    untouched_agent_turns,
)
from dialint.labeling.synthetic.grammar import right_negative
from dialint.labeling.synthetic.insertion import (
    Style,
    edit_turn,
    end_with_stop,
    insert_text,
    open_agent_turns,
    sample_heldout_placement,
    sample_placement,
    sample_style,
)
from dialint.labeling.synthetic.wordings import (
    Texts,
    Wordings,
    capitalize_first,
    expand,
    match_style,
    normalize_spaces,
    resolve_choices,
)


class SlotKind(NamedTuple):
    """What templates call a slot of the kind, and values that fill it."""

    labels: Texts
    values: Texts


def _slot_kinds(file: Wordings, table: str) -> dict[str, SlotKind]:
    return {
        kind: SlotKind(*record) for kind, record in file.records_by_name(table, *SlotKind._fields).items()
    }


_TEMPLATES = Wordings("train/template")
SLOTS = _slot_kinds(_TEMPLATES, "slots")

_MACROS = Wordings("train/macros")
KINDS = _slot_kinds(_MACROS, "kinds")
SHAPES = _MACROS.texts("shapes")
VOIDS = _MACROS.grammar("voids")
MACROS = _MACROS.texts("macros")
NOTES = _MACROS.pairs("notes")
BRACKETS = _MACROS.texts("brackets")
NOT_MISFILLED = _MACROS.texts("not_misfilled")

_DEV = Wordings("dev/template")
DEV_GREETINGS = _DEV.texts("greetings")
DEV_SENTENCES = _DEV.texts("sentences")
DEV_SYNTAXES = _DEV.texts("syntaxes")
LEFTOVERS = _DEV.texts("leftovers")
LEFTOVER_RULES = _DEV.grammar("leftover_rules")
CLEAN_LINES = _DEV.texts("clean_lines")

_HELDOUT = Wordings("heldout/template")
LINES = _HELDOUT.grammar("lines")
RENDERED = _HELDOUT.grammar("rendered")
SAMPLE = _HELDOUT.grammar("sample")
NOTED = _HELDOUT.grammar("noted")
VALUES = _HELDOUT.grammar("values")
FILLED = _HELDOUT.texts("filled")

_SLOT = re.compile("@(" + "|".join(SLOTS) + r")\b")


def _put(text: str, line: str, after: bool) -> tuple[str, int]:
    """`line` before or after `text`, and where it begins in the result."""
    if not after:
        return f"{line} {text}", 0
    gap = " " if text.rstrip()[-1:] in ".!?,:" else ". "
    return text.rstrip() + gap + line, len(text.rstrip() + gap)


def _other_syntax(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """A sentence with a slot in the syntax of another tool."""
    indexes = shuffle(untouched_agent_turns(draft), rng)
    if not indexes:
        return None
    index, text = indexes[0], draft.turns[indexes[0]].text
    line = match_style(
        normalize_spaces(resolve_choices(rng.choice(DEV_GREETINGS + DEV_SENTENCES), rng)), [text]
    )
    slot = _SLOT.search(line)
    if slot is None:
        return None
    label, spaced = rng.choice(SLOTS[slot[1]].labels), rng.random() < 0.5
    hole = rng.choice(DEV_SYNTAXES)
    for mark, words in (("@label", label), ("@upper", label.upper())):
        hole = hole.replace(mark, words.replace("_", " ") if spaced else words)
    hole = hole.replace("@dotted", label.replace(" ", "_") if rng.random() < 0.7 else label.replace(" ", "."))
    value, after = rng.choice(SLOTS[slot[1]].values), rng.random() < 0.5
    bad, at = _put(text, line[: slot.start()] + hole + line[slot.end() :], after)
    good, _ = _put(text, line[: slot.start()] + value + line[slot.end() :], after)
    start = at + slot.start()
    return ErrorPair(
        draft.with_turn(index, error_turn(bad, "M2.other-syntax", "M2", start=start, end=start + len(hole))),
        draft.with_turn(index, clean_turn("agent", good, "M2")),
    )


def _leftover(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """What a template tells its user stays in what the customer gets."""
    indexes = shuffle(untouched_agent_turns(draft), rng)
    if not indexes:
        return None
    text = draft.turns[indexes[0]].text
    line = _leftover_line(rng)
    side = rng.random() < 0.5
    bad, at = _put(text, line, side)
    good, _ = _put(text, expand({"say": CLEAN_LINES}, rng), side)
    made = error_turn(bad, "M2.leftover", "M2", start=at, end=at + len(line))
    return ErrorPair(
        draft.with_turn(indexes[0], made), draft.with_turn(indexes[0], clean_turn("agent", good, "M2"))
    )


def _leftover_line(rng: Random) -> str:
    template = rng.choice(LEFTOVERS)
    if template.startswith("{"):  # spintax keeps its bars
        return template.replace("@offer", rng.choice(LEFTOVER_RULES["offer"]))
    return expand({"say": (template,), **LEFTOVER_RULES}, rng)


Hole = Callable[[str, Random], str]
"""What stands in a slot of a kind that was not filled."""

_RULES = Wordings("rules/template")
_NEVER_FITS = _RULES.grammar("never_fits")
"""Kinds whose values can never stand in a slot of the kind."""

_NAMES = re.compile(
    "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in (*KINDS["name"].values, *KINDS["agent"].values))
)

_MACRO_SLOT = re.compile(r"@(\w+)")

_REDACTED = re.compile(r"\[\s*(?:[A-Z]+_\d+|name|email|phone|number|address|date|url|link)\s*\]")


def render_slot(kind: str, shape: str, rng: Random) -> str:
    """The slot's label in the syntax `shape`; never what redaction would leave."""
    label = rng.choice(KINDS[kind].labels)
    snake = re.sub(r"[ .]", "_", label)
    slot = shape.replace("@snakeup", snake.upper()).replace("@upper", label.upper())
    slot = slot.replace("@snake", snake).replace("@label", label)
    return slot.upper() if _REDACTED.fullmatch(slot) else slot


def _misfilled(kind: str, rng: Random) -> str:
    """A value of a kind that can never stand there."""
    return rng.choice([value for value in KINDS[rng.choice(_NEVER_FITS[kind])].values if "[" not in value])


def _macros(name: str, chosen: Callable[[Random], Hole], lines: tuple[str, ...] = MACROS) -> Family:
    family = f"M2.{name}"

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = open_agent_turns(draft)
        if not indexes:
            return None
        filled = _fitting_macro(draft, rng, lambda: _filled(rng.choice(lines), chosen(rng), rng))
        if filled is None:
            return None
        bad, good, spans = filled
        index = rng.choice(indexes)
        turn = draft.turns[index]
        style = _closing(good, sample_style(turn.text, rng, sample_placement(draft, index, rng)))
        text, at, end = insert_text(turn.text, bad, style)
        marks = tuple(Mark("M2", family, at + a, min(at + b, end)) for a, b in spans)
        twin = clean_turn("agent", insert_text(turn.text, good, style)[0], "M2")
        return ErrorPair(
            draft.with_turn(index, DraftTurn("agent", text, marks, touched=True)),
            draft.with_turn(index, twin),
        )

    return Family("M2", family, make)


def _closing(words: str, style: Style) -> Style:
    """The style, but a signature, which ends without a stop, closes its turn."""
    return style if words[-1] in ".!?,:" or style.where == "instead" else replace(style, where="after")


Filled = tuple[str, str, list[tuple[int, int]]]
"""A macro with its holes, the same with its values, and where the holes are."""


def _fitting_macro(draft: ExampleDraft, rng: Random, draw: Callable[[], Filled]) -> Filled | None:
    """A macro that fits the dialogue, filled; it names nobody where somebody is named."""
    has_name = names_somebody(draft)
    return sample_fitting(
        draft, rng, draw, lambda made: (made[1],), lambda made: not (has_name and _NAMES.search(made[1]))
    )


def _filled(template: str, hole: Hole, rng: Random) -> Filled:
    """The macro with holes, with values, and where the holes are: all its slots, or one of them."""
    template = resolve_choices(template, rng)
    slots = list(_MACRO_SLOT.finditer(template))
    left_open = set(range(len(slots))) if rng.random() < 0.5 else {rng.randrange(len(slots))}
    bad, good, at = "", "", 0
    spans = []
    for number, slot in enumerate(slots):
        value = rng.choice(KINDS[slot[1]].values)
        filler = hole(slot[1], rng) if number in left_open else value
        lead = template[at : slot.start()]
        bad, good = bad + lead, good + lead + value
        if number in left_open:
            spans.append((len(bad), len(bad) + len(filler)))
        bad, at = bad + filler, slot.end()
    return bad + template[at:], good + template[at:], spans


def _shape(rng: Random) -> Hole:
    """One syntax for all the slots of a turn, as one tool wrote it."""
    shape = rng.choice(SHAPES)
    return lambda kind, rng: render_slot(kind, shape, rng)


def _note(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """What a template says to its user, or the frame it came in, reaches the customer."""
    indexes = open_agent_turns(draft)
    if not indexes:
        return None
    pair = sample_fitting(draft, rng, lambda: rng.choice(NOTES), lambda two: (two[1],))
    if pair is None:
        return None
    bad, good = pair
    index = rng.choice(indexes)
    old = draft.turns[index].text
    style = sample_style(old, rng, sample_placement(draft, index, rng))
    text, start, end = insert_text(old, bad, style)
    error = DraftTurn("agent", text, (Mark("M2", "M2.note", start, end),), touched=True)
    twin = clean_turn("agent", insert_text(old, good, style)[0], "M2")
    return ErrorPair(draft.with_turn(index, error), draft.with_turn(index, twin))


_MARK = "\x00"


def _line(template: str, rng: Random) -> tuple[str, str]:
    """One form of the template, cut heldout_where its slot is."""
    head, _, tail = expand({"say": (template,)}, rng, slot=_MARK).partition(_MARK)
    return capitalize_first(head), tail


def _with_value(
    draft: ExampleDraft, index: int, line: tuple[str, str], value: str, style: Style, family: str
) -> ExampleDraft:
    """The line with `value` in the turn at `index`; the value is marked unless `family` is empty."""
    turn = draft.turns[index]
    text, start, _ = insert_text(turn.text, end_with_stop(line[0] + value + line[1], style), style)
    begin = start + len(line[0])
    mark = Mark("M2", family, begin, min(begin + len(value), len(text))) if family else None
    if mark is None:
        return draft.with_turn(index, clean_turn("agent", text, "M2"))
    return draft.with_turn(index, edit_turn(turn, text, mark))


def _put_line(
    draft: ExampleDraft, rng: Random, line: tuple[str, str], bad: str, good: str, family: str
) -> ErrorPair | None:
    indexes = open_agent_turns(draft)
    if not indexes:
        return None
    index = rng.choice(indexes)
    style = sample_style(draft.turns[index].text, rng, sample_heldout_placement(draft, index, rng))
    return ErrorPair(
        _with_value(draft, index, line, bad, style, family), _with_value(draft, index, line, good, style, "")
    )


def _gone_wrong(name: str, holes: Mapping[str, tuple[str, ...]]) -> Family:
    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        kind = rng.choice([each for each in LINES if each != "name" or not names_somebody(draft)])
        line = _line(rng.choice(LINES[kind]), rng)
        good = rng.choice(VALUES[kind])
        return _put_line(draft, rng, line, rng.choice(holes[kind]), good, f"M2.{name}")

    return Family("M2", f"M2.{name}", make, "heldout")


def _lawful(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """Brackets, masks and forms that are meant to be read as they stand."""
    for index in reply_indexes(draft, rng):
        text = join_texts(draft.turns[index].text, match_agent_style(rng.choice(FILLED), draft))[0]
        return draft.with_turn(index, clean_turn("agent", text, "M2"))
    return None


_TIGHT = tuple(line for line in MACROS if not line.startswith(NOT_MISFILLED))

FAMILIES: tuple[Family, ...] = (
    _macros("macro", _shape),
    _macros("void", lambda rng: lambda kind, rng: rng.choice(VOIDS[kind])),
    _macros("misfilled", lambda rng: _misfilled, _TIGHT),
    Family("M2", "M2.note", _note),
    Family("M2", "M2.other-syntax", _other_syntax, "dev"),
    Family("M2", "M2.leftover", _leftover, use="dev"),
    _gone_wrong("broken-merge", RENDERED),
    _gone_wrong("sample-data", SAMPLE),
    _gone_wrong("note-to-author", NOTED),
)
NEGATIVES: tuple[HardNegative, ...] = (
    right_negative("M2", "brackets", BRACKETS),
    HardNegative("M2", "M2.not-meant-as-read", _lawful, "heldout"),
)
