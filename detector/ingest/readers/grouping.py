"""Groups the messages of a table into dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.log_format import RawDialogue, RawTurn
from dialint.detector.ingest.mapping import MappedRecord
from dialint.detector.ingest.outcomes import BadRecord, record_boundary, record_too_large
from dialint.detector.ingest.readers.columns import Columns, Row
from dialint.detector.ingest.times import TimeFormat
from dialint.detector.ingest.validation import ParsedRecord, validate_all

FIELDS = ("language", "channel", "agent", "team")
"""Meanings of which a dialogue has one value."""
SIDES = ("agent", "bot", "other")
"""Roles of rows, those first whose values are the dialogue's."""


@dataclass
class Group:
    """The turns of one dialogue so far. `size` is the bytes of their cells. `values` counts the values of
    each meaning by the role of their rows, `places` are the values of the mapping's order column."""

    columns: Columns
    times: TimeFormat
    turns: list[RawTurn] = field(default_factory=list)
    size: int = 0
    values: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    places: list[object] = field(default_factory=list)

    def add(self, cells: Mapping[str, object]) -> None:
        """Add a row.

        Raises:
            BadRecord: E_RECORD_SIZE, the cells of all rows are over the limit.
        """
        config = self.columns.config
        self.size += sum(_n_bytes(cell) for cell in cells.values())
        if self.size > config.max_record_bytes:
            self.turns.clear()
            raise record_too_large(self.size, config.max_record_bytes)
        if len(self.turns) > config.max_turns:
            return
        turn = self.columns.turn(cells, self.times)
        self.turns.append(turn)
        if "order" in config.mapped.fields:
            self.places.append(self.columns.cell(cells, "order"))
        if turn.internal:
            return
        role = config.mapped.roles.get(turn.role, turn.role) if isinstance(turn.role, str) else None
        side = role if role in SIDES else SIDES[-1]
        for meaning in (*FIELDS, "author"):
            value = fields.name(self.columns.cell(cells, meaning))
            if value is not None:
                self.values.setdefault((meaning, side), Counter())[value] += 1

    def dialogue(self, name: object, path: str = "turns") -> RawDialogue:
        """The dialogue of the rows: its turns in the order of the mapping's order column, by number if all
        values are numbers, else as texts; without one, in the order of the log."""
        turns = self.turns
        if self.places:
            try:
                keys: list[Any] = [float(str(position)) for position in self.places]
            except ValueError:
                keys = [str(position) for position in self.places]
            turns = [turns[at] for at in sorted(range(len(turns)), key=keys.__getitem__)]
        return RawDialogue(name, turns, self._fields(), path=path)

    def _fields(self) -> dict[str, str]:
        """The dialogue's fields: what the rows of its agents say most often, else those of bots, else others.
        Without a column for the agent, the author of the agents' turns. Languages that differ between the
        sides are not one language: each turn's is then detected."""
        results = {}
        for meaning in (*FIELDS, "author"):
            sides = [self.values[meaning, side] for side in SIDES if (meaning, side) in self.values]
            common = [side.most_common(1)[0][0] for side in sides]
            if common and not (meaning == "language" and len(set(common)) > 1):
                results[meaning] = common[0]
        author = results.pop("author", None)
        if author is not None and ("author", "agent") in self.values and "agent" not in self.columns.names:
            results["agent"] = author
        return results


def _n_bytes(cell: object) -> int:
    """Bytes of a cell if it is a text, else 0."""
    return 0 if not isinstance(cell, str) else len(cell) if cell.isascii() else len(cell.encode())


def gather_dialogues(
    rows: Iterable[Row], columns: Columns, times: TimeFormat, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    """Group consecutive rows of one id into dialogues. A dialogue with a bad row is rejected at that row's
    line, so that no message gets lost silently."""
    for name, members in groupby(rows, key=lambda row: columns.dialogue_id(row.cells)):
        group, bad = Group(columns, times), None
        line = offset = -1
        for row in members:
            if line < 0:
                line, offset = row.line, row.offset
            if bad is None and row.bad is not None:
                bad, line, offset = row.bad, row.line, row.offset
            elif bad is None:
                try:
                    with record_boundary():
                        group.add(row.cells)
                except BadRecord as fault:
                    bad = fault
                    if bad.code != "E_RECORD_SIZE":  # the fault of all rows
                        line, offset = row.line, row.offset
        if bad is None:
            yield from validate_all([group.dialogue(name)], line, offset, columns.config, warnings)
        else:
            bad.dialogue_id = name if isinstance(name, str) else None
            yield ParsedRecord(line, offset, bad)


def mapped_dialogue(
    rows: Sequence[Mapping[str, object]],
    fallback_id: str,
    shape: MappedRecord,
    columns: Columns,
    times: TimeFormat,
) -> RawDialogue:
    """The dialogue of messages that a mapping extracted from one record."""
    group = Group(columns, times)
    for cells in rows:
        group.add(cells)
    if columns.ids:
        return group.dialogue(columns.dialogue_id(rows[0]) if rows else None, shape.path)
    return group.dialogue(fallback_id, shape.path)
