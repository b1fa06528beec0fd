"""What a search may choose: options of a stage and their values, as they are written on the command line.

``learning_rate=1e-5..1e-3:log`` is a range (whole numbers where both ends are), ``rank=4,8,16`` a choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

_RANGE = re.compile(r"\A(?P<low>[^,]{1,80}?)\.\.(?P<high>[^,]{1,80}?)(?P<log>:log)?")


def space_of(texts: Sequence[str]) -> dict[str, BaseDistribution]:
    """The values of each option by its name, in the order given.

    Raises:
        ConfigError: E_OPTION, one cannot be read, or stands twice.
    """
    space: dict[str, BaseDistribution] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not name or not values or name in space:
            raise ConfigError("E_OPTION", f"--space {text!r}: expected an option once, as in rank=4,8,16")
        space[name] = _values(text, values)
    if not space:
        raise ConfigError("E_OPTION", "--space must name an option to search over, as in rank=4,8,16")
    return space


def _values(text: str, values: str) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found = _RANGE.fullmatch(values)
    if found is None:
        return CategoricalDistribution([value.strip() for value in values.split(",")])
    low, high, log = found["low"], found["high"], found["log"] is not None
    whole = all(re.fullmatch(r"\A\s*+[+-]?\d++\s*+", end) for end in (low, high))
    try:
        if whole:
            return IntDistribution(int(low), int(high), log)
        if math.isfinite(float(high) - float(low)):
            return FloatDistribution(float(low), float(high), log)
    except ValueError:
        pass
    expected = "low..high, above 0 for :log, as in learning_rate=1e-5..1e-3:log"
    raise ConfigError("E_OPTION", f"--space {text!r}: expected {expected}")


def options_of(values: Mapping[str, Any]) -> list[str]:
    """Chosen values as a command line has them."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
