"""The Accounts page: an administrator makes accounts and opens or closes them."""

from __future__ import annotations

from typing import get_args

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.plain import inert, visible
from dialint.app.console.session import SESSIONS
from dialint.app.store_session import one_time_password
from dialint.detector.errors import DialintError
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, AccountRole


def accounts_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader("Accounts", anchor=False)
    if (made := st.session_state.pop("made account", None)) is not None:
        st.success("Tell this password to its owner. It is shown once and works for one sign-in.")
        st.code(visible(f"{made[0]}  {made[1]}"), language=None)
    if (said := st.session_state.pop("accounts said", None)) is not None:
        st.error(inert(said))
    known = accounts.listed(store, account.id)
    columns = ("id", "role", "status")
    st.table({name: [inert(getattr(each, name)) for each in known] for name in columns})
    with st.form("new account", clear_on_submit=True):
        st.markdown("**New account**")
        name = st.text_input("Name", max_chars=200)
        role = st.selectbox("Role", get_args(AccountRole), format_func=visible)
        if st.form_submit_button("Make account", type="primary"):
            _make(store, account, name.strip(), role)
    others = [each.id for each in known if each.id != account.id]
    if others:
        with st.form("change account"):
            st.markdown("**Change an account**")
            other = st.selectbox("Account", others, format_func=visible)
            step = st.selectbox(
                "What", ("New one-time password", "Close (suspend)", "Open again"), format_func=visible
            )
            if st.form_submit_button("Do it"):
                _change(store, account, other, step)


def _make(store: Store, account: Account, name: str, role: AccountRole) -> None:
    password = one_time_password()
    try:
        accounts.create(store, account.id, Account(id=name, role=role), password)
        st.session_state["made account"] = (name, password)
    except ValidationError:
        st.session_state["accounts said"] = "A name has 1 to 200 characters and no control characters."
    except DialintError as refused:
        st.session_state["accounts said"] = refused.message
    st.rerun()


def _change(store: Store, account: Account, other: str, step: str) -> None:
    try:
        if step.startswith("New"):
            password = one_time_password()
            accounts.set_password(store, account.id, other, password)
            st.session_state["made account"] = (other, password)
        else:
            accounts.set_status(store, account.id, other, "active" if step == "Open again" else "suspended")
        if step != "Open again":
            SESSIONS.end_all(other)
    except DialintError as refused:
        st.session_state["accounts said"] = refused.message
    st.rerun()
