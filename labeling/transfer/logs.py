"""Dialogues and verdicts from files into the store; the same files again add nothing.

Streams: memory does not grow with the file. Each thousand is a transaction of its own, so a killed import
is simply run again. Bad records of a log are rejected, up to the share that `read` allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded, Reject
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.progress import Progress
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import MOST_PER_CALL
from dialint.labeling.store.masked_view import LONG_CHARS, prepare, renew_long
from dialint.labeling.transfer.rejects import Rejects

T = TypeVar("T")


@dataclass
class BroughtIn:
    """What became of the records: `new`, or `known` with the same content."""

    new: int = 0
    known: int = 0


def bring_logs(
    store: Store,
    actor: str,
    logs: Sequence[str],
    config: ReadConfig,
    told: Progress,
    rejects: Rejects | None = None,
) -> BroughtIn:
    """Put the dialogues of `logs` into the store, and what is bad among `rejects`.

    Raises:
        NotAllowed: the actor does not plan.
        InputRefused: a log is refused whole.
        TooManyBad: too many bad records; what came before is in the store.
        StoreRefused: a dialogue is there with other content.
    """
    brought, rejects = BroughtIn(), Rejects() if rejects is None else rejects
    sources, counts = open_logs(list(logs)), Counts()
    total = sum(source.size for source in sources)
    for source in sources:
        inspect(source, config)

    def good() -> Iterator[Loaded]:
        for item in read(sources, config, counts):
            if isinstance(item, Reject):
                rejects.add(item)
            else:
                yield item

    for piece in pieces(good(), MOST_PER_CALL):
        new = dialogues.add(store, actor, [item.dialogue for item in piece])
        for item in piece:
            if sum(len(turn.text) for turn in item.dialogue.turns) >= LONG_CHARS:
                prepare(store, item.dialogue.id)
        _count(brought, new, len(piece))
        told(brought.new + brought.known, counts.bytes_read / total if total else None)
    return brought


def bring_verdicts(store: Store, actor: str, path: Path, told: Progress) -> BroughtIn:
    """Put the verdicts of a finished output of ``dialint score`` into the store.

    Raises:
        NotAllowed: the actor does not plan.
        OutputRefused: the output is not finished, or damaged.
        StoreRefused: a dialogue is not in the store, or the release said something else of it before.
    """
    brought = BroughtIn()
    for piece in pieces(read_verdicts(path), MOST_PER_CALL):
        new = dialogues.add_verdicts(store, actor, piece)
        renew_long(store, [verdict.dialogue_id for verdict in piece])
        _count(brought, new, len(piece))
        told(brought.new + brought.known)
    return brought


def _count(brought: BroughtIn, new: int, size: int) -> None:
    brought.new += new
    brought.known += size - new


def pieces(records: Iterable[T], size: int) -> Iterator[list[T]]:
    """The records in order, `size` of them at a time."""
    stream = iter(records)
    while piece := list(islice(stream, size)):
        yield piece
