"""The session of a working page: the current item, its draft, and what the clicks on the page do with them.

Streamlit's session state holds a `PageSession` for each page. It can be lost at any time: the store has the
lease and the draft, and `open_session` finds them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from dialint.app.console import items
from dialint.app.console.answer import Answer, Selection, parse_selection, seal
from dialint.app.console.dialogue_view import (
    TurnSlice,
    find_page,
    make_marks,
    paginate,
    render_dialogue,
    view_data,
)
from dialint.app.console.items import EditConflict, Item, Stopwatch
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import drafts, projects
from dialint.labeling.store.appeals import count_withheld
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed, StaleLease, StoreRefused
from dialint.labeling.store.records import Account, Project, Purpose


@dataclass
class PageSession:
    """State of one page. On a `blind` page nothing is shown of what others say of the item."""

    store: Store
    account: Account
    blind: bool
    project: str | None = None
    item: Item | None = None
    answer: Answer | None = None
    selected: Selection | None = None
    conflict: EditConflict | None = None
    skipping: bool = False
    notices: list[tuple[str, str]] = field(default_factory=list)
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    renewed_s: float = 0.0
    pages: tuple[tuple[TurnSlice, ...], ...] = ((),)
    page: int = 0
    """The visible page of a long dialogue."""
    focus: tuple[int, int | None] | None = None
    """The item number and the turn that was last scrolled into view."""
    n_items: int = 0
    """Items opened so far. Keys of widgets contain it: a key made of a task's number or a dialogue's id would
    be in the page, where a labeler could tell control tasks by it."""

    def notify(self, kind: str, text: str) -> None:
        """Show a message at the top of the page, once; `kind` is success, info, warning or error."""
        self.notices.append((kind, text))

    def open_item(self, claimed: tuple[Item, Answer, bool] | None) -> None:
        """Make an item the current one; None closes the current one."""
        self.item, self.answer = (None, None) if claimed is None else claimed[:2]
        self.selected = self.conflict = self.focus = None
        self.skipping = False
        self.pages, self.page = (((),) if self.item is None else paginate(self.item.dialogue)), 0
        self.stopwatch = Stopwatch()
        self.renewed_s = time.monotonic()
        self.n_items += 1
        if claimed is not None and claimed[2] and claimed[1].has_input:
            message = "Your draft was restored."
            if claimed[1].sent is not None:
                message += " Your last click on Save may not have arrived: press Save again, it counts once."
            self.notify("info", message)

    @contextmanager
    def report_refusals(self) -> Iterator[None]:
        """Show what the store refuses at the top of the page; the draft stays."""
        try:
            yield
        except StaleLease:
            self.notify(
                "warning",
                "You were away longer than this task is reserved for one person, and it went to somebody "
                "else. Nothing was saved.",
            )
            self.open_item(None)
        except NotAllowed as refused:
            self.notify("error", f"The store refuses: {refused.message}.")
        except StoreRefused as refused:
            if refused.code != "E_KEY":
                self.notify("error", f"The store refuses: {refused.message}.")
                return
            self.notify("warning", "An earlier version of this answer is stored already; this one is not.")
            self.open_item(None)
        except DialintError as failed:
            message = f"That was not saved. {failed.message}. Your draft is kept; please try again."
            self.notify("error", message)


def open_session(
    page: str, store: Store, account: Account, purposes: tuple[Purpose, ...], *, blind: bool
) -> PageSession:
    """The session of a page for this account, with the next task of an open project claimed if there is any.
    Shows pending messages, and a choice of projects where there are several."""
    name = f"page_session:{page}"
    session = st.session_state.get(name)
    if not isinstance(session, PageSession) or session.account.id != account.id or session.store is not store:
        session = st.session_state[name] = PageSession(store, account, blind)
    session.account = account
    by_id = {
        project.id: project
        for project, state in projects.list_projects(store, account.id)
        if project.purpose in purposes and state == "open"
    }
    _choose_project(session, list(by_id.values()))
    if session.item is None and session.project is not None:
        project = by_id[session.project]
        second_review = project.purpose == "review" and not project.prelabelled
        with session.report_refusals():
            hidden = blind or second_review
            session.open_item(items.claim_next(store, account.id, project.id, blind=hidden))
            if (
                session.item is None
                and second_review
                and (n := count_withheld(store, account.id, project.id))
            ):
                session.notify(
                    "info",
                    f"Waiting here for a second review, but not for you: {n}. You have a part in the "
                    "dialogue, or have seen what others say of it.",
                )
    for kind, text in session.notices:
        {"success": st.success, "info": st.info, "warning": st.warning, "error": st.error}[kind](
            safe_markdown(text)
        )
    session.notices = []
    return session


def _choose_project(session: PageSession, open_projects: list[Project]) -> None:
    names = [project.id for project in open_projects]
    if session.project not in names:
        session.project = names[0] if names else None
        session.open_item(None)
    if len(names) > 1:
        key = f"project:{session.account.id}:{names[0]}"

        def change_project() -> None:
            session.project = st.session_state[key]
            session.open_item(None)

        st.selectbox("Project", names, format_func=safe_text, key=key, on_change=change_project)


def update_answer(session: PageSession, item: Item, change: Callable[[Answer], Answer]) -> None:
    """Change the draft: working time is added, the draft is stored, the lease is renewed."""
    if session.item is not item or session.answer is None:
        return  # a click on an item that the click before has answered
    session.answer = _add_seconds(session, change(session.answer))
    with session.report_refusals():
        items.save_draft(session.store, session.account.id, item, session.answer)
        if time.monotonic() - session.renewed_s > items.RENEW_S:
            items.renew_lease(session.store, session.account.id, item)
            session.renewed_s = time.monotonic()


def _add_seconds(session: PageSession, answer: Answer) -> Answer:
    return answer.model_copy(update={"seconds": answer.seconds + session.stopwatch.lap_s()})


def save(
    session: PageSession, item: Item, submit: Callable[[], Annotation | EditConflict] | None = None
) -> None:
    """Submit the answer and close the item; a conflict stays open."""
    if session.item is not item or session.answer is None:
        return
    session.answer = answer = seal(_add_seconds(session, session.answer))
    actor = session.account.id
    with session.report_refusals():
        items.save_draft(session.store, actor, item, answer)  # before the submission: a retry must be equal
        saved = submit() if submit else items.submit(session.store, actor, item, answer)
        if isinstance(saved, EditConflict):
            session.conflict = saved
            return
        session.notify("success", "Saved." if item.blind else f"Saved as answer {saved.id}.")
        session.open_item(None)


def skip(session: PageSession, item: Item, reason: str) -> None:
    """Skip the task with a reason."""
    if session.item is item:
        with session.report_refusals():
            items.skip(session.store, session.account.id, item, reason)
            session.notify("info", "Skipped. You will not get this task again.")
            session.open_item(None)


def discard(session: PageSession, item: Item) -> None:
    """Discard the draft of a correction or of a conflict; the stored answer stays as it is."""
    if session.item is item:
        with session.report_refusals():
            drafts.delete_draft(session.store, session.account.id, item.name)
            session.notify("info", "Nothing was changed.")
            session.open_item(None)


def undo(session: PageSession) -> None:
    """Reopen one's last answer; the current task remains one's own and comes back afterwards."""
    with session.report_refusals():
        reopened = items.reopen_last(
            session.store, session.account.id, session.project or "", blind=session.blind
        )
        if reopened is None:
            session.notify("info", "You have no answer here to take back.")
        else:
            session.open_item(reopened)


def button_type(chosen: bool) -> Literal["primary", "secondary"]:
    """The type of a button, by whether its choice was made."""
    return "primary" if chosen else "secondary"


def show_dialogue(session: PageSession, page: str, focus: int | None = None) -> None:
    """The dialogue with its marks, the turn `focus` scrolled into view, one page at a time if it is long.
    Words that are selected in it go into the session."""
    item, answer = session.item, session.answer
    assert item is not None
    assert answer is not None
    focus = item.turn if focus is None else focus
    if focus is not None and session.focus != (session.n_items, focus):
        session.page = find_page(session.pages, focus)
        session.focus = (session.n_items, focus)
    if len(session.pages) > 1:
        _show_page_buttons(session)
    key = f"dialogue:{page}:{session.n_items}"

    def on_selected() -> None:
        raw = getattr(st.session_state.get(key), "selected", None)
        selection = parse_selection(item.dialogue, item.turn, raw)
        if selection is not None and session.item is item:
            session.selected = selection

    marks = make_marks(answer, session.selected)
    visible = (session.page, session.pages[session.page])
    data = view_data(item.dialogue, item.turn, marks, focus, session.n_items, visible)
    render_dialogue(data, key, on_selected)


def turns_in_view(session: PageSession) -> set[int]:
    """The turns on the visible page."""
    return {part.turn for part in session.pages[session.page]}


def _show_page_buttons(session: PageSession) -> None:
    """Where one is in a long dialogue, and buttons to its other pages."""
    here, n = session.pages[session.page], len(session.pages)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "◀ Earlier", key=f"earlier:{session.n_items}", disabled=session.page == 0,
            on_click=_turn_to, args=(session, session.page - 1),
        )  # fmt: skip
        st.button(
            "Later ▶", key=f"later:{session.n_items}", disabled=session.page == n - 1,
            on_click=_turn_to, args=(session, session.page + 1),
        )  # fmt: skip
        key = f"page:{session.n_items}:{session.page}"
        st.selectbox(
            "Page", range(n), index=session.page, key=key, label_visibility="collapsed", width=260,
            format_func=lambda i: safe_text(f"Page {i + 1} of {n}: from turn {session.pages[i][0].turn}"),
            on_change=lambda: _turn_to(session, int(st.session_state[key])),
        )  # fmt: skip
    st.caption(safe_markdown(f"A long dialogue: here are turns {here[0].turn} to {here[-1].turn}."))


def _turn_to(session: PageSession, page: int) -> None:
    if 0 <= page < len(session.pages):
        session.page = page
