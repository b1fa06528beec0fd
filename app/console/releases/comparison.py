"""Two releases side by side: by their own reports, and by the verdicts of both that the store holds."""

from __future__ import annotations

import streamlit as st

from dialint.app.console.i18n import _, choose_name, ngettext, show_number, show_percent
from dialint.app.console.releases.folders import ReleaseEntry, ReleaseReport, read_report
from dialint.app.console.tables import Cell, DialogueLink, show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.release_verdicts import MAX_DIALOGUES, Comparison, compare_releases

PER_PAGE = 50


def show_comparison(store: Store, account: Account, entries: list[ReleaseEntry], stored: list[str]) -> None:
    """Show the comparison of two releases, by their files, their verdicts, or both."""
    reports: dict[str, ReleaseReport] = {}
    for entry in entries:
        if entry.kind == "scan":
            try:
                report = read_report(entry)
            except DialintError:
                continue
            name = report.info.id if entry.name == "embedded" or report.info.id not in reports else entry.name
            reports.setdefault(name, report)
    names = list(dict.fromkeys([*reports, *stored]))
    if len(names) < 2:
        st.info(_("There is one release only. Promote another, or add verdicts of another to the store."))
        return
    left, right = st.columns(2)
    first = left.selectbox(_("Release"), names, format_func=safe_text, key="compare first")
    others = [name for name in names if name != first]
    second = right.selectbox(_("Compared with"), others, format_func=safe_text, key="compare second")
    if first in reports and second in reports:
        _show_reports(first, reports[first], second, reports[second])
    else:
        missing = " ".join(name for name in (first, second) if name not in reports)
        st.caption(
            safe_markdown(_("Not on this machine, so without a report here: {names}.").format(names=missing))
        )
    if first in stored and second in stored:
        _show_stored(compare_releases(store, account.id, first, second), first, second)
    else:
        st.caption(
            _(
                "The store has no verdicts of both, so there is nothing to compare on your own "
                "dialogues: score a "
                "log with each on the Score page, and add both results."
            )
        )


def _title(code: str) -> str:
    taxonomy = load_taxonomy()
    return f"{code} {choose_name(taxonomy.codes[code].name)}" if code in taxonomy.codes else code


def _show_reports(first: str, one: ReleaseReport, second: str, two: ReleaseReport) -> None:
    """Measures of both by code; the better one of two is marked if their intervals do not overlap."""
    st.markdown(f"**{safe_markdown(_('By their reports, on errors of unseen kinds'))}**")
    rows: list[tuple[Cell, ...]] = []
    for code in dict.fromkeys([*one.codes, *two.codes]):
        cells: list[str] = [_title(code)]
        for name in ("average_precision", "precision", "recall"):
            cells += _pair(one.measurements(code), two.measurements(code), name)
        cells += [_threshold(one, code), _threshold(two, code)]
        rows.append(tuple(cells))
    labels = (_("AP"), _("Precision"), _("Recall"), _("Threshold"))
    headings = [f"{label} {mark}" for label in labels for mark in ("A", "B")]
    st.caption(safe_markdown(f"A = {first}, B = {second}"))
    show_table((_("Code"), *headings), rows)
    st.caption(_("▲ marks the better one where the 95 % intervals do not overlap."))


def _pair(one: dict[str, object], two: dict[str, object], name: str) -> tuple[str, str]:
    values, intervals = (one.get(name), two.get(name)), (one.get(f"{name}_95"), two.get(f"{name}_95"))
    texts = [show_number(each, "0.00") if isinstance(each, int | float) else "–" for each in values]
    a, b = intervals
    if isinstance(a, list) and isinstance(b, list) and None not in (*a, *b):
        if a[0] > b[1]:
            texts[0] += " ▲"
        elif b[0] > a[1]:
            texts[1] += " ▲"
    return texts[0], texts[1]


def _threshold(report: ReleaseReport, code: str) -> str:
    how = report.how(code)
    if how is None:
        return _("not covered")
    if how.scan is None:
        return _("check")
    return "–" if how.scan.threshold is None else show_number(how.scan.threshold, "0.00")


def _show_stored(compared: Comparison, first: str, second: str) -> None:
    """Counts by code on the dialogues that both judged, and the dialogues in which they differ."""
    st.markdown(f"**{safe_markdown(_('On the dialogues of the store that both have judged'))}**")
    if not compared.n_dialogues:
        st.info(_("No dialogue of the store was judged by both."))
        return
    share = show_percent(compared.n_equal / compared.n_dialogues)
    n = ngettext("{n} dialogue", "{n} dialogues", compared.n_dialogues)
    text = _("{dialogues}; in {share} of them both find the same errors in the same turns.")
    st.markdown(safe_markdown(text.format(dialogues=n, share=share)))
    if compared.n_dialogues == MAX_DIALOGUES:
        st.caption(safe_markdown(_("The newest {n}.").format(n=show_number(MAX_DIALOGUES))))
    rows: list[tuple[Cell, ...]] = [
        (
            _title(code), show_number(one), show_number(two), show_number(both), show_number(one - both),
            show_number(two - both),
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
    pages = (len(compared.different) - 1) // PER_PAGE + 1
    page = 0
    if pages > 1:
        page = st.selectbox(
            _("Page"), range(pages), key="compare page", width=220,
            format_func=lambda at: safe_text(_("{n} of {pages}").format(n=at + 1, pages=pages)),
        )  # fmt: skip
    show_table(
        (_("Dialogue"), _("Only {name}").format(name=first), _("Only {name}").format(name=second)),
        [
            (DialogueLink(each.dialogue), _list(each.only_first), _list(each.only_second))
            for each in compared.different[page * PER_PAGE : (page + 1) * PER_PAGE]
        ],
    )


def _list(findings: tuple[tuple[int, str], ...]) -> str:
    return (
        ", ".join(_("{code} in turn {turn}").format(code=code, turn=turn) for turn, code in findings) or "–"
    )
