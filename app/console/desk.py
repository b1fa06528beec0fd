"""The desk: the item in hand on a page, and what the clicks of both working pages do with it.

Streamlit's session state holds a desk for each page. Whatever it holds can be lost: the store has the
lease and the draft, and `open_next` finds them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from dialint.app.console import work
from dialint.app.console.answer import Answer, Place, place_in, sealed
from dialint.app.console.dialogue import Stretch, draw, drawn, marks_of, page_of, paged
from dialint.app.console.plain import inert, visible
from dialint.app.console.work import Clash, Item, Watch
from dialint.detector.errors import DialintError
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import projects
from dialint.labeling.store.appeals import withheld
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed, StaleLease, StoreRefused
from dialint.labeling.store.records import Account, Project, Purpose


@dataclass
class Desk:
    """What lies on one page's desk. `blind`: nobody else's word of it is shown there."""

    store: Store
    account: Account
    blind: bool
    project: str | None = None
    item: Item | None = None
    answer: Answer | None = None
    selected: Place | None = None
    clash: Clash | None = None
    skipping: bool = False
    notices: list[tuple[str, str]] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)
    renewed_s: float = 0.0
    pages: tuple[tuple[Stretch, ...], ...] = ((),)
    page: int = 0
    """Which of the pages of a long dialogue is before the person."""
    focus: tuple[int, int | None] | None = None
    """The turn that was last brought into view, of what was shown."""
    n_shown: int = 0
    """Counts what was laid here. Names of widgets go by it: one made of a task's number or a dialogue's id
    would be in the page, where a labeler could tell control tasks by it."""

    def note(self, kind: str, text: str) -> None:
        """To be said at the top of the page, once; `kind` is success, info, warning or error."""
        self.notices.append((kind, text))

    def lay(self, taken: tuple[Item, Answer, bool] | None) -> None:
        """Put an item on the desk, or nothing."""
        self.item, self.answer = (None, None) if taken is None else taken[:2]
        self.selected = self.clash = self.focus = None
        self.skipping = False
        self.pages, self.page = (((),) if self.item is None else paged(self.item.dialogue)), 0
        self.watch = Watch()
        self.renewed_s = time.monotonic()
        self.n_shown += 1
        if taken is not None and taken[2] and taken[1].touched:
            told = "Your draft was found again."
            if taken[1].sent is not None:
                told += " Your last click on Save may not have arrived: press Save again, it counts once."
            self.note("info", told)


def open_desk(
    page: str, store: Store, account: Account, purposes: tuple[Purpose, ...], *, blind: bool
) -> Desk:
    """The desk of a page for this account, with the next task of an open project on it if there is any; what
    there was to say is said, and the project asked for where there are several."""
    at = _desk(page, store, account, blind)
    known = projects.listed(store, account.id)
    _choose_project(at, [each for each, state in known if each.purpose in purposes and state == "open"])
    if at.item is None and at.project is not None:
        asked = next(each for each, _ in known if each.id == at.project)
        second = asked.purpose == "review" and not asked.prelabelled
        with refusals(at):
            at.lay(work.take(at.store, at.account.id, at.project, blind=blind or second))
            if at.item is None and second and (n := withheld(at.store, at.account.id, at.project)):
                at.note(
                    "info",
                    f"Waiting here for a second review, but not for you: {n}. You have a part in the "
                    "dialogue, or have seen what others say of it.",
                )
    _say_notices(at)
    return at


def _desk(page: str, store: Store, account: Account, blind: bool) -> Desk:
    name = f"desk:{page}"
    kept = st.session_state.get(name)
    if not isinstance(kept, Desk) or kept.account.id != account.id or kept.store is not store:
        kept = st.session_state[name] = Desk(store, account, blind)
    kept.account = account
    return kept


@contextmanager
def refusals(at: Desk) -> Iterator[None]:
    """What the store refuses is said at the top of the page; what was drafted stays."""
    try:
        yield
    except StaleLease:
        at.note(
            "warning",
            "You were away longer than this task is kept for one person, and it went to somebody else. "
            "Nothing was saved.",
        )
        at.lay(None)
    except NotAllowed as refused:
        at.note("error", f"The store refuses: {refused.message}.")
    except StoreRefused as refused:
        if refused.code != "E_KEY":
            at.note("error", f"The store refuses: {refused.message}.")
            return
        at.note("warning", "An earlier version of this answer is stored already; this one is not.")
        at.lay(None)
    except DialintError as failed:
        at.note("error", f"That was not saved. {failed.message}. Your draft is kept; please try again.")


def step(at: Desk, item: Item, change: Callable[[Answer], Answer]) -> None:
    """Change the draft: time spent is added, the draft is kept in the store, the lease stays alive."""
    if at.item is not item or at.answer is None:
        return  # a click on what is no longer on the desk: it was answered by the click before
    at.answer = _timed(at, change(at.answer))
    with refusals(at):
        work.keep(at.store, at.account.id, item, at.answer)
        if time.monotonic() - at.renewed_s > work.RENEW_S:
            work.renew(at.store, at.account.id, item)
            at.renewed_s = time.monotonic()


def _timed(at: Desk, answer: Answer) -> Answer:
    """The answer with the seconds since the last click added."""
    return answer.model_copy(update={"seconds": answer.seconds + at.watch.lap_s()})


def save(at: Desk, item: Item, send: Callable[[], Annotation | Clash] | None = None) -> None:
    """Save the answer and clear the desk for the next; a clash stays on it."""
    if at.item is not item or at.answer is None:
        return
    at.answer = answer = sealed(_timed(at, at.answer))
    with refusals(at):
        work.keep(at.store, at.account.id, item, answer)  # before the click counts: a retry must be equal
        saved = send() if send else work.send(at.store, at.account.id, item, answer)
        if isinstance(saved, Clash):
            at.clash = saved
            return
        at.note("success", "Saved." if item.blind else f"Saved as answer {saved.id}.")
        at.lay(None)


def leave(at: Desk, item: Item, reason: str | None = None) -> None:
    """Skip the task with a reason; without one a correction or a clash is put away."""
    if at.item is not item:
        return
    with refusals(at):
        if reason is None:
            work.give_up(at.store, at.account.id, item)
            at.note("info", "Nothing was changed.")
        else:
            work.skip(at.store, at.account.id, item, reason)
            at.note("info", "Skipped. You will not get this task again.")
        at.lay(None)


def take_back(at: Desk) -> None:
    """Take one's last answer up again; the task on the desk stays one's own and comes back after."""
    with refusals(at):
        taken = work.take_back(at.store, at.account.id, at.project or "", blind=at.blind)
        if taken is None:
            at.note("info", "You have no answer here to take back.")
        else:
            at.lay(taken)


def pressed(chosen: bool) -> Literal["primary", "secondary"]:
    """The look of a button whose choice was made, or not."""
    return "primary" if chosen else "secondary"


def _say_notices(at: Desk) -> None:
    for kind, text in at.notices:
        {"success": st.success, "info": st.info, "warning": st.warning, "error": st.error}[kind](inert(text))
    at.notices = []


def _choose_project(at: Desk, open_projects: list[Project]) -> None:
    names = [project.id for project in open_projects]
    if at.project not in names:
        at.project = names[0] if names else None
        at.lay(None)
    if len(names) > 1:
        st.selectbox(
            "Project", names, format_func=visible, key=f"project:{at.account.id}:{names[0]}",
            on_change=_change, args=(at, names),
        )  # fmt: skip


def _change(at: Desk, names: list[str]) -> None:
    at.project = st.session_state[f"project:{at.account.id}:{names[0]}"]
    at.lay(None)


def show_dialogue(at: Desk, page: str, focus: int | None = None) -> None:
    """The dialogue with its marks, the turn `focus` in view; words selected in it are noted on the desk. A
    long one is shown page by page."""
    item, answer = at.item, at.answer
    assert item is not None
    assert answer is not None
    focus = item.turn if focus is None else focus
    if focus is not None and at.focus != (at.n_shown, focus):
        at.page = page_of(at.pages, focus)
        at.focus = (at.n_shown, focus)
    if len(at.pages) > 1:
        _show_pages(at)
    key = f"dialogue:{page}:{at.n_shown}"

    def selected() -> None:
        said = getattr(st.session_state.get(key), "selected", None)
        place = place_in(item.dialogue, item.turn, said)
        if place is not None and at.item is item:
            at.selected = place

    marks = marks_of(answer, at.selected)
    here = (at.page, at.pages[at.page])
    draw(drawn(item.dialogue, item.turn, marks, focus, at.n_shown, here), key, selected)


def turns_in_view(at: Desk) -> set[int]:
    """The turns on the page that is before the person."""
    return {stretch.turn for stretch in at.pages[at.page]}


def _show_pages(at: Desk) -> None:
    """Where one is in a long dialogue, and the ways to its other pages."""
    here, n = at.pages[at.page], len(at.pages)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "◀ Earlier",
            key=f"earlier:{at.n_shown}",
            disabled=at.page == 0,
            on_click=_turn_to,
            args=(at, at.page - 1),
        )
        st.button(
            "Later ▶",
            key=f"later:{at.n_shown}",
            disabled=at.page == n - 1,
            on_click=_turn_to,
            args=(at, at.page + 1),
        )
        st.selectbox(
            "Page", range(n), index=at.page, key=f"page:{at.n_shown}:{at.page}", label_visibility="collapsed",
            format_func=lambda each: visible(f"Page {each + 1} of {n}: from turn {at.pages[each][0].turn}"),
            on_change=_page_chosen, args=(at, f"page:{at.n_shown}:{at.page}"), width=260,
        )  # fmt: skip
    st.caption(inert(f"A long dialogue: here are turns {here[0].turn} to {here[-1].turn}."))


def _turn_to(at: Desk, page: int) -> None:
    if 0 <= page < len(at.pages):
        at.page = page


def _page_chosen(at: Desk, key: str) -> None:
    _turn_to(at, int(st.session_state[key]))
