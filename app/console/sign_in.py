"""The sign-in page, the password page, and signing out.

A one-time password, made by an administrator or at the first start, opens nothing: the store refuses it, and
the person chooses a new one here.
"""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dialint.app.console.i18n import _, ngettext, role_name
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.middleware import BROWSER, SESSION, SESSION_PATH
from dialint.app.console.sessions import LOGIN, PROVIDER_VARIABLE, RATE_LIMITER, SESSIONS, Client, Session
from dialint.app.console.text import safe_html, safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.labeling.store import authentication
from dialint.labeling.store.api import Store
from dialint.labeling.store.authentication import SignedIn
from dialint.labeling.store.records import Account, MustChangePassword, NotAllowed

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

BUTTON_STYLE = (
    "display: block; padding: 0.5rem 1rem; text-align: center; color: inherit; text-decoration: none; "
    "border: 1px solid currentColor; border-radius: 0.4rem"
)
CHOOSING, LEAVING = "choosing", "leaving"
"""Keys in session state: the account that must choose a password first; True while somebody signs out."""


def current_client() -> Client:
    """Return the client at the other end of this page's connection."""
    browser, session = (st.context.headers.get(name) or "" for name in (BROWSER, SESSION))
    return Client(st.context.ip_address or "local", browser, session)


def sign_out() -> None:
    """End the session of this browser and clear the session state of this page."""
    SESSIONS.end(current_client().session)
    st.session_state.clear()
    st.session_state[LEAVING] = True


@cache
def _exchange() -> ComponentRenderer:
    script = Path(__file__).with_name("exchange.js").read_text(encoding="utf-8")
    return st.components.v2.component("dialint.exchange", html="<span></span>", js=script)


def exchange_ticket(ticket: str) -> None:
    """Let the page exchange a ticket for the cookie of a session, or none for no cookie, and load again."""
    _exchange()(key="exchange", data={"ticket": ticket, "path": SESSION_PATH})
    st.stop()


def sign_in_page(store: Store) -> None:
    """Show name and password, or the choice of a new one after a one-time password; or the provider."""
    if st.session_state.get(LEAVING):
        exchange_ticket("")
    with st.columns([1, 2, 1])[1]:
        st.title("dialint", anchor=False)
        if (name := st.session_state.get(CHOOSING)) is not None:
            st.info(_("Your password was for one time. Choose your own to go on."))
            _show_password_form(store, name)
            st.button(_("Back"), type="tertiary", on_click=st.session_state.clear)
            return
        client = current_client()
        if client.session:  # which has ended
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
        if not submitted or not _admit(name, client):
            return
        try:
            _begin(authentication.sign_in(store, name, password), client)
        except MustChangePassword:
            RATE_LIMITER.record_success(name, client)
            st.session_state[CHOOSING] = name
            st.rerun()
        except NotAllowed:
            st.error(_("The name or the password is wrong, or the account is closed."))
        except DialintError as failed:
            RATE_LIMITER.cancel(name, client)
            st.error(safe_markdown(explain_as_sentence(failed)))


def _begin(signed_in: SignedIn, client: Client, notice: str = "") -> None:
    name = signed_in.account.id
    RATE_LIMITER.record_success(name, client)
    exchange_ticket(SESSIONS.offer(Session(name, signed_in.password_hash, notice), client.browser))


def _admit(name: str, client: Client) -> bool:
    """Count an attempt. Returns whether it may be made now; if not, the page says how long to wait."""
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
    _show_password_form(store, account.id)


def _show_password_form(store: Store, name: str) -> None:
    with st.form("password", clear_on_submit=True):
        old = st.text_input(_("Password now"), type="password", autocomplete="current-password")
        new = st.text_input(_("New password"), type="password", autocomplete="new-password")
        again = st.text_input(_("New password again"), type="password", autocomplete="new-password")
        least = ngettext("At least {n} character.", "At least {n} characters.", authentication.MIN_PASSWORD)
        st.caption(safe_markdown(least))
        submitted = st.form_submit_button(_("Change password"), type="primary")
    if submitted and new != again:
        st.error(_("The two new passwords differ."))
        return
    client = current_client()
    if not submitted or not _admit(name, client):
        return
    try:
        signed_in = authentication.choose_password(store, name, old, new)
    except NotAllowed:
        st.error(_("The password now is wrong."))
        return
    except DialintError as refused:
        RATE_LIMITER.cancel(name, client)
        st.error(safe_markdown(explain_as_sentence(refused)))
        return
    SESSIONS.end_all(name)
    _begin(signed_in, client, _("Your password was changed."))
