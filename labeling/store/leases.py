"""Leases: one account holds a task for a limited time; without a valid lease it cannot answer.

Each claim of a task takes the next fencing token, and an answer must carry the token of a lease that is
still held, so an account that lost a task cannot answer it, whatever the clock was set to. An expired lease
is ended by the next claim of any account; until then its holder may still answer or renew.
"""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import Row, bindparam, or_, select, update

from dialint.labeling.store.database.schema import leases, tasks
from dialint.labeling.store.database.transactions import Transaction, upsert
from dialint.labeling.store.dialogues import has_verdict
from dialint.labeling.store.exposure import APPEAL, PART, is_independent, record_claim_read, require_not_own
from dialint.labeling.store.permissions import (
    Permission,
    get_account,
    has_permission,
    read_operation,
    write_operation,
)
from dialint.labeling.store.projects import get_open_project
from dialint.labeling.store.records import (
    Account,
    Lease,
    NewTask,
    NotAllowed,
    Pool,
    Project,
    Purpose,
    StaleLease,
    StoreRefused,
)
from dialint.labeling.store.task_queue import (
    count_answered,
    count_by_state,
    end_lease,
    find_next_open,
    lock_task,
    update_task,
)
from dialint.labeling.store.tasks import insert_tasks, sample_control_task

MAX_EXPIRED = 100
"""Expired leases that one claim ends at most."""
ANSWERED = "E_ANSWERED"
"""Code of the refusal of a task that the actor has answered."""
REQUIRED_PERMISSION: dict[Purpose, Permission] = {"review": "review", "adjudication": "decide"}
"""Permission that claiming needs, by the purpose of the project, besides `label`."""

_KEY = (leases.c.task == bindparam("its_task"), leases.c.account == bindparam("its_account"))
_LEASE = select(leases).where(*_KEY)
_LOCK_HELD = (  # both rows: PostgreSQL reads only locked ones anew after it waited
    select(tasks, leases.c.state.label("lease_state"), leases.c.token.label("lease_token"))
    .join(leases, leases.c.task == tasks.c.id)
    .where(*_KEY)
    .with_for_update(key_share=True)
)
_RENEW = update(leases).where(*_KEY, leases.c.state == "held").values(expires_ms=bindparam("its_end"))
_HELD = (
    select(tasks, leases.c.token.label("lease_token"), leases.c.expires_ms)
    .join(tasks, tasks.c.id == leases.c.task)
    .where(leases.c.account == bindparam("account"), leases.c.state == "held")
    .where(tasks.c.project == bindparam("project"))
    .where(or_(tasks.c.pool == bindparam("pool"), tasks.c.pool == bindparam("mixed_in")))
    .order_by(tasks.c.rank, tasks.c.id)
)
"""The tasks of the project and pool that an account holds, in the order of the queue."""
_EXPIRED = (leases.c.state == "held", leases.c.expires_ms < bindparam("now_ms"))
_EXPIRED_TASKS = select(leases.c.task).where(*_EXPIRED).order_by(leases.c.expires_ms).limit(MAX_EXPIRED)


@write_operation("label")
def claim(
    transaction: Transaction, actor: str, project: str, *, pool: Pool | None = None, at_once: int = 1
) -> Lease | None:
    """Claim the next task for the actor, or return none.

    An actor who holds `at_once` tasks of this project and pool gets the first of them again, so that a lost
    connection loses nothing. Some tasks of the main pool are replaced by control tasks. An actor never gets a
    task on a dialogue of their own, nor the second review of an appeal if they have a part in the dialogue or
    have seen annotations of others on it.

    Without a `pool`, an active account gets tasks of the main pool; an account in training gets those of
    `training` and then those of `exam`, which decide whether it is admitted.

    Raises:
        NotAllowed: the actor lacks the right, the skills or the status for this pool.
        StoreRefused: the project is closed or past its deadline.
    """
    account = get_account(transaction, actor)
    target = get_open_project(transaction, project)
    pools = (pool,) if pool else account.pools
    for each in pools:
        _validate_pool(account, target, each)
    _end_expired(transaction)
    for each in pools:
        if lease := _claim(transaction, account, target, each, at_once):
            return lease
    return None


