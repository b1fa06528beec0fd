"""Derived tables for searching and counting dialogues: ``dialogue_index``, ``finding_index`` and the
full-text index ``dialogue_words``; and queries of that index.

They follow from dialogues, verdicts, annotations, tasks, leases and appeals (`decisions` has the rules). An
operation that writes one of these calls `refresh`; at the end of its transaction the rows of the dialogues
are derived anew, and those that differ are written. `rebuild` derives everything from nothing: `upgrade` does
after its revisions, and `verify` compares. None of this checks permissions.

A word of the index is a run of letters and digits, lower-case and without accents; each Chinese or Japanese
character is one. SQLite's FTS5 and PostgreSQL's tsvector get words that were separated here, so that they
find the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    TextualSelect,
    bindparam,
    column,
    delete,
    exists,
    insert,
    select,
    text,
)

from dialint.detector import near_duplicates
from dialint.labeling.store.database.decisions import (
    DecidingAnswer,
    FindingAppeal,
    NewestVerdict,
    Review,
    decide_findings,
    describe_dialogue,
)
from dialint.labeling.store.database.schema import (
    annotation_rows,
    appeals,
    dialogue_index,
    dialogues,
    finding_index,
    leases,
    projects,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Transaction, upsert_statement

BATCH = 500
"""Dialogues that are derived together."""
SLOT_BITS = 21
"""The lower bits of a dialogue's number; the upper ones are the time in ms."""
MAX_MS = 2 ** (63 - SLOT_BITS) - 2
DAY_MS = 86_400_000
MAX_NAME = 100
_DECIDING = ("reviewer", "expert", "appeal")
_FOLLOW_UP = "appeal"
"""`why` of a task for a blind second review (`exposure.APPEAL`)."""
Content = Mapping[str, Any]
"""A dialogue's or verdict's content, as JSON in the store."""


@dataclass
class DerivedRows:
    """The derived rows of one dialogue."""

    dialogue: dict[str, Any]
    findings: list[dict[str, Any]]


def refresh(transaction: Transaction, ids: Iterable[str]) -> None:
    """Derive the rows of these dialogues anew at the end of the transaction, with what others wrote."""
    transaction.final.setdefault(_refresh, {}).update(dict.fromkeys(ids))


def _refresh(connection: Connection, ids: Sequence[str]) -> None:
    for start in range(0, len(ids), BATCH):
        _refresh_batch(connection, ids[start : start + BATCH])


def delete_derived(transaction: Transaction, ids: Collection[str]) -> None:
    """Delete the derived rows of these dialogues, also in the full-text index. Call it before any other row
    of the dialogues is deleted."""
    connection = transaction.connection
    numbers = {row.dialogue: row.number for row in connection.execute(_FACTS, {"ids": list(ids)})}
    if transaction.on_sqlite:  # FTS5 needs the words of a row to take it out
        contents = connection.execute(_DIALOGUES, {"ids": list(numbers)}).all()
        words = [
            {"number": numbers[row.id], "words": join_words(json.loads(row.content), is_sqlite=True)}
            for row in contents
        ]
        if words:
            connection.execute(_TAKE_WORDS, words)
    elif numbers:
        query = text("DELETE FROM dialogue_words WHERE number = ANY(:numbers)")
        connection.execute(query, {"numbers": [*numbers.values()]})
    for table in (finding_index, dialogue_index):
        connection.execute(delete(table).where(table.c.number.in_(numbers.values())))


