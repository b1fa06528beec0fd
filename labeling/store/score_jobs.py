"""Logs that leads score in the console: who asked for what, and how it ended.

The row says what people decided; the log, the process and its progress are in the job's folder
(`dialint.app.console.system.job_files`). Every lead sees all jobs and may stop, repeat or remove them.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlalchemy import Row, delete, insert, select, tuple_, update

from dialint.detector.records import Record
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import score_jobs
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.permissions import read_operation, write_operation
from dialint.labeling.store.records import StoreRefused

JobState = Literal["uploaded", "queued", "done", "failed", "stopped"]
"""``uploaded`` has its log but was not started; ``queued`` waits or runs, which the folder tells."""
ENDED: tuple[JobState, ...] = ("done", "failed", "stopped")
JOB_ID = re.compile(r"[0-9a-f]{16}")
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


class ScoreOptions(Record):
    """What a lead chose. `release`: ``embedded``, or the id of a promoted one. `n_policies` policy files and
    the mapping are in the job's folder."""

    release: Name = "embedded"
    all_probabilities: bool = True
    languages: Annotated[tuple[Name, ...], Field(max_length=10)] = ()
    trusts_domain: bool = False
    n_policies: Annotated[int, Field(ge=0, le=20)] = 0
    has_mapping: bool = False


class ScoreResult(Record):
    """How a job ended: counts, or the message of what went wrong (no dialogue text). `seconds` of work."""

    dialogues: Annotated[int, Field(ge=0)] = 0
    findings: Annotated[int, Field(ge=0)] = 0
    failed: Annotated[int, Field(ge=0)] = 0
    rejected: Annotated[int, Field(ge=0)] = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    release: str = ""
    message: Annotated[str, Field(max_length=2000)] = ""


class AddedCounts(Record):
    """What of a job's output went into the store: new ones, ones that were there, and dialogues whose id the
    store has with other content."""

    dialogues: Annotated[int, Field(ge=0)]
    verdicts: Annotated[int, Field(ge=0)]
    known: Annotated[int, Field(ge=0)]
    changed: Annotated[int, Field(ge=0)]


class NewScoreJob(Record):
    """A log that was brought: its id, the log's name, size in bytes and SHA-256."""

    id: Annotated[str, Field(pattern=f"^{JOB_ID.pattern}$")]
    name: Name
    size: Annotated[int, Field(ge=0)]
    sha256: str


class ScoreJob(NewScoreJob):
    """A job as it is stored; times in ms since 1970."""

    account: str
    state: JobState
    created_ms: int
    ended_ms: int | None = None
    options: ScoreOptions = Field(default_factory=ScoreOptions)
    result: ScoreResult | None = None
    added: AddedCounts | None = None


_COLUMNS = ("id", "account", "name", "state", "created_ms", "ended_ms")


@write_operation("plan")
def create_job(transaction: Transaction, actor: str, new: NewScoreJob) -> ScoreJob:
    """Record a log that was brought; nothing is scored yet.

    Raises:
        StoreRefused: the id is taken by another log.
    """
    existing = transaction.run(select(score_jobs).where(score_jobs.c.id == new.id)).one_or_none()
    if existing is not None:
        job = _parse(existing)
        if job.sha256 != new.sha256:
            raise StoreRefused("E_JOB", "there is a job of this id already")
        return job
    job = ScoreJob(**dict(new), account=actor, state="uploaded", created_ms=transaction.now_ms)
    row = {name: getattr(job, name) for name in _COLUMNS}
    transaction.run(insert(score_jobs), [{**row, "content": _content(job)}])
    transaction.log(actor, "score_jobs.create", job.id, sha256=job.sha256)
    return job


@read_operation("plan")
def list_jobs(
    transaction: Transaction, actor: str, before: ScoreJob | None = None, limit: int = 50
) -> tuple[ScoreJob, ...]:
    """The jobs of all leads, newest first, those older than `before`."""
    newest_first = (score_jobs.c.created_ms.desc(), score_jobs.c.id.desc())
    query = select(score_jobs).order_by(*newest_first).limit(limit)
    if before is not None:
        query = query.where(
            tuple_(score_jobs.c.created_ms, score_jobs.c.id) < tuple_(before.created_ms, before.id)
        )
    return tuple(map(_parse, transaction.run(query)))


