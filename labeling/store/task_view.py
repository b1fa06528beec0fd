"""A task as an account sees it, and opening the next one: claimed, with its draft, in one transaction."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Row, and_, bindparam, delete, select

from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.schema import annotation_rows, drafts, gold, leases, tasks
from dialint.labeling.store.database.transactions import Transaction, upsert
from dialint.labeling.store.dialogues import load_dialogue, load_verdict
from dialint.labeling.store.exposure import ReadKind, record_read
from dialint.labeling.store.leases import claim, claim_dialogue, count_share_left
from dialint.labeling.store.masked_view import MaskedView, task_alias, view_for_account
from dialint.labeling.store.permissions import get_account, has_permission, read_operation, write_operation
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.rater_status import grade_account
from dialint.labeling.store.records import (
    Account,
    Draft,
    Gold,
    Lease,
    NotAllowed,
    Project,
    StoreRefused,
    TaskView,
)
from dialint.labeling.store.stored_annotations import lock_dialogues, to_annotation
from dialint.labeling.store.task_queue import count_claimable


class OpenTask(NamedTuple):
    """A task that the actor holds, with the actor's draft of the answer to it, if there is one."""

    lease: Lease
    view: TaskView
    draft: Draft | None


@write_operation()
def claim_and_open(transaction: Transaction, actor: str, project: str) -> OpenTask | None:
    """Claim the next task for the actor (`leases.claim`) and open it, or return none.

    Raises:
        NotAllowed: the actor lacks the right, the skills or the status.
        StoreRefused: the project is closed or past its deadline.
    """
    lease = claim(transaction, actor, project)
    return None if lease is None else open_lease(transaction, actor, lease)


@write_operation()
def claim_and_open_dialogue(transaction: Transaction, actor: str, project: str, dialogue: str) -> OpenTask:
    """Claim the review of a dialogue that the actor has chosen (`leases.claim_dialogue`) and open it.

    Raises:
        NotAllowed: the actor does not review, has no part in the project, or spoke in the dialogue.
        StoreRefused: it cannot be reviewed there, or somebody else holds it.
    """
    return open_lease(transaction, actor, claim_dialogue(transaction, actor, project, dialogue))


def open_lease(transaction: Transaction, actor: str, lease: Lease) -> OpenTask:
    """Open a task that the actor has just claimed."""
    view = view_task(transaction, actor, lease.task)
    return OpenTask(lease, view, load_draft(transaction, actor, name_of_task(lease.task), lease.dialogue))


@read_operation("label")
def view_task(transaction: Transaction, actor: str, task: int, *, again: bool = False) -> TaskView:
    """Returns a task as the actor may see it.

    Blind for its holder: no answers of others, nothing of how it was sampled, no agent's name, no metadata,
    and a verdict only if the project is pre-labelled. Labelers see the turns, other fields only as far as the
    codes need them, and personal data as placeholders unless the project is not masked. Reviewers who do not
    hold the task see verdict and answers, which is recorded.

    Suggestions of the verdict are for reviewers in review projects alone; so are, where the project is
    pre-labelled, the agent's name and team.

    With `again`, the view that the actor had when answering the task.

    Raises:
        NotAllowed: the actor neither holds the task nor reviews; or, with `again`, has not answered it.
    """
    account = get_account(transaction, actor)
    own = and_(leases.c.task == tasks.c.id, leases.c.account == actor)
    query = select(tasks, leases.c.state.label("lease")).outerjoin(leases, own).where(tasks.c.id == task)
    row = transaction.run(query).one_or_none()
    holds = row is not None and row.lease == ("answered" if again else "held")
    if row is None or not (holds or (has_permission(account, "review") and not again)):
        raise NotAllowed("E_RIGHT", "{actor} has no right to see this task, or there is none", actor=actor)
    project = get_project(transaction, row.project)
    view = view_for_account(transaction, account, project, row.dialogue)
    dialogue = load_dialogue(transaction, row.dialogue) if view is None else view.dialogue
    verdict = load_verdict(transaction, row.dialogue) if project.prelabelled or not holds else None
    assert dialogue is not None, "a foreign key"
    if holds:
        return _to_view(account, project, view, row, _hide(account, project, dialogue, task), verdict)
    rows = select(annotation_rows).where(annotation_rows.c.task == task).order_by(annotation_rows.c.id)
    answers = tuple(map(to_annotation, transaction.run(rows)))
    kinds: list[ReadKind] = ["dialogue" if verdict is None else "verdict"]
    if any(one.labeler != actor for one in answers):
        kinds.append("answers")
    record_read(transaction, actor, row.dialogue, *kinds)
    return _to_view(account, project, view, row, dialogue, verdict, answers)


def _to_view(
    account: Account,
    project: Project,
    view: MaskedView | None,
    row: Row[Any],
    dialogue: Dialogue,
    verdict: Verdict | None,
    answers: tuple[Annotation, ...] = (),
) -> TaskView:
    if verdict is not None:
        sees_suggestions = project.purpose == "review" and has_permission(account, "review")
        verdict = verdict.model_copy(
            update={
                "dialogue_id": dialogue.id,
                "findings": verdict.findings if view is None else view.mask_findings(verdict.findings),
                "suggestions": verdict.suggestions if sees_suggestions else (),
            }
        )
    return TaskView(
        task=row.id, project=project.id, dialogue=dialogue, turn=row.turn, codes=project.codes,
        instructions=project.instructions, verdict=verdict, answers=answers,
    )  # fmt: skip


