"""The way from one result of Explore to the next, on the page of a dialogue: the address holds the search.

The list is that of the moment at which the page was opened: a review may take the dialogue out of a search
for unreviewed ones, and the next one is still next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from dialint.app.console.i18n import _
from dialint.app.console.links import go_to
from dialint.app.console.quality.explore_filters import make_search, read_address
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.search import search

FROM = "from"
"""Name in the address of a dialogue: it is a result of Explore."""
EXPLORE = "explore"
LIST = "explore list"
"""Key in session state: the page of results that the dialogue is on."""
MAX_PAGES = 40
"""Pages that are walked from the first one to find the one before."""


class ResultPage(NamedTuple):
    """A page of results: the dialogues, and the positions that it and the next one begin after."""

    chosen: dict[str, str]
    after: str | None
    dialogues: tuple[str, ...]
    next_after: str | None


def make_place(chosen: Mapping[str, str], after: str | None) -> dict[str, str]:
    """What the address of a dialogue says of the search that it is a result of."""
    return {FROM: EXPLORE, **chosen, **({"after": after} if after else {})}


def read_place() -> dict[str, str]:
    """`make_place` of the page's address; empty if the dialogue was not opened from Explore."""
    if st.query_params.get(FROM) != EXPLORE:
        return {}
    return make_place(read_address(), st.query_params.get("after"))


def _load_page(store: Store, account: Account, chosen: dict[str, str], after: str | None) -> ResultPage:
    results = search(store, account.id, make_search(chosen), after)
    return ResultPage(chosen, after, tuple(hit.dialogue for hit in results.hits), results.after)


def show_steps(store: Store, account: Account, name: str) -> None:
    """Show the buttons to the previous and next result, and the way back to the list; nothing if the address
    has no search."""
    if not read_place():
        return
    chosen, after = read_address(), st.query_params.get("after") or None
    page = st.session_state.get(LIST)
    if not isinstance(page, ResultPage) or (page.chosen, page.after) != (chosen, after):
        page = st.session_state[LIST] = _load_page(store, account, chosen, after)
    at = page.dialogues.index(name) if name in page.dialogues else None
    has_previous = at is not None and (at > 0 or after is not None)
    has_next = at is not None and (at + 1 < len(page.dialogues) or page.next_after is not None)
    st.button(
        _("◀ Previous"), key="previous result", disabled=not has_previous, on_click=_step,
        args=(store, account, page, at, -1),
    )  # fmt: skip
    st.button(
        _("Next ▶"), key="next result", disabled=not has_next, on_click=_step,
        args=(store, account, page, at, 1),
    )  # fmt: skip
    if st.button(_("Back to the list"), key="result list", type="tertiary"):
        go_to("explore", {**chosen, **({"after": after} if after else {})})


def _step(store: Store, account: Account, page: ResultPage, at: int, by: int) -> None:
    """Open the dialogue beside the one at this place, if need be on the page beside; the list if the search
    has nothing there any more."""
    to = at + by
    if not 0 <= to < len(page.dialogues):
        beside = _find_previous(store, account, page) if by < 0 else None
        if by > 0:
            beside = _load_page(store, account, page.chosen, page.next_after)
        if beside is None or not beside.dialogues:
            return
        page, to = beside, -1 if by < 0 else 0
        st.session_state[LIST] = page
    st.query_params.from_dict({"id": page.dialogues[to], **make_place(page.chosen, page.after)})


def _find_previous(store: Store, account: Account, page: ResultPage) -> ResultPage | None:
    """The page before: found from the first one, as pages are cut by keys and lead forward only."""
    after: str | None = None
    for _number in range(MAX_PAGES):
        before = _load_page(store, account, page.chosen, after)
        if before.next_after == page.after:
            return before
        after = before.next_after
        if after is None:
            break
    return None
