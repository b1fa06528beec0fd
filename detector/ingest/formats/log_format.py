"""A format of logs: how a record is recognised and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.validation import Draft


@dataclass(frozen=True)
class LogFormat:
    """One format. `drafts(record, fallback_id)` reads a record. `array` is how a JSON array at the top of a
    file is read; `members` are the members of a top-level object that hold a list of records, ``*`` if every
    member is a record with its key as id.

    Where a dialogue may be spread over the records of a file, `parts(record, fallback_id)` yields the parts
    of dialogues with their ids, as JSON, and `read` gets the parts of one dialogue, in the order of the log,
    and its id."""

    name: str
    matches: Callable[[Any], bool]
    read: Callable[[Any, str], Iterable[Draft]]
    array: Literal["elements", "whole"] = "elements"
    members: tuple[str, ...] = ()
    parts: Callable[[Any, str], Iterable[tuple[str, Any]]] | None = None

    def drafts(self, record: Any, fallback_id: str) -> Iterator[Draft]:
        """The dialogues of one decoded record.

        Raises:
            BadRecord: it is not an object, or not of this shape.
        """
        if not isinstance(record, dict) and not (self.array == "whole" and isinstance(record, list)):
            kind = Message("list") if isinstance(record, list) else Message("a single value")
            raise BadRecord("E_TYPE", "", kind, "an object, one a line")
        yield from self.read(record, fallback_id)


@dataclass(frozen=True)
class TextFormat:
    """A format of text files, of which each is one dialogue. `drafts(text, fallback_id, config)` reads it."""

    name: str
    matches: Callable[[str], bool]
    drafts: Callable[[str, str, ReadConfig], Iterable[Draft]]
