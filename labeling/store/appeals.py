"""Appeals: an agent objects to a finding, a blind second review follows, then an expert decides.

The second reviewer answers a task of a review project that is not pre-labelled, without seeing the verdict,
the statement or other answers. The expert who decides sees all of it and must not have answered for the
dialogue, as a reviewer or, before a promotion, as a labeler.
Overturned: the error is absent. Upheld: it is present. Amended: another finding replaces it. Each outcome
becomes gold; an amended finding also becomes an expert's annotation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Row, and_, func, insert, select, tuple_, update

from dialint.detector.errors import ConfigError
from dialint.detector.records import Dialogue, Finding, Record, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.annotations import REVIEW_KINDS, list_annotations, review
from dialint.labeling.store.database.derived import cut_name, refresh
from dialint.labeling.store.database.schema import accounts as account_rows
from dialint.labeling.store.database.schema import (
    annotation_rows,
    appeals,
    dialogue_index,
    dialogues,
    finding_index,
    leases,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import load_dialogue, load_verdict, read
from dialint.labeling.store.exposure import APPEAL, has_part, is_independent, record_read, require_not_own
from dialint.labeling.store.gold import set_gold
from dialint.labeling.store.permissions import (
    get_account,
    has_permission,
    read_operation,
    require_permission,
    to_account,
    write_operation,
)
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import Account, Appeal, Gold, NewTask, NotAllowed, Outcome, StoreRefused
from dialint.labeling.store.stored_annotations import to_annotation
from dialint.labeling.store.task_queue import lock_task, update_task
from dialint.labeling.store.tasks import add_all

MAX_CHARACTERS = 4000


@write_operation("label")
def open_appeal(
    transaction: Transaction, actor: str, dialogue: str, turn: int, code: str, statement: str
) -> Appeal:
    """Object to a finding of the newest verdict. A second appeal of the account to it returns the first one.

    Raises:
        NotAllowed: not the actor's own dialogue.
        StoreRefused: no such finding, or no statement.
    """
    account = get_account(transaction, actor)
    content = load_dialogue(transaction, dialogue)
    if content is None or account.agent is None or content.agent != account.agent:
        raise NotAllowed("E_RIGHT", "{actor} appeals findings in own dialogues only", actor=actor)
    verdict = load_verdict(transaction, dialogue)
    if (turn, code) not in [(one.turn, one.code) for one in (verdict.findings if verdict else ())]:
        raise StoreRefused("E_APPEAL", "there is no such finding")
    if not 0 < len(statement.strip()) <= MAX_CHARACTERS or "\x00" in statement:
        raise StoreRefused("E_APPEAL", "a statement has 1 to {most} characters", most=MAX_CHARACTERS)
    item = {"account": actor, "dialogue": dialogue, "turn": turn, "code": code}
    existing = transaction.run(select(appeals).filter_by(**item)).one_or_none()
    if existing is not None:
        return to_appeal(existing)
    values = {**item, "statement": statement, "state": "open", "at_ms": transaction.now_ms}
    row = transaction.run(insert(appeals).values(values).returning(appeals)).one()
    refresh(transaction, (dialogue,))
    transaction.log(actor, "appeal.open", f"appeal {row.id}", dialogue=dialogue, turn=turn, code=code)
    return to_appeal(row)


@read_operation("decide")
def list_open(transaction: Transaction, actor: str, n: int = 100) -> tuple[Appeal, ...]:
    """The oldest `n` open appeals."""
    rows = select(appeals).where(appeals.c.state == "open").order_by(appeals.c.id).limit(n)
    listed = tuple(to_appeal(row) for row in transaction.run(rows))
    record_read(transaction, actor, {one.dialogue for one in listed}, "verdict")  # it reveals the finding
    return listed


@read_operation("label")
def list_own(transaction: Transaction, actor: str) -> tuple[Appeal, ...]:
    """The actor's appeals, oldest first."""
    rows = select(appeals).where(appeals.c.account == actor).order_by(appeals.c.id)
    return tuple(to_appeal(row) for row in transaction.run(rows))


class OwnDialogue(NamedTuple):
    """A flagged dialogue of an agent's own: the time of its import, and the number of findings of the newest
    verdict: 0 if only an older one had some, or if it could not be judged."""

    dialogue: str
    created_ms: int
    n_findings: int