def rebuild(connection: Connection) -> None:
    """Derive all rows anew; the caller prevents concurrent writes."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("INSERT INTO dialogue_words (dialogue_words) VALUES ('delete-all')"))
    else:
        connection.execute(text("DELETE FROM dialogue_words"))
    for table in (finding_index, dialogue_index):
        connection.execute(delete(table))
    for ids in iterate_ids(connection):
        _refresh_batch(connection, ids)


def iterate_ids(connection: Connection) -> Iterator[list[str]]:
    """The ids of all dialogues, in order, by batches."""
    query = select(dialogues.c.id).order_by(dialogues.c.id).execution_options(yield_per=BATCH)
    with connection.execute(query) as rows:
        yield from map(list, rows.scalars().partitions())


def _refresh_batch(connection: Connection, ids: Collection[str]) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    facts = {row.dialogue: dict(row._mapping) for row in connection.execute(_FACTS, {"ids": list(ids)})}
    before = [each["number"] for each in facts.values()]
    words = _add_facts(connection, [name for name in ids if name not in facts], facts)
    derived = derive(connection, facts).values()
    if derived:
        names = tuple(dialogue_index.columns.keys())
        statement = upsert_statement(dialogue_index, is_sqlite, names)
        connection.execute(statement, [each.dialogue for each in derived])
    if words:  # in order of the numbers: FTS5 would write a segment for each step back
        ordered = sorted(words, key=lambda row: int(row["number"]))
        connection.execute(_PUT_WORDS if is_sqlite else _PUT_TSVECTORS, ordered)
    if before:
        connection.execute(delete(finding_index).where(finding_index.c.number.in_(before)))
    if findings := [row for each in derived for row in each.findings]:
        connection.execute(insert(finding_index), findings)


FACTS = ("number", "dialogue", "at_ms", "day", "agent", "team", "channel", "rating")
"""Columns of a dialogue's row that never change."""
_PUT_WORDS = text("INSERT INTO dialogue_words (rowid, words) VALUES (:number, :words)")
_TAKE_WORDS = text(
    "INSERT INTO dialogue_words (dialogue_words, rowid, words) VALUES ('delete', :number, :words)"
)
_PUT_TSVECTORS = text("INSERT INTO dialogue_words (number, words) VALUES (:number, CAST(:words AS tsvector))")
_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_DIALOGUES = select(
    dialogues.c.id, dialogues.c.agent, dialogues.c.team, dialogues.c.channel, dialogues.c.created_ms,
    dialogues.c.content,
).where(dialogues.c.id.in_(_IDS))  # fmt: skip
_FACTS = select(*(dialogue_index.c[name] for name in FACTS)).where(dialogue_index.c.dialogue.in_(_IDS))
_VERDICTS = (
    select(
        verdicts.c.dialogue, verdicts.c.release, verdicts.c.content,
        exists().where(appeals.c.dialogue == verdicts.c.dialogue).label("has_appeals"),
    )
    .where(verdicts.c.dialogue.in_(_IDS))
    .order_by(verdicts.c.created_ms, verdicts.c.release)
)  # fmt: skip
_ANSWERS = (
    select(
        *(annotation_rows.c[name] for name in ("id", "dialogue", "turn", "kind", "codes", "findings")),
        *(annotation_rows.c[name] for name in ("project", "supersedes")),
        tasks.c.pool, tasks.c.why, leases.c.state.label("lease"), projects.c.content.label("of_project"),
    )
    .outerjoin(projects, projects.c.id == annotation_rows.c.project)
    .outerjoin(tasks, tasks.c.id == annotation_rows.c.task)
    .outerjoin(
        leases,
        (leases.c.task == annotation_rows.c.task) & (leases.c.account == annotation_rows.c.labeler),
    )
    .where(annotation_rows.c.dialogue.in_(_IDS))
    .order_by(annotation_rows.c.id)
)  # fmt: skip
_APPEALS = (
    select(appeals.c.dialogue, appeals.c.turn, appeals.c.code, appeals.c.state)
    .where(appeals.c.dialogue.in_(_IDS))
    .order_by(appeals.c.id)
)


def describe_facts(row: Any, content: Content) -> dict[str, Any]:
    """The columns of a dialogue's row that never change, but for its number, from its row in ``dialogues``.
    The time is that of the first turn that has one, else that of the import."""
    times = (turn.get("at") for turn in content["turns"])
    at = next((time for time in times if time is not None), None)
    at_ms = row.created_ms
    if at is not None:
        parsed = datetime.fromisoformat(at)
        parsed = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
        at_ms = round(parsed.timestamp() * 1000)
    at_ms = min(max(at_ms, 0), MAX_MS)
    names = {name: cut_name(getattr(row, name)) for name in ("agent", "team", "channel")}
    rating = content.get("metadata", {}).get("rating")
    is_number = isinstance(rating, int | float) and not isinstance(rating, bool)
    return {
        "dialogue": row.id, "at_ms": at_ms, "day": at_ms // DAY_MS, **names,
        "rating": float(rating) if is_number else None,
    }  # fmt: skip


