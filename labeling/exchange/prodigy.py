"""Prodigy: JSONL, a row is one agent turn with spans; also its binary and choice rows are read.

Source: explosion/prodigy-recipes `example-datasets`; prodi.gy, page *Review*. Offsets are code points,
`token_end` is inclusive. A row of spans counts if it was accepted; a binary row answers yes or no to its
label; ignored rows are left out. The annotator's name is not split from the data set's name in front of it,
since both may contain hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from dialint.detector.ingest.outcomes import BadRecord
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
from dialint.labeling.exchange.values import mapping, objects, text, timestamp

_TOKEN = re.compile(r"\w+|[^\w\s]")


def _matches(row: Row) -> bool:
    return "text" in row and bool({"_input_hash", "_task_hash", "_view_id"} & row.keys())


def _read(row: Row, state: ReadState) -> ReadAnswers:
    answer = row.get("answer")
    if answer == "ignore" or answer is None:
        state.skipped["ignored" if answer else "unanswered"] += 1
        return
    if answer not in ("accept", "reject"):
        raise BadRecord("E_LABEL", "answer", "another word", "accept, reject or ignore")
    binary = "label" in row and "spans" not in row
    if answer == "reject" and not binary:
        state.skipped["rejected"] += 1
        return
    meta = mapping(row.get("meta"), "meta")
    view, turn = turn_records.locate_turn(meta, row.get("text"), state, "meta.")
    findings = list(_findings(row, view, turn, state, binary=binary))
    labeler = text(row.get("_annotator_id") or row.get("_session_id"), "_annotator_id")
    yield make_annotation(
        "prodigy",
        view,
        labeler=state.context.labeler(labeler, "_annotator_id"),
        kind=state.kind,
        codes=_codes(row, meta, findings, state, binary=binary),
        turn=turn,
        findings=findings,
        seen_verdict=meta.get("seen_verdict") is True,
        at=timestamp(row.get("_timestamp"), "_timestamp"),
    )


def _findings(
    row: Row, view: DialogueView, turn: int, state: ReadState, *, binary: bool
) -> Iterator[Finding]:
    if binary:
        yield from turn_records.read_turn_labels(
            [row["label"]] if row["answer"] == "accept" else [], view, turn, state, "label"
        )
    elif "options" in row:
        yield from turn_records.read_turn_labels(row.get("accept"), view, turn, state, "accept")
    else:
        yield from turn_records.read_spans(row.get("spans"), row.get("text"), view, turn, state, "spans")


def _codes(
    row: Row, meta: Row, findings: list[Finding], state: ReadState, *, binary: bool
) -> tuple[str, ...]:
    """The codes that a row answers: a binary row's label, a choice's options, any other's codes in `meta`."""
    marked = [finding.code for finding in findings]
    if binary:
        return (state.context.code(row["label"], "label"),)
    if "options" in row:
        names = [option.get("id") for option in objects(row["options"], "options")]
        return state.context.codes(names, "options", marked)
    return state.context.codes(meta.get("codes"), "meta.codes", marked)


def _rows(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for item in dialogues:
        for part in turn_records.turn_parts(item):
            row = _row(item, part)
            if (annotation := part.annotation) is not None:
                labeler = {"_annotator_id": annotation.labeler, "_session_id": annotation.labeler}
                row.update({"_view_id": "spans_manual", "answer": "accept", **labeler})
                row.update({"_timestamp": int(annotation.at.timestamp())} if annotation.at else {})
            yield row


def _row(item: ExportItem, part: turn_records.TurnPart) -> Row:
    words = item.view.text(part.turn)
    spans = turn_records.span_rows(part.findings, item)
    tokens = _tokens(words, {offset for span in spans for offset in (span["start"], span["end"])})
    for span in spans:
        inside = [
            token["id"] for token in tokens if span["start"] < token["end"] and token["start"] < span["end"]
        ]
        span.update({"token_start": inside[0], "token_end": inside[-1]} if inside else {})
    return {"text": words, "tokens": tokens, "spans": spans, "meta": turn_records.row_data(item, part)}


def _tokens(words: str, edges: set[int]) -> list[dict[str, Any]]:
    """Words and signs, split where a span begins or ends: the tool accepts spans of whole tokens only."""
    cuts: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(words):
        inner = sorted(edge for edge in edges if match.start() < edge < match.end())
        bounds = [match.start(), *inner, match.end()]
        cuts.extend(pairwise(bounds))
    return [
        {
            "text": words[start:end],
            "start": start,
            "end": end,
            "id": number,
            "ws": words[end : end + 1].isspace(),
        }
        for number, (start, end) in enumerate(cuts)
    ]


FORMAT = LabelFormat("prodigy", "jsonl", _matches, _read, _rows)