@read_operation("label")
def list_own_dialogues(
    transaction: Transaction, actor: str, before: OwnDialogue | None = None, n: int = 20
) -> tuple[OwnDialogue, ...]:
    """The newest `n` flagged dialogues of the actor's own, or the next ones after `before`, the last one of
    the previous page.

    Raises:
        NotAllowed: the actor is no agent.
    """
    account = get_account(transaction, actor)
    if account.agent is None:
        raise NotAllowed("E_RIGHT", "{actor} is not known as an agent, and has no dialogues", actor=actor)
    columns = dialogues.c.created_ms, dialogues.c.id
    flagged = select(verdicts.c.dialogue).where(
        verdicts.c.dialogue == dialogues.c.id, verdicts.c.flagged.is_(True)
    )
    query = select(*columns, dialogue_index.c.n_findings).where(
        dialogues.c.agent == account.agent, flagged.exists(), dialogue_index.c.dialogue == dialogues.c.id
    )
    if before is not None:
        query = query.where(tuple_(*columns) < tuple_(before.created_ms, before.dialogue))
    rows = transaction.run(query.order_by(*(column.desc() for column in columns)).limit(n))
    return tuple(OwnDialogue(row.id, row.created_ms, row.n_findings) for row in rows)


@read_operation("label")
def list_rejected(transaction: Transaction, actor: str, dialogue: str) -> frozenset[int]:
    """The places of the findings of the newest verdict on an own dialogue that people rejected."""
    account = get_account(transaction, actor)
    query = select(finding_index.c.place).join(dialogue_index).where(
        dialogue_index.c.dialogue == dialogue, dialogue_index.c.agent == cut_name(account.agent or ""),
        dialogue_index.c.agent != "", finding_index.c.decision == "rejected",
    )  # fmt: skip
    return frozenset(transaction.run(query).scalars())


@read_operation("decide")
def list_decided(
    transaction: Transaction, actor: str, before: int | None = None, n: int = 20
) -> tuple[Appeal, ...]:
    """The newest `n` decided appeals, or the next ones after the number `before`."""
    query = select(appeals).where(appeals.c.state != "open")
    if before is not None:
        query = query.where(appeals.c.id < before)
    listed = tuple(to_appeal(row) for row in transaction.run(query.order_by(appeals.c.id.desc()).limit(n)))
    record_read(transaction, actor, {one.dialogue for one in listed}, "verdict")
    return listed


class OutcomeCount(NamedTuple):
    """Number of appeals in a state against findings of a release and code."""

    release: str
    code: str
    state: str
    n: int


@read_operation("decide")
def count_outcomes(transaction: Transaction, actor: str) -> tuple[OutcomeCount, ...]:
    """The appeals by release, code and state; the release is the one whose finding was appealed."""
    appealed = (
        select(verdicts.c.release)
        .where(verdicts.c.dialogue == appeals.c.dialogue, verdicts.c.created_ms <= appeals.c.at_ms)
        .order_by(verdicts.c.created_ms.desc(), verdicts.c.release.desc())
        .limit(1)
        .scalar_subquery()
    )
    release = func.coalesce(appealed, "").label("release")
    groups = select(release, appeals.c.code, appeals.c.state).subquery().c
    query = select(*groups, func.count().label("n")).group_by(*groups).order_by(*groups)
    return tuple(OutcomeCount(*row) for row in map(tuple, transaction.run(query)))


def load_decided(transaction: Transaction) -> tuple[Appeal, ...]:
    """All decided appeals, oldest first; permissions are checked by the caller."""
    rows = select(appeals).where(appeals.c.state != "open").order_by(appeals.c.id)
    return tuple(map(to_appeal, transaction.run(rows)))


def to_appeal(row: Row[Any]) -> Appeal:
    """The record of a row of ``appeals``."""
    return Appeal.model_validate(row, from_attributes=True)


MAX_WITHHELD = 100
"""Open second reviews that `count_withheld` checks at most."""


class Dispute(Record):
    """An appeal with everything that an expert needs to decide it. `second` are the blind second reviews,
    `waits_in` the projects in which one is still to be done."""

    appeal: Appeal
    dialogue: Dialogue
    verdict: Verdict | None
    answers: tuple[Annotation, ...]
    second: tuple[Annotation, ...]
    waits_in: tuple[str, ...]


