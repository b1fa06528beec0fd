"""What the store holds, as the files that the other stages read: annotations, dialogues, labels, verdicts.

Only answers of people whose work counts, the newest each, and the dialogues they are about. A dataset is
masked when it is made of these files, which hold originals and are gone after; annotations are masked as
they are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import (
    TEMPORARY,
    atomic_file,
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.progress import track
from dialint.detector.records import Dialogue, Label, Record, Verdict
from dialint.detector.verdict_files import manifest_path, verdict_line
from dialint.labeling.aggregation.store_labels import select_surest
from dialint.labeling.annotation import Annotation
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.dataset.export import run as make_dataset
from dialint.labeling.store.counted_annotations import iterate_counted
from dialint.labeling.store.database.transactions import Store, Transaction, write_operation
from dialint.labeling.store.dialogues import load_dialogue, load_verdict
from dialint.labeling.store.exposure import record_bulk_read
from dialint.labeling.store.labels import load_labels
from dialint.labeling.store.masked_view import load_view
from dialint.labeling.store.permissions import require_permission

VIEWS = 256
"""Masked dialogues held while annotations, which come in the order of their time, are written."""


@dataclass(frozen=True)
class Snapshot:
    """Files of a store's dialogues, annotations, labels and verdicts."""

    dialogues: Path
    annotations: Path
    labels: Path
    verdicts: Path

    @classmethod
    def within(cls, folder: Path) -> Snapshot:
        """The names these files have in `folder`."""
        names = ("dialogues", "annotations", "labels", "verdicts")
        return cls(*(folder / f"{name}.jsonl" for name in names))


def export_annotations(
    store: Store, actor: str, out: Path, project: str | None, *, masked: bool = True
) -> dict[str, Any]:
    """Write the annotations of a project, or of the whole store, as our JSON lines; the manifest. Masked,
    findings stand as in the masked dialogue, with quotes and reasons; a reviewer may have them, else a lead.

    Raises:
        NotAllowed: the actor does not review; or does not plan, and asks for what is not masked.
        OutputRefused: `out` exists.
    """
    if out.exists():
        raise OutputRefused("E_EXISTS", f"{out}: exists already; name another file")
    record_export(store, actor, project, masked=masked, what="annotations")
    with disk_errors(out):
        make_output_folder(out.parent)
    given = iterate_counted(store, actor, project)
    rows = _write(out, track(_shown(store, given) if masked else given, None, "exporting", "annotations"))
    manifest = {
        "kind": "annotations",
        "config": {"project": project, "masked": masked},
        "versions": package_versions("dialint", "SQLAlchemy"),
        "files": [file_entry(out, rows)],
    }
    write_manifest(manifest_path(out), manifest)
    return manifest


def export_dataset(store: Store, actor: str, config: DatasetConfig, project: str | None) -> dict[str, Any]:
    """As `dataset.export.run`, of what is in the store: answers, the surest label of each question, and
    the newest verdicts, for preference pairs. Masked, a reviewer may have it, else a lead.

    Raises:
        NotAllowed: the actor does not review; or does not plan, and asks for what is not masked.
        ConfigError: files are named as well, or nobody has answered anything.
        OutputRefused: `out` holds a finished dataset.
    """
    if config.dialogues or config.annotations or config.labels or config.verdicts:
        raise ConfigError("E_OPTION", "a dataset is made of the store or of files: name no file, or all")
    record_export(store, actor, project, masked=config.masked)
    with disk_errors(TEMPORARY), tempfile.TemporaryDirectory(prefix="dialint-") as folder:
        files = snapshot(store, actor, Path(folder), project)
        named = replace(
            config,
            dialogues=(str(files.dialogues),),
            records=True,
            annotations=(files.annotations,),
            labels=files.labels if files.labels.stat().st_size else None,
            verdicts=files.verdicts if files.verdicts.stat().st_size else None,
        )
        return make_dataset(named)


def snapshot(store: Store, actor: str, folder: Path, project: str | None) -> Snapshot:
    """Write the answers of a project, or of the whole store, and all about their dialogues into `folder`.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    files = Snapshot.within(folder)
    ids: dict[str, None] = {}

    def noted() -> Iterator[Record]:
        for one in iterate_counted(store, actor, project):
            ids.setdefault(one.dialogue_id)
            yield one

    _write(files.annotations, noted())
    if not ids:
        raise ConfigError("E_NO_RECORDS", f"no answers in {project or 'the store'} yet")
    _write(files.dialogues, _dialogues(store, ids))
    _write(files.labels, _labels(store, ids))
    rows = _write_verdicts(files.verdicts, _verdicts(store, ids))
    manifest = {"kind": "verdicts", "format": "jsonl", "files": [file_entry(files.verdicts, rows)]}
    write_manifest(manifest_path(files.verdicts), manifest)
    return files


@write_operation(repeatable=True)
def record_export(
    transaction: Transaction, actor: str, project: str | None, *, masked: bool, what: str = "dataset"
) -> None:
    """Keep that the actor takes all that is known of the dialogues with answers, or `what` else, out of the
    store, and how.

    Raises:
        NotAllowed: the actor does not review; or does not plan, and takes it unmasked.
    """
    account = require_permission(transaction, actor, "review" if masked else "plan")
    record_bulk_read(transaction, account, project, "export")
    transaction.log(actor, f"export.{what}", project or "store", masked=masked)


def _dialogues(store: Store, ids: Iterable[str]) -> Iterator[Dialogue]:
    for name in ids:
        dialogue = store.read(partial(load_dialogue, name=name))
        assert dialogue is not None, "a foreign key"
        yield dialogue


def _shown(store: Store, given: Iterable[Annotation]) -> Iterator[Annotation]:
    view = lru_cache(VIEWS)(lambda name: store.read(partial(load_view, name=name)))
    for one in given:
        shown = view(one.dialogue_id).shown(one.findings) if one.findings else ()
        yield one.model_copy(update={"findings": shown})


def _labels(store: Store, ids: Iterable[str]) -> Iterator[Label]:
    for name in ids:
        yield from select_surest(store.read(partial(load_labels, dialogue=name)))


def _verdicts(store: Store, ids: Iterable[str]) -> Iterator[Verdict]:
    for name in ids:
        verdict = store.read(partial(load_verdict, name=name))
        if verdict is not None:
            yield verdict


def _write(path: Path, records: Iterable[Record]) -> int:
    rows = 0
    with atomic_file(path) as file:
        for record in records:
            file.write(record.model_dump_json(exclude_defaults=True).encode() + b"\n")
            rows += 1
    return rows


def _write_verdicts(path: Path, verdicts: Iterable[Verdict]) -> int:
    rows = 0
    with atomic_file(path) as file:
        for verdict in verdicts:
            file.write(verdict_line(verdict))
            rows += 1
    return rows
