"""The Calibration page: sessions in which people answer the same items blind, and then compare.

Members work on the Label page. The store shows a member no answer of others before the session is over, and
then pseudonyms; a lead sees everything at any time, starts sessions and closes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import streamlit as st

from dialint.app.console.charts import MARKED, MUTED, STRONG, ShareMark, draw_shares
from dialint.app.console.i18n import (
    _,
    choose_name,
    ngettext,
    paragraph,
    show_day,
    show_number,
    show_percent,
    show_time,
)
from dialint.app.console.messages import attempt, report_refusals, show_notice
from dialint.app.console.tables import estimate_text, select, show_table
from dialint.app.console.tasks.dialogue_view import Mark, show_marked_dialogue
from dialint.app.console.text import code_title, explain_code, lookup_code, safe_markdown, safe_text
from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.adjudication.calibration_session import (
    ALL,
    CalibrationConfig,
    DisputedQuestion,
    Leans,
    SessionResults,
    load_results,
    start_session,
)
from dialint.labeling.store import accounts, projects
from dialint.labeling.store.api import Store
from dialint.labeling.store.calibration_sessions import (
    MAX_NOTE,
    CalibrationSession,
    list_sessions,
    load_item,
    load_note,
    save_note,
)
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, Conflict
from dialint.labeling.store.tasks import Design


def calibration_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    show_notice("calibration")
    taxonomy = load_taxonomy()
    plans = has_permission(account, "plan")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader(
            _("Calibration"), anchor=False,
            help=paragraph("The same items to everybody"),
        )  # fmt: skip
        if plans:
            with st.popover(_("New session")):
                show_session_form(store, account, taxonomy)
    sessions = list_sessions(store, account.id)
    if not sessions:
        st.info(_("No session so far. A lead starts one with at least two people and a few dialogues."))
        return
    by_name = {one.project.id: one for one in sessions}
    titles = {}
    for name, one in by_name.items():
        n_answers, total = sum(each.answered for each in one.members), one.items * len(one.members)
        state = _("open, {given} of {total} answers").format(
            given=show_number(n_answers), total=show_number(total)
        )
        if one.is_over:
            state = _("closed") if one.is_closed else _("all have answered")
        titles[name] = f"{name} · {state}"
    first = next((name for name, one in by_name.items() if one.is_over), None)
    session = by_name[select(_("Session"), titles, f"calibration session:{len(titles)}", usual=first)]
    facts = (
        _("started {day}").format(day=show_day(session.created)),
        ngettext("{n} item", "{n} items", session.items),
        ngettext("{n} person", "{n} people", len(session.members)),
        _("codes {codes}").format(codes=" ".join(session.project.codes)),
    )
    st.caption(safe_markdown(" · ".join(facts)))
    _show_progress(account, session, plans=plans)
    if plans:
        show_state_button(store, account, session)
    if session.is_over or (plans and any(member.answered for member in session.members)):
        show_results(store, account, session, list(sessions), taxonomy)


def _show_progress(account: Account, session: CalibrationSession, *, plans: bool) -> None:
    own = next((member for member in session.members if member.name == account.id), None)
    if own is not None and not session.is_over:
        left = session.items - own.answered
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            if left > 0:
                text = ngettext("You have {n} item left.", "You have {n} items left.", left)
                where = _("They are on the page Label, in the project {name}.").format(
                    name=session.project.id
                )
                st.markdown(safe_markdown(f"{text} {where}"))
                st.link_button(_("Go to Label"), "/label", type="primary")
            else:
                st.markdown(paragraph("You have answered everything."))
    if plans and not session.is_over:
        show_table(
            (_("Person"), _("Answered"), _("Left")),
            (
                (member.name, show_number(member.answered), show_number(session.items - member.answered))
                for member in session.members
            ),
        )


MAX_ITEMS = 200


def show_session_form(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    """Show a form for a new session: members, dialogues, codes."""
    people = [one.id for one in accounts.list_accounts(store, account.id) if has_permission(one, "label")]
    designs: dict[Design, str] = {
        "random": _("at random"), "risk": _("risky ones first"), "uncertain": _("unsure ones first"),
        "stratified": _("spread over agents, teams and channels"), "audit": _("without a finding"),
    }  # fmt: skip
    assert set(designs) == set(get_args(Design))
    with st.form("new session", border=False):
        name = st.text_input(_("Name"), max_chars=200)
        members = st.multiselect(_("Who"), people, format_func=safe_text)
        codes = st.multiselect(
            _("Codes"), list(taxonomy.codes),
            format_func=lambda each: safe_text(code_title(each, taxonomy)),
        )  # fmt: skip
        n = st.number_input(
            _("Dialogues"), 1, MAX_ITEMS, 12,
            help=_("With fewer than 8 there are no intervals. 12 to 20 take an hour."),
        )  # fmt: skip
        design = select(_("Chosen"), designs)
        chosen = st.text_area(
            _("Or the ids of the dialogues, one a line"), height=80,
            help=_("Instead of a sample: for instance those on which an appeal was decided."),
        )  # fmt: skip
        instructions = st.text_area(_("Instructions"), height=80)
        if st.form_submit_button(_("Start the session"), type="primary"):
            with attempt("calibration") as done:
                ids = tuple(line.strip() for line in chosen.splitlines() if line.strip())
                config = CalibrationConfig(
                    name=name.strip(), codes=tuple(codes), members=tuple(members), n=int(n), design=design,
                    dialogues=ids, instructions=instructions,
                )  # fmt: skip
                started = start_session(store, account.id, config, taxonomy)
                text = ngettext(
                    "The session is started, with {n} item.", "The session is started, with {n} items.",
                    started.tasks,
                )  # fmt: skip
                done(text)


def show_state_button(store: Store, account: Account, session: CalibrationSession) -> None:
    """Show the button that closes a session, which shows its results to the members, or opens it again."""

    def set_state() -> None:
        with report_refusals("calibration"):
            state = "open" if session.is_closed else "closed"
            projects.set_state(store, account.id, session.project.id, state)

    st.button(
        _("Open it again") if session.is_closed else _("Close the session"), on_click=set_state,
        key=f"state:{session.project.id}:{session.is_closed}",
        help=None if session.is_closed else _("Nobody answers any more, and the members see the results."),
    )  # fmt: skip


MAX_QUOTE = 70
COLORS: dict[Leans, str] = {"strict": MARKED, "lenient": STRONG, "even": MUTED, "too few": MUTED}


def show_results(
    store: Store,
    account: Account,
    session: CalibrationSession,
    sessions: Sequence[CalibrationSession],
    taxonomy: Taxonomy,
) -> None:
    """Show the results of `session`, compared with those of the session before."""
    name = session.project.id
    earlier = [one for one in sessions if one.created < session.created and one.is_over]
    before = earlier[0].project.id if earlier else None
    key = (account.id, account.role, session, earlier[:1])
    cached = st.session_state.get("calibration results")
    if cached is None or cached[0] != key:  # the store decides anew whenever something changes
        try:
            cached = (key, load_results(store, account.id, name, before, taxonomy))
        except ConfigError:
            st.info(_("Nobody has answered anything yet."))
            return
        st.session_state["calibration results"] = cached
    results: SessionResults = cached[1]
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**{safe_markdown(_('Agreement by code'))}**")
        headings, rows = [_("Code"), _("Alpha (95 % interval)"), _("Questions")], []
        if results.before is not None:
            headings.append(_("Before"))
        for one in results.agreement:
            row = [code_title(one.code, taxonomy), estimate_text(one.now), show_number(one.now.n)]
            before_text = "–" if one.before is None else estimate_text(one.before)
            rows.append([*row, *([before_text] if results.before is not None else [])])
        show_table(headings, rows)
        st.caption(paragraph("Krippendorff's alpha: 1 is"))
    with right:
        st.markdown(f"**{safe_markdown(_('Strict and lenient'))}**")
        _show_leanings(results, account)
    st.markdown(f"**{safe_markdown(_('What to talk about'))}**")
    if results.disputed:
        _show_disputed(store, account, session, results.disputed, taxonomy)
    else:
        st.success(_("No question divides the group."))
    _show_note(store, account, name)


def _show_leanings(results: SessionResults, account: Account) -> None:
    words: dict[Leans, str] = {
        "strict": _("strict"), "lenient": _("lenient"), "even": _("no lean shown"),
        "too few": _("too few dialogues"),
    }  # fmt: skip
    marks = []
    for one in results.biases:
        if one.code != ALL:
            continue
        estimate, has_interval = one.difference, one.leans != "too few"
        who = _("you ({name})").format(name=one.worker) if one.worker == account.id else one.worker
        marks.append(
            ShareMark(
                who, estimate.value, estimate.low if has_interval else estimate.value,
                estimate.high if has_interval else estimate.value, words[one.leans], COLORS[one.leans],
                estimate_text(estimate, signed=True),
            )
        )  # fmt: skip
    draw_shares(
        marks, _("Yes more often than the others"),
        _("How much more or less often each person says yes than the others, with 95 % intervals"), 0.0,
        n_rows=len(marks) + 1,
    )  # fmt: skip
    leaning = [one for one in results.biases if one.code != ALL and one.leans in ("strict", "lenient")]
    if leaning:
        show_table(
            (_("Person"), _("Code"), _("Yes"), _("Others"), _("Difference"), _("Leans")),
            (
                (
                    one.worker, one.code, show_percent(one.yes), show_percent(one.others),
                    estimate_text(one.difference, signed=True), words[one.leans],
                )
                for one in leaning
            ),
        )  # fmt: skip
    st.caption(paragraph("Own answer less the mean of"))


def _show_disputed(
    store: Store, account: Account, session: CalibrationSession, disputed: Sequence[DisputedQuestion],
    taxonomy: Taxonomy,
) -> None:  # fmt: skip
    titles = {}
    for number, one in enumerate(disputed):
        where = "" if one.turn is None else _(", turn {turn}").format(turn=one.turn)
        split = _("{yes} of {n} say yes").format(yes=one.n_yes, n=len(one.votes))
        titles[number] = f"{code_title(one.code, taxonomy)} · {one.dialogue}{where} · {split}"
    label = _("Disputed questions, most divided first: {n}").format(n=show_number(len(disputed)))
    one = disputed[select(safe_text(label), titles, f"disputed:{session.project.id}")]
    left, right = st.columns([11, 9], gap="medium")
    with right:
        yes = [who for who, vote in one.votes.items() if vote]
        no = [who for who, vote in one.votes.items() if not vote]
        for_yes, for_no = st.columns(2)
        with for_yes, st.container(border=True):
            st.markdown(f"**{safe_markdown(_('Yes, an error'))}**")
            for who in yes:
                st.text(safe_text(f"✓ {who}"))
                for finding in one.votes[who]:
                    quote = finding.quote[:MAX_QUOTE] + ("…" if len(finding.quote) > MAX_QUOTE else "")
                    st.caption(safe_markdown(f"{finding.severity} “{quote}”"))
        with for_no, st.container(border=True):
            st.markdown(f"**{safe_markdown(_('No'))}**")
            st.text(safe_text("\n".join(f"✗ {who}" for who in no)))
        with st.container(border=True):
            entry = lookup_code(one.code, taxonomy)
            st.markdown(f"**{safe_markdown(f'{entry.code} {choose_name(entry.name)}')}**")
            st.markdown(explain_code(entry))
    with left:
        if not has_permission(account, "plan") and account.id not in one.votes:
            st.info(_("You have not answered this item, so its dialogue is not shown."))
            return
        dialogue = load_item(store, account.id, session.project.id, one.task)
        marks = [
            Mark.of(each, f"{who} {one.code}") for who, findings in one.votes.items() for each in findings
        ]
        show_marked_dialogue(dialogue, marks, one.turn, f"disputed:{one.task}:{one.code}:{one.turn}")


def _show_note(store: Store, account: Account, name: str) -> None:
    """Show the note of the discussion. The saved one stands above the field if it differs: it may be newer
    than what was loaded."""
    note = load_note(store, account.id, name)
    st.markdown(f"**{safe_markdown(_('Note of the discussion'))}**")
    if note is not None:
        written = _("by {author}, {time}").format(author=note.author, time=show_time(note.at))
        st.caption(safe_markdown(written))
    if not has_permission(account, "plan"):
        st.text(safe_text(note.text if note is not None else _("No note yet.")))
        return
    key, seen = f"note:{name}", f"note seen:{name}"
    st.session_state.setdefault(seen, note)
    text = st.session_state.setdefault(key, "" if note is None else note.text)
    if note is not None and note.text != text:
        st.text(safe_text(note.text))
    st.text_area(_("Note, which all members read"), key=key, height=110, max_chars=MAX_NOTE)

    def save() -> None:
        text, base = str(st.session_state[key]), st.session_state[seen]
        with report_refusals("calibration"):
            try:
                st.session_state[seen] = save_note(store, account.id, name, text, base)
            except Conflict as conflict:
                st.session_state[seen] = conflict.theirs[-1]
                raise

    st.button(_("Save the note"), key=f"save note:{name}", on_click=save)