def open_second_reviews(store: Store, actor: str, project: str) -> int:
    """Add a task for blind second review in `project` for every turn with an open appeal; return how many are
    new. A task that is done or withdrawn without a blind second review is reopened.

    Raises:
        ConfigError: the project is not for review, or pre-labelled.
    """
    turns = store.read(lambda transaction: _list_disputed_turns(transaction, actor, project))
    _reopen(store, actor, project)
    new = [NewTask(dialogue=dialogue, turn=turn, why=APPEAL) for dialogue, turn in turns]
    return add_all(store, actor, project, new)


def _list_disputed_turns(transaction: Transaction, actor: str, project: str) -> list[tuple[str, int]]:
    require_permission(transaction, actor, "plan")
    target = get_project(transaction, project)
    if target.purpose != "review" or target.prelabelled:
        raise ConfigError("E_OPTION", "{project}: expected a blind project for review", project=project)
    rows = transaction.run(select(appeals).where(appeals.c.state == "open").order_by(appeals.c.id)).all()
    if missing := sorted({row.code for row in rows} - set(target.codes)):
        codes = ", ".join(missing)
        raise ConfigError(
            "E_OPTION", "{project} does not ask of {codes}, which is disputed", project=project, codes=codes
        )
    return list(dict.fromkeys((row.dialogue, row.turn) for row in rows))


@write_operation("plan")
def _reopen(transaction: Transaction, actor: str, project: str) -> None:
    for appeal in _list_unreviewed(transaction, project):
        task = lock_task(transaction, appeal.task)
        if task.state in ("done", "withdrawn"):
            n = task.answered + task.leased + 1
            update_task(transaction, task, wanted=n)
            transaction.log(actor, "task.want", f"task {task.id}", wanted=n, appeal=appeal.id)


def _list_unreviewed(transaction: Transaction, project: str) -> list[Row[Any]]:
    """Open appeals without a blind second review, each with the number of its `task` in the project."""
    query = (
        select(appeals, tasks.c.id.label("task"))
        .join(tasks, and_(tasks.c.dialogue == appeals.c.dialogue, tasks.c.turn == appeals.c.turn))
        .where(appeals.c.state == "open", tasks.c.project == project, tasks.c.why == APPEAL)
        .order_by(appeals.c.id)
    )
    return [row for row in transaction.run(query).all() if not list_second_reviews(transaction, row)]


@read_operation("plan")
def list_stuck(transaction: Transaction, actor: str, project: str) -> tuple[Appeal, ...]:
    """Open appeals for whose blind second review in `project` nobody is left: everybody who may review there
    spoke in the dialogue, annotated it, or has seen annotations of others on it."""
    skills = set(get_project(transaction, project).skills)
    everybody = map(to_account, transaction.run(select(account_rows)))
    reviewers = [one for one in everybody if has_permission(one, "review") and skills.issubset(one.skills)]

    def can_review(account: Account, appeal: Row[Any]) -> bool:
        """Returns whether the account holds the second review of an appeal or may claim it."""
        lease = select(leases.c.state).where(leases.c.task == appeal.task, leases.c.account == account.id)
        is_over = transaction.run(lease).scalar_one_or_none() in ("answered", "skipped", "discarded")
        return not is_over and is_independent(transaction, account, appeal.dialogue)

    return tuple(
        to_appeal(appeal)
        for appeal in _list_unreviewed(transaction, project)
        if not any(can_review(one, appeal) for one in reviewers)
    )


@read_operation("label")
def count_withheld(transaction: Transaction, actor: str, project: str) -> int:
    """Count the open second reviews of a project that the actor cannot claim because of an own part in the
    dialogue or of annotations of others that were displayed."""
    account = get_account(transaction, actor)
    waiting = select(tasks.c.dialogue).where(
        tasks.c.project == project, tasks.c.pool == "main", tasks.c.state == "open", tasks.c.why == APPEAL
    )
    dialogues = transaction.run(waiting.order_by(tasks.c.id).limit(MAX_WITHHELD)).scalars().all()
    return sum(not is_independent(transaction, account, dialogue) for dialogue in dialogues)


@read_operation("decide")
def load_dispute(transaction: Transaction, actor: str, number: int) -> Dispute:
    """An appeal with dialogue, verdict, answers and blind second reviews."""
    row = _load_appeal(transaction, number)
    dialogue, verdict = read(transaction, actor, row.dialogue)
    of_turn = {"dialogue": row.dialogue, "turn": row.turn, "why": APPEAL, "state": "open"}
    waits_in = transaction.run(select(tasks.c.project).filter_by(**of_turn).order_by(tasks.c.project))
    return Dispute(
        appeal=to_appeal(row),
        dialogue=dialogue,
        verdict=verdict,
        answers=list_annotations(transaction, actor, row.dialogue),
        second=list_second_reviews(transaction, row),
        waits_in=tuple(waits_in.scalars()),
    )


