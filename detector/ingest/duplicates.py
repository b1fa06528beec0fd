"""Detects repeated dialogue ids of a job in bounded memory.

A Bloom filter rules out nearly every id; the others are looked up in sorted runs on disk. Ids and contents
are compared by Python's keyed 64-bit hashes: among a million dialogues the probability of one false match is
3 in 100 million.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from dialint.detector.artifacts import TEMPORARY, disk_errors
from dialint.detector.records import Dialogue

WORD_BITS = 22
"""log2 of the number of 64-bit words of the filter: 32 MiB, 27 bits an id at ten million ids."""
RUN_ROWS = 1 << 16
N_PROBES = 4
_BARE = {"id", "turns"}
_NO_EXTRA = ((None,) * 5, (), "", False)
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def content_hash(dialogue: Dialogue) -> int:
    """Hash of a dialogue's content, the same for every log format. Differs between processes."""
    turns = tuple([tuple(turn.__dict__.values()) for turn in dialogue.turns])
    if dialogue.model_fields_set == _BARE:
        return hash(turns)
    rest = (dialogue.language, dialogue.channel, dialogue.agent, dialogue.team, dialogue.policy)
    metadata = repr(sorted(dialogue.metadata.items())) if dialogue.metadata else ""
    extra = (rest, dialogue.sources, metadata, dialogue.masked)
    return hash(turns) if extra == _NO_EXTRA else hash((turns, extra))


class SeenIds:
    """The ids of a job so far. Rows: hash of the id, hash of the content, position."""

    def __init__(self) -> None:
        import numpy as np

        self._np = np
        self._filter: Any = np.zeros(1 << WORD_BITS, dtype=np.uint64)
        self._fresh: list[Any] = []  # each (rows, 3) int64
        self._runs: list[int] = []  # rows in each run on disk
        self._file: Any = None

    def close(self) -> None:
        """Delete the temporary file."""
        if self._file is not None:
            with disk_errors(TEMPORARY):
                self._file.close()

    def add(
        self, ids: Sequence[int], contents: Sequence[int], positions: Sequence[int]
    ) -> dict[int, tuple[int, int]]:
        """Add hashes of ids and contents with their positions. Returns, for the index of each repeated id,
        the content hash and position of its first appearance; repeated ids are not added again."""
        if not ids:
            return {}
        np = self._np
        table = np.empty((len(ids), 3), dtype=np.int64)
        table[:, 0], table[:, 1], table[:, 2] = ids, contents, positions
        unique, first, inverse = np.unique(table[:, 0], return_index=True, return_inverse=True)
        earlier = self._lookup(unique)
        earlier_of = {int(unique[at]): result for at, result in earlier.items()}
        repeated: dict[int, tuple[int, int]] = {}
        if earlier or len(unique) < len(ids):
            for position, name in enumerate(ids):
                origin = int(first[inverse[position]])
                if name in earlier_of:
                    repeated[position] = earlier_of[name]
                elif origin != position:
                    repeated[position] = (contents[origin], positions[origin])
        new = np.sort(np.delete(first, list(earlier))) if earlier else first
        self._note(table[new])
        return repeated

    def _slots(self, names: Any) -> tuple[Any, Any]:
        """For each name, its word of the filter and its bits in it. One word only: each further word would be
        another cache miss."""
        np = self._np
        unsigned = names.astype(np.uint64)
        words = (unsigned * np.uint64(_MIX[0])) >> np.uint64(64 - WORD_BITS)
        bits = unsigned * np.uint64(_MIX[1])
        marks = np.zeros(len(names), dtype=np.uint64)
        for probe in range(N_PROBES):
            marks |= np.uint64(1) << ((bits >> np.uint64(58 - 6 * probe)) & np.uint64(63))
        return words, marks

    def _lookup(self, names: Any) -> dict[int, tuple[int, int]]:
        """Index in `names` (sorted, unique) to content hash and position, for those added before."""
        np = self._np
        words, marks = self._slots(names)
        maybe = (self._filter[words] & marks) == marks
        if not maybe.any():
            return {}
        positions = np.flatnonzero(maybe)
        results: dict[int, tuple[int, int]] = {}
        for ordered in [*self._fresh, *self._stored_rows()]:
            position = np.searchsorted(ordered[:, 0], names[positions])
            inside = position < len(ordered)
            hit = np.flatnonzero(inside)
            hit = hit[ordered[position[hit], 0] == names[positions[hit]]]
            for index in hit:
                row = ordered[position[index]]
                results[int(positions[index])] = (int(row[1]), int(row[2]))
        return results

    def _stored_rows(self) -> list[Any]:
        np = self._np
        runs, start = [], 0
        for rows in self._runs:
            runs.append(np.memmap(self._file, np.int64, "r", offset=start * 24, shape=(rows, 3)))
            start += rows
        return runs

    def _note(self, rows: Any) -> None:
        np = self._np
        words, marks = self._slots(rows[:, 0])
        np.bitwise_or.at(self._filter, words, marks)
        self._fresh.append(rows[np.argsort(rows[:, 0], kind="stable")])
        if sum(map(len, self._fresh)) < RUN_ROWS:
            return
        run = np.concatenate(self._fresh)
        run = run[np.argsort(run[:, 0], kind="stable")]
        with disk_errors(TEMPORARY):
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="dialint-ids-")  # noqa: SIM115  lives with the job
            self._file.seek(0, 2)
            self._file.write(run.tobytes())
            self._file.flush()
        self._runs.append(len(run))
        self._fresh = []
