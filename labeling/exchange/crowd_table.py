"""Crowd tables: an answer a row, `task, worker, label`, in CSV, Parquet or JSONL.

Source: Toloka/crowd-kit, README. A task is ``dialogue/turn/code``, its label yes or no;
further columns `seconds` and `at` are read and written; `code` repeats the task's, for aggregation code by
code. A code of dialogue scope is one task, of the last agent turn. Codes that exclude one another may be one
task, ``dialogue/turn``, with the code for its label: a yes to this one and a no to the others. The format
loses spans and reasons: the evidence of a yes is the whole turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dialint.detector.ingest.outcomes import BadRecord
from dialint.labeling.aggregation.crowd_tables import NO_LABELS
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
from dialint.labeling.exchange.values import integer, label_error, seconds, text, timestamp

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
        findings=tuple(turn_records.read_turn_labels(labels, view, turn, state, "label")),
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


FORMAT = LabelFormat("crowd", "csv", _matches, _read, _rows, _columns)