def _load_appeal(transaction: Transaction, number: int) -> Any:
    query = select(appeals).where(appeals.c.id == number)
    row = transaction.run(query.with_for_update() if transaction.writes else query).one_or_none()
    if row is None:
        raise StoreRefused("E_APPEAL", "no such appeal")
    return row


def list_second_reviews(transaction: Transaction, appeal: Any) -> tuple[Annotation, ...]:
    """Blind answers to the disputed turn and code by reviewers who had no part in the dialogue before, oldest
    first, corrected ones as they are now; permissions are checked by the caller."""
    blind = (
        select(annotation_rows)
        .join(tasks, tasks.c.id == annotation_rows.c.task)
        .where(tasks.c.dialogue == appeal.dialogue, tasks.c.turn == appeal.turn, tasks.c.why == APPEAL)
        .where(annotation_rows.c.kind.in_(REVIEW_KINDS), annotation_rows.c.seen_verdict.is_(False))
    )
    rows = transaction.run(blind.order_by(annotation_rows.c.id)).all()
    corrected = {row.supersedes for row in rows}
    return tuple(
        annotation
        for row in rows
        if row.id not in corrected
        and appeal.code in (annotation := to_annotation(row)).codes
        and not has_part(transaction, row.labeler, row.dialogue, before=row.id)
    )


@write_operation("decide")
def decide_appeal(
    transaction: Transaction,
    actor: str,
    number: int,
    outcome: Outcome,
    reason: str,
    corrected: Finding | None = None,
) -> Appeal:
    """Decide an open appeal after its blind second review; repeating the same decision changes nothing.

    Raises:
        NotAllowed: the actor does not decide, or has a part in the dialogue.
        StoreRefused: no such appeal, no second review yet, decided differently before, no reason, or a
            corrected finding that is missing or not expected.
    """
    account = get_account(transaction, actor)
    row = _load_appeal(transaction, number)
    if (corrected is not None) != (outcome == "amended"):
        raise StoreRefused("E_APPEAL", "amended, and nothing else, needs the finding that is right")
    if corrected is not None and corrected.turn != row.turn:
        raise StoreRefused("E_APPEAL", "the corrected finding must lie in turn {turn}", turn=row.turn)
    if not list_second_reviews(transaction, row):
        raise StoreRefused("E_APPEAL", "the blind second review comes first")
    if not reason.strip():
        raise StoreRefused("E_APPEAL", "a decision needs a reason")
    if row.state != "open":
        if (row.state, row.decided_by, row.reason) == (outcome, actor, reason):
            return to_appeal(row)
        raise StoreRefused("E_APPEAL", "appeal {number} is {state} already", number=number, state=row.state)
    require_not_own(transaction, account, row.dialogue)
    own = select(annotation_rows.c.id).filter_by(dialogue=row.dialogue, labeler=actor).limit(1)
    if row.account == actor or transaction.run(own).first() is not None:
        raise NotAllowed("E_RIGHT", "{actor} has a part in this dialogue; somebody else decides", actor=actor)
    settled = update(appeals).where(appeals.c.id == number).returning(appeals)
    settled = settled.values(state=outcome, decided_by=actor, reason=reason)
    decided = transaction.run(settled).one()
    refresh(transaction, (row.dialogue,))
    transaction.log(actor, "appeal.decide", f"appeal {number}", outcome=outcome)
    presence = {row.code: outcome == "upheld"}
    if corrected is not None:
        presence[corrected.code] = True  # it may be the same code
    item = {"dialogue": row.dialogue, "turn": row.turn}
    for code, present in presence.items():
        set_gold(transaction, actor, Gold(**item, code=code, present=present, source="appeal", reason=reason))
    if corrected is not None:  # as the expert's annotation of the turn, on top of the newest review
        reviews = select(annotation_rows.c.id).filter_by(**item, task=None)
        newest = transaction.run(reviews.order_by(annotation_rows.c.id.desc()).limit(1)).scalar_one_or_none()
        codes = tuple(dict.fromkeys((row.code, corrected.code)))
        key = f"appeal:{row.id}"
        review(transaction, actor, row.dialogue, key, codes, [corrected], expected=newest, turn=row.turn)
    return to_appeal(decided)
