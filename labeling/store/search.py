"""Searches dialogues by words, findings, people, time and what was decided, newest or most likely first.

For reviewers and up; labelers and agents cannot search. What a page shows of a dialogue (its findings, what
people decided) is recorded as read by the account, so that its later answers there are not blind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, Select, func, select

from dialint.detector.records import Record
from dialint.labeling.store.database.schema import daily_counts, dialogue_index, dialogues, finding_index
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.database.words import Term, split_words
from dialint.labeling.store.exposure import record_reads
from dialint.labeling.store.insights import score_reviewed
from dialint.labeling.store.permissions import get_account, read_operation
from dialint.labeling.store.search_plan import Plan, Position, Search

PER_PAGE = 50
CHUNKS = (500, 2000, 8000, 20_000)
"""Rows that one page walks at most, in steps."""
WORD_CHUNKS = CHUNKS[:2]
"""With words: then the full-text index is asked."""
FIRST_HITS, MAX_HITS = 1000, 20_000
"""Dialogues with the words that one page looks at, first and at most."""
MAX_COUNTED, MAX_PHRASES_COUNTED = 10_000, 1000
"""To find a phrase each dialogue with its words is read."""
MAX_CHOICES = 500
BEFORE, AFTER = 60, 120
"""Characters of a snippet around the words."""


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


class Hit(Record):
    """A dialogue in a result. `agent`, `team`, `channel` and `release` are empty where there is none.
    `quality` is the model's, `reviewed_quality` that by what people decided."""

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
    """How many dialogues there are: exactly, or at least that many."""

    n: int
    exact: bool


class Results(Record):
    """A page of results, and the position after it, if there may be more. `complete` is false where the page
    ended because enough rows were walked: there may be more although it is not full. Words in more than
    `MAX_HITS` dialogues of which few pass the other filters are not all sorted by probability; then `after`
    is none."""

    hits: tuple[Hit, ...]
    after: str | None
    complete: bool = True


@read_operation("review")
def search(
    transaction: Transaction, actor: str, wanted: Search, after: str | None = None, per_page: int = PER_PAGE
) -> Results:
    """A page of the dialogues that pass, after the position of the page before."""
    account = get_account(transaction, actor)
    plan = Plan(wanted, is_sqlite=transaction.on_sqlite)
    if wanted.text.strip() and not plan.terms:
        return Results(hits=(), after=None)
    walker = _Walker(transaction, plan, None if after is None else Position.parse(after), per_page)
    walker.run()
    hits = _load_hits(transaction, [each.number for each in walker.results], plan.terms)
    record_reads(transaction, account, [each.dialogue for each in hits], "verdict")
    answered = [each.dialogue for each in hits if each.review != "none"]
    record_reads(transaction, account, answered, "answers")
    return Results(hits=hits, after=None if walker.end is None else str(walker.end), complete=walker.complete)


