"""``dialint label project create``, ``plan``, ``route``, ``demote`` and ``status``: projects, their tasks and
their progress; ``aggregate``, ``ask`` and ``adjudicate``: labels of many answers.

``calibration`` and ``appeals`` create scheduled tasks for a group; results are compared, and appeals decided,
in the console.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from pydantic import ValidationError

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption, uses_files
from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import command_options
from dialint.labeling.adjudication.calibration_session import CalibrationConfig
from dialint.labeling.adjudication.cases import AdjudicateConfig
from dialint.labeling.aggregation.adaptive_overlap import OverlapConfig
from dialint.labeling.aggregation.aggregate import AggregateConfig
from dialint.labeling.aggregation.question_posteriors import StoreLabelsConfig
from dialint.labeling.exchange.demotion import DemoteConfig
from dialint.labeling.queue.dispatch import RouteConfig
from dialint.labeling.queue.sampling import SamplingConfig
from dialint.labeling.store.records import Project, Purpose, TaskState

COUNTS: tuple[TaskState, ...] = ("open", "full", "done")
FILES, STORED = AggregateConfig(), StoreLabelsConfig()
project = App(name="project", help="Create projects; the console (Admin, Projects) closes and opens them.")


@command_options
class ProjectConfig:
    """The questions of a project and who may answer them."""

    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Codes or categories to label."""
    purpose: Purpose = "label"
    """label: people annotate. review: reviewers confirm. adjudication: experts decide. calibration: a whole
    group answers the same items."""
    prelabelled: bool = False
    """Show the model's verdict; without it annotation is blind."""
    masked: Annotated[bool, Parameter(negative="--no-masked")] = True
    """Show personal data as placeholders to people who may not review."""
    instructions: Path | None = None
    """File with the instructions for labelers."""
    overlap: int = 1
    """Answers required of each task."""
    most: int | None = None
    """Maximum of answers that adaptive overlap may ask for; 5, or --overlap if that is more."""
    skills: Annotated[tuple[str, ...], Parameter(name="--skill")] = ()
    """Skills that an account needs."""
    fair_share: float | None = None
    """Largest share of the answers that one account may give."""
    control_share: float = 0.0
    """Share of control tasks among the tasks people get."""
    lease_s: int = 900
    """Seconds for which a task is leased to one person."""
    deadline: datetime | None = None
    """End of the work (UTC, if no time zone is named)."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def project(self, name: str) -> Project:
        """Returns the project with these options and that name.

        Raises:
            ConfigError: an unknown code, unreadable instructions, or an invalid option.
        """
        from dialint.detector.taxonomy import load_taxonomy

        values = {**vars(self), "id": name}
        taxonomy = load_taxonomy(values.pop("taxonomy"))
        values["codes"] = taxonomy.select_codes(self.codes)
        values["most"] = max(5, self.overlap) if self.most is None else self.most
        if self.deadline is not None and self.deadline.tzinfo is None:
            values["deadline"] = self.deadline.replace(tzinfo=UTC)
        try:
            values["instructions"] = "" if self.instructions is None else self.instructions.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("E_PATH", f"{self.instructions}: {type(error).__name__}") from None
        try:
            return Project(**values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            option = ".".join(str(part) for part in first["loc"]).replace("_", "-")
            raise ConfigError("E_OPTION", f"--{option}: {first['msg']}") from None


@project.command(name="create")
def create_project(name: str, *, config: ProjectConfig, session: Session = DEFAULT_SESSION) -> int:
    """Create a project, open for work; the same one again changes nothing.

    Parameters
    ----------
    name
        What it is called.
    """
    from dialint.labeling.store import projects
    from dialint.labeling.store.gold import has_gold

    with session.open() as (store, actor):
        if config.control_share and not store.read(has_gold):
            raise ConfigError(
                "E_GOLD",
                "--control-share: there is no gold in the store, so there is nothing to control with. Import "
                "some first (`dialint label gold import`) or let experts settle tasks "
                "(`dialint label adjudicate`)",
            )
        new = projects.create(store, actor, config.project(name))
    print_line(f"{new.id}: {new.purpose}, {len(new.codes)} codes, {new.overlap} answers a task")
    return 0


def plan(
    *, config: Annotated[SamplingConfig, Parameter(name="*")], session: Session = DEFAULT_SESSION
) -> int:
    """Sample tasks for a project by a stated design, each with its inclusion probability."""
    from dialint.labeling.queue.sampling import sample_tasks
    from dialint.labeling.store.tasks import mix_in_gold

    with session.open() as (store, actor):
        n_control = 0 if config.pool != "main" else mix_in_gold(store, actor, config.project)
        n = sample_tasks(store, actor, config)
    control = f"; {n_control} control tasks" if n_control else ""
    print_line(f"{config.project}: {n} tasks, {config.design}{control}")
    return 0


def route(*, config: Annotated[RouteConfig, Parameter(name="*")], session: Session = DEFAULT_SESSION) -> int:
    """Turn the day's verdicts into tasks: review, crowd or audit, within the day's budget.

    By default no finding is accepted unseen. A policy may accept findings of S3 and S4 by probability
    (`accept_at`), and of S1 and S2 by code and severity (`accept_unseen`).
    """
    from dialint.labeling.queue.dispatch import dispatch
    from dialint.labeling.store.tasks import mix_in_gold

    with session.open() as (store, actor):
        if not config.dry_run:
            mix_in_gold(store, actor, config.label)
        summary = dispatch(store, actor, config)
    rows = []
    for name, n in sorted(summary.routes.items()):
        routed = [each for each in summary.routed if each.route == name]
        minutes, value = sum(each.minutes for each in routed), sum(each.value for each in routed)
        rows.append((name, f"{n:,}", f"{minutes:,.0f}", f"{value:,.1f}"))
    print_table(("fate", "dialogues", "minutes", "expected value"), rows)
    print_line(
        f"{summary.routes['clean']:,} dialogues without a finding; {summary.routes['accept']:,} with "
        f"{summary.accepted:,} findings accepted unseen, by the policy"
    )
    if summary.unasked:
        codes = ", ".join(f"{code} {n:,}" for code, n in sorted(summary.unasked.items()))
        print_line(
            f"found in codes that {config.review} and {config.label} do not ask of, so nobody is sent: "
            f"{codes} (dialogues)"
        )
    print_line(
        f"{summary.day}: {summary.minutes:.0f} of {summary.budget_minutes:.0f} minutes, "
        + ("nothing given out (dry run)" if config.dry_run else f"{summary.added} new tasks")
    )
    return 0


def demote(
    *, config: Annotated[DemoteConfig, Parameter(name="*")] | None = None, session: Session = DEFAULT_SESSION
) -> int:
    """Demote the codes that reviewers seldom confirm: `dialint score --overrides` then only suggests them."""
    from dialint.labeling.exchange.demotion import demote as demote_codes

    config = config or DemoteConfig()
    with session.open() as (store, actor):
        counts = demote_codes(store, actor, config)
    rows = []
    for release, codes in counts.items():
        demoted = config.select_demoted(release, codes)
        for code, each in codes.items():
            kind = "suggestion" if code in demoted else "finding"
            share, upper = each.confirmed / each.answered, each.upper(config.confidence)
            shares = (f"{100 * share:.0f} %", f"{100 * upper:.0f} %")
            figures = (f"{each.answered:,}", f"{each.confirmed:,}", *shares)
            rows.append((release, code, *figures, kind))
    print_table(("release", "code", "answered", "confirmed", "share", "at most", "from now on"), rows)
    if config.overrides is not None:
        print_line(f"{config.overrides}: dialint score LOG --overrides {config.overrides}")
    return 0


def status(name: str | None = None, *, session: Session = DEFAULT_SESSION) -> int:
    """Show the progress of projects, or of one of them by pool.

    Parameters
    ----------
    name
        One project; all without it.
    """
    from dialint.labeling.store import projects
    from dialint.labeling.store.tasks import count_tasks

    rows = []
    with session.open() as (store, actor):
        listed = [pair for pair in projects.list_projects(store, actor) if name in (None, pair[0].id)]
        if name is not None and not listed:
            store.read(lambda transaction: projects.get_project(transaction, name))
        for one, state in listed:
            n_answers = projects.count_annotations(store, actor, one.id)  # including imported ones
            deadline = one.deadline.strftime("%Y-%m-%d %H:%M") if one.deadline else "-"
            for pool, counts in count_tasks(store, actor, one.id).items():
                total = sum(n for key, n in counts.items() if key != "withdrawn")
                if total or pool == "main":
                    progress = f"{100 * counts['done'] / total:.0f} %" if total else "-"
                    numbers = (f"{counts[key]:,}" for key in COUNTS)
                    answers = f"{n_answers:,}" if pool == "main" else ""
                    rows.append((one.id, one.purpose, state, pool, *numbers, progress, answers, deadline))
    headings = ("project", "purpose", "state", "pool", *COUNTS, "progress", "answers", "deadline")
    print_table(headings, rows)
    return 0


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
    from dialint.labeling.aggregation.adaptive_overlap import NextStep, update_overlap

    with session.open() as (store, actor):
        summary = update_overlap(store, actor, config, load_taxonomy(taxonomy))
    print_line(
        f"{summary[NextStep.STOP]:,} tasks are sure, {summary[NextStep.ASK]:,} ask for one answer more, "
        f"{summary[NextStep.GIVE_UP]:,} are for experts"
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
        stuck = list_stuck(store, actor, into)
    print_line(f"{n} open appeals, {new} new tasks in {into}")
    for one in stuck:
        print_line(
            f"appeal {one.id}, dialogue {one.dialogue}: nobody is left to review it; all reviewers have a "
            "part in the dialogue or have seen what others say of it. A new one: dialint label account"
        )
    return 0
