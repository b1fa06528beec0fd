"""The Releases page: which releases are there, which one is in use, what each was measured to do, and where
two of them differ.

Reports come from the releases' own files, verified by hash. The page changes nothing: `dialint release` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, ngettext, paragraph, show_number, show_percent, show_time
from dialint.app.console.messages import explain, explain_as_sentence
from dialint.app.console.system.release_registry import (
    ReleaseEntry,
    ReleaseReport,
    list_releases,
    read_figure,
    read_report,
    read_reports,
    show_reports,
)
from dialint.app.console.tables import (
    Cell,
    choose_rows,
    choose_view,
    dialogue_cell,
    percent_bounds,
    select,
    show_table,
)
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.detector.statistics import clopper_pearson_interval
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.insights import (
    MAX_COMPARED,
    Comparison,
    ReleaseCount,
    compare_releases,
    count_by_release,
)
from dialint.labeling.store.records import Account

COUNT_TTL_S = 60.0


def releases_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader(_("Releases"), anchor=False)
    counts = _count(store, str(store.engine.url), account.id)
    view = choose_view({"reports": _("Reports"), "compare": _("Compare two")}, "releases view")
    entries, problems = list_releases()
    for problem in problems:
        st.error(safe_markdown(explain_as_sentence(problem)))
    if view == "compare":
        show_comparison(store, account, read_reports(entries), list(counts))
    else:
        _show_list(entries, counts)
        _show_report(entries)


@st.cache_data(ttl=COUNT_TTL_S, max_entries=20, show_spinner=False)
def _count(_store: Store, location: str, actor: str) -> dict[str, ReleaseCount]:
    """Count the store's verdicts by release, for this actor only. Kept for a while, as it reads all
    verdicts."""
    return {each.release: each for each in count_by_release(_store, actor)}


def _show_list(entries: list[ReleaseEntry], counts: dict[str, ReleaseCount]) -> None:
    rows: list[tuple[Cell, ...]] = []
    left = dict(counts)

    def figures(count: ReleaseCount | None) -> tuple[str, str]:
        if count is None:
            return "–", "–"
        return show_number(count.dialogues), show_percent(count.flagged / count.dialogues, "0.0%")

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
            _("Flagged"),
        ),
        rows,
    )  # fmt: skip
    st.caption(paragraph("“In use” is what `dialint score"))


def _title(entry: ReleaseEntry) -> str:
    if entry.name == "embedded":
        with suppress(DialintError):
            return read_report(entry).info.id + _(" (embedded)")
    return entry.name


def _show_report(entries: list[ReleaseEntry]) -> None:
    scans = [entry for entry in entries if entry.kind == "scan"]
    used = next((entry for entry in scans if entry.in_use), None)
    entry = select(_("Report of"), scans, "report of", _title, usual=used)
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
            figure = show_percent(value, "0%") if is_share else show_number(value, "0.00")
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
        if natural == "–" and how.checks:
            precisions = [check.precision for check in how.checks]
            ends = (show_percent(end, "0%") for end in (min(precisions), max(precisions)))
            natural = "–".join(dict.fromkeys(ends))
        means += [
            _("check") if check.report == "finding" else _("check (suggests)") for check in how.checks[:1]
        ]
        rows.append((
            code_title(code, taxonomy), ", ".join(means), report.threshold(code), contract, natural,
            _share(measured, "precision"), _share(measured, "recall"),
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


def _share(measured: Mapping[str, Any], name: str) -> str:
    value, interval = read_figure(measured, name)
    if value is None:
        return "–"
    text = show_percent(value)
    return text if interval is None else "{} ({}–{})".format(text, *percent_bounds(*interval))


def show_comparison(
    store: Store, account: Account, reports: dict[str, ReleaseReport], stored: list[str]
) -> None:
    """Show the comparison of two releases, by their reports, their verdicts, or both."""
    names = list(dict.fromkeys([*reports, *stored]))
    if len(names) < 2:
        st.info(_("There is one release only. Promote another, or add verdicts of another to the store."))
        return
    left, right = st.columns(2)
    first = select(_("Release"), names, "compare first", at=left)
    others = [name for name in names if name != first]
    second = select(_("Compared with"), others, "compare second", at=right)
    if missing := " ".join(name for name in (first, second) if name not in reports):
        st.caption(
            safe_markdown(_("Not on this machine, so without a report here: {names}.").format(names=missing))
        )
    else:
        st.markdown(f"**{safe_markdown(_('By their reports, on dialogues never trained on'))}**")
        show_reports(reports[first], reports[second])
    if first in stored and second in stored:
        _show_stored(compare_releases(store, account.id, first, second), first, second)
    else:
        st.caption(paragraph("The store has no verdicts of"))


def _show_stored(compared: Comparison, first: str, second: str) -> None:
    st.markdown(f"**{safe_markdown(_('On the dialogues of the store that both have judged'))}**")
    if not compared.n_dialogues:
        st.info(_("No dialogue of the store was judged by both."))
        return
    share = show_percent(compared.n_equal / compared.n_dialogues)
    n = ngettext("{n} dialogue", "{n} dialogues", compared.n_dialogues)
    text = _("{dialogues}; in {share} of them both find the same errors in the same turns.")
    st.markdown(safe_markdown(text.format(dialogues=n, share=share)))
    if compared.n_dialogues == MAX_COMPARED:
        st.caption(safe_markdown(_("The newest {n}.").format(n=show_number(MAX_COMPARED))))
    rows: list[tuple[Cell, ...]] = [
        (
            code_title(code, load_taxonomy()), show_number(one), show_number(two), show_number(both),
            show_number(one - both), show_number(two - both),
        )
        for code, (one, two, both) in compared.codes.items()
    ]  # fmt: skip
    headings = (
        _("Code"), _("Findings of {name}").format(name=first), _("Findings of {name}").format(name=second),
        _("In both"), _("Only {name}").format(name=first), _("Only {name}").format(name=second),
    )  # fmt: skip
    if rows:
        show_table(headings, rows)
    if not compared.different:
        return
    st.markdown(f"**{safe_markdown(_('Dialogues that differ'))}**")
    show_table(
        (_("Dialogue"), _("Only {name}").format(name=first), _("Only {name}").format(name=second)),
        [
            (dialogue_cell(each.dialogue), _list(each.only_first), _list(each.only_second))
            for each in choose_rows(compared.different, "compare page")
        ],
    )


def _list(findings: tuple[tuple[int, str], ...]) -> str:
    return (
        ", ".join(_("{code} in turn {turn}").format(code=code, turn=turn) for turn, code in findings) or "–"
    )
