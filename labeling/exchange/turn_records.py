"""What the tools that show one turn at a time have in common: where the turn is, what its spans say.

A row carries `dialogue_id`, `turn`, `codes` (those asked) and `seen_verdict` as its own data, which the
tools hand back unchanged; a row without `turn` is found by its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, Question
from dialint.labeling.exchange.format import Item, Reading, Row, Shown
from dialint.labeling.exchange.values import from_utf16, items, obj, text, whole


def place(data: Row, words: object, reading: Reading, path: str) -> tuple[Shown, int]:
    """The dialogue and the turn that `data` names, or that says `words`.

    Raises:
        BadRecord: E_LABEL or E_TYPE.
    """
    shown = reading.known.shown(data.get("dialogue_id"), f"{path}dialogue_id")
    if data.get("turn") not in (None, ""):
        return shown, shown.asked(whole(data["turn"], f"{path}turn"), f"{path}turn")
    return shown, shown.turn_of(text(words, "text"), "text")


def spans(
    found: object, words: object, shown: Shown, turn: int, reading: Reading, path: str
) -> Iterator[Finding]:
    """The findings of spans ``{"start", "end", "label"}`` or ``[start, end, label]`` in `words`.

    Raises:
        BadRecord: E_LABEL or E_TYPE.
    """
    for number, item in enumerate(items(found, path)):
        here = f"{path}[{number}]"
        if isinstance(item, list) and len(item) == 3:
            item = dict(zip(("start", "end", "label"), item, strict=True))
        span = obj(item, here)
        start, end = whole(span.get("start"), f"{here}.start"), whole(span.get("end"), f"{here}.end")
        told = text(words, "text")
        if reading.utf16:
            start, end = _points(told, start, end, here)
        code = reading.known.code(span.get("label"), f"{here}.label")
        where = shown.located(turn, told, start, end, here)
        yield reading.known.finding(shown, turn, code, where)


def _points(told: str, start: int, end: int, path: str) -> tuple[int, int]:
    try:
        return from_utf16(told, start), from_utf16(told, end)
    except ValueError as error:
        raise BadRecord("E_LABEL", path, str(error), "offsets in UTF-16 units") from None


def marked(labels: object, shown: Shown, turn: int, reading: Reading, path: str) -> Iterator[Finding]:
    """The findings of labels without a span: the whole turn is their evidence."""
    for label in items(labels, path):
        code = reading.known.code(label, path)
        yield reading.known.finding(shown, turn, code, shown.extent(turn))


def span_rows(findings: Iterable[Finding], item: Item) -> list[dict[str, Any]]:
    """Findings of one turn as spans in its masked text, in order."""
    rows = []
    for finding in findings:
        start, end = item.shown.span(finding)
        rows.append({"start": start, "end": end, "label": finding.code})
    return sorted(rows, key=lambda row: (row["start"], row["end"], row["label"]))


def told(item: Item, turn: int, codes: Iterable[str], seen: bool) -> dict[str, Any]:
    """What a row carries along."""
    return {
        "dialogue_id": item.shown.dialogue.id,
        "turn": turn,
        "codes": list(codes),
        "seen_verdict": seen,
    }


def found(asked: Iterable[Question]) -> list[Finding]:
    """All findings of some questions."""
    return [finding for question in asked for finding in question.findings]


def answered(item: Item) -> Iterator[tuple[Annotation, int, list[Question]]]:
    """Each annotation's turns with their questions."""
    for annotation in item.annotations:
        for turn, asked in item.turns(annotation).items():
            yield annotation, turn, asked


def to_ask(item: Item) -> Iterator[tuple[int, tuple[str, ...], list[Finding]]]:
    """Turns to be labeled: the codes to ask and the model's findings there, which are shown."""
    for turn, codes in item.asked():
        yield turn, codes, [f for f in item.model if f.turn == turn and f.code in codes]
