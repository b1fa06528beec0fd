"""What a log as a whole says about each of its dialogues.

A single dialogue does not show which bracketed words are the log's own masking, or which odd words are names
of its products. A profile is made of the first dialogues of a log, so that the same log gives the same
verdicts wherever it is scored; it holds counts and marks, and no text of a dialogue.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LogProfile:
    """Of the first `n_dialogues` of a log."""

    n_dialogues: int = 0


EMPTY_PROFILE = LogProfile()
"""Nothing is known of the log."""
