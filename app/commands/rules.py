"""``dialint label rules``: the rules by which labelers are admitted, retrained and suspended."""

from __future__ import annotations

from cyclopts import App

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session

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
            (name, _number(getattr(in_force, name)), _number(field.default), field.description or "")
            for name, field in type(in_force).model_fields.items()
        ),
    )
    return 0


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


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
    from dialint.labeling.store.rater_status import Rules, get_rules
    from dialint.labeling.store.rater_status import set_rules as replace

    if not settings:
        raise ConfigError("E_OPTION", "expected RULE=VALUE; `dialint label rules show` lists all rules")
    changes = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in Rules.model_fields or name in changes:
            expected = "expected RULE=VALUE, each rule once; `dialint label rules show` lists all rules"
            raise ConfigError("E_OPTION", f"{setting[:80]!r}: {expected}")
        changes[name] = Rules.model_fields[name].default if value == "default" else value
        if value == "none":
            changes[name] = None
    with session.open() as (store, actor):
        before = get_rules(store, actor)
        try:
            after = Rules.model_validate({**before.model_dump(), **changes}, strict=False)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise ConfigError("E_OPTION", f"{where}{first['msg']}") from None
        if after != before:
            replace(store, actor, after)
    for name in changes:
        old, new = getattr(before, name), getattr(after, name)
        print_line(f"{name}: {_number(new)}" + (f", was {_number(old)}" if new != old else ", unchanged"))
    return 0
