"""The script that Streamlit runs for each click: signs in, and shows the page.

The role decides which pages are in the navigation; the store decides what may be done on them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dialint.app.console import sign_in
from dialint.app.console.i18n import LANGUAGES, N_, STATE, _, current_language, role_name
from dialint.app.console.launch import ICON
from dialint.app.console.messages import NOTICES, empty_fields, explain_as_sentence
from dialint.app.console.pages import ConsolePage, load_pages, start_page
from dialint.app.console.sessions import SESSIONS, find_account, open_store, require_session
from dialint.app.console.sign_in import sign_in_page, sign_out
from dialint.app.console.tables import select
from dialint.app.console.text import safe_html, safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.labeling.store.accounts import load_preferences, save_preferences
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account

NAME = "dialint"
STYLE = Path(__file__).with_name("page.css")
SIGNED_IN = "signed in"
"""Key in session state: the store that the pages of this session get."""
STREAMLIT_TEXTS = (
    N_("Upload"), N_("per file"), N_("Skip to main content"), N_("Collapse sidebar"), N_("Expand sidebar"),
    N_("Show password"), N_("Hide password"), N_("Help"), N_("Sidebar"), N_("Choose an option"),
    N_("Choose options"), N_("No results"), N_("Remove file"),
)  # fmt: skip
"""English texts in Streamlit's own widgets, which `static/document.js` translates."""


def main() -> None:
    """Sign in or show the page: one run of the script."""
    st.set_page_config(page_title=NAME, page_icon=ICON, layout="wide")
    try:
        store = open_store(os.environ.get("DIALINT_STORE", ""))
        session = sign_in.current_client().session
        account = find_account(store, session)
        if account is None:
            if st.session_state.pop(SIGNED_IN, None):  # the session has ended since the last run
                st.session_state.clear()
            # at the address of every page, so that a reload returns to it
            show = partial(sign_in_page, store)
            first = st.Page(show, title=_("Sign in"), url_path="sign-in", visibility="visible")
            pages = [first, *(_page(show, page) for page in load_pages().values())]
            page = st.navigation(pages, position="hidden")
            _name_document(_("Sign in"))
            page.run()
            return
        SESSIONS.use(session)
        store = st.session_state.setdefault(SIGNED_IN, require_session(store, session))
        if STATE not in st.session_state:
            chosen = load_preferences(store, account.id).language
            st.session_state[STATE] = chosen or current_language()
        sections = _list_pages(store, account)
        page = st.navigation(sections, position="hidden")
        st.html(STYLE)
        with st.sidebar:
            _name_document(page.title)
            # Streamlit's own navigation breaks the rules of lists for screen readers where it has sections
            for section, links in sections.items():
                visible = [each for each in links if each.visibility == "visible"]
                if visible:
                    st.caption(safe_markdown(section))
                for each in visible:
                    st.page_link(each, label=safe_markdown(each.title))
            _show_account(store, account)
        if page.url_path:  # home leads on to another page: nothing is read there
            if notice := SESSIONS.pop_notice(session):
                st.success(safe_markdown(notice))
            empty_fields()
        page.run()
    except DialintError as failed:  # the store is away, or refuses the page
        st.error(safe_markdown(explain_as_sentence(failed)))


def _name_document(title: str) -> None:
    """Give the browser the page's title, and `static/document.js` the language and Streamlit's own texts in
    it."""
    st.set_page_config(page_title=title if title == NAME else f"{safe_text(title)} · {NAME}")
    language, words = current_language(), json.dumps({each: _(each) for each in STREAMLIT_TEXTS})
    st.html(
        f'<span class="dialint-language" lang="{safe_html(language)}" data-words="{safe_html(words)}"></span>'
    )


def _list_pages(store: Store, account: Account) -> dict[str, list[StreamlitPage]]:
    """Return the pages by section; those that are not open to the account say so at their addresses."""
    sections: dict[str, list[StreamlitPage]] = {}
    pages = {}
    for address, entry in load_pages().items():
        is_open = entry.is_open_to(account)
        show = partial(entry.show, store, account) if is_open else _closed_page
        pages[address] = _page(show, entry, is_hidden=entry.is_hidden or not is_open)
        sections.setdefault(_(entry.section), []).append(pages[address])
    lead_on = partial(st.switch_page, pages[start_page(account).address])
    home = st.Page(lead_on, title=NAME, url_path="home", default=True, visibility="hidden")
    return {"": [home], **sections}


def _page(show: Callable[[], None], entry: ConsolePage, *, is_hidden: bool = False) -> StreamlitPage:
    return st.Page(
        show, title=_(entry.title), url_path=entry.address, visibility="hidden" if is_hidden else "visible"
    )


def _show_account(store: Store, account: Account) -> None:
    st.caption(
        safe_markdown(_("Signed in as {name} ({role})").format(name=account.id, role=role_name(account.role)))
    )

    def choose_language() -> None:
        language = st.session_state[STATE] = st.session_state["language choice"]
        st.session_state.pop(NOTICES, None)  # they are in the language of before
        chosen = load_preferences(store, account.id)
        save_preferences(store, account.id, chosen.model_copy(update={"language": language}))

    select(_("Language"), LANGUAGES, "language choice", usual=current_language(), on_change=choose_language)
    st.button(_("Sign out"), key="sign out", type="tertiary", on_click=sign_out)


def _closed_page() -> None:
    st.info(_("This page is not open to your role."))


if __name__ == "__main__":
    main()
