"""``dialint label account create|evaluate|password`` and ``rules``: bootstrap and scheduled work on accounts,
and the rules by which labelers are admitted, retrained and suspended.

Who there is, roles, skills, suspensions and bans: in the console (Admin, Users).
"""

from __future__ import annotations

from cyclopts import App

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, one_time_password
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
    if role == "admin" and session.account in (None, "", name):  # nobody makes themselves, but the first
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
    from dialint.labeling.store.rater_status import Rules

    if not settings:
        raise ConfigError("E_OPTION", "expected RULE=VALUE; `dialint label rules show` lists all rules")
    changes = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in Rules.model_fields or name in changes:
            expected = "expected RULE=VALUE, each rule once; `dialint label rules show` lists all rules"
            raise ConfigError("E_OPTION", f"{setting[:80]!r}: {expected}")
        changes[name] = Rules.model_fields[name].default if value == "default" else value
    with session.open() as (store, actor):
        before = rater_status.get_rules(store, actor)
        try:
            after = Rules.model_validate({**before.model_dump(), **changes}, strict=False)
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
