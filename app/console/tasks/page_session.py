"""The session of a working page: the current item, its draft, and what the workspace's events do with them.

Streamlit's session state holds a `PageSession` for each page. It can be lost at any time: the store has the
lease and the draft, and `open_session` finds them again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, hold_language, paragraph, show_number
from dialint.app.console.messages import ERASED, explain
from dialint.app.console.tasks import items
from dialint.app.console.tasks.answer import (
    Act,
    Answer,
    Selection,
    acknowledge,
    apply_edit,
    parse_batch,
    seal,
    unanswered_codes,
)
from dialint.app.console.tasks.dialogue_view import TurnSlice, find_page, load_words, paginate
from dialint.app.console.tasks.items import EditConflict, Item, Saved
from dialint.app.console.text import safe_text
from dialint.detector.errors import DialintError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import leases, projects, task_view
from dialint.labeling.store.accounts import Preferences, load_preferences, save_preferences
from dialint.labeling.store.api import Store
from dialint.labeling.store.appeals import count_withheld
from dialint.labeling.store.records import (
    Account,
    DialogueMissing,
    NotAllowed,
    Project,
    Purpose,
    StaleLease,
    StoreRefused,
)
from dialint.labeling.store.task_view import count_waiting

AWAY_S = 120.0
"""The most of a pause between two clicks that counts as work."""
COUNTED_S = 60.0
"""Seconds after which the length of the queue is counted anew."""


@dataclass
class PageSession:
    """State of one page. A `blind` page shows nothing of what others say of the item."""

    store: Store
    account: Account
    blind: bool
    preferences: Preferences = field(default_factory=Preferences)
    project: str | None = None
    """The project whose queue is worked on."""
    started: bool = False
    """True once tasks are claimed: opening a page takes no work from others."""
    item: Item | None = None
    answer: Answer | None = None
    conflict: EditConflict | None = None
    solution: tuple[Item, Annotation] | None = None
    """A training task that was answered, until the person has read its solution."""
    notices: list[tuple[str, str]] = field(default_factory=list)
    clicked_s: float = 0.0
    """The time when the item was opened, or last worked on, by the server's clock."""
    renewed_s: float = 0.0
    pages: tuple[tuple[TurnSlice, ...], ...] = ((),)
    page: int = 0
    """The visible page of a long dialogue."""
    adding: bool = False
    """True if the person came from the page of the dialogue to add an error."""
    selected: Selection | None = None
    """The words that were selected there for it."""
    back: dict[str, str] | None = None
    """The address of the dialogue that the person came from to review it."""
    n_items: int = 0
    """Items opened so far, by which the browser tells one from the next: a task's number or a dialogue's id
    would be in the page, where a labeler could tell control tasks by it."""
    durations: list[float] = field(default_factory=list)
    """Seconds of the answers of this sitting, which only the person sees."""
    waiting: tuple[float, int] | None = None
    """The time when the queue was counted, and its length."""
    lock: AbstractContextManager[Any] = field(default_factory=threading.RLock, repr=False, compare=False)
    """Held while a report of the browser is applied: Streamlit runs the page for the next report while the
    run before may still be at work."""

    @property
    def current(self) -> tuple[Item, Answer]:
        """The current item and its draft; there must be one."""
        assert self.item is not None
        assert self.answer is not None
        return self.item, self.answer

    def notify(self, kind: str, text: str) -> None:
        """Show a message at the top of the page; `kind` is success, info, warning or error. It stays until
        the person does the next thing: what one run of the page draws may never reach the browser, if a newer
        run replaces it. The same one, as each run makes it that a project refuses, stands there once."""
        if (kind, text) not in self.notices:
            self.notices.append((kind, text))

    def on_click(self, action: Callable[..., None], *args: Any) -> None:
        """Run the callback of a button as a whole, without the messages of what was done before."""
        with hold_language(), self.lock:
            self.notices = []
            action(*args)

    def open_item(self, claimed: tuple[Item, Answer, bool] | None) -> None:
        """Make an item the current one; None closes the current one."""
        self.item, self.answer = (None, None) if claimed is None else claimed[:2]
        self.conflict, self.adding, self.selected = None, False, None
        self.pages, self.page = (((),) if self.item is None else paginate(self.item.dialogue)), 0
        self.clicked_s = self.renewed_s = time.monotonic()
        self.n_items += 1
        if self.item is None or self.answer is None:
            return
        first = next((self.answer.choices[at].finding.turn for at in self.answer.undecided), self.item.turn)
        if first is not None:
            self.page = find_page(self.pages, first)
        if claimed is not None and claimed[2] and self.answer.has_input:
            message = _("Your draft was restored.")
            if self.answer.sent is not None:
                message += " " + _(
                    "Your last click on Save may not have arrived: press Save again, it counts once."
                )
            self.notify("info", message)

    def open_next(self, claimed: tuple[Item, Answer, bool] | None) -> None:
        """Close the current item and open the next one. The queue has one less, but after a correction."""
        if self.waiting is not None and self.item is not None and self.item.supersedes is None:
            self.waiting = (self.waiting[0], max(0, self.waiting[1] - 1))
        self.open_item(claimed)

    @contextmanager
    def report_refusals(self) -> Iterator[None]:
        """Show what the store refuses at the top of the page; the draft stays."""
        try:
            yield
        except StaleLease:
            self.notify("warning", paragraph("You were away longer than this"))
            self.open_item(None)
        except DialogueMissing:
            self.notify("warning", _(ERASED))
            self.open_item(None)
        except NotAllowed as refused:
            self.notify("error", _("The store refuses: {reason}.").format(reason=explain(refused)))
        except StoreRefused as refused:
            if refused.code != "E_KEY":
                self.notify("error", _("The store refuses: {reason}.").format(reason=explain(refused)))
                return
            self.notify("warning", _("An earlier version of this answer is stored already; this one is not."))
            self.open_item(None)
        except DialintError as failed:
            message = _("That was not saved. {reason}. Your draft is kept; please try again.")
            self.notify("error", message.format(reason=explain(failed)))


