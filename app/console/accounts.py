"""The Accounts page: an administrator creates accounts, and opens or closes them."""

from __future__ import annotations

from typing import get_args

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.auth import SESSIONS
from dialint.app.console.text import safe_markdown, safe_text
from dialint.app.store_session import one_time_password
from dialint.detector.errors import DialintError
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, AccountRole


def accounts_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader("Accounts", anchor=False)
    if (created := st.session_state.pop("made account", None)) is not None:
        st.success("Tell this password to its owner. It is shown once and works for one sign-in.")
        st.code(safe_text(f"{created[0]}  {created[1]}"), language=None)
    if (message := st.session_state.pop("accounts error", None)) is not None:
        st.error(safe_markdown(message))
    listed = accounts.list_accounts(store, account.id)
    columns = ("id", "role", "status")
    st.table({name: [safe_markdown(getattr(each, name)) for each in listed] for name in columns})
    with st.form("new account", clear_on_submit=True):
        st.markdown("**New account**")
        name = st.text_input("Name", max_chars=200)
        role = st.selectbox("Role", get_args(AccountRole), format_func=safe_text)
        if st.form_submit_button("Make account", type="primary"):
            _create(store, account, name.strip(), role)
    others = [each.id for each in listed if each.id != account.id]
    if others:
        with st.form("change account"):
            st.markdown("**Change an account**")
            other = st.selectbox("Account", others, format_func=safe_text)
            action = st.selectbox(
                "What", ("New one-time password", "Close (suspend)", "Open again"), format_func=safe_text
            )
            if st.form_submit_button("Do it"):
                _change(store, account, other, action)


def _create(store: Store, account: Account, name: str, role: AccountRole) -> None:
    password = one_time_password()
    try:
        accounts.create(store, account.id, Account(id=name, role=role), password)
        st.session_state["made account"] = (name, password)
    except ValidationError:
        st.session_state["accounts error"] = "A name has 1 to 200 characters and no control characters."
    except DialintError as refused:
        st.session_state["accounts error"] = refused.message
    st.rerun()


def _change(store: Store, account: Account, other: str, action: str) -> None:
    try:
        if action.startswith("New"):
            password = one_time_password()
            accounts.set_password(store, account.id, other, password)
            st.session_state["made account"] = (other, password)
        else:
            accounts.set_status(store, account.id, other, "active" if action == "Open again" else "suspended")
        if action != "Open again":
            SESSIONS.end_all(other)
    except DialintError as refused:
        st.session_state["accounts error"] = refused.message
    st.rerun()
