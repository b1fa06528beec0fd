"""``dialint label gold|agreement|watch|quality``: gold, and figures of the people who gave the answers, from
files or from a store.

What gold there is, doubts, retirements and exams: in the console (Admin, Gold).
"""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption, uses_files
from dialint.labeling.raters import reports

AGREEMENT, WATCH, QUALITY = reports.AgreementConfig(), reports.WatchConfig(), reports.QualityConfig()


def agreement(
    *,
    config: reports.AgreementConfig = AGREEMENT,
    project: str | None = None,
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Measure inter-annotator agreement: alpha, kappas, agreement on each label and the human ceiling; and
    whether the model may stand in for a labeler, by the alternative annotator test.

    Of a crowd table with --annotations, else of the store, where evidence spans are compared as well.

    Parameters
    ----------
    project
        Answers of this project only; of the store.
    """
    if uses_files(project, config.annotations, config.model):
        report = reports.agreement(config)
    else:
        from dialint.detector.taxonomy import load_taxonomy

        with session.open() as (store, actor):
            report = reports.agreement(
                config, lambda: reports.load_tables(store, actor, project, load_taxonomy(taxonomy))
            )
    headings, *lines = reports.agreement_rows(report)
    print_table(headings, lines)
    return 0


def watch(
    *,
    config: reports.WatchConfig = WATCH,
    project: str | None = None,
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Detect workers who guess, answer too fast, or copy from one another.

    In a crowd table with --annotations, else in the store.

    Parameters
    ----------
    project
        Answers of this project only; of the store.
    """
    if uses_files(project, config.annotations):
        report = reports.watch(config)
    else:
        from dialint.detector.taxonomy import load_taxonomy

        with session.open() as (store, actor):
            report = reports.watch(
                config, lambda: reports.load_workload(store, actor, project, load_taxonomy(taxonomy)).crowd()
            )
    headings, *flags = reports.flag_rows(report)
    if flags:
        print_table(headings, flags)
    print_line(f"{len(flags)} flags on {len(report['workers'])} workers")
    return 0


def quality(
    *, config: reports.QualityConfig = QUALITY, project: str | None = None, session: Session = DEFAULT_SESSION
) -> int:
    """Report on each labeler: accuracy, bias, speed and what is suspicious.

    From files, if --annotations and --dialogues are named, else of the store and its gold.

    Parameters
    ----------
    project
        Answers of this project only; of the store.
    """
    if uses_files(project, config.annotations, config.dialogues, config.gold):
        report = reports.measure(config)
    else:
        from dialint.labeling.raters.people import load_annotations

        with session.open() as (store, actor):
            report = reports.measure(config, lambda: load_annotations(store, actor, project))
    for headings, *lines in (
        reports.labeler_rows(report),
        reports.code_rows(report),
        reports.flag_rows(report),
    ):
        if lines:
            print_table(headings, lines)
    print_line(f"{len(report['labelers'])} labelers, {report['answers']} answers")
    return 0


gold = App(name="gold", help="Import gold.")


@gold.command(name="import")
def import_gold_file(
    file: Path, *, replace: bool = False, taxonomy: TaxonomyOption = None, session: Session = DEFAULT_SESSION
) -> int:
    """Import gold from a table (JSONL, CSV, TSV or Parquet); the same file again changes nothing.

    One row for each dialogue, turn and code: dialogue_id, turn (its index in the input), code, present (true
    or false, yes or no) and, if you like, reason. The dialogues must be in the store. Needs the rights of an
    expert.

    Parameters
    ----------
    file
        The table.
    replace
        Overwrite gold that says otherwise; without it such a file is refused.
    """
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.store.gold import import_gold, read_gold_file

    rows = read_gold_file(file, load_taxonomy(taxonomy))
    with session.open() as (store, actor):
        counts = import_gold(store, actor, rows, replace=replace)
    print_line(
        f"{counts.new:,} rows of gold new, {counts.replaced:,} replaced, {counts.unchanged:,} unchanged"
    )
    return 0


@gold.command(name="synthetic")
def import_synthetic(file: Path, *, project: str | None = None, session: Session = DEFAULT_SESSION) -> int:
    """Import examples with made errors, and their clean twins, as dialogues with gold.

    Nobody gets to see both an example and its twin. Dialogues without an error that are no twin are left
    out. The same file again changes nothing.

    Parameters
    ----------
    file
        The examples.jsonl of dialint data inject.
    project
        Make them control tasks of this project.
    """
    from dialint.detector.example_files import read_examples
    from dialint.labeling.store import gold as store_gold

    with session.open() as (store, actor):
        names = store_gold.import_synthetic(store, actor, read_examples(file), project)
    print_line(f"{len(names):,} dialogues with gold" + (f", control tasks of {project}" if project else ""))
    return 0