def open_session(
    page: str, store: Store, account: Account, purposes: tuple[Purpose, ...], *, blind: bool
) -> PageSession:
    """Return the session of a page, with an open project: at first one in which a task is held. Once started,
    the next task is claimed."""
    session = find_session(page, store, account, blind=blind)
    if session.item is not None:
        return session
    by_id = {project.id: project for project in list_open(store, account, purposes)}
    if session.project not in by_id:
        held = (name for name in by_id if leases.find_held(store, account.id, name) is not None)
        session.project = next(held, next(iter(by_id), None))
        _leave_project(session)
    with hold_language(), session.lock, session.report_refusals():
        if session.solution is None and session.project is not None:
            _claim(session, by_id[session.project])
    return session


def list_open(store: Store, account: Account, purposes: tuple[Purpose, ...]) -> list[Project]:
    """Return the open projects of these purposes in which the account takes part."""
    return [
        project
        for project, state in projects.list_projects(store, account.id)
        if project.purpose in purposes
        and state == "open"
        and account.id in (project.members or (account.id,))
    ]


def find_session(page: str, store: Store, account: Account, *, blind: bool) -> PageSession:
    name = f"page_session:{page}"
    session = st.session_state.get(name)
    if not isinstance(session, PageSession) or session.account.id != account.id or session.store is not store:
        preferences = load_preferences(store, account.id)
        session = st.session_state[name] = PageSession(store, account, blind, preferences)
    session.account = account
    return session


def _claim(session: PageSession, project: Project) -> None:
    store, actor = session.store, session.account.id
    if not session.started and leases.find_held(store, actor, project.id) is None:
        return
    second_review = project.purpose == "review" and not project.prelabelled
    session.started = True
    session.open_item(items.claim_next(store, actor, project.id, blind=session.blind or second_review))
    if session.item is not None:
        return
    session.started, session.waiting = False, None
    if second_review and (n := count_withheld(store, actor, project.id)):
        message = paragraph("Waiting here for a second review")
        session.notify("info", message.format(n=show_number(n)))


def count_queue(session: PageSession) -> int:
    """Return how many tasks wait for the person in the queue, beside the current one."""
    now = time.monotonic()
    if session.waiting is None or now - session.waiting[0] > COUNTED_S:
        session.waiting = (now, count_waiting(session.store, session.account.id, session.project or ""))
    return session.waiting[1]


def show_projects(session: PageSession, purposes: tuple[Purpose, ...]) -> None:
    """Show a choice of open projects, where there are several."""
    names = [project.id for project in list_open(session.store, session.account, purposes)]
    if len(names) < 2 or session.project not in names:
        return
    key = f"project:{session.account.id}:{names[0]}"

    def change_project() -> None:
        session.project = st.session_state[key]
        _leave_project(session)

    st.selectbox(
        _("Project"), names, index=names.index(session.project), format_func=safe_text, key=key,
        on_change=session.on_click, args=(change_project,), width=420,
    )  # fmt: skip


def _leave_project(session: PageSession) -> None:
    session.started, session.solution, session.waiting = False, None, None
    session.open_item(None)


def receive(session: PageSession, raw: Any) -> None:
    """Apply the browser's report: edits and actions on the current draft that were not applied before. The
    draft is stored once for all of them. What belongs to another draft is skipped: the click before has
    answered that item, or it is open elsewhere. Runs as a whole even if a newer run replaces this one, so
    that no action is acknowledged and not taken."""
    batch = parse_batch(raw)
    if batch is None:
        return
    with hold_language(), session.lock:
        item, answer = session.item, session.answer
        if item is None or answer is None or batch.draft != answer.key or session.conflict:
            return
        before = answer
        taxonomy = load_taxonomy()
        events = [each for each in batch.parse_events() if each[0] > answer.applied.get(batch.tab, 0)]
        if events:
            session.notices = []
            session.adding = False  # it has begun: a page that is drawn anew does not ask for the words again
        for number, event in events:
            answer = acknowledge(answer, batch.tab, number)
            if isinstance(event, Act):
                session.answer = answer
                if event.kind in ("stop", "reopen"):  # which leave the draft: it is stored first
                    session.answer = _add_seconds(session, answer)
                    if not _store_draft(session, item):
                        return
                _act(session, item, event)
                if session.item is not item or session.answer is None or session.conflict:
                    return
                answer = session.answer
            elif event is not None:
                answer = apply_edit(
                    answer, event, item.dialogue, item.codes, item.turn, taxonomy,
                    lambda turn: items.masked_turn(session.store, item, turn),
                )  # fmt: skip
        if answer != before:
            session.answer = _add_seconds(session, answer)
            _store_draft(session, item)


