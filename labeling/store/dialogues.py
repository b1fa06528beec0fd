"""Dialogues and verdicts of releases: inserted once, equal ones skipped; only `put_scored` replaces them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Row, bindparam, delete, insert, select

from dialint.detector.errors import ConfigError, InputRefused, Message
from dialint.detector.records import Dialogue, Label, Verdict
from dialint.detector.verdict_files import ORIGIN
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.derived import delete_derived, refresh
from dialint.labeling.store.database.schema import (
    annotation_rows,
    appeals,
    dialogues,
    gold,
    labels,
    leases,
    participants,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Store, Transaction, read_pages, upsert
from dialint.labeling.store.exposure import add_participants, is_own, record_read
from dialint.labeling.store.permissions import get_account, has_permission, read_operation, write_operation
from dialint.labeling.store.records import Account, NotAllowed, StoreRefused

MAX_PER_CALL = 1000
"""Dialogues or verdicts in one call, which is one transaction."""
MAX_NAME = 200
"""Characters of a release's name."""

_NEWEST = (
    select(verdicts.c.content)
    .where(verdicts.c.dialogue == dialogues.c.id)
    .order_by(verdicts.c.created_ms.desc(), verdicts.c.release.desc())
    .limit(1)
)
_CONTENT = select(dialogues.c.content, _NEWEST.scalar_subquery().label("verdict")).where(
    dialogues.c.id == bindparam("name")
)


@write_operation("plan")
def add(transaction: Transaction, actor: str, new_dialogues: Sequence[Dialogue]) -> int:
    """Insert up to 1,000 dialogues; return how many were new.

    Raises:
        StoreRefused: the store has one with other content, which the message names; none was inserted.
    """
    rows = {each.id: _dialogue_row(each, transaction.now_ms) for each in new_dialogues}
    if len(rows) != len(new_dialogues):
        raise StoreRefused("E_DIALOGUE", "a dialogue's id is given twice in one call")
    existing = select(dialogues.c.id, dialogues.c.sha256).where(dialogues.c.id.in_(_validate_ids(list(rows))))
    new, changed = _select_new(rows, {row.id: row.sha256 for row in transaction.run(existing)})
    if changed:
        raise StoreRefused("E_CHANGED", "{key}: in the store with other content", key=changed[0])
    if new:
        transaction.run(insert(dialogues), new)
        ids = {row["id"] for row in new}
        add_participants(transaction, (dialogue for dialogue in new_dialogues if dialogue.id in ids))
        refresh(transaction, sorted(ids))
        digest = compute_sha256("".join(row["sha256"] for row in new))
        transaction.log(actor, "dialogues.add", f"{len(new)} dialogues", sha256=digest)
    return len(new)


@write_operation("plan")
def add_verdicts(
    transaction: Transaction,
    actor: str,
    new_verdicts: Sequence[Verdict],
    release_name: str | None = None,
    *,
    replace: bool = False,
) -> int:
    """Insert up to 1,000 verdicts on stored dialogues; return how many were new. Their offsets, into the
    texts of the log, are converted to offsets into the dialogues' texts. The store keeps one verdict by
    dialogue and release: with `release_name` they are those of a release of that name; `replace` overwrites a
    different one.

    Raises:
        StoreRefused: a dialogue is not in the store, or the release has a different verdict on it.
        ConfigError: a name of 0 or over 200 characters, or with control characters.
    """
    if release_name is not None:
        if not 0 < len(release_name) <= MAX_NAME or not release_name.isprintable():
            raise ConfigError(
                "E_NAME", "a release's name has 1 to {most} characters, all of them printable", most=MAX_NAME
            )
        new_verdicts = [verdict.model_copy(update={"release": release_name}) for verdict in new_verdicts]
    ids = _validate_ids([verdict.dialogue_id for verdict in new_verdicts])
    placed = {
        (each.dialogue_id, each.release): each for each in _convert_offsets(transaction, new_verdicts, ids)
    }
    rows = {key: _verdict_row(verdict, transaction.now_ms) for key, verdict in placed.items()}
    if len(rows) != len(new_verdicts):
        raise StoreRefused("E_VERDICT", "a dialogue and release are given twice in one call")
    stored = set(transaction.run(select(dialogues.c.id).where(dialogues.c.id.in_(ids))).scalars())
    if missing := sorted(set(ids) - stored):
        raise StoreRefused("E_VERDICT", "{n} verdicts of dialogues that are not in the store", n=len(missing))
    columns = (verdicts.c.dialogue, verdicts.c.release, verdicts.c.sha256)
    query = select(*columns).where(verdicts.c.dialogue.in_(ids))
    existing = {(row.dialogue, row.release): row.sha256 for row in transaction.run(query)}
    new, changed = _select_new(rows, existing)
    for name, release in () if replace else changed:
        problem = Message(
            "{dialogue}: the store has another verdict of {release}", dialogue=name, release=release
        )
        hint = Message("`dialint import verdicts --release-name NAME` keeps both")
        raise StoreRefused("E_CHANGED", "{problem}; {hint}", problem=problem, hint=hint)
    for key in changed:
        upsert(transaction, verdicts, rows[key])
    if new:
        transaction.run(insert(verdicts), new)
    if written := [*new, *(rows[key] for key in changed)]:
        refresh(transaction, sorted({row["dialogue"] for row in written}))
        digest = compute_sha256("".join(row["sha256"] for row in written))
        transaction.log(actor, "verdicts.add", f"{len(written)} verdicts", sha256=digest)
    return len(new)


