"""Counts of dialogues and findings, for leads and by release.

A dialogue belongs to the day (UTC) of its first turn that has a time, else to that of its import; spans are
cut to whole days. The rules by which answers and appeals decide are in `database.decisions`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, or_, select, text

from dialint.detector.records import Record
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.reviewed_scores import DialogueScore, ScoredDialogues
from dialint.labeling.store.database.derived import DAY_MS, MAX_MS, cut_name, first_number, number_to_ms
from dialint.labeling.store.database.schema import (
    FINDING_COUNTS,
    USUAL,
    annotation_rows,
    dialogue_index,
    finding_index,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.documents import load_taxonomy_in_use
from dialint.labeling.store.permissions import has_permission, read_operation, require_permission
from dialint.labeling.store.records import Account, NotAllowed

Dimension = Literal["day", "code", "agent", "team", "channel", "release", "severity"]
MAX_GROUPS = 4000


class Filters(TypedDict, total=False):
    """Restrict figures to one agent, team, channel or release; an empty name stands for dialogues without
    one, None for all."""

    agent: str | None
    team: str | None
    channel: str | None
    release: str | None


class Totals(Record):
    """Counts of dialogues and findings.

    Of dialogues: `stored` are all, `dialogues` those that were scored, `flagged` those of them with a
    finding, `not_judged` and `failed` what has no result, `reviewed` all that a reviewer or expert answered.

    `findings` and `suggestions` are those of the newest verdict on each dialogue. Of the findings, people
    have `confirmed`, `rejected` or `changed` some; others are open. `added` are errors that only people
    report, accepted suggestions among them. `appealed` are findings with an appeal, `overturned` those that
    an appeal rejected.
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


class GroupTotals(Totals):
    """The counts of one day, code, agent, ...: `key` is its name, empty for dialogues without one; of a day
    its date, ``2026-11-25``. By code and severity, `dialogues` and `flagged` are the scored ones with such a
    finding, `reviewed` all with one that were reviewed, and `stored`, `not_judged` and `failed` are 0."""

    key: str


def _sums_of_dialogues() -> dict[str, ColumnElement[int]]:
    """The fields of `Totals`, as sums over rows of ``dialogue_index``."""
    columns = dialogue_index.c
    numbers = {
        "stored": func.count(),
        "dialogues": _count_if(columns.status == "scored"),
        "flagged": _count_if(and_(columns.status == "scored", columns.n_findings > 0)),
        "not_judged": _count_if(columns.status == "not_judged"),
        "failed": _count_if(columns.status == "failed"),
        "reviewed": _count_if(columns.review == "reviewed"),
    }
    return numbers | {name: func.coalesce(func.sum(columns[f"n_{name}"]), 0) for name in FINDING_COUNTS}


def _sums_of_findings() -> dict[str, ColumnElement[int]]:
    """The fields of `Totals`, as sums over rows of ``finding_index``."""
    columns = finding_index.c
    is_finding = and_(columns.suggestion.is_(False), columns.decision != "added")
    flagged = func.count(case((and_(is_finding, has_status("scored")), columns.number)).distinct())
    is_reviewed = and_(is_finding, columns.review == "reviewed")
    return {
        "dialogues": flagged,
        "flagged": flagged,
        "reviewed": func.count(case((is_reviewed, columns.number)).distinct()),
        "findings": _count_if(is_finding),
        "suggestions": _count_if(columns.suggestion.is_(True)),
        **{
            name: _count_if(and_(is_finding, columns.decision == name))
            for name in ("confirmed", "rejected", "changed")
        },
        "added": _count_if(is_added()),
        "appealed": _count_if(columns.appeal != "none"),
        "overturned": _count_if(columns.appeal == "overturned"),
    }


def is_added() -> ColumnElement[bool]:
    """Returns the condition for a row of ``finding_index`` that people added: a new error, or a suggestion
    that they accepted."""
    columns = finding_index.c
    is_accepted = and_(columns.suggestion.is_(True), columns.decision.in_(("confirmed", "changed")))
    return or_(columns.decision == "added", is_accepted)


