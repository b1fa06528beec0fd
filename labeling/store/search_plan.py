"""SQL for searches in the index tables, at a bounded cost however many dialogues there are.

A search walks one index in the order of its results, the index of its most selective filter, and checks the
other filters row by row. It walks a limited number of rows: a page that is not full by then says how far it
came, and the next page goes on from there. Words that are rare along the walk are looked up in the full-text
index in place of it. Pages are cut by key, never by OFFSET.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator
from sqlalchemy import ColumnElement, Select, Subquery, TextClause, func, select, text, tuple_

from dialint.detector.records import Probability, Record, Severity
from dialint.labeling.store.database.decisions import AppealState, Decision, Review
from dialint.labeling.store.database.derived import cut_name, first_number
from dialint.labeling.store.database.schema import dialogue_index, finding_index
from dialint.labeling.store.database.words import Term, parse_query, to_fts5, to_tsquery

Sort = Literal["newest", "likely"]
Kind = Literal["finding", "suggestion"]
Status = Literal["scored", "unscored", "failed", "not_judged"]
Text = Annotated[str, Field(max_length=1000)]
OF_FINDINGS = ("code", "severity", "kind", "decision", "least", "most")
"""Filters that one finding or suggestion has to meet together."""
MAX_MS = 2**42


class Search(Record):
    """What dialogues to find; a filter that is not set lets all pass.

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
        """Whether findings are searched, not whole dialogues."""
        return any(getattr(self, name) is not None for name in OF_FINDINGS)

    @property
    def is_empty(self) -> bool:
        """Whether all dialogues pass."""
        return self.model_copy(update={"sort": "newest"}) == Search()


class Position(NamedTuple):
    """Where a page ended: the key of its last row."""

    probability: float
    number: int

    def __str__(self) -> str:
        return f"{self.probability!r}_{self.number}"

    @classmethod
    def parse(cls, text_: str) -> Position | None:
        """The position in a text that `str` made; none if it is not one."""
        probability, _, number = text_.partition("_")
        try:
            position = cls(float(probability), int(number))
        except ValueError:
            return None
        return position if 0 <= position.number < 2**63 and 0 <= position.probability <= 1 else None


_DRIVERS: dict[tuple[bool, Sort], tuple[str, ...]] = {
    (False, "newest"): ("appeal", "review", "status", "agent", "team", "channel", "release"),
    (False, "likely"): ("appeal", "review", "status", "agent"),
    (True, "newest"): ("decision", "agent", "code", "severity"),
    (True, "likely"): ("code",),
}
"""Whether findings are searched, and the sort: filters with an index; the first one that is set is walked."""
_USUAL = {"appeal": "none", "review": "none", "status": "scored", "decision": "open"}
"""Values that are not in the index of their column, since most rows have them."""
_EQUAL = (
    "code", "severity", "decision", "agent", "team", "channel", "release", "status", "review", "appeal",
)  # fmt: skip
_HAS_WORDS_SQLITE = text(
    "(SELECT 1 FROM dialogue_words WHERE dialogue_words MATCH :words AND rowid = walk.number) IS NOT NULL"
)
_HAS_WORDS_POSTGRESQL = text(
    "(SELECT w.words @@ CAST(:words AS tsquery) FROM dialogue_words AS w WHERE w.number = walk.number)"
)
_HITS_SQLITE = "SELECT rowid AS number FROM dialogue_words WHERE dialogue_words MATCH :words"
_HITS_POSTGRESQL = "SELECT number FROM dialogue_words WHERE words @@ CAST(:words AS tsquery)"


