"""No option of the rooms of labels takes NaN for a number: it would pass every limit that it is compared with."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialint import app, labeling
from dialint.app.cli import main
from dialint.detector.errors import ConfigError
from dialint.labeling.dataset.examples import DatasetConfig

APART = {"dialint.app.commands.label": "makes a project of it, which refuses"}


def options() -> Iterator[tuple[type, str]]:
    """Every number of every configuration in labeling and app."""
    for package in (labeling, app):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if (
                "migrations" in module.name
                or module.name.startswith("dialint.app.console.")
                or module.name in APART
            ):
                continue
            for name, each in vars(importlib.import_module(module.name)).items():
                if (
                    name.endswith("Config")
                    and dataclasses.is_dataclass(each)
                    and each.__module__ == module.name
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
    values: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            hint = str(hints[field.name])
            values[field.name] = ("x",) if "tuple" in hint else Path("x") if "Path" in hint else "x"
    return values


def test_no_option_takes_nan() -> None:
    configs = list(options())
    assert len(configs) > 10
    takes = []
    for config, name in configs:
        values = {**needed(config, typing.get_type_hints(config)), name: math.nan}
        try:
            config(**values)
        except ConfigError:
            continue
        takes.append((config.__name__, name))
    assert takes == []
    with pytest.raises(ConfigError, match="four parts"):
        DatasetConfig(out=Path("x"), shares=(math.nan, 0.5, 0.25, 0.25))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("import labels --labels l --max-bad 1.5", "--max-bad: expected at most 1"),
        ("export labels --dialogues d --out o --format crowd --codes", "--codes: name at least one"),
        ("export dataset --out o --near 1.1", "--near: expected at most 1"),
        ("export dataset --out o --near 0.2", "--near must be 0 or lie between 0.5 and 1"),
        ("label adjudicate --into e --sure 0.4", "--sure: expected at least 0.5"),
        ("label calibration --name w --codes C1 --members a b --n 0", "--n: expected at least 1"),
        ("label calibration --name w --codes C1 --members a b --seed -1", "--seed: expected at least 0"),
        ("data inject log.jsonl --out o --share 1.1", "--share: expected at most 1"),
        ("data inject log.jsonl --out o --shares 0.5 0.6 0 0", "--shares must be four parts of 1"),
    ],
)
def test_an_option_out_of_range_is_one_line_and_exit_code_2(
    options: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["dialint", *options.split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"dialint: E_OPTION: {expected}\n"
