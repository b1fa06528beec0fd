"""Shared by tests of trainings: reading the log, a Ctrl+C at a call, and comparing weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file


def logged(out: Path) -> list[dict[str, Any]]:
    """The log of a training without what the clock says."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.endswith("_s")} for line in lines]


def figures(out: Path, name: str) -> list[Any]:
    """One figure of the log, wherever it stands."""
    return [line[name] for line in logged(out) if name in line]


@contextmanager
def interrupted(owner: Any, method: str, at: int) -> Iterator[None]:
    """Raises a KeyboardInterrupt in the `at`-th call of the method."""
    calls, call = count(1), getattr(owner, method)

    def breaks(*args: Any, **options: Any) -> Any:
        if next(calls) == at:
            raise KeyboardInterrupt
        return call(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, breaks)
        with pytest.raises(KeyboardInterrupt):
            yield


def assert_same_weights(one: Path, other: Path) -> None:
    """Two files of safetensors hold the same, to the bit."""
    first, second = load_file(one), load_file(other)
    assert first.keys() == second.keys()
    assert [name for name, weight in first.items() if not torch.equal(weight, second[name])] == []
