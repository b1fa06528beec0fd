"""Labels, one per turn, code and method, as aggregation last said; and gold, what is known for sure."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select, update

from dialint.detector.records import Label
from dialint.labeling.store.conflicts import refuse_own, shown, shown_all
from dialint.labeling.store.database.audit import canonical
from dialint.labeling.store.database.refusals import StoreRefused
from dialint.labeling.store.database.schema import gold, labels
from dialint.labeling.store.database.transactions import Transaction, reading, writing
from dialint.labeling.store.database.upsert import put_row
from dialint.labeling.store.dialogues import MOST_PER_CALL, content_of, sha256_of
from dialint.labeling.store.queue.settling import withdraw
from dialint.labeling.store.records import Gold
from dialint.labeling.store.rights import account_of, authorised


@writing(repeatable=True)
def put(transaction: Transaction, actor: str, found: Sequence[Label]) -> None:
    """Put up to 1,000 labels in, in the place of earlier ones of the same turn, code and method.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: too many.
    """
    authorised(transaction, actor, "plan")
    if len(found) > MOST_PER_CALL:
        raise StoreRefused("E_BATCH", f"{len(found)} in one call, at most {MOST_PER_CALL}")
    rows = [label.model_dump() for label in found]
    for row in rows:
        row |= {"dialogue": row.pop("dialogue_id"), "at_ms": transaction.now_ms}
        put_row(transaction, labels, row)
    transaction.log(actor, "labels.put", f"{len(rows)} labels", sha256=sha256_of(canonical(rows)))


@reading
def of_dialogue(transaction: Transaction, actor: str, dialogue: str) -> tuple[Label, ...]:
    """The labels of a dialogue, by turn, code and method; for reviewers and up."""
    account = authorised(transaction, actor, "review")
    found = labels_on(transaction, dialogue)
    if found:
        shown(transaction, account, dialogue, "labels")
    return found


def labels_on(transaction: Transaction, dialogue: str) -> tuple[Label, ...]:
    """As `of_dialogue`, where it is kept otherwise who reads; rights are the caller's care."""
    rows = select(labels).where(labels.c.dialogue == dialogue)
    names = ("turn", "code", "probability", "method", "n_labelers", "start", "end")
    return tuple(
        Label(dialogue_id=dialogue, **{name: getattr(row, name) for name in names})
        for row in transaction.run(rows.order_by(labels.c.turn, labels.c.code, labels.c.method))
    )


@writing(repeatable=True)
def set_gold(transaction: Transaction, actor: str, known: Gold) -> None:
    """Say what is known for sure of a turn and code, in the place of what was said before.

    Raises:
        NotAllowed: the actor does not decide, or spoke in the dialogue.
        StoreRefused: no such dialogue or turn.
    """
    authorised(transaction, actor, "decide")
    put_gold(transaction, actor, known)


def put_gold(transaction: Transaction, actor: str, known: Gold) -> None:
    """As `set_gold`, inside another operation; other rights are the caller's care.

    Raises:
        NotAllowed: the actor spoke in the dialogue.
        StoreRefused: no such dialogue or turn.
    """
    if (account := account_of(transaction, actor)) is not None:
        refuse_own(transaction, account, known.dialogue)
    dialogue = content_of(transaction, known.dialogue)
    if dialogue is None or known.turn not in [turn.index for turn in dialogue.turns]:
        raise StoreRefused("E_GOLD", "there is no such dialogue or turn")
    put_row(transaction, gold, {**known.model_dump(), "at_ms": transaction.now_ms})
    content = known.model_dump(include={"present", "source", "retired"})
    transaction.log(actor, "gold.put", f"{known.dialogue} {known.turn} {known.code}", **content)


@writing(repeatable=True)
def retire_gold(transaction: Transaction, actor: str, dialogue: str) -> int:
    """Show a dialogue as control no more; how many of its turns and codes that touches.

    Raises:
        NotAllowed: the actor does not plan, or spoke in the dialogue.
    """
    refuse_own(transaction, authorised(transaction, actor, "plan"), dialogue)
    done = transaction.run(update(gold).where(gold.c.dialogue == dialogue).values(retired=True))
    withdraw(transaction, dialogue, "control")
    transaction.log(actor, "gold.retire", dialogue, n=done.rowcount)
    return done.rowcount


def has_gold(transaction: Transaction) -> bool:
    """Whether anything is known for sure that a control task may ask; rights are the caller's care."""
    return transaction.run(select(gold.c.dialogue).where(~gold.c.retired).limit(1)).first() is not None


@reading
def all_gold(transaction: Transaction, actor: str, *, retired: bool = False) -> tuple[Gold, ...]:
    """What is known for sure, by dialogue, turn and code; for experts and up, as it tells the answers."""
    account = authorised(transaction, actor, "decide")
    shown_all(transaction, account, None, "gold")
    rows = select(gold).order_by(gold.c.dialogue, gold.c.turn, gold.c.code)
    if not retired:
        rows = rows.where(~gold.c.retired)
    return tuple(
        Gold(**{name: getattr(row, name) for name in Gold.model_fields}) for row in transaction.run(rows)
    )
