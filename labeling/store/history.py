"""Everything that the store has of one dialogue, for reviewers and up, and dialogues that resemble it; pages
of the audit log.

Reading a dialogue is recorded, so that later answers of the account are not blind.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Row, select

from dialint.detector.near_duplicates import shingles
from dialint.detector.records import Dialogue, Label, Record, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.annotations import list_annotations
from dialint.labeling.store.appeals import to_appeal
from dialint.labeling.store.database.derived import Term, select_matches, split_words
from dialint.labeling.store.database.schema import (
    annotation_rows,
    appeals,
    audit,
    audit_head,
    dialogue_index,
    dialogues,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.dialogues import load_labels, require_dialogue
from dialint.labeling.store.documents import load_taxonomy_in_use
from dialint.labeling.store.exposure import ReadKind, record_read
from dialint.labeling.store.insights import score_reviewed
from dialint.labeling.store.permissions import get_account, read_operation, write_operation
from dialint.labeling.store.records import Appeal

MAX_ENTRIES = 200
"""Entries of the audit log that are read."""
N_WORDS = 12
"""Number of phrases of the longest words by which similar dialogues are searched."""
N_PAIRS = 2000
N_CANDIDATES, N_SIMILAR = 60, 5
LEAST_SIMILARITY = 0.05


class DatedVerdict(Record):
    """A verdict, and the time of its import (ms)."""

    at_ms: int
    verdict: Verdict


class DatedAppeal(Record):
    """An appeal, and its time (ms)."""

    at_ms: int
    appeal: Appeal


class LogEntry(NamedTuple):
    """An entry of the audit log: who did what to which subject, when, from where; `content` are details."""

    number: int
    at_ms: int
    account: str
    action: str
    subject: str
    content: dict[str, Any]
    origin: dict[str, str]
    hash: str


class DialogueHistory(Record):
    """A dialogue with its verdicts, answers, appeals and labels, oldest first, and the newest entries of the
    audit log about it, newest first. `current` are the ids of the answers that no later one corrects.
    `reviewed_quality` is its score by people's decisions, if there are any; `rating` the customer's, or the
    reward, of the log."""

    dialogue: Dialogue
    stored_ms: int
    reviewed_quality: float | None
    rating: float | None
    verdicts: tuple[DatedVerdict, ...]
    answers: tuple[Annotation, ...]
    current: frozenset[int]
    appeals: tuple[DatedAppeal, ...]
    labels: tuple[Label, ...]
    entries: tuple[LogEntry, ...]


@read_operation("review")
def read_history(transaction: Transaction, actor: str, name: str) -> DialogueHistory:
    """A dialogue with its whole history.

    Raises:
        NotAllowed: the actor does not review, or there is no such dialogue.
    """
    account = get_account(transaction, actor)
    dialogue = require_dialogue(transaction, account, name)
    of_verdicts = select(verdicts.c.created_ms, verdicts.c.content).where(verdicts.c.dialogue == name)
    rows = transaction.run(of_verdicts.order_by(verdicts.c.created_ms, verdicts.c.release)).all()
    of_appeals = select(appeals).where(appeals.c.dialogue == name).order_by(appeals.c.id)
    objections = transaction.run(of_appeals).all()
    stored_labels = load_labels(transaction, name)
    kinds: list[ReadKind] = ["dialogue"]
    kinds += ["verdict"] if rows or objections else []
    kinds += ["labels"] if stored_labels else []
    record_read(transaction, actor, name, *kinds)
    stored = select(dialogues.c.created_ms).where(dialogues.c.id == name)
    columns = dialogue_index.c.reviewed_errors, dialogue_index.c.team, dialogue_index.c.rating
    row = transaction.run(select(*columns).where(dialogue_index.c.dialogue == name)).one()
    return DialogueHistory(
        dialogue=dialogue,
        stored_ms=transaction.run(stored).scalar_one(),
        reviewed_quality=score_reviewed(row, load_taxonomy_in_use(transaction)),
        rating=row.rating,
        verdicts=tuple(
            DatedVerdict(at_ms=row.created_ms, verdict=Verdict.model_validate_json(row.content))
            for row in rows
        ),
        answers=list_annotations(transaction, actor, name, with_corrected=True),
        current=frozenset(int(each.id) for each in list_annotations(transaction, actor, name)),
        appeals=tuple(DatedAppeal(at_ms=row.at_ms, appeal=to_appeal(row)) for row in objections),
        labels=stored_labels,
        entries=_list_entries(transaction, name),
    )


def _list_entries(transaction: Transaction, name: str) -> tuple[LogEntry, ...]:
    """The newest entries about a dialogue, its tasks, annotations and appeals."""
    subjects = [name]
    for kind, table in (("task", tasks), ("annotation", annotation_rows), ("appeal", appeals)):
        newest = select(table.c.id).where(table.c.dialogue == name).order_by(table.c.id.desc())
        numbers = transaction.run(newest.limit(MAX_ENTRIES)).scalars()
        subjects += [f"{kind} {number}" for number in numbers]
    query = select(audit).where(audit.c.subject.in_(subjects)).order_by(audit.c.id.desc()).limit(MAX_ENTRIES)
    return tuple(map(_to_entry, transaction.run(query)))


def _to_entry(row: Row[Any]) -> LogEntry:
    details = json.loads(row.content), json.loads(row.origin)
    return LogEntry(row.id, row.at_ms, row.account, row.action, row.subject, *details, row.hash)


class SimilarDialogue(Record):
    """A dialogue that shares phrases with another: `similarity` is the Jaccard coefficient of their runs of
    three words, in [0, 1]."""

    dialogue: str
    at_ms: int
    agent: str
    release: str
    n_findings: int
    similarity: float


@read_operation("review")
def find_similar(transaction: Transaction, actor: str, name: str) -> tuple[SimilarDialogue, ...]:
    """The most similar of up to `N_CANDIDATES` dialogues that share a rare phrase of two words with this one,
    by the full-text index; each phrase is looked up until it proves to be frequent.

    Raises:
        NotAllowed: the actor does not review, or there is no such dialogue.
    """
    account = get_account(transaction, actor)
    dialogue = require_dialogue(transaction, account, name)
    whole = " ".join(turn.text for turn in dialogue.turns)
    candidates = _find_candidates(transaction, split_words(whole))
    columns = dialogue_index.c
    fields = (columns.dialogue, columns.at_ms, columns.agent, columns.release, columns.n_findings)
    query = select(dialogues.c.content, *fields).join(dialogue_index, columns.dialogue == dialogues.c.id)
    query = query.where(columns.number.in_(candidates), columns.dialogue != name)
    own = set(shingles(whole).tolist())
    similar = []
    for row in transaction.run(query):
        theirs = set(shingles(" ".join(turn["text"] for turn in json.loads(row.content)["turns"])).tolist())
        similarity = len(own & theirs) / max(1, len(own | theirs))
        if similarity >= LEAST_SIMILARITY:
            values = {key: value for key, value in row._mapping.items() if key != "content"}
            similar.append(SimilarDialogue(**values, similarity=similarity))
    similar.sort(key=lambda each: (-each.similarity, each.dialogue))
    record_read(transaction, actor, [each.dialogue for each in similar[:N_SIMILAR]], "verdict")
    return tuple(similar[:N_SIMILAR])


def _find_candidates(transaction: Transaction, words: list[str]) -> list[int]:
    """The numbers of dialogues that share the rarest phrases: those of the longest words, as these are rare,
    that at most `N_CANDIDATES` dialogues have."""
    pairs = {pair: len(pair[0]) + len(pair[1]) for pair in pairwise(words[:N_PAIRS])}
    longest = sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:N_WORDS]
    shared: Counter[int] = Counter()
    for pair in longest:
        matches = select_matches((Term(pair),), is_sqlite=transaction.on_sqlite).subquery()
        numbers = transaction.run(select(matches.c.number).limit(N_CANDIDATES)).scalars().all()
        if len(numbers) < N_CANDIDATES:
            shared.update(numbers)
    return [number for number, _ in shared.most_common(N_CANDIDATES)]


SCAN, PER_PAGE = 100_000, 50
"""Entries that one page searches, and displays."""
JobAction = Literal["create", "start", "stop", "add", "download", "remove"]


class LogPage(NamedTuple):
    """Entries, newest first; `before` continues, and is none at the beginning of the log."""

    entries: tuple[LogEntry, ...]
    before: int | None


@read_operation("administer")
def list_entries(
    transaction: Transaction,
    actor: str,
    *,
    before: int | None = None,
    account: str | None = None,
    action: str | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
) -> LogPage:
    """Entries of one account, of actions that begin with `action`, and within [since_ms, until_ms), as far as
    these are given."""
    conditions = [] if account is None else [audit.c.account == account]
    conditions += [] if action is None else [audit.c.action.startswith(action, autoescape=True)]
    conditions += [] if since_ms is None else [audit.c.at_ms >= since_ms]
    conditions += [] if until_ms is None else [audit.c.at_ms < until_ms]
    return load_entries(transaction, *conditions, before=before)


def load_entries(
    transaction: Transaction, *conditions: ColumnElement[bool], before: int | None = None
) -> LogPage:
    """A page of the newest entries that meet the conditions, among `SCAN` of the log; permissions are checked
    by the caller."""
    if before is None:
        before = transaction.run(select(audit_head.c.id)).scalar_one() + 1
    lowest = max(0, before - 1 - SCAN)
    query = select(audit).where(audit.c.id < before, audit.c.id > lowest, *conditions)
    rows = transaction.run(query.order_by(audit.c.id.desc()).limit(PER_PAGE)).all()
    entries = tuple(map(_to_entry, rows))
    if len(entries) == PER_PAGE:
        return LogPage(entries, entries[-1].number)
    return LogPage(entries, lowest + 1 if lowest else None)


@write_operation("plan")
def record_job(transaction: Transaction, actor: str, action: JobAction, job_id: str, file: str = "") -> None:
    """Record the actor's next action on a scoring job. A download quotes dialogues outside of the console."""
    transaction.log(actor, f"score_jobs.{action}", job_id, **({"file": file} if file else {}))
