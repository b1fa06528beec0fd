"""Bounds stand once, in the annotation of a config's field."""

from typing import Annotated, Any

import pytest
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import command_options


@command_options
class Config:
    rounds: Annotated[int, Field(ge=1)] = 5
    max_bad: Annotated[float, Parameter(name="--max-bad"), Field(ge=0, lt=1)] = 0.5
    limit: Annotated[int | None, Field(gt=2)] = None
    name: str = "x"

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("E_OPTION", "--name: expected a name")


def test_what_lies_within_is_accepted() -> None:
    Config(rounds=1, max_bad=0.0, limit=3)
    Config(limit=None)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"rounds": 0}, "--rounds: expected at least 1"),
        ({"max_bad": 1.0}, "--max-bad: expected at least 0 and less than 1"),
        ({"max_bad": float("nan")}, "--max-bad: expected at least 0 and less than 1"),
        ({"limit": 2}, "--limit: expected more than 2"),
        ({"name": ""}, "--name: expected a name"),
    ],
)
def test_what_lies_outside_is_refused_by_name(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Config(**option)
    assert refused.value.code == "E_OPTION"
    assert refused.value.message == message
