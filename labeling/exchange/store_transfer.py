"""Imports logs, verdicts and labels into the label store, and exports annotations and datasets from it.

Imports stream: memory does not grow with the file, and the same files again add nothing. Each thousand
records is a transaction, so a killed import is simply run again. Bad records of a log are rejected, up to the
share that `read` allows. A label for an unknown dialogue, code or worker, and a second one by the same
worker, is rejected and counted, also if the first is from another file, a concurrent import, or the console.

Exports contain the newest answers that count (`iterate_counted`) and the dialogues they are about. The
annotations of a dataset include the decisions of appeals. Annotations are masked as they are written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from dialint.detector.artifacts import making_files, package_versions, write_manifest
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import to_line, write_lines
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.progress import Progress, track
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.labeling.aggregation.question_posteriors import select_surest
from dialint.labeling.annotation import Annotation
from dialint.labeling.dataset.examples import DatasetBuilder, DatasetConfig
from dialint.labeling.dataset.export import run as make_dataset
from dialint.labeling.exchange.import_labels import ImportConfig, LocatedAnnotation, Rejects
from dialint.labeling.store import accounts, dialogues
from dialint.labeling.store.appeals import load_decided
from dialint.labeling.store.database.derived import MAX_MS
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import MAX_PER_CALL, StoredDialogues, load_labels, load_verdict
from dialint.labeling.store.exposure import record_bulk_read
from dialint.labeling.store.history import load_entries
from dialint.labeling.store.insights import list_scores
from dialint.labeling.store.masked_view import load_view
from dialint.labeling.store.permissions import require_permission, write_operation
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.stored_annotations import ImportOutcome, import_annotations, iterate_counted

T = TypeVar("T")


@dataclass
class ImportCounts:
    """Number of records that were `new`, and that were in the store with the same content (`existing`); the
    rejects, and the number of records left out, by reason."""

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
                    reader.counts.reject(item)
                imported.rejects.add(item)
            progress(imported.new + imported.existing)
    imported.left_out = reader.left_out
    reader.counts.check_share(config.max_bad)
    return imported


CACHED_VIEWS = 256
"""Masked dialogues in memory while annotations, which come in order of time, are written."""


def export_annotations(
    store: Store, actor: str, out: Path, project: str | None, *, masked: bool = True
) -> dict[str, Any]:
    """Write the annotations of a project, or of the whole store, as our JSON lines and return the manifest.
    With `masked`, which a reviewer may export, findings have the offsets, quotes and reasons of the masked
    dialogue; unmasked ones require a lead.

    Raises:
        NotAllowed: the actor does not review, or without `masked` does not plan.
        OutputRefused: `out` exists.
    """
    with making_files(out, manifest_path(out)):
        record_export(store, actor, project, masked=masked, what="annotations")
        annotations = iterate_counted(store, actor, project)
        if masked:
            view = lru_cache(CACHED_VIEWS)(lambda name: store.read(partial(load_view, name=name)))
            annotations = (
                each.model_copy(update={"findings": view(each.dialogue_id).mask_findings(each.findings)})
                if each.findings
                else each
                for each in annotations
            )
        entry = write_lines(out, map(to_line, track(annotations, None, "exporting", "annotations")))
        manifest = {
            "kind": "annotations",
            "config": {"project": project, "masked": masked},
            "versions": package_versions("dialint", "SQLAlchemy"),
            "files": [entry],
        }
        write_manifest(manifest_path(out), manifest)
        return manifest


def export_scores(store: Store, actor: str, out: Path) -> dict[str, Any]:
    """Write the scores of every dialogue, the model's and the reviewed one, as JSON lines and return the
    manifest. No text of a dialogue is among them.

    Raises:
        NotAllowed: the actor does not plan.
        OutputRefused: `out` exists.
    """
    with making_files(out, manifest_path(out)):
        record_export(store, actor, None, masked=False, what="scores")
        entry = write_lines(out, map(to_line, list_scores(store, actor, 0, MAX_MS)))
        manifest = {"kind": "scores", "versions": package_versions("dialint"), "files": [entry]}
        write_manifest(manifest_path(out), manifest)
        return manifest


def export_dataset(store: Store, actor: str, config: DatasetConfig, project: str | None) -> dict[str, Any]:
    """As `dataset.export.run`, from the store: its annotations, the surest label of each question, and the
    newest verdicts, for preference pairs. A reviewer may export a masked one, a lead any.

    Raises:
        NotAllowed: the actor does not review, or without masking does not plan.
        ConfigError: files are named as well, or nobody has answered anything.
        OutputRefused: `out` holds a finished dataset.
    """
    if config.dialogues or config.annotations or config.labels or config.verdicts:
        raise ConfigError("E_OPTION", "a dataset is made of the store or of files: name no file, or all")
    record_export(store, actor, project, masked=config.masked)
    return make_dataset(config, partial(_read_store, store, actor, project))


def _read_store(store: Store, actor: str, project: str | None, config: DatasetConfig) -> DatasetBuilder:
    """Read the sources of a dataset, all but the dialogues. The manifest gets the head of the audit log,
    which identifies the state of the store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    head = store.read(load_entries).entries[0]
    annotations = load_by_dialogue(store, actor, project)
    if not annotations:
        raise ConfigError("E_NO_RECORDS", f"no answers in {project or 'the store'} yet")
    surest = {
        name: list(select_surest(store.read(partial(load_labels, dialogue=name)))) for name in annotations
    }
    newest = {name: store.read(partial(load_verdict, name=name)) for name in annotations}
    return DatasetBuilder(
        config,
        filter(None, map(StoredDialogues(store).get, annotations)),  # one may be erased meanwhile
        annotations,
        {name: labels for name, labels in surest.items() if labels},
        {name: verdict for name, verdict in newest.items() if verdict is not None},
        {"inputs": [], "store": {"project": project, "head": f"{head.number}:{head.hash}"}},
    )


