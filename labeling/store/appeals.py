"""Appeals: an agent objects to a finding, a blind second review follows, then an expert decides.

The second reviewer answers a task of a review project that is not pre-labelled: no verdict, no statement, no
other answers. The expert who decides sees all of it and must not have reviewed the dialogue. Overturned: the
error is absent. Upheld: it is present. Amended: another finding replaces it. Each outcome becomes gold;
an amended finding also becomes an expert's annotation.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, and_, bindparam, insert, select, update

from dialint.detector.errors import ConfigError
from dialint.detector.records import Dialogue, Finding, Record, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.annotations import REVIEW_KINDS, list_annotations, review
from dialint.labeling.store.database.schema import accounts as account_rows
from dialint.labeling.store.database.schema import annotation_rows, appeals, tasks
from dialint.labeling.store.database.schema import appeals as appeal_rows
from dialint.labeling.store.database.schema import leases as leases_rows
from dialint.labeling.store.database.transactions import (
    Store,
    Transaction,
    in_transaction,
    read_operation,
    write_operation,
)
from dialint.labeling.store.dialogues import MAX_PER_CALL, load_dialogue, load_verdict, read
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.exposure import APPEAL, has_part, is_independent, record_read, require_not_own
from dialint.labeling.store.gold import put_gold
from dialint.labeling.store.permissions import find_account, has_permission, require_permission
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import Account, Appeal, Gold, NewTask, Outcome
from dialint.labeling.store.stored_annotations import to_annotation
from dialint.labeling.store.task_queue import lock_task, update_task
from dialint.labeling.store.tasks import add

MOST_CHARACTERS = 4000


@write_operation(repeatable=True)
def open_appeal(
    transaction: Transaction, actor: str, dialogue: str, turn: int, code: str, statement: str
) -> Appeal:
    """Object to a finding of the newest verdict; the first objection of an account to it stands.

    Raises:
        NotAllowed: not the actor's own dialogue.
        StoreRefused: no such finding, or no statement.
    """
    account = require_permission(transaction, actor, "label")
    content = load_dialogue(transaction, dialogue)
    if content is None or account.agent is None or content.agent != account.agent:
        raise NotAllowed("E_RIGHT", f"{actor} appeals findings in own dialogues only")
    verdict = load_verdict(transaction, dialogue)
    if (turn, code) not in [(one.turn, one.code) for one in (verdict.findings if verdict else ())]:
        raise StoreRefused("E_APPEAL", "there is no such finding")
    if not 0 < len(statement.strip()) <= MOST_CHARACTERS or "\x00" in statement:
        raise StoreRefused("E_APPEAL", f"a statement has 1 to {MOST_CHARACTERS} characters")
    item = {"account": actor, "dialogue": dialogue, "turn": turn, "code": code}
    existing = transaction.run(select(appeals).filter_by(**item)).one_or_none()
    if existing is not None:
        return _record(existing)
    values = {**item, "statement": statement, "state": "open", "at_ms": transaction.now_ms}
    row = transaction.run(insert(appeals).values(values).returning(appeals)).one()
    transaction.log(actor, "appeal.open", f"appeal {row.id}", dialogue=dialogue, turn=turn, code=code)
    return _record(row)


def _decide(transaction: Transaction, actor: str, number: int, outcome: Outcome, reason: str) -> Appeal:
    """Settle an open appeal, inside another operation that sees to the blind second review. An overturned
    finding becomes gold: this error is not there.

    Raises:
        NotAllowed: the actor does not decide, or reviewed the dialogue before, or appealed.
        StoreRefused: no such appeal, settled otherwise already, or no reason.
    """
    account = require_permission(transaction, actor, "decide")
    row = transaction.run(select(appeals).where(appeals.c.id == number).with_for_update()).one_or_none()
    if row is None or not reason.strip():
        raise StoreRefused("E_APPEAL", "no such appeal" if row is None else "a decision needs a reason")
    if row.state != "open":
        if (row.state, row.decided_by, row.reason) == (outcome, actor, reason):
            return _record(row)
        raise StoreRefused("E_APPEAL", f"appeal {number} is {row.state} already")
    require_not_own(transaction, account, row.dialogue)
    if row.account == actor or _reviewed(transaction, actor, row.dialogue):
        raise NotAllowed("E_RIGHT", f"{actor} has a part in this dialogue; somebody else decides")
    values = {"state": outcome, "decided_by": actor, "reason": reason}
    transaction.run(update(appeals).where(appeals.c.id == number).values(values))
    transaction.log(actor, "appeal.decide", f"appeal {number}", outcome=outcome)
    if outcome == "overturned":
        gold = Gold(dialogue=row.dialogue, turn=row.turn, code=row.code, present=False, source="appeal")
        put_gold(transaction, actor, gold)
    return _record(transaction.run(select(appeals).where(appeals.c.id == number)).one())


@read_operation
def list_open(transaction: Transaction, actor: str, n: int = 100) -> tuple[Appeal, ...]:
    """The oldest `n` open appeals; for those who decide."""
    account = require_permission(transaction, actor, "decide")
    rows = select(appeals).where(appeals.c.state == "open").order_by(appeals.c.id).limit(n)
    listed = tuple(_record(row) for row in transaction.run(rows))
    for dialogue in dict.fromkeys(one.dialogue for one in listed):
        record_read(transaction, account, dialogue, "verdict")  # what is objected to is what it says
    return listed


@read_operation
def list_own(transaction: Transaction, actor: str) -> tuple[Appeal, ...]:
    """The actor's appeals, oldest first."""
    require_permission(transaction, actor, "label")
    rows = select(appeals).where(appeals.c.account == actor).order_by(appeals.c.id)
    return tuple(_record(row) for row in transaction.run(rows))


