"""The error classes of dialint and the exit code of each.

    DialintError
    ├── UserError            the user's: one clear line, exit 2
    │   ├── InputRefused     a log that is refused whole
    │   ├── ConfigError      an invalid option
    │   ├── ReleaseRefused   a release that must not be loaded
    │   ├── OutputRefused    an output that belongs to another job, or is damaged
    │   └── TooManyBad       over the share of bad records or failures, exit 3
    ├── WorldError           the world's (disk full, server down), exit 3
    └── DialogueFailed       one dialogue's: becomes a failed verdict, is counted

`dialint.detector.isolation` makes failed verdicts too (`E_TIMEOUT`), as a killed worker cannot raise.

No message may contain dialogue text; `excerpt` masks values.
"""

from __future__ import annotations

import re

MAX_EXCERPT = 20


class DialintError(Exception):
    """An error with a stable code (``E_...``) and one line for a person."""

    exit_code = 2

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class UserError(DialintError):
    """An error that the user can fix; the message says where and how."""


class InputRefused(UserError):
    """A log file is refused whole; nothing of it is committed."""


class ConfigError(UserError):
    """An option or a configuration file is wrong."""


class ReleaseRefused(UserError):
    """A release is damaged, unsafe or not the requested one."""


class OutputRefused(UserError):
    """An output file belongs to another job, is in use, or fails its checksum."""


class TooManyBad(UserError):
    """More bad records or failed dialogues than the job allows."""

    exit_code = 3


class WorldError(DialintError):
    """Disk, network or another program failed after bounded retries."""

    exit_code = 3


class DialogueFailed(DialintError):
    """One dialogue could not be judged; its verdict has status ``failed``."""

    exit_code = 3


def excerpt(value: object) -> str:
    """At most 20 characters of `value` with every letter and digit masked, for error messages."""
    masked = re.sub(r"\d", "9", re.sub(r"[^\W\d_]", "x", str(value)[: MAX_EXCERPT + 1]))
    masked = "".join(char if char.isprintable() else "?" for char in masked)
    return masked if len(masked) <= MAX_EXCERPT else masked[: MAX_EXCERPT - 1] + "…"
