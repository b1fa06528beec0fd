"""``dialint import logs|verdicts|labels``; ``export labels|dataset|annotations|scores|traces|published``.

Between files and the store; labels and datasets also from files to files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from dialint.app.output import print_line
from dialint.app.store_session import DEFAULT_SESSION, Session, uses_files
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.progress import progress
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.exchange.import_labels import ImportConfig

if TYPE_CHECKING:
    from dialint.labeling.exchange.import_labels import Rejects

READ = ReadConfig()
Masked = Annotated[bool, Parameter(negative="--no-masked")]
Quiet = Annotated[bool, Parameter(help="Show no progress.")]

import_ = App(name="import", help="Import logs, verdicts and labels into the store.")
export = App(name="export", help="Export labels, annotations and datasets for other tools.")
export.command(
    "dialint.labeling.exchange.export_labels:export_labels",
    name="labels",
    help="Write tasks or answers for Label Studio, Toloka, Prodigy, doccano, Argilla or a crowd table.",
)


@contextmanager
def collect_rejects(path: Path | None) -> Iterator[Rejects]:
    """Collects rejects, in a file if there is a `path`; at the end prints the first ones, also if too many of
    them stopped the job."""
    from dialint.detector.artifacts import require_new_files
    from dialint.labeling.exchange.import_labels import open_rejects

    require_new_files(path)
    with open_rejects(path) as rejects:
        try:
            yield rejects
        finally:
            for code, n in rejects.codes.most_common():
                print_line(f"rejected, {code}: {n}")
            for reject in rejects.first:
                where = ", ".join(filter(None, (reject.file, f"line {reject.line}", reject.path)))
                print_line(f"{where}: {reject.code}, {reject.found}; expected {reject.expected}")
            if path is None and (more := rejects.codes.total() - len(rejects.first)):
                print_line(f"and {more} more; --rejects FILE keeps them all")


@import_.command(name="logs")
def import_logs(
    *files: str,
    session: Session = DEFAULT_SESSION,
    rejects: Path | None = None,
    read: Annotated[ReadConfig, Parameter(name="*")] = READ,
    quiet: Quiet = False,
) -> int:
    """Import the dialogues of logs into the store; the same logs again add nothing.

    Parameters
    ----------
    files
        Logs, or patterns.
    rejects
        File (.jsonl) for rejected records, with their location and the reason; must not exist.
    """
    from dialint.labeling.exchange.store_transfer import import_logs as load_logs

    with session.open() as (store, actor), collect_rejects(rejects) as collected:
        with progress("importing", quiet=quiet) as report:
            imported = load_logs(store, actor, files, read, report, collected)
        n_bad = collected.codes.total()
        print_line(f"{imported.new} dialogues new, {imported.existing} known, {n_bad} rejected")
    return 0


@import_.command(name="verdicts")
def import_verdicts(
    file: Path, *, session: Session = DEFAULT_SESSION, release_name: str | None = None, quiet: Quiet = False
) -> int:
    """Import the verdicts of `dialint score` into the store; their dialogues must be there.

    Parameters
    ----------
    file
        A finished output of `dialint score`, its manifest beside it.
    release_name
        Name that stands in the store for the verdicts' release. The store keeps one verdict by dialogue and
        release: what the same release found with a judge, other thresholds or another policy needs another
        name.
    """
    from dialint.labeling.exchange.store_transfer import import_verdicts as load_verdicts

    with session.open() as (store, actor), progress("importing", "verdicts", quiet=quiet) as report:
        imported = load_verdicts(store, actor, file, report, release_name)
    print_line(f"{imported.new} verdicts new, {imported.existing} known")
    return 0


@import_.command(name="labels")
def import_labels_command(
    *,
    config: ImportConfig,
    session: Session = DEFAULT_SESSION,
    source: str = "import",
    project: str | None = None,
    rejects: Path | None = None,
    quiet: Quiet = False,
) -> int:
    """Import labels of Label Studio, Toloka, Prodigy, doccano, Argilla, a crowd table or our own format.

    With --out they are written to a file, with its rejects beside it; otherwise they are imported into the
    store and checked against its dialogues, accounts and answers. Only an admin imports in the name of
    others.

    Parameters
    ----------
    source
        Where labels for the store are from; makes their ids unique.
    project
        Project in the store that the answers belong to; its codes are the questions.
    rejects
        File (.jsonl) for rejected labels, with their location and the reason; must not exist.
    """
    if uses_files(project, config.out):
        from dialint.labeling.exchange.import_labels import import_labels

        if rejects is not None:
            raise ConfigError("E_OPTION", "--rejects: a file of labels has its rejects beside it")
        import_labels(config)
        return 0
    from dialint.labeling.exchange.store_transfer import import_labels as load_labels

    with session.open() as (store, actor), collect_rejects(rejects) as collected:
        with progress("importing", "annotations", quiet=quiet) as report:
            imported = load_labels(store, actor, config, source, report, project=project, rejects=collected)
        n_bad = collected.codes.total()
        print_line(f"{imported.new} annotations new, {imported.existing} known, {n_bad} rejected")
        for reason, n in imported.left_out.items():
            print_line(f"left out, {reason}: {n}")
    return 0


@export.command(name="annotations")
def export_annotations_command(
    out: Path, *, project: str | None = None, masked: Masked = True, session: Session = DEFAULT_SESSION
) -> int:
    """Write the annotations in the store as JSON lines: the newest version of each, without banned accounts.

    Answers to training, exam and control tasks are left out, as labels are made without them.

    Personal data in quotes and reasons are masked, and offsets refer to the masked text; --no-masked, as for
    another store with the same dialogues, requires a lead.

    Parameters
    ----------
    out
        File to write (.jsonl); must not exist.
    project
        Answers of this project only.
    masked
        Personal data as placeholders.
    """
    from dialint.labeling.exchange.store_transfer import export_annotations

    with session.open() as (store, actor):
        manifest = export_annotations(store, actor, out, project, masked=masked)
    print_line(f"{out}: {manifest['files'][0]['rows']} annotations")
    return 0


@export.command(name="scores")
def export_scores_command(out: Path, *, session: Session = DEFAULT_SESSION) -> int:
    """Write the score of every dialogue, by the model and by people's decisions, as JSON lines.

    For `dialint report --scores` and for tables of your own; without any text of a dialogue. Needs the rights
    of a lead.

    Parameters
    ----------
    out
        File to write (.jsonl); must not exist.
    """
    from dialint.labeling.exchange.store_transfer import export_scores

    with session.open() as (store, actor):
        manifest = export_scores(store, actor, out)
    print_line(f"{out}: {manifest['files'][0]['rows']} dialogues")
    return 0


@export.command(name="traces")
def export_traces(verdicts: Path, *logs: str, to: Literal["langfuse", "phoenix"], out: Path) -> int:
    """Write the findings in traces as the bodies of requests that give them back to Langfuse or Phoenix.

    Parameters
    ----------
    verdicts
        A finished output of `dialint score`.
    logs
        The traces that were scored.
    to
        langfuse: for POST /api/public/scores; phoenix: for POST /v1/span_annotations.
    out
        File to write (.jsonl), one body a line; must not exist.
    """
    from dialint.app.reporting.trace_scores import list_bodies
    from dialint.detector.artifacts import atomic_file, require_new_files

    require_new_files(out)
    n = n_lost = 0
    with atomic_file(out) as file:
        for body in list_bodies(verdicts, logs, to):
            n, n_lost = n + (body is not None), n_lost + (body is None)
            if body is not None:
                file.write(json.dumps(body, ensure_ascii=False).encode() + b"\n")
    print_line(
        f"{out}: {n} requests" + (f"; {n_lost} findings stand in no span of the logs" if n_lost else "")
    )
    return 0


@export.command(name="dataset")
def export_dataset_command(
    *, config: DatasetConfig, project: str | None = None, session: Session = DEFAULT_SESSION
) -> int:
    """Make a dataset of annotations: examples with soft labels, preference pairs, splits and lineage.

    From files, if --dialogues and --annotations are named, else from the store. Personal data are masked;
    --no-masked requires a lead. All files are for you only (mode 0600).

    Parameters
    ----------
    project
        Answers of this project only; from the store.
    """
    from dialint.labeling.dataset.splits import MIN_KEY_CHARS, split_key

    config = replace(config, key=split_key(config.key_file), key_file=None)
    if len(config.key) < MIN_KEY_CHARS:
        print_line("the split key is short: who has the dataset may guess it; --key-file makes a random one")
    if uses_files(project, config.dialogues, config.annotations):
        from dialint.labeling.dataset.export import export_dataset

        export_dataset(config)
        return 0
    from dialint.labeling.dataset.export import print_summary
    from dialint.labeling.exchange.store_transfer import export_dataset as export_stored

    with session.open() as (store, actor):
        print_summary(export_stored(store, actor, config, project))
    return 0


@export.command(name="published")
def export_published(out: Path, *, session: Session = DEFAULT_SESSION) -> int:
    """Write the published taxonomy and policies as files for `dialint score`, and print its options.

    Needs the rights of a lead. Nothing is published until a lead does so on the page "Taxonomy and policies".

    Parameters
    ----------
    out
        Folder to write to; must not exist.
    """
    from dialint.detector.artifacts import atomic_file, make_output_folder, require_new_files
    from dialint.labeling.store.documents import load_published

    require_new_files(out)
    with session.open() as (store, actor):
        taxonomy = load_published(store, actor, "taxonomy")
        policies = load_published(store, actor, "policy")
    if not taxonomy and not policies:
        raise ConfigError("E_NO_RECORDS", "nothing is published; score uses the packaged taxonomy")
    make_output_folder(out)
    options = []
    for option, texts in (("--taxonomy", taxonomy), ("--policy", policies)):
        for name, text in texts.items():
            path = out / (f"{name}.yaml" if option == "--taxonomy" else f"policy-{name}.yaml")
            with atomic_file(path) as file:
                file.write(text.encode())
            options.append(f"{option} {path}")
    print_line(f"dialint score LOG {' '.join(options)}")
    return 0
