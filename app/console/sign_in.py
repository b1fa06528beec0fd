"""The sign-in page, the password page, and signing out.

A one-time password, made by an administrator or at the first start, opens nothing: the store refuses it, and
the person chooses a new one here.
"""

from __future__ import annotations

import math
import os

import streamlit as st

from dialint.app.console.account_names import role_name
from dialint.app.console.auth import LOGIN, PROVIDER_VARIABLE, RATE_LIMITER, SESSIONS, Client
from dialint.app.console.i18n import _, ngettext
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.middleware import browser_id
from dialint.app.console.text import safe_html, safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.labeling.store import identities, passwords
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import MustChangePassword, NotAllowed
from dialint.labeling.store.records import Account

BUTTON_STYLE = (
    "display: block; padding: 0.5rem 1rem; text-align: center; color: inherit; text-decoration: none; "
    "border: 1px solid currentColor; border-radius: 0.4rem"
)
TOKEN, CHOOSING = "token", "choosing"
"""Keys in session state: the session's token, and the account that has to choose a password first."""


def current_client() -> Client:
    """The client at the other end of this page's connection."""
    return Client(st.context.ip_address or "local", browser_id(st.context.cookies))


def current_account(store: Store) -> Account | None:
    """The account of this page's session, as it is in the store; None if the session expired or belongs to
    another browser, or the account was closed. A new page of a browser that is signed in has its session."""
    browser, token = current_client().browser, st.session_state.get(TOKEN)
    if SESSIONS.account(token, browser) is None:
        if token is not None:  # it has ended, which says nothing of a newer session in another tab
            st.session_state.clear()
            st.session_state["ended"] = True
        token = SESSIONS.find(browser)
        if token is None:
            return None
        st.session_state.pop("ended", None)
        st.session_state[TOKEN] = token
    name = SESSIONS.account(token, browser)
    find = identities.find_linked if SESSIONS.is_by_identity(token) else passwords.find_signed_in
    account = None if name is None else find(store, name)
    if account is None:
        sign_out()
        st.session_state["ended"] = True
    return account


def sign_out() -> None:
    """End the sessions of this browser and clear the session state of this page."""
    SESSIONS.end(current_client().browser)
    st.session_state.clear()


def sign_in_page(store: Store) -> None:
    """Name and password; after a one-time password, the choice of a new one; or the company's provider."""
    with st.columns([1, 2, 1])[1]:
        st.title("dialint", anchor=False)
        if (name := st.session_state.get(CHOOSING)) is not None:
            st.info(_("Your password was for one time. Choose your own to go on."))
            _password_form(store, name)
            st.button(_("Back"), type="tertiary", on_click=sign_out)
            return
        if st.session_state.pop("ended", False):
            st.info(_("You were signed out. Drafts are kept."))
        if (provider := os.environ.get(PROVIDER_VARIABLE)) is not None:
            label = _("Sign in by {provider}").format(provider=provider)
            # a link of our own, as Streamlit's open another tab
            st.html(f'<a style="{BUTTON_STYLE}" href="{LOGIN}" target="_self">{safe_html(label)}</a>')
        with st.form("sign in", enter_to_submit=True):
            name = st.text_input(_("Name"), max_chars=200, autocomplete="username").strip()
            password = st.text_input(
                _("Password"), type="password", max_chars=1000, autocomplete="current-password"
            )
            submitted = st.form_submit_button(_("Sign in"), type="primary")
        if submitted:
            _sign_in(store, name, password)


def _sign_in(store: Store, name: str, password: str) -> None:
    client = current_client()
    if not _admit(name, client):
        return
    try:
        account = passwords.sign_in(store, name, password)
        RATE_LIMITER.record_success(name, client)
        st.session_state[TOKEN] = SESSIONS.create(account.id, client.browser)
    except MustChangePassword:
        RATE_LIMITER.record_success(name, client)
        st.session_state[CHOOSING] = name
    except NotAllowed:
        st.error(_("The name or the password is wrong, or the account is closed."))
        return
    except DialintError as failed:
        RATE_LIMITER.cancel(name, client)
        st.error(safe_markdown(explain_as_sentence(failed)))
        return
    st.rerun()


def _admit(name: str, client: Client) -> bool:
    """Count an attempt. False if it must not be made now; the page then says how long to wait."""
    wait_s = RATE_LIMITER.admit(name, client)
    if wait_s > 0:
        n = math.ceil(wait_s)
        message = ngettext(
            "Too many wrong passwords. Try again in {n} second.",
            "Too many wrong passwords. Try again in {n} seconds.",
            n,
        )
        st.error(safe_markdown(message))
    return wait_s <= 0


def password_page(store: Store, account: Account) -> None:
    """Change one's own password."""
    st.subheader(_("Your account"), anchor=False)
    st.text(safe_text(f"{account.id}, {role_name(account.role)}"))
    _password_form(store, account.id)


def _password_form(store: Store, name: str) -> None:
    with st.form("password", clear_on_submit=True):
        old = st.text_input(_("Password now"), type="password", autocomplete="current-password")
        new = st.text_input(_("New password"), type="password", autocomplete="new-password")
        again = st.text_input(_("New password again"), type="password", autocomplete="new-password")
        least = ngettext("At least {n} character.", "At least {n} characters.", passwords.MIN_PASSWORD)
        st.caption(safe_markdown(least))
        submitted = st.form_submit_button(_("Change password"), type="primary")
    if submitted and new != again:
        st.error(_("The two new passwords differ."))
    elif submitted:
        _change_password(store, name, old, new)


def _change_password(store: Store, name: str, old: str, new: str) -> None:
    client = current_client()
    if not _admit(name, client):
        return
    try:
        passwords.choose_password(store, name, old, new)
    except NotAllowed:
        st.error(_("The password now is wrong."))
        return
    except DialintError as refused:
        RATE_LIMITER.cancel(name, client)
        st.error(safe_markdown(explain_as_sentence(refused)))
        return
    RATE_LIMITER.record_success(name, client)
    SESSIONS.end_all(name)
    st.session_state.pop(CHOOSING, None)
    st.session_state[TOKEN] = SESSIONS.create(name, client.browser)
    st.session_state["password changed"] = True
    st.rerun()
