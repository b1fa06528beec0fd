"""Why a finding is rejected: the reasons of `reject_reasons.yaml`, in order for one account and code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from dialint.detector.records import Record
from dialint.detector.taxonomy import Names
from dialint.detector.yaml_document import read_document

FILE = Path(__file__).with_name("reject_reasons.yaml")
MAX_OFFERED = 9
"""As many as there are digits."""


class RejectReasons(Record):
    """The reasons by their ids, those of a group of codes by its letter, and those for every code."""

    names: dict[str, Names]
    usual: list[str]
    groups: dict[str, list[str]]


@cache
def load() -> RejectReasons:
    """The reasons of the packaged file."""
    reasons = RejectReasons.model_validate(read_document(FILE, "E_REASONS").value)
    listed = {*reasons.usual, *(name for group in reasons.groups.values() for name in group)}
    assert listed <= set(reasons.names), "a reason without a name"
    return reasons


def order_reasons(code: str, counts: Mapping[str, int]) -> list[str]:
    """The reasons offered for a code: those that the account chose for it most often (`counts`, by
    ``CODE:reason``), then those of the code's group, then the usual ones."""
    reasons = load()
    listed = [*reasons.groups.get(code[:1], ()), *reasons.usual]
    chosen = [name for name in reasons.names if counts.get(f"{code}:{name}")]
    chosen.sort(key=lambda name: -counts[f"{code}:{name}"])
    return list(dict.fromkeys([*chosen, *listed]))[:MAX_OFFERED]
