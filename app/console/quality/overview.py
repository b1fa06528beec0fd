"""The Overview page: what was scored, flagged, reviewed and overturned in a period against the one before.

Shares have their 95 % intervals, and what these do not tell apart is not ranked. Each number leads to its
dialogues.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import streamlit as st

from dialint.app.console.charts import MARKED, MUTED, STRONG, DayCount, ShareMark, draw_days, draw_shares
from dialint.app.console.i18n import _, ngettext, paragraph, show_number, show_percent
from dialint.app.console.tables import (
    PageLink,
    Period,
    choose_period,
    choose_rows,
    choose_view,
    explore_address,
    interval_text,
    mean_text,
    score_text,
    select,
    share_change,
    share_of_text,
    share_text,
    show_outside,
    show_score_parts,
    show_score_tile,
    show_table,
    show_tile,
)
from dialint.app.console.text import code_title, count_judged, safe_markdown, safe_text
from dialint.detector.statistics import LEAST_EVENTS, Partial, compare_partial
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.reviewed_scores import ReviewedScore, estimate_score
from dialint.labeling.store import insights
from dialint.labeling.store.api import Store
from dialint.labeling.store.coaching import count_errors
from dialint.labeling.store.projects import Spending, list_spending
from dialint.labeling.store.records import Account

N_CODES = N_AGENTS = 8
N_CHOICES = 50
LEAST_DIALOGUES = 20
"""Scored dialogues that an agent needs to be ranked."""
MAX_BARS = 120
"""Days that the chart draws one by one; longer periods are drawn by month."""
ALL = ""


def overview_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    st.subheader(_("Overview"), anchor=False)
    filters: dict[str, Any] = {}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        extent = insights.read_extent(store, account.id)
        period = choose_period("overview period", extent)
        both_ms = (period.before.since_ms, period.until_ms)
        everything: dict[insights.Dimension, tuple[str, str]] = {
            "team": (_("Team"), _("All teams")), "channel": (_("Channel"), _("All channels")),
        }  # fmt: skip
        for dimension, (label, usual) in everything.items():
            groups = insights.read_groups(store, account.id, dimension, *both_ms, limit=N_CHOICES)
            names = {ALL: usual, **{name: name for name in sorted(each.key for each in groups) if name}}
            if chosen := select(safe_text(label), names, f"overview {dimension}", width=190):
                filters[dimension] = chosen
    span, earlier = ((each.since_ms, each.until_ms) for each in (period, period.before))
    now = insights.read_totals(store, account.id, *span, **filters)
    before = insights.read_totals(store, account.id, *earlier, **filters)
    days = insights.read_groups(store, account.id, "day", *span, **filters, limit=4000)
    codes = insights.read_groups(store, account.id, "code", *span, **filters, limit=N_CODES)
    coverage = insights.read_coverage(store, account.id, *span, **filters)
    agents = count_errors(store, account.id, *span, **filters)
    scored = insights.read_scores(store, account.id, "total", *span, **filters).get("", ())
    backlog = [each for each in list_spending(store, account.id).values() if each.open_answers]
    address = {**period.filters, **filters}
    text = _("{days}, by the day of the dialogue (UTC).")
    st.caption(safe_markdown(text.format(days=period.compared_text())))
    if extent is not None:
        whole = Period(*extent)
        stored = insights.read_totals(store, account.id, whole.since_ms, whole.until_ms, **filters).stored
        show_outside("overview period", now.stored, stored)
    score = estimate_score(scored)
    _show_strip(now, before, score, backlog, address)
    _show_days(days, period)
    left, right = st.columns(2, gap="medium")
    with left:
        _show_codes(codes, coverage, now.dialogues, address)
    with right:
        _show_agents(agents, address)
    _show_scores(store, account, score, period, filters)


def _show_strip(
    now: insights.Totals,
    before: insights.Totals,
    score: ReviewedScore,
    backlog: Sequence[Spending],
    address: dict[str, str],
) -> None:
    decided, decided_before = now.confirmed + now.rejected, before.confirmed + before.rejected
    without_result = now.not_judged + now.failed

    def share(k: int, n: int) -> str:
        return show_percent(k / n) if n else "–"

    def change(n: int, n_before: int) -> str:
        if not before.stored:
            return _("nothing to compare with")
        return show_number(n - n_before, "+#,##0;-#,##0") if n != n_before else _("as before")

    with st.container(horizontal=True, gap="small"):
        show_tile(
            _("Scored dialogues"), show_number(now.dialogues),
            ngettext("{n} without a result", "{n} without a result", without_result),
            _("Dialogues that a release has judged."), explore_address(status="scored", **address),
            change(now.dialogues, before.dialogues),
        )  # fmt: skip
        show_tile(
            _("With a finding"), share(now.flagged, now.dialogues),
            interval_text(now.flagged, now.dialogues),
            _("Share of the scored dialogues with at least one finding. Suggestions do not count."),
            explore_address(kind="finding", status="scored", **address),
            share_change(now.flagged, now.dialogues, before.flagged, before.dialogues),
        )  # fmt: skip
        show_tile(
            _("Reviewed"), show_number(now.reviewed),
            ngettext("{n} error added", "{n} errors added", now.added),
            _("Dialogues of the period that a reviewer or expert answered, and errors that only they saw."),
            explore_address(status="reviewed", **address), change(now.reviewed, before.reviewed),
        )  # fmt: skip
        show_tile(
            _("Confirmed"), share(now.confirmed, decided), interval_text(now.confirmed, decided),
            paragraph("Precision as people decided"), explore_address(status="rejected", **address),
            share_change(now.confirmed, decided, before.confirmed, decided_before),
        )  # fmt: skip
        show_tile(
            _("Overturned"), show_number(now.overturned),
            ngettext("of {n} appealed", "of {n} appealed", now.appealed),
            _("Findings that an agent objected to and an expert found wrong."),
            explore_address(status="overturned", **address), change(now.overturned, before.overturned),
        )  # fmt: skip
        show_score_tile(score, explore_address(status="reviewed", **address))
        time = _backlog_text(backlog)
        show_tile(
            _("Backlog"), "–" if time == _("unknown") else time,
            ngettext("{n} answer to come", "{n} answers to come", sum(each.open_answers for each in backlog)),
            paragraph("Minutes to come are the answers"), "/review",
            time if time == _("unknown") else _("now"),
        )  # fmt: skip


def _backlog_text(backlog: Sequence[Spending]) -> str:
    """Format the time that all answers to come take: at least that of the projects where it is known."""
    minutes = [each.minutes_left for each in backlog if each.minutes_left is not None]
    if len(minutes) == len(backlog):
        return _minutes_text(sum(minutes))
    return f"≥ {_minutes_text(sum(minutes))}" if minutes else _("unknown")


def _minutes_text(minutes: float) -> str:
    if minutes < 120:
        return _("{n} min").format(n=show_number(round(minutes)))
    return _("{n} h").format(n=show_number(round(minutes / 60, 1), "#,##0.0"))


def _show_days(groups: Sequence[insights.GroupTotals], period: Period) -> None:
    by_day = {group.key: group for group in groups}
    by_month = period.n_days > MAX_BARS
    bars: dict[date, list[int]] = {}  # of each bar: dialogues, and those with a finding
    for offset in range(period.n_days):
        day = period.first + timedelta(days=offset)
        bar = bars.setdefault(day.replace(day=1) if by_month else day, [0, 0])
        if (group := by_day.get(day.isoformat())) is not None:
            bar[0] += group.dialogues
            bar[1] += group.flagged
    alt = _("Bars: {n} dialogues in all, {flagged} of them with a finding.").format(
        n=show_number(sum(n for n, _flagged in bars.values())),
        flagged=show_number(sum(flagged for _n, flagged in bars.values())),
    )
    title = _("Scored dialogues by month") if by_month else _("Scored dialogues by day")
    st.markdown(f"**{safe_markdown(title)}**")
    counts = [DayCount(day, n, flagged) for day, (n, flagged) in bars.items()]
    draw_days(counts, (_("With a finding"), _("Without")), alt, "%Y-%m" if by_month else "%m-%d")


def _show_codes(
    codes: Sequence[insights.GroupTotals],
    coverage: Sequence[insights.JudgedGroup],
    n_scored: int,
    address: dict[str, str],
) -> None:
    st.markdown(f"**{safe_markdown(_('Most frequent errors'))}**")
    groups = [group for group in codes if group.findings]
    if not groups:
        st.caption(_("No finding in this period."))
        return
    taxonomy = load_taxonomy()
    names = {group.key: code_title(group.key, taxonomy) for group in groups}
    judged = {each.key: count_judged(each.key, coverage) for each in groups}
    for each in groups:  # a team's own pattern finds codes that no release covers
        judged[each.key] = judged[each.key] if judged[each.key] >= each.flagged else n_scored
    share = _("Share of judged dialogues")
    marks = [ShareMark.of(names[each.key], each.flagged, judged[each.key], share) for each in groups]
    alt = _("Share of dialogues with each error, with its interval; {first} is the most frequent.").format(
        first=names[groups[0].key]
    )
    draw_shares(marks, share, alt)
    rows = [
        (
            PageLink(names[group.key], explore_address(code=group.key, kind="finding", **address)),
            show_number(group.findings), share_of_text(group.flagged, judged[group.key]),
            share_of_text(group.confirmed, group.confirmed + group.rejected),
        )
        for group in groups
    ]  # fmt: skip
    with st.container(key="overview errors"):
        show_table((_("Error"), _("Findings"), share, _("Confirmed of decided")), rows)
    st.caption(paragraph("Judged are the scored dialogues"))


def _show_scores(
    store: Store, account: Account, score: ReviewedScore, period: Period, filters: dict[str, Any]
) -> None:
    st.markdown(f"**{safe_markdown(_('Reviewed score'))}**")
    left, right = st.columns(2, gap="medium")
    with left:
        show_score_parts(score, explore_address(status="reviewed", **period.filters, **filters))
        st.caption(paragraph("Mean score of all"))
    with right:
        views: dict[str, str] = {"team": _("By team"), "agent": _("By agent"), "week": _("By week")}
        by: Any = choose_view(views, "overview scores")
        span = period.since_ms, period.until_ms
        groups = insights.read_scores(store, account.id, by, *span, **filters)
        groups = {key: rows for key, rows in groups.items() if key}
        if not groups:
            st.caption(_("No dialogue of this period says so."))
            return
        rows = []
        for key in choose_rows(list(groups), f"overview scores {by}", 12):
            one = estimate_score(groups[key])
            own = {**period.filters, **filters, **({} if by == "week" else {by: key})}
            if by == "week":
                first = period.first + timedelta(days=7 * int(key))
                week = Period(first, min(first + timedelta(days=6), period.last))
                key, own = f"{first:%Y-%m-%d}", {**own, **week.filters}
            read = PageLink(show_number(one.n_read), explore_address(status="reviewed", **own))
            dialogues = PageLink(show_number(one.n), explore_address(**own))
            rows.append((key, dialogues, read, mean_text(one.model), score_text(one)))
        headings = (views[by], _("Dialogues"), _("Read"), _("Model"), _("Reviewed score"))
        show_table(headings, rows)


def _show_agents(agents: dict[str, Partial], address: dict[str, str]) -> None:
    st.markdown(f"**{safe_markdown(_('Agents'))}**")
    if not agents:
        st.caption(_("No dialogue of this period names an agent."))
        return
    ranked = sorted(
        rank_agents(agents).items(),
        key=lambda row: (row[1] == 0, -row[1], -agents[row[0]][1] / agents[row[0]][2], row[0]),
    )[:N_AGENTS]
    states = {
        1: (_("more than the others"), MARKED), -1: (_("fewer than the others"), STRONG),
        0: (_("not enough evidence"), MUTED),
    }  # fmt: skip
    marks = [ShareMark.of(name, *agents[name][1:], *states[side]) for name, side in ranked]
    _confirmed, errors, dialogues = (sum(each) for each in zip(*agents.values(), strict=True))
    alt = _("Share of each agent's dialogues with an error that stands, with its interval.")
    draw_shares(marks, _("Dialogues with an error"), alt, errors / dialogues)
    rows = []
    for name, side in ranked:
        confirmed, n_errors, n = agents[name]
        is_open = ngettext("{n} not decided yet", "{n} not decided yet", n_errors - confirmed)
        rows.append(
            (
                PageLink(name, f"/coaching?{explore_address(agent=name).partition('?')[2]}"),
                PageLink(show_number(n), explore_address(agent=name, status="scored", **address)),
                f"{share_text(n_errors, n)} · {is_open}" if n_errors > confirmed else share_text(n_errors, n),
                states[side][0],
            )
        )
    headings = (_("Agent"), _("Dialogues"), _("With an error"), _("Against the others"))
    show_table(headings, rows)
    rule = paragraph("An error stands if people confirmed")
    text = rule.format(n=show_number(LEAST_DIALOGUES), least=show_number(LEAST_EVENTS))
    st.caption(safe_markdown(text))


def rank_agents(agents: dict[str, Partial]) -> dict[str, int]:
    """Return which agents have more errors than the others (1), fewer (-1), or neither (0), at a false
    discovery rate of 5 %, however the undecided findings are decided."""
    whole = [sum(each) for each in zip(*agents.values(), strict=True)]
    names = [name for name, (_least, _most, n) in agents.items() if LEAST_DIALOGUES <= n < whole[2]]
    pairs = []
    for name in names:
        least, most, n = (total - own for total, own in zip(whole, agents[name], strict=True))
        pairs.append((agents[name], (least, most, n)))
    words = dict(zip(names, compare_partial(pairs), strict=True))
    return {name: {"more": 1, "fewer": -1}.get(words.get(name, ""), 0) for name in agents}
