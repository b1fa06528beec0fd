"""Marks of drift: the share of dialogues with a finding by week, against the weeks before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import streamlit as st

from dialint.app.console.charts import MARKED, STRONG, ShareMark, draw_weeks
from dialint.app.console.i18n import _, ngettext
from dialint.app.console.periods import last_days
from dialint.app.console.tables import share_text
from dialint.app.console.text import safe_markdown
from dialint.detector.statistics import compare_shares, wilson_interval
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.insights import Group, read_groups
from dialint.labeling.store.records import Account

WEEKS = 12
LEAST_BEFORE = 50
"""Dialogues before a week without which nothing is said of it."""


@dataclass(frozen=True)
class Week:
    """Seven days from `first` on: scored dialogues, flagged ones, and whether their share lies outside that
    of the weeks before."""

    first: date
    n: int
    flagged: int
    drifts: bool


def mark_weeks(days: Sequence[Group], first: date, n_weeks: int) -> list[Week]:
    """The weeks from `first` on that have dialogues. One drifts if the 95 % interval of the difference of its
    share and that of all earlier weeks together leaves out zero."""
    weeks: list[Week] = []
    sums = [[0, 0] for _week in range(n_weeks)]
    for group in days:
        index = (date.fromisoformat(group.key) - first).days // 7
        if 0 <= index < n_weeks:
            sums[index][0] += group.flagged
            sums[index][1] += group.dialogues
    flagged_before = n_before = 0
    for index, (flagged, n) in enumerate(sums):
        differs = compare_shares(flagged, n, flagged_before, n_before) in ("more", "fewer")
        drifts = n_before >= LEAST_BEFORE and differs
        if n:
            weeks.append(Week(first + timedelta(days=7 * index), n, flagged, drifts))
        flagged_before, n_before = flagged_before + flagged, n_before + n
    return weeks


def show_drift(store: Store, account: Account, filters: dict[str, Any], last: date) -> None:
    """Draw the weeks up to the `last` day, and say which ones stand out."""
    st.markdown(f"**{safe_markdown(_('Drift'))}**")
    span = last_days(7 * WEEKS, last)
    days = read_groups(store, account.id, "day", span.since_ms, span.until_ms, **filters, limit=1000)
    weeks = mark_weeks(days, span.first, WEEKS)
    if not weeks:
        st.caption(_("Nothing was scored in these twelve weeks."))
        return
    usual, outside = _("as the weeks before"), _("outside of the weeks before")
    marks = [
        ShareMark(
            f"{datetime(week.first.year, week.first.month, week.first.day, tzinfo=UTC):%m-%d}",
            week.flagged / week.n, *wilson_interval(week.flagged, week.n),
            outside if week.drifts else usual, MARKED if week.drifts else STRONG,
            share_text(week.flagged, week.n),
        )
        for week in weeks
    ]  # fmt: skip
    n = sum(week.drifts for week in weeks)
    summary = ngettext(
        "{n} week lies outside of the weeks before it.", "{n} weeks lie outside of the weeks before them.", n
    )
    draw_weeks(marks, _("With a finding"), summary)
    rule = _(
        "Share of dialogues with a finding by week (its first day), with 95 % intervals. A week is marked if "
        "the difference to all earlier weeks together is clear. How far a log is from what a release was "
        "calibrated on is measured when it is scored, and is in the manifest of the scoring, not here."
    )
    st.caption(safe_markdown(f"{summary} {rule}"))