def load_decided(transaction: Transaction) -> tuple[Appeal, ...]:
    """All decided appeals, oldest first; permissions are checked by the caller."""
    rows = select(appeals).where(appeals.c.state != "open").order_by(appeals.c.id)
    return tuple(_record(row) for row in transaction.run(rows))


def _reviewed(transaction: Transaction, actor: str, dialogue: str) -> bool:
    mine = select(annotation_rows.c.id).where(
        annotation_rows.c.dialogue == dialogue,
        annotation_rows.c.labeler == actor,
        annotation_rows.c.kind.in_(REVIEW_KINDS),
    )
    return transaction.run(mine.limit(1)).one_or_none() is not None


def _record(row: Row[Any]) -> Appeal:
    return Appeal(**{name: getattr(row, name) for name in Appeal.model_fields})


MOST_WITHHELD = 100
"""Waiting second reviews that are looked at to say how many are withheld from somebody."""


class Dispute(Record):
    """An appeal with all that an expert needs to decide it. `second` are the blind second reviews."""

    appeal: Appeal
    dialogue: Dialogue
    verdict: Verdict | None
    answers: tuple[Annotation, ...]
    second: tuple[Annotation, ...]


def open_second_reviews(store: Store, actor: str, project: str) -> int:
    """Make a task of every turn with an open appeal, for blind second review in `project`; how many are
    new. A task that is done or withdrawn while no answer to it was a blind second review is opened again.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: the project is not for review, or pre-labelled.
    """
    turns = store.read(lambda transaction: _disputed(transaction, actor, project))
    _reopen(store, actor, project)
    new = [NewTask(dialogue=dialogue, turn=turn, why=APPEAL) for dialogue, turn in turns]
    pieces = (new[start : start + MAX_PER_CALL] for start in range(0, len(new), MAX_PER_CALL))
    return sum(add(store, actor, project, piece) for piece in pieces)


def _disputed(transaction: Transaction, actor: str, project: str) -> list[tuple[str, int]]:
    require_permission(transaction, actor, "plan")
    into = get_project(transaction, project)
    if into.purpose != "review" or into.prelabelled:
        raise ConfigError("E_OPTION", f"{project}: expected a blind project for review")
    rows = transaction.run(
        select(appeal_rows.c.dialogue, appeal_rows.c.turn, appeal_rows.c.code)
        .where(appeal_rows.c.state == "open")
        .order_by(appeal_rows.c.id)
    ).all()
    if missing := sorted({row.code for row in rows} - set(into.codes)):
        raise ConfigError("E_OPTION", f"{project} does not ask of {', '.join(missing)}, which is disputed")
    return list(dict.fromkeys((row.dialogue, row.turn) for row in rows))


