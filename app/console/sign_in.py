"""Sign in, choose a password of one's own, sign out.

A password that an administrator or the first start made begins with ``once-``: it opens this page only,
and the account goes on with another. Nobody may choose such a one.
"""

from __future__ import annotations

import streamlit as st

from app.console.plain import inert
from app.console.session import SESSIONS
from app.passwords import ONCE
from detector.errors import DialintError
from labeling.store import accounts
from labeling.store.database.refusals import NotAllowed
from labeling.store.database.transactions import Store
from labeling.store.records import Account
from labeling.store.rights import account_of

TOKEN, MUST_CHANGE = "token", "must change"
"""Names in session state."""


def signed_in(store: Store) -> Account | None:
    """The account of this page's session, as the store has it now; none if it ran out or was closed."""
    name = SESSIONS.account(st.session_state.get(TOKEN))
    account = None if name is None else store.read(lambda transaction: account_of(transaction, name))
    if account is not None and account.status in ("active", "training"):
        return account
    if TOKEN in st.session_state:
        sign_out()
        st.session_state["ended"] = True
    return None


def sign_out() -> None:
    """End the session, and forget all that this page held."""
    SESSIONS.end(st.session_state.get(TOKEN))
    for name in list(st.session_state.keys()):
        del st.session_state[name]


def sign_in_page(store: Store) -> None:
    """Name and password."""
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        st.title("dialint", anchor=False)
        if st.session_state.pop("ended", False):
            st.info("You were signed out after a pause. Drafts are kept.")
        with st.form("sign in", enter_to_submit=True):
            name = st.text_input("Name", max_chars=200, autocomplete="username")
            password = st.text_input(
                "Password", type="password", max_chars=1000, autocomplete="current-password"
            )
            pressed = st.form_submit_button("Sign in", type="primary")
        if pressed:
            _try(store, name.strip(), password)


def _try(store: Store, name: str, password: str) -> None:
    wait_s = SESSIONS.wait_s(name)
    if wait_s > 0:
        st.error(f"Too many wrong passwords for this name. Try again in {wait_s:.0f} seconds.")
        return
    try:
        account = accounts.sign_in(store, name, password)
    except NotAllowed:
        SESSIONS.wrong(name)
        st.error("The name or the password is wrong, or the account is closed.")
        return
    except DialintError as failed:
        st.error(inert(failed.message))
        return
    st.session_state[TOKEN] = SESSIONS.begin(account.id)
    st.session_state[MUST_CHANGE] = password.startswith(ONCE)
    st.rerun()


def must_change() -> bool:
    """Whether this session has only a one-time password so far."""
    return bool(st.session_state.get(MUST_CHANGE))


def password_page(store: Store, account: Account) -> None:
    """Change one's own password."""
    st.subheader("Your account", anchor=False)
    st.text(f"{account.id}, {account.role}")
    if must_change():
        st.info("Your password was for one time. Choose your own to go on.")
    with st.form("password", clear_on_submit=True):
        old = st.text_input("Password now", type="password", autocomplete="current-password")
        new = st.text_input("New password", type="password", autocomplete="new-password")
        again = st.text_input("New password again", type="password", autocomplete="new-password")
        st.caption(f"At least {accounts.MIN_PASSWORD} characters.")
        pressed = st.form_submit_button("Change password", type="primary")
    if pressed:
        _change(store, account, old, new, again)


def _change(store: Store, account: Account, old: str, new: str, again: str) -> None:
    if new != again:
        st.error("The two new passwords differ.")
        return
    if new.startswith(ONCE) or new == old:
        st.error("Choose another password.")
        return
    wait_s = SESSIONS.wait_s(account.id)
    if wait_s > 0:
        st.error(f"Too many wrong passwords for this name. Try again in {wait_s:.0f} seconds.")
        return
    try:
        accounts.sign_in(store, account.id, old)
        accounts.set_password(store, account.id, account.id, new)
    except NotAllowed:
        SESSIONS.wrong(account.id)
        st.error("The password now is wrong.")
        return
    except DialintError as failed:
        st.error(inert(failed.message))
        return
    st.session_state[MUST_CHANGE] = False
    SESSIONS.end_all(account.id, but=st.session_state.get(TOKEN))
    st.session_state["password changed"] = True
    st.rerun()
