"""The item in a person's hands: taken from a queue, drafted, answered, skipped, taken up again.

Everything of it lives in the store; what is kept here can be lost and is found again by `take`. Rights
are the store's to check. The screen is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from dialint.app.console.answer import Answer, begun, resumed
from dialint.detector.masking import MaskedText
from dialint.detector.masking.spans import placeholders_in, replace_spans
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import annotations as answers
from dialint.labeling.store import dialogues, drafts, leases, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import Conflict, NotAllowed, StaleLease
from dialint.labeling.store.masked_view import prepare, view_of
from dialint.labeling.store.records import TaskView
from dialint.labeling.store.tasks import dialogue_of

AWAY_S = 120.0
"""A pause between two clicks counts as work up to here: the rest was spent elsewhere."""
RENEW_S = 60.0
"""A lease is renewed by the first click after this long."""
SITTING_S = 3600.0
"""For this long a blind answer can be taken back: what was answered long ago may have been talked about."""
LOOKED_BACK = 20
"""Own answers among which the last review is looked for."""


@dataclass(frozen=True)
class Item:
    """What is before the person: a task held by a lease, or (`supersedes`) an answer of theirs to correct."""

    dialogue: Dialogue
    codes: tuple[str, ...]
    turn: int | None
    verdict: Verdict | None = None
    instructions: str = ""
    task: int | None = None
    token: int | None = None
    supersedes: int | None = None
    blind: bool = False
    stored: str | None = None
    """The dialogue's id in the store, which a blind labeler's page must not hold."""

    @property
    def name(self) -> str:
        """The draft's name in the store. A task keeps its draft if its lease is lost and found again."""
        return f"task:{self.task}" if self.supersedes is None else f"answer:{self.supersedes}"


@dataclass
class Watch:
    """Seconds spent, by the server's clock; a long pause counts as `AWAY_S`."""

    now_s: Callable[[], float] = time.monotonic
    at_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.at_s = self.now_s()

    def lap_s(self) -> float:
        """Seconds since the last lap."""
        before, self.at_s = self.at_s, self.now_s()
        return min(self.at_s - before, AWAY_S)


@dataclass(frozen=True)
class Clash:
    """The item was answered elsewhere: `theirs`, newest last, against `ours`, which is not saved."""

    item: Item
    theirs: tuple[Annotation, ...]
    ours: tuple[Finding, ...]
    seconds: float
    key: str


def take(store: Store, actor: str, project: str, *, blind: bool) -> tuple[Item, Answer, bool] | None:
    """The next item of a project, with what its holder had drafted; whether a draft was found. None: the
    queue holds nothing for this account. `blind`: nobody else's word of it is shown, whatever happens.

    Raises:
        NotAllowed: the account may not work here.
        StoreRefused: the project is closed or past its deadline.
    """
    lease = leases.claim(store, actor, project)
    if lease is None:
        return None
    if blind:
        prepare(store, lease.dialogue)
    view = tasks.view(store, actor, lease.task)
    item = _item(view, task=lease.task, token=lease.token, blind=blind, stored=lease.dialogue)
    return (item, *_drafted(store, actor, item, begun(item.verdict, item.codes, item.turn)))


def _item(view: TaskView, **held: Any) -> Item:
    return Item(view.dialogue, view.codes, view.turn, view.verdict, view.instructions, **held)


def take_back(store: Store, actor: str, project: str, *, blind: bool) -> tuple[Item, Answer, bool] | None:
    """The actor's last answer, to be corrected; none if there is none to take back. `blind`: the last one in
    this project and of this sitting, seen as it was then; else the last with the verdict in sight."""
    found = _last_blind(store, actor, project) if blind else _last_review(store, actor)
    if found is None:
        return None
    item, last = found
    return (item, *_drafted(store, actor, item, resumed(last, item.verdict)))


def _last_blind(store: Store, actor: str, project: str) -> tuple[Item, Annotation] | None:
    found = answers.last_in(store, actor, project)
    if found is None:
        return None
    view, last = found
    if last.at is None or (datetime.now(UTC) - last.at).total_seconds() > SITTING_S:
        return None
    stored = dialogue_of(store, view.task)
    return _item(view, supersedes=int(last.id), blind=True, stored=stored), last


def _last_review(store: Store, actor: str) -> tuple[Item, Annotation] | None:
    for last in answers.own(store, actor, LOOKED_BACK):
        if last.seen_verdict:
            dialogue, verdict = dialogues.read(store, actor, last.dialogue_id)
            found = Item(
                dialogue, last.codes, last.turn, verdict, supersedes=int(last.id), stored=dialogue.id
            )
            return found, last
    return None