class _Walker:
    """The walk of one page: `results` are the keys of its dialogues, `end` is where the next page begins."""

    def __init__(self, transaction: Transaction, plan: Plan, after: Position | None, per_page: int) -> None:
        self.transaction, self.plan, self.per_page = transaction, plan, per_page
        self.after = after
        self.results: list[Position] = []
        self.end: Position | None = None
        self.complete = True

    def run(self) -> None:
        below, inclusive = self.after, False
        chunks: tuple[int, ...] = WORD_CHUNKS if self.plan.terms else CHUNKS
        all_first = bool(self.plan.terms) and self._is_look_up_cheaper()
        if all_first:
            chunks = ()
        for n in chunks:
            if self._add(self._keys(self.plan.find(below, n, inclusive=inclusive))):
                return
            last = next(iter(self._keys(self.plan.find_end(below, n, inclusive=inclusive))), None)
            if last is None:
                return
            # once more from the last row, as its dialogue may have further findings; then on
            inclusive, below = self.plan.search.is_of_findings and last != below, last
        if self.plan.terms:
            self._use_word_index(below, all_first=all_first)
        else:
            self.end, self.complete = below, False

    def _is_look_up_cheaper(self) -> bool:
        """Whether to look up all dialogues with the words costs less than a walk, by what PostgreSQL expects.
        FTS5 gives its hits in order, and there a look for words in each row took seconds."""
        if self.plan.is_sqlite:
            return True
        expected = self.transaction.run(self.plan.explain_words(), self.plan.parameters()).scalar_one()
        return int(expected[0]["Plan"]["Plan Rows"]) <= MAX_HITS

    def _use_word_index(self, below: Position | None, *, all_first: bool) -> None:
        """Go on by the full-text index."""
        if below is not None and self.plan.search.is_of_findings and self.plan.search.sort == "newest":
            below = below._replace(number=below.number + 1)
        by_time = self.plan.search.sort == "newest"
        first = self.plan.find_by_words(below, FIRST_HITS, FIRST_HITS, all_first=all_first)
        if by_time and self._add(self._keys(first)):
            return
        while len(self.results) < self.per_page:
            query = self.plan.find_by_words(below, MAX_HITS, 8 * self.per_page, all_first=all_first)
            rows = self._keys(query)
            if self._add(rows):
                return
            if len(rows) == 8 * self.per_page:
                below = rows[-1]
                continue
            query = self.plan.find_words_end(below if by_time else None, MAX_HITS)
            number = self.transaction.run(query, self.plan.parameters()).scalar_one_or_none()
            self.complete = number is None
            self.end = Position(0.0, number) if by_time and number is not None else None
            return

    def _keys(self, query: Select[Any]) -> list[Position]:
        rows = self.transaction.run(query, self.plan.parameters())
        return [Position(row.probability, row.number) for row in rows]

    def _add(self, keys: Sequence[Position]) -> bool:
        """Add new dialogues; whether the page is full and more follow."""
        numbers = {each.number for each in self.results}
        new = []
        for key in keys:
            if key.number not in numbers:
                numbers.add(key.number)
                new.append(key)
        if self.plan.search.sort == "likely" and self.plan.search.is_of_findings:
            new = self._drop_repeated(new)
        for key in new:
            if len(self.results) == self.per_page:
                self.end = self.results[-1]
                return True
            self.results.append(key)
        return False

    def _drop_repeated(self, keys: list[Position]) -> list[Position]:
        """Leave out dialogues that an earlier page has shown by a finding of higher probability."""
        if self.after is None or not keys:
            return keys
        columns = finding_index.c
        numbers = [each.number for each in keys]
        query = select(columns.number, func.max(columns.probability).label("best"))
        query = query.where(columns.number.in_(numbers), *self.plan.filters(columns)).group_by(columns.number)
        best = {row.number: row.best for row in self.transaction.run(query)}
        return [each for each in keys if best[each.number] <= each.probability]


def _load_hits(transaction: Transaction, numbers: Sequence[int], terms: Sequence[Term]) -> tuple[Hit, ...]:
    """The results with these numbers, in their order."""
    findings: dict[int, list[HitFinding]] = {}
    names = list(HitFinding.model_fields)
    columns = finding_index.c
    query = select(columns.number, *(columns[name] for name in names)).where(columns.number.in_(numbers))
    for row in transaction.run(query.order_by(columns.number, columns.place)):
        values = {name: getattr(row, name) for name in names}
        findings.setdefault(row.number, []).append(HitFinding(**values))
    rows = transaction.run(select(dialogue_index).where(dialogue_index.c.number.in_(numbers)))
    by_number = {row.number: row for row in rows}
    ids = [row.dialogue for row in by_number.values()]
    snippets = _cut_snippets(transaction, ids, terms) if terms else {}
    fields = [name for name in Hit.model_fields if name not in ("findings", "snippet", "reviewed_quality")]
    return tuple(
        Hit(
            **{name: getattr(by_number[number], name) for name in fields},
            reviewed_quality=score_reviewed(by_number[number].reviewed_severities),
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
        words = split_words(part)
        for term in terms:
            for word in words:
                if word == term.words[0] or (term.is_prefix and word.startswith(term.words[0])):
                    return start
    return None


@read_operation("review")
def count(transaction: Transaction, actor: str, wanted: Search) -> Count:
    """How many dialogues pass: exactly up to about `MAX_COUNTED` (`MAX_PHRASES_COUNTED` with a phrase), and
    if nothing is filtered.
    """
    plan = Plan(wanted, is_sqlite=transaction.on_sqlite)
    if wanted.text.strip() and not plan.terms:
        return Count(n=0, exact=True)
    if wanted.is_empty:
        total = select(func.coalesce(func.sum(daily_counts.c.stored), 0)).where(
            daily_counts.c.level == "total"
        )
        return Count(n=int(transaction.run(total).scalar_one()), exact=True)
    has_phrase = any(len(term.words) > 1 for term in plan.terms)
    most = MAX_PHRASES_COUNTED if has_phrase else MAX_COUNTED
    if plan.terms:
        counted = transaction.run(plan.count_by_words(most + 1), plan.parameters())
        n_passed, n_with_words = tuple(counted.one())
        is_exact = n_with_words <= most
    else:
        n_passed = transaction.run(plan.count(most + 1), plan.parameters()).scalar_one()
        is_exact = transaction.run(plan.find_end(None, most + 1), plan.parameters()).first() is None
    return Count(n=int(n_passed) if is_exact else min(int(n_passed), most), exact=is_exact)


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
