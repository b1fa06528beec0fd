"""doccano: JSONL, a row is one agent turn with labelled spans, entities or classes.

Source: doccano/doccano `backend/data_export`, `data_import`. Metadata lies at the top level. The
annotator is the name of the file (one for each in an archive) unless a field `labeler` names it.
Offsets are code points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dialint.detector.records import Finding
from dialint.labeling.exchange import turn_records
from dialint.labeling.exchange.format import (
    DialogueView,
    ExportItem,
    LabelFormat,
    ReadAnswers,
    ReadState,
    Row,
    make_annotation,
)
from dialint.labeling.exchange.values import items, mapping, text


def _matches(row: Row) -> bool:
    return "text" in row and ("Comments" in row or "entities" in row or isinstance(row.get("label"), list))


def _read(row: Row, state: ReadState) -> ReadAnswers:
    view, turn = turn_records.locate_turn(row, row.get("text"), state, "")
    findings = list(_findings(row, view, turn, state))
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


def _findings(row: Row, view: DialogueView, turn: int, state: ReadState) -> Iterator[Finding]:
    labels = items(row.get("label"), "label")
    whole_turn = [label for label in labels if isinstance(label, str)]
    spans = [label for label in labels if not isinstance(label, str)]
    yield from turn_records.read_turn_labels(
        [*whole_turn, *items(row.get("cats"), "cats")], view, turn, state, "label"
    )
    yield from turn_records.read_spans(spans, row.get("text"), view, turn, state, "label")
    entities = [_span(entity) for entity in items(row.get("entities"), "entities")]
    yield from turn_records.read_spans(entities, row.get("text"), view, turn, state, "entities")


def _span(entity: object) -> object:
    if isinstance(entity, list):
        return entity
    fields = mapping(entity, "entities")
    return {
        "start": fields.get("start_offset"),
        "end": fields.get("end_offset"),
        "label": fields.get("label"),
    }


def _rows(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    parts = ((item, part) for item in dialogues for part in turn_records.turn_parts(item))
    for number, (item, part) in enumerate(parts, 1):
        spans = turn_records.span_rows(part.findings, item)
        labels = [[span["start"], span["end"], span["label"]] for span in spans]
        row = {"id": number, "text": item.view.text(part.turn), "label": labels}
        row |= {**turn_records.row_data(item, part), "Comments": []}
        yield row if part.annotation is None else {**row, "labeler": part.annotation.labeler}


FORMAT = LabelFormat("doccano", "jsonl", _matches, _read, _rows)
