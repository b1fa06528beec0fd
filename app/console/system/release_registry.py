"""The releases on this machine: the embedded one and those of the registry, with their reports and the
comparison of two.

A release is verified whole when it is first opened here; its report is kept in memory until its manifest
changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, show_number
from dialint.app.console.tables import Cell, show_table
from dialint.app.console.text import code_title, safe_markdown
from dialint.detector.artifacts import MANIFEST
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.registry import (
    KINDS,
    WHOLE,
    Registry,
    ReleaseKind,
)
from dialint.detector.release import EMBEDDED, Release, ReleaseInfo
from dialint.detector.taxonomy import load_taxonomy

CARD = "MODEL_CARD.md"
MAX_CARD = 100_000


@dataclass(frozen=True)
class ReleaseEntry:
    """A release: `name` is its id in the registry, or ``embedded``; `in_use` says whether the pointer is at
    it; `promoted_at` is when it was last made current (ISO 8601), if ever."""

    kind: ReleaseKind
    name: str
    folder: Path
    in_use: bool = False
    promoted_at: str = ""


@dataclass(frozen=True)
class ReleaseReport:
    """A verified scan release: its `release.json`, and its model card."""

    info: ReleaseInfo
    card: str

    @property
    def measured(self) -> dict[str, Any]:
        """What was measured of all codes together on dialogues never trained on; empty if nothing was."""
        on_test: Any = self.info.report.get("test")
        return on_test if isinstance(on_test, dict) else {}

    def measurements(self, code: str) -> dict[str, Any]:
        """What was measured of a code."""
        measured: dict[str, Any] = self.measured.get("codes", {}).get(code, {})
        return measured

    def threshold(self, code: str) -> str:
        """From which probability on the scan accuses, in words."""
        how = self.info.codes.get(code)
        if how is None:
            return _("not covered")
        if how.scan is None:
            return _("check")
        return "–" if how.scan.threshold is None else show_number(how.scan.threshold, "0.00")


def list_releases() -> tuple[list[ReleaseEntry], list[DialintError]]:
    """The embedded release and those in the registries, and why, for each registry that cannot be read."""
    entries: list[ReleaseEntry] = []
    problems: list[DialintError] = []
    for kind in KINDS:
        registry = Registry(kind)
        try:
            pointer = registry.current()
            at = {line.id: line.at for line in registry.history() if line.share == WHOLE}
        except DialintError as damaged:
            problems.append(damaged)
            continue
        for name in registry.ids():
            is_current = pointer is not None and pointer.id == name
            entries.append(ReleaseEntry(kind, name, registry.folder / name, is_current, at.get(name, "")))
    entries.sort(key=lambda entry: (entry.kind != "scan", not entry.in_use, entry.name))
    is_default = not any(entry.kind == "scan" and entry.in_use for entry in entries)
    return [ReleaseEntry("scan", "embedded", EMBEDDED, is_default), *entries], problems


def read_report(entry: ReleaseEntry) -> ReleaseReport:
    """The report of a scan release.

    Raises:
        DialintError: it is damaged, or gone.
    """
    try:
        status = (entry.folder / MANIFEST).stat()
    except OSError:
        raise ConfigError("E_RELEASE", "{name} is gone", name=entry.name) from None
    return _read_report(entry.folder, status.st_mtime_ns)


def read_reports(entries: list[ReleaseEntry]) -> dict[str, ReleaseReport]:
    """The reports of the scan releases that are not damaged, by the id that verdicts have; of two copies of
    one release the second by its name."""
    reports: dict[str, ReleaseReport] = {}
    for entry in entries:
        with suppress(DialintError):
            if entry.kind == "scan":
                report = read_report(entry)
                reports.setdefault(entry.name if report.info.id in reports else report.info.id, report)
    return reports


@lru_cache(16)
def _read_report(folder: Path, changed_ns: int) -> ReleaseReport:
    release = Release(folder)
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace")[:MAX_CARD] if card.exists() else ""
    return ReleaseReport(release.info, text)


def read_figure(measured: Mapping[str, Any], name: str) -> tuple[float | None, tuple[float, float] | None]:
    """Return a measured figure and its 95 % interval, as far as there are."""
    low, high = measured.get(f"{name}_95") or (None, None)
    return measured.get(name), None if low is None or high is None else (low, high)


def show_reports(one: ReleaseReport, two: ReleaseReport) -> None:
    """Show what two releases were measured to do, code by code, and their thresholds."""

    def pair(first: dict[str, Any], second: dict[str, Any], name: str) -> tuple[str, str]:
        (x, a), (y, b) = read_figure(first, name), read_figure(second, name)
        texts = ["–" if each is None else show_number(each, "0.00") for each in (x, y)]
        if a is not None and b is not None:
            texts[0] += " ▲" if a[0] > b[1] else ""
            texts[1] += " ▲" if b[0] > a[1] else ""
        return texts[0], texts[1]

    total = (one.measured, two.measured)
    rows: list[tuple[Cell, ...]] = [
        (
            _("All together"), "–", "–", *pair(*total, "precision_of_findings"),
            *pair(*total, "recall_of_errors"), "–", "–",
        )
    ]  # fmt: skip
    for code in dict.fromkeys((*one.info.codes, *two.info.codes)):
        cells: list[str] = [code_title(code, load_taxonomy())]
        for name in ("average_precision", "precision", "recall"):
            cells += pair(one.measurements(code), two.measurements(code), name)
        rows.append((*cells, one.threshold(code), two.threshold(code)))
    labels = (_("AP"), _("Precision"), _("Recall"), _("Threshold"))
    st.caption(safe_markdown(f"A = {one.info.id}, B = {two.info.id}"))
    show_table((_("Code"), *(f"{label} {mark}" for label in labels for mark in ("A", "B"))), rows)
    st.caption(_("▲ marks the better one where the 95 % intervals do not overlap."))
