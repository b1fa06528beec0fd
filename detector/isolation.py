"""Finds the dialogues that break the process that judges them, so that the others keep their verdicts; what
such a process answers, also an actor on another machine.

`dialint.detector.watchdog` judges in worker processes and hands `judge_isolated` a way to try some dialogues.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dialint.detector.errors import DialintError
from dialint.detector.records import Dialogue, Verdict

FAILURE = "E_TIMEOUT"

Message = tuple[str, Any]
"""The answer of a process that judges: ``done`` with a value, or ``failed`` with an error."""


@dataclass(frozen=True)
class WorkerFailure:
    """Why a worker was killed or died, and the position of the dialogue that it was processing, if any."""

    why: str
    at: int | None


def judge_isolated(
    dialogues: Sequence[Dialogue],
    attempt: Callable[[Sequence[Dialogue]], list[Verdict] | WorkerFailure],
    fail: Callable[[Dialogue, str], Verdict],
    *,
    is_suspect: bool = False,
) -> list[Verdict]:
    """Judges dialogues by attempts that may fail as a whole, and finds those that make them fail: the one
    that the worker was at, or in ever smaller parts.

    `attempt` returns the verdicts in order, or why there are none; the next one must run in a fresh process.
    `fail` makes the verdict of a dialogue that fails alone and `is_suspect`: an attempt with it has failed
    before. One failure may be that of a worker that was killed from outside.
    """
    if not dialogues:
        return []
    outcome = attempt(dialogues)
    if not isinstance(outcome, WorkerFailure):
        return outcome
    if len(dialogues) == 1:
        if is_suspect:
            return [fail(dialogues[0], outcome.why)]
        return judge_isolated(dialogues, attempt, fail, is_suspect=True)
    at, half = outcome.at, len(dialogues) // 2
    parts = [(dialogues[:half], True), (dialogues[half:], True)]
    if at is not None:
        parts = [(dialogues[:at], False), (dialogues[at : at + 1], True), (dialogues[at + 1 :], False)]
    return [
        verdict
        for part, is_suspect in parts
        for verdict in judge_isolated(part, attempt, fail, is_suspect=is_suspect)
    ]


def failed_verdict(dialogue: Dialogue, release: str, taxonomy: str) -> Verdict:
    """The verdict of a dialogue that cannot be judged in its limits."""
    return Verdict(
        dialogue_id=dialogue.id, release=release, taxonomy=taxonomy, status="failed", failure=FAILURE
    )


def make_message(act: Callable[[], Any]) -> Message:
    """Returns the result of `act`, or the error that it raises, to be sent to another process.

    Raises:
        MemoryError: the process must end: its parent isolates the dialogue.
    """
    try:
        return "done", act()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  raised again in the parent
        if not isinstance(error, DialintError):
            error.add_note(f"in the process that judges:\n{traceback.format_exc()}")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001  an error may define its own pickling, which may do anything
            return "failed", RuntimeError(f"{error!r}\n{traceback.format_exc()}")
        return "failed", error


def message_value(message: Message) -> Any:
    """The value of a message.

    Raises:
        Exception: what was raised in the worker; a defect with the worker's traceback as a note.
    """
    kind, value = message
    if kind == "failed":
        raise value
    return value
