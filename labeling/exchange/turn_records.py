"""Rows of the tools that display one turn at a time: locating the turn, reading and writing its spans.

A row carries `dialogue_id`, `turn`, `codes` (those to answer) and `seen_verdict` as its own data, which the
tools return unchanged; the turn of a row without `turn` is located by its text.

The simplest such tool stands here, doccano: JSONL, a row is one agent turn with labelled spans, entities or
classes. Source: doccano/doccano `backend/data_export`, `data_import`. Metadata lies at the top level. The
annotator is the name of the file (one for each in an archive) unless a field `labeler` names it. Offsets are
code points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, Question
from dialint.labeling.exchange.format import (
    DialogueView,
    ExportItem,
    LabelFormat,
    ReadAnswers,
    ReadState,
    Row,
    make_annotation,
)
from dialint.labeling.exchange.values import integer, items, mapping, text


class TurnPart(NamedTuple):
    """A turn to be labeled, with the codes to ask about and the model's findings to display; or, with an
    `annotation`, its answers about a turn. `seen` says whether the labeler sees the model's findings."""

    turn: int
    codes: tuple[str, ...]
    findings: list[Finding]
    seen: bool
    annotation: Annotation | None = None


def locate_turn(data: Row, turn_text: object, state: ReadState, path: str) -> tuple[DialogueView, int]:
    """The dialogue and the turn that `data` names, or whose text is `turn_text`."""
    view = state.context.view(data.get("dialogue_id"), f"{path}dialogue_id")
    if data.get("turn") not in (None, ""):
        return view, view.validate_turn(integer(data["turn"], f"{path}turn"), f"{path}turn")
    return view, view.find_turn(text(turn_text, "text"), "text")


def read_spans(
    spans: object, turn_text: object, view: DialogueView, turn: int, state: ReadState, path: str
) -> Iterator[Finding]:
    """The findings of spans ``{"start", "end", "label"}`` or ``[start, end, label]`` in `turn_text`."""
    for number, item in enumerate(items(spans, path)):
        here = f"{path}[{number}]"
        if isinstance(item, list) and len(item) == 3:
            item = dict(zip(("start", "end", "label"), item, strict=True))
        span = mapping(item, here)
        start, end = integer(span.get("start"), f"{here}.start"), integer(span.get("end"), f"{here}.end")
        words = text(turn_text, "text")
        code = state.context.code(span.get("label"), f"{here}.label")
        original = view.to_original(turn, words, start, end, here)
        yield state.context.finding(view, turn, code, original)


def read_turn_labels(
    labels: object, view: DialogueView, turn: int, state: ReadState, path: str
) -> Iterator[Finding]:
    """The findings of labels without a span: the whole turn is their evidence."""
    for label in items(labels, path):
        code = state.context.code(label, path)
        yield state.context.finding(view, turn, code, view.trimmed_span(turn))


def span_rows(findings: Iterable[Finding], item: ExportItem) -> list[dict[str, Any]]:
    """Findings of one turn as spans in its masked text, in order."""
    rows = []
    for finding in findings:
        start, end = item.view.span(finding)
        rows.append({"start": start, "end": end, "label": finding.code})
    return sorted(rows, key=lambda row: (row["start"], row["end"], row["label"]))


def row_data(item: ExportItem, part: TurnPart) -> dict[str, Any]:
    """A row's own data, which the tool returns."""
    return {
        "dialogue_id": item.view.dialogue.id,
        "turn": part.turn,
        "codes": list(part.codes),
        "seen_verdict": part.seen,
    }


def turn_parts(item: ExportItem) -> Iterator[TurnPart]:
    """The answers of each annotation, turn by turn; without any, the turns to be labeled."""
    if not item.annotations:
        for turn, codes in item.requested_codes():
            model = [each for each in item.model if each.turn == turn and each.code in codes]
            yield TurnPart(turn, codes, model, item.release is not None)
    for annotation in item.annotations:
        by_turn: dict[int, list[Question]] = {}
        for question in item.answers(annotation):
            by_turn.setdefault(question.turn, []).append(question)
        for turn, questions in by_turn.items():
            findings = [finding for question in questions for finding in question.findings]
            codes = tuple(question.code for question in questions)
            yield TurnPart(turn, codes, findings, annotation.seen_verdict, annotation)


def _matches_doccano(row: Row) -> bool:
    return "text" in row and ("Comments" in row or "entities" in row or isinstance(row.get("label"), list))


def _read_doccano(row: Row, state: ReadState) -> ReadAnswers:
    view, turn = locate_turn(row, row.get("text"), state, "")
    findings = list(_doccano_findings(row, view, turn, state))
    labeler = text(row.get("labeler") or state.label, "labeler")
    yield make_annotation(
        "doccano",
        view,
        labeler=state.context.labeler(labeler, "labeler"),
        kind=state.kind,
        codes=state.context.codes(row.get("codes"), "codes", (finding.code for finding in findings)),
        turn=turn,
        findings=findings,
        seen_verdict=row.get("seen_verdict") is True,
    )


def _doccano_findings(row: Row, view: DialogueView, turn: int, state: ReadState) -> Iterator[Finding]:
    labels = items(row.get("label"), "label")
    whole_turn = [label for label in labels if isinstance(label, str)]
    spans = [label for label in labels if not isinstance(label, str)]
    yield from read_turn_labels([*whole_turn, *items(row.get("cats"), "cats")], view, turn, state, "label")
    yield from read_spans(spans, row.get("text"), view, turn, state, "label")
    entities = [_span(entity) for entity in items(row.get("entities"), "entities")]
    yield from read_spans(entities, row.get("text"), view, turn, state, "entities")


def _span(entity: object) -> object:
    if isinstance(entity, list):
        return entity
    fields = mapping(entity, "entities")
    return {
        "start": fields.get("start_offset"),
        "end": fields.get("end_offset"),
        "label": fields.get("label"),
    }


def _rows_doccano(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    parts = ((item, part) for item in dialogues for part in turn_parts(item))
    for number, (item, part) in enumerate(parts, 1):
        spans = span_rows(part.findings, item)
        labels = [[span["start"], span["end"], span["label"]] for span in spans]
        row = {"id": number, "text": item.view.text(part.turn), "label": labels}
        row |= {**row_data(item, part), "Comments": []}
        yield row if part.annotation is None else {**row, "labeler": part.annotation.labeler}


DOCCANO = LabelFormat("doccano", "jsonl", _matches_doccano, _read_doccano, _rows_doccano)
