"""Crowd tables `task, worker, label`: one row an answer, in CSV, Parquet or JSONL.

Source: Toloka/crowd-kit, README. A task is ``dialogue/turn/code``, its label yes or no; further columns
`seconds` and `at` are kept; `code` repeats the task's, for aggregation code by code. A code of dialogue
scope is one task, of the last agent turn. Codes that exclude one another may be one task,
``dialogue/turn``, with the code for its label: a yes to this one and a no to the others. No span and no
reason survives this shape: the evidence of a yes is the whole turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dialint.detector.ingest.outcomes import BadRecord
from dialint.labeling.exchange import turn_records
from dialint.labeling.exchange.format import Answers, Item, Reading, Row, Shape, Shown, answer
from dialint.labeling.exchange.values import moment, seconds, text, unknown, whole

COLUMNS = ("task", "worker", "label", "code", "seconds", "at")
YES, NO = ("yes", "true", "1"), ("no", "false", "0")


def task_name(dialogue: str, turn: int, code: str) -> str:
    """The name of a question in a crowd table."""
    return f"{dialogue}/{turn}/{code}"


def _matches(row: Row) -> bool:
    return {"task", "worker", "label"} <= row.keys()


def task_of(name: object, path: str, reading: Reading) -> tuple[Shown, int, str]:
    """Dialogue, turn and code that a task's name says; the dialogue's id may hold slashes.

    Raises:
        BadRecord: E_LABEL or E_TYPE.
    """
    turn, _, code = text(name, path).rpartition("/")
    return *turn_of(turn, path, reading, "a task called dialogue/turn/code"), reading.known.code(code, path)


def turn_of(name: str, path: str, reading: Reading, expected: str) -> tuple[Shown, int]:
    """Dialogue and turn that ``dialogue/turn`` says.

    Raises:
        BadRecord: E_LABEL or E_TYPE, it is not what was `expected`.
    """
    dialogue, _, turn = name.rpartition("/")
    if not dialogue:
        raise unknown(path, name, expected)
    shown = reading.known.shown(dialogue, path)
    return shown, shown.asked(whole(turn, path), path)


def is_yes(value: object, path: str) -> bool:
    """Whether an answer is a yes.

    Raises:
        BadRecord: E_LABEL, neither yes nor no.
    """
    word = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
    if word not in YES + NO:
        raise BadRecord("E_LABEL", path, "another answer", "yes or no")
    return word in YES


def _read(row: Row, reading: Reading) -> Answers:
    codes = reading.known.rivals(row.get("label"))
    if codes:
        shown, turn = turn_of(text(row.get("task"), "task"), "task", reading, "a task called dialogue/turn")
        found = [row.get("label")]
    else:
        shown, turn, code = task_of(row.get("task"), "task", reading)
        codes, found = (code,), [code] if is_yes(row.get("label"), "label") else []
    yield answer(
        "crowd",
        shown,
        labeler=reading.known.labeler(text(row.get("worker"), "worker"), "worker"),
        kind=reading.kind,
        codes=codes,
        turn=turn,
        findings=tuple(turn_records.marked(found, shown, turn, reading, "label")),
        seconds=seconds(row.get("seconds"), "seconds"),
        at=moment(row.get("at"), "at"),
    )


def _rows(dialogues: Iterable[Item]) -> Iterator[Row]:
    for item in dialogues:
        asked = [(turn, code) for turn, codes in item.asked() for code in codes]
        if not item.annotations:
            for turn, code in asked:
                yield {"task": task_name(item.shown.dialogue.id, turn, code), "code": code}
        for annotation in item.annotations:
            answers: dict[str, bool] = {}
            for question in item.answers(annotation):
                whole_dialogue = question.code in item.of_dialogue
                turn = item.shown.judged[-1] if whole_dialogue else question.turn
                name = task_name(item.shown.dialogue.id, turn, question.code)
                answers[name] = answers.get(name, False) or bool(question.findings)
            spent = annotation.seconds and annotation.seconds / max(1, len(answers))
            at = annotation.at.isoformat() if annotation.at else None
            for name, yes in answers.items():
                head = {"task": name, "worker": annotation.labeler, "label": "yes" if yes else "no"}
                yield {**head, "code": name.rpartition("/")[2], "seconds": spent, "at": at}


def _columns(with_answers: bool) -> tuple[str, ...]:
    return COLUMNS if with_answers else ("task", "code")


SHAPE = Shape("crowd", "csv", _matches, _read, _rows, _columns)
