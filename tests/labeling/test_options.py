"""No option of the rooms of labels takes NaN for a number: it would pass every limit that it is compared with."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialint import app, labeling
from dialint.detector.errors import ConfigError
from dialint.labeling.dataset.examples import DatasetConfig

APART = {
    "dialint.app.commands.projects": "makes a project of it, which refuses",
}


def options() -> Iterator[tuple[type, str]]:
    """Every number of every configuration in labeling and app."""
    for package in (labeling, app):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if (
                "migrations" in found.name
                or found.name.startswith("dialint.app.console.")
                or found.name in APART
            ):
                continue
            for name, each in vars(importlib.import_module(found.name)).items():
                if (
                    name.endswith("Config")
                    and dataclasses.is_dataclass(each)
                    and each.__module__ == found.name
                ):
                    assert isinstance(each, type)
                    hints = typing.get_type_hints(each)
                    yield from (
                        (each, field.name)
                        for field in dataclasses.fields(each)
                        if hints[field.name] in (float, float | None)
                    )


def needed(config: type, hints: dict[str, Any]) -> dict[str, Any]:
    """Something for each option that has no default."""
    given: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            hint = str(hints[field.name])
            given[field.name] = ("x",) if "tuple" in hint else Path("x") if "Path" in hint else "x"
    return given


def test_no_option_takes_nan() -> None:
    found = list(options())
    assert len(found) > 20
    takes = []
    for config, name in found:
        given = {**needed(config, typing.get_type_hints(config)), name: math.nan}
        try:
            config(**given)
        except ConfigError:
            continue
        takes.append((config.__name__, name))
    assert takes == []
    with pytest.raises(ConfigError, match="four parts"):
        DatasetConfig(out=Path("x"), shares=(math.nan, 0.5, 0.25, 0.25))
