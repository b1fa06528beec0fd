"""The work item of a person: claimed from a queue, drafted, submitted, skipped, reopened.

Everything of it lives in the store; what is kept here can be lost and is found again by `claim_next`. The
store checks rights. Nothing here knows the screen.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from dialint.app.console.tasks.answer import Answer, Sent, reopen_answer, start_answer
from dialint.app.console.tasks.evidence import Policies, load_cited_policies
from dialint.detector.masking import MaskedText
from dialint.detector.masking.spans import find_placeholders, replace_spans
from dialint.detector.records import Dialogue, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import annotations as answers
from dialint.labeling.store import dialogues, leases, task_view
from dialint.labeling.store.api import Store, load_view
from dialint.labeling.store.records import (
    Conflict,
    DialogueMissing,
    Draft,
    NotAllowed,
    Pool,
    StaleLease,
    StoreRefused,
)
from dialint.labeling.store.task_view import OpenTask
from dialint.labeling.store.tasks import get_dialogue_id

RENEW_S = 60.0
"""A lease is renewed by the first click after this long."""
SITTING_S = 3600.0
"""Time in which a blind answer can be reopened: later it may have been discussed."""
MAX_LOOKBACK = 20
"""Own answers that are searched for the last review."""


@dataclass(frozen=True)
class Item:
    """A task held by a lease, or (`supersedes`) an answer of the person's own to correct."""

    dialogue: Dialogue
    codes: tuple[str, ...]
    turn: int | None
    verdict: Verdict | None = None
    instructions: str = ""
    task: int | None = None
    token: int | None = None
    supersedes: int | None = None
    blind: bool = False
    pool: Pool = "main"
    """The pool that the holder may know: a control task says ``main``."""
    policies: Policies = field(default_factory=dict)
    """The published policies that findings cite."""
    stored: str | None = None
    """The dialogue's id in the store, which must not be in a blind labeler's page."""

    @property
    def name(self) -> str:
        """Name of the draft in the store. A task keeps its draft if its lease is lost and claimed again."""
        return f"task:{self.task}" if self.supersedes is None else f"answer:{self.supersedes}"


@dataclass(frozen=True)
class EditConflict:
    """The item was answered elsewhere: `theirs`, newest last, against `ours`, which is not saved under its
    `key`."""

    item: Item
    theirs: tuple[Annotation, ...]
    ours: Sent
    key: str


def claim_next(store: Store, actor: str, project: str, *, blind: bool) -> tuple[Item, Answer, bool] | None:
    """Claim the next item. Returns it with its draft and whether the draft is an earlier one; None if there
    is none."""
    opened = task_view.claim_and_open(store, actor, project)
    return None if opened is None else _to_item(store, actor, opened, blind=blind)


def _to_item(store: Store, actor: str, opened: OpenTask, *, blind: bool) -> tuple[Item, Answer, bool]:
    lease, view, draft = opened
    item = Item(
        view.dialogue, view.codes, view.turn, view.verdict, view.instructions,
        task=lease.task, token=lease.token, blind=blind, pool=lease.pool, stored=lease.dialogue,
        policies={} if blind else load_cited_policies(store, actor, view.dialogue, view.verdict),
    )  # fmt: skip
    if draft is not None and (answer := _parse_draft(draft)) is not None:
        return item, answer, True
    return item, start_answer(item.verdict, item.codes, item.turn, lease.answer_key), False


def claim_dialogue(store: Store, actor: str, project: str, dialogue: str) -> tuple[Item, Answer, bool]:
    """Claim the review of a chosen dialogue, as `claim_next`, or reopen the actor's own answer to it."""
    try:
        opened = task_view.claim_and_open_dialogue(store, actor, project, dialogue)
    except StoreRefused as refused:
        listed = answers.list_annotations(store, actor, dialogue) if refused.code == leases.ANSWERED else ()
        own = [each for each in listed if each.labeler == actor and each.turn is None and each.seen_verdict]
        if not own:
            raise
        return _reopen_review(store, actor, own[-1])
    return _to_item(store, actor, opened, blind=False)


def reopen_last(store: Store, actor: str, project: str, *, blind: bool) -> tuple[Item, Answer, bool] | None:
    """Reopen the actor's last answer to correct it; if `blind`, the last of this project and sitting, as
    displayed then."""
    if blind:
        last_view = answers.find_last_answer(store, actor, project)
        if last_view is None:
            return None
        view, last = last_view
        if last.at is None or (datetime.now(UTC) - last.at).total_seconds() > SITTING_S:
            return None
        item = Item(
            view.dialogue, view.codes, view.turn, view.verdict, view.instructions,
            supersedes=int(last.id), blind=True, stored=get_dialogue_id(store, view.task),
        )  # fmt: skip
    else:
        own = answers.list_own(store, actor, MAX_LOOKBACK)
        review = next((each for each in own if each.seen_verdict), None)
        if review is None:
            return None
        return _reopen_review(store, actor, review)
    return (item, *_load_draft(store, actor, item, reopen_answer(last, item.verdict)))


