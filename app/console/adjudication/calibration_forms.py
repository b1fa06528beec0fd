"""What a lead does with calibration sessions: start one, close it, open it again."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from dialint.app.console.i18n import _, choose_name, ngettext
from dialint.app.console.notices import report_refusals, set_notice
from dialint.app.console.text import safe_text
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.adjudication.calibration_session import CalibrationConfig, start_session
from dialint.labeling.store import accounts, projects
from dialint.labeling.store.calibration_sessions import Session
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account
from dialint.labeling.store.tasks import Design

MAX_ITEMS = 200


def start_form(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    """A form for a new session: who, which dialogues, which codes."""
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
            format_func=lambda each: safe_text(f"{each} {choose_name(taxonomy.codes[each].name)}"),
        )  # fmt: skip
        n = st.number_input(
            _("Dialogues"), 1, MAX_ITEMS, 12,
            help=_("With fewer than 8 there are no intervals. 12 to 20 take an hour."),
        )  # fmt: skip
        design = st.selectbox(_("Chosen"), list(designs), format_func=lambda each: safe_text(designs[each]))
        chosen = st.text_area(
            _("Or the ids of the dialogues, one a line"), height=80,
            help=_("Instead of a sample: for instance those on which an appeal was decided."),
        )  # fmt: skip
        instructions = st.text_area(_("Instructions"), height=80)
        if st.form_submit_button(_("Start the session"), type="primary"):
            with report_refusals("calibration"):
                ids = tuple(line.strip() for line in chosen.splitlines() if line.strip())
                config = CalibrationConfig(
                    name=name.strip(), codes=tuple(codes), members=tuple(members), n=int(n), design=design,
                    dialogues=ids, instructions=instructions,
                )  # fmt: skip
                started = start_session(store, account.id, config, taxonomy)
                done = ngettext(
                    "The session is started, with {n} item.", "The session is started, with {n} items.",
                    started.tasks,
                )  # fmt: skip
                set_notice("calibration", "success", done)
            st.rerun()


def manage_form(store: Store, account: Account, session: Session) -> None:
    """Close a session, which shows its results to the members, or open it again."""

    def set_state(state: str) -> None:
        with report_refusals("calibration"):
            projects.set_state(store, account.id, session.project.id, state)

    if session.is_closed:
        st.button(_("Open it again"), key=f"reopen:{session.project.id}", on_click=set_state, args=("open",))
    else:
        st.button(
            _("Close the session"), key=f"close:{session.project.id}", on_click=set_state, args=("closed",),
            help=_("Nobody answers any more, and the members see the results."),
        )  # fmt: skip
