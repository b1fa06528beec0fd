"""Gold labels of a turn and code, from experts, appeals or injected errors.

A control task is a dialogue with gold in the pool `control` of a project; `control_mix` decides when one is
shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import delete, exists, insert, or_, select, update

from dialint.detector.records import Dialogue, Example
from dialint.labeling.annotation import judged_turns
from dialint.labeling.store import dialogues, tasks
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import gold, pairs, verdicts
from dialint.labeling.store.database.schema import tasks as task_rows
from dialint.labeling.store.database.transactions import (
    Store,
    Transaction,
    read_operation,
    upsert,
    write_operation,
)
from dialint.labeling.store.dialogues import MAX_PER_CALL, load_dialogue, sha256_of
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.exposure import record_bulk_read, refuse_own_dialogues
from dialint.labeling.store.permissions import find_account, require_permission
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import Gold, NewTask, Pool
from dialint.labeling.store.task_queue import withdraw


def import_synthetic(
    store: Store, actor: str, examples: Iterable[Example], project: str | None = None
) -> tuple[str, ...]:
    """Put examples with made errors, and their clean twins, in as dialogues with gold of source `injected`;
    with `project`, as its control tasks, too. The ids of the dialogues, in the order given.

    Of each pair the codes that its labels name are known in every judged turn: there where it is labelled,
    absent elsewhere, and absent throughout in the twin. An example without a partner is known by its own
    labels. The dialogues get ids of ours, as the given ones may say which is the twin. The same examples
    again change nothing. It is done in pieces of up to 1,000; pairs are never cut.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: an example without labels whose twin is not among them, a label that is not certain,
            or an unknown project.
    """
    names: list[str] = []
    for piece in _pieces(list(examples)):
        gold_by_dialogue = {
            pseudonymous_dialogue(example).id: _gold(example, codes) for example, codes in piece
        }
        dialogues.add(store, actor, [pseudonymous_dialogue(example) for example, _ in piece])
        joint = {pseudonymous_dialogue(example).id: _pair(example) for example, _ in piece}
        _keep(store, actor, [one for rows in gold_by_dialogue.values() for one in rows], joint)
        if project is not None:
            tasks.add(
                store, actor, project, [NewTask(dialogue=name, pool="control") for name in gold_by_dialogue]
            )
        names += gold_by_dialogue
    return tuple(names)


def _pair(example: Example) -> str:
    return sha256_of(example.pair or example.dialogue.id)[:16]


def _pieces(examples: list[Example]) -> list[list[tuple[Example, frozenset[str]]]]:
    """Examples with the codes that are known of them, in pieces that hold every pair whole."""
    together: dict[str, list[Example]] = {}
    for example in examples:
        together.setdefault(_pair(example), []).append(example)
    pieces: list[list[tuple[Example, frozenset[str]]]] = [[]]
    for family in together.values():
        codes = frozenset(label.code for example in family for label in example.labels)
        if not codes:
            raise StoreRefused("E_CONTROL", "an example without labels, and without a twin that has some")
        if len(pieces[-1]) + len(family) > MAX_PER_CALL:
            pieces.append([])
        pieces[-1] += [(example, codes) for example in family]
    return pieces if pieces[0] else []


def pseudonymous_dialogue(example: Example) -> Dialogue:
    """The dialogue under a pseudonymous id, the same for the same id."""
    number = hashlib.sha256(f"control {example.dialogue.id}".encode()).hexdigest()[:12]
    return example.dialogue.model_copy(update={"id": f"d-{number}"})


def _gold(example: Example, codes: frozenset[str]) -> list[Gold]:
    if any(label.probability not in (0.0, 1.0) for label in example.labels):
        raise StoreRefused("E_CONTROL", "a label that is not certain is no gold")
    there = {(label.turn, label.code): label.probability == 1.0 for label in example.labels}
    reasons = {(label.turn, label.code): label.method for label in example.labels}
    places = {(turn, code) for turn in judged_turns(example.dialogue) for code in codes} | set(there)
    return [
        Gold(
            dialogue=pseudonymous_dialogue(example).id,
            turn=turn,
            code=code,
            present=there.get((turn, code), False),
            source="injected",
            reason=reasons.get((turn, code)),
        )
        for turn, code in sorted(places)
    ]


@write_operation(repeatable=True)
def _keep(transaction: Transaction, actor: str, new_gold: Sequence[Gold], joint: dict[str, str]) -> None:
    """Gold that is there already stays: an expert may have changed it since."""
    account = require_permission(transaction, actor, "plan")
    refuse_own_dialogues(transaction, account, *joint)
    query = select(gold.c.dialogue, gold.c.turn, gold.c.code).where(gold.c.dialogue.in_(list(joint)))
    stored = {tuple(row) for row in transaction.run(query)}
    new = [one.model_dump() for one in new_gold if (one.dialogue, one.turn, one.code) not in stored]
    transaction.run(delete(pairs).where(pairs.c.dialogue.in_(list(joint))))
    transaction.run(insert(pairs), [{"dialogue": name, "pair": pair} for name, pair in joint.items()])
    if new:
        transaction.run(insert(gold), [{**row, "at_ms": transaction.now_ms} for row in new])
        transaction.log(
            actor, "gold.bring_in", f"{len(new)} questions", sha256=sha256_of(canonical_json(new))
        )


@write_operation(repeatable=True)
def set_gold(transaction: Transaction, actor: str, known: Gold) -> None:
    """Set the gold label of a turn and code, replacing an earlier one.

    Raises:
        NotAllowed: the actor does not decide, or spoke in the dialogue.
        StoreRefused: no such dialogue or turn.
    """
    require_permission(transaction, actor, "decide")
    put_gold(transaction, actor, known)


def put_gold(transaction: Transaction, actor: str, known: Gold) -> None:
    """As `set_gold`, inside another operation; other permissions are checked by the caller.

    Raises:
        NotAllowed: the actor spoke in the dialogue.
        StoreRefused: no such dialogue or turn.
    """
    if (account := find_account(transaction, actor)) is not None:
        refuse_own_dialogues(transaction, account, known.dialogue)
    dialogue = load_dialogue(transaction, known.dialogue)
    if dialogue is None or known.turn not in [turn.index for turn in dialogue.turns]:
        raise StoreRefused("E_GOLD", "there is no such dialogue or turn")
    upsert(transaction, gold, {**known.model_dump(), "at_ms": transaction.now_ms})
    content = known.model_dump(include={"present", "source", "retired"})
    transaction.log(actor, "gold.put", f"{known.dialogue} {known.turn} {known.code}", **content)


@write_operation(repeatable=True)
def retire_gold(transaction: Transaction, actor: str, dialogue: str) -> int:
    """Stop showing a dialogue as a control task; how many of its turns and codes that concerns.

    Raises:
        NotAllowed: the actor does not plan, or spoke in the dialogue.
        StoreRefused: there is no gold on the dialogue.
    """
    refuse_own_dialogues(transaction, require_permission(transaction, actor, "plan"), dialogue)
    done = transaction.run(update(gold).where(gold.c.dialogue == dialogue).values(retired=True))
    if not done.rowcount:
        raise StoreRefused("E_GOLD", f"{dialogue[:80]!r}: there is no gold on this dialogue")
    withdraw(transaction, dialogue, "control")
    transaction.log(actor, "gold.retire", dialogue, n=done.rowcount)
    return done.rowcount


def has_gold(transaction: Transaction) -> bool:
    """Whether there is gold that is not retired; permissions are checked by the caller."""
    return transaction.run(select(gold.c.dialogue).where(~gold.c.retired).limit(1)).first() is not None


@read_operation
def list_gold(transaction: Transaction, actor: str, *, retired: bool = False) -> tuple[Gold, ...]:
    """List gold labels by dialogue, turn and code; for experts and up, as they reveal the answers."""
    account = require_permission(transaction, actor, "decide")
    record_bulk_read(transaction, account, None, "gold")
    rows = select(gold).order_by(gold.c.dialogue, gold.c.turn, gold.c.code)
    if not retired:
        rows = rows.where(~gold.c.retired)
    return tuple(
        Gold(**{name: getattr(row, name) for name in Gold.model_fields}) for row in transaction.run(rows)
    )


class ImportCounts(NamedTuple):
    """How many rows of an import were new, replaced other gold, or were in the store already."""

    new: int
    replaced: int
    unchanged: int


def import_gold(store: Store, actor: str, known: Sequence[Gold], *, replace: bool = False) -> ImportCounts:
    """Add gold, in transactions of up to 1,000 rows; the same rows again change nothing. Gold that says
    otherwise is only replaced with `replace`.

    Raises:
        NotAllowed: the actor does not decide, or spoke in one of the dialogues.
        StoreRefused: no such dialogue or agent's turn, a row twice, or gold that says otherwise; nothing was
            changed.
    """
    if len({(one.dialogue, one.turn, one.code) for one in known}) != len(known):
        raise StoreRefused("E_GOLD", "a dialogue, turn and code stand twice")
    pieces = [known[start : start + MAX_PER_CALL] for start in range(0, len(known), MAX_PER_CALL)]
    for piece in pieces:
        store.read(partial(_compare_gold, actor=actor, gold_rows=piece, replace=replace))
    counts = [_import_gold(store, actor, piece, replace) for piece in pieces]
    return (
        ImportCounts(*(sum(column) for column in zip(*counts, strict=True)))
        if counts
        else ImportCounts(0, 0, 0)
    )


@write_operation(repeatable=True)
def _import_gold(
    transaction: Transaction, actor: str, gold_rows: Sequence[Gold], replace: bool
) -> ImportCounts:
    new, changed = _compare_gold(transaction, actor, gold_rows, replace)
    for one in (*new, *changed):
        upsert(transaction, gold, {**one.model_dump(), "at_ms": transaction.now_ms})
    if new or changed:
        rows = [one.model_dump() for one in (*new, *changed)]
        subject = f"{len(new)} new, {len(changed)} replaced"
        transaction.log(actor, "gold.import", subject, sha256=sha256_of(canonical_json(rows)))
    return ImportCounts(len(new), len(changed), len(gold_rows) - len(new) - len(changed))


def _compare_gold(
    transaction: Transaction, actor: str, gold_rows: Sequence[Gold], replace: bool
) -> tuple[list[Gold], list[Gold]]:
    """The rows that are new, and those that replace other gold."""
    account = require_permission(transaction, actor, "decide")
    names = list(dict.fromkeys(one.dialogue for one in gold_rows))
    refuse_own_dialogues(transaction, account, *names)
    turns: dict[str, tuple[int, ...]] = {}
    for name in names:
        dialogue = load_dialogue(transaction, name)
        if dialogue is None:
            raise StoreRefused("E_GOLD", f"{name[:80]!r}: there is no such dialogue in the store")
        turns[name] = judged_turns(dialogue)
    rows = transaction.run(select(gold).where(gold.c.dialogue.in_(names)))
    stored = {(row.dialogue, row.turn, row.code): row for row in rows}
    new, changed = [], []
    for one in gold_rows:
        where = f"{one.dialogue[:80]!r}, turn {one.turn}, {one.code}"
        if one.turn not in turns[one.dialogue]:
            raise StoreRefused("E_GOLD", f"{where}: not a turn of an agent or bot with text")
        before = stored.get((one.dialogue, one.turn, one.code))
        if before is None:
            new.append(one)
        elif before.present != one.present:
            if not replace:
                raise StoreRefused("E_GOLD", f"{where}: the store says otherwise; --replace overwrites it")
            changed.append(one)
    return new, changed


def add_control_tasks(store: Store, actor: str, project: str, *, pool: Pool = "control") -> int:
    """Make tasks of the gold that fits a project: of each dialogue with gold for one of its codes, none of it
    retired or in doubt, that has no task in the project yet; how many. With a verdict, where the project is
    pre-labelled. In the pool `exam` they decide whether accounts in training are admitted.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
    """
    names = store.read(partial(_control_dialogues, actor=actor, project=project))
    new = [NewTask(dialogue=name, pool=pool, why="gold") for name in names]
    pieces = (new[start : start + MAX_PER_CALL] for start in range(0, len(new), MAX_PER_CALL))
    return sum(tasks.add(store, actor, project, piece) for piece in pieces)


def mix_in_gold(store: Store, actor: str, project: str) -> int:
    """`add_control_tasks`, if the project has a share of control tasks; how many."""
    wants_control = store.read(partial(get_project, name=project)).control_share > 0
    return add_control_tasks(store, actor, project) if wants_control else 0


def _control_dialogues(transaction: Transaction, actor: str, project: str) -> list[str]:
    require_permission(transaction, actor, "plan")
    into = get_project(transaction, project)
    unusable = gold.alias()
    has_task = exists().where(task_rows.c.project == project, task_rows.c.dialogue == gold.c.dialogue)
    is_unusable = exists().where(
        unusable.c.dialogue == gold.c.dialogue, or_(unusable.c.retired, unusable.c.doubt.is_not(None))
    )
    query = select(gold.c.dialogue).where(gold.c.code.in_(into.codes), ~has_task, ~is_unusable)
    if into.prelabelled:
        query = query.where(exists().where(verdicts.c.dialogue == gold.c.dialogue))
    return list(transaction.run(query.distinct().order_by(gold.c.dialogue)).scalars())
