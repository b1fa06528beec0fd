"""doccano: JSONL, a row is one agent turn with labelled spans, entities or classes.

Source: doccano/doccano `backend/data_export`, `data_import`. Metadata lies at the top level. The
annotator is the name of the file (one for each in an archive) unless a field `labeler` says so.
Offsets are code points; early versions counted UTF-16 units, which the reader must be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dialint.detector.records import Finding
from dialint.labeling.exchange import turn_records
from dialint.labeling.exchange.format import Answers, Item, Reading, Row, Shape, Shown, answer
from dialint.labeling.exchange.values import items, obj, text


def _matches(row: Row) -> bool:
    return "text" in row and ("Comments" in row or "entities" in row or isinstance(row.get("label"), list))


def _read(row: Row, reading: Reading) -> Answers:
    shown, turn = turn_records.place(row, row.get("text"), reading, "")
    findings = list(_findings(row, shown, turn, reading))
    labeler = text(row.get("labeler") or reading.label, "labeler")
    yield answer(
        "doccano",
        shown,
        labeler=reading.known.labeler(labeler, "labeler"),
        kind=reading.kind,
        codes=reading.known.codes(row.get("codes"), "codes", (finding.code for finding in findings)),
        turn=turn,
        findings=findings,
        seen_verdict=row.get("seen_verdict") is True,
    )


def _findings(row: Row, shown: Shown, turn: int, reading: Reading) -> Iterator[Finding]:
    labels = items(row.get("label"), "label")
    whole_turn = [label for label in labels if isinstance(label, str)]
    marked = [label for label in labels if not isinstance(label, str)]
    yield from turn_records.marked(
        [*whole_turn, *items(row.get("cats"), "cats")], shown, turn, reading, "label"
    )
    yield from turn_records.spans(marked, row.get("text"), shown, turn, reading, "label")
    entities = [_span(entity) for entity in items(row.get("entities"), "entities")]
    yield from turn_records.spans(entities, row.get("text"), shown, turn, reading, "entities")


def _span(entity: object) -> object:
    if isinstance(entity, list):
        return entity
    fields = obj(entity, "entities")
    return {
        "start": fields.get("start_offset"),
        "end": fields.get("end_offset"),
        "label": fields.get("label"),
    }


def _rows(dialogues: Iterable[Item]) -> Iterator[Row]:
    number = 0
    for item in dialogues:
        if not item.annotations:
            for turn, codes, shown in turn_records.to_ask(item):
                number += 1
                yield _row(number, item, turn, codes, shown, seen=item.release is not None)
        for annotation, turn, asked in turn_records.answered(item):
            number += 1
            codes = tuple(question.code for question in asked)
            row = _row(number, item, turn, codes, turn_records.found(asked), seen=annotation.seen_verdict)
            yield {**row, "labeler": annotation.labeler}


def _row(
    number: int, item: Item, turn: int, codes: tuple[str, ...], findings: list[Finding], *, seen: bool
) -> Row:
    labels = [[span["start"], span["end"], span["label"]] for span in turn_records.span_rows(findings, item)]
    about = turn_records.told(item, turn, codes, seen)
    return {"id": number, "text": item.shown.text(turn), "label": labels, **about, "Comments": []}


SHAPE = Shape("doccano", "jsonl", _matches, _read, _rows)
