"""The script that Streamlit runs for each click: signs in, and shows the page.

The role decides which pages are in the navigation; the store decides what may be done on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dialint.app.console.accounts import accounts_page
from dialint.app.console.appeals import decide_page, own_findings_page
from dialint.app.console.label import label_page
from dialint.app.console.review import review_page
from dialint.app.console.sign_in import current_account, password_page, sign_in_page, sign_out
from dialint.app.console.text import safe_markdown
from dialint.detector.errors import DialintError
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import Permission, has_permission
from dialint.labeling.store.records import Account

STYLE = Path(__file__).with_name("page.css")
# Title: the right that shows it in the navigation, and the page's function; the first one is the start page.
# (A comment, as Streamlit's magic would print a docstring.)
PAGES: dict[str, tuple[Permission, Callable[[Store, Account], None]]] = {
    "Review": ("review", review_page),
    "Label": ("label", label_page),
    "My findings": ("label", own_findings_page),
    "Appeals": ("decide", decide_page),
    "Accounts": ("administer", accounts_page),
    "Your account": ("label", password_page),
}


@st.cache_resource(show_spinner=False)
def open_store(location: str) -> Store:
    """Open the store, once for this server."""
    return Store.open(location or None, interface="console")


def main() -> None:
    """One run of the script."""
    st.set_page_config(page_title="dialint", layout="wide")
    try:
        store = open_store(os.environ.get("DIALINT_STORE", ""))
        account = current_account(store)
        if account is None:
            # at the address of every page, so that a reload returns to it
            titles = ("Sign in", *PAGES)
            pages = [_page(partial(sign_in_page, store), title) for title in titles]
            st.navigation(pages, position="hidden").run()
            return
        is_open = {
            title: has_permission(account, right)
            and (show is not own_findings_page or account.agent is not None)
            for title, (right, show) in PAGES.items()
        }
        pages = [_page(partial(PAGES[title][1], store, account), title) for title in PAGES if is_open[title]]
        closed = [_page(_closed_page, title, is_hidden=True) for title in PAGES if not is_open[title]]
        page = st.navigation([*pages, *closed], position="top")
        st.html(STYLE)
        with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
            st.caption(safe_markdown(f"Signed in as {account.id} ({account.role})"), width="content")
            st.button("Sign out", key="sign out", type="tertiary", on_click=sign_out)
        if st.session_state.pop("password changed", False):
            st.success("Your password was changed.")
        page.run()
    except DialintError as failed:  # the store is away, or refuses the page
        st.error(safe_markdown(f"{failed.message} ({failed.code})"))


def _page(show: Callable[[], None], title: str, is_hidden: bool = False) -> StreamlitPage:
    address = title.lower().replace(" ", "-")
    return st.Page(show, title=title, url_path=address, visibility="hidden" if is_hidden else "visible")


def _closed_page() -> None:
    st.info("This page is not open to your role.")


if __name__ == "__main__":
    main()