def _drafted(store: Store, actor: str, item: Item, fresh: Answer) -> tuple[Answer, bool]:
    """The draft in the store, or `fresh`, which is kept at once: its key must outlive this process."""
    draft = drafts.of_item(store, actor, item.name)
    if draft is not None:
        try:
            return Answer.model_validate_json(draft.content), True
        except ValidationError:
            pass  # of another version of the console: begin anew
    drafts.keep(store, actor, item.name, fresh.model_dump_json())
    return fresh, False


def masked_turn(store: Store, item: Item, turn: int) -> MaskedText | None:
    """The text of a turn as it stands in the item, masked, by the view that the store keeps; none if that is
    not known to be of this dialogue."""
    if item.stored is None:
        return None
    name, text = item.stored, {each.index: each.text for each in item.dialogue.turns}[turn]
    prepare(store, name)
    view = store.read(lambda transaction: view_of(transaction, name))
    if text == view.texts[turn].text:  # what the person sees has its placeholders already
        found = placeholders_in(text)
        return replace_spans(text, found, [each.key for each in found])
    was = next(each.text for each in view.stored.turns if each.index == turn)
    return view.texts[turn] if text == was else None


def keep(store: Store, actor: str, item: Item, answer: Answer) -> None:
    """Keep the draft."""
    drafts.keep(store, actor, item.name, answer.model_dump_json())


def renew(store: Store, actor: str, item: Item) -> None:
    """Start the lease anew, where there is one.

    Raises:
        StaleLease: it was lost.
    """
    if item.task is not None and item.token is not None:
        leases.renew(store, actor, item.task, item.token)


def send(store: Store, actor: str, item: Item, answer: Answer) -> Annotation | Clash:
    """Save a `sealed` answer, whose draft is kept, under its key; or what stands in its way. However often
    it is sent, it counts once.

    Raises:
        StaleLease: the lease was lost, and nobody has answered in its place that the actor may see.
        Conflict: a blind answer was corrected before; there is nothing to compare it with.
    """
    assert answer.sent is not None, "seal it first"
    found, seconds = answer.sent.findings, answer.sent.seconds
    try:
        if item.supersedes is not None:
            saved = answers.correct(store, actor, item.supersedes, answer.key, found, seconds)
        else:
            assert item.task is not None, "an item is a task or a correction"
            assert item.token is not None, "a task is held by a lease"
            saved = answers.submit(store, actor, item.task, item.token, answer.key, found, seconds)
    except Conflict as conflict:
        if item.blind:
            raise
        return Clash(item, conflict.theirs, found, seconds, answer.key)
    except StaleLease:
        theirs = _answered(store, actor, item)
        if not theirs:
            raise
        return Clash(item, theirs, found, seconds, answer.key)
    drafts.drop(store, actor, item.name)
    return saved


def _answered(store: Store, actor: str, item: Item) -> tuple[Annotation, ...]:
    """The answers of others to a task that was lost, if the actor may see them."""
    assert item.task is not None, "only a task has a lease to lose"
    if item.blind:
        return ()
    try:
        return tasks.view(store, actor, item.task).answers
    except NotAllowed:
        return ()


def insist(store: Store, actor: str, clash: Clash) -> Annotation | Clash:
    """Save ours all the same, beside theirs: as a review of the dialogue, or on top of one's own.

    Raises:
        NotAllowed: the actor does not review.
    """
    item, last = clash.item, clash.theirs[-1]
    again = f"{clash.key}-again-{last.id}"
    try:
        if item.supersedes is not None and last.labeler == actor:
            saved = answers.correct(store, actor, int(last.id), again, clash.ours, clash.seconds)
        else:
            saved = answers.review(
                store, actor, item.dialogue.id, again, item.codes, clash.ours,
                expected=int(last.id), turn=item.turn, seconds=clash.seconds,
            )  # fmt: skip
    except Conflict as conflict:
        return replace(clash, theirs=conflict.theirs)
    drafts.drop(store, actor, item.name)
    return saved


def give_up(store: Store, actor: str, item: Item) -> None:
    """Leave theirs as it is and throw the draft away."""
    drafts.drop(store, actor, item.name)


def skip(store: Store, actor: str, item: Item, reason: str) -> None:
    """Give the task back for good, with a reason.

    Raises:
        StoreRefused: no reason.
        StaleLease: it was lost already.
    """
    assert item.task is not None, "a correction is left, not skipped"
    assert item.token is not None, "a task is held by a lease"
    leases.skip(store, actor, item.task, item.token, reason)
    drafts.drop(store, actor, item.name)


def differing(theirs: Sequence[Finding], ours: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """What only they found, and what only we found: by turn, code, severity and place."""

    def only(own: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
        seen = set(map(_value, others))
        return [each for each in own if _value(each) not in seen]

    return only(theirs, ours), only(ours, theirs)


def _value(finding: Finding) -> tuple[object, ...]:
    return finding.turn, finding.code, finding.severity, finding.start, finding.end
