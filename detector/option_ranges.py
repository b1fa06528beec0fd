"""Configs whose fields are options, with ranges declared on them as in a pydantic record.

    @command_options
    class RunConfig:
        rounds: Annotated[int, Field(ge=0)] = 1000
        confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9

The check holds for options of the command line and for configs made in Python alike. `check_names` is for
options whose values exist elsewhere, `option_changes` says in which options two jobs differ.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform, get_type_hints

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError, ValidationError

from dialint.detector.errors import ConfigError, DialintError

T = TypeVar("T")
COMPARISONS = (
    ("ge", operator.ge, "at least"),
    ("gt", operator.gt, "more than"),
    ("le", operator.le, "at most"),
    ("lt", operator.lt, "less than"),
)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def command_options(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass of keywords, each an option of the command that takes one, whose ranges
    are checked before its own ``__post_init__``."""
    own_check = vars(cls).get("__post_init__")

    def __post_init__(self: Any) -> None:
        check_ranges(self)
        if own_check is not None:
            own_check(self)

    cls.__post_init__ = __post_init__  # type: ignore[attr-defined]
    return Parameter(name="*")(dataclass(frozen=True, kw_only=True)(cls))


def check_names(option: str, names: Iterable[str], existing: Iterable[str]) -> None:
    """Check that all that an option names exists.

    Raises:
        ConfigError: E_OPTION, with the names that do not, and those that do.
    """
    valid = sorted(existing)
    if unknown := [name for name in names if name not in valid]:
        there = f"there are {', '.join(valid)}" if valid else "there is none yet"
        raise ConfigError("E_OPTION", f"{option} {' '.join(unknown)}: unknown; {there}")


def check_ranges(config: Any) -> None:
    """Check every field of a dataclass against the bounds in its annotation. None is within all bounds.

    Raises:
        ConfigError: E_OPTION, with the option's name and its range.
    """
    from pydantic.fields import FieldInfo

    hints = get_type_hints(type(config), include_extras=True)
    for option in fields(config):
        value, metadata = getattr(config, option.name), getattr(hints[option.name], "__metadata__", ())
        bounds = [
            (compare, getattr(bound, name), words)
            for info in metadata
            if isinstance(info, FieldInfo)
            for bound in info.metadata
            for name, compare, words in COMPARISONS
            if hasattr(bound, name)
        ]
        if value is not None and not all(compare(value, limit) for compare, limit, _ in bounds):
            expected = " and ".join(f"{words} {limit}" for _, limit, words in bounds)
            raise ConfigError("E_OPTION", f"--{option.name.replace('_', '-')}: expected {expected}")


def option_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the options in which two jobs differ, by their names on the command line, with both values."""
    first, second = (dict(_option_items(options)) for options in (before, now))
    names = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
    return [_change(name, first.get(name), second.get(name)) for name in names]


def _change(name: str, before: Any, now: Any) -> str:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        parts = sorted(part for part in {*before, *now} if before.get(part) != now.get(part))
        return f"{name} differs in {', '.join(parts)}"
    return f"{name} was {_value(before)}, is {_value(now)} now"


TYPED = {"read.format": "--input-format", "names": "the logs' names"}
"""Fields of a job's config whose option on the command line has another name."""


def _option_items(options: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, Mapping) and not group:
            yield from _option_items(value, f"{name}.")
        else:
            yield TYPED.get(f"{group}{name}", f"--{name.replace('_', '-')}"), value


def _value(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if value is None or text in ("", "None"):
        return "not given"
    return text if len(text) <= 40 else text[:39] + "…"


def run_script(command: Callable[..., Any], about: str) -> None:
    """Run a function as the one command of a script: an error becomes one line on standard error and an exit
    code."""
    app = App(help=about, error_formatter=format_usage_error)
    app.default(command)
    try:
        app(sys.argv[1:])
    except DialintError as error:
        print(f"dialint: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def format_usage_error(error: CycloptsError) -> NoReturn:
    """Formats the errors of every cyclopts app: a misspelt command line is one line, as any other error.

    Raises:
        ConfigError: E_OPTION; a value out of the range on its field in the words of `check_ranges`.
    """
    errors: object = getattr(error.__cause__, "errors", None)
    if isinstance(error, ValidationError) and error.argument is not None and callable(errors):
        reason = str(errors()[0]["msg"]).replace("Input should be", "expected")
        for long, short in (("greater than or equal to", "at least"), ("less than or equal to", "at most"),
                            ("greater than", "more than")):  # fmt: skip
            reason = reason.replace(long, short)
        raise ConfigError("E_OPTION", f"{error.argument.name}: {reason}")
    if isinstance(error, UnusedCliTokensError):
        reason = f"unexpected arguments: {' '.join(error.unused_tokens or ())}"
    else:
        words = re.sub(r'\A(?:Command "[^"]*" p|P)arameter ', "", " ".join(str(error).split()))
        words = re.sub(r"(?<!\.)\.\Z", "", words)
        reason = words[:1].lower() + words[1:]
    raise ConfigError("E_OPTION", "{reason}", reason=reason)
