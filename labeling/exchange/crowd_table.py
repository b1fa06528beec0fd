"""Tables with an answer a row: crowd tables `task, worker, label` in CSV, Parquet or JSONL, and Toloka's TSV.

Source of crowd tables: Toloka/crowd-kit, README. A task is ``dialogue/turn/code``, its label yes or no;
further columns `seconds` and `at` are read and written; `code` repeats the task's, for aggregation code by
code. A code of dialogue scope is one task, of the last agent turn. Codes that exclude one another may be one
task, ``dialogue/turn``, with the code for its label: a yes to this one and a no to the others. The format
loses spans and reasons: the evidence of a yes is the whole turn.

Toloka: a task is one question; pools out, results in. Source: Toloka/docs `pool_csv.md`, `result-of-eval.md`;
Toloka/toloka-kit `assignment.py`. Columns `INPUT:dialogue_id`, `INPUT:turn`, `INPUT:code`, `INPUT:context`,
`INPUT:reply` and `OUTPUT:label` (yes or no) are ours; other pools may have the code itself in any `OUTPUT:`
column. Answers that were not submitted or were rejected are left out. `started` and `submitted` are those of
a page of tasks: the time is read as `at`, the duration is not, since the page's size is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dialint.detector.ingest.outcomes import BadRecord
from dialint.labeling.aggregation.crowd_tables import NO_LABELS
from dialint.labeling.annotation import is_yes
from dialint.labeling.exchange.format import ExportItem, LabelFormat, ReadAnswers, ReadState, Row, speaker
from dialint.labeling.exchange.turn_records import TurnRow
from dialint.labeling.exchange.values import cell, integer, label_error, seconds, text, timestamp

COLUMNS = ("task", "worker", "label", "code", "seconds", "at")


def task_name(dialogue: str, turn: int, code: str) -> str:
    """The name of a question in a crowd table."""
    return f"{dialogue}/{turn}/{code}"


def _parse_turn(name: str, state: ReadState, expected: str) -> TurnRow:
    """The turn that ``dialogue/turn`` names; the dialogue's id may contain slashes."""
    dialogue, _, turn = name.rpartition("/")
    if not dialogue:
        raise label_error("task", name, expected)
    view = state.context.view(dialogue, "task")
    return TurnRow(state, view, view.validate_turn(integer(turn, "task"), "task"))


def _is_yes(value: object, path: str) -> bool:
    """Returns whether an answer is a yes."""
    if (answer := is_yes(value)) is None:
        raise BadRecord("E_LABEL", path, "another answer", "yes or no")
    return answer


def _read(row: Row, state: ReadState) -> ReadAnswers:
    if row.get("label") is None or str(row["label"]).strip().lower() in NO_LABELS:
        state.skipped["unanswered"] += 1
        return
    codes, labels, task = state.context.rivals(row["label"]), [row["label"]], text(row.get("task"), "task")
    if codes:
        turn = _parse_turn(task, state, "a task called dialogue/turn")
    else:
        name, _, label = task.rpartition("/")
        turn = _parse_turn(name, state, "a task called dialogue/turn/code")
        codes = (state.context.code(label, "task"),)
        labels = [*codes] if _is_yes(row["label"], "label") else []
    yield turn.annotation(
        "crowd", text(row.get("worker"), "worker"), "worker", codes=codes,
        findings=tuple(turn.findings(labels, "label")),
        seconds=seconds(row.get("seconds"), "seconds"), at=timestamp(row.get("at"), "at"),
    )  # fmt: skip


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


FORMAT = LabelFormat(
    "crowd", "csv", lambda row: {"task", "worker", "label"} <= row.keys(), _read, _rows,
    lambda with_answers: COLUMNS if with_answers else ("task", "code"),
)  # fmt: skip


IN, OUT, BY = "INPUT:", "OUTPUT:", "ASSIGNMENT:"
TASK_COLUMNS = tuple(IN + name for name in ("dialogue_id", "turn", "code", "context", "reply"))
RESULT_COLUMNS = (
    OUT + "label",
    *(BY + name for name in ("assignment_id", "worker_id", "status", "submitted")),
)
ACCEPTED_STATUSES = ("SUBMITTED", "APPROVED", "ACCEPTED")
NO_ERROR_LABELS = ("", "no", "none", "no_error")


def _read_toloka(row: Row, state: ReadState) -> ReadAnswers:
    outputs = {name: value for name, value in row.items() if name.startswith(OUT)}
    if not outputs:
        state.skipped["unanswered"] += 1
        return
    status = cell(row.get(f"{BY}status"), f"{BY}status").upper()
    if status and status not in ACCEPTED_STATUSES:
        state.skipped["not accepted"] += 1
        return
    inputs = {name.removeprefix(IN): value for name, value in row.items() if name.startswith(IN)}
    turn = TurnRow.locate(inputs, inputs.get("reply") or inputs.get("text"), state, IN)
    if code := cell(inputs.get("code"), f"{IN}code"):
        codes: tuple[str, ...] = (state.context.code(code, f"{IN}code"),)
        if f"{OUT}label" not in row:
            raise BadRecord("E_LABEL", OUT, "another column", f"{OUT}label with yes or no")
        marked = [*codes] if _is_yes(row[f"{OUT}label"], f"{OUT}label") else []
    else:
        values = [(name, cell(value, name)) for name, value in outputs.items()]
        marked = [state.context.code(v, name) for name, v in values if v.lower() not in NO_ERROR_LABELS]
        codes = state.context.codes(None, OUT, marked)
    worker, at = text(row.get(f"{BY}worker_id"), f"{BY}worker_id"), row.get(f"{BY}submitted")
    yield turn.annotation(
        "toloka", worker, f"{BY}worker_id", codes=codes, findings=tuple(turn.findings(marked, OUT)),
        at=timestamp(at, f"{BY}submitted"),
    )  # fmt: skip


def _rows_toloka(dialogues: Iterable[ExportItem]) -> Iterator[Row]:
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


TOLOKA = LabelFormat(
    "toloka", "tsv", lambda row: any(name.startswith(IN) for name in row), _read_toloka, _rows_toloka,
    lambda with_answers: TASK_COLUMNS + RESULT_COLUMNS if with_answers else TASK_COLUMNS,
)  # fmt: skip
