"""Toloka: TSV, a task is one question; pools out, results in.

Source: Toloka/docs `pool_csv.md`, `result-of-eval.md`; Toloka/toloka-kit `assignment.py`. Columns
`INPUT:dialogue_id`, `INPUT:turn`, `INPUT:code`, `INPUT:context`, `INPUT:reply` and `OUTPUT:label` (yes or
no) are ours; other pools may have the code itself in any `OUTPUT:` column. Answers that were not submitted
or were rejected are left out. `started` and `submitted` are those of a page of tasks: the time is read as
`at`, the duration is not, since the page's size is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dialint.detector.ingest.outcomes import BadRecord
from dialint.labeling.exchange import turn_records
from dialint.labeling.exchange.crowd_table import is_yes
from dialint.labeling.exchange.format import (
    ExportItem,
    LabelContext,
    LabelFormat,
    ReadAnswers,
    ReadState,
    Row,
    make_annotation,
    speaker,
)
from dialint.labeling.exchange.values import cell, text, timestamp

IN, OUT, BY = "INPUT:", "OUTPUT:", "ASSIGNMENT:"
TASK_COLUMNS = tuple(IN + name for name in ("dialogue_id", "turn", "code", "context", "reply"))
RESULT_COLUMNS = (
    OUT + "label",
    *(BY + name for name in ("assignment_id", "worker_id", "status", "submitted")),
)
ACCEPTED_STATUSES = ("SUBMITTED", "APPROVED", "ACCEPTED")
NO_ERROR_LABELS = ("", "no", "none", "no_error")


def _matches(row: Row) -> bool:
    return any(name.startswith(IN) for name in row)


def _read(row: Row, state: ReadState) -> ReadAnswers:
    outputs = {name: value for name, value in row.items() if name.startswith(OUT)}
    if not outputs:
        state.skipped["unanswered"] += 1
        return
    status = cell(row.get(f"{BY}status"), f"{BY}status").upper()
    if status and status not in ACCEPTED_STATUSES:
        state.skipped["not accepted"] += 1
        return
    inputs = {name.removeprefix(IN): value for name, value in row.items() if name.startswith(IN)}
    view, turn = turn_records.locate_turn(inputs, inputs.get("reply") or inputs.get("text"), state, IN)
    code = cell(inputs.get("code"), f"{IN}code")
    marked = _answered_code(code, row, state.context) if code else _output_codes(outputs, state.context)
    worker = text(row.get(f"{BY}worker_id"), f"{BY}worker_id")
    yield make_annotation(
        "toloka",
        view,
        labeler=state.context.labeler(worker, f"{BY}worker_id"),
        kind=state.kind,
        codes=(state.context.code(code, f"{IN}code"),) if code else state.context.codes(None, OUT, marked),
        turn=turn,
        findings=tuple(turn_records.read_turn_labels(marked, view, turn, state, OUT)),
        at=timestamp(row.get(f"{BY}submitted"), f"{BY}submitted"),
    )


def _answered_code(code: str, row: Row, context: LabelContext) -> list[str]:
    """The code if the answer is yes, else nothing."""
    if f"{OUT}label" not in row:
        raise BadRecord("E_LABEL", OUT, "another column", f"{OUT}label with yes or no")
    return [context.code(code, f"{IN}code")] if is_yes(row[f"{OUT}label"], f"{OUT}label") else []


def _output_codes(outputs: Row, context: LabelContext) -> list[str]:
    """The codes in the output columns, without blanks and "no error"."""
    values = [(name, cell(value, name)) for name, value in outputs.items()]
    return [context.code(value, name) for name, value in values if value.lower() not in NO_ERROR_LABELS]


def _rows(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
    for item in dialogues:
        if not item.annotations:
            for turn, codes in item.requested_codes():
                for code in codes:
                    yield _task(item, turn, code)
        for annotation in item.annotations:
            for turn, code, findings in item.answers(annotation):
                by = {"assignment_id": annotation.id, "worker_id": annotation.labeler, "status": "APPROVED"}
                at = annotation.at.isoformat() if annotation.at else None
                result = {f"{BY}{name}": value for name, value in {**by, "submitted": at}.items()}
                yield {**_task(item, turn, code), f"{OUT}label": "yes" if findings else "no", **result}


def _task(item: ExportItem, turn: int, code: str) -> Row:
    turns = [each for each in item.view.dialogue.turns if each.index < turn]
    context = "\n".join(f"{speaker(each)}: {item.view.text(each.index)}" for each in turns)
    values = (item.view.dialogue.id, turn, code, context, item.view.text(turn))
    return dict(zip(TASK_COLUMNS, values, strict=True))


def _columns(with_answers: bool) -> tuple[str, ...]:
    return TASK_COLUMNS + RESULT_COLUMNS if with_answers else TASK_COLUMNS


FORMAT = LabelFormat("toloka", "tsv", _matches, _read, _rows, _columns)