class PutCounts(NamedTuple):
    """Number of `new` and of `replaced` dialogues, and the ids of changed ones that were `not_replaced`."""

    new: int
    replaced: int
    not_replaced: tuple[str, ...]


@write_operation("plan")
def put_scored(
    transaction: Transaction, actor: str, new_dialogues: Sequence[Dialogue], new_verdicts: Sequence[Verdict]
) -> PutCounts:
    """Insert up to 1,000 dialogues with a verdict on each, in their order, or replace those that have changed
    since: their other verdicts, which are of the older content, are deleted. A dialogue and its verdicts are
    not replaced if people have answered about a part that has changed: it must be the same up to the last
    turn of an annotation, label, gold, appeal or task, with no answer about the whole and no lease."""
    rows = {each.id: _dialogue_row(each, transaction.now_ms) for each in new_dialogues}
    ids = _validate_ids(list(rows))
    # PostgreSQL: who takes a task or answers waits until the content is replaced.
    own_tasks = select(tasks.c.id).where(tasks.c.dialogue.in_(ids)).order_by(tasks.c.id)
    transaction.run(own_tasks.with_for_update(key_share=True))
    query = select(dialogues).where(dialogues.c.id.in_(ids)).order_by(dialogues.c.id).with_for_update()
    changed = {row.id: row for row in transaction.run(query) if row.sha256 != rows[row.id]["sha256"]}
    new_by_id = {each.id: each for each in new_dialogues}
    answered = _answered_turns(transaction, list(changed))
    not_replaced = tuple(
        name
        for name, row in changed.items()
        if not _is_same_until(Dialogue.model_validate_json(row.content), new_by_id[name], answered[name])
    )
    if replaced := [name for name in changed if name not in not_replaced]:
        delete_derived(transaction, replaced)
        for table in (verdicts, participants):
            transaction.run(delete(table).where(table.c.dialogue.in_(replaced)))
        for name in replaced:
            upsert(transaction, dialogues, {**rows[name], "created_ms": changed[name].created_ms})
        add_participants(transaction, [new_by_id[name] for name in replaced])
        refresh(transaction, replaced)
        digest = compute_sha256("".join(rows[name]["sha256"] for name in replaced))
        transaction.log(actor, "dialogues.replace", f"{len(replaced)} dialogues", sha256=digest)
    new = add(transaction, actor, [each for each in new_dialogues if each.id not in not_replaced])
    added = [verdict for verdict in new_verdicts if verdict.dialogue_id not in not_replaced]
    add_verdicts(transaction, actor, added, replace=True)
    return PutCounts(new, len(replaced), not_replaced)


def _answered_turns(transaction: Transaction, ids: Sequence[str]) -> dict[str, set[int | None]]:
    """Returns the turns of each dialogue with answers or tasks; None stands for the whole dialogue."""
    turns: dict[str, set[int | None]] = {name: set() for name in ids}
    for table in (annotation_rows, labels, gold, appeals, tasks):
        query = select(table.c.dialogue, table.c.turn).where(table.c.dialogue.in_(ids)).distinct()
        query = query.where(tasks.c.turn.is_not(None)) if table is tasks else query
        for row in transaction.run(query):
            turns[row.dialogue].add(row.turn)
    held = select(tasks.c.dialogue).join(leases, leases.c.task == tasks.c.id)
    for name in transaction.run(held.where(leases.c.state == "held", tasks.c.dialogue.in_(ids))).scalars():
        turns[name].add(None)
    return turns


