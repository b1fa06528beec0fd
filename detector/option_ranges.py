"""Ranges of options, declared on the fields of a config as in a pydantic record.

    @dataclass(frozen=True, kw_only=True)
    class RunConfig:
        rounds: Annotated[int, Field(ge=0)] = 1000
        confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9

        def __post_init__(self) -> None:
            check_ranges(self)

The check holds for options of the command line and for configs made in Python alike.
"""

from __future__ import annotations

import operator
import re
from dataclasses import fields
from typing import Any, NoReturn, get_type_hints

from cyclopts import CycloptsError, UnusedCliTokensError, ValidationError
from pydantic.fields import FieldInfo

from dialint.detector.errors import ConfigError

COMPARISONS = (
    ("ge", operator.ge, "at least"),
    ("gt", operator.gt, "more than"),
    ("le", operator.le, "at most"),
    ("lt", operator.lt, "less than"),
)


def check_ranges(config: Any) -> None:
    """Check every field of a dataclass against the bounds in its annotation. None is within all bounds.

    Raises:
        ConfigError: E_OPTION, with the option's name and its range.
    """
    hints = get_type_hints(type(config), include_extras=True)
    for field in fields(config):
        value, metadata = getattr(config, field.name), getattr(hints[field.name], "__metadata__", ())
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
            raise ConfigError("E_OPTION", f"--{field.name.replace('_', '-')}: expected {expected}")


def format_usage_error(error: CycloptsError) -> NoReturn:
    """Return the error formatter of every cyclopts app: a misspelt command line is one line, as any other
    error.

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
