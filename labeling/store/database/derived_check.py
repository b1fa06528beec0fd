"""Verifies the derived tables: their rows and words against what they follow from."""

from __future__ import annotations

import json

from sqlalchemy import Connection, func, select, text

from dialint.labeling.store.database.derived import (
    DerivedRows,
    derive,
    describe_facts,
    iterate_ids,
    join_words,
    number_to_ms,
)
from dialint.labeling.store.database.schema import dialogue_index, dialogues, finding_index
from dialint.labeling.store.records import StoreDamaged

_TEMPORARY_WORDS = (
    "CREATE VIRTUAL TABLE temp.checked_words USING "
    "fts5(words, content='', tokenize=\"ascii tokenchars '_'\")",
    "CREATE VIRTUAL TABLE temp.checked_terms USING fts5vocab('temp', 'checked_words', 'instance')",
    "CREATE VIRTUAL TABLE temp.stored_terms USING fts5vocab('main', 'dialogue_words', 'instance')",
)
_PUT_CHECKED = text("INSERT INTO temp.checked_words (rowid, words) VALUES (:number, :words)")
_SUMS = (
    "SELECT term, count(*), sum(doc % 999983 * (offset + 1)), "
    "sum((doc % 999979 + offset) * (offset % 97 + 1)) FROM temp.{} GROUP BY term"
)
_DIFFERING_TERMS = text(
    f"SELECT * FROM ({_SUMS.format('stored_terms')} EXCEPT {_SUMS.format('checked_terms')}) "
    f"UNION ALL SELECT * FROM ({_SUMS.format('checked_terms')} EXCEPT {_SUMS.format('stored_terms')}) LIMIT 1"
)
_DIFFERING_WORDS = text(
    "SELECT n.number FROM unnest(CAST(:numbers AS bigint[]), CAST(:texts AS text[])) AS n (number, its) "
    "LEFT JOIN dialogue_words AS w ON w.number = n.number "
    "WHERE w.words IS DISTINCT FROM CAST(n.its AS tsvector) LIMIT 1"
)


def check_derived(connection: Connection) -> None:
    """Compare every row of the derived tables with what it is derived from.

    Raises:
        StoreDamaged: names the first dialogue that differs.
    """
    n_dialogues = n_findings = 0
    words = _WordsCheck(connection)
    for ids in iterate_ids(connection):
        n_findings += _check_batch(connection, ids, words)
        n_dialogues += len(ids)
    words.finish(n_dialogues)
    for table, n in ((dialogue_index, n_dialogues), (finding_index, n_findings)):
        n_stored = connection.execute(select(func.count()).select_from(table)).scalar_one()
        if n_stored != n:
            raise StoreDamaged(
                "E_DERIVED",
                "{table}: {n_stored} rows, expected {n}",
                table=table.name,
                n_stored=n_stored,
                n=n,
            )


def _check_batch(connection: Connection, ids: list[str], words: _WordsCheck) -> int:
    """Compare the rows of some dialogues; return how many findings they have."""
    stored = _load_stored(connection, ids)
    facts, its_words, n = {}, {}, 0
    query = select(dialogues).where(dialogues.c.id.in_(ids)).order_by(dialogues.c.id)
    for row in connection.execute(query):
        content = json.loads(row.content)
        fact = describe_facts(row, content)
        number = stored[row.id].dialogue["number"] if row.id in stored else -1
        if number_to_ms(number) != fact["at_ms"]:
            raise StoreDamaged("E_DERIVED", "dialogue_index: {name!r} is missing or was changed", name=row.id)
        facts[row.id] = {"number": number, **fact}
        its_words[number] = join_words(content, is_sqlite=words.is_sqlite)
    words.check(its_words)
    for name, rows in derive(connection, facts).items():
        n += len(rows.findings)
        for table, same in (
            ("dialogue_index", rows.dialogue == stored[name].dialogue),
            ("finding_index", rows.findings == stored[name].findings),
        ):
            if not same:
                raise StoreDamaged(
                    "E_DERIVED",
                    "{table}: {name!r} does not agree with verdict and answers",
                    table=table,
                    name=name,
                )
    return n


def _load_stored(connection: Connection, ids: list[str]) -> dict[str, DerivedRows]:
    """The rows of some dialogues as they are stored."""
    query = select(dialogue_index).where(dialogue_index.c.dialogue.in_(ids))
    rows = {row.number: DerivedRows(dict(row._mapping), []) for row in connection.execute(query)}
    query = select(finding_index).where(finding_index.c.number.in_(rows))
    for row in connection.execute(query.order_by(finding_index.c.number, finding_index.c.place)):
        rows[row.number].findings.append(dict(row._mapping))
    return {each.dialogue["dialogue"]: each for each in rows.values()}


class _WordsCheck:
    """Compares the full-text index with the words of the dialogues. PostgreSQL: value by value. SQLite: with
    a temporary index of the same words, by a checksum of all places of each word."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_sqlite = connection.dialect.name == "sqlite"
        for statement in _TEMPORARY_WORDS if self.is_sqlite else ():
            connection.execute(text(statement))

    def check(self, words: dict[int, str]) -> None:
        """Check the words of some dialogues, by number; for SQLite, `finish` does."""
        ordered = sorted(words.items())
        if self.is_sqlite:
            rows = [{"number": number, "words": its_words} for number, its_words in ordered]
            self.connection.execute(_PUT_CHECKED, rows)
            return
        numbers, texts = [each[0] for each in ordered], [each[1] for each in ordered]
        differing = self.connection.execute(_DIFFERING_WORDS, {"numbers": numbers, "texts": texts}).first()
        if differing is not None:
            raise _words_damaged()

    def finish(self, n: int) -> None:
        """Check that the index has `n` dialogues, and the same words."""
        count = "dialogue_words_docsize" if self.is_sqlite else "dialogue_words"
        n_stored = self.connection.execute(text(f"SELECT count(*) FROM {count}")).scalar_one()
        if not self.is_sqlite:
            if n_stored != n:
                raise _words_damaged()
            return
        differing = self.connection.execute(_DIFFERING_TERMS).first()
        for name in ("stored_terms", "checked_terms", "checked_words"):
            self.connection.execute(text(f"DROP TABLE temp.{name}"))
        if n_stored != n or differing is not None:
            raise _words_damaged()


def _words_damaged() -> StoreDamaged:
    return StoreDamaged("E_DERIVED", "dialogue_words: the words do not agree with the dialogues")
