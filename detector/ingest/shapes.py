"""The JSON shapes of logs: how each is told from the others, and who reads it.

A `Shape` knows one record; whether records stand one a line or inside a JSON document is decided in
`recognition`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dialint.detector.ingest import canonical
from dialint.detector.ingest.checks import Draft
from dialint.detector.ingest.outcomes import BadRecord


@dataclass(frozen=True)
class Shape:
    """One format. `drafts(record, fallback_id)` reads a record. `array` says what a JSON array at the
    top of a file holds; `members` names members of a top object that hold a list of records, and
    ``*`` says that every member is a record with its key as id."""

    name: str
    matches: Callable[[Any], bool]
    read: Callable[[Any, str], Iterable[Draft]]
    array: Literal["elements", "whole", "refused"] = "elements"
    members: tuple[str, ...] = ()

    def drafts(self, record: Any, fallback_id: str) -> Iterator[Draft]:
        """The dialogues of one decoded record.

        Raises:
            BadRecord: it is not an object, or not of this shape.
        """
        if not isinstance(record, dict) and not (self.array == "whole" and isinstance(record, list)):
            kind = "list" if isinstance(record, list) else "a single value"
            raise BadRecord("E_TYPE", "", kind, "an object, one a line")
        yield from self.read(record, fallback_id)


def _canonical_matches(record: Any) -> bool:
    turns = record.get("turns") if isinstance(record, dict) else None
    return isinstance(turns, list) and bool(turns) and isinstance(turns[0], dict) and "role" in turns[0]


CANONICAL = Shape(
    "canonical", _canonical_matches, lambda record, _: [canonical.draft(record)], array="refused"
)