def _store_draft(session: PageSession, item: Item) -> bool:
    """Store the draft, and renew the lease now and then. Returns whether the store accepted both."""
    assert session.answer is not None
    with session.report_refusals():
        items.save_draft(session.store, session.account.id, item, session.answer)
        if time.monotonic() - session.renewed_s > items.RENEW_S:
            if item.task is not None and item.token is not None:
                leases.renew(session.store, session.account.id, item.task, item.token)
            session.renewed_s = time.monotonic()
        return True
    return False


def _add_seconds(session: PageSession, answer: Answer) -> Answer:
    """Return the answer with the seconds since the last click, of which at most `AWAY_S` are work."""
    before, session.clicked_s = session.clicked_s, time.monotonic()
    return answer.model_copy(update={"seconds": answer.seconds + min(session.clicked_s - before, AWAY_S)})


def _act(session: PageSession, item: Item, event: Act) -> None:
    match event.kind:
        case "save":
            assert session.answer is not None
            is_blind_label = session.blind and bool(unanswered_codes(session.answer, item.codes))
            if session.answer.undecided or is_blind_label:
                session.notify("warning", _("Not saved: something is not decided yet."))
            else:
                save(session, item)
        case "leave":
            discard(session, item)
        case "reopen":
            undo(session)
        case "skip":
            reason = load_words()["texts"]["skip_reasons"].get(event.reason)
            if reason is not None:
                skip(session, item, f"{reason}: {event.more}" if event.more.strip() else reason)
        case "stop":
            stop(session, item)
        case "page":
            if 0 <= event.page < len(session.pages):
                session.page = event.page
        case "auto_save":
            with session.report_refusals():  # the rest is read anew: another page may have changed it since
                before = load_preferences(session.store, session.account.id)
                session.preferences = before.model_copy(update={"auto_save": event.on})
                save_preferences(session.store, session.account.id, session.preferences)


def save(session: PageSession, item: Item, submit: Callable[[], Saved | EditConflict] | None = None) -> None:
    """Submit the answer and open the next item, if tasks are claimed here; a conflict stays open."""
    if session.item is not item or session.answer is None:
        return
    session.answer = answer = seal(_add_seconds(session, session.answer))
    actor = session.account.id
    with session.report_refusals():
        is_training = item.pool == "training" and item.supersedes is None  # its solution comes first
        project = session.project if session.started and not is_training else None
        saved = submit() if submit else items.submit(session.store, actor, item, answer, project=project)
        if isinstance(saved, EditConflict):
            session.conflict = saved
            return
        session.notify(
            "success",
            _("Saved.") if item.blind else _("Saved as answer {number}.").format(number=saved.answer.id),
        )
        session.durations.append(answer.seconds)
        if is_training:
            session.solution = (item, saved.answer)
        session.open_next(saved.next)


def skip(session: PageSession, item: Item, reason: str) -> None:
    """Skip the task with a reason."""
    if session.item is item and item.task is not None and item.token is not None:
        with session.report_refusals():
            leases.skip(session.store, session.account.id, item.task, item.token, reason)
            task_view.delete_draft(session.store, session.account.id, item.name)
            session.notify("info", _("Skipped. You will not get this task again."))
            session.open_next(None)


def stop(session: PageSession, item: Item) -> None:
    """Give the task back to the queue, for anybody, and claim no other; the draft stays one's own."""
    if session.item is item and item.task is not None and item.token is not None:
        with session.report_refusals():
            leases.release(session.store, session.account.id, item.task, item.token)
            session.notify("info", _("The task went back to the queue. Your draft is kept."))
            session.started, session.waiting = False, None
            session.open_item(None)


def discard(session: PageSession, item: Item) -> None:
    """Discard the draft of a correction or of a conflict; the stored answer stays as it is."""
    if session.item is item and (item.supersedes is not None or session.conflict is not None):
        with session.report_refusals():
            task_view.delete_draft(session.store, session.account.id, item.name)
            session.notify("info", _("Nothing was changed."))
            session.open_item(None)


def undo(session: PageSession) -> None:
    """Reopen one's last answer; the current task remains one's own and comes back afterwards."""
    with session.report_refusals():
        reopened = items.reopen_last(
            session.store, session.account.id, session.project or "", blind=session.blind
        )
        if reopened is None:
            session.notify("info", _("You have no answer here to take back."))
        else:
            session.open_item(reopened)
