"""``dialint label agreement|watch|quality``: figures of the people who gave the answers.

From files, or from the answers in a store.
"""

from __future__ import annotations

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption, uses_files
from dialint.labeling.raters.agreement_report import AgreementConfig
from dialint.labeling.raters.labeler_reports import QualityConfig, WatchConfig

AGREEMENT, WATCH, QUALITY = AgreementConfig(), WatchConfig(), QualityConfig()


def agreement(
    *,
    config: AgreementConfig = AGREEMENT,
    project: str | None = None,
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Measure inter-annotator agreement: alpha, kappas, agreement on each label and the human ceiling.

    Of a crowd table with --annotations, else of the store, where evidence spans are compared as well.

    Parameters
    ----------
    project
        Answers of this project only; of the store.
    """
    from dialint.labeling.raters.agreement_report import rows, run

    if uses_files(project, config.annotations):
        report = run(config)
    else:
        from dialint.detector.taxonomy import load_taxonomy
        from dialint.labeling.raters.reports import load_tables

        with session.open() as (store, actor):
            report = run(config, lambda: load_tables(store, actor, project, load_taxonomy(taxonomy)))
    headings, *lines = rows(report)
    print_table(headings, lines)
    return 0


def watch(
    *,
    config: WatchConfig = WATCH,
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
    from dialint.labeling.raters import labeler_reports

    if uses_files(project, config.annotations):
        report = labeler_reports.watch(config)
    else:
        from dialint.detector.taxonomy import load_taxonomy
        from dialint.labeling.raters.reports import load_workload

        with session.open() as (store, actor):
            report = labeler_reports.watch(
                config, lambda: load_workload(store, actor, project, load_taxonomy(taxonomy)).crowd()
            )
    headings, *flags = labeler_reports.flag_rows(report)
    if flags:
        print_table(headings, flags)
    print_line(f"{len(flags)} flags on {len(report['workers'])} workers")
    return 0


def quality(
    *, config: QualityConfig = QUALITY, project: str | None = None, session: Session = DEFAULT_SESSION
) -> int:
    """Report on each labeler: accuracy, bias, speed and what is suspicious.

    From files, if --annotations and --dialogues are named, else of the store and its gold.

    Parameters
    ----------
    project
        Answers of this project only; of the store.
    """
    from dialint.labeling.raters.labeler_reports import code_rows, flag_rows, labeler_rows, measure

    if uses_files(project, config.annotations, config.dialogues, config.gold):
        report = measure(config)
    else:
        from dialint.labeling.raters.people import load_annotations

        with session.open() as (store, actor):
            report = measure(config, lambda: load_annotations(store, actor, project))
    for headings, *lines in (labeler_rows(report), code_rows(report), flag_rows(report)):
        if lines:
            print_table(headings, lines)
    print_line(f"{len(report['labelers'])} labelers, {report['answers']} answers")
    return 0