@write_operation(repeatable=True)
def _reopen(transaction: Transaction, actor: str, project: str) -> None:
    require_permission(transaction, actor, "plan")
    for appeal, row in _unreviewed(transaction, project):
        if row.state in ("done", "withdrawn"):
            n = row.answered + row.leased + 1
            update_task(transaction, lock_task(transaction, row.id), wanted=n)
            transaction.log(actor, "task.want", f"task {row.id}", wanted=n, appeal=appeal.id)


def _unreviewed(transaction: Transaction, project: str) -> list[tuple[Any, Any]]:
    """Open appeals without a blind second review, each with its task in the project."""
    query = (
        select(appeal_rows, tasks.c.id.label("task"))
        .join(
            tasks,
            and_(tasks.c.dialogue == appeal_rows.c.dialogue, tasks.c.turn == appeal_rows.c.turn),
        )
        .where(appeal_rows.c.state == "open", tasks.c.project == project, tasks.c.why == APPEAL)
        .order_by(appeal_rows.c.id)
    )
    rows = [row for row in transaction.run(query).all() if not list_second_reviews(transaction, row)]
    its_task = select(tasks).where(tasks.c.id == bindparam("task"))
    return [(row, transaction.run(its_task, {"task": row.task}).one()) for row in rows]


@read_operation
def list_stuck(transaction: Transaction, actor: str, project: str) -> tuple[Appeal, ...]:
    """Open appeals for whose blind second review in `project` nobody is left: all who may review there spoke
    in the dialogue, answered of it, or have seen what others say of it.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
    """
    require_permission(transaction, actor, "plan")
    skills = set(get_project(transaction, project).skills)
    names = transaction.run(select(account_rows.c.id).order_by(account_rows.c.id)).scalars().all()
    accounts = (find_account(transaction, name) for name in names)
    able = [one for one in accounts if one and has_permission(one, "review") and skills.issubset(one.skills)]
    return tuple(
        _appeal_of(appeal)
        for appeal, row in _unreviewed(transaction, project)
        if not any(_can_review(transaction, one, row) for one in able)
    )


def _can_review(transaction: Transaction, account: Account, task: Row[Any]) -> bool:
    """Whether the account holds the task or could get it."""
    lease = select(leases_rows.c.state).where(
        leases_rows.c.task == task.id, leases_rows.c.account == account.id
    )
    state = transaction.run(lease).scalar_one_or_none()
    if state in ("answered", "skipped", "discarded"):
        return False
    return is_independent(transaction, account, task.dialogue)


@read_operation
def count_withheld(transaction: Transaction, actor: str, project: str) -> int:
    """How many second reviews wait in a project that the actor does not get, having a part in the dialogue or
    having seen what others say of it."""
    account = require_permission(transaction, actor, "label")
    waiting = select(tasks.c.dialogue).where(
        tasks.c.project == project, tasks.c.pool == "main", tasks.c.state == "open", tasks.c.why == APPEAL
    )
    dialogues = transaction.run(waiting.order_by(tasks.c.id).limit(MOST_WITHHELD)).scalars().all()
    return sum(not is_independent(transaction, account, dialogue) for dialogue in dialogues)


@read_operation
def load_dispute(transaction: Transaction, actor: str, number: int) -> Dispute:
    """An appeal with dialogue, verdict, answers and blind second reviews, for those who decide.

    Raises:
        NotAllowed: the actor does not decide.
        StoreRefused: no such appeal.
    """
    require_permission(transaction, actor, "decide")
    row = _appeal(transaction, number)
    dialogue, verdict = in_transaction(read)(transaction, actor, row.dialogue)
    return Dispute(
        appeal=_appeal_of(row),
        dialogue=dialogue,
        verdict=verdict,
        answers=in_transaction(list_annotations)(transaction, actor, row.dialogue),
        second=list_second_reviews(transaction, row),
    )


