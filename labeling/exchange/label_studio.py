"""Label Studio: a task is a dialogue (tag Paragraphs), a region a finding; predictions out.

Source: HumanSignal/label-studio, docs `guide/tasks.md`, `guide/predictions.md`, `tags/paragraphs.md` and
the editor's ParagraphsRegion. Offsets count UTF-16 units within one paragraph; where a region tells its
own text and that fits code points only, these are taken. A region over several turns is a finding in
each agent's turn of it. Kept of a finding: code, turn, span and, as a text area of the region, reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange.format import Answers, Item, Reading, Row, Shape, Shown, answer
from dialint.labeling.exchange.values import (
    from_utf16,
    items,
    moment,
    named,
    obj,
    seconds,
    text,
    to_utf16,
    unknown,
    whole,
    wrong,
)

LABELS, PARAGRAPHS, WHY = "err", "dlg", "why"
"""Names of the tags in our interface; any others are read as well."""


def interface(codes: Iterable[str]) -> str:
    """The labelling interface (XML) that the tasks written here are made for."""
    labels = "".join(f"<Label value={quoteattr(code)}/>" for code in codes)
    return (
        f'<View><Paragraphs name="{PARAGRAPHS}" value="$dialogue" layout="dialogue" nameKey="author"'
        f' textKey="text"/><ParagraphLabels name="{LABELS}" toName="{PARAGRAPHS}">{labels}</ParagraphLabels>'
        f'<TextArea name="{WHY}" toName="{PARAGRAPHS}" perRegion="true" rows="2"/></View>\n'
    )


def _matches(row: Row) -> bool:
    return isinstance(row.get("data"), dict) and ("annotations" in row or "predictions" in row)


def _read(row: Row, reading: Reading) -> Answers:
    data = obj(row.get("data"), "data")
    shown = reading.known.shown(data.get("dialogue_id"), "data.dialogue_id")
    paragraphs = _paragraphs(data, shown)
    for number, annotation in enumerate(items(row.get("annotations"), "annotations")):
        path = f"annotations[{number}]"
        try:
            told = obj(annotation, path)
            if told.get("was_cancelled") is True:
                reading.skipped["skipped"] += 1
                continue
            yield _answer(told, row, shown, paragraphs, reading, path)
        except BadRecord as bad:
            bad.dialogue_id = shown.dialogue.id
            yield bad


def _paragraphs(data: dict[str, Any], shown: Shown) -> list[str]:
    """The texts of the task, of which there must be as many as turns."""
    found = [
        obj(item, f"data.dialogue[{n}]")
        for n, item in enumerate(items(data.get("dialogue"), "data.dialogue"))
    ]
    if len(found) != len(shown.dialogue.turns):
        raise BadRecord(
            "E_LABEL", "data.dialogue", f"{len(found)} paragraphs", "one for each turn", shown.dialogue.id
        )
    return [_words(item, f"data.dialogue[{number}].text") for number, item in enumerate(found)]


def _words(item: Row, path: str) -> str:
    if not isinstance(item.get("text"), str):
        raise wrong(path, item.get("text"), "a text")
    return str(item["text"])


def _answer(
    told: Row, row: Row, shown: Shown, paragraphs: list[str], reading: Reading, path: str
) -> Annotation:
    known, data = reading.known, obj(row.get("data"), "data")
    results = [
        obj(item, f"{path}.result[{n}]") for n, item in enumerate(items(told.get("result"), f"{path}.result"))
    ]
    findings = list(_findings(results, shown, paragraphs, reading, f"{path}.result"))
    turn = None if data.get("turn") is None else shown.asked(whole(data["turn"], "data.turn"), "data.turn")
    by_id = "id" in row and "id" in told
    return answer(
        "label-studio",
        shown,
        f"{named(row['id'], 'id')}/{named(told['id'], f'{path}.id')}" if by_id else None,
        labeler=known.labeler(_labeler(told.get("completed_by"), f"{path}.completed_by"), path),
        kind="expert" if told.get("ground_truth") is True else reading.kind,
        codes=known.codes(data.get("codes"), "data.codes", (finding.code for finding in findings)),
        turn=turn,
        findings=findings,
        seen_verdict=bool(row.get("predictions"))
        or any("prediction" in str(r.get("origin")) for r in results),
        seconds=seconds(told.get("lead_time"), f"{path}.lead_time"),
        at=moment(told.get("created_at"), f"{path}.created_at"),
    )


def _labeler(value: object, path: str) -> str:
    if isinstance(value, dict):
        return named(value.get("id", value.get("email")), path)
    return named(value, path)


def _findings(
    results: list[Row], shown: Shown, paragraphs: list[str], reading: Reading, path: str
) -> Iterator[Finding]:
    reasons = {
        str(result.get("id")): _reason(result, path) for result in results if result.get("type") == "textarea"
    }
    for number, result in enumerate(results):
        if result.get("type") != "paragraphlabels":
            continue
        here = f"{path}[{number}].value"
        value = obj(result.get("value"), here)
        spans = list(_spans(value, shown, paragraphs, here))
        if not spans:
            raise BadRecord("E_LABEL", here, "a customer's turn", "an agent's turn")
        for label in items(value.get("paragraphlabels"), f"{here}.paragraphlabels"):
            code = reading.known.code(label, f"{here}.paragraphlabels")
            for turn, span in spans:
                yield reading.known.finding(shown, turn, code, span, reasons.get(str(result.get("id")), ""))


def _reason(result: Row, path: str) -> str:
    told = items(obj(result.get("value"), path).get("text"), f"{path}.text")
    return "\n".join(text(item, f"{path}.text") for item in told)


def _spans(
    value: Row, shown: Shown, paragraphs: list[str], path: str
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Turn and original offsets of each judged turn that a region touches."""
    first, last = whole(value.get("start"), f"{path}.start"), whole(value.get("end"), f"{path}.end")
    offsets = (
        whole(value.get("startOffset"), f"{path}.startOffset"),
        whole(value.get("endOffset"), f"{path}.endOffset"),
    )
    if not first <= last < len(paragraphs):
        raise unknown(f"{path}.end", str(last), "paragraphs in order, within the task")
    try:
        start, end = _points(
            offsets, paragraphs[first], paragraphs[last], value.get("text") if first == last else None
        )
    except ValueError:
        raise BadRecord(
            "E_LABEL", path, "an offset", "offsets in UTF-16 units within the paragraph"
        ) from None
    for place in range(first, last + 1):
        turn = shown.dialogue.turns[place].index
        begins = start if place == first else 0
        ends = end if place == last else len(paragraphs[place])
        if turn in shown.judged and (begins < ends or first == last):
            yield turn, shown.located(turn, paragraphs[place], begins, ends, path)


