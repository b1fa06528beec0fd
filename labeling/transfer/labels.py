"""Labels of other tools into the store, checked against what is in it: its dialogues, accounts, answers.

A label for an unknown dialogue, code or worker, and a second one by the same worker, is rejected and
counted, also where the first came in by another file or was given here. Of two imports that run at the
same moment each checks before the other writes: the same file twice is still one, two files with
answers of one worker may both come in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import select

from detector.ingest.outcomes import BadRecord, Reject
from detector.ingest.read import open_logs
from detector.taxonomy import load
from labeling.annotation import Annotation
from labeling.platforms.import_labels import ImportConfig
from labeling.store import accounts
from labeling.store.annotations import bring_in
from labeling.store.database.schema import annotation_rows
from labeling.store.database.transactions import Store, Transaction
from labeling.store.dialogues import MOST_PER_CALL, StoredDialogues
from labeling.store.tasks import annotation_of
from labeling.transfer.logs import Told, pieces

SHOWN = 10


@dataclass
class LabelsIn:
    """How many annotations were `taken`, how many of them `new`, how many `rejected`; the first rejects,
    and what was left out and why."""

    taken: int = 0
    new: int = 0
    rejected: int = 0
    first: list[Reject] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


def bring_labels(store: Store, actor: str, config: ImportConfig, source: str, told: Told) -> LabelsIn:
    """Put the labels of all files into the store as annotations; the same files again add nothing.

    `source` names where they are from: with it the ids of an export of ours are one store's.

    Raises:
        NotAllowed: the actor does not plan.
        InputRefused: a file is refused whole.
        TooManyBad: over `max_bad` of the answers are bad; the good ones are in the store.
    """
    people = frozenset(one.id for one in accounts.listed(store, actor))
    taxonomy = load(config.taxonomy)
    intake = config.intake(taxonomy, StoredDialogues(store), frozenset(config.labelers) or people)
    standing = Standing(store, source)
    intake.standing = standing
    brought = LabelsIn()

    def good() -> Iterator[Annotation]:
        for file in open_logs(config.labels):
            for item in intake.read(file, config.format):
                if isinstance(item, Reject):
                    brought.rejected += 1
                    brought.first += [item][: SHOWN - len(brought.first)]
                else:
                    yield item

    for piece in pieces(good(), MOST_PER_CALL):
        brought.new += bring_in(store, actor, piece, source)
        standing.written()
        brought.taken += len(piece)
        told(brought.taken)
    brought.left_out = intake.left_out
    intake.counts.check_share(config.max_bad)
    return brought


class Standing:
    """What is known of answers: those in the store, and those read since it was last written to."""

    def __init__(self, store: Store, source: str) -> None:
        self._store, self._source = store, source
        self._read: dict[tuple[str, str], dict[str, Annotation]] = {}

    def __call__(self, found: Annotation, once: bool) -> BadRecord | None:
        """Why an answer cannot be taken beside the others: its id is there with other content or, with
        `once`, its labeler has answered one of its questions."""
        mine = (found.dialogue_id, found.labeler)
        others = self._store.read(partial(_answers, dialogue=mine[0], labeler=mine[1]))
        others |= self._read.get(mine, {})
        key = f"{self._source}:{found.id}"
        if key in others:
            there = others[key].model_copy(update={"id": found.id, "at": found.at})
            if there == found:
                return None
            return BadRecord("E_LABEL", "id", "an id again", "each id once", found.dialogue_id)
        if once and any(_meet(found, other) for other in others.values()):
            expected = "one answer by a labeler to a question"
            return BadRecord("E_LABEL", "labeler", "a second answer", expected, found.dialogue_id)
        self._read.setdefault(mine, {})[key] = found
        return None

    def written(self) -> None:
        """All that was read is in the store now."""
        self._read.clear()


def _answers(transaction: Transaction, dialogue: str, labeler: str) -> dict[str, Annotation]:
    """A labeler's answers about a dialogue by their keys."""
    rows = select(annotation_rows).where(
        annotation_rows.c.dialogue == dialogue, annotation_rows.c.labeler == labeler
    )
    return {row.key: annotation_of(row) for row in transaction.run(rows)}


def _meet(one: Annotation, other: Annotation) -> bool:
    """Whether two answers are to a question in common."""
    turns = one.turn is None or other.turn is None or one.turn == other.turn
    return turns and not set(one.codes).isdisjoint(other.codes)
