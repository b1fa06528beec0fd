"""Answers: written once, never changed; a correction is a new row that names the one it supersedes.

Each comes with a key of the caller's making: the same key again gives the row that is there, so that a
click repeated after a lost connection counts once. The store itself notes whether a verdict was seen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, bindparam, func, insert, select, update

from detector.errors import InputRefused
from detector.records import Finding
from labeling.annotation import Annotation, Kind
from labeling.store.database.audit import canonical
from labeling.store.database.refusals import Conflict, NotAllowed, StoreRefused
from labeling.store.database.schema import annotation_rows, dialogues, leases, shares, verdicts
from labeling.store.database.transactions import Transaction, reading, writing
from labeling.store.database.upsert import adding
from labeling.store.database.verify import annotation_hash
from labeling.store.dialogues import MOST_PER_CALL, content_of
from labeling.store.leases import holding
from labeling.store.projects import existing
from labeling.store.records import Account, Project
from labeling.store.rights import authorised, may
from labeling.store.tasks import annotation_of, locked, settle

REVIEWING: tuple[Kind, ...] = ("reviewer", "expert", "appeal")

_ANSWERED = (
    update(leases)
    .where(leases.c.task == bindparam("its_task"), leases.c.account == bindparam("its_account"))
    .values(state="answered")
)
_SAVED = insert(annotation_rows).returning(annotation_rows)
_BY_KEY = select(annotation_rows).where(annotation_rows.c.key == bindparam("key"))


@writing(repeatable=True)
def submit(
    transaction: Transaction,
    actor: str,
    task: int,
    token: int,
    key: str,
    findings: Sequence[Finding] = (),
    seconds: float | None = None,
) -> Annotation:
    """Answer a task that the actor holds; no findings is an answer, too.

    Raises:
        StaleLease: the actor does not hold it any more.
        StoreRefused: the key was used for another answer, or a finding lies outside of what was asked.
    """
    account = authorised(transaction, actor, "label")
    row = locked(transaction, task)
    project = existing(transaction, row.project)
    values = {
        "key": key, "project": row.project, "task": task, "dialogue": row.dialogue, "turn": row.turn,
        "labeler": actor, "kind": _kind(account), "codes": project.codes, "findings": findings,
        "seconds": seconds, "supersedes": None,
    }  # fmt: skip
    if known := _known(transaction, values):
        return known
    holding(transaction, actor, task, token)
    seen = project.prelabelled and _has_verdict(transaction, row.dialogue)
    saved = _insert(transaction, actor, {**values, "seen_verdict": seen})
    transaction.run(_ANSWERED, {"its_task": task, "its_account": actor})
    numbers = {"answered": row.answered + 1, "leased": row.leased - 1}
    settle(transaction, row, **numbers, wanted=_wanted(transaction, account, project, row))
    share = {"project": row.project, "pool": row.pool, "account": actor, "answered": 1}
    transaction.at_end(adding(shares, transaction.on_sqlite, "answered"), share)
    return saved


def _wanted(transaction: Transaction, account: Account, project: Project, row: Row[Any]) -> int:
    """One answer more than now, where a newcomer gave this one; in the main pool only."""
    if not project.newcomer_until or row.pool != "main" or row.wanted == 0:
        return int(row.wanted)
    given = select(func.sum(shares.c.answered)).where(shares.c.account == account.id)
    new = (transaction.run(given).scalar() or 0) < project.newcomer_until
    return int(min(row.wanted + new, max(project.most, row.wanted)))


@writing(repeatable=True)
def correct(
    transaction: Transaction,
    actor: str,
    supersedes: int,
    key: str,
    findings: Sequence[Finding] = (),
    seconds: float | None = None,
) -> Annotation:
    """Put a new row in the place of one's own newest answer to the same question.

    Raises:
        NotAllowed: not the actor's own.
        Conflict: it was corrected already.
        StoreRefused: as for `submit`.
    """
    authorised(transaction, actor, "label")
    old = transaction.run(select(annotation_rows).where(annotation_rows.c.id == supersedes)).one_or_none()
    if old is None or old.labeler != actor:
        raise NotAllowed("E_RIGHT", f"{actor} corrects own answers only")
    _lock_dialogue(transaction, old.dialogue)
    kept = {name: getattr(old, name) for name in ("project", "task", "dialogue", "turn", "labeler", "kind")}
    asked = {"codes": tuple(json.loads(old.codes)), "findings": findings, "seconds": seconds}
    values = {"key": key, **kept, **asked, "supersedes": supersedes}
    if known := _known(transaction, values):
        return known
    same = select(annotation_rows).where(annotation_rows.c.supersedes == supersedes)
    newer = transaction.run(same).all()
    if not newer and old.task is None and old.kind in REVIEWING:
        newer = _reviews(transaction, old.dialogue, old.turn, supersedes)
    if newer:
        theirs = tuple(annotation_of(row) for row in newer)
        raise Conflict(f"annotation {supersedes} is not the newest any more", theirs, tuple(findings))
    return _insert(transaction, actor, {**values, "seen_verdict": old.seen_verdict})


@writing(repeatable=True)
def review(
    transaction: Transaction,
    actor: str,
    dialogue: str,
    key: str,
    codes: Sequence[str],
    findings: Sequence[Finding] = (),
    *,
    expected: int | None,
    turn: int | None = None,
    seconds: float | None = None,
) -> Annotation:
    """Save a reviewer's or expert's word on a dialogue or one turn of it. `expected` is the version that
    the actor saw: the number of the last review of this item, none if there was none.

    Raises:
        NotAllowed: the actor does not review.
        Conflict: somebody saved another version since; it holds both.
        StoreRefused: an unknown dialogue, or as for `submit`.
    """
    account = authorised(transaction, actor, "review")
    _lock_dialogue(transaction, dialogue)
    values = {
        "key": key, "project": None, "task": None, "dialogue": dialogue, "turn": turn, "labeler": actor,
        "kind": _kind(account), "codes": tuple(codes), "findings": findings, "seconds": seconds,
        "supersedes": None,
    }  # fmt: skip
    if known := _known(transaction, values):
        return known
    rows = _reviews(transaction, dialogue, turn, expected or 0)
    if rows:
        theirs = tuple(annotation_of(row) for row in rows)
        raise Conflict(f"{len(rows)} newer reviews, the last by {rows[-1].labeler}", theirs, tuple(findings))
    return _insert(transaction, actor, {**values, "seen_verdict": _has_verdict(transaction, dialogue)})


def _kind(account: Account) -> Kind:
    """What an answer of this account counts as."""
    if may(account, "decide"):
        return "expert"
    return "reviewer" if may(account, "review") else "crowd"


def _reviews(transaction: Transaction, dialogue: str, turn: int | None, after: int) -> Sequence[Row[Any]]:
    item = (
        annotation_rows.c.dialogue == dialogue,
        annotation_rows.c.id > after,
        annotation_rows.c.task.is_(None),
    )
    same = annotation_rows.c.turn.is_(None) if turn is None else annotation_rows.c.turn == turn
    return transaction.run(select(annotation_rows).where(*item, same).order_by(annotation_rows.c.id)).all()


@writing(repeatable=True)
def bring_in(transaction: Transaction, actor: str, found: Sequence[Annotation], source: str) -> int:
    """Import up to 1,000 annotations made elsewhere, by people or models; how many were new. `source`
    names where from and, with their ids, makes them unique.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: an unknown dialogue, or an id known with other content.
    """
    authorised(transaction, actor, "plan")
    if len(found) > MOST_PER_CALL:
        raise StoreRefused("E_BATCH", f"{len(found)} in one call, at most {MOST_PER_CALL}")
    new = 0
    for one in found:
        values = {
            "key": f"{source}:{one.id}", "project": None, "task": None, "dialogue": one.dialogue_id,
            "turn": one.turn, "labeler": one.labeler, "kind": one.kind, "codes": one.codes,
            "findings": one.findings, "seconds": one.seconds, "supersedes": None,
        }  # fmt: skip
        if _known(transaction, values):
            continue
        at_ms = transaction.now_ms if one.at is None else round(one.at.timestamp() * 1000)
        _insert(transaction, actor, {**values, "seen_verdict": one.seen_verdict, "at_ms": at_ms})
        new += 1
    return new


@reading
def of_dialogue(transaction: Transaction, actor: str, dialogue: str) -> tuple[Annotation, ...]:
    """All annotations of a dialogue, oldest first; for reviewers and up.

    Raises:
        NotAllowed: the actor does not review.
    """
    authorised(transaction, actor, "review")
    rows = transaction.run(
        select(annotation_rows).where(annotation_rows.c.dialogue == dialogue).order_by(annotation_rows.c.id)
    )
    return tuple(annotation_of(row) for row in rows)


@reading
def own(transaction: Transaction, actor: str, n: int = 50) -> tuple[Annotation, ...]:
    """The actor's newest `n` answers, newest first."""
    authorised(transaction, actor, "label")
    mine = select(annotation_rows).where(annotation_rows.c.labeler == actor)
    rows = transaction.run(mine.order_by(annotation_rows.c.id.desc()).limit(n))
    return tuple(annotation_of(row) for row in rows)