def _reopen_review(store: Store, actor: str, last: Annotation) -> tuple[Item, Answer, bool]:
    dialogue, verdict = dialogues.read(store, actor, last.dialogue_id)
    item = Item(
        dialogue, last.codes, last.turn, verdict, supersedes=int(last.id), stored=dialogue.id,
        policies=load_cited_policies(store, actor, dialogue, verdict),
    )  # fmt: skip
    return (item, *_load_draft(store, actor, item, reopen_answer(last, item.verdict)))


def _load_draft(store: Store, actor: str, item: Item, fresh: Answer) -> tuple[Answer, bool]:
    """Return the stored draft, or `fresh`, which is stored at once: its key must outlive this process."""
    draft = task_view.load_draft(store, actor, item.name, item.stored or item.dialogue.id)
    if draft is not None and (answer := _parse_draft(draft)) is not None:
        return answer, True
    save_draft(store, actor, item, fresh)
    return fresh, False


def _parse_draft(draft: Draft) -> Answer | None:
    try:
        return Answer.model_validate_json(draft.content)
    except ValidationError:  # of another version of the console: start anew
        return None


def save_draft(store: Store, actor: str, item: Item, answer: Answer) -> None:
    """Store the draft."""
    task_view.save_draft(store, actor, item.name, answer.model_dump_json(), item.stored or item.dialogue.id)


def masked_turn(store: Store, item: Item, turn: int) -> MaskedText | None:
    """Return a turn's masked text by the view of the store; None if that is not of this dialogue."""
    if item.stored is None:
        return None
    name, text = item.stored, {each.index: each.text for each in item.dialogue.turns}[turn]
    try:
        view = store.read(lambda transaction: load_view(transaction, name))
    except DialogueMissing:  # erased meanwhile: the draft will not be stored
        return None
    if text == view.texts[turn].text:  # the person sees placeholders already
        spans = find_placeholders(text)
        return replace_spans(text, spans, [span.key for span in spans])
    original = next(each.text for each in view.stored.turns if each.index == turn)
    return view.texts[turn] if text == original else None


class Saved(NamedTuple):
    """A saved answer, and the next item, with its draft, that was claimed with it."""

    answer: Annotation
    next: tuple[Item, Answer, bool] | None = None


def submit(
    store: Store, actor: str, item: Item, answer: Answer, *, project: str | None = None
) -> Saved | EditConflict:
    """Save a sealed answer under its key, delete its draft, and claim the next item of `project`, if any, in
    one transaction. Repeated calls count once. Returns the conflict instead if somebody else has answered
    meanwhile.

    Raises:
        StaleLease: the lease was lost, and nobody has answered in its place that the actor may see.
        Conflict: a blind answer was corrected before; there is nothing to compare it with.
    """
    assert answer.sent is not None, "seal it first"
    ours = answer.sent
    content = ours.findings, ours.seconds, ours.rejections
    try:
        if item.supersedes is not None:
            saved = answers.correct(store, actor, item.supersedes, answer.key, *content)
            task_view.delete_draft(store, actor, item.name)
            return Saved(saved)
        assert item.task is not None, "an item is a task or a correction"
        assert item.token is not None, "a task is held by a lease"
        saved, opened = answers.submit_and_claim(
            store, actor, item.task, item.token, answer.key, *content, project=project
        )
    except Conflict as conflict:
        if item.blind:
            raise
        return EditConflict(item, conflict.theirs, ours, answer.key)
    except StaleLease:
        assert item.task is not None, "only a task has a lease to lose"
        theirs: tuple[Annotation, ...] = ()
        if not item.blind:
            with suppress(NotAllowed):
                theirs = task_view.view_task(store, actor, item.task).answers
        if not theirs:
            raise
        return EditConflict(item, theirs, ours, answer.key)
    return Saved(saved, None if opened is None else _to_item(store, actor, opened, blind=item.blind))


def submit_anyway(store: Store, actor: str, conflict: EditConflict) -> Saved | EditConflict:
    """Save ours beside theirs: as a review of the dialogue, or as a correction of one's own answer."""
    item, last, ours = conflict.item, conflict.theirs[-1], conflict.ours
    key = f"{conflict.key}-again-{last.id}"
    try:
        if item.supersedes is not None and last.labeler == actor:
            saved = answers.correct(
                store, actor, int(last.id), key, ours.findings, ours.seconds, ours.rejections
            )
        else:
            saved = answers.review(
                store, actor, item.dialogue.id, key, item.codes, ours.findings, expected=int(last.id),
                turn=item.turn, seconds=ours.seconds, rejections=ours.rejections,
            )  # fmt: skip
    except Conflict as newer:
        return replace(conflict, theirs=newer.theirs)
    task_view.delete_draft(store, actor, item.name)
    return Saved(saved)
