"""The counts of ``daily_counts``: what each row of the index tables adds to them, and their sums in SQL.

A level keeps some of the keys and sums over the others, so that a question reads few rows: `LEVELS`. Levels
without code count dialogues with the findings in them; levels with code count findings, and dialogues by the
first finding of a code or severity in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, and_, case, delete, func, insert, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from dialint.labeling.store.database.schema import (
    COUNT_KEYS,
    COUNTS,
    FINDING_COUNTS,
    daily_counts,
    dialogue_index,
    finding_index,
)

Level = Literal["total", "group", "code", "detail"]
LEVELS: dict[Level, tuple[str, ...]] = {
    "total": ("release",),
    "group": ("agent", "team", "channel", "release"),
    "code": ("release", "code", "severity"),
    "detail": ("agent", "team", "channel", "release", "code", "severity"),
}
"""The keys that each level keeps beside the day; the coarsest first."""
BY_DIALOGUE: tuple[Level, ...] = ("total", "group")
BY_FINDING: tuple[Level, ...] = ("code", "detail")
Key = tuple[str, int, str, str, str, str, str, str]
Totals = dict[Key, list[int]]
"""Counts by level, day and `COUNT_KEYS`."""
_PLACES = {name: place for place, name in enumerate(COUNTS)}


def add_to_totals(
    totals: Totals, dialogue: Mapping[str, Any], findings: Sequence[Mapping[str, Any]], sign: int
) -> None:
    """Add what the rows of one dialogue count to the totals, or take it away (`sign` -1)."""
    _add(totals, BY_DIALOGUE, dialogue, count_dialogue(dialogue), sign)
    for finding in findings:
        _add(totals, BY_FINDING, finding, count_finding(finding), sign)


def _add(
    totals: Totals, levels: Iterable[Level], row: Mapping[str, Any], counts: Mapping[str, int], sign: int
) -> None:
    changes = [(_PLACES[name], sign * n) for name, n in counts.items() if n]
    for level in levels:
        names = [row[name] if name in LEVELS[level] else "" for name in COUNT_KEYS]
        total = totals.setdefault((level, row["day"], *names), [0] * len(COUNTS))
        for place, change in changes:
            total[place] += change


def count_dialogue(row: Mapping[str, Any]) -> dict[str, int]:
    """What a row of ``dialogue_index`` counts."""
    return {
        "stored": 1,
        "dialogues": int(row["status"] == "scored"),
        "flagged": int(row["n_findings"] > 0),
        "not_judged": int(row["status"] == "not_judged"),
        "failed": int(row["status"] == "failed"),
        "reviewed": int(row["review"] == "reviewed"),
        **{name: row[f"n_{name}"] for name in FINDING_COUNTS},
    }


def count_finding(row: Mapping[str, Any]) -> dict[str, int]:
    """What a row of ``finding_index`` counts."""
    decision, suggestion = row["decision"], bool(row["suggestion"])
    is_finding = not suggestion and decision != "added"
    is_reviewed = row["review"] == "reviewed"
    return {
        "dialogues": int(row["first_of_code"]),
        "flagged": int(row["first_of_code"]),
        "reviewed": int(row["first_of_code"] and is_reviewed),
        "flagged_by_severity": int(row["first_of_severity"]),
        "reviewed_by_severity": int(row["first_of_severity"] and is_reviewed),
        "findings": int(is_finding),
        "suggestions": int(suggestion),
        "confirmed": int(is_finding and decision == "confirmed"),
        "rejected": int(is_finding and decision == "rejected"),
        "changed": int(is_finding and decision == "changed"),
        "added": int(decision == "added" or (suggestion and decision in ("confirmed", "changed"))),
        "appealed": int(row["appeal"] != "none"),
        "overturned": int(row["appeal"] == "overturned"),
    }


def write_totals(connection: Connection, totals: Totals) -> None:
    """Add these totals to the stored ones."""
    rows = [
        dict(zip(("level", "day", *COUNT_KEYS, *COUNTS), (*key, *counts), strict=True))
        for key, counts in sorted(totals.items())
        if any(counts)
    ]
    if not rows:
        return
    sqlite_insert, postgresql_insert = sqlite.insert(daily_counts), postgresql.insert(daily_counts)
    into = sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert
    sums = {name: daily_counts.c[name] + into.excluded[name] for name in COUNTS}
    keys = list(daily_counts.primary_key)
    connection.execute(into.on_conflict_do_update(index_elements=keys, set_=sums), rows)


def recount(connection: Connection) -> None:
    """Count everything anew."""
    connection.execute(delete(daily_counts))
    names = ["level", "day", *COUNT_KEYS, *COUNTS]
    for query in count_in_sql():
        connection.execute(insert(daily_counts).from_select(names, query))


def count_in_sql() -> Iterator[Select[Any]]:
    """For each level a query that counts the rows of the index tables, by the columns of ``daily_counts``."""
    for level, names in LEVELS.items():
        table = dialogue_index if level in BY_DIALOGUE else finding_index
        counts = _sql_of_dialogues() if level in BY_DIALOGUE else _sql_of_findings()
        keys = [(table.c[name] if name in names else literal("")).label(name) for name in COUNT_KEYS]
        sums = [func.sum(counts.get(name, literal(0))).label(name) for name in COUNTS]
        grouped = [table.c.day, *(table.c[name] for name in names)]
        yield select(literal(level).label("level"), table.c.day, *keys, *sums).group_by(*grouped)


def _if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def _sql_of_dialogues() -> dict[str, ColumnElement[int]]:
    """`count_dialogue` in SQL."""
    columns = dialogue_index.c
    return {
        "stored": literal(1),
        "dialogues": _if(columns.status == "scored"),
        "flagged": _if(columns.n_findings > 0),
        "not_judged": _if(columns.status == "not_judged"),
        "failed": _if(columns.status == "failed"),
        "reviewed": _if(columns.review == "reviewed"),
        **{name: columns[f"n_{name}"] for name in FINDING_COUNTS},
    }


def _sql_of_findings() -> dict[str, ColumnElement[int]]:
    """`count_finding` in SQL."""
    columns = finding_index.c
    is_finding = and_(columns.suggestion.is_(False), columns.decision != "added")
    is_reviewed = columns.review == "reviewed"
    is_accepted = and_(columns.suggestion.is_(True), columns.decision.in_(("confirmed", "changed")))
    first, first_of_severity = columns.first_of_code.is_(True), columns.first_of_severity.is_(True)
    return {
        "dialogues": _if(first),
        "flagged": _if(first),
        "reviewed": _if(and_(first, is_reviewed)),
        "flagged_by_severity": _if(first_of_severity),
        "reviewed_by_severity": _if(and_(first_of_severity, is_reviewed)),
        "findings": _if(is_finding),
        "suggestions": _if(columns.suggestion.is_(True)),
        **{
            name: _if(and_(is_finding, columns.decision == name))
            for name in ("confirmed", "rejected", "changed")
        },
        "added": _if((columns.decision == "added") | is_accepted),
        "appealed": _if(columns.appeal != "none"),
        "overturned": _if(columns.appeal == "overturned"),
    }