@write_operation("review")
def claim_dialogue(transaction: Transaction, actor: str, project: str, dialogue: str) -> Lease:
    """Claim the review of a whole dialogue that the actor has chosen. The project gets a task for it if it
    has none, and asks for one answer more if it has all that it wants.

    Raises:
        NotAllowed: the actor does not review, has no part in the project, or spoke in the dialogue.
        StoreRefused: no such dialogue; the project displays no verdicts, or is closed; or the task is
            held by somebody else, or answered by the actor.
    """
    account = get_account(transaction, actor)
    target = get_open_project(transaction, project)
    _validate_pool(account, target, "main")
    require_not_own(transaction, account, dialogue)
    if target.purpose != "review" or not target.prelabelled:
        raise StoreRefused("E_TASK", "{project} is no project to review findings in", project=project)
    _end_expired(transaction)
    whole = select(tasks.c.id).where(
        tasks.c.project == project, tasks.c.dialogue == dialogue, tasks.c.turn.is_(None)
    )
    if transaction.run(whole).scalar() is None:
        insert_tasks(transaction, actor, target, [NewTask(dialogue=dialogue, why="chosen for review")])
    row = lock_task(transaction, transaction.run(whole).scalar_one())
    lease = transaction.run(_LEASE, {"its_task": row.id, "its_account": actor}).one_or_none()
    if lease is not None and lease.state == "held":
        return _to_lease(transaction, actor, row, lease.token, lease.expires_ms)
    if lease is not None and lease.state in ("answered", "discarded"):
        raise StoreRefused(ANSWERED, "{actor} has answered this task already", actor=actor)
    if row.state == "full" or row.pool not in ("main", "control"):
        raise StoreRefused("E_TASK", "somebody else has this dialogue in hand in {project}", project=project)
    if row.state != "open":
        update_task(transaction, row, wanted=row.answered + row.leased + 1)
    return _start_lease(transaction, account, target, lock_task(transaction, row.id))


def _claim(
    transaction: Transaction, account: Account, project: Project, pool: Pool, at_once: int
) -> Lease | None:
    mixed_in = "control" if pool == "main" else pool
    key = {"project": project.id, "pool": pool, "mixed_in": mixed_in, "account": account.id}
    held = transaction.run(_HELD, key).all()
    if len(held) >= at_once:
        return _to_lease(transaction, account.id, held[0], held[0].lease_token, held[0].expires_ms)
    if pool == "main" and count_share_left(transaction, account, project) <= 0:
        return None
    row = find_next_open(transaction, account, project, pool)
    while row is not None and row.why == APPEAL and not is_independent(transaction, account, row.dialogue):
        # exclude the account, which is not blind there, by a lease that is skipped at once
        lease = _start_lease(transaction, account, project, row)
        end_lease(transaction, lock_task(transaction, row.id), account.id, "skipped", PART)
        transaction.log(account.id, "task.skip", f"task {row.id}", token=lease.token)
        row = find_next_open(transaction, account, project, pool)
    if row is not None and pool == "main":
        row = sample_control_task(transaction, account, project) or row
    return None if row is None else _start_lease(transaction, account, project, row)


def count_share_left(transaction: Transaction, account: Account, project: Project) -> float:
    """Returns the number of answers in the main pool that the project's fair share still allows the account,
    beside its answers and the tasks that it holds."""
    if project.fair_share is None:
        return math.inf
    key = {"project": project.id, "pool": "main", "mixed_in": "main", "account": account.id}
    n_own = count_answered(transaction, account.id, project.id, "main") + len(
        transaction.run(_HELD, key).all()
    )
    states = count_by_state(transaction, project.id).items()
    n_tasks = sum(n for (pool, state), n in states if pool == "main" and state != "withdrawn")
    return max(1, math.ceil(project.fair_share * n_tasks * project.overlap - 1e-9)) - n_own


@read_operation("label")
def find_held(transaction: Transaction, actor: str, project: str) -> Lease | None:
    """The first task of a project that the actor holds in one of the actor's pools, or none."""
    first = get_account(transaction, actor).pools[0]
    mixed_in = "exam" if first == "training" else "control"
    key = {"project": project, "pool": first, "mixed_in": mixed_in, "account": actor}
    row = transaction.run(_HELD, key).first()
    return None if row is None else _to_lease(transaction, actor, row, row.lease_token, row.expires_ms)


def require_part(account: Account, project: Project, pool: str) -> None:
    """Raise `NotAllowed` unless role and status still let the account answer in this pool of the project."""
    if (right := REQUIRED_PERMISSION.get(project.purpose)) and not has_permission(account, right):
        values = {"account": account.id, "right": right, "project": project.id}
        raise NotAllowed("E_RIGHT", "{account} has no right to {right}, which {project} is for", **values)
    if account.status == "training" and pool in ("main", "control"):
        raise NotAllowed(
            "E_POOL", "{account} is in training and has no part in the main pool yet", account=account.id
        )


def _validate_pool(account: Account, project: Project, pool: Pool) -> None:
    if pool == "control":
        raise NotAllowed("E_POOL", "control tasks come by themselves")
    require_part(account, project, pool)
    if project.members and account.id not in project.members:
        raise NotAllowed(
            "E_RIGHT", "{account} is no member of {project}", account=account.id, project=project.id
        )
    if missing := set(project.skills) - set(account.skills):
        raise NotAllowed(
            "E_SKILL", "{account} lacks {skills}", account=account.id, skills=", ".join(sorted(missing))
        )


