"""Searches dialogues by words, findings, people, time and decisions, newest or most likely first.

For reviewers and up; labelers and agents cannot search. The findings and decisions that a page displays are
recorded as read by the account, so that its later answers there are not blind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator
from sqlalchemy import Column, ColumnElement, Select, TextClause, func, select, text, tuple_

from dialint.detector.records import Probability, Record, Severity
from dialint.labeling.store.database.decisions import AppealState, Decision, Review
from dialint.labeling.store.database.derived import (
    Term,
    cut_name,
    first_number,
    parse_query,
    select_matches,
    split_words,
)
from dialint.labeling.store.database.schema import USUAL, dialogue_index, dialogues, finding_index
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.documents import load_taxonomy_in_use
from dialint.labeling.store.exposure import record_read
from dialint.labeling.store.insights import has_status, score_reviewed
from dialint.labeling.store.permissions import read_operation

PER_PAGE = 50
MAX_COUNTED = 10_000
MAX_CHOICES = 500
BEFORE, AFTER = 60, 120
"""Characters of a snippet around the words."""

Sort = Literal["newest", "likely"]
Kind = Literal["finding", "suggestion"]
Status = Literal["scored", "unscored", "failed", "not_judged"]
Text = Annotated[str, Field(max_length=1000)]
OF_FINDINGS = ("code", "severity", "kind", "decision", "least", "most")
"""Filters that one finding or suggestion has to meet together."""
MAX_MS = 2**42


class Search(Record):
    """A query for dialogues; a filter that is not set lets all pass.

    `text` holds words, ``"words in order"`` and ``begin*``, all of which the dialogue must have. A dialogue
    passes the filters `OF_FINDINGS` if one of its findings or suggestions meets all of them; `least` and
    `most` bound its probability. `since_ms` and `until_ms` bound the dialogue's time, the first included.
    Sorted by time, newest first, or by the probability of the finding, highest first (`likely`).
    """

    text: Text = ""
    code: Text | None = None
    severity: Severity | None = None
    kind: Kind | None = None
    decision: Decision | None = None
    least: Probability | None = None
    most: Probability | None = None
    agent: Text | None = None
    team: Text | None = None
    channel: Text | None = None
    release: Text | None = None
    status: Status | None = None
    review: Review | None = None
    appeal: AppealState | None = None
    since_ms: Annotated[int, Field(ge=0, lt=MAX_MS)] | None = None
    until_ms: Annotated[int, Field(ge=0, lt=MAX_MS)] | None = None
    sort: Sort = "newest"

    @model_validator(mode="after")
    def _bounds(self) -> Search:
        if self.least is not None and self.most is not None and self.most < self.least:
            raise ValueError("most must not be less than least")
        return self

    @property
    def is_of_findings(self) -> bool:
        """True if findings are searched, not whole dialogues."""
        return any(getattr(self, name) is not None for name in OF_FINDINGS)

    @property
    def is_empty(self) -> bool:
        return self.model_copy(update={"sort": "newest"}) == Search()


class HitFinding(Record):
    """A finding, suggestion or addition in a result."""

    code: str
    severity: str
    probability: float
    suggestion: bool
    decision: str
    appeal: str
    turn: int


class Snippet(Record):
    """The text of a turn around the first word that was searched for."""

    turn: int
    text: str


class SearchHit(Record):
    """A dialogue in a result. `agent`, `team`, `channel` and `release` are empty where there is none.
    `quality` is the model's, `reviewed_quality` follows people's decisions."""

    dialogue: str
    at_ms: int
    agent: str
    team: str
    channel: str
    release: str
    status: str
    quality: float | None
    reviewed_quality: float | None
    review: str
    appeal: str
    findings: tuple[HitFinding, ...]
    snippet: Snippet | None = None


class Count(Record):
    """Number of dialogues: exactly, or at least that many."""

    n: int
    exact: bool


class Results(Record):
    """A page of results, and the position after it, if there are more."""

    hits: tuple[SearchHit, ...]
    after: str | None


class _Position(NamedTuple):
    """The key of a page's last row."""

    probability: float
    number: int

    def __str__(self) -> str:
        return f"{self.probability!r}_{self.number}"

    @classmethod
    def parse(cls, text_: str) -> _Position | None:
        """The position in a text that `str` made; none if it is not one."""
        probability, _, number = text_.partition("_")
        try:
            position = cls(float(probability), int(number))
        except ValueError:
            return None
        return position if 0 <= position.number < 2**63 and 0 <= position.probability <= 1 else None


