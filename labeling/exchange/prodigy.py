"""Prodigy: JSONL, a row is one agent turn with spans; also its binary and choice rows are read.

Source: explosion/prodigy-recipes `example-datasets`; prodi.gy, page *Review*. Offsets are code points,
`token_end` is inclusive. A row of spans counts if it was accepted; a binary row says yes or no to its
label; ignored rows are left out. The annotator's name stays whole: the data set's name in front of it
may hold hyphens, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Finding
from dialint.labeling.exchange import turn_records
from dialint.labeling.exchange.format import Answers, Item, Reading, Row, Shape, Shown, answer
from dialint.labeling.exchange.values import items, moment, obj, text

_TOKEN = re.compile(r"\w+|[^\w\s]")


def _matches(row: Row) -> bool:
    return "text" in row and bool({"_input_hash", "_task_hash", "_view_id"} & row.keys())


def _read(row: Row, reading: Reading) -> Answers:
    verdict = row.get("answer")
    if verdict == "ignore" or verdict is None:
        reading.skipped["ignored" if verdict else "unanswered"] += 1
        return
    if verdict not in ("accept", "reject"):
        raise BadRecord("E_LABEL", "answer", "another word", "accept, reject or ignore")
    binary = "label" in row and "spans" not in row
    if verdict == "reject" and not binary:
        reading.skipped["rejected"] += 1
        return
    meta = obj(row.get("meta"), "meta")
    shown, turn = turn_records.place(meta, row.get("text"), reading, "meta.")
    findings = list(_findings(row, shown, turn, reading, binary=binary))
    labeler = text(row.get("_annotator_id") or row.get("_session_id"), "_annotator_id")
    yield answer(
        "prodigy",
        shown,
        labeler=reading.known.labeler(labeler, "_annotator_id"),
        kind=reading.kind,
        codes=_codes(row, meta, findings, reading, binary=binary),
        turn=turn,
        findings=findings,
        seen_verdict=meta.get("seen_verdict") is True,
        at=moment(row.get("_timestamp"), "_timestamp"),
    )


def _findings(row: Row, shown: Shown, turn: int, reading: Reading, *, binary: bool) -> Iterator[Finding]:
    if binary:
        yield from turn_records.marked(
            [row["label"]] if row["answer"] == "accept" else [], shown, turn, reading, "label"
        )
    elif "options" in row:
        yield from turn_records.marked(row.get("accept"), shown, turn, reading, "accept")
    else:
        yield from turn_records.spans(row.get("spans"), row.get("text"), shown, turn, reading, "spans")


def _codes(
    row: Row, meta: Row, findings: list[Finding], reading: Reading, *, binary: bool
) -> tuple[str, ...]:
    """A binary row asks for its label, a choice for its options, any other for what `meta` says."""
    found = [finding.code for finding in findings]
    if binary:
        return (reading.known.code(row["label"], "label"),)
    if "options" in row:
        named = [obj(option, "options").get("id") for option in items(row["options"], "options")]
        return reading.known.codes(named, "options", found)
    return reading.known.codes(meta.get("codes"), "meta.codes", found)


def _rows(dialogues: Iterable[Item]) -> Iterator[Row]:
    for item in dialogues:
        if not item.annotations:
            for turn, codes, shown in turn_records.to_ask(item):
                yield _row(item, turn, codes, shown, seen=item.release is not None)
        for annotation, turn, asked in turn_records.answered(item):
            codes = tuple(question.code for question in asked)
            row = _row(item, turn, codes, turn_records.found(asked), seen=annotation.seen_verdict)
            who = {"_annotator_id": annotation.labeler, "_session_id": annotation.labeler}
            row.update({"_view_id": "spans_manual", "answer": "accept", **who})
            yield {**row, "_timestamp": int(annotation.at.timestamp())} if annotation.at else row


def _row(item: Item, turn: int, codes: tuple[str, ...], findings: list[Finding], *, seen: bool) -> Row:
    words = item.shown.text(turn)
    spans = turn_records.span_rows(findings, item)
    tokens = _tokens(words, {place for span in spans for place in (span["start"], span["end"])})
    for span in spans:
        inside = [
            token["id"] for token in tokens if span["start"] < token["end"] and token["start"] < span["end"]
        ]
        span.update({"token_start": inside[0], "token_end": inside[-1]} if inside else {})
    return {
        "text": words,
        "tokens": tokens,
        "spans": spans,
        "meta": turn_records.told(item, turn, codes, seen),
    }


def _tokens(words: str, edges: set[int]) -> list[dict[str, Any]]:
    """Words and signs, cut where a span begins or ends: the tool accepts no other span."""
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


SHAPE = Shape("prodigy", "jsonl", _matches, _read, _rows)
