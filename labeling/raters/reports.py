"""What the reports on labelers share: their answers in a store, and a file that is complete or not at all.

Control tasks are included where work is measured, since they measure it best; agreement is measured without
them, whose items are selected to be clear.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import (
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    require_new_files,
    write_manifest,
)
from dialint.detector.errors import ConfigError, Message
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.dialogue_answers import (
    DialogueContext,
    Span,
    collect_answers,
    dialogue_codes,
)
from dialint.labeling.raters.workload import Workload, measure_workload
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import StoredDialogues
from dialint.labeling.store.stored_annotations import iterate_counted

Report = dict[str, Any]


def make_report(
    kind: str,
    options: Mapping[str, Any],
    figures: Callable[[], Mapping[str, Any]],
    out: Path | None,
    inputs: Iterable[Path | None] = (),
) -> Report:
    """Return the result of `figures` together with the options, versions, inputs and seconds, and write it to
    `out` if it is set. Paths are reduced to their names.

    Raises:
        OutputRefused: `out` exists.
        WorldError: the disk is full or failed.
    """
    require_new_files(out)
    started = time.monotonic()
    report = {
        "kind": kind,
        "config": {name: value.name if isinstance(value, Path) else value for name, value in options.items()},
        "versions": package_versions("dialint", "numpy", "scipy"),
        "inputs": [file_entry(path) for path in inputs if path is not None],
        **figures(),
        "seconds": round(time.monotonic() - started, 1),
    }
    if out is not None:
        with disk_errors(out):
            make_output_folder(out.parent)
        write_manifest(out, report)
    return report


def load_workload(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> Workload:
    """The work of all labelers in a project or in the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    annotations = iterate_counted(store, actor, project, controls=True)
    workload = measure_workload(annotations, StoredDialogues(store), dialogue_codes(taxonomy))
    if not workload.answers.codes:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=project or Message("the store"))
    return workload


def load_tables(
    store: Store, actor: str, project: str | None, taxonomy: Taxonomy
) -> tuple[dict[str, Answers], dict[str, list[dict[str, tuple[Span, ...]]]]]:
    """The answers of a project or of the whole store by code, and for each question the spans that each
    reader marked.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    dialogues, annotations = StoredDialogues(store), iterate_counted(store, actor, project)
    answers = collect_answers(
        annotations, lambda name: DialogueContext.of(dialogues[name]), dialogue_codes(taxonomy)
    )
    if not answers.codes:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=project or Message("the store"))
    return answers.tables(), {code: list(each.votes.values()) for code, each in answers.codes.items()}
