"""Errors of the store.

    UserError
    └── StoreRefused                 the operation is refused; nothing was changed
        ├── NotAllowed               the account lacks the right
        │   └── MustChangePassword   its password is temporary
        ├── StaleLease               the lease expired and somebody else may hold the task
        ├── DialogueMissing          the dialogue or the task is not in the store: erased, or never there
        ├── Conflict                 somebody saved the same item first; holds both values
        └── StoreDamaged             stored data are not what was written
    WorldError                       locked or unreachable for too long, disk full

No message holds dialogue text.
"""

from __future__ import annotations

from typing import Any

from dialint.detector.errors import UserError


class StoreRefused(UserError):
    """The store refuses the operation; nothing was changed."""


class NotAllowed(StoreRefused):
    """The acting account lacks the right, or is not active."""


class MustChangePassword(NotAllowed):
    """The password is right but temporary: its owner has to choose another one first."""


class StaleLease(StoreRefused):
    """The fencing token is no longer valid: the lease expired or was released."""


class DialogueMissing(StoreRefused):
    """The dialogue, or the task on it, is not in the store. Who has seen it there has it from before an
    erasure: tasks go with their dialogues only."""


class StoreDamaged(StoreRefused):
    """A checksum of the store does not match; the message names the row or object."""


class Conflict(StoreRefused):
    """A newer version was saved than the one the caller saw: `theirs`, newest last; `ours` is refused."""

    def __init__(self, message: str, /, theirs: tuple[Any, ...], ours: Any, **values: object) -> None:
        super().__init__("E_CONFLICT", message, **values)
        self.theirs = theirs
        self.ours = ours