def _points(offsets: tuple[int, int], first: str, last: str, quote: object) -> tuple[int, int]:
    """The offsets in code points: UTF-16 units, unless only the other reading gives the quote."""
    try:
        found = from_utf16(first, offsets[0]), from_utf16(last, offsets[1])
    except ValueError:
        if not isinstance(quote, str) or first[slice(*offsets)] != quote:
            raise
        return offsets
    fits = not isinstance(quote, str) or first[slice(*found)] == quote
    return offsets if not fits and first[slice(*offsets)] == quote else found


def _rows(dialogues: Iterable[Item]) -> Iterator[Row]:
    for number, item in enumerate(dialogues, 1):
        asked: dict[tuple[int | None, tuple[str, ...]], list[Annotation]] = {}
        for annotation in item.annotations:
            asked.setdefault((annotation.turn, annotation.codes), []).append(annotation)
        for part, ((turn, codes), own) in enumerate((asked or {(None, item.codes): []}).items()):
            yield _task(f"{number}-{part}", turn, codes, own, item)


def _task(name: str, turn: int | None, codes: tuple[str, ...], own: list[Annotation], item: Item) -> Row:
    turns = [{"author": said.role, "text": item.shown.text(said.index)} for said in item.shown.dialogue.turns]
    data = {"dialogue_id": item.shown.dialogue.id, "dialogue": turns, "codes": list(codes)}
    row: Row = {
        "data": data if turn is None else {**data, "turn": turn},
        "annotations": [_told(told, item, f"{name}-{number}") for number, told in enumerate(own)],
        "predictions": [],
    }
    if item.release is not None:
        shown = [found for found in item.model if turn in (None, found.turn) and found.code in codes]
        row["predictions"].append(_prediction(shown, item, name))
    return row


def _told(annotation: Annotation, item: Item, name: str) -> Row:
    row = {
        "completed_by": {"email": annotation.labeler},
        "was_cancelled": False,
        "ground_truth": annotation.kind == "expert",
        "lead_time": annotation.seconds,
        "result": [
            r for n, f in enumerate(annotation.findings) for r in _result(f, item, f"a{name}-{n}", "manual")
        ],
    }
    return {**row, "created_at": annotation.at.isoformat()} if annotation.at else row


def _prediction(findings: list[Finding], item: Item, name: str) -> Row:
    results = [r for n, f in enumerate(findings) for r in _result(f, item, f"p{name}-{n}", "prediction")]
    score = max((finding.probability for finding in findings), default=0.0)
    return {"model_version": item.release, "score": score, "result": results}


def _result(finding: Finding, item: Item, name: str, origin: str) -> Iterator[Row]:
    place = next(n for n, turn in enumerate(item.shown.dialogue.turns) if turn.index == finding.turn)
    words = item.shown.text(finding.turn)
    start, end = item.shown.span(finding)
    region = {
        "start": str(place),
        "end": str(place),
        "startOffset": to_utf16(words, start),
        "endOffset": to_utf16(words, end),
        "text": words[start:end],
    }
    tags = {"id": name, "to_name": PARAGRAPHS, "origin": origin}
    labelled = {**region, "paragraphlabels": [finding.code]}
    yield {**tags, "from_name": LABELS, "type": "paragraphlabels", "value": labelled}
    if finding.reason.strip():
        yield {**tags, "from_name": WHY, "type": "textarea", "value": {**region, "text": [finding.reason]}}


SHAPE = Shape("label-studio", "json", _matches, _read, _rows)