def cut_name(name: str | None) -> str:
    """A name as a key of an index, which databases limit: empty for none, cut with a hash if it is long."""
    name = (name or "").replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 17]}…{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _add_facts(
    connection: Connection, ids: Collection[str], facts: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Add the facts of new dialogues with numbers for them; return the rows of the full-text index."""
    if not ids:
        return []
    is_sqlite = connection.dialect.name == "sqlite"
    rows = connection.execute(_DIALOGUES, {"ids": list(ids)}).all()
    contents = {row.id: json.loads(row.content) for row in rows}
    new = {row.id: describe_facts(row, contents[row.id]) for row in rows}
    numbers = _choose_numbers(connection, {name: each["at_ms"] for name, each in new.items()})
    facts |= {name: {"number": numbers[name], **each} for name, each in new.items()}
    return [
        {"number": numbers[name], "words": join_words(content, is_sqlite=is_sqlite)}
        for name, content in contents.items()
    ]


def _choose_numbers(connection: Connection, at_ms: dict[str, int]) -> dict[str, int]:
    chosen: dict[str, int] = {}
    used: set[int] = set()
    wanted = {name: first_number(ms) + _hash_name(name) for name, ms in at_ms.items()}
    while wanted:
        query = select(dialogue_index.c.number).where(dialogue_index.c.number.in_(wanted.values()))
        used |= set(connection.execute(query).scalars())
        for name, number in list(wanted.items()):
            if number in used:
                wanted[name] += 1
            else:
                used.add(number)
                chosen[name] = wanted.pop(name)
    return chosen


def _hash_name(name: str) -> int:
    """A hash of a name, one bit shorter than `SLOT_BITS`: the next free number has the same time."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:4]) >> (33 - SLOT_BITS)


def first_number(at_ms: int) -> int:
    """The first number of dialogues of this time."""
    return at_ms << SLOT_BITS


def number_to_ms(number: int) -> int:
    """The time of the dialogue with this number."""
    return number >> SLOT_BITS


def derive(connection: Connection, facts: dict[str, dict[str, Any]]) -> dict[str, DerivedRows]:
    """Derive the rows of some dialogues from these facts and the store's other tables."""
    if not facts:
        return {}
    ids = {"ids": list(facts)}
    answers, reviews = _load_answers(connection, ids)
    newest = {row.dialogue: row for row in connection.execute(_VERDICTS, ids)}
    objections: dict[str, list[FindingAppeal]] = {}
    appealed = [name for name, row in newest.items() if row.has_appeals]
    for row in connection.execute(_APPEALS, {"ids": appealed}) if appealed else ():
        objections.setdefault(row.dialogue, []).append(FindingAppeal(row.turn, row.code, row.state))
    derived = {}
    for name, fact in facts.items():
        verdict = None
        if name in newest:
            verdict = NewestVerdict(cut_name(newest[name].release), json.loads(newest[name].content))
        review = reviews.get(name, "none")
        derived[name] = combine(fact, verdict, answers.get(name, []), objections.get(name, []), review)
    return derived


def combine(
    facts: dict[str, Any],
    verdict: NewestVerdict | None,
    answers: Sequence[DecidingAnswer],
    objections: Sequence[FindingAppeal],
    review: Review,
) -> DerivedRows:
    """The rows of one dialogue."""
    findings = decide_findings(verdict, answers, objections)
    is_read_whole = any(answer.turn is None for answer in answers)
    described = describe_dialogue(verdict, findings, review, objections, is_read_whole=is_read_whole)
    dialogue = {**facts, **described}
    shared = {key: dialogue[key] for key in ("number", "day", "agent", "team", "channel", "release")}
    rows = [
        {**shared, "place": place, "review": review, **vars(one), "code": cut_name(one.code)}
        for place, one in enumerate(findings)
    ]
    for each in rows:
        del each["reviewed"]  # the row of the dialogue has these
    return DerivedRows(dialogue, rows)


def _load_answers(
    connection: Connection, ids: dict[str, list[str]]
) -> tuple[dict[str, list[DecidingAnswer]], dict[str, Review]]:
    """The answers that decide, and who has answered, by dialogue (see `decisions`)."""
    rows = connection.execute(_ANSWERS, ids).all()
    contents = {row.project: row.of_project for row in rows if row.project is not None}
    purposes = {name: json.loads(content)["purpose"] for name, content in contents.items()}
    superseded = {row.supersedes for row in rows}
    answers: dict[str, list[DecidingAnswer]] = {}
    reviews: dict[str, Review] = {}
    for row in rows:
        is_exercise = row.pool not in (None, "main") or purposes.get(row.project) == "calibration"
        if is_exercise or row.id in superseded or row.lease == "discarded" or row.why == _FOLLOW_UP:
            continue
        if row.kind in _DECIDING:
            codes, findings = tuple(json.loads(row.codes)), tuple(json.loads(row.findings))
            answer = DecidingAnswer(row.id, row.kind == "expert", row.turn, codes, findings)
            answers.setdefault(row.dialogue, []).append(answer)
            reviews[row.dialogue] = "reviewed"
        elif row.kind == "crowd":
            reviews.setdefault(row.dialogue, "labeled")
    return answers, reviews


MAX_WORDS = 16_000
"""Words of a dialogue that are searchable: positions in a tsvector end at 16,383."""
MAX_LETTERS = 64
"""Letters of a word that count."""
MAX_TERMS = 20
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


def split_words(text: str) -> list[str]:
    """The words of a text, in order."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.encode("utf-8", "ignore").decode())
        text = unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))
    return [word[:MAX_LETTERS] for word in near_duplicates.words(text)]


def join_words(content: Content, *, is_sqlite: bool) -> str:
    """The first `MAX_WORDS` words of a dialogue, from its content, as the database's full-text index takes
    them."""
    tokens: list[str] = []
    for turn in content["turns"]:
        tokens += split_words(turn["text"])
        if len(tokens) >= MAX_WORDS:
            break
    return " ".join(tokens[:MAX_WORDS]) if is_sqlite else to_tsvector(tokens[:MAX_WORDS])


def to_tsvector(tokens: list[str]) -> str:
    """Words as PostgreSQL's tsvector."""
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(tokens, start=1):
        positions.setdefault(word, []).append(position)
    # PostgreSQL keeps at most 255 positions of a word
    return " ".join(f"'{word}':{','.join(map(str, at[:255]))}" for word, at in positions.items())


class Term(NamedTuple):
    """Words that follow each other; the last one may be the beginning of a word (`is_prefix`)."""

    words: tuple[str, ...]
    is_prefix: bool = False


def parse_query(text: str) -> tuple[Term, ...]:
    """The terms of a query, all of which must be in a dialogue: words, ``"several words"``, ``begin*``."""
    terms = []
    for quoted, bare in _TERM.findall(text):
        tokens = split_words(quoted or bare)
        if tokens:
            terms.append(Term(tuple(tokens), is_prefix=bare.endswith("*")))
    return tuple(terms[:MAX_TERMS])


def select_matches(terms: Sequence[Term], *, is_sqlite: bool) -> TextualSelect:
    """Select the numbers of the dialogues that have all these terms."""
    if is_sqlite:
        words = " AND ".join(f'"{" ".join(term.words)}"{"*" if term.is_prefix else ""}' for term in terms)
        query = text("SELECT rowid AS number FROM dialogue_words WHERE dialogue_words MATCH :words")
    else:
        phrases = (" <-> ".join(f"'{word}'" for word in term.words) for term in terms)
        ends = (":*" if term.is_prefix else "" for term in terms)
        words = " & ".join(f"({phrase}{end})" for phrase, end in zip(phrases, ends, strict=True))
        query = text("SELECT number FROM dialogue_words WHERE words @@ CAST(:words AS tsquery)")
    return query.bindparams(words=words).columns(column("number", BigInteger))
