"""Labels of other tools into the store, checked against what is in it: its dialogues, accounts, answers.

A label for an unknown dialogue, code or worker, and a second one by the same worker, is rejected and
counted, also where the first came in by another file, at the same moment, or was given here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dialint.detector.ingest.outcomes import BadRecord, Reject
from dialint.detector.ingest.read import open_logs
from dialint.detector.progress import Progress
from dialint.detector.taxonomy import load
from dialint.labeling.platforms.import_labels import ImportConfig, Intake, Taken
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import MOST_PER_CALL, StoredDialogues
from dialint.labeling.store.projects import existing
from dialint.labeling.transfer.incoming import Fate, bring_in
from dialint.labeling.transfer.logs import pieces
from dialint.labeling.transfer.rejects import Rejects

REFUSED: dict[Fate, tuple[str, str]] = {
    "an id again": ("id", "each id once"),
    "an answer of another project": ("id", "an answer that is new to the store, or of this project"),
    "a second answer": ("labeler", "one answer by a labeler to a question"),
    "a code that is not asked": ("codes", "codes of the project"),
    "an own dialogue": ("labeler", "somebody who did not speak in the dialogue"),
}
"""The field that is wrong, and what was expected there."""


@dataclass
class LabelsIn:
    """How many annotations were `taken`, how many of them `new`; what was rejected, and what was left out
    and why."""

    rejects: Rejects
    taken: int = 0
    new: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


def bring_labels(
    store: Store,
    actor: str,
    config: ImportConfig,
    source: str,
    told: Progress,
    *,
    project: str | None = None,
    rejects: Rejects | None = None,
) -> LabelsIn:
    """Put the labels of all files into the store as annotations; the same files again add nothing.

    `source` names where they are from: with it the ids of an export of ours are one store's. Those of a
    `project` are answers to what it asks; where they do not say what was asked, and no codes are named, it
    is all that the project asks.

    Raises:
        NotAllowed: the actor does not plan; or is no admin, and there are answers of somebody else.
        StoreRefused: there is no such project.
        InputRefused: a file is refused whole.
        TooManyBad: over `max_bad` of the answers are bad; the good ones are in the store.
    """
    people = frozenset(one.id for one in accounts.listed(store, actor))
    if project is not None:
        asked = store.read(partial(existing, name=project)).codes
        config = replace(config, codes=config.codes or asked)
    known = StoredDialogues(store)
    intake = config.intake(load(config.taxonomy), known, frozenset(config.labelers) or people)
    brought = LabelsIn(Rejects() if rejects is None else rejects)
    bring = partial(bring_in, store, actor, source=source, project=project)
    for file in open_logs(config.labels):
        for piece in pieces(intake.placed(file, config.format), MOST_PER_CALL):
            for item, fate in _fates(piece, bring):
                _count(brought, intake, item, fate)
            told(brought.taken)
    brought.left_out = intake.left_out
    intake.counts.check_share(config.max_bad)
    return brought


def _fates(
    piece: Sequence[Taken | Reject], bring: Callable[..., Sequence[Fate]]
) -> Iterator[tuple[Taken | Reject, Fate | None]]:
    """What became of each in the store; none of what was rejected before."""
    some = [item for item in piece if isinstance(item, Taken)]
    fates = iter(bring([item.annotation for item in some], once=any(item.once for item in some)))
    for item in piece:
        yield item, next(fates) if isinstance(item, Taken) else None


def _count(brought: LabelsIn, intake: Intake, item: Taken | Reject, fate: Fate | None) -> None:
    if isinstance(item, Taken) and fate in REFUSED:
        path, expected = REFUSED[fate]
        item = item.refused(BadRecord("E_LABEL", path, fate, expected, item.annotation.dialogue_id))
        intake.counts.rejected += 1
        intake.counts.codes[item.code] += 1
    if isinstance(item, Reject):
        brought.rejects.add(item)
    else:
        brought.taken += 1
        brought.new += fate == "new"