@read_operation("plan")
def load_job(transaction: Transaction, actor: str, job_id: str) -> ScoreJob:
    """One job."""
    return _load(transaction, job_id)


@write_operation("plan")
def queue_job(
    transaction: Transaction, actor: str, job_id: str, options: ScoreOptions | None = None
) -> ScoreJob:
    """Start a job, or one that ended badly once more. `options` may be chosen until the first start only, as
    the same command has to resume what it began.

    Raises:
        StoreRefused: it is done, or was started with other options.
    """
    job = _load(transaction, job_id)
    if job.state == "done":
        raise StoreRefused("E_JOB", "this job is done; bring the log again to score it in another way")
    options = options or job.options
    if job.state != "uploaded" and options != job.options:
        raise StoreRefused("E_JOB", "this job was started with other options")
    if job.state == "queued":
        return job
    changed = {"state": "queued", "options": options, "result": None, "ended_ms": None}
    return _save(transaction, actor, "score_jobs.queue", job.model_copy(update=changed))


@write_operation("plan")
def record_end(
    transaction: Transaction, actor: str, job_id: str, state: JobState, result: ScoreResult
) -> ScoreJob:
    """Record how a queued job ended, as its folder says; by the first lead who looks, or who stops it."""
    if state not in ENDED:
        raise StoreRefused("E_JOB", "{state} is no end of a job", state=state)
    job = _load(transaction, job_id)
    if job.state != "queued":
        return job
    changed = {"state": state, "result": result, "ended_ms": transaction.now_ms}
    return _save(transaction, actor, f"score_jobs.{state}", job.model_copy(update=changed))


@write_operation("plan")
def record_added(transaction: Transaction, actor: str, job_id: str, added: AddedCounts) -> ScoreJob:
    """Record that the output of a finished job was added to the store."""
    job = _load_done(transaction, job_id)
    return _save(transaction, actor, "score_jobs.add", job.model_copy(update={"added": added}))


@write_operation("plan")
def record_download(transaction: Transaction, actor: str, job_id: str, file: str) -> ScoreJob:
    """Record that the actor takes a file of a finished job, which quotes dialogues, out of the console."""
    job = _load_done(transaction, job_id)
    transaction.log(actor, "score_jobs.download", job.id, file=file)
    return job


@write_operation("plan")
def remove_job(transaction: Transaction, actor: str, job_id: str) -> None:
    """Delete the row of a job, whose folder was deleted before; one that is gone is no error."""
    if transaction.run(delete(score_jobs).where(score_jobs.c.id == job_id)).rowcount:
        transaction.log(actor, "score_jobs.remove", job_id)


def _load(transaction: Transaction, job_id: str) -> ScoreJob:
    row = transaction.run(select(score_jobs).where(score_jobs.c.id == job_id)).one_or_none()
    if row is None:
        raise StoreRefused("E_JOB", "there is no such job; somebody may have removed it")
    return _parse(row)


def _load_done(transaction: Transaction, job_id: str) -> ScoreJob:
    job = _load(transaction, job_id)
    if job.state != "done":
        raise StoreRefused("E_JOB", "this job is not done")
    return job


def _save(transaction: Transaction, actor: str, action: str, job: ScoreJob) -> ScoreJob:
    values = {"state": job.state, "ended_ms": job.ended_ms, "content": _content(job)}
    transaction.run(update(score_jobs).where(score_jobs.c.id == job.id).values(**values))
    transaction.log(actor, action, job.id)
    return job


def _content(job: ScoreJob) -> str:
    return canonical_json(job.model_dump(mode="json", exclude=set(_COLUMNS)))


def _parse(row: Row[Any]) -> ScoreJob:
    columns = {name: getattr(row, name) for name in _COLUMNS}
    return ScoreJob.model_validate_json(json.dumps({**json.loads(row.content), **columns}))