def _known(transaction: Transaction, values: dict[str, Any]) -> Annotation | None:
    """The annotation that was saved under this key, if there is one and it says the same."""
    if not values["key"] or len(values["key"]) > 200 or "\x00" in values["key"]:
        raise StoreRefused("E_KEY", "expected a key of 1 to 200 characters")
    row = transaction.run(_BY_KEY, {"key": values["key"]}).one_or_none()
    if row is None:
        return None
    packed = _packed(values)
    if any(getattr(row, name) != value for name, value in packed.items()):
        raise StoreRefused("E_KEY", "this key was used for another answer")
    return annotation_of(row)


def _packed(values: dict[str, Any]) -> dict[str, Any]:
    """Values as columns hold them."""
    findings = [finding.model_dump(mode="json") for finding in values["findings"]]
    seconds = None if values["seconds"] is None else float(values["seconds"])
    return {
        **values,
        "codes": canonical(values["codes"]),
        "findings": canonical(findings),
        "seconds": seconds,
    }


def _insert(transaction: Transaction, actor: str, values: dict[str, Any]) -> Annotation:
    """Check and save; the audit log gets the row's hash."""
    _check(transaction, values)
    row = {"at_ms": transaction.now_ms, **_packed(values)}
    row["sha256"] = annotation_hash(row)
    saved = transaction.run(_SAVED, row).one()
    transaction.log(actor, "annotate", f"annotation {saved.id}", id=saved.id, sha256=row["sha256"])
    return annotation_of(saved)