def _start_lease(transaction: Transaction, account: Account, project: Project, row: Row[Any]) -> Lease:
    """Start a lease of a locked task. The token is the time, so that it does not reveal how often others had
    the task, which is often for a control task."""
    expires_ms = transaction.now_ms + project.lease_s * 1000
    token = max(row.token + 1, transaction.now_ms)
    lease = {"token": token, "state": "held", "expires_ms": expires_ms, "reason": None}
    upsert(transaction, leases, {"task": row.id, "account": account.id, **lease})
    update_task(transaction, row, leased=row.leased + 1, token=token)
    transaction.log(account.id, "task.claim", f"task {row.id}", token=token)
    if project.prelabelled and has_verdict(transaction, row.dialogue):
        record_claim_read(transaction, account.id, row.dialogue)
    return _to_lease(transaction, account.id, row, token, expires_ms)


def _to_lease(transaction: Transaction, account: str, row: Row[Any], token: int, expires_ms: int) -> Lease:
    pool = "main" if row.pool == "control" else row.pool
    about = {"project": row.project, "dialogue": row.dialogue, "turn": row.turn, "pool": pool}
    key = transaction.store.key.seal("lease", f"{row.id} {account} {token}")
    return Lease(task=row.id, token=token, answer_key=key, expires_ms=expires_ms, **about)


@write_operation("label")
def renew(transaction: Transaction, actor: str, task: int, token: int) -> Lease:
    """Renew a lease for its full time.

    Raises:
        StaleLease: the actor no longer holds it.
    """
    row = lock_held_task(transaction, actor, task, token)
    expires_ms = transaction.now_ms + get_open_project(transaction, row.project).lease_s * 1000
    transaction.run(_RENEW, {"its_task": task, "its_account": actor, "its_end": expires_ms})
    transaction.log(actor, "task.renew", f"task {task}", token=token)
    return _to_lease(transaction, actor, row, token, expires_ms)


@write_operation("label", repeatable=False)
def release(transaction: Transaction, actor: str, task: int, token: int) -> None:
    """Return a task to the queue, where anybody may claim it, also the actor.

    Raises:
        StaleLease: the actor no longer holds it.
    """
    row = lock_held_task(transaction, actor, task, token)
    end_lease(transaction, row, actor, "released", None)
    transaction.log(actor, "task.release", f"task {task}", token=token)


@write_operation("label", repeatable=False)
def skip(transaction: Transaction, actor: str, task: int, token: int, reason: str) -> None:
    """Return a task to the queue and exclude the actor from it.

    Raises:
        StaleLease: the actor no longer holds it.
        StoreRefused: no reason.
    """
    if not reason.strip():
        raise StoreRefused("E_SKIP", "say why, so that somebody can mend it")
    row = lock_held_task(transaction, actor, task, token)
    end_lease(transaction, row, actor, "skipped", reason)
    transaction.log(actor, "task.skip", f"task {task}", token=token)


def lock_held_task(transaction: Transaction, actor: str, task: int, token: int) -> Row[Any]:
    """As `lock_task_and_lease`; raises `StaleLease` unless the actor's lease is valid."""
    row, is_held = lock_task_and_lease(transaction, actor, task, token)
    require_held(task, is_held=is_held)
    return row


def lock_task_and_lease(transaction: Transaction, actor: str, task: int, token: int) -> tuple[Row[Any], bool]:
    """Lock the task's row, and say whether the actor's lease of it is valid.

    Raises:
        DialogueMissing: there is no such task.
    """
    row = transaction.run(_LOCK_HELD, {"its_task": task, "its_account": actor}).one_or_none()
    if row is None:
        return lock_task(transaction, task), False
    return row, row.lease_state == "held" and row.lease_token == token


def require_held(task: int, *, is_held: bool) -> None:
    """Raise `StaleLease` unless a lease is valid."""
    if not is_held:
        raise StaleLease("E_LEASE", "task {task}: the lease ran out or was given back", task=task)


def _end_expired(transaction: Transaction) -> None:
    now = {"now_ms": transaction.now_ms}
    ids = set(transaction.run(_EXPIRED_TASKS, now).scalars())
    if not ids:
        return
    rows = select(tasks).where(tasks.c.id.in_(ids)).order_by(tasks.c.id)
    for row in transaction.run(rows.with_for_update(key_share=True, skip_locked=True)).all():
        ended = update(leases).where(leases.c.task == row.id, *_EXPIRED).values(state="expired")
        if n := transaction.run(ended, now).rowcount:
            update_task(transaction, row, leased=row.leased - n)
            transaction.log("system", "task.expire", f"task {row.id}", n=n)