def _is_same_until(old: Dialogue, new: Dialogue, turns: set[int | None]) -> bool:
    """Returns whether two dialogues are the same up to the last of these turns."""
    numbers = [turn for turn in turns if turn is not None]
    if len(numbers) < len(turns):
        return False
    until = max(numbers, default=-1)
    one, other = ([turn for turn in each.turns if turn.index <= until] for each in (old, new))
    return one == other


def _convert_offsets(
    transaction: Transaction, new_verdicts: Sequence[Verdict], ids: Sequence[str]
) -> list[Verdict]:
    query = select(dialogues.c.id, dialogues.c.content).where(
        dialogues.c.id.in_(ids), dialogues.c.content.contains('"edits":')
    )
    changed = {row.id: Dialogue.model_validate_json(row.content) for row in transaction.run(query)}
    return [
        verdict.placed_in(changed[verdict.dialogue_id]) if verdict.dialogue_id in changed else verdict
        for verdict in new_verdicts
    ]


def _validate_ids(ids: Sequence[str]) -> Sequence[str]:
    if len(ids) > MAX_PER_CALL:
        raise StoreRefused("E_BATCH", "{n} in one call, at most {most}", n=len(ids), most=MAX_PER_CALL)
    if any("\x00" in name for name in ids):  # PostgreSQL cannot store it
        raise InputRefused("E_ID", "a dialogue's id holds a NUL character")
    return ids


def _select_new(
    rows: dict[Any, dict[str, Any]], existing: dict[Any, str]
) -> tuple[list[dict[str, Any]], list[Any]]:
    """The rows that are not in the store, and the keys of those that are, with other content."""
    changed = [key for key, sha256 in existing.items() if key in rows and rows[key]["sha256"] != sha256]
    return [row for key, row in rows.items() if key not in existing], changed


def _dialogue_row(dialogue: Dialogue, now_ms: int) -> dict[str, Any]:
    content = canonical_json(dialogue.model_dump(mode="json"))
    columns = {"id": dialogue.id, "agent": dialogue.agent, "team": dialogue.team, "channel": dialogue.channel}
    return {**columns, "created_ms": now_ms, "sha256": compute_sha256(content), "content": content}


def _verdict_row(verdict: Verdict, now_ms: int) -> dict[str, Any]:
    """The row of a verdict, without its origin (agent, team, channel, time), which the dialogue holds and a
    labeler must not see. `risk`, the expected number of errors, is a column because sampling reads a
    million of them. Verdicts that were not judged count as flagged, so that audits of
    unflagged dialogues leave them out; suggestions flag nothing."""
    content = canonical_json(verdict.model_dump(mode="json", exclude={*ORIGIN} - {"agent_turns"}))
    return {
        "dialogue": verdict.dialogue_id,
        "release": verdict.release,
        "risk": verdict.expected_errors,
        "flagged": bool(verdict.findings) or verdict.status == "not_judged",
        "created_ms": now_ms,
        "sha256": compute_sha256(content),
        "content": content,
    }


def compute_sha256(content: str) -> str:
    """Hex SHA-256 of a row's content."""
    return hashlib.sha256(content.encode()).hexdigest()


@read_operation("label")
def read(transaction: Transaction, actor: str, name: str) -> tuple[Dialogue, Verdict | None]:
    """A dialogue with the newest verdict on it, for the agent who spoke in it and for reviewers and up, whose
    reading is recorded. Only reviewers and up get its suggestions.

    Raises:
        NotAllowed: the actor is neither, or there is no such dialogue.
    """
    account = get_account(transaction, actor)
    dialogue = require_dialogue(transaction, account, name)
    verdict = load_verdict(transaction, name)
    if has_permission(account, "review"):
        record_read(transaction, actor, name, "dialogue" if verdict is None else "verdict")
    elif verdict is not None:
        verdict = verdict.model_copy(update={"suggestions": ()})
    return dialogue, verdict


def require_dialogue(transaction: Transaction, account: Account, name: str) -> Dialogue:
    """The dialogue with this id, for the agent who spoke in it and for reviewers and up.

    Raises:
        NotAllowed: the account is neither, or there is no such dialogue.
    """
    dialogue = load_dialogue(transaction, name)
    if dialogue is None or not (has_permission(account, "review") or is_own(transaction, account, (name,))):
        raise NotAllowed(
            "E_RIGHT", "{actor} has no right to see this dialogue, or there is none", actor=account.id
        )
    return dialogue


def load_dialogue(transaction: Transaction, name: str) -> Dialogue | None:
    """The dialogue with this id, or none; permissions are checked by the caller."""
    content = load_content(transaction, name)
    return None if content is None else Dialogue.model_validate_json(content)


