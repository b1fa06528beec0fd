"""Sign in, choose a password of one's own, sign out.

A password that an administrator or the first start made opens nothing; the store says so, and the person
chooses another one here.
"""

from __future__ import annotations

import math

import streamlit as st

from dialint.app.console.guard import browser_of
from dialint.app.console.plain import inert, visible
from dialint.app.console.session import SESSIONS, THROTTLE
from dialint.app.console.throttle import Client
from dialint.detector.errors import DialintError
from dialint.labeling.store import passwords
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import MustChoose, NotAllowed
from dialint.labeling.store.records import Account

TOKEN, CHOOSING = "token", "choosing"
"""Names in session state: of the session, and of who is to choose a password before there is one."""


def client() -> Client:
    """Who is at the other end of this page's connection, as it is now."""
    return Client(st.context.ip_address or "local", browser_of(st.context.cookies))


def signed_in(store: Store) -> Account | None:
    """The account of this page's session, as the store has it now; none if it ran out or was closed, or
    belongs to another browser."""
    name = SESSIONS.account(st.session_state.get(TOKEN), client().browser)
    account = None if name is None else passwords.signed_in(store, name)
    if account is None and TOKEN in st.session_state:
        sign_out()
        st.session_state["ended"] = True
    return account


def sign_out() -> None:
    """End the session, and forget all that this page held."""
    SESSIONS.end(st.session_state.get(TOKEN))
    for name in list(st.session_state.keys()):
        del st.session_state[name]


def sign_in_page(store: Store) -> None:
    """Name and password; after a password for one time, another one."""
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        st.title("dialint", anchor=False)
        if (name := st.session_state.get(CHOOSING)) is not None:
            st.info("Your password was for one time. Choose your own to go on.")
            _choose_form(store, name)
            st.button("Back", type="tertiary", on_click=sign_out)
            return
        if st.session_state.pop("ended", False):
            st.info("You were signed out. Drafts are kept.")
        with st.form("sign in", enter_to_submit=True):
            name = st.text_input("Name", max_chars=200, autocomplete="username").strip()
            password = st.text_input(
                "Password", type="password", max_chars=1000, autocomplete="current-password"
            )
            pressed = st.form_submit_button("Sign in", type="primary")
        if pressed:
            _try(store, name, password)


def _try(store: Store, name: str, password: str) -> None:
    who = client()
    if _waits(name, who):
        return
    try:
        account = passwords.sign_in(store, name, password)
        THROTTLE.succeeded(name, who)
        st.session_state[TOKEN] = SESSIONS.begin(account.id, who.browser)
    except MustChoose:
        THROTTLE.succeeded(name, who)
        st.session_state[CHOOSING] = name
    except NotAllowed:
        st.error("The name or the password is wrong, or the account is closed.")
        return
    except DialintError as failed:
        THROTTLE.undo(name, who)
        st.error(inert(failed.message))
        return
    st.rerun()


def _waits(name: str, who: Client) -> bool:
    """Count a try; whether it must not be made now, which is said."""
    wait_s = THROTTLE.admit(name, who)
    if wait_s > 0:
        st.error(inert(f"Too many wrong passwords. Try again in {math.ceil(wait_s)} seconds."))
    return wait_s > 0


def password_page(store: Store, account: Account) -> None:
    """Change one's own password."""
    st.subheader("Your account", anchor=False)
    st.text(visible(f"{account.id}, {account.role}"))
    _choose_form(store, account.id)


def _choose_form(store: Store, name: str) -> None:
    with st.form("password", clear_on_submit=True):
        old = st.text_input("Password now", type="password", autocomplete="current-password")
        new = st.text_input("New password", type="password", autocomplete="new-password")
        again = st.text_input("New password again", type="password", autocomplete="new-password")
        st.caption(inert(f"At least {passwords.MIN_PASSWORD} characters."))
        pressed = st.form_submit_button("Change password", type="primary")
    if pressed and new != again:
        st.error("The two new passwords differ.")
    elif pressed:
        _choose(store, name, old, new)


def _choose(store: Store, name: str, old: str, new: str) -> None:
    who = client()
    if _waits(name, who):
        return
    try:
        passwords.choose_password(store, name, old, new)
    except NotAllowed:
        st.error("The password now is wrong.")
        return
    except DialintError as refused:
        THROTTLE.undo(name, who)
        st.error(inert(f"{refused.message[:1].upper()}{refused.message[1:]}."))
        return
    THROTTLE.succeeded(name, who)
    SESSIONS.end_all(name)
    st.session_state.pop(CHOOSING, None)
    st.session_state[TOKEN] = SESSIONS.begin(name, who.browser)
    st.session_state["password changed"] = True
    st.rerun()