def _check(transaction: Transaction, values: dict[str, Any]) -> None:
    """Findings answer what was asked and lie within the dialogue's turns."""
    dialogue = content_of(transaction, values["dialogue"])
    if dialogue is None:
        raise StoreRefused("E_DIALOGUE", "there is no such dialogue")
    lengths = {turn.index: len(turn.text) for turn in dialogue.turns}
    if values["turn"] is not None and values["turn"] not in lengths:
        raise StoreRefused("E_FINDING", "there is no such turn")
    for finding in values["findings"]:
        asked = finding.code in values["codes"] and values["turn"] in (None, finding.turn)
        if not asked:
            raise StoreRefused("E_FINDING", f"{finding.code} in turn {finding.turn} was not asked")
        if finding.end > lengths.get(finding.turn, -1):
            raise StoreRefused("E_FINDING", f"the evidence lies outside of turn {finding.turn}")
    if "\x00" in values["labeler"]:
        raise InputRefused("E_ID", "a labeler's name holds a NUL character")


def _has_verdict(transaction: Transaction, dialogue: str) -> bool:
    found = select(verdicts.c.release).where(verdicts.c.dialogue == dialogue).limit(1)
    return transaction.run(found).one_or_none() is not None


def _lock_dialogue(transaction: Transaction, dialogue: str) -> None:
    """Writers of one dialogue wait for each other, so that a version is checked against the last one."""
    lock = select(dialogues.c.id).where(dialogues.c.id == dialogue).with_for_update(key_share=True)
    if transaction.run(lock).one_or_none() is None:
        raise StoreRefused("E_DIALOGUE", "there is no such dialogue")
