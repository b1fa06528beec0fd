"""Gold labels of a turn and code, from experts, appeals or injected errors.

A dialogue with gold can be a control task; `tasks` decides when one is displayed, and marks gold as in doubt
that good labelers contradict. Such gold is reported and never dropped: an expert decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Row, insert, select, update

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.readers.tables import read_table
from dialint.detector.records import Example
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.annotation import judged_turns
from dialint.labeling.store import dialogues, tasks
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import gold, pairs
from dialint.labeling.store.database.schema import tasks as task_rows
from dialint.labeling.store.database.transactions import Store, Transaction, upsert, upsert_statement
from dialint.labeling.store.dialogues import MAX_PER_CALL, compute_sha256, load_dialogue
from dialint.labeling.store.exposure import record_bulk_read, record_read, require_not_own
from dialint.labeling.store.permissions import (
    get_account,
    read_operation,
    require_permission,
    write_operation,
)
from dialint.labeling.store.records import Gold, NewTask, StoreRefused
from dialint.labeling.store.task_queue import UNLIMITED, lock_task, update_task, withdraw


def import_synthetic(
    store: Store, actor: str, examples: Iterable[Example], project: str | None = None
) -> tuple[str, ...]:
    """Add examples with injected errors, and their clean twins, as dialogues with gold of source `injected`.

    With `project` they become its control tasks, too. Returns the ids of the dialogues, in the order of the
    examples. The gold of a pair covers the codes that its labels name, in every judged turn: present where
    labelled, absent elsewhere and throughout the twin. An example without a twin is covered by its own
    labels; one without labels that is no twin is left out. The dialogues get pseudonymous ids, as the
    original ones may reveal the twin. Adding the same examples again changes nothing.

    Raises:
        StoreRefused: no example with labels, a twin without its error, a label that is not certain, or an
            unknown project.
    """
    listed = list(examples)
    codes: dict[str, set[str]] = {}
    for example in listed:
        codes.setdefault(_pair_id(example), set()).update(label.code for label in example.labels)
    labelled = [example for example in listed if codes[_pair_id(example)]]
    if any(example.pair is not None and not codes[_pair_id(example)] for example in listed):
        raise StoreRefused("E_CONTROL", "a clean twin whose example with the error is missing")
    if listed and not labelled:
        raise StoreRefused("E_CONTROL", "no example has labels")
    if any(label.probability not in (0.0, 1.0) for example in labelled for label in example.labels):
        raise StoreRefused("E_CONTROL", "a label that is not certain is no gold")
    names: list[str] = []
    for start in range(0, len(labelled), MAX_PER_CALL):
        batch = labelled[start : start + MAX_PER_CALL]
        new = [f"d-{compute_sha256(f'control {example.dialogue.id}')[:12]}" for example in batch]
        pair_ids, rows = [_pair_id(example) for example in batch], list[Gold]()
        for name, pair, example in zip(new, pair_ids, batch, strict=True):
            rows += _make_gold(example, name, codes[pair])
        renamed = [
            example.dialogue.model_copy(update={"id": name}) for name, example in zip(new, batch, strict=True)
        ]
        dialogues.add(store, actor, renamed)
        _insert_gold(store, actor, rows, dict(zip(new, pair_ids, strict=True)))
        if project is not None:
            tasks.add(store, actor, project, [NewTask(dialogue=name, pool="control") for name in new])
        names += new
    return tuple(names)


def _pair_id(example: Example) -> str:
    return compute_sha256(example.pair or example.dialogue.id)[:16]


def _make_gold(example: Example, name: str, codes: set[str]) -> Iterator[Gold]:
    """The gold of an example, whose dialogue is stored under this name."""
    labels = {(label.turn, label.code): label for label in example.labels}
    questions = {(turn, code) for turn in judged_turns(example.dialogue) for code in codes} | set(labels)
    for turn, code in sorted(questions):
        label = labels.get((turn, code))
        present, reason = (False, None) if label is None else (label.probability == 1.0, label.method)
        item = {"dialogue": name, "turn": turn, "code": code, "source": "injected"}
        yield Gold.model_validate({**item, "present": present, "reason": reason})


@write_operation("plan")
def _insert_gold(
    transaction: Transaction, actor: str, new_gold: Sequence[Gold], pair_by_dialogue: dict[str, str]
) -> None:
    """Insert gold and pairs. Existing gold is not overwritten: an expert may have changed it."""
    account = get_account(transaction, actor)
    require_not_own(transaction, account, *pair_by_dialogue)
    columns = (gold.c.dialogue, gold.c.turn, gold.c.code)
    query = select(*columns).where(gold.c.dialogue.in_(list(pair_by_dialogue)))
    stored = {tuple(row) for row in transaction.run(query)}
    new = [one.model_dump() for one in new_gold if (one.dialogue, one.turn, one.code) not in stored]
    for name, pair in pair_by_dialogue.items():
        upsert(transaction, pairs, {"dialogue": name, "pair": pair})
    if new:
        transaction.run(insert(gold), [{**row, "at_ms": transaction.now_ms} for row in new])
        transaction.log(
            actor, "gold.bring_in", f"{len(new)} questions", sha256=compute_sha256(canonical_json(new))
        )


@write_operation("decide")
def set_gold(transaction: Transaction, actor: str, label: Gold) -> None:
    """Set the gold label of a turn and code, replacing an earlier one.

    Raises:
        NotAllowed: the actor does not decide, or spoke in the dialogue.
        StoreRefused: no such dialogue or turn.
    """
    require_not_own(transaction, get_account(transaction, actor), label.dialogue)
    dialogue = load_dialogue(transaction, label.dialogue)
    if dialogue is None or label.turn not in [turn.index for turn in dialogue.turns]:
        raise StoreRefused("E_GOLD", "there is no such dialogue or turn")
    upsert(transaction, gold, {**label.model_dump(), "at_ms": transaction.now_ms})
    content = label.model_dump(include={"present", "source", "retired"})
    transaction.log(actor, "gold.put", f"{label.dialogue} {label.turn} {label.code}", **content)


@write_operation()
def retire_gold(transaction: Transaction, actor: str, dialogue: str) -> int:
    """Stop using a dialogue as a control task; return how many of its gold labels are retired.

    Raises:
        NotAllowed: the actor does not plan, or spoke in the dialogue.
        StoreRefused: there is no gold on the dialogue.
    """
    require_not_own(transaction, require_permission(transaction, actor, "plan"), dialogue)
    updated = transaction.run(update(gold).where(gold.c.dialogue == dialogue).values(retired=True))
    if not updated.rowcount:
        raise StoreRefused("E_GOLD", "{name!r}: there is no gold on this dialogue", name=dialogue[:80])
    withdraw(transaction, dialogue, "control")
    transaction.log(actor, "gold.retire", dialogue, n=updated.rowcount)
    return updated.rowcount


@write_operation()
def restore_gold(transaction: Transaction, actor: str, dialogue: str) -> int:
    """Use a retired dialogue as a control task again; return how many of its gold labels were retired. Raises
    as `retire_gold`."""
    require_not_own(transaction, require_permission(transaction, actor, "plan"), dialogue)
    is_retired = (gold.c.dialogue == dialogue) & gold.c.retired
    updated = transaction.run(update(gold).where(is_retired).values(retired=False))
    if not updated.rowcount:
        raise StoreRefused(
            "E_GOLD", "{name!r}: there is no retired gold on this dialogue", name=dialogue[:80]
        )
    _offer_again(transaction, dialogue)
    transaction.log(actor, "gold.restore", dialogue, n=updated.rowcount)
    return updated.rowcount


def _offer_again(transaction: Transaction, dialogue: str) -> None:
    """Put the withdrawn control tasks on a dialogue back into their queues, unless gold of it is in doubt."""
    doubted = select(gold.c.turn).where(gold.c.dialogue == dialogue, gold.c.doubt.is_not(None)).limit(1)
    if transaction.run(doubted).first() is None:
        withdrawn = select(task_rows.c.id).filter_by(dialogue=dialogue, pool="control", wanted=0)
        for task in transaction.run(withdrawn.order_by(task_rows.c.id)).scalars().all():
            update_task(transaction, lock_task(transaction, task), wanted=UNLIMITED)


def has_gold(transaction: Transaction) -> bool:
    """Returns whether there is gold that is not retired; permissions are checked by the caller."""
    return transaction.run(select(gold.c.dialogue).where(~gold.c.retired).limit(1)).first() is not None


@read_operation("decide")
def list_gold(transaction: Transaction, actor: str, *, retired: bool = False) -> tuple[Gold, ...]:
    """List gold labels by dialogue, turn and code, which reveal the answers."""
    record_bulk_read(transaction, actor, None, "gold")
    rows = select(gold).order_by(gold.c.dialogue, gold.c.turn, gold.c.code)
    if not retired:
        rows = rows.where(~gold.c.retired)
    return tuple(map(_to_gold, transaction.run(rows)))


@read_operation("decide")
def list_doubted(transaction: Transaction, actor: str) -> tuple[Gold, ...]:
    """List gold labels in doubt by dialogue, turn and code."""
    rows = select(gold).where(gold.c.doubt.is_not(None)).order_by(gold.c.dialogue, gold.c.turn, gold.c.code)
    doubted = tuple(map(_to_gold, transaction.run(rows)))
    record_read(transaction, actor, {one.dialogue for one in doubted}, "gold")
    return doubted


@write_operation("decide")
def decide_gold(
    transaction: Transaction, actor: str, dialogue: str, turn: int, code: str, *, present: bool, reason: str
) -> Gold:
    """Decide gold that is in doubt: it grades again, and the dialogue becomes a control task again unless
    other gold of it is in doubt.

    Raises:
        NotAllowed: the actor does not decide, or spoke in the dialogue.
        StoreRefused: there is no such gold, or no reason.
    """
    key = (gold.c.dialogue == dialogue, gold.c.turn == turn, gold.c.code == code)
    row = transaction.run(select(gold).where(*key).with_for_update()).one_or_none()
    if row is None:
        raise StoreRefused("E_GOLD", "no such gold")
    if not reason.strip():
        raise StoreRefused("E_GOLD", "a decision needs a reason")
    changes = {"present": present, "source": "expert", "reason": reason, "doubt": None}
    decided = _to_gold(row).model_copy(update=changes)
    set_gold(transaction, actor, decided)
    if not row.retired:
        _offer_again(transaction, dialogue)
    return decided


def _to_gold(row: Row[Any]) -> Gold:
    return Gold.model_validate(row, from_attributes=True)


class GoldCounts(NamedTuple):
    """Number of rows of an import that were new, replaced different gold, or were in the store already."""

    new: int
    replaced: int
    unchanged: int


@write_operation("decide")
def import_gold(
    transaction: Transaction, actor: str, rows: Sequence[Gold], *, replace: bool = False
) -> GoldCounts:
    """Add gold. Importing the same rows again changes nothing; different gold is only overwritten with
    `replace`.

    Raises:
        NotAllowed: the actor does not decide, or spoke in one of the dialogues.
        StoreRefused: no such dialogue or agent's turn, a duplicate row, or different gold in the store;
            nothing was changed.
    """
    account = get_account(transaction, actor)
    by_dialogue: dict[str, dict[tuple[int, str], Gold]] = {}
    for one in rows:
        by_dialogue.setdefault(one.dialogue, {})[one.turn, one.code] = one
    if sum(map(len, by_dialogue.values())) != len(rows):
        raise StoreRefused("E_GOLD", "a dialogue, turn and code stand twice")
    new, changed = [], []
    for name, answers in by_dialogue.items():
        require_not_own(transaction, account, name)
        dialogue = load_dialogue(transaction, name)
        if dialogue is None:
            raise StoreRefused("E_GOLD", "{name!r}: there is no such dialogue in the store", name=name[:80])
        judged = judged_turns(dialogue)
        query = select(gold.c.turn, gold.c.code, gold.c.present).where(gold.c.dialogue == name)
        stored = {(row.turn, row.code): row.present for row in transaction.run(query)}
        for (turn, code), one in answers.items():
            where = Message("{name!r}, turn {turn}, {code}", name=name[:80], turn=turn, code=code)
            if turn not in judged:
                raise StoreRefused("E_GOLD", "{where}: not a turn of an agent or bot with text", where=where)
            before = stored.get((turn, code))
            if before is None:
                new.append(one)
            elif before != one.present:
                if not replace:
                    raise StoreRefused(
                        "E_GOLD", "{where}: the store says otherwise; --replace overwrites it", where=where
                    )
                changed.append(one)
    written = [one.model_dump() for one in (*new, *changed)]
    if written:
        dated = [{**row, "at_ms": transaction.now_ms} for row in written]
        transaction.run(upsert_statement(gold, transaction.on_sqlite, tuple(dated[0])), dated)
        subject = f"{len(new)} new, {len(changed)} replaced"
        transaction.log(actor, "gold.import", subject, sha256=compute_sha256(canonical_json(written)))
    return GoldCounts(len(new), len(changed), len(rows) - len(written))


ANSWERS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
MAX_CHARACTERS = 4000


def read_gold_file(path: Path, taxonomy: Taxonomy | None = None) -> list[Gold]:
    """Read the gold in a file, in its order, without duplicate rows; without a `taxonomy` any code is
    accepted.

    Raises:
        InputRefused: no such file, not a table, a bad row, or two rows that contradict each other.
    """
    rows: dict[tuple[str, int, str], Gold] = {}
    for line, cells in read_table(path):
        where = Message("{path}, line {line}", path=path, line=line)
        row = _parse_row(cells, where, taxonomy)
        if rows.setdefault((row.dialogue, row.turn, row.code), row).present != row.present:
            raise InputRefused("E_GOLD", "{where}: contradicts an earlier row", where=where)
    return list(rows.values())


def _parse_row(row: Mapping[str, Any], where: Message, taxonomy: Taxonomy | None) -> Gold:
    dialogue, turn = _cell(row, "dialogue_id", "dialogue"), str(_cell(row, "turn"))
    code, answer = _cell(row, "code"), str(_cell(row, "present", "answer")).strip().lower()
    reason = _cell(row, "reason", "explanation")
    is_code = isinstance(code, str) and (taxonomy is None or code in taxonomy.codes)
    expected_code = Message("the name of a code")
    if taxonomy:
        expected_code = Message("a code of taxonomy {version}", version=taxonomy.version)
    is_turn = turn.isascii() and turn.isdigit() and len(turn) < 7
    for name, is_good, expected in (
        ("dialogue_id", _is_text(dialogue) and dialogue, Message("the id of a dialogue")),
        ("turn", is_turn, Message("the index of a turn, from 0")),
        ("code", is_code, expected_code),
        ("present", answer in ANSWERS, Message("true or false, yes or no, 1 or 0")),
        (
            "reason",
            reason is None or _is_text(reason),
            Message("a text of at most {most} characters", most=MAX_CHARACTERS),
        ),
    ):
        if not is_good:
            raise InputRefused(
                "E_GOLD", "{where}, {name}: expected {expected}", where=where, name=name, expected=expected
            )
    present = ANSWERS[answer]
    return Gold(dialogue=dialogue, turn=int(turn), code=code, present=present, source="expert", reason=reason)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_CHARACTERS and "\x00" not in value


def _cell(row: Mapping[str, Any], *names: str) -> Any:
    """The first of these cells that exists and is not empty."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)
