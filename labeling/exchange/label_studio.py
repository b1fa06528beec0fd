"""Label Studio: a task is a dialogue (tag Paragraphs), a region a finding; predictions out.

Source: HumanSignal/label-studio, docs `guide/tasks.md`, `guide/predictions.md`, `tags/paragraphs.md` and
the editor's ParagraphsRegion. Offsets are UTF-16 units within one paragraph; a region is where its own text
stands, or is rejected. Skipped annotations and drafts are left out. A region over several turns is a finding
in each agent's turn of it. The format preserves a finding's code, turn, span and, as a text area of the
region, reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast
from xml.sax.saxutils import quoteattr

from dialint.detector.ingest.outcomes import BadRecord, file_error
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange.format import (
    DialogueView,
    ExportItem,
    LabelFormat,
    ReadAnswers,
    ReadState,
    Row,
    make_annotation,
    speaker,
)
from dialint.labeling.exchange.values import (
    from_line_feeds,
    from_utf16,
    integer,
    items,
    label_error,
    mapping,
    name_or_number,
    objects,
    seconds,
    text,
    timestamp,
    to_utf16,
    type_error,
    with_line_feeds,
)

LABELS, PARAGRAPHS, REASON = "err", "dlg", "why"
"""Names of the tags in our interface; any others are read as well."""


def interface(codes: Iterable[str]) -> str:
    """The labelling interface (XML) that the tasks written here are made for."""
    labels = "".join(f"<Label value={quoteattr(code)}/>" for code in codes)
    return (
        f'<View><Paragraphs name="{PARAGRAPHS}" value="$dialogue" layout="dialogue" nameKey="author"'
        f' textKey="text"/><ParagraphLabels name="{LABELS}" toName="{PARAGRAPHS}">{labels}</ParagraphLabels>'
        f'<TextArea name="{REASON}" toName="{PARAGRAPHS}" perRegion="true" rows="2"/></View>\n'
    )


def _read(row: Row, state: ReadState) -> ReadAnswers:
    if _is_flat(row):
        raise file_error(
            "E_FORMAT", state.label,
            "a CSV or JSON-MIN export of Label Studio, which leaves out predictions, ground truth and the "
            "regions of reasons; choose its JSON export",
        )  # fmt: skip
    data = mapping(row.get("data"), "data")
    view = state.context.view(data.get("dialogue_id"), "data.dialogue_id")
    paragraphs = _paragraphs(data, view)
    for number, annotation in enumerate(items(row.get("annotations"), "annotations")):
        path = f"annotations[{number}]"
        try:
            fields = mapping(annotation, path)
            if fields.get("was_cancelled") is True or fields.get("draft") is True:
                state.skipped["skipped" if fields.get("was_cancelled") else "not submitted"] += 1
                continue
            yield _read_annotation(fields, row, view, paragraphs, state, path)
        except BadRecord as bad:
            bad.dialogue_id = view.dialogue.id
            yield bad


def _is_flat(row: Row) -> bool:
    """Returns whether a row is of an export with the data and one annotation in one object."""
    return {"annotator", "annotation_id", "lead_time"} <= row.keys()


def _paragraphs(data: dict[str, Any], view: DialogueView) -> list[str]:
    """The texts of the task, of which there must be as many as turns."""
    paragraphs = [item.get("text") for item in objects(data.get("dialogue"), "data.dialogue")]
    for number, words in enumerate(paragraphs):
        if not isinstance(words, str):
            raise type_error(f"data.dialogue[{number}].text", words, "a text")
    if len(paragraphs) != len(view.dialogue.turns):
        count = f"{len(paragraphs)} paragraphs"
        raise BadRecord("E_LABEL", "data.dialogue", count, "one for each turn", view.dialogue.id)
    return cast("list[str]", paragraphs)


def _read_annotation(
    fields: Row, row: Row, view: DialogueView, paragraphs: list[str], state: ReadState, path: str
) -> Annotation:
    context, data = state.context, mapping(row.get("data"), "data")
    results = objects(fields.get("result"), f"{path}.result")
    findings = list(_findings(results, view, paragraphs, state, f"{path}.result"))
    turn, key = data.get("turn"), None
    if turn is not None:
        turn = view.validate_turn(integer(turn, "data.turn"), "data.turn")
    if "id" in row and "id" in fields:
        key = f"{name_or_number(row['id'], 'id')}/{name_or_number(fields['id'], f'{path}.id')}"
    has_accepted = any("prediction" in str(result.get("origin")) for result in results)
    author = fields.get("completed_by")
    author = author.get("id", author.get("email")) if isinstance(author, dict) else author
    return make_annotation(
        "label-studio",
        view,
        key,
        labeler=context.labeler(name_or_number(author, f"{path}.completed_by"), path),
        kind="expert" if fields.get("ground_truth") is True else state.kind,
        codes=context.codes(data.get("codes"), "data.codes", (finding.code for finding in findings)),
        turn=turn,
        findings=findings,
        seen_verdict=bool(row.get("predictions")) or has_accepted,
        seconds=seconds(fields.get("lead_time"), f"{path}.lead_time"),
        at=timestamp(fields.get("created_at"), f"{path}.created_at"),
    )


def _findings(
    results: list[Row], view: DialogueView, paragraphs: list[str], state: ReadState, path: str
) -> Iterator[Finding]:
    reasons = {}
    for result in results:
        if result.get("type") == "textarea":
            lines = items(mapping(result.get("value"), path).get("text"), f"{path}.text")
            reasons[str(result.get("id"))] = "\n".join(text(line, f"{path}.text") for line in lines)
    for number, result in enumerate(results):
        here, tag = f"{path}[{number}].value", result.get("type")
        value = mapping(result.get("value"), here) if "value" in result else {}
        if tag != "paragraphlabels":
            _ignore(str(tag), value, state, here)
            continue
        spans = list(_spans(value, view, paragraphs, here))
        if not spans:
            raise BadRecord("E_LABEL", here, "a customer's turn", "an agent's turn")
        for label in items(value.get("paragraphlabels"), f"{here}.paragraphlabels"):
            code = state.context.code(label, f"{here}.paragraphlabels")
            for turn, span in spans:
                yield state.context.finding(view, turn, code, span, reasons.get(str(result.get("id")), ""))


def _ignore(tag: str, value: Row, state: ReadState, path: str) -> None:
    """Count a result of another tag. One that names a code is rejected: without it the answer would read as
    free of that error."""
    labels, context = value.get(tag), state.context
    names = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
    if any(context.names.get(name, name) in context.taxonomy.codes for name in names):
        raise BadRecord("E_LABEL", path, f"a code in {tag}", "codes as paragraphlabels of a dialogue's text")
    if tag != "textarea":
        state.skipped[f"{tag} not read"] += 1


def _spans(
    value: Row, view: DialogueView, paragraphs: list[str], path: str
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Turn and original offsets of each judged turn that a region touches."""
    names = ("start", "end", "startOffset", "endOffset")
    first, last, *offsets = (integer(value.get(name), f"{path}.{name}") for name in names)
    if not first <= last < len(paragraphs):
        raise label_error(f"{path}.end", str(last), "paragraphs in order, within the task")
    start, end = _locate(offsets, paragraphs[first], paragraphs[last], value.get("text"), path)
    for position in range(first, last + 1):
        turn = view.dialogue.turns[position].index
        begin = start if position == first else 0
        stop = end if position == last else len(paragraphs[position])
        if turn in view.judged and (begin < stop or first == last):
            yield turn, view.to_original(turn, paragraphs[position], begin, stop, path)


