"""The Releases page: the embedded release and those of the registry, which one is in use, and what each was
measured to do.

Reports come from the releases' own files: a release is verified whole when it is first opened here, and its
report is kept in memory until its manifest changes. The page changes nothing: `dialint release` does; two
releases are compared by `dialint eval run --against`, and their verdicts by `dialint diff`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, paragraph, show_number, show_percent, show_time
from dialint.app.console.messages import explain, explain_as_sentence
from dialint.app.console.tables import Cell, percent_bounds, select, show_table
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.artifacts import MANIFEST
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.registry import KINDS, WHOLE, Registry, ReleaseKind
from dialint.detector.release import EMBEDDED, Release, ReleaseInfo
from dialint.detector.statistics import clopper_pearson_interval
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.insights import ReleaseCount, count_by_release
from dialint.labeling.store.records import Account

COUNT_TTL_S = 60.0
CARD = "MODEL_CARD.md"
MAX_CARD = 100_000


@dataclass(frozen=True)
class ReleaseEntry:
    """A release: `name` is its id in the registry, or ``embedded``; `in_use`: the registry points at it;
    `promoted_at`: when it was last made current (ISO 8601), if ever."""

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
        """The measurements of all codes together on dialogues never trained on; empty if there are none."""
        on_test: Any = self.info.report.get("test")
        return on_test if isinstance(on_test, dict) else {}

    def measurements(self, code: str) -> dict[str, Any]:
        """Return the measurements of a code; empty if there are none."""
        measured: dict[str, Any] = self.measured.get("codes", {}).get(code, {})
        return measured

    def threshold(self, code: str) -> str:
        """Return the probability from which the scan reports a finding of the code, as text."""
        how = self.info.codes.get(code)
        if how is None:
            return _("not covered")
        limit = None if how.scan is None else how.scan.threshold
        return "–" if limit is None else show_number(limit, "0.00")


def list_releases() -> tuple[list[ReleaseEntry], list[DialintError]]:
    """Return the embedded release, those in the registries, and the errors of unreadable registries."""
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
    """Return the report of a scan release.

    Raises:
        DialintError: it is damaged, or gone.
    """
    try:
        status = (entry.folder / MANIFEST).stat()
    except OSError:
        raise ConfigError("E_RELEASE", "{name} is gone", name=entry.name) from None
    return _read_report(entry.folder, status.st_mtime_ns)


@lru_cache(16)
def _read_report(folder: Path, changed_ns: int) -> ReleaseReport:
    release = Release(folder)
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace")[:MAX_CARD] if card.exists() else ""
    return ReleaseReport(release.info, text)


def read_figure(measured: Mapping[str, Any], name: str) -> tuple[float | None, tuple[float, float] | None]:
    """Return a measured figure and its 95 % interval; None for each that is missing."""
    low, high = measured.get(f"{name}_95") or (None, None)
    return measured.get(name), None if low is None or high is None else (low, high)


def releases_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader(_("Releases"), anchor=False)
    counts = _count_verdicts(store, str(store.engine.url), account.id)
    entries, problems = list_releases()
    for problem in problems:
        st.error(safe_markdown(explain_as_sentence(problem)))
    _show_list(entries, counts)
    _show_report(entries)


@st.cache_data(ttl=COUNT_TTL_S, max_entries=20, show_spinner=False)
def _count_verdicts(_store: Store, location: str, actor: str) -> dict[str, ReleaseCount]:
    """Count the store's verdicts by release, for this actor only. Kept for a while, as it reads all
    verdicts."""
    return {each.release: each for each in count_by_release(_store, actor)}


def _show_list(entries: list[ReleaseEntry], counts: dict[str, ReleaseCount]) -> None:
    rows: list[tuple[Cell, ...]] = []
    left = dict(counts)

    def figures(count: ReleaseCount | None) -> tuple[str, str]:
        if count is None:
            return "–", "–"
        return show_number(count.dialogues), show_percent(count.flagged / count.dialogues, "0.0")

    for entry in entries:
        name, count = entry.name, None
        try:
            if entry.kind == "scan":
                info = read_report(entry).info
                name = info.id if entry.name == "embedded" else entry.name
                left.pop(info.id, None)
                count = counts.get(info.id)
            state = _("verified")
        except DialintError as damaged:
            state = _("damaged: {message}").format(message=explain(damaged))
        origin = entry.promoted_at or "–"
        with suppress(ValueError):
            origin = show_time(datetime.fromisoformat(origin))
        rows.append((
            name, _("scan") if entry.kind == "scan" else _("judge"), _("● in use") if entry.in_use else "",
            _("embedded") if entry.name == "embedded" else origin, state, *figures(count),
        ))  # fmt: skip
    rows += [(name, "", "", _("not on this machine"), "", *figures(count)) for name, count in left.items()]
    show_table(
        (
            _("Release"), _("Kind"), _("Use"), _("Made current"), _("Files"), _("Dialogues in the store"),
            _("With a finding, or not judged"),
        ),
        rows,
    )  # fmt: skip
    st.caption(paragraph("“In use” is what `dialint score"))


def _format_title(entry: ReleaseEntry) -> str:
    if entry.name == "embedded":
        with suppress(DialintError):
            return read_report(entry).info.id + _(" (embedded)")
    return entry.name


def _show_report(entries: list[ReleaseEntry]) -> None:
    scans = [entry for entry in entries if entry.kind == "scan"]
    used = next((entry for entry in scans if entry.in_use), None)
    entry = select(_("Report of"), scans, "report of", _format_title, usual=used)
    try:
        report = read_report(entry)
    except DialintError as damaged:
        st.error(safe_markdown(explain_as_sentence(damaged)))
        return
    if measured := report.measured:
        columns = st.columns(4)
        columns[0].metric(
            _("Codes covered"), safe_markdown(show_number(len(report.info.covered))),
            help=_("By the scan, by exact checks or by policies; of all others a verdict says nothing."),
        )  # fmt: skip
        for column, name, label, text in (
            (columns[1], "precision_of_findings", _("Right findings"),
             _("Of all findings on the release's test set, dialogues that no training has seen.")),
            (columns[2], "recall_of_errors", _("Errors found"), _("Of the same errors, of all codes.")),
            (columns[3], "wrong_findings_per_100_turns", _("Wrong per 100 turns"),
             _("Wrong findings of all codes together, on the same dialogues.")),
        ):  # fmt: skip
            value, interval = read_figure(measured, name)
            if value is None:
                continue
            is_share = name != "wrong_findings_per_100_turns"
            figure = show_percent(value) if is_share else show_number(value, "0.00")
            column.metric(safe_markdown(label), safe_markdown(figure), help=safe_markdown(text))
            if interval is not None:
                low, high = (
                    percent_bounds(*interval) if is_share else (show_number(x, "0.00") for x in interval)
                )
                column.caption(safe_markdown(_("95 % interval {low} to {high}").format(low=low, high=high)))
        st.caption(paragraph("Right findings are measured"))
    else:
        st.caption(_("This release has no figures of its own."))
    codes, card = st.tabs([safe_markdown(each) for each in (_("Codes"), _("Model card"))])
    with codes:
        _show_codes(report)
    with card, st.container(height=520):
        st.text(safe_text(report.card or _("This release has no model card.")))


def _show_codes(report: ReleaseReport) -> None:
    taxonomy = load_taxonomy()
    rows: list[tuple[Cell, ...]] = []
    for code in report.info.covered:
        how = report.info.codes[code]
        measured = report.measurements(code)
        means, contract, natural = [], "–", "–"
        if how.scan is not None:
            if "scan" in how.covered_by:
                means.append(_("scan"))
            if (promised := how.scan.contract) is not None:
                rate = show_number(promised.false_accusations_per_100, "0.00")
                contract = f"≤ {rate} ({show_percent(promised.confidence)})"
            if (read := how.scan.natural) is not None:  # how often findings were right on real dialogues
                low, high = percent_bounds(*clopper_pearson_interval(read.right, read.flagged))
                natural = f"{read.right}/{read.flagged} ({low}–{high})"
        precisions = [check.precision for check in how.checks if check.is_measured]
        if natural == "–" and precisions:
            ends = (show_percent(end) for end in (min(precisions), max(precisions)))
            natural = "–".join(dict.fromkeys(ends))
        if how.checks:
            accuses = any(check.report == "finding" for check in how.checks)
            means.append(_("check") if accuses else _("check (suggests)"))
        rows.append((
            code_title(code, taxonomy), ", ".join(means), report.threshold(code), contract, natural,
            _format_share(measured, "precision"), _format_share(measured, "recall"),
        ))  # fmt: skip
    show_table(
        (
            _("Code"), _("Found by"), _("Threshold"), _("False accusations per 100"),
            _("Right on real dialogues"), _("Precision, test set"), _("Recall, test set"),
        ),
        rows,
    )  # fmt: skip
    st.caption(paragraph("False accusations: at most"))
    uncovered = [code for code in taxonomy.codes if code not in report.info.covered]
    text = _("Not covered, so a verdict says nothing of them: {codes}.")
    st.caption(safe_markdown(text.format(codes=", ".join(uncovered))))


def _format_share(measured: Mapping[str, Any], name: str) -> str:
    value, interval = read_figure(measured, name)
    if value is None:
        return "–"
    text = show_percent(value)
    return text if interval is None else "{} ({}–{})".format(text, *percent_bounds(*interval))
