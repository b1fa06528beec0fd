"""Insert or overwrite: the one statement whose form the two databases do not share in SQLAlchemy."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Executable, Table
from sqlalchemy.dialects import postgresql, sqlite

from dialint.labeling.store.database.transactions import Transaction


def put_row(transaction: Transaction, table: Table, row: dict[str, Any]) -> None:
    """Insert a row, or overwrite the one with the same primary key."""
    transaction.run(_overwriting(table, transaction.on_sqlite, tuple(row)), row)


@cache
def _overwriting(table: Table, on_sqlite: bool, names: tuple[str, ...]) -> Executable:
    into = sqlite.insert(table) if on_sqlite else postgresql.insert(table)
    rest = {name: into.excluded[name] for name in names if not table.c[name].primary_key}
    return into.on_conflict_do_update(index_elements=list(table.primary_key), set_=rest)


@cache
def adding(table: Table, on_sqlite: bool, column: str) -> Executable:
    """The statement that inserts a row, or adds its `column` to that of the one with the same key."""
    into = sqlite.insert(table) if on_sqlite else postgresql.insert(table)
    total = table.c[column] + into.excluded[column]
    return into.on_conflict_do_update(index_elements=list(table.primary_key), set_={column: total})
