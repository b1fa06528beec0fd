"""The script that Streamlit runs for each click: signs in, and shows the page.

The role decides which pages are in the navigation; the store decides what may be done on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dialint.app.console.accounts import accounts_page
from dialint.app.console.adjudicate import adjudicate_page
from dialint.app.console.admin import admin_page
from dialint.app.console.appeals import decide_page, own_findings_page
from dialint.app.console.calibration import calibration_page
from dialint.app.console.coaching import coaching_page
from dialint.app.console.dialogue_page import dialogue_page
from dialint.app.console.explore import explore_page
from dialint.app.console.i18n import LANGUAGES, STATE, _, current_language
from dialint.app.console.label import label_page
from dialint.app.console.overview import overview_page
from dialint.app.console.people import people_page
from dialint.app.console.releases import releases_page
from dialint.app.console.review import review_page
from dialint.app.console.rules import rules_page
from dialint.app.console.score import score_page
from dialint.app.console.sign_in import current_account, password_page, sign_in_page, sign_out
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import Permission, has_permission
from dialint.labeling.store.preferences import load_preferences, save_preferences
from dialint.labeling.store.records import Account, AccountRole

STYLE = Path(__file__).with_name("page.css")


class PageEntry(NamedTuple):
    """A page: its section in the navigation, its icon, the right that shows it, and its function. A hidden
    one is reached by links only."""

    section: str
    icon: str
    right: Permission
    show: Callable[[Store, Account], None]
    hidden: bool = False


# By title, which is English here and gives the address.
# (A comment, as Streamlit's magic would print a docstring.)
PAGES: dict[str, PageEntry] = {
    "Overview": PageEntry("Quality", ":material/monitoring:", "plan", overview_page),
    "Explore": PageEntry("Quality", ":material/search:", "review", explore_page),
    "Dialogue": PageEntry("Quality", ":material/forum:", "review", dialogue_page, hidden=True),
    "Coaching": PageEntry("Quality", ":material/school:", "label", coaching_page),
    "People": PageEntry("Quality", ":material/groups:", "plan", people_page),
    "Review": PageEntry("Work", ":material/rate_review:", "review", review_page),
    "Label": PageEntry("Work", ":material/label:", "label", label_page),
    "Adjudicate": PageEntry("Work", ":material/gavel:", "decide", adjudicate_page),
    "Calibration": PageEntry("Work", ":material/balance:", "label", calibration_page),
    "My findings": PageEntry("Work", ":material/feedback:", "label", own_findings_page),
    "Appeals": PageEntry("Work", ":material/contract_edit:", "decide", decide_page),
    "Score": PageEntry("System", ":material/upload_file:", "plan", score_page),
    "Releases": PageEntry("System", ":material/deployed_code:", "plan", releases_page),
    "Taxonomy and policies": PageEntry("System", ":material/rule:", "plan", rules_page),
    "Accounts": PageEntry("System", ":material/manage_accounts:", "administer", accounts_page),
    "Admin": PageEntry("System", ":material/admin_panel_settings:", "plan", admin_page),
    "Your account": PageEntry("System", ":material/account_circle:", "label", password_page),
}
START: dict[AccountRole, str] = {
    "labeler": "Label", "reviewer": "Review", "expert": "Review", "lead": "Overview", "admin": "Overview",
}  # fmt: skip
NEEDS_AGENT = (own_findings_page,)
"""Pages for accounts that are an agent."""


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
        if STATE not in st.session_state:
            chosen = load_preferences(store, account.id).language
            st.session_state[STATE] = chosen or current_language()
        sections: dict[str, list[StreamlitPage]] = {}
        for title, entry in PAGES.items():
            is_open = has_permission(account, entry.right)
            is_open = is_open and (entry.show not in NEEDS_AGENT or account.agent is not None)
            show = partial(entry.show, store, account) if is_open else _closed_page
            hidden, start = entry.hidden or not is_open, title == START[account.role]
            sections.setdefault(_(entry.section), []).append(
                _page(show, title, entry.icon, is_hidden=hidden, is_start=start)
            )
        page = st.navigation(sections, position="sidebar")
        st.html(STYLE)
        with st.sidebar:
            _show_account(store, account)
        if st.session_state.pop("password changed", False):
            st.success(_("Your password was changed."))
        page.run()
    except DialintError as failed:  # the store is away, or refuses the page
        st.error(safe_markdown(f"{failed.message} ({failed.code})"))


def _page(
    show: Callable[[], None],
    title: str,
    icon: str | None = None,
    *,
    is_hidden: bool = False,
    is_start: bool = False,
) -> StreamlitPage:
    address = title.lower().replace(" ", "-")
    visibility = "hidden" if is_hidden else "visible"
    return st.Page(show, title=_(title), icon=icon, url_path=address, visibility=visibility, default=is_start)


def _show_account(store: Store, account: Account) -> None:
    """Who is signed in, the language, and the way out."""
    st.caption(safe_markdown(_("Signed in as {name} ({role})").format(name=account.id, role=_(account.role))))

    def choose_language() -> None:
        language = st.session_state[STATE] = st.session_state["language choice"]
        chosen = load_preferences(store, account.id)
        save_preferences(store, account.id, chosen.model_copy(update={"language": language}))

    languages = list(LANGUAGES)
    st.selectbox(
        _("Language"), languages, index=languages.index(current_language()), key="language choice",
        format_func=lambda each: safe_text(LANGUAGES[each]), on_change=choose_language,
    )  # fmt: skip
    st.button(_("Sign out"), key="sign out", type="tertiary", on_click=sign_out)


def _closed_page() -> None:
    st.info(_("This page is not open to your role."))


if __name__ == "__main__":
    main()
