"""Imports logs, verdicts and other tools' labels into the label store; the same files again add nothing.

Streams: memory does not grow with the file. Each thousand records is a transaction, so a killed import is
simply run again. Bad records of a log are rejected, up to the share that `read` allows. A label for an
unknown dialogue, code or worker, and a second one by the same worker, is rejected and counted, also where
the first came from another file, at the same moment, or from the console.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.progress import Progress
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.exchange.import_labels import ImportConfig, LocatedAnnotation, Rejects
from dialint.labeling.store import accounts, dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import MAX_PER_CALL, StoredDialogues
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.stored_annotations import ImportOutcome, import_annotations

T = TypeVar("T")


@dataclass
class ImportCounts:
    """Number of records that were `new`, and that were in the store with the same content (`existing`); the
    rejects, and what was left out, by reason."""

    new: int = 0
    existing: int = 0
    rejects: Rejects = field(default_factory=Rejects)
    left_out: dict[str, int] = field(default_factory=dict)

    def add_batch(self, new: int, size: int) -> None:
        """Count a batch of `size` records, of which so many are new."""
        self.new += new
        self.existing += size - new


def import_logs(
    store: Store,
    actor: str,
    logs: Sequence[str],
    config: ReadConfig,
    progress: Progress,
    rejects: Rejects | None = None,
) -> ImportCounts:
    """Add the dialogues of `logs` to the store, and bad records to `rejects`.

    Raises:
        NotAllowed: the actor does not plan.
        InputRefused: a log is refused whole.
        TooManyBad: too many bad records; those before them are in the store.
        StoreRefused: a dialogue exists with other content.
    """
    imported = ImportCounts(rejects=rejects or Rejects())
    sources, counts = open_logs(list(logs)), Counts()
    total = sum(source.size for source in sources)
    for source in sources:
        inspect(source, config)

    def good() -> Iterator[Loaded]:
        for item in read(sources, config, counts):
            if isinstance(item, Reject):
                imported.rejects.add(item)
            else:
                yield item

    for batch in batches(good(), MAX_PER_CALL):
        imported.add_batch(dialogues.add(store, actor, [item.dialogue for item in batch]), len(batch))
        progress(imported.new + imported.existing, counts.bytes_read / total if total else None)
    return imported


def import_verdicts(
    store: Store, actor: str, path: Path, progress: Progress, release_name: str | None = None
) -> ImportCounts:
    """Add the verdicts of a finished output of ``dialint score`` to the store, as those of a release of the
    name `release_name` if it is given: the store keeps one verdict by dialogue and release.

    Raises:
        NotAllowed: the actor does not plan.
        OutputRefused: the output is not finished, or damaged.
        StoreRefused: a dialogue is not in the store, or has another verdict by the same release.
    """
    imported = ImportCounts()
    for batch in batches(read_verdicts(path), MAX_PER_CALL):
        imported.add_batch(dialogues.add_verdicts(store, actor, batch, release_name), len(batch))
        progress(imported.new + imported.existing)
    return imported


def batches(records: Iterable[T], size: int) -> Iterator[list[T]]:
    """The records in order, `size` of them at a time."""
    stream = iter(records)
    while batch := list(islice(stream, size)):
        yield batch


REJECT_REASONS: dict[ImportOutcome, tuple[str, str]] = {
    "an id again": ("id", "each id once"),
    "an answer of another project": ("id", "an answer that is new to the store, or of this project"),
    "a second answer": ("labeler", "one answer by a labeler to a question"),
    "a code that is not asked": ("codes", "codes of the project"),
    "an own dialogue": ("labeler", "somebody who did not speak in the dialogue"),
}
"""The field that is wrong and its expected value, by outcome."""


def import_labels(
    store: Store,
    actor: str,
    config: ImportConfig,
    source: str,
    progress: Progress,
    *,
    project: str | None = None,
    rejects: Rejects | None = None,
) -> ImportCounts:
    """Add the labels of all files to the store as annotations; the same files again add nothing.

    `source` names their origin and makes the ids of an export of ours unique. With a `project` they are
    answers to its codes, all of them where neither the labels nor the config name any.

    Raises:
        NotAllowed: the actor does not plan; or is no admin, and there are answers of somebody else.
        StoreRefused: there is no such project.
        InputRefused: a file is refused whole.
        TooManyBad: over `max_bad` of the answers are bad; the good ones are in the store.
    """
    people = frozenset(account.id for account in accounts.list_accounts(store, actor))
    if project is not None:
        project_codes = store.read(partial(get_project, name=project)).codes
        config = replace(config, codes=config.codes or project_codes)
    reader = config.make_reader(
        load_taxonomy(config.taxonomy), StoredDialogues(store), frozenset(config.labelers) or people
    )
    imported = ImportCounts(rejects=rejects or Rejects())
    for file in open_logs(config.labels):
        for batch in batches(reader.read(file, config.format), MAX_PER_CALL):
            located = [item for item in batch if isinstance(item, LocatedAnnotation)]
            annotations, once = [item.annotation for item in located], any(item.once for item in located)
            outcomes = iter(import_annotations(store, actor, annotations, source, project, once=once))
            for item in batch:
                if isinstance(item, LocatedAnnotation):
                    outcome = next(outcomes)
                    if outcome not in REJECT_REASONS:
                        imported.add_batch(outcome == "new", 1)
                        continue
                    path, expected = REJECT_REASONS[outcome]
                    bad = BadRecord("E_LABEL", path, outcome, expected, item.annotation.dialogue_id)
                    item = bad.reject(item.file, item.line, item.offset)
                    reader.counts.rejected += 1
                    reader.counts.codes[item.code] += 1
                imported.rejects.add(item)
            progress(imported.new + imported.existing)
    imported.left_out = reader.left_out
    reader.counts.check_share(config.max_bad)
    return imported