def has_status(status: str) -> ColumnElement[bool]:
    """Returns the condition for a row of ``finding_index`` whose dialogue has this status: exact checks find
    errors in what was not judged, too, and people in all."""
    is_other = text(f"status <> '{USUAL['status']}'")  # the partial index in its own words
    others = select(dialogue_index.c.number).where(is_other)
    if status == USUAL["status"]:
        return finding_index.c.number.not_in(others)
    return finding_index.c.number.in_(others.where(dialogue_index.c.status == status))


def _count_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.count(case((condition, 1)))


@read_operation()
def read_extent(transaction: Transaction, actor: str, agent: str | None = None) -> tuple[date, date] | None:
    """The first and the last day (UTC) of all dialogues, or of an agent's; none where there is none."""
    require_own_or_plan(transaction, actor, agent)
    where = name_conditions(dialogue_index.c, {"agent": agent})
    numbers = [
        transaction.run(select(end(dialogue_index.c.number)).where(*where)).scalar_one()
        for end in (func.min, func.max)
    ]
    if None in numbers:
        return None
    days = (datetime.fromtimestamp(number_to_ms(each) / 1000, UTC).date() for each in numbers)
    return next(days), next(days)


@read_operation()
def read_totals(
    transaction: Transaction, actor: str, since_ms: int, until_ms: int, **filters: Unpack[Filters]
) -> Totals:
    """The counts of ``[since_ms, until_ms)``.

    Raises:
        NotAllowed: the actor does not plan, and it is not their own agent.
    """
    require_own_or_plan(transaction, actor, filters.get("agent"))
    sums = [each.label(name) for name, each in _sums_of_dialogues().items()]
    query = select(*sums).where(*whole_days(dialogue_index.c, since_ms, until_ms))
    row = transaction.run(query.where(*name_conditions(dialogue_index.c, filters))).one()
    return Totals(**row._mapping)


@read_operation()
def read_groups(
    transaction: Transaction,
    actor: str,
    dimension: Dimension,
    since_ms: int,
    until_ms: int,
    *,
    limit: int = 100,
    **filters: Unpack[Filters],
) -> tuple[GroupTotals, ...]:
    """The counts of ``[since_ms, until_ms)`` by `dimension`: days in order, others by findings, then
    dialogues, the most first; at most `limit` of 4,000. Groups without any dialogue or finding are left out.
    """
    require_own_or_plan(transaction, actor, filters.get("agent"))
    is_of_findings = dimension in ("code", "severity")
    columns = (finding_index if is_of_findings else dialogue_index).c
    sums = _sums_of_findings() if is_of_findings else _sums_of_dialogues()
    key = columns[dimension]
    order = [key] if dimension == "day" else [sums["findings"].desc(), sums.get("stored", key).desc(), key]
    query = select(key.label("key"), *(each.label(name) for name, each in sums.items())).group_by(key)
    query = query.where(*whole_days(columns, since_ms, until_ms), *name_conditions(columns, filters))
    rows = transaction.run(query.order_by(*order).limit(min(limit, MAX_GROUPS))).all()
    groups = []
    for row in rows:
        name = row.key
        if dimension == "day":
            name = f"{datetime.fromtimestamp(row.key * DAY_MS / 1000, UTC):%Y-%m-%d}"
        groups.append(GroupTotals(key=name, **{each: int(row._mapping[each]) for each in sums}))
    return tuple(groups)


def require_own_or_plan(transaction: Transaction, actor: str, agent: str | None) -> Account:
    """The acting account; raises `NotAllowed` unless it is a lead's, or asks for its own agent."""
    account = require_permission(transaction, actor, "label")
    if not has_permission(account, "plan") and (agent is None or account.agent != agent):
        raise NotAllowed("E_RIGHT", "{actor} is neither a lead nor this agent", actor=actor)
    return account


