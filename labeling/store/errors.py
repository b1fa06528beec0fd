"""What the store refuses, and how it fails.

    UserError
    └── StoreRefused         the store says no
        ├── NotAllowed       the account lacks the right
        │   └── MustChoose   its password was for one time
        ├── StaleLease       the lease ran out and the task may be in other hands
        ├── Conflict         somebody saved the same item first; holds both values
        └── StoreDamaged     what is stored is not what was written
    WorldError               locked or unreachable for too long, disk full

No message holds dialogue text.
"""

from __future__ import annotations

from typing import Any

from dialint.detector.errors import UserError


class StoreRefused(UserError):
    """The store does not do what was asked; nothing was changed."""


class NotAllowed(StoreRefused):
    """The acting account lacks the right, or is not active."""


class MustChangePassword(NotAllowed):
    """The password is right, but somebody else made it: its owner chooses one before anything else."""


class StaleLease(StoreRefused):
    """The fencing token is no longer good: the lease ran out or was given back."""


class StoreDamaged(StoreRefused):
    """A checksum of the store does not agree; the message names the place."""


class Conflict(StoreRefused):
    """Another version was saved since the one the caller saw: `theirs`, newest last; `ours` is refused."""

    def __init__(self, message: str, theirs: tuple[Any, ...], ours: Any) -> None:
        super().__init__("E_CONFLICT", message)
        self.theirs = theirs
        self.ours = ours
