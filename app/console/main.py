"""The script that ``python -m streamlit run`` runs for each click: who is signed in, and which page.

Which pages are in the navigation goes by role; what may be done on them is the store's to say.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from app.console.label import label_page
from app.console.people import accounts_page
from app.console.plain import inert
from app.console.review import review_page
from app.console.sign_in import password_page, sign_in_page, sign_out, signed_in
from detector.errors import DialintError
from labeling.store.database.transactions import Store
from labeling.store.records import Account
from labeling.store.rights import may

# less empty space around a page than Streamlit leaves; no docstring, as Streamlit's magic would print it
STYLE = "<style>.stMainBlockContainer { padding: 3.5rem 2rem 1rem; }</style>"


@st.cache_resource(show_spinner=False)
def open_store(place: str) -> Store:
    """The store of this server, opened once."""
    return Store.open(place or None)


def main() -> None:
    """One run of the script."""
    st.set_page_config(page_title="dialint", layout="wide")
    try:
        store = open_store(os.environ.get("DIALINT_STORE", ""))
        account = signed_in(store)
        if account is None:
            st.navigation([st.Page(partial(sign_in_page, store), title="Sign in", url_path="sign-in")]).run()
            return
        pages = [_page(store, account, title, show) for title, show in _pages(account)]
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


def _pages(account: Account) -> list[tuple[str, Callable[[Store, Account], None]]]:
    """What the account has in its navigation, first what it is for."""
    pages: list[tuple[str, Callable[[Store, Account], None]]] = []
    if may(account, "review"):
        pages.append(("Review", review_page))
    pages.append(("Label", label_page))
    if may(account, "administer"):
        pages.append(("Accounts", accounts_page))
    return [*pages, ("Your account", password_page)]


def _page(
    store: Store, account: Account, title: str, show: Callable[[Store, Account], None]
) -> StreamlitPage:
    return st.Page(partial(show, store, account), title=title, url_path=title.lower().replace(" ", "-"))


if __name__ == "__main__":
    main()