@write_operation()
def record_export(
    transaction: Transaction, actor: str, project: str | None, *, masked: bool, what: str = "dataset"
) -> None:
    """Log in the audit trail that the actor exports `what` from the store.

    Raises:
        NotAllowed: the actor does not review, or without `masked` does not plan.
    """
    require_permission(transaction, actor, "review" if masked else "plan")
    record_bulk_read(transaction, actor, project, "export")
    transaction.log(actor, f"export.{what}", project or "store", masked=masked)


def load_by_dialogue(store: Store, actor: str, project: str | None) -> dict[str, list[Annotation]]:
    """The annotations that count of a project, or of the whole store, by dialogue: oldest first, then the
    decisions of appeals.

    Raises:
        NotAllowed: the actor does not review.
    """
    annotations: dict[str, list[Annotation]] = {}
    for annotation in iterate_counted(store, actor, project):
        annotations.setdefault(annotation.dialogue_id, []).append(annotation)
    for decision in _appeal_decisions(store, annotations):
        annotations[decision.dialogue_id].append(decision)
    return annotations


def _appeal_decisions(store: Store, ids: Container[str]) -> Iterator[Annotation]:
    """The decisions of appeals about these dialogues as annotations of the deciding expert: no finding if
    overturned, the model's if upheld. An amended one is an annotation in the store already."""
    for appeal in store.read(load_decided):
        if appeal.dialogue not in ids or appeal.decided_by is None or appeal.state == "amended":
            continue
        verdict = store.read(partial(load_verdict, name=appeal.dialogue))
        disputed = tuple(
            finding.model_copy(update={"probability": 1.0})
            for finding in (verdict.findings if verdict else ())
            if (finding.turn, finding.code) == (appeal.turn, appeal.code)
        )
        if appeal.state == "overturned" or disputed:
            yield Annotation(
                id=f"appeal:{appeal.id}",
                dialogue_id=appeal.dialogue,
                labeler=appeal.decided_by,
                kind="expert",
                codes=(appeal.code,),
                turn=appeal.turn,
                findings=disputed if appeal.state == "upheld" else (),
                seen_verdict=True,
            )