def whole_days(columns: Any, since_ms: int, until_ms: int) -> list[ColumnElement[bool]]:
    """Conditions on the days (UTC) of ``[since_ms, until_ms)``, by the number, which orders by time."""
    end_ms = -(-min(until_ms, MAX_MS) // DAY_MS) * DAY_MS
    return span_conditions(columns, max(0, since_ms) // DAY_MS * DAY_MS, end_ms)


def span_conditions(columns: Any, since_ms: int, until_ms: int) -> list[ColumnElement[bool]]:
    """Conditions on the times in ``[since_ms, until_ms)``, by the number."""
    return [columns.number >= first_number(max(0, since_ms)), columns.number < first_number(max(0, until_ms))]


def name_conditions(columns: Any, filters: Filters) -> list[ColumnElement[bool]]:
    """Conditions on agent, team, channel or release, as far as these are given."""
    return [columns[name] == cut_name(str(value)) for name, value in filters.items() if value is not None]


class JudgedGroup(NamedTuple):
    """Scored `dialogues` of a `release` whose verdicts leave the same codes `unjudged`, and for which a judge
    answered for the codes `by_judge`."""

    release: str
    unjudged: frozenset[str]
    by_judge: frozenset[str]
    dialogues: int


@read_operation()
def read_coverage(
    transaction: Transaction, actor: str, since_ms: int, until_ms: int, **filters: Unpack[Filters]
) -> tuple[JudgedGroup, ...]:
    """The scored dialogues of ``[since_ms, until_ms)`` by release and by what was not judged in them."""
    require_own_or_plan(transaction, actor, filters.get("agent"))
    return group_judged(transaction, *whole_days(dialogue_index.c, since_ms, until_ms),
                        *name_conditions(dialogue_index.c, filters))  # fmt: skip


def group_judged(transaction: Transaction, *where: ColumnElement[bool]) -> tuple[JudgedGroup, ...]:
    """The scored dialogues under these conditions by release and by what was not judged in them."""
    columns = dialogue_index.c
    query: Select[Any] = select(columns.release, columns.coverage, func.count())
    rows = transaction.run(
        query.where(columns.status == "scored", *where).group_by(columns.release, columns.coverage)
    )
    groups = []
    for release, coverage, n in map(tuple, rows):
        unjudged, by_judge = map(frozenset, json.loads(coverage))
        groups.append(JudgedGroup(release, unjudged, by_judge, n))
    return tuple(groups)


By = Literal["total", "agent", "team", "week"]


def score_reviewed(row: Any, taxonomy: Taxonomy) -> float | None:
    """The reviewed score of a dialogue from the ``reviewed_errors`` and ``team`` of its row; None if it has
    none."""
    errors = row.reviewed_errors
    return None if errors is None else taxonomy.quality_of(json.loads(errors), row.team)


@read_operation()
def read_scores(
    transaction: Transaction, actor: str, by: By, since_ms: int, until_ms: int, **filters: Unpack[Filters]
) -> dict[str, list[ScoredDialogues]]:
    """The dialogues in ``[since_ms, until_ms)`` that have a quality or a reviewed score, by agent, team, or
    number of the week from that of the day of `since_ms`, "0"; the total has the key "". See
    `estimate_score`."""
    require_own_or_plan(transaction, actor, filters.get("agent"))
    columns = dialogue_index.c
    week = (columns.day - max(0, since_ms) // DAY_MS) // 7
    keys: dict[By, ColumnElement[Any]] = {
        "total": literal(""), "agent": columns.agent, "team": columns.team, "week": week
    }  # fmt: skip
    fields = columns.quality, columns.reviewed_errors, columns.team, columns.rating, _SAMPLED.c.inclusion
    flagged = (columns.n_findings > 0).label("flagged")
    query: Select[Any] = select(keys[by].label("key"), flagged, *fields, func.count().label("n")).where(
        *span_conditions(columns, since_ms, until_ms), *name_conditions(columns, filters)
    )
    taxonomy = load_taxonomy_in_use(transaction)
    groups: dict[Any, list[ScoredDialogues]] = defaultdict(list)
    for row in transaction.run(_join_sample(query).group_by("key", "flagged", *fields)):
        groups[row.key].append(_to_scored(row, taxonomy))
    return {str(key): groups[key] for key in sorted(groups)}


@read_operation("plan")
def list_scores(
    transaction: Transaction, actor: str, since_ms: int, until_ms: int
) -> tuple[DialogueScore, ...]:
    """Every dialogue in ``[since_ms, until_ms)`` that has a quality or a reviewed score, oldest first."""
    columns = dialogue_index.c
    query: Select[Any] = select(
        dialogue_index, (columns.n_findings > 0).label("flagged"), _SAMPLED.c.inclusion,
        literal(1).label("n"),
    ).where(*span_conditions(columns, since_ms, until_ms))  # fmt: skip
    taxonomy = load_taxonomy_in_use(transaction)
    return tuple(
        DialogueScore(
            dialogue_id=row.dialogue, at=datetime.fromtimestamp(row.at_ms / 1000, UTC),
            agent=row.agent or None, team=row.team or None, channel=row.channel or None,
            **{name: value for name, value in _to_scored(row, taxonomy)._asdict().items() if name != "n"},
        )
        for row in transaction.run(_join_sample(query).order_by(columns.number))
    )  # fmt: skip


_READ, _OTHER = annotation_rows.alias(), tasks.alias()
_SAMPLED = (
    select(tasks.c.dialogue, func.max(tasks.c.inclusion_probability).label("inclusion"))
    .join(_READ, _READ.c.dialogue == tasks.c.dialogue)  # which has an index
    .where(
        _READ.c.task == tasks.c.id,
        tasks.c.inclusion_probability.is_not(None), tasks.c.pool == "main", tasks.c.turn.is_(None),
        _READ.c.kind.in_(("reviewer", "expert")),
        ~select(annotation_rows.c.id)
        .outerjoin_from(annotation_rows, _OTHER, _OTHER.c.id == annotation_rows.c.task)
        .where(
            annotation_rows.c.dialogue == tasks.c.dialogue,
            annotation_rows.c.kind.in_(("reviewer", "appeal")),
            _OTHER.c.inclusion_probability.is_(None),
        ).exists(),
    )
    .group_by(tasks.c.dialogue)
    .subquery()
)  # fmt: skip
"""Dialogues that were sampled and that a reviewer or expert has answered whole for that; without those that
people read for another reason, too, which represent only themselves."""


def _join_sample(query: Select[Any]) -> Select[Any]:
    columns = dialogue_index.c
    joined = query.outerjoin_from(dialogue_index, _SAMPLED, _SAMPLED.c.dialogue == columns.dialogue)
    return joined.where(or_(columns.quality.is_not(None), columns.reviewed_errors.is_not(None)))


def _to_scored(row: Any, taxonomy: Taxonomy) -> ScoredDialogues:
    reviewed = score_reviewed(row, taxonomy)
    return ScoredDialogues(row.n, row.quality, reviewed, bool(row.flagged), row.rating, row.inclusion)


class ReleaseCount(Record):
    """Number of dialogues that a release has judged and flagged, and the time of the newest verdict (ms)."""

    release: str
    dialogues: int
    flagged: int
    newest_ms: int


@read_operation("plan")
def count_by_release(transaction: Transaction, actor: str) -> tuple[ReleaseCount, ...]:
    """The releases with verdicts in the store, the one with the newest first."""
    query = select(
        verdicts.c.release,
        func.count().label("dialogues"),
        _count_if(verdicts.c.flagged.is_(True)).label("flagged"),
        func.max(verdicts.c.created_ms).label("newest_ms"),
    ).group_by(verdicts.c.release)
    counts = [ReleaseCount(**row) for row in transaction.run(query).mappings()]
    return tuple(sorted(counts, key=lambda each: (-each.newest_ms, each.release)))
