"""The Calibration page: sessions in which people answer the same items blind, and then compare.

Members work on the Label page. The store shows a member no answer of others before the session is over, and
then pseudonyms; a lead sees everything at any time.
"""

from __future__ import annotations

import streamlit as st

from dialint.app.console.adjudication.calibration_forms import manage_form, start_form
from dialint.app.console.adjudication.calibration_results import show_results
from dialint.app.console.i18n import _, ngettext, show_day, show_number
from dialint.app.console.notices import show_notice
from dialint.app.console.tables import show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.calibration_sessions import Session, list_sessions
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account


def calibration_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    show_notice("calibration")
    taxonomy = load_taxonomy()
    plans = has_permission(account, "plan")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader(
            _("Calibration"), anchor=False,
            help=_(
                "The same items to everybody, answered blind, then compared: who is strict, who lenient, and "
                "which questions need a talk. It says how far people agree, not who is right."
            ),
        )  # fmt: skip
        if plans:
            with st.popover(_("New session")):
                start_form(store, account, taxonomy)
    sessions = list_sessions(store, account.id)
    if not sessions:
        st.info(_("No session so far. A lead starts one with at least two people and a few dialogues."))
        return
    by_name = {one.project.id: one for one in sessions}
    titles = {name: f"{name} · {_state_text(one)}" for name, one in by_name.items()}
    names = list(by_name)
    first = next((n for n, name in enumerate(names) if by_name[name].is_over), 0)
    chosen = st.selectbox(
        _("Session"), names, index=first, key=f"calibration session:{len(names)}",
        format_func=lambda each: safe_text(titles[each]),
    )  # fmt: skip
    session = by_name[chosen]
    facts = (
        _("started {day}").format(day=show_day(session.created)),
        ngettext("{n} item", "{n} items", session.items),
        ngettext("{n} person", "{n} people", len(session.members)),
        _("codes {codes}").format(codes=" ".join(session.project.codes)),
    )
    st.caption(safe_markdown(" · ".join(facts)))
    _show_progress(account, session, plans=plans)
    if plans:
        manage_form(store, account, session)
    if session.is_over or (plans and any(member.answered for member in session.members)):
        show_results(store, account, session, list(sessions), taxonomy)


def _state_text(session: Session) -> str:
    if session.is_closed:
        return _("closed")
    if session.is_over:
        return _("all have answered")
    total = session.items * len(session.members)
    n_answers = sum(member.answered for member in session.members)
    return _("open, {given} of {total} answers").format(
        given=show_number(n_answers), total=show_number(total)
    )


def _show_progress(account: Account, session: Session, *, plans: bool) -> None:
    """What is left to do: one's own items, and for leads those of everybody."""
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
                st.markdown(
                    _(
                        "You have answered everything. Results are shown when all have, or when a lead "
                        "closes the session: until then they would spoil blind answers."
                    )
                )
    if plans and not session.is_over:
        show_table(
            (_("Person"), _("Answered"), _("Left")),
            (
                (member.name, show_number(member.answered), show_number(session.items - member.answered))
                for member in session.members
            ),
        )
