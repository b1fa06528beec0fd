"""Counts of dialogues and findings for those who lead, from counters that each write keeps up to date.

A dialogue belongs to the day (UTC) of its first turn that has a time, else to the day it came to the store;
spans are cut to whole days. The rules by which answers and appeals decide are in `database.decisions`.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, func, select

from dialint.detector.records import Record
from dialint.labeling.store.database.daily_counts import LEVELS, Level
from dialint.labeling.store.database.derived import DAY_MS, cut_name
from dialint.labeling.store.database.schema import COUNTS, daily_counts
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.permissions import read_operation, require_permission

Dimension = Literal["day", "code", "agent", "team", "channel", "release", "severity"]
MAX_GROUPS = 4000
FAR_MS = 1 << 48
"""After every day."""


class Totals(Record):
    """How many dialogues and findings there are.

    Of dialogues: `stored` are all, `dialogues` those that were scored, `flagged` those with a finding,
    `not_judged` and `failed` what has no result, `reviewed` those that a reviewer or expert answered.

    `findings` and `suggestions` are those of the newest verdict on each dialogue. Of the findings, people
    have `confirmed`, `rejected` or `changed` some; others are open. `added` are errors that people found
    and the model did not accuse, suggestions that they took up among them. `appealed` findings were objected
    to, and `overturned` ones were found wrong by it.
    """

    stored: int = 0
    dialogues: int = 0
    flagged: int = 0
    not_judged: int = 0
    failed: int = 0
    findings: int = 0
    suggestions: int = 0
    reviewed: int = 0
    confirmed: int = 0
    rejected: int = 0
    changed: int = 0
    added: int = 0
    appealed: int = 0
    overturned: int = 0


class Group(Totals):
    """The counts of one day, code, agent, ...: `key` is its name, empty for dialogues without one; of a day
    its date, ``2026-11-25``. By code and severity, `dialogues` and `flagged` are those with such a finding,
    `reviewed` are those of them that were reviewed, and `stored`, `not_judged` and `failed` are 0."""

    key: str


@read_operation()
def read_extent(transaction: Transaction, actor: str, agent: str | None = None) -> tuple[date, date] | None:
    """The first and the last day (UTC) of all dialogues, or of an agent's; none where there is none.

    Raises:
        NotAllowed: as for `read_totals`.
    """
    require_own_or_plan(transaction, actor, agent)
    filters = {"agent": agent}
    where = _conditions(_choose_level("total", filters), 0, FAR_MS, filters)
    day = daily_counts.c.day
    row = transaction.run(select(func.min(day), func.max(day)).where(*where, daily_counts.c.stored > 0)).one()
    if row[0] is None:
        return None
    first, last = (datetime.fromtimestamp(each * DAY_MS / 1000, UTC).date() for each in row)
    return first, last


@read_operation()
def read_totals(
    transaction: Transaction,
    actor: str,
    since_ms: int,
    until_ms: int,
    *,
    agent: str | None = None,
    team: str | None = None,
    channel: str | None = None,
    release: str | None = None,
) -> Totals:
    """The counts of ``[since_ms, until_ms)``, of all or of one agent, team, channel or release; an empty name
    stands for dialogues without one.

    Raises:
        NotAllowed: the actor does not plan, and it is not their own agent.
    """
    require_own_or_plan(transaction, actor, agent)
    filters = {"agent": agent, "team": team, "channel": channel, "release": release}
    level = _choose_level("total", filters)
    sums = [func.coalesce(func.sum(daily_counts.c[name]), 0).label(name) for name in Totals.model_fields]
    row = transaction.run(select(*sums).where(*_conditions(level, since_ms, until_ms, filters))).one()
    return Totals(**{name: int(value) for name, value in row._mapping.items()})


@read_operation()
def read_groups(
    transaction: Transaction,
    actor: str,
    dimension: Dimension,
    since_ms: int,
    until_ms: int,
    *,
    agent: str | None = None,
    team: str | None = None,
    channel: str | None = None,
    release: str | None = None,
    limit: int = 100,
) -> tuple[Group, ...]:
    """The counts of ``[since_ms, until_ms)`` by `dimension`: days in order, others by findings, then
    dialogues, the most first; at most `limit` of 4,000. Groups without any dialogue or finding are left out.

    Raises:
        NotAllowed: as for `read_totals`.
    """
    require_own_or_plan(transaction, actor, agent)
    filters = {"agent": agent, "team": team, "channel": channel, "release": release}
    level = _choose_level(dimension, filters)
    names = {name: name for name in Totals.model_fields}
    if dimension == "severity":
        names |= {"dialogues": "flagged_by_severity", "flagged": "flagged_by_severity"}
        names["reviewed"] = "reviewed_by_severity"
    sums = {name: func.sum(daily_counts.c[column]).label(name) for name, column in names.items()}
    key = daily_counts.c[dimension]
    query = select(key.label("key"), *sums.values()).group_by(key)
    query = query.where(*_conditions(level, since_ms, until_ms, filters))
    any_count = sum(
        (func.sum(daily_counts.c[name]) for name in COUNTS[1:]), func.sum(daily_counts.c[COUNTS[0]])
    )
    query = query.having(any_count > 0)
    order = [key] if dimension == "day" else [sums["findings"].desc(), sums["stored"].desc(), key]
    rows = transaction.run(query.order_by(*order).limit(min(limit, MAX_GROUPS))).all()
    return tuple(_to_group(dimension, dict(row._mapping)) for row in rows)


def _to_group(dimension: Dimension, values: dict[str, Any]) -> Group:
    key = values.pop("key")
    if dimension == "day":
        key = f"{datetime.fromtimestamp(key * DAY_MS / 1000, UTC):%Y-%m-%d}"
    return Group(key=key, **{name: int(value) for name, value in values.items()})


def require_own_or_plan(transaction: Transaction, actor: str, agent: str | None) -> None:
    """Raise unless the actor plans, or asks for the numbers of their own agent."""
    account = require_permission(transaction, actor, "label")
    if agent is None or account.agent != agent:
        require_permission(transaction, actor, "plan")


def _choose_level(dimension: str, filters: dict[str, str | None]) -> Level:
    """The coarsest level that has what is asked for."""
    needed = {name for name, value in filters.items() if value is not None}
    needed |= {dimension} - {"day", "total"}
    with_code = dimension in ("code", "severity")
    levels: tuple[Level, ...] = ("code", "detail") if with_code else ("total", "group")
    return next(level for level in levels if needed.issubset(LEVELS[level]))


def _conditions(
    level: Level, since_ms: int, until_ms: int, filters: dict[str, str | None]
) -> list[ColumnElement[bool]]:
    columns = daily_counts.c
    span = [columns.day >= since_ms // DAY_MS, columns.day < -(-until_ms // DAY_MS)]
    return [
        columns.level == level,
        *span,
        *(columns[name] == cut_name(value) for name, value in filters.items() if value is not None),
    ]
