"""``dialint label account`` and ``rules``: bootstrap and scheduled work on accounts; ``gold``; ``agreement``,
``watch`` and ``quality``: figures on answers, from files or from a store.

Roles, skills, suspensions and bans are managed in the console (Admin, Users), as are existing gold, its
review, retirement and exams (Admin, Gold).
"""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption, one_time_password, uses_files
from dialint.labeling.raters import reports
from dialint.labeling.store import accounts
from dialint.labeling.store.records import AccountRole, Status

account = App(name="account", help="Create accounts, and apply the rules for their status.")


@account.command(name="create")
def create_account(
    name: str,
    *,
    role: AccountRole,
    skill: tuple[str, ...] = (),
    agent: str | None = None,
    training: bool = False,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Create an account and print its one-time password. The first account of a store is an admin, and needs
    no --as.

    Parameters
    ----------
    name
        Name to sign in with.
    role
        labeler, reviewer, expert, lead or admin; each may do all that the ones before it may.
    skill
        A skill of the person; projects may require it.
    agent
        The person's id in dialogues, if they are an agent: they may appeal, and never review themselves.
    training
        Start in training: training and qualification tasks only.
    """
    from dialint.labeling.store.api import Store
    from dialint.labeling.store.records import Account

    password = one_time_password()
    status: Status = "training" if training else "active"
    new = Account(id=name, role=role, status=status, skills=skill, agent=agent)
    if role == "admin" and session.account in (None, "", name):  # the first account creates itself
        with Store.open(session.config.store, interface="command line") as store:
            accounts.create_first(store, name, password)
    else:
        with session.open() as (store, actor):
            accounts.create(store, actor, new, password)
    print_line(f"{name} ({role}), password for one sign-in: {password}")
    return 0


@account.command(name="evaluate")
def evaluate_accounts(*, apply: bool = False, session: Session = DEFAULT_SESSION) -> int:
    """Evaluate labelers by the rules: accuracy on control tasks, and the action (admit, retrain, suspend).

    Parameters
    ----------
    apply
        Apply the actions; otherwise they are only printed.
    """
    from dialint.labeling.store import rater_status

    with session.open() as (store, actor):
        measures = (
            rater_status.apply_rules(store, actor) if apply else rater_status.evaluate_status(store, actor)
        )
    for one in measures:
        print_line(f"{one.account} ({one.status}): {one.does}; {one.why}")
    if apply or not measures:
        print_line(f"{len(measures):,} accounts {'changed' if apply else 'to look at'}")
    return 0


@account.command(name="password")
def renew_password(name: str, *, session: Session = DEFAULT_SESSION) -> int:
    """Give an account a new one-time password and print it.

    Parameters
    ----------
    name
        The account.
    """
    password = one_time_password()
    with session.open() as (store, actor):
        accounts.set_password(store, actor, name, password)
    print_line(f"{name}, password for one sign-in: {password}")
    return 0


rules = App(name="rules", help="Show and set the rules for the status of labelers.")


@rules.command(name="show")
def show_rules(*, session: Session = DEFAULT_SESSION) -> int:
    """Show the rules in force, with what each means. `dialint label account evaluate` applies them."""
    from dialint.labeling.store.rater_status import get_rules

    with session.open() as (store, actor):
        in_force = get_rules(store, actor)
    print_table(
        ("rule", "value", "default", "meaning"),
        (
            (name, f"{getattr(in_force, name):g}", f"{field.default:g}", field.description or "")
            for name, field in type(in_force).model_fields.items()
        ),
    )
    return 0


@rules.command(name="set")
def set_rules(*settings: str, session: Session = DEFAULT_SESSION) -> int:
    """Change rules, such as ``retrain_below=0.7 least=20``; the others stay as they are.

    Parameters
    ----------
    settings
        RULE=VALUE; the value default sets a rule back. dialint label rules show lists all.
    """
    from pydantic import ValidationError

    from dialint.detector.errors import ConfigError
    from dialint.labeling.store import rater_status
    from dialint.labeling.store.rater_status import RaterRules

    if not settings:
        raise ConfigError("E_OPTION", "expected RULE=VALUE; `dialint label rules show` lists all rules")
    changes = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in RaterRules.model_fields or name in changes:
            expected = "expected RULE=VALUE, each rule once; `dialint label rules show` lists all rules"
            raise ConfigError("E_OPTION", f"{setting[:80]!r}: {expected}")
        changes[name] = RaterRules.model_fields[name].default if value == "default" else value
    with session.open() as (store, actor):
        before = rater_status.get_rules(store, actor)
        try:
            after = RaterRules.model_validate({**before.model_dump(), **changes}, strict=False)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise ConfigError("E_OPTION", f"{where}{first['msg']}") from None
        if after != before:
            rater_status.set_rules(store, actor, after)
    for name in changes:
        old, new = getattr(before, name), getattr(after, name)
        print_line(f"{name}: {new:g}" + (f", was {old:g}" if new != old else ", unchanged"))
    return 0


AGREEMENT, WATCH, QUALITY = reports.AgreementConfig(), reports.AnomalyConfig(), reports.QualityConfig()


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
    config: reports.AnomalyConfig = WATCH,
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
