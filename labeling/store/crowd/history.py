"""Graded answers, read from the annotations and the gold as they are now: nothing of it is stored, so
gold that is put right puts every grade right. Rights are the caller's care."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, bindparam, select

from dialint.detector import taxonomy
from dialint.labeling.store.crowd.measures import Graded, Known, graded
from dialint.labeling.store.database.schema import annotation_rows, gold, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.records import Pool

_NEWER = annotation_rows.alias()
NEWEST = ~select(_NEWER.c.id).where(_NEWER.c.supersedes == annotation_rows.c.id).exists()
"""Of answers to a task: not corrected since."""

_COLUMNS = [annotation_rows.c[name] for name in ("id", "labeler", "dialogue", "turn", "codes", "findings", "seconds")]  # fmt: skip # noqa: E501
_ANSWERS = select(*_COLUMNS).join(tasks, tasks.c.id == annotation_rows.c.task).where(NEWEST)
_POOLS = tasks.c.pool.in_(bindparam("pools", expanding=True))
_OF_ACCOUNT = (
    _ANSWERS.where(
        annotation_rows.c.labeler == bindparam("account"), annotation_rows.c.id > bindparam("since")
    )
    .where(_POOLS)
    .order_by(annotation_rows.c.id.desc())
    .limit(bindparam("n"))
)
_OF_DIALOGUE = (
    _ANSWERS.where(annotation_rows.c.dialogue == bindparam("dialogue"), _POOLS)
    .order_by(annotation_rows.c.id)
)  # fmt: skip


def of_account(transaction: Transaction, account: str, *pools: Pool, n: int, since: int = 0) -> list[Graded]:
    """The newest `n` answers of an account to tasks of these pools, newest first, after the annotation
    number `since`; those whose gold is in doubt or gone have no grades."""
    given = {"account": account, "since": since, "pools": list(pools), "n": n}
    return _graded(transaction, transaction.run(_OF_ACCOUNT, given).all())


def of_dialogue(transaction: Transaction, dialogue: str, *pools: Pool) -> list[Graded]:
    """Everybody's answers to the tasks of these pools on a dialogue, oldest first."""
    given = {"dialogue": dialogue, "pools": list(pools)}
    return _graded(transaction, transaction.run(_OF_DIALOGUE, given).all())


def _graded(transaction: Transaction, rows: Sequence[Row[Any]]) -> list[Graded]:
    known = known_of(transaction, {row.dialogue for row in rows})
    return [graded(row, known.get(row.dialogue, ()), dialogue_codes()) for row in rows]


def known_of(transaction: Transaction, names: Iterable[str]) -> dict[str, list[Known]]:
    """Gold by dialogue, also retired, but not what is in doubt."""
    found: dict[str, list[Known]] = defaultdict(list)
    for row in transaction.run(known_question(), {"names": sorted(names)}):
        found[row.dialogue].append(Known(row.turn, row.code, row.present))
    return found


@cache
def known_question() -> Select[Any]:
    """Gold that is not in doubt, of the dialogues `names`."""
    sure = select(gold).where(gold.c.doubt.is_(None), gold.c.dialogue.in_(bindparam("names", expanding=True)))
    return sure.order_by(gold.c.dialogue, gold.c.turn, gold.c.code)


@cache
def dialogue_codes() -> frozenset[str]:
    """Codes that are asked once of a dialogue, by the packaged taxonomy."""
    return frozenset(code for code, one in taxonomy.load().codes.items() if one.scope == "dialogue")