def _locate(offsets: Sequence[int], first: str, last: str, quote: object, path: str) -> tuple[int, int]:
    """The offsets in code points of a region from the paragraph `first` to `last`.

    They count UTF-16 units, or else code points; either may take CRLF for one character. Within one paragraph
    the region's own text decides: where no reading of the offsets gives it, it must stand there once.
    """
    if not isinstance(quote, str) or first != last:
        try:
            return from_utf16(first, offsets[0]), from_utf16(last, offsets[1])
        except ValueError:
            expected = "offsets in UTF-16 units within the paragraph"
            raise BadRecord("E_LABEL", path, "an offset", expected) from None
    words = quote.split()
    for start, end in _readings(first, offsets):
        if first[start:end].split() == words:
            return start, end
    pattern = r"\s+".join(map(re.escape, words))
    matches = list(islice(re.finditer(pattern, first), 2)) if words else []
    if len(matches) != 1:
        raise BadRecord("E_LABEL", path, "another text", "the region's own text at its offsets, or once")
    return matches[0].span()


def _readings(paragraph: str, offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Returns the possible readings of the offsets as code points of the paragraph, the likeliest first."""
    with_feeds = with_line_feeds(paragraph)
    readings: tuple[Callable[[int], int], ...] = (
        lambda offset: from_utf16(paragraph, offset),
        lambda offset: from_line_feeds(paragraph, from_utf16(with_feeds, offset)),
        lambda offset: offset,
        lambda offset: from_line_feeds(paragraph, offset),
    )
    for read in readings:
        try:
            yield read(offsets[0]), read(offsets[1])
        except ValueError:
            continue


def _rows(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for number, item in enumerate(dialogues, 1):
        tasks: dict[tuple[int | None, tuple[str, ...]], list[Annotation]] = {}
        for annotation in item.annotations:
            tasks.setdefault((annotation.turn, annotation.codes), []).append(annotation)
        for part, ((turn, codes), answers) in enumerate((tasks or {(None, item.codes): []}).items()):
            yield _task(f"{number}-{part}", turn, codes, answers, item)


def _task(
    name: str, turn: int | None, codes: tuple[str, ...], annotations: list[Annotation], item: ExportItem
) -> Row:
    dialogue = item.view.dialogue
    turns = [{"author": speaker(each), "text": item.view.text(each.index)} for each in dialogue.turns]
    data = {"dialogue_id": dialogue.id, "dialogue": turns, "codes": list(codes)}
    row: Row = {
        "data": data if turn is None else {**data, "turn": turn},
        "annotations": [_annotation_row(each, item, f"a{name}-{n}") for n, each in enumerate(annotations)],
        "predictions": [],
    }
    if item.release is not None:
        findings = [each for each in item.model if turn in (None, each.turn) and each.code in codes]
        score = max((finding.probability for finding in findings), default=0.0)
        results = _results(findings, item, f"p{name}", "prediction")
        row["predictions"] = [{"model_version": item.release, "score": score, "result": results}]
    return row


def _annotation_row(annotation: Annotation, item: ExportItem, name: str) -> Row:
    row = {
        "completed_by": {"email": annotation.labeler},
        "was_cancelled": False,
        "ground_truth": annotation.kind == "expert",
        "lead_time": annotation.seconds,
        "result": _results(annotation.findings, item, name, "manual"),
    }
    return {**row, "created_at": annotation.at.isoformat()} if annotation.at else row


def _results(findings: Iterable[Finding], item: ExportItem, name: str, origin: str) -> list[Row]:
    positions = {turn.index: position for position, turn in enumerate(item.view.dialogue.turns)}
    rows: list[Row] = []
    for number, finding in enumerate(findings):
        position, words = str(positions[finding.turn]), item.view.text(finding.turn)
        start, end = item.view.span(finding)
        region = {
            "start": position,
            "end": position,
            "startOffset": to_utf16(words, start),
            "endOffset": to_utf16(words, end),
            "text": words[start:end],
        }
        tags = {"id": f"{name}-{number}", "to_name": PARAGRAPHS, "origin": origin}
        labelled = {**region, "paragraphlabels": [finding.code]}
        rows.append({**tags, "from_name": LABELS, "type": "paragraphlabels", "value": labelled})
        if finding.reason.strip():
            reason = {**region, "text": [finding.reason]}
            rows.append({**tags, "from_name": REASON, "type": "textarea", "value": reason})
    return rows


FORMAT = LabelFormat(
    "label-studio", "json",
    lambda row: _is_flat(row)
    or (isinstance(row.get("data"), dict) and ("annotations" in row or "predictions" in row)),
    _read, _rows,
)  # fmt: skip
