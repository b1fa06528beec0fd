"""Appeals: an agent objects to a finding in an own dialogue; somebody who has not reviewed it decides."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, insert, select, update

from dialint.labeling.store.annotations import REVIEWING
from dialint.labeling.store.conflicts import refuse_own, shown
from dialint.labeling.store.database.refusals import NotAllowed, StoreRefused
from dialint.labeling.store.database.schema import annotation_rows, appeals
from dialint.labeling.store.database.transactions import Transaction, reading, writing
from dialint.labeling.store.dialogues import content_of, verdict_on
from dialint.labeling.store.labels import put_gold
from dialint.labeling.store.records import Appeal, Gold, Outcome
from dialint.labeling.store.rights import authorised

MOST_CHARACTERS = 4000


@writing(repeatable=True)
def appeal(
    transaction: Transaction, actor: str, dialogue: str, turn: int, code: str, statement: str
) -> Appeal:
    """Object to a finding of the newest verdict; the first objection of an account to it stands.

    Raises:
        NotAllowed: not the actor's own dialogue.
        StoreRefused: no such finding, or no statement.
    """
    account = authorised(transaction, actor, "label")
    content = content_of(transaction, dialogue)
    if content is None or account.agent is None or content.agent != account.agent:
        raise NotAllowed("E_RIGHT", f"{actor} appeals findings in own dialogues only")
    verdict = verdict_on(transaction, dialogue)
    if (turn, code) not in [(one.turn, one.code) for one in (verdict.findings if verdict else ())]:
        raise StoreRefused("E_APPEAL", "there is no such finding")
    if not 0 < len(statement.strip()) <= MOST_CHARACTERS or "\x00" in statement:
        raise StoreRefused("E_APPEAL", f"a statement has 1 to {MOST_CHARACTERS} characters")
    item = {"account": actor, "dialogue": dialogue, "turn": turn, "code": code}
    known = transaction.run(select(appeals).filter_by(**item)).one_or_none()
    if known is not None:
        return _record(known)
    values = {**item, "statement": statement, "state": "open", "at_ms": transaction.now_ms}
    row = transaction.run(insert(appeals).values(values).returning(appeals)).one()
    transaction.log(actor, "appeal.open", f"appeal {row.id}", dialogue=dialogue, turn=turn, code=code)
    return _record(row)


def decide(transaction: Transaction, actor: str, number: int, outcome: Outcome, reason: str) -> Appeal:
    """Settle an open appeal, inside another operation that sees to the blind second review. An overturned
    finding becomes gold: this error is not there.

    Raises:
        NotAllowed: the actor does not decide, or reviewed the dialogue before, or appealed.
        StoreRefused: no such appeal, settled otherwise already, or no reason.
    """
    account = authorised(transaction, actor, "decide")
    row = transaction.run(select(appeals).where(appeals.c.id == number).with_for_update()).one_or_none()
    if row is None or not reason.strip():
        raise StoreRefused("E_APPEAL", "no such appeal" if row is None else "a decision needs a reason")
    if row.state != "open":
        if (row.state, row.decided_by, row.reason) == (outcome, actor, reason):
            return _record(row)
        raise StoreRefused("E_APPEAL", f"appeal {number} is {row.state} already")
    refuse_own(transaction, account, row.dialogue)
    if row.account == actor or _reviewed(transaction, actor, row.dialogue):
        raise NotAllowed("E_RIGHT", f"{actor} has a part in this dialogue; somebody else decides")
    values = {"state": outcome, "decided_by": actor, "reason": reason}
    transaction.run(update(appeals).where(appeals.c.id == number).values(values))
    transaction.log(actor, "appeal.decide", f"appeal {number}", outcome=outcome)
    if outcome == "overturned":
        gold = Gold(dialogue=row.dialogue, turn=row.turn, code=row.code, present=False, source="appeal")
        put_gold(transaction, actor, gold)
    return _record(transaction.run(select(appeals).where(appeals.c.id == number)).one())


@reading
def waiting(transaction: Transaction, actor: str, n: int = 100) -> tuple[Appeal, ...]:
    """The oldest `n` open appeals; for those who decide."""
    account = authorised(transaction, actor, "decide")
    rows = select(appeals).where(appeals.c.state == "open").order_by(appeals.c.id).limit(n)
    found = tuple(_record(row) for row in transaction.run(rows))
    for dialogue in dict.fromkeys(one.dialogue for one in found):
        shown(transaction, account, dialogue, "verdict")  # what is objected to is what it says
    return found


@reading
def own(transaction: Transaction, actor: str) -> tuple[Appeal, ...]:
    """The actor's appeals, oldest first."""
    authorised(transaction, actor, "label")
    rows = select(appeals).where(appeals.c.account == actor).order_by(appeals.c.id)
    return tuple(_record(row) for row in transaction.run(rows))


def _reviewed(transaction: Transaction, actor: str, dialogue: str) -> bool:
    mine = select(annotation_rows.c.id).where(
        annotation_rows.c.dialogue == dialogue,
        annotation_rows.c.labeler == actor,
        annotation_rows.c.kind.in_(REVIEWING),
    )
    return transaction.run(mine.limit(1)).one_or_none() is not None


def _record(row: Row[Any]) -> Appeal:
    return Appeal(**{name: getattr(row, name) for name in Appeal.model_fields})
