"""Rows of the tools that display one turn at a time: locating the turn, reading and writing its spans.

A row carries `dialogue_id`, `turn`, `codes` (those to answer) and `seen_verdict` as its own data, which the
tools return unchanged; the turn of a row without `turn` is located by its text.

The simplest such tool stands here, doccano: JSONL, a row is one agent turn with labelled spans, entities or
classes. Source: doccano/doccano `backend/data_export`, `data_import`. Metadata lies at the top level. The
annotator is the name of the file (one for each in an archive) unless a field `labeler` names it. Offsets are
code points.

Crowd tables, an answer a row, are here too: `task, worker, label`, in CSV, Parquet or JSONL. Source:
Toloka/crowd-kit, README. A task is ``dialogue/turn/code``, its label yes or no; further columns `seconds` and
`at` are read and written; `code` repeats the task's, for aggregation code by code. A code of dialogue scope
is one task, of the last agent turn. Codes that exclude one another may be one task, ``dialogue/turn``, with
the code for its label: a yes to this one and a no to the others. Spans and reasons are lost: the evidence
of a yes is the whole turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Finding
from dialint.labeling.aggregation.crowd_tables import NO_LABELS
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
from dialint.labeling.exchange.values import integer, items, label_error, mapping, seconds, text, timestamp

COLUMNS = ("task", "worker", "label", "code", "seconds", "at")
YES, NO = ("yes", "true", "1"), ("no", "false", "0")


def task_name(dialogue: str, turn: int, code: str) -> str:
    """The name of a question in a crowd table."""
    return f"{dialogue}/{turn}/{code}"


def _matches(row: Row) -> bool:
    return {"task", "worker", "label"} <= row.keys()


def _parse_task(name: object, path: str, state: ReadState) -> tuple[DialogueView, int, str]:
    """Dialogue, turn and code of a task's name; the dialogue's id may contain slashes."""
    turn, _, code = text(name, path).rpartition("/")
    return *_parse_turn(turn, path, state, "a task called dialogue/turn/code"), state.context.code(code, path)


def _parse_turn(name: str, path: str, state: ReadState, expected: str) -> tuple[DialogueView, int]:
    """Dialogue and turn of ``dialogue/turn``."""
    dialogue, _, turn = name.rpartition("/")
    if not dialogue:
        raise label_error(path, name, expected)
    view = state.context.view(dialogue, path)
    return view, view.validate_turn(integer(turn, path), path)


def _is_yes(value: object, path: str) -> bool:
    """Whether an answer is a yes."""
    word = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
    if word not in YES + NO:
        raise BadRecord("E_LABEL", path, "another answer", "yes or no")
    return word in YES


def _read(row: Row, state: ReadState) -> ReadAnswers:
    if row.get("label") is None or str(row["label"]).strip().lower() in NO_LABELS:
        state.skipped["unanswered"] += 1
        return
    codes = state.context.rivals(row.get("label"))
    if codes:
        view, turn = _parse_turn(text(row.get("task"), "task"), "task", state, "a task called dialogue/turn")
        labels = [row.get("label")]
    else:
        view, turn, code = _parse_task(row.get("task"), "task", state)
        codes, labels = (code,), [code] if _is_yes(row.get("label"), "label") else []
    yield make_annotation(
        "crowd",
        view,
        labeler=state.context.labeler(text(row.get("worker"), "worker"), "worker"),
        kind=state.kind,
        codes=codes,
        turn=turn,
        findings=tuple(read_turn_labels(labels, view, turn, state, "label")),
        seconds=seconds(row.get("seconds"), "seconds"),
        at=timestamp(row.get("at"), "at"),
    )


def _rows(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for item in dialogues:
        requested = [(turn, code) for turn, codes in item.requested_codes() for code in codes]
        if not item.annotations:
            for turn, code in requested:
                yield {"task": task_name(item.view.dialogue.id, turn, code), "code": code}
        for annotation in item.annotations:
            answers: dict[str, bool] = {}
            for question in item.answers(annotation):
                whole_dialogue = question.code in item.dialogue_codes
                turn = item.view.judged[-1] if whole_dialogue else question.turn
                name = task_name(item.view.dialogue.id, turn, question.code)
                answers[name] = answers.get(name, False) or bool(question.findings)
            seconds_each = annotation.seconds and annotation.seconds / max(1, len(answers))
            at = annotation.at.isoformat() if annotation.at else None
            for name, yes in answers.items():
                head = {"task": name, "worker": annotation.labeler, "label": "yes" if yes else "no"}
                yield {**head, "code": name.rpartition("/")[2], "seconds": seconds_each, "at": at}


def _columns(with_answers: bool) -> tuple[str, ...]:
    return COLUMNS if with_answers else ("task", "code")


CROWD = LabelFormat("crowd", "csv", _matches, _read, _rows, _columns)


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