_EQUAL = ("agent", "team", "channel", "release", "status", "review", "appeal", "code", "severity", "decision")
"""Filters that compare a column of the same name."""


def _select_keys(
    wanted: Search, after: _Position | None, terms: Sequence[Term], *, is_sqlite: bool
) -> Select[Any]:
    """Select the probability and number of each dialogue that passes, in order, after the position `after`.

    The indexes of both tables end by `number`: the newest are read from one of them until the page is full.
    By probability of findings all that pass are read."""
    columns = (finding_index if wanted.is_of_findings else dialogue_index).c
    number, probability = columns.number, columns.probability
    is_likely = wanted.sort == "likely"
    query = select(func.max(probability).label("probability"), number).group_by(number)
    if is_likely and not wanted.is_of_findings:
        query = select(probability, number)
    order = [number.desc()]
    if is_likely:
        order.insert(0, query.selected_columns.probability.desc())
    if after is not None and not is_likely:
        query = query.where(number < after.number)
    elif after is not None:
        key = tuple_(query.selected_columns.probability, number) < tuple(after)
        query = query.having(key) if wanted.is_of_findings else query.where(key)
    if terms:
        query = query.where(number.in_(select_matches(terms, is_sqlite=is_sqlite)))
    return query.where(*_conditions(wanted, columns)).order_by(*order)


def _conditions(wanted: Search, columns: Any) -> list[ColumnElement[bool] | TextClause]:
    conditions: list[ColumnElement[bool] | TextClause] = []
    for name in _EQUAL:
        value = getattr(wanted, name)
        if value is not None and name not in columns:
            conditions.append(has_status(value))
        elif value is not None:
            conditions.append(columns[name] == cut_name(value))
            # the partial index in its own words, or SQLite does not use it
            if value != USUAL.get(name, value):
                conditions.append(text(f"{name} <> '{USUAL[name]}'"))
    if wanted.kind is not None:
        conditions.append(columns.suggestion.is_(wanted.kind == "suggestion"))
    if wanted.kind == "finding":
        conditions.append(columns.decision != "added")
    bounds = (
        (wanted.least, columns.probability.__ge__),
        (wanted.most, columns.probability.__le__),
        (None if wanted.since_ms is None else first_number(wanted.since_ms), columns.number.__ge__),
        (None if wanted.until_ms is None else first_number(wanted.until_ms), columns.number.__lt__),
    )
    return [*conditions, *(compare(value) for value, compare in bounds if value is not None)]


@read_operation("review")
def search(
    transaction: Transaction, actor: str, wanted: Search, after: str | None = None, per_page: int = PER_PAGE
) -> Results:
    """A page of the dialogues that pass, after the position of the page before."""
    terms = parse_query(wanted.text)
    if wanted.text.strip() and not terms:
        return Results(hits=(), after=None)
    position = None if after is None else _Position.parse(after)
    query = _select_keys(wanted, position, terms, is_sqlite=transaction.on_sqlite)
    keys = [_Position(row.probability, row.number) for row in transaction.run(query.limit(per_page + 1))]
    hits = _load_hits(transaction, [each.number for each in keys[:per_page]], terms)
    record_read(transaction, actor, [each.dialogue for each in hits], "verdict")
    answered = [each.dialogue for each in hits if each.review != "none"]
    record_read(transaction, actor, answered, "answers")
    return Results(hits=hits, after=str(keys[per_page - 1]) if len(keys) > per_page else None)


