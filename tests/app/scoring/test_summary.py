"""The closing table says what the release covers, and how."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rich.console import Console

from dialint.app.scoring.summary import Tally, summary_table
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.taxonomy import load_taxonomy

READING: dict[str, Any] = {"rejected": 0, "warnings": {}}


def printed(**detector: Any) -> list[str]:
    console = Console(width=1000)
    with console.capture() as capture:
        fake: Any = SimpleNamespace(taxonomy=load_taxonomy(), **detector)
        console.print(summary_table(Tally(), READING, fake, {}))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_every_code_is_covered_by_something_or_needs_a_judge() -> None:
    info = Release(EMBEDDED).info
    lines = [line for line in printed(release=info.id, codes=tuple(info.codes), info=info) if info.id in line]
    groups = {line.partition(":")[0]: line.partition(":")[2].split() for line in lines}
    assert list(groups) == [
        *(f"covered ({name}) by {info.id}" for name in ("scan", "check", "policy")),
        f"not covered by {info.id}, needs a judge",
    ]
    assert {code for group in groups.values() for code in group} == set(load_taxonomy().codes)
    for code, how in info.codes.items():
        names = [
            name for name in ("scan", "check", "policy") if code in groups[f"covered ({name}) by {info.id}"]
        ]
        assert tuple(names) == how.covered_by


def test_a_detector_without_a_release_says_what_it_does_not_cover() -> None:
    rest = " ".join(code for code in load_taxonomy().codes if code != "C1")
    assert f"not covered by fake-1: {rest}" in printed(release="fake-1", codes=("C1",))