def _appeal(transaction: Transaction, number: int) -> Any:
    row = transaction.run(select(appeal_rows).where(appeal_rows.c.id == number)).one_or_none()
    if row is None:
        raise StoreRefused("E_APPEAL", "no such appeal")
    return row


def _appeal_of(row: Any) -> Appeal:
    return Appeal(**{name: getattr(row, name) for name in Appeal.model_fields})


def list_second_reviews(transaction: Transaction, appeal: Any) -> tuple[Annotation, ...]:
    """Blind answers to the disputed turn and code by reviewers who had no part until then, oldest first;
    permissions are checked by the caller."""
    rows = transaction.run(
        select(annotation_rows)
        .join(tasks, tasks.c.id == annotation_rows.c.task)
        .where(tasks.c.dialogue == appeal.dialogue, tasks.c.turn == appeal.turn, tasks.c.why == APPEAL)
        .where(annotation_rows.c.kind.in_(REVIEW_KINDS), annotation_rows.c.seen_verdict.is_(False))
        .order_by(annotation_rows.c.id)
    ).all()
    return tuple(
        annotation
        for row in rows
        if appeal.code in (annotation := to_annotation(row)).codes
        and not has_part(transaction, row.labeler, row.dialogue, before=row.id)
    )


@write_operation(repeatable=True)
def decide_appeal(
    transaction: Transaction,
    actor: str,
    number: int,
    outcome: Outcome,
    reason: str,
    corrected: Finding | None = None,
) -> Appeal:
    """Decide an open appeal after its blind second review; the same again changes nothing.

    Raises:
        NotAllowed: the actor does not decide, or has a part in the dialogue.
        StoreRefused: no such appeal, no second review yet, settled otherwise already, no reason, or a
            corrected finding where there should be none, or none where there should be one.
    """
    require_permission(transaction, actor, "decide")
    row = _appeal(transaction, number)
    if (corrected is not None) != (outcome == "amended"):
        raise StoreRefused("E_APPEAL", "amended, and nothing else, needs the finding that is right")
    if corrected is not None and corrected.turn != row.turn:
        raise StoreRefused("E_APPEAL", f"the corrected finding must lie in turn {row.turn}")
    if not list_second_reviews(transaction, row):
        raise StoreRefused("E_APPEAL", "the blind second review comes first")
    decided = _decide(transaction, actor, number, outcome, reason)
    for code, present in _known(row.code, outcome, corrected).items():
        gold = Gold(
            dialogue=row.dialogue, turn=row.turn, code=code, present=present, source="appeal", reason=reason
        )
        put_gold(transaction, actor, gold)
    if corrected is not None:
        _annotate(transaction, actor, row, corrected)
    return decided


def _known(code: str, outcome: Outcome, corrected: Finding | None) -> dict[str, bool]:
    """What an outcome says of the codes of the turn."""
    if corrected is not None:
        return {code: False, corrected.code: True}  # in this order: they may be the same
    return {code: outcome == "upheld"}


def _annotate(transaction: Transaction, actor: str, appeal: Any, corrected: Finding) -> None:
    """The corrected finding as the expert's word on the turn, newer than any review there is."""
    item = (annotation_rows.c.dialogue == appeal.dialogue, annotation_rows.c.turn == appeal.turn)
    newest = (
        select(annotation_rows.c.id)
        .where(*item, annotation_rows.c.task.is_(None))
        .order_by(annotation_rows.c.id.desc())
        .limit(1)
    )
    expected = transaction.run(newest).scalar_one_or_none()
    codes = tuple(dict.fromkeys((appeal.code, corrected.code)))
    in_transaction(review)(
        transaction,
        actor,
        appeal.dialogue,
        f"appeal:{appeal.id}",
        codes,
        [corrected],
        expected=expected,
        turn=appeal.turn,
    )
