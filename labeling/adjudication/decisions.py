"""An expert decides a case: the answer, and what is known for sure from then on.

Answer and gold are one transaction. Every code that the project asks of the turn becomes gold: there, if
the expert found it, and not there otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.annotations import submit
from dialint.labeling.store.database.refusals import StoreRefused
from dialint.labeling.store.database.transactions import Transaction, inside, writing
from dialint.labeling.store.labels import put_gold
from dialint.labeling.store.projects import existing
from dialint.labeling.store.queue.settling import locked
from dialint.labeling.store.records import Gold
from dialint.labeling.store.rights import authorised

MOST_CHARACTERS = 4000


@writing(repeatable=True)
def decide(
    transaction: Transaction,
    actor: str,
    task: int,
    token: int,
    key: str,
    findings: Sequence[Finding],
    reason: str,
    seconds: float | None = None,
) -> Annotation:
    """Settle a case that the actor holds; the same key again changes nothing.

    Raises:
        NotAllowed: the actor does not decide.
        StaleLease: the actor does not hold it any more.
        StoreRefused: no reason, no turn to decide, or as for `submit`.
    """
    authorised(transaction, actor, "decide")
    if not 0 < len(reason.strip()) <= MOST_CHARACTERS or "\x00" in reason:
        raise StoreRefused("E_DECISION", f"a decision needs a reason of 1 to {MOST_CHARACTERS} characters")
    row = locked(transaction, task)
    project = existing(transaction, row.project)
    if project.purpose != "adjudication" or row.turn is None:
        raise StoreRefused("E_DECISION", "only a turn of an adjudication project is decided")
    saved = inside(submit)(transaction, actor, task, token, key, findings, seconds)
    present = {finding.code for finding in findings}
    for code in project.codes:
        known = Gold(
            dialogue=row.dialogue,
            turn=row.turn,
            code=code,
            present=code in present,
            source="expert",
            reason=reason,
        )
        put_gold(transaction, actor, known)
    return saved