def _load_hits(
    transaction: Transaction, numbers: Sequence[int], terms: Sequence[Term]
) -> tuple[SearchHit, ...]:
    findings: dict[int, list[HitFinding]] = {}
    query = select(finding_index).where(finding_index.c.number.in_(numbers))
    for row in transaction.run(query.order_by(finding_index.c.number, finding_index.c.place)):
        findings.setdefault(row.number, []).append(HitFinding.model_validate(row, from_attributes=True))
    rows = transaction.run(select(dialogue_index).where(dialogue_index.c.number.in_(numbers)))
    by_number = {row.number: row for row in rows}
    ids = [row.dialogue for row in by_number.values()]
    snippets = _cut_snippets(transaction, ids, terms) if terms else {}
    taxonomy = load_taxonomy_in_use(transaction)
    fields = [
        name for name in SearchHit.model_fields if name not in ("findings", "snippet", "reviewed_quality")
    ]
    return tuple(
        SearchHit(
            **{name: getattr(by_number[number], name) for name in fields},
            reviewed_quality=score_reviewed(by_number[number], taxonomy),
            findings=tuple(findings.get(number, ())),
            snippet=snippets.get(by_number[number].dialogue),
        )
        for number in numbers
    )


def _cut_snippets(transaction: Transaction, ids: Sequence[str], terms: Sequence[Term]) -> dict[str, Snippet]:
    """The first place of one of the searched words in each dialogue."""
    query = select(dialogues.c.id, dialogues.c.content).where(dialogues.c.id.in_(ids))
    snippets = {}
    for row in transaction.run(query):
        for turn in json.loads(row.content)["turns"]:
            place = find_place(turn["text"], terms)
            if place is not None:
                start = max(0, place - BEFORE)
                cut = " ".join(turn["text"][start : place + AFTER].split())
                dots = ("…" if start else "", "…" if place + AFTER < len(turn["text"]) else "")
                snippets[row.id] = Snippet(turn=turn["index"], text=f"{dots[0]}{cut}{dots[1]}")
                break
    return snippets


def find_place(text: str, terms: Sequence[Term]) -> int | None:
    """The offset of the first word that one of the terms begins with; none if there is none."""
    at = 0
    for part in text.split():
        start = text.index(part, at)
        at = start + len(part)
        for word, term in product(split_words(part), terms):
            if word == term.words[0] or (term.is_prefix and word.startswith(term.words[0])):
                return start
    return None


@read_operation("review")
def count(transaction: Transaction, actor: str, wanted: Search) -> Count:
    """Count the dialogues that pass: exactly up to `MAX_COUNTED`, and if nothing is filtered."""
    terms = parse_query(wanted.text)
    if wanted.text.strip() and not terms:
        return Count(n=0, exact=True)
    if wanted.is_empty:
        every = select(func.count()).select_from(dialogue_index)
        return Count(n=transaction.run(every).scalar_one(), exact=True)
    newest = wanted.model_copy(update={"sort": "newest"})
    passed = _select_keys(newest, None, terms, is_sqlite=transaction.on_sqlite).limit(MAX_COUNTED + 1)
    n = transaction.run(select(func.count()).select_from(passed.subquery())).scalar_one()
    return Count(n=min(n, MAX_COUNTED), exact=n <= MAX_COUNTED)


class Choices(NamedTuple):
    """The values that filters can have, in order, at most `MAX_CHOICES` of each."""

    agents: tuple[str, ...]
    teams: tuple[str, ...]
    channels: tuple[str, ...]
    releases: tuple[str, ...]
    codes: tuple[str, ...]


@read_operation("review")
def list_choices(transaction: Transaction, actor: str) -> Choices:
    """The agents, teams, channels, releases and codes that there are."""
    columns = dialogue_index.c
    of_dialogues = (columns.agent, columns.team, columns.channel, columns.release)
    return Choices(*(_list_values(transaction, each) for each in (*of_dialogues, finding_index.c.code)))


def _list_values(transaction: Transaction, column: Column[str]) -> tuple[str, ...]:
    """The values of a column but the empty one, each found by one step in its index."""
    value = select(func.min(column).label("value")).where(column > "").cte("found", recursive=True)
    following = select(func.min(column)).where(column > value.c.value).scalar_subquery()
    values = value.union_all(select(following).where(value.c.value.is_not(None)))
    query = select(values.c.value).where(values.c.value.is_not(None)).limit(MAX_CHOICES)
    return tuple(transaction.run(query).scalars())
