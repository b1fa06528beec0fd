"""The Coaching page: how an agent does, what changed, the best and worst dialogues, and notes.

Leads see any agent, an agent only their own page; the store checks it. What people rejected is no error here,
and suggestions are none. A lead writes notes, the agent reads and acknowledges them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import streamlit as st

from dialint.app.console.charts import MUTED, ShareMark, draw_shares
from dialint.app.console.i18n import _, from_ms, ngettext, paragraph, show_day, show_number, show_percent
from dialint.app.console.messages import report_refusals, set_notice, show_notice
from dialint.app.console.tables import (
    DAY_MS,
    Period,
    choose_period,
    dialogue_link,
    explore_address,
    interval_text,
    last_days,
    select,
    share_change,
    share_of_text,
    show_outside,
    show_score_parts,
    show_score_tile,
    show_table,
    show_tile,
)
from dialint.app.console.text import code_title, count_judged, safe_markdown, safe_text, severity_title
from dialint.detector.statistics import Partial, compare_partial
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.reviewed_scores import ReviewedScore, estimate_score
from dialint.labeling.store import coaching
from dialint.labeling.store.api import Store
from dialint.labeling.store.insights import read_extent, read_scores, read_totals
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account

WEEKS = 12
N_DIALOGUES = 4
"""Worst and best dialogues that are shown."""
N_CODES = 6


def coaching_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    st.subheader(_("Coaching"), anchor=False)
    is_lead = has_permission(account, "plan")
    if not is_lead and account.agent is None:
        st.info(_("This page is for agents. Your account is not known as one; a lead can change that."))
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        agent, team, extent = account.agent or "", None, None
        if is_lead and (teams := dict(coaching.list_agents(store, account.id))):
            names = {name: f"{name} · {team}" if team else name for name, team in teams.items()}
            usual = st.query_params.get("agent", "")
            agent = select(_("Agent"), names, f"coached:{usual}", usual=usual, width=260)
            team = teams[agent] or None
        if agent:
            extent = read_extent(store, account.id, agent)
        period = choose_period("coaching period", extent, 30)
    if not agent:
        st.info(_("No dialogue names an agent yet."))
        return
    weeks = last_days(7 * WEEKS, period.last)
    since_ms = min(weeks.since_ms, period.before.since_ms)
    listed = coaching.list_dialogues(store, account.id, agent, since_ms, period.until_ms)
    scored = [one for one in listed if one.status == "scored"]
    span = (period.since_ms, period.until_ms)
    now = [one for one in scored if span[0] <= one.at_ms < span[1]]
    before = [one for one in scored if period.before.since_ms <= one.at_ms < period.before.until_ms]
    rates = coaching.compare_codes(store, account.id, agent, *span, team)
    st.caption(safe_markdown(_("Agent {name}: {days}.").format(name=agent, days=period.compared_text())))
    if extent is not None:
        whole, totals = Period(*extent), partial(read_totals, store, account.id, agent=agent)
        n_all = totals(whole.since_ms, whole.until_ms).stored
        show_outside("coaching period", totals(*span).stored, n_all)
    if len(listed) == coaching.MAX_DIALOGUES:
        text = _("Only the newest {n} dialogues of the agent are counted here; there may be more.")
        st.caption(safe_markdown(text.format(n=show_number(coaching.MAX_DIALOGUES))))
    score = estimate_score(read_scores(store, account.id, "total", *span, agent=agent).get("", ()))
    _show_tiles(now, before, score, agent if is_lead else None, period)
    with st.expander(_("What the reviewed score is made of")):
        read = explore_address(agent=agent, status="reviewed", **period.filters) if is_lead else None
        show_score_parts(score, read)
    left, right = st.columns(2, gap="medium")
    with left:
        _show_trend(scored, weeks)
    with right:
        _show_codes(rates, load_taxonomy())
        if n := sum(one.n_changed for one in now):
            corrected = ngettext(
                "{n} error that a reviewer corrected is not counted here.",
                "{n} errors that a reviewer corrected are not counted here.", n,
            )  # fmt: skip
            st.caption(safe_markdown(corrected))
    _show_dialogues(store, account, agent, now, is_lead=is_lead)
    show_notes(store, account, agent, [one.dialogue for one in now], is_lead=is_lead)


def _show_tiles(
    now: Sequence[coaching.CoachedDialogue],
    before: Sequence[coaching.CoachedDialogue],
    score: ReviewedScore,
    agent: str | None,
    period: Period,
) -> None:
    own, earlier = _count_errors(now), _count_errors(before)
    _confirmed, errors, n = own
    reviewed = sum(one.review == "reviewed" for one in now)
    confirmed = sum(len(one.confirmed) + one.n_changed for one in now)
    is_open = sum(one.n_open for one in now)

    is_clear = compare_partial([(own, earlier)])[0] in ("more", "fewer")

    def address(**filters: str) -> str | None:
        return None if agent is None else explore_address(agent=agent, **period.filters, **filters)

    with st.container(horizontal=True, gap="small"):
        show_tile(
            _("Scored dialogues"), show_number(n), ngettext("{n} reviewed", "{n} reviewed", reviewed),
            _("Dialogues of the agent that a release has judged."), address(),
        )  # fmt: skip
        show_tile(
            _("With an error"), show_percent(errors / n) if n else "–", interval_text(errors, n),
            paragraph("Dialogues with an error that"), address(kind="finding"),
        )  # fmt: skip
        show_tile(
            _("Confirmed errors"), show_number(confirmed),
            ngettext("{n} not decided yet", "{n} not decided yet", is_open),
            _("Errors that a reviewer confirmed, corrected or added."), address(status="reviewed"),
        )  # fmt: skip
        show_score_tile(score, address(status="reviewed"))
        show_tile(
            _("Change"),
            share_change(*own[1:], *earlier[1:]) if is_clear else _("not clear"),
            ngettext("{n} dialogue before", "{n} dialogues before", len(before)),
            paragraph("Change of the share of dialogues"), address(),
        )  # fmt: skip


def _count_errors(dialogues: Sequence[coaching.CoachedDialogue]) -> Partial:
    return (
        sum(one.has_confirmed for one in dialogues),
        sum(one.has_error for one in dialogues),
        len(dialogues),
    )


def _show_trend(scored: Sequence[coaching.CoachedDialogue], weeks: Period) -> None:
    st.markdown(f"**{safe_markdown(_('Dialogues with an error by week'))}**")
    marks = []
    for number in range(WEEKS):
        since_ms = weeks.since_ms + 7 * number * DAY_MS
        of_week = [one for one in scored if since_ms <= one.at_ms < since_ms + 7 * DAY_MS]
        if of_week:
            k, n = sum(one.has_error for one in of_week), len(of_week)
            label = f"{weeks.first + timedelta(days=7 * number):%m-%d}"
            marks.append(ShareMark.of(label, k, n, _("share, with its interval")))
    if not marks:
        st.caption(_("No scored dialogue in these twelve weeks."))
        return
    alt = _("Share of the agent's dialogues with an error by week, with intervals; {n} weeks.").format(
        n=show_number(len(marks))
    )
    draw_shares(marks, _("With an error"), alt, by_week=True)
    st.caption(_("By the first day of the week. A line is the 95 % interval: short weeks say little."))


def _show_codes(rates: coaching.CodeRates, taxonomy: Taxonomy) -> None:
    st.markdown(f"**{safe_markdown(_('Confirmed errors against the others'))}**")
    confirmed = {code: k for code, (k, _n_errors) in rates.own.items() if k}
    codes = sorted(confirmed, key=lambda code: (-confirmed[code], code))[:N_CODES]
    if not codes or not rates.own_dialogues:
        st.caption(_("No confirmed error in this period."))
        return
    words = {
        "more": _("more"), "fewer": _("fewer"), "even": _("no clear difference"),
        "unknown": _("not enough evidence"),
    }  # fmt: skip
    pairs: list[tuple[Partial, Partial]] = []
    for code in codes:
        own, other = rates.own[code], rates.other.get(code, (0, 0))
        n, n_other = count_judged(code, rates.own_judged), count_judged(code, rates.other_judged)
        if n < own[1] or n_other < other[1]:  # people see errors that no release looks for
            n, n_other = rates.own_dialogues, rates.other_dialogues
        pairs.append(((*own, n), (*other, n_other)))
    marks, rows = [], []
    for code, (one, others), difference in zip(codes, pairs, compare_partial(pairs), strict=True):
        name, n_other = code_title(code, taxonomy), others[2]
        marks.append(ShareMark.of(name, one[0], one[2], _("this agent")))
        if n_other:
            marks.append(ShareMark.of(name, others[0], n_other, _("the others"), MUTED))
        shares = (share_of_text(k, n) for k, _errors, n in (one, others))
        rows.append((name, *shares, words[difference]))
    alt = _("Confirmed errors for each dialogue by code, of the agent and of the others, with intervals.")
    draw_shares(marks, _("Share of judged dialogues"), alt, n_rows=len(codes))
    with st.container(key="coaching errors"):
        show_table((_("Error"), _("This agent"), _("The others"), _("Difference")), rows)
    st.caption(paragraph("Judged are the scored dialogues"))
    if not rates.other_dialogues:
        st.caption(_("There are too few other agents to compare with: their own figures could be read off."))
        return
    n = rates.n_agents
    if rates.team is None:
        text = ngettext(
            "The others are {n} agent of all teams.", "The others are {n} agents of all teams.", n
        )
    elif not rates.team:
        text = ngettext(
            "The others are {n} agent without a team.", "The others are {n} agents without a team.", n
        )
    else:
        text = ngettext("The others are {n} agent of the team.", "The others are {n} agents of the team.", n)
    st.caption(safe_markdown(text))


def _show_dialogues(
    store: Store, account: Account, agent: str, now: Sequence[coaching.CoachedDialogue], *, is_lead: bool
) -> None:
    taxonomy = load_taxonomy()
    penalties: dict[str, float] = {level.code: level.penalty for level in taxonomy.severities}
    worst = sorted(
        (one for one in now if one.confirmed or one.n_changed),
        key=lambda one: (-sum(penalties.get(severity, 0.0) for _code, severity in one.confirmed), -one.at_ms),
    )[:N_DIALOGUES]
    best = sorted(
        (one for one in now if not one.has_error and (one.quality is not None or one.review == "reviewed")),
        key=lambda one: (one.review != "reviewed", -(one.quality or 0.0), -one.at_ms),
    )[:N_DIALOGUES]

    confirmed = coaching.read_confirmed(store, account.id, agent, [one.dialogue for one in worst])
    decisions = {
        "confirmed": _("confirmed"), "changed": _("corrected by a reviewer"),
        "added": _("added by a reviewer"),
    }  # fmt: skip
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown(f"**{safe_markdown(_('Dialogues to talk about'))}**")
        if not worst:
            st.caption(_("No confirmed error in this period."))
        for one in worst:
            with st.container(border=True, gap="xsmall"):
                day = show_day(from_ms(one.at_ms))
                st.markdown(f"**{dialogue_link(one.dialogue, is_open=is_lead)}** · {safe_markdown(day)}")
                for finding, decision in confirmed[one.dialogue]:
                    place = _("turn {n}, {decision}").format(n=finding.turn, decision=decisions[decision])
                    titles = (code_title(finding.code, taxonomy), severity_title(finding.severity, taxonomy))
                    st.markdown(safe_markdown(" · ".join((*titles, place))))
                    st.caption(safe_markdown(f"“{finding.quote}”"))
                    if finding.reason:
                        st.caption(safe_markdown(finding.reason))
    with right:
        st.markdown(f"**{safe_markdown(_('Dialogues that went well'))}**")
        if not best:
            st.caption(_("No dialogue without an error in this period."))
        with st.container(border=bool(best), gap="xsmall"):
            for one in best:
                is_read = one.review == "reviewed"
                status = _("reviewed, no error") if is_read else _("no finding, not reviewed")
                status = f"{show_day(from_ms(one.at_ms))} · {status}"
                st.markdown(f"**{dialogue_link(one.dialogue, is_open=is_lead)}** · {safe_markdown(status)}")


NOTICE = "coaching"
PER_PAGE = 10
ABOUT_AGENT = ""
SENT = "notes sent"
"""Key in session state: how many notes were sent to each agent, changed in place."""


def show_notes(
    store: Store, account: Account, agent: str, dialogues: Sequence[str], *, is_lead: bool
) -> None:
    """Show the newest notes to an agent; a lead can write one, and the agent acknowledges them."""
    notes = coaching.list_notes(store, account.id, agent, n=PER_PAGE)
    st.markdown(f"**{safe_markdown(_('Notes'))}**")
    show_notice(NOTICE)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if not notes:
            st.caption(_("No notes yet."))
        for note in notes:
            _show_note(store, account, note)
        if len(notes) == PER_PAGE:
            st.caption(safe_markdown(ngettext("The newest {n} note.", "The newest {n} notes.", PER_PAGE)))
    with right:
        if is_lead:
            _show_form(store, account, agent, dialogues)
        else:
            st.caption(paragraph("Your leads write here. Acknowledging"))


def _show_note(store: Store, account: Account, note: coaching.Note) -> None:
    with st.container(border=True, gap="xsmall"):
        written = _("{author}, {day}").format(author=note.author, day=show_day(from_ms(note.at_ms)))
        about = "" if note.dialogue is None else _(" · about dialogue {name}").format(name=note.dialogue)
        st.caption(safe_markdown(written + about))
        st.text(safe_text(note.content))
        if note.acknowledged_ms is not None:
            st.caption(
                safe_markdown(
                    _("✓ Acknowledged on {day}").format(day=show_day(from_ms(note.acknowledged_ms)))
                )
            )
        elif account.agent == note.agent:

            def acknowledge() -> None:
                with report_refusals(NOTICE):
                    coaching.acknowledge_note(store, account.id, note.id)

            st.button(_("I have read it"), key=f"acknowledge:{note.id}", type="primary", on_click=acknowledge)
        else:
            st.caption(_("Not acknowledged yet"))


def _show_form(store: Store, account: Account, agent: str, dialogues: Sequence[str]) -> None:
    """Show the form for a note. Its key changes after a note, so that a second click on the old form sends
    nothing."""
    sent: Counter[str] = st.session_state.setdefault(SENT, Counter())
    number = sent[agent]
    text, about = f"note text:{agent}:{number}", f"note about:{agent}:{number}"

    def send() -> None:
        if sent[agent] != number:
            return
        chosen = st.session_state[text], st.session_state[about]
        with report_refusals(NOTICE):
            coaching.write_note(store, account.id, agent, chosen[0], chosen[1] or None)
            sent[agent] += 1
            set_notice(NOTICE, "success", _("The note was sent."))

    with st.form(f"note:{agent}:{number}"):
        st.text_area(
            _("Write a note that the agent reads"), max_chars=coaching.MAX_CHARACTERS, height=120, key=text
        )
        select(
            _("About"),
            {name: name or _("the agent's work as a whole") for name in [ABOUT_AGENT, *dialogues[:200]]},
            about,
        )
        st.form_submit_button(_("Send the note"), type="primary", on_click=send)
