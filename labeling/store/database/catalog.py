"""The schema of a database as the database reports it: the tables with their columns, and all objects.

It is read from the database, not from `schema`: a store may have an older version, and whoever tampered with
it may have changed its schema, too.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from sqlalchemy import Connection, text

_SQLITE_COLUMNS = text(
    "SELECT m.name, p.name, p.pk FROM sqlite_master AS m, pragma_table_info(m.name) AS p "
    "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, p.cid"
)
_POSTGRESQL_COLUMNS = text(
    "SELECT c.relname, a.attname, coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0) "
    "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary "
    "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') "
    "ORDER BY c.relname, a.attnum"
)
_SQLITE_OBJECTS = text(
    "SELECT type || ' ' || name, sql FROM sqlite_master "
    "WHERE name NOT LIKE 'sqlite_sequence' AND name NOT LIKE 'sqlite_stat%'"
)
_POSTGRESQL_OBJECTS = text("""
WITH ours AS (SELECT * FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
SELECT 'relation ' || relname, relkind::text || relpersistence::text || relrowsecurity::text FROM ours
 WHERE relkind NOT IN ('i', 'I')
UNION ALL
SELECT 'column ' || relname || '.' || attname,
       format_type(atttypid, atttypmod) || attnotnull::text || coalesce(pg_get_expr(adbin, adrelid), '')
  FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE relkind IN ('r', 'p', 'v')
UNION ALL
SELECT 'constraint ' || relname || '.' || conname, pg_get_constraintdef(pg_constraint.oid)
  FROM ours JOIN pg_constraint ON conrelid = ours.oid WHERE contype <> 'n'
UNION ALL
SELECT 'index ' || relname, pg_get_indexdef(indexrelid) || indisvalid::text
  FROM ours JOIN pg_index ON indexrelid = ours.oid
UNION ALL
SELECT 'trigger ' || relname || '.' || coalesce(conname || ' ' || tgfoid::regproc::text, tgname),
       tgenabled::text || CASE WHEN tgisinternal THEN '' ELSE pg_get_triggerdef(pg_trigger.oid) END
  FROM ours JOIN pg_trigger ON tgrelid = ours.oid
  LEFT JOIN pg_constraint ON pg_constraint.oid = tgconstraint AND tgisinternal
UNION ALL
SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(oid) || ')', prosrc
  FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
UNION ALL
SELECT 'rule ' || tablename || '.' || rulename, definition FROM pg_rules WHERE schemaname = current_schema()
UNION ALL
SELECT 'policy ' || tablename || '.' || policyname, coalesce(qual, '') || coalesce(with_check, '')
  FROM pg_policies WHERE schemaname = current_schema()
""")


SERVER = "server"
"""Key of the server's major version in `list_objects`."""


class Columns(NamedTuple):
    """The columns of one table: those of its primary key in the key's order, and the others."""

    key: tuple[str, ...]
    others: tuple[str, ...]


def list_tables(connection: Connection) -> dict[str, Columns]:
    """Every table with its columns, by name."""
    sqlite = connection.dialect.name == "sqlite"
    columns_by_table: dict[str, list[tuple[int, str]]] = {}
    for table, column, position in connection.execute(_SQLITE_COLUMNS if sqlite else _POSTGRESQL_COLUMNS):
        columns_by_table.setdefault(table, []).append((position, column))
    return {
        table: Columns(
            tuple(column for position, column in sorted(columns) if position),
            tuple(column for position, column in columns if not position),
        )
        for table, columns in columns_by_table.items()
    }


def list_objects(connection: Connection) -> dict[str, str]:
    """Every table, column, constraint, index, trigger and function, with a short hash of its definition; and
    under `SERVER` the major version of PostgreSQL, because versions format definitions differently."""
    if connection.dialect.name == "sqlite":
        return {name: _short_hash(sql) for name, sql in connection.execute(_SQLITE_OBJECTS)}
    major = str(connection.execute(text("SHOW server_version_num")).scalar_one())[:-4]
    return {SERVER: major} | {name: _short_hash(sql) for name, sql in connection.execute(_POSTGRESQL_OBJECTS)}


def _short_hash(sql: str) -> str:
    return hashlib.sha256(str(sql).encode()).hexdigest()[:16]
