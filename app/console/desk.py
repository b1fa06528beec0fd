"""The desk: the item in hand on a page, and what both working pages do with it.

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

from app.console import work
from app.console.answer import Answer, Place, place_in, sealed
from app.console.dialogue import draw, drawn, marks_of
from app.console.plain import inert
from app.console.work import Clash, Item, Watch
from detector.errors import DialintError
from labeling.annotation import Annotation
from labeling.store.database.refusals import NotAllowed, StaleLease, StoreRefused
from labeling.store.database.transactions import Store
from labeling.store.records import Account, Project

SKIP_REASONS = (
    "Not in my language",
    "The text is broken or cut off",
    "I cannot decide",
    "I know the people in it",
)


@dataclass
class Desk:
    """What lies on one page's desk."""

    store: Store
    account: Account
    project: str | None = None
    item: Item | None = None
    answer: Answer | None = None
    selected: Place | None = None
    clash: Clash | None = None
    focus: int | None = None
    skipping: bool = False
    notices: list[tuple[str, str]] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)
    renewed_s: float = 0.0
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
        self.watch = Watch()
        self.renewed_s = time.monotonic()
        self.n_shown += 1
        if taken is not None and taken[2] and taken[1].touched:
            told = "Your draft was found again."
            if taken[1].sent is not None:
                told += " Your last click on Save may not have arrived: press Save again, it counts once."
            self.note("info", told)


def desk(page: str, store: Store, account: Account) -> Desk:
    """The desk of a page, for this account."""
    name = f"desk:{page}"
    kept = st.session_state.get(name)
    if not isinstance(kept, Desk) or kept.account.id != account.id or kept.store is not store:
        kept = st.session_state[name] = Desk(store, account)
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


def acted(at: Desk, changed: Answer, item: Item) -> None:
    """Take a new draft: time spent is added, the draft is kept in the store, the lease stays alive."""
    if at.item is not item or at.answer is None:
        return  # a click on what is no longer on the desk: it was answered by the click before
    at.answer = _timed(at, changed)
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


def open_next(at: Desk, *, blind: bool) -> None:
    """Take the next task, if none is on the desk."""
    if at.item is None and at.project is not None:
        with refusals(at):
            at.lay(work.take(at.store, at.account.id, at.project, blind=blind))


def pressed(chosen: bool) -> Literal["primary", "secondary"]:
    """The look of a button whose choice was made, or not."""
    return "primary" if chosen else "secondary"


def say_notices(at: Desk) -> None:
    """What was noted since the last time, at the top of the page."""
    for kind, text in at.notices:
        {"success": st.success, "info": st.info, "warning": st.warning, "error": st.error}[kind](inert(text))
    at.notices = []


def choose_project(at: Desk, open_projects: list[Project]) -> None:
    """The project to work in; asked only if there are several."""
    names = [project.id for project in open_projects]
    if at.project not in names:
        at.project = names[0] if names else None
        at.lay(None)
    if len(names) > 1:
        st.selectbox(
            "Project", names, key=f"project:{at.account.id}:{names[0]}", on_change=_change, args=(at, names)
        )


def _change(at: Desk, names: list[str]) -> None:
    at.project = st.session_state[f"project:{at.account.id}:{names[0]}"]
    at.lay(None)


def show_dialogue(at: Desk, page: str) -> None:
    """The dialogue with its marks; words selected in it are noted on the desk."""
    item, answer = at.item, at.answer
    assert item is not None
    assert answer is not None
    key = f"dialogue:{page}:{at.n_shown}"

    def selected() -> None:
        said = getattr(st.session_state.get(key), "selected", None)
        place = place_in(item.dialogue, item.turn, said)
        if place is not None and at.item is item:
            at.selected = place

    draw(drawn(item.dialogue, item.turn, marks_of(answer, at.selected), at.focus, at.n_shown), key, selected)


def skip_button(at: Desk, item: Item, key: str) -> None:
    """Skip, with a reason."""
    st.button("Skip…", key=f"skip:{key}", shortcut="K", width="stretch", on_click=_ask_why, args=(at,))
    if not at.skipping:
        return
    with st.container(border=True):
        reason = st.selectbox("Why?", SKIP_REASONS, key=f"why:{key}")
        more = st.text_input("More, if you like", key=f"more:{key}", max_chars=200).strip()
        said = f"{reason}: {more}" if more else reason
        st.button("Skip this task", key=f"skipped:{key}", on_click=leave, args=(at, item, said))


def _ask_why(at: Desk) -> None:
    at.skipping = not at.skipping
