"""Finds the dialogues that break the process that judges them, so that the others keep their verdicts.

`dialint.detector.watchdog` judges in a worker process, `dialint.app.scoring.cluster` in an actor that may be
on another machine: both hand `Isolation` a way to try some dialogues.
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
"""What a process that judges answers: ``done`` with a value, or ``failed`` with an error."""


@dataclass(frozen=True)
class WorkerFailure:
    """Why a worker was killed or died, and the position of the dialogue that it was processing, if any."""

    why: str
    at: int | None


@dataclass(frozen=True)
class Isolation:
    """Judges dialogues by attempts that may fail as a whole. `attempt` returns the verdicts in order, or why
    there are none; the next one must run in a fresh process. `fail` makes the verdict of a dialogue that
    fails alone."""

    attempt: Callable[[list[Dialogue]], list[Verdict] | WorkerFailure]
    fail: Callable[[Dialogue, str], Verdict]

    def verdicts(self, dialogues: Sequence[Dialogue]) -> list[Verdict]:
        verdicts: dict[int, Verdict] = {}
        while rest := [position for position in range(len(dialogues)) if position not in verdicts]:
            outcome = self.attempt([dialogues[position] for position in rest])
            if isinstance(outcome, WorkerFailure):
                if failed := self._find_culprits(dialogues, rest, outcome):
                    verdicts |= failed
                    continue
                outcome = self._judge_halves([dialogues[position] for position in rest])
            verdicts |= zip(rest, outcome, strict=True)
        return [verdicts[position] for position in range(len(dialogues))]

    def _find_culprits(
        self, dialogues: Sequence[Dialogue], positions: list[int], failure: WorkerFailure
    ) -> dict[int, Verdict]:
        """Failed verdicts of those of `positions` that fail alone in a fresh worker: the one that the worker
        was at, else all of them, found in ever smaller parts."""
        suspect = positions[failure.at] if failure.at is not None else positions[0]
        if failure.at is not None or len(positions) == 1:
            alone = self.attempt([dialogues[suspect]])
            if isinstance(alone, WorkerFailure):
                return {suspect: self.fail(dialogues[suspect], alone.why)}
        results: dict[int, Verdict] = {}
        if len(positions) > 1:
            for part in (positions[: len(positions) // 2], positions[len(positions) // 2 :]):
                outcome = self.attempt([dialogues[position] for position in part])
                if isinstance(outcome, WorkerFailure):
                    results |= self._find_culprits(dialogues, part, outcome)
        return results

    def _judge_halves(self, dialogues: Sequence[Dialogue]) -> list[Verdict]:
        if len(dialogues) == 1:
            again = self.attempt([dialogues[0]])  # the worker may have been killed from outside
            return [self.fail(dialogues[0], again.why)] if isinstance(again, WorkerFailure) else again
        half = len(dialogues) // 2
        return [verdict for part in (dialogues[:half], dialogues[half:]) for verdict in self.verdicts(part)]


def failed_verdict(dialogue: Dialogue, release: str, taxonomy: str) -> Verdict:
    """The verdict of a dialogue that cannot be judged in its limits."""
    return Verdict(
        dialogue_id=dialogue.id, release=release, taxonomy=taxonomy, status="failed", failure=FAILURE
    )


def make_message(act: Callable[[], Any]) -> Message:
    """What `act` returns or raises, to be sent to another process.

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
