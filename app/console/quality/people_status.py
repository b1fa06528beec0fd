"""The form in which a lead changes the status of an account, with a reason that the audit log keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from dialint.app.console.account_names import role_name, status_name
from dialint.app.console.attempts import attempt
from dialint.app.console.auth import SESSIONS
from dialint.app.console.i18n import _
from dialint.app.console.notices import show_notice
from dialint.app.console.tables import show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.rater_status import MAX_REASON, RaterStatus, change_status
from dialint.labeling.store.records import Account, Status

NOTICE = "status"
Change = Literal["suspend", "retrain", "reopen"]
STATUS_AFTER: dict[Change, Status] = {"suspend": "suspended", "retrain": "training", "reopen": "active"}


def show_status_form(
    store: Store, account: Account, accounts: Sequence[Account], statuses: dict[str, RaterStatus]
) -> None:
    """Show what the rules would do, and a form to do something. A lead changes labelers, an admin all others
    too; the store checks it."""
    st.markdown(f"**{safe_markdown(_('Change a status'))}**")
    show_notice(NOTICE)
    due = [each for each in statuses.values() if each.does != "keep"]
    if due:
        actions = {"retrain": _("retrain"), "suspend": _("suspend"), "admit": _("reopen"), "keep": _("keep")}
        show_table(
            (_("Who"), _("The rules say"), _("Why")),
            [(each.account, actions[each.does], each.why) for each in due],
        )
    else:
        st.caption(_("The rules ask for no change of anybody's status."))
    changeable = [
        each.id
        for each in accounts
        if each.id != account.id and (account.role == "admin" or each.role == "labeler")
    ]
    if not changeable:
        return
    by_name = {each.id: each for each in accounts}
    changes: dict[Change, str] = {
        "suspend": _("Suspend: no sign-in until reopened"),
        "retrain": _("Retrain: training and exam tasks only"),
        "reopen": _("Reopen: all work again"),
    }
    with st.form("change status"):
        name = st.selectbox(
            _("Account"), changeable, key="status account",
            format_func=lambda name: safe_text(
                f"{name} ({role_name(by_name[name].role)}, {status_name(by_name[name].status)})"
            ),
        )  # fmt: skip
        change = st.selectbox(
            _("Change"), list(changes), key="status change", format_func=lambda each: safe_text(changes[each])
        )
        reason = st.text_input(
            _("Reason, which the audit log keeps"), max_chars=MAX_REASON, key="status reason"
        )
        if st.form_submit_button(_("Change the status"), type="primary"):

            def change_it() -> str:
                change_status(store, account.id, name, STATUS_AFTER[change], reason)
                if change == "suspend":
                    SESSIONS.end_all(name)
                return _("{name}: the status was changed.").format(name=name)

            attempt(NOTICE, change_it, {"status reason": ""})