def load_content(transaction: Transaction, name: str) -> str | None:
    """As `load_dialogue`, as JSON."""
    row = transaction.fetch_row(_CONTENT, name)
    return None if row is None else str(row.content)


class StoredDialogues(Mapping[str, Dialogue]):
    """The dialogues of a store by id, read one at a time; the last one is cached. Permissions are checked by
    the caller."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: Dialogue | None = None

    def __getitem__(self, name: str) -> Dialogue:
        if self._last is None or self._last.id != name:
            self._last = self._store.read(partial(load_dialogue, name=name))
        if self._last is None:
            raise KeyError(name)
        return self._last

    def __iter__(self) -> Iterator[str]:
        ids = select(dialogues.c.id)
        return iter(self._store.read(lambda transaction: list(transaction.run(ids).scalars())))

    def __len__(self) -> int:
        return len(list(iter(self)))


def load_verdict(transaction: Transaction, name: str) -> Verdict | None:
    """The newest verdict on a dialogue, or none; permissions are checked by the caller."""
    row = transaction.fetch_row(_CONTENT, name)
    return None if row is None or row.verdict is None else Verdict.model_validate_json(row.verdict)


def has_verdict(transaction: Transaction, name: str) -> bool:
    """Returns whether there is a verdict on a dialogue."""
    row = transaction.fetch_row(_CONTENT, name)
    return row is not None and row.verdict is not None


def load_verdicts(transaction: Transaction, name: str) -> tuple[Verdict, ...]:
    """The verdicts of all releases on a dialogue, oldest first; permissions are checked by the caller."""
    rows = select(verdicts.c.content).where(verdicts.c.dialogue == name)
    ordered = rows.order_by(verdicts.c.created_ms, verdicts.c.release)
    return tuple(map(Verdict.model_validate_json, transaction.run(ordered).scalars()))


def iterate_verdicts(store: Store, since_ms: int, until_ms: int) -> Iterator[Row[Any]]:
    """The verdicts added in ``[since_ms, until_ms)``, by dialogue and release, read in pages: rows with
    `dialogue`, `release`, `created_ms` and `content`, so that a caller parses only the verdicts it needs.
    Permissions are checked by the caller."""
    window = (verdicts.c.created_ms >= since_ms) & (verdicts.c.created_ms < until_ms)
    key, columns = (verdicts.c.dialogue, verdicts.c.release), (verdicts.c.created_ms, verdicts.c.content)
    return read_pages(store, key, columns, window)


@write_operation("plan")
def write_labels(transaction: Transaction, actor: str, new_labels: Sequence[Label]) -> None:
    """Write up to 1,000 labels, replacing earlier ones of the same turn, code and method."""
    if len(new_labels) > MAX_PER_CALL:
        raise StoreRefused("E_BATCH", "{n} in one call, at most {most}", n=len(new_labels), most=MAX_PER_CALL)
    rows = [label.model_dump() for label in new_labels]
    for row in rows:
        row |= {"dialogue": row.pop("dialogue_id"), "at_ms": transaction.now_ms}
        upsert(transaction, labels, row)
    transaction.log(actor, "labels.put", f"{len(rows)} labels", sha256=compute_sha256(canonical_json(rows)))


@read_operation("review")
def list_labels(transaction: Transaction, actor: str, dialogue: str) -> tuple[Label, ...]:
    """The labels of a dialogue, by turn, code and method."""
    stored = load_labels(transaction, dialogue)
    if stored:
        record_read(transaction, actor, dialogue, "labels")
    return stored


def load_labels(transaction: Transaction, dialogue: str) -> tuple[Label, ...]:
    """As `list_labels`, without recording the reading; permissions are checked by the caller."""
    columns = [column for column in labels.c if column.name in Label.model_fields]
    rows = select(labels.c.dialogue.label("dialogue_id"), *columns).where(labels.c.dialogue == dialogue)
    ordered = transaction.run(rows.order_by(labels.c.turn, labels.c.code, labels.c.method))
    return tuple(Label(**row) for row in ordered.mappings())


def list_labelled_codes(transaction: Transaction, dialogues: Collection[str]) -> set[tuple[str, int, str]]:
    """Dialogue, turn and code of every label of these dialogues, by any method; permissions are checked by
    the caller."""
    columns = (labels.c.dialogue, labels.c.turn, labels.c.code)
    rows = transaction.run(select(*columns).where(labels.c.dialogue.in_(dialogues)))
    return {(row.dialogue, row.turn, row.code) for row in rows}
