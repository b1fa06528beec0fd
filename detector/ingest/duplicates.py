"""Which dialogue ids were seen before in a job, in memory that does not grow with the log.

A Bloom filter answers nearly every question; ids it cannot rule out are looked up in sorted runs on
disk. Ids and contents are known by Python's keyed 64-bit hashes: over a million dialogues the chance
of one false match is 3 in 100 million.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from detector.records import Dialogue

FILTER_BITS = 1 << 28
RUN_ROWS = 1 << 16
N_PROBES = 4
_BARE = {"id", "turns"}
_NO_EXTRA = ((None,) * 5, (), "", False)
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


def content_hash(dialogue: Dialogue) -> int:
    """Hash of all that a dialogue says, whatever file format said it. Differs between processes."""
    turns = tuple([tuple(turn.__dict__.values()) for turn in dialogue.turns])
    if dialogue.model_fields_set == _BARE:
        return hash(turns)
    rest = (dialogue.language, dialogue.channel, dialogue.agent, dialogue.team, dialogue.policy)
    metadata = repr(sorted(dialogue.metadata.items())) if dialogue.metadata else ""
    extra = (rest, dialogue.sources, metadata, dialogue.masked)
    return hash(turns) if extra == _NO_EXTRA else hash((turns, extra))


class Seen:
    """The ids of a job so far. Row: hash of the id, hash of the content, where it stood."""

    def __init__(self) -> None:
        import numpy as np

        self._np = np
        self._filter: Any = np.zeros(FILTER_BITS // 8, dtype=np.uint8)
        self._fresh: list[Any] = []  # each (rows, 3) int64
        self._runs: list[int] = []  # rows in each run on disk
        self._file: Any = None

    def close(self) -> None:
        """Give back the disk."""
        if self._file is not None:
            self._file.close()

    def add(self, rows: Sequence[tuple[int, int, int]]) -> dict[int, tuple[int, int]]:
        """Note (id hash, content hash, place) rows; for each position whose id came before, the
        content hash and place of its first appearance. Repeated ids are not noted again."""
        if not rows:
            return {}
        np = self._np
        table = np.array(rows, dtype=np.int64)  # (rows, 3)
        unique, first, inverse = np.unique(table[:, 0], return_index=True, return_inverse=True)
        earlier = self._lookup(unique)
        known = {int(unique[at]): found for at, found in earlier.items()}
        repeated: dict[int, tuple[int, int]] = {}
        if earlier or len(unique) < len(rows):
            for position, (name, _, _) in enumerate(rows):
                origin = int(first[inverse[position]])
                if name in known:
                    repeated[position] = known[name]
                elif origin != position:
                    repeated[position] = (rows[origin][1], rows[origin][2])
        new = np.sort(np.delete(first, list(earlier))) if earlier else first
        self._note(table[new])
        return repeated

    def _slots(self, names: Any) -> list[tuple[Any, Any]]:
        np = self._np
        slots = []
        for factor in _MIX[:N_PROBES]:
            bit = (names.astype(np.uint64) * np.uint64(factor)) >> np.uint64(36)  # 28 bits
            slots.append((bit >> np.uint64(3), np.left_shift(1, bit & np.uint64(7)).astype(np.uint8)))
        return slots

    def _lookup(self, names: Any) -> dict[int, tuple[int, int]]:
        """Position in `names` (sorted, unique) to content hash and place, of those seen before."""
        np = self._np
        maybe = np.ones(len(names), dtype=bool)
        for byte, bit in self._slots(names):
            maybe &= (self._filter[byte] & bit) != 0
        if not maybe.any():
            return {}
        positions = np.flatnonzero(maybe)
        found: dict[int, tuple[int, int]] = {}
        for ordered in [*self._fresh, *self._stored()]:
            place = np.searchsorted(ordered[:, 0], names[positions])
            inside = place < len(ordered)
            hit = np.flatnonzero(inside)
            hit = hit[ordered[place[hit], 0] == names[positions[hit]]]
            for index in hit:
                row = ordered[place[index]]
                found[int(positions[index])] = (int(row[1]), int(row[2]))
        return found

    def _stored(self) -> list[Any]:
        np = self._np
        runs, start = [], 0
        for rows in self._runs:
            runs.append(np.memmap(self._file, np.int64, "r", offset=start * 24, shape=(rows, 3)))
            start += rows
        return runs

    def _note(self, rows: Any) -> None:
        np = self._np
        for byte, bit in self._slots(rows[:, 0]):
            np.bitwise_or.at(self._filter, byte, bit)
        self._fresh.append(rows[np.argsort(rows[:, 0], kind="stable")])
        if sum(map(len, self._fresh)) < RUN_ROWS:
            return
        run = np.concatenate(self._fresh)
        run = run[np.argsort(run[:, 0], kind="stable")]
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="dialint-ids-")  # noqa: SIM115  lives with the job
        self._file.seek(0, 2)
        self._file.write(run.tobytes())
        self._file.flush()
        self._runs.append(len(run))
        self._fresh = []