def _hide(account: Account, project: Project, dialogue: Dialogue, task: int) -> Dialogue:
    if not has_permission(account, "review"):
        return _keep_needed(dialogue, task_alias(task), project)
    shows_origin = project.purpose == "review" and project.prelabelled
    origin = {} if shows_origin else {"agent": None, "team": None}
    turns = tuple(turn.model_copy(update={"author": None}) for turn in dialogue.turns)
    return dialogue.model_copy(update={**origin, "metadata": {}, "turns": turns})


def _keep_needed(dialogue: Dialogue, name: str, project: Project) -> Dialogue:
    """The dialogue with its turns and only those other fields that the project's codes need: any other field,
    or its absence, may reveal a control task."""
    codes = load_taxonomy().codes
    needs = {need for code in project.codes if code in codes for need in codes[code].needs}
    turns = tuple(
        turn.model_copy(
            update={"at": turn.at if "timestamps" in needs else None, "author": None, "edits": ()}
        )
        for turn in dialogue.turns
    )
    sources = dialogue.sources if "sources" in needs else ()
    policy = dialogue.policy if "policy" in needs else None
    return Dialogue(id=name, turns=turns, sources=sources, policy=policy, masked=dialogue.masked)


MAX_GRADED = 200
"""Newest training answers that are graded."""


@read_operation("label")
def count_waiting(transaction: Transaction, actor: str, project: str) -> int:
    """Count the open tasks of the actor's pools of a project that the actor may still get, within the fair
    share: not those on own dialogues, nor those that the actor holds, has answered or has skipped. Tasks that
    others hold are among them if they need more answers. Where control tasks are mixed in, the number is
    rounded up to tens: as it does not fall after a control task, it would reveal one.
    """
    account, target = get_account(transaction, actor), get_project(transaction, project)
    n = sum(count_claimable(transaction, account, project, pool) for pool in account.pools)
    if account.pools != ("main",):
        return n
    n = max(0, int(min(n, count_share_left(transaction, account, target))))
    return n if not target.control_share else -(-n // 10) * 10


class TrainingGrade(NamedTuple):
    """Number of questions of training tasks that the actor answered, `n_right` of them correctly."""

    n_right: int
    n: int


@read_operation("label")
def load_training_gold(transaction: Transaction, actor: str, task: int) -> tuple[Gold, ...]:
    """The gold labels of a training task that the actor has answered, in order of turn and code. That they
    were displayed is recorded, so a later answer on this dialogue is not blind.

    Raises:
        NotAllowed: it is no training task, or the actor has not answered it.
    """
    row = transaction.run(select(tasks).where(tasks.c.id == task)).one_or_none()
    own = select(annotation_rows.c.id).where(
        annotation_rows.c.task == task, annotation_rows.c.labeler == actor
    )
    if row is None or row.pool != "training" or transaction.run(own.limit(1)).first() is None:
        raise NotAllowed("E_RIGHT", "only a training task shows its solution, after one's own answer")
    codes = get_project(transaction, row.project).codes
    query = select(gold).where(gold.c.dialogue == row.dialogue, gold.c.doubt.is_(None))
    rows = transaction.run(query.order_by(gold.c.turn, gold.c.code)).all()
    record_read(transaction, actor, row.dialogue, "gold")
    return tuple(
        Gold.model_validate(each, from_attributes=True).model_copy(update={"retired": False})
        for each in rows
        if each.code in codes and row.turn in (None, each.turn)
    )


@read_operation("label")
def grade_own_training(transaction: Transaction, actor: str) -> TrainingGrade:
    """Grade the actor's answers to the newest training tasks; not to exams and control tasks."""
    graded = grade_account(transaction, actor, "training", n=MAX_GRADED)
    grades = [grade for answer in graded for grade in answer.grades]
    return TrainingGrade(sum(grade.marked == grade.present for grade in grades), len(grades))


MAX_BYTES = 1 << 20


def name_of_task(task: int) -> str:
    """The item of a draft of the answer to a task."""
    return f"task:{task}"


_OWN = (drafts.c.account == bindparam("actor"), drafts.c.item == bindparam("its_item"))
_LOAD = select(drafts).where(*_OWN, drafts.c.dialogue == bindparam("its_dialogue"))
_DELETE = delete(drafts).where(*_OWN)


@write_operation("label")
def save_draft(transaction: Transaction, actor: str, item: str, content: str, dialogue: str) -> None:
    """Save the actor's draft of an item of a dialogue, replacing an earlier one.

    Raises:
        DialogueMissing: the dialogue was erased, and the item with it; nothing of it is stored again.
        StoreRefused: the draft is over 1 MiB.
    """
    if len(content.encode()) > MAX_BYTES or len(item) > 200 or "\x00" in item + content:
        raise StoreRefused("E_DRAFT", "a draft is at most 1 MiB of text, its item at most 200 characters")
    lock_dialogues(transaction, {dialogue})
    row = {"account": actor, "item": item, "dialogue": dialogue, "content": content}
    upsert(transaction, drafts, {**row, "at_ms": transaction.now_ms})


@read_operation("label")
def load_draft(transaction: Transaction, actor: str, item: str, dialogue: str) -> Draft | None:
    """The actor's draft of an item of a dialogue, or none. The number in an item's name does not make it that
    of the dialogue: SQLite gives the numbers of erased rows again."""
    key = {"actor": actor, "its_item": item, "its_dialogue": dialogue}
    row = transaction.run(_LOAD, key).one_or_none()
    return None if row is None else Draft(item=item, content=row.content, at_ms=row.at_ms)


@write_operation("label")
def delete_draft(transaction: Transaction, actor: str, item: str) -> None:
    """Delete the actor's draft of an item, if there is one."""
    transaction.run(_DELETE, {"actor": actor, "its_item": item})
