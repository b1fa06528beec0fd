"""Exports annotations and datasets from the store.

Only the newest answers of people whose work counts, and the dialogues they are about. A dataset is made from
a temporary snapshot in files, which hold the original text; masking is part of making the dataset. Its
annotations include the decisions of appeals. Annotations are masked as they are written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import (
    TEMPORARY,
    atomic_file,
    disk_errors,
    file_entry,
    package_versions,
    write_manifest,
)
from dialint.detector.errors import ConfigError
from dialint.detector.progress import track
from dialint.detector.records import Dialogue, Record
from dialint.detector.unfinished import making_files
from dialint.detector.verdict_files import manifest_path, verdict_line
from dialint.labeling.aggregation.store_labels import select_surest
from dialint.labeling.annotation import Annotation
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.dataset.export import run as make_dataset
from dialint.labeling.store.appeals import load_decided
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import load_dialogue, load_labels, load_verdict
from dialint.labeling.store.exposure import record_bulk_read
from dialint.labeling.store.masked_view import load_view
from dialint.labeling.store.permissions import require_permission, write_operation
from dialint.labeling.store.stored_annotations import iterate_counted

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
            annotations = _mask_findings(store, annotations)
        rows = _write_lines(out, map(_encode, track(annotations, None, "exporting", "annotations")))
        manifest = {
            "kind": "annotations",
            "config": {"project": project, "masked": masked},
            "versions": package_versions("dialint", "SQLAlchemy"),
            "files": [file_entry(out, rows)],
        }
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
    with disk_errors(TEMPORARY), tempfile.TemporaryDirectory(prefix="dialint-") as folder:
        return make_dataset(replace(config, **_write_snapshot(store, actor, Path(folder), project)))


def _write_snapshot(store: Store, actor: str, folder: Path, project: str | None) -> dict[str, Any]:
    """Write the annotations of a project, or of the whole store, and their dialogues with labels and verdicts
    into `folder`; returns the files as options of a `DatasetConfig`.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    dialogues, answers, labels, verdicts = (
        folder / f"{name}.jsonl" for name in ("dialogues", "annotations", "labels", "verdicts")
    )
    ids: dict[str, None] = {}

    def annotations() -> Iterator[Record]:
        for annotation in iterate_counted(store, actor, project):
            ids.setdefault(annotation.dialogue_id)
            yield annotation
        yield from appeal_decisions(store, ids)

    _write_lines(answers, map(_encode, annotations()))
    if not ids:
        raise ConfigError("E_NO_RECORDS", f"no answers in {project or 'the store'} yet")
    _write_lines(dialogues, map(_encode, _dialogues(store, ids)))
    surest = (select_surest(store.read(partial(load_labels, dialogue=name))) for name in ids)
    n_labels = _write_lines(labels, map(_encode, chain.from_iterable(surest)))
    newest = (store.read(partial(load_verdict, name=name)) for name in ids)
    n_verdicts = _write_lines(verdicts, map(verdict_line, filter(None, newest)))
    entry = file_entry(verdicts, n_verdicts)
    write_manifest(manifest_path(verdicts), {"kind": "verdicts", "format": "jsonl", "files": [entry]})
    return {
        "dialogues": (str(dialogues),),
        "records": True,
        "annotations": (answers,),
        "labels": labels if n_labels else None,
        "verdicts": verdicts if n_verdicts else None,
    }


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


def appeal_decisions(store: Store, ids: Container[str]) -> Iterator[Annotation]:
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


def _dialogues(store: Store, ids: Iterable[str]) -> Iterator[Dialogue]:
    for name in ids:
        dialogue = store.read(partial(load_dialogue, name=name))
        assert dialogue is not None, "a foreign key"
        yield dialogue


def _mask_findings(store: Store, annotations: Iterable[Annotation]) -> Iterator[Annotation]:
    view = lru_cache(CACHED_VIEWS)(lambda name: store.read(partial(load_view, name=name)))
    for annotation in annotations:
        findings = (
            view(annotation.dialogue_id).mask_findings(annotation.findings) if annotation.findings else ()
        )
        yield annotation.model_copy(update={"findings": findings})


def _encode(record: Record) -> bytes:
    return record.model_dump_json(exclude_defaults=True).encode() + b"\n"


def _write_lines(path: Path, lines: Iterable[bytes]) -> int:
    rows = 0
    with atomic_file(path) as file:
        for line in lines:
            file.write(line)
            rows += 1
    return rows
