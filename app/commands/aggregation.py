"""``dialint label aggregate|ask|adjudicate``: from many answers to one label.

``calibration`` and ``appeals`` start work for a group by a schedule; its answers are compared, and the
appeals decided, in the console.
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from dialint.app.output import print_line
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption, uses_files
from dialint.detector.errors import ConfigError
from dialint.labeling.adjudication.calibration_session import CalibrationConfig
from dialint.labeling.adjudication.cases import AdjudicateConfig
from dialint.labeling.aggregation.adaptive_overlap import OverlapConfig
from dialint.labeling.aggregation.aggregate import AggregateConfig
from dialint.labeling.aggregation.question_posteriors import StoreLabelsConfig

FILES, STORED = AggregateConfig(), StoreLabelsConfig()


def aggregate(
    *,
    config: AggregateConfig = FILES,
    settling: StoreLabelsConfig = STORED,
    everything: bool = False,
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Aggregate the answers of many people to one label a task, with its probability.

    From a crowd table into a file with --annotations and --out; from the store into its labels with --project
    or --everything, where the model counts as one more annotator.

    Parameters
    ----------
    everything
        Use all answers in the store.
    """
    if uses_files(settling.project, config.annotations, config.out):
        from dialint.labeling.aggregation.aggregate import aggregate as aggregate_files

        if everything:
            raise ConfigError("E_OPTION", "--everything is all answers in the store: name no file")
        aggregate_files(config)
        return 0
    if (settling.project is None) != everything:
        raise ConfigError(
            "E_OPTION", "name a table (--annotations, --out) or answers (--project, --everything)"
        )
    own = (config.model, config.gold) != (None, None) or config.last_wins
    if config.method != "joint" or config.soft != "truth" or own:
        raise ConfigError(
            "E_OPTION", "in the store the method is joint, with the model and gold that are there"
        )
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.aggregation.question_posteriors import aggregate_store

    with session.open() as (store, actor):
        summary = aggregate_store(store, actor, settling, load_taxonomy(taxonomy))
    print_line(
        f"{summary.labels:,} labels of {summary.questions:,} questions: {summary.sure:,} sure, "
        f"{summary.gold:,} known for certain, the model's word on {summary.with_model:,}"
    )
    return 0


def adjudicate(
    *,
    config: Annotated[AdjudicateConfig, Parameter(name="*")],
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Send unsettled questions to experts: those below a confidence, or on which people disagree."""
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.adjudication.cases import adjudicate as open_cases

    with session.open() as (store, actor):
        summary = open_cases(store, actor, config, load_taxonomy(taxonomy))
    print_line(
        f"{summary.questions:,} questions: {summary.unsure:,} below {config.sure:g}, people disagree on "
        f"{summary.disagree:,}; {summary.cases:,} turns for experts, {summary.added:,} of them new"
    )
    return 0


def ask(
    *,
    config: Annotated[OverlapConfig, Parameter(name="*")],
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Close tasks that are sure enough, and ask for one more answer where they are not."""
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.aggregation.adaptive_overlap import Decision, update_overlap

    with session.open() as (store, actor):
        summary = update_overlap(store, actor, config, load_taxonomy(taxonomy))
    print_line(
        f"{summary[Decision.STOP]:,} tasks are sure, {summary[Decision.ASK]:,} ask for one answer more, "
        f"{summary[Decision.GIVE_UP]:,} are for experts"
    )
    return 0


def calibration(
    *,
    config: Annotated[CalibrationConfig, Parameter(name="*")],
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Give the same dialogues, blind, to a group of people; the console shows the results."""
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.adjudication.calibration_session import start_session

    with session.open() as (store, actor):
        summary = start_session(store, actor, config, load_taxonomy(taxonomy))
    print_line(f"{config.name}: {summary.tasks} dialogues to {', '.join(summary.people)}")
    return 0


def appeals(into: str, *, session: Session = DEFAULT_SESSION) -> int:
    """Send every open appeal to a blind second review; experts decide afterwards.

    Parameters
    ----------
    into
        Review project that is not pre-labelled.
    """
    from dialint.labeling.store.appeals import list_open, list_stuck, open_second_reviews

    with session.open() as (store, actor):
        new = open_second_reviews(store, actor, into)
        n = len(list_open(store, actor, 1000))
        nobody = list_stuck(store, actor, into)
    print_line(f"{n} open appeals, {new} new tasks in {into}")
    for one in nobody:
        print_line(
            f"appeal {one.id}, dialogue {one.dialogue}: nobody is left to review it; all reviewers have a "
            "part in the dialogue or have seen what others say of it. A new one: dialint label account"
        )
    return 0
