"""The script that ``python -m streamlit run`` runs for each click: who is signed in, and which page.

Which pages are in the navigation goes by role; what may be done on them is the store's to say.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dialint.app.console.label import label_page
from dialint.app.console.people import accounts_page
from dialint.app.console.plain import inert
from dialint.app.console.review import review_page
from dialint.app.console.sign_in import password_page, sign_in_page, sign_out, signed_in
from dialint.detector.errors import DialintError
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import Right, may
from dialint.labeling.store.records import Account

STYLE = Path(__file__).with_name("page.css")
# by title: who has it in their navigation, and what shows it; the first that one has is where one begins
# (no docstrings here: Streamlit's magic would print them)
PAGES: dict[str, tuple[Right, Callable[[Store, Account], None]]] = {
    "Review": ("review", review_page),
    "Label": ("label", label_page),
    "Accounts": ("administer", accounts_page),
    "Your account": ("label", password_page),
}


@st.cache_resource(show_spinner=False)
def open_store(place: str) -> Store:
    """The store of this server, opened once."""
    return Store.open(place or None, way="console")


def main() -> None:
    """One run of the script."""
    st.set_page_config(page_title="dialint", layout="wide")
    try:
        store = open_store(os.environ.get("DIALINT_STORE", ""))
        account = signed_in(store)
        if account is None:
            _show_sign_in(store)
            return
        own = [(title, show) for title, (right, show) in PAGES.items() if may(account, right)]
        pages = [_page(partial(show, store, account), title) for title, show in own]
        chosen = st.navigation(pages, position="top")
        st.html(STYLE)
        with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
            st.caption(inert(f"Signed in as {account.id} ({account.role})"), width="content")
            st.button("Sign out", key="sign out", type="tertiary", on_click=sign_out)
        if st.session_state.pop("password changed", False):
            st.success("Your password was changed.")
        chosen.run()
    except DialintError as failed:  # the store is away, or refuses the page
        st.error(inert(f"{failed.message} ({failed.code})"))


def _show_sign_in(store: Store) -> None:
    """At the address of any page, so that a reload comes back to it."""
    show = partial(sign_in_page, store)
    st.navigation([_page(show, title) for title in ("Sign in", *PAGES)], position="hidden").run()


def _page(show: Callable[[], None], title: str) -> StreamlitPage:
    return st.Page(show, title=title, url_path=title.lower().replace(" ", "-"))


if __name__ == "__main__":
    main()