class Plan:
    """The queries of one search on one kind of database. Each walks at most `n` rows below a bound: the key
    of a row, included or not."""

    def __init__(self, search: Search, *, is_sqlite: bool) -> None:
        self.search = search
        self.is_sqlite = is_sqlite
        self.table = finding_index if search.is_of_findings else dialogue_index
        self.terms: tuple[Term, ...] = parse_query(search.text)
        self.words = to_fts5(self.terms) if is_sqlite else to_tsquery(self.terms)
        names = _DRIVERS[search.is_of_findings, search.sort]
        set_names = [name for name in names if getattr(search, name) is not None]
        self.driver = next((name for name in set_names if getattr(search, name) != _USUAL.get(name)), None)

    def _key(self, columns: Any) -> Any:
        by_probability = self.search.sort == "likely"
        return tuple_(columns.probability, columns.number) if by_probability else tuple_(columns.number)

    def _order(self, columns: Any) -> list[ColumnElement[Any]]:
        by_probability = self.search.sort == "likely"
        return [*([columns.probability.desc()] if by_probability else []), columns.number.desc()]

    def _walk(self, below: Position | None, n: int, *, inclusive: bool = False) -> Select[Any]:
        """Select `n` rows of the walked index, in order."""
        columns, search = self.table.c, self.search
        query = select(self.table)
        if self.driver is not None:
            query = query.where(columns[self.driver] == cut_name(getattr(search, self.driver)))
            if self.driver in _USUAL:  # the partial index in its own words, or SQLite does not use it
                query = query.where(text(f"{self.driver} <> '{_USUAL[self.driver]}'"))
        query = query.where(*(self._times(columns) if search.sort == "newest" else self._bounds(columns)))
        if below is not None:
            values = tuple(below) if search.sort == "likely" else (below.number,)
            key = self._key(columns)
            query = query.where(key <= values if inclusive else key < values)
        return query.order_by(*self._order(columns)).limit(n)

    def _times(self, columns: Any) -> list[ColumnElement[bool]]:
        since, until = self.search.since_ms, self.search.until_ms
        conditions = [] if since is None else [columns.number >= first_number(since)]
        return conditions if until is None else [*conditions, columns.number < first_number(until)]

    def _bounds(self, columns: Any) -> list[ColumnElement[bool]]:
        least, most = self.search.least, self.search.most
        conditions = [] if least is None else [columns.probability >= least]
        return conditions if most is None else [*conditions, columns.probability <= most]

    def filters(self, columns: Any) -> list[ColumnElement[bool]]:
        """All filters but the words, on the columns of the walked table."""
        search = self.search
        conditions = [
            columns[name] == cut_name(getattr(search, name))
            for name in _EQUAL
            if getattr(search, name) is not None and name in columns
        ]
        if search.kind is not None:
            conditions.append(columns.suggestion.is_(search.kind == "suggestion"))
        if search.kind == "finding":
            conditions.append(columns.decision != "added")
        return [*conditions, *self._times(columns), *self._bounds(columns)]

    def _conditions(self, walk: Subquery) -> list[ColumnElement[bool] | TextClause]:
        has_words = _HAS_WORDS_SQLITE if self.is_sqlite else _HAS_WORDS_POSTGRESQL
        return [*self.filters(walk.c), *([has_words] if self.terms else [])]

    def find(self, below: Position | None, n: int, *, inclusive: bool = False) -> Select[Any]:
        """Select the keys of rows that pass, among the next `n` of the walk, in order."""
        walk = self._walk(below, n, inclusive=inclusive).subquery("walk")
        query = select(walk.c.probability, walk.c.number).where(*self._conditions(walk))
        return query.order_by(*self._order(walk.c))

    def find_end(self, below: Position | None, n: int, *, inclusive: bool = False) -> Select[Any]:
        """Select the key of the last of the next `n` rows of the walk; nothing if there are fewer."""
        walk = self._walk(below, n, inclusive=inclusive)
        columns = self.table.c
        return walk.with_only_columns(columns.probability, columns.number).limit(1).offset(n - 1)

    def find_by_words(
        self, below: Position | None, n: int, page: int, *, all_first: bool = False
    ) -> Select[Any]:
        """Select the keys of a page of rows that pass, among the newest `n` dialogues with the words. With
        `all_first` all of them are looked up before the newest are taken."""
        hits = self._hits(below if self.search.sort == "newest" else None, n, all_first=all_first)
        columns = self.table.c
        query = select(columns.probability, columns.number).join(hits, hits.c.number == columns.number)
        query = query.where(*self.filters(columns))
        if below is not None and self.search.sort == "likely":
            query = query.where(self._key(columns) < tuple(below))
        return query.order_by(*self._order(columns)).limit(page)

    def _hits(self, below: Position | None, n: int | None, *, all_first: bool = False) -> Subquery:
        """The newest `n` dialogues with the words. PostgreSQL, asked for the newest few, reads dialogue after
        dialogue instead of its index of words, unless it is kept from knowing that (``OFFSET 0``)."""
        name = "rowid" if self.is_sqlite else "number"
        bounds = []
        if self.search.since_ms is not None:
            bounds.append(f"{name} >= {first_number(self.search.since_ms)}")
        if self.search.until_ms is not None:
            bounds.append(f"{name} < {first_number(self.search.until_ms)}")
        if below is not None:
            bounds.append(f"{name} < {int(below.number)}")
        query = " AND ".join([_HITS_SQLITE if self.is_sqlite else _HITS_POSTGRESQL, *bounds])
        if all_first and not self.is_sqlite:
            query = f"SELECT number FROM ({query} OFFSET 0) AS found"
        limit = "" if n is None else f" ORDER BY {name} DESC LIMIT {int(n)}"
        statement = text(query + limit).columns(dialogue_index.c.number)
        return statement.subquery("hits")

    def explain_words(self) -> TextClause:
        """Ask PostgreSQL how many dialogues it expects to have the words; nothing is searched."""
        return text(f"EXPLAIN (FORMAT JSON) {_HITS_POSTGRESQL}")

    def find_words_end(self, below: Position | None, n: int) -> Select[Any]:
        """Select the number of the last of the newest `n` dialogues with the words; nothing if fewer."""
        hits = self._hits(below, n)
        return select(hits.c.number).order_by(hits.c.number.desc()).limit(1).offset(n - 1)

    def count(self, n: int) -> Select[Any]:
        """Count the dialogues that pass among the first `n` rows of the walk."""
        walk = self._walk(None, n).subquery("walk")
        return select(func.count(walk.c.number.distinct())).where(*self._conditions(walk))

    def count_by_words(self, n: int) -> Select[Any]:
        """Count the dialogues that pass among the newest `n` with the words, and those with the words."""
        hits = self._hits(None, n).select().cte("hits")
        with_words = select(func.count()).select_from(hits).scalar_subquery()
        if self.search.is_of_findings or self.filters(self.table.c):
            number = self.table.c.number
            query = select(func.count(number.distinct()), with_words).join(hits, hits.c.number == number)
            return query.where(*self.filters(self.table.c))
        return select(with_words, with_words)

    def parameters(self, **others: Any) -> dict[str, Any]:
        """The parameters of a query."""
        return {**({"words": self.words} if self.terms else {}), **others}
