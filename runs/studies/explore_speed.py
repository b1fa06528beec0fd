"""Measures searches and counts in a full store: ``python runs/studies/explore_speed.py --store A --dialogues
1000000``.

Fills an empty store (a SQLite file or a PostgreSQL URL) with made-up dialogues, verdicts, some reviews, and
the rows derived from them for Explore, then measures reads of the console: searches by each filter, deep
pages, totals and groups of a week, those of the dialogue page. Prints JSON with percentiles in milliseconds;
keeps the store for ``--filled``. It is filled in bulk, not by the store's operations, so `verify` fails on
it. Texts are random words.
"""

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

import cyclopts
import numpy as np
from sqlalchemy import Connection, Table, text

from dialint.labeling.store import accounts
from dialint.labeling.store.database.decisions import DecidingAnswer, NewestVerdict
from dialint.labeling.store.database.derived import DAY_MS, combine, first_number, to_tsvector
from dialint.labeling.store.database.schema import (
    annotation_rows,
    dialogue_index,
    finding_index,
    verdicts,
)
from dialint.labeling.store.database.schema import dialogues as dialogue_rows
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.history import find_similar, read_history
from dialint.labeling.store.insights import Dimension, read_groups, read_totals
from dialint.labeling.store.records import Account
from dialint.labeling.store.search import Search, count, list_choices, search

DAYS = 100
AGENTS, TEAMS = 200, 12
CHANNELS = ("chat", "email", "phone")
CODES = tuple(f"{letter}{n}" for letter in "CTULP" for n in range(1, 9))
RELEASE = "made-up-1"
LAST_DAY = 20_000
BATCH = 20_000
N_WORDS = 5_000
TURNS, WORDS_A_TURN = 4, 9
FLAGGED, REVIEWED = 0.4, 0.1


def make_words(rng: random.Random) -> list[str]:
    """Returns made-up words by falling frequency."""
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    return ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(N_WORDS)]


@dataclass
class RowBatch:
    """Rows for each table, in the order of its columns."""

    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def add(self, table: Table, values: dict[str, Any]) -> None:
        self.rows.setdefault(table.name, []).append(tuple(values[column.name] for column in table.columns))


def make_batches(n: int, is_sqlite: bool) -> Iterator[RowBatch]:
    """Yields the rows of `n` dialogues in order of time, over `DAYS` days, with a verdict on each and reviews
    of some; and the rows that the store's functions derive from them."""
    rng = random.Random(7)
    words = make_words(rng)
    weights = np.cumsum(1.0 / np.arange(1, N_WORDS + 1)).tolist()
    step_ms = DAYS * DAY_MS // n
    batch = RowBatch()
    for number in range(n):
        name = f"d{number:07d}"
        at_ms = (LAST_DAY - DAYS) * DAY_MS + number * step_ms
        chosen = rng.choices(words, cum_weights=weights, k=TURNS * WORDS_A_TURN)
        texts = [" ".join(chosen[i * WORDS_A_TURN : (i + 1) * WORDS_A_TURN]) for i in range(TURNS)]
        agent = int(AGENTS * rng.random() ** 1.5)
        origin = {"agent": f"agent {agent}", "team": f"team {agent % TEAMS}", "channel": rng.choice(CHANNELS)}
        created = {"created_ms": at_ms, "sha256": "0" * 64}
        turns = [
            {"index": i, "role": "agent" if i % 2 else "customer", "text": each, "at": None, "author": None}
            for i, each in enumerate(texts)
        ]
        fields = {"language": None, "policy": None, "sources": [], "metadata": {}, "masked": False}
        content = json.dumps({"id": name, "turns": turns, **origin, **fields})
        batch.add(dialogue_rows, {"id": name, **origin, **created, "content": content})
        findings = _make_findings(rng, texts) if rng.random() < FLAGGED else []
        n_findings = max(1, len(findings) - 1) if findings else 0
        verdict = {
            "dialogue_id": name, "release": RELEASE, "taxonomy": "1.0.0", "status": "scored", "failure": None,
            "quality": 75.0, "findings": findings[:n_findings], "probabilities": None, "agent_turns": 2,
        } | ({"suggestions": findings[n_findings:]} if findings[n_findings:] else {})  # fmt: skip
        risk = max((each["probability"] for each in findings), default=0.0)
        row = {"dialogue": name, "release": RELEASE, "risk": risk, "flagged": bool(n_findings), **created}
        batch.add(verdicts, {**row, "content": json.dumps(verdict)})
        answers: list[DecidingAnswer] = []
        if findings and rng.random() < REVIEWED:
            confirmed = tuple(each for each in findings[:n_findings] if rng.random() < 0.8)
            answers = [DecidingAnswer(number + 1, False, None, CODES, confirmed)]
            review = {
                "id": number + 1, "key": f"k{number}", "project": None, "task": None, "dialogue": name,
                "turn": None, "labeler": "rob", "kind": "reviewer", "codes": json.dumps(CODES),
                "findings": json.dumps(confirmed), "seen_verdict": True, "seconds": 15.0, "at_ms": at_ms,
                "supersedes": None, "rejections": None,
            }  # fmt: skip
            batch.add(annotation_rows, review)
        facts = {"number": first_number(at_ms) + number % 1000, "dialogue": name, "at_ms": at_ms}
        facts |= {"day": at_ms // DAY_MS, "rating": None, **origin}
        rows = combine(facts, NewestVerdict(RELEASE, verdict), answers, [], "reviewed" if answers else "none")
        batch.add(dialogue_index, rows.dialogue)
        for each in rows.findings:
            batch.add(finding_index, each)
        joined = " ".join(chosen) if is_sqlite else to_tsvector(chosen)
        batch.rows.setdefault("dialogue_words", []).append((facts["number"], joined))
        if (number + 1) % BATCH == 0:
            yield batch
            batch = RowBatch()
    yield batch


def _make_findings(rng: random.Random, texts: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "code": CODES[int(len(CODES) * rng.random() ** 2)], "turn": (turn := rng.choice((1, 3))),
            "severity": f"S{rng.randint(1, 4)}", "fault": "agent", "probability": round(rng.random(), 4),
            "quote": texts[turn][:5], "start": 0, "end": 5, "reason": "made up", "rewrite": None,
        }
        for _ in range(rng.randint(1, 3))
    ]  # fmt: skip


def fill(store: Store, n: int) -> float:
    """Fills the store in bulk, its indexes last; returns the seconds."""
    started_s = time.monotonic()
    accounts.create_first(store, "ada", "benchmark only")
    accounts.create(store, "ada", Account(id="lea", role="lead"))
    accounts.create(store, "ada", Account(id="rob", role="reviewer"))
    is_sqlite = store.engine.dialect.name == "sqlite"
    with store.engine.begin() as connection:
        indexes = _drop_indexes(connection)
    for batch in make_batches(n, is_sqlite):
        with store.engine.begin() as connection:
            for name, rows in batch.rows.items():
                _load(connection, name, rows, is_sqlite=is_sqlite)
    with store.engine.begin() as connection:
        for statement in indexes:
            connection.exec_driver_sql(statement)
    if not is_sqlite:  # as autovacuum would do later
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
    return round(time.monotonic() - started_s, 1)


def _drop_indexes(connection: Connection) -> list[str]:
    """Drops the indexes of the filled tables, except those of constraints; returns SQL to recreate them."""
    names = ("dialogues", "verdicts", "annotations", "dialogue_index", "finding_index", "dialogue_words")
    if connection.dialect.name == "sqlite":
        query = "SELECT name, sql, tbl_name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    else:
        query = (
            "SELECT indexname, indexdef, tablename FROM pg_indexes WHERE schemaname = current_schema() "
            "AND indexname NOT IN (SELECT conname FROM pg_constraint)"
        )
    indexes = [row for row in connection.execute(text(query)).all() if row[2] in names]
    for name, *_ in indexes:
        connection.exec_driver_sql(f"DROP INDEX {name}")
    return [statement for _, statement, _ in indexes]


def _load(connection: Connection, name: str, rows: list[tuple[Any, ...]], *, is_sqlite: bool) -> None:
    plain: Any = connection.connection.dbapi_connection
    if is_sqlite:
        into = "dialogue_words (rowid, words)" if name == "dialogue_words" else name
        marks = ", ".join("?" * len(rows[0]))
        plain.executemany(f"INSERT INTO {into} VALUES ({marks})", rows)
        return
    with plain.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def make_searches(rng: random.Random, words: list[str]) -> dict[str, list[Search]]:
    """Returns searches with different values, by kind."""
    agents, codes = [f"agent {n}" for n in range(AGENTS)], list(CODES)
    since = [(LAST_DAY - rng.randrange(7, DAYS)) * DAY_MS for _ in range(50)]
    week = [{"since_ms": day, "until_ms": day + 7 * DAY_MS} for day in since]
    return {
        "nothing": [Search()],
        "most likely": [Search(sort="likely")],
        "agent": [Search(agent=each) for each in agents],
        "team": [Search(team=f"team {n}") for n in range(TEAMS)],
        "channel": [Search(channel=each) for each in CHANNELS],
        "a week": [Search(**each) for each in week],
        "code": [Search(code=each) for each in codes],
        "code, most likely": [Search(code=each, sort="likely") for each in codes],
        "severity": [Search(severity="S1"), Search(severity="S4")],
        "suggestions": [Search(kind="suggestion")],
        "rejected": [Search(decision="rejected")],
        "reviewed": [Search(review="reviewed")],
        "probability 0.40-0.41": [Search(least=0.4, most=0.41)],
        "agent and code": [Search(agent=rng.choice(agents), code=each) for each in codes],
        "agent, code, a week, rejected": [
            Search(agent=rng.choice(agents), code=rng.choice(codes), decision="rejected", **each)
            for each in week
        ],
        "agent, most likely": [Search(agent=each, sort="likely") for each in agents],
        "frequent word": [Search(text=each) for each in words[:20]],
        "rare word": [Search(text=each) for each in words[-200:]],
        "three words": [Search(text=" ".join(rng.sample(words[:100], 3))) for _ in range(50)],
        "phrase of frequent words": [Search(text=f'"{words[n]} {words[n + 1]}"') for n in range(20)],
        "beginning of a word": [Search(text=f"{each[:4]}*") for each in words[:50]],
        "frequent word, agent, code": [
            Search(text=each, agent=rng.choice(agents), code=rng.choice(codes)) for each in words[:20]
        ],
        "rare word, most likely": [Search(text=each, sort="likely") for each in words[-200:]],
    }  # fmt: skip


def measure(store: Store, n: int, repeats: int) -> dict[str, Any]:
    """Returns percentiles of milliseconds by kind of read, of wall time and of this process's CPU time.
    Searches are followed by their totals, as on the page. The first read of each kind is dropped. A search
    records its results as read, so most include a write."""
    rng = random.Random(3)
    words = make_words(random.Random(7))
    times: dict[str, list[tuple[float, float]]] = {}

    def measure_read(name: str, work: Callable[[], Any]) -> Any:
        started_s, cpu_s = time.perf_counter(), time.process_time()
        result = work()
        spent = (time.perf_counter() - started_s, time.process_time() - cpu_s)
        times.setdefault(name, []).append(spent)
        return result

    for name, searches in make_searches(rng, words).items():
        for _ in range(repeats + 1):
            wanted = rng.choice(searches)
            measure_read(f"search: {name}", lambda wanted=wanted: search(store, "lea", wanted))
            measure_read(f"total: {name}", lambda wanted=wanted: count(store, "lea", wanted))
    for name, wanted in (
        ("", Search()),
        (" of a code", Search(code=CODES[0])),
        (" of a word", Search(text=words[5])),
    ):
        after = None
        for _ in range(200):  # to page 200 of 50, or the last one
            page = search(store, "lea", wanted, after)
            if page.after is None:
                break
            after = page.after
        for _ in range(repeats + 1):
            measure_read(
                f"page 200{name}", lambda wanted=wanted, after=after: search(store, "lea", wanted, after)
            )
    until = LAST_DAY * DAY_MS
    span = (until - 7 * DAY_MS, until)
    for _ in range(repeats + 1):
        agent = f"agent {rng.randrange(AGENTS)}"
        measure_read("totals of a week", lambda: read_totals(store, "lea", *span))
        measure_read(
            "totals of a week, an agent", lambda agent=agent: read_totals(store, "lea", *span, agent=agent)
        )
        for dimension in get_args(Dimension):
            measure_read(f"week by {dimension}", lambda d=dimension: read_groups(store, "lea", d, *span))
        measure_read(
            "week by code, an agent",
            lambda agent=agent: read_groups(store, "lea", "code", *span, agent=agent),
        )
        measure_read("week by code, a team", lambda: read_groups(store, "lea", "code", *span, team="team 1"))
        measure_read("100 days by agent", lambda: read_groups(store, "lea", "agent", 0, until))
        measure_read("choices of the filters", lambda: list_choices(store, "lea"))
        name = f"d{rng.randrange(n):07d}"
        measure_read("dialogue page: history", lambda name=name: read_history(store, "lea", name))
        measure_read("dialogue page: similar", lambda name=name: find_similar(store, "lea", name))
    return {name: _percentiles(each[1:]) for name, each in times.items()}


def _percentiles(times: list[tuple[float, float]]) -> dict[str, float]:
    clock, cpu = np.array(times).T * 1000  # (repeats,) each
    p50, p95 = np.percentile(clock, [50, 95])
    cpu_p50, cpu_p95 = np.percentile(cpu, [50, 95])
    values = {"p50": p50, "p95": p95, "cpu_p50": cpu_p50, "cpu_p95": cpu_p95}
    return {name: round(float(value), 1) for name, value in values.items()}


def benchmark(*, store: str, filled: bool = False, dialogues: int = 1000, repeats: int = 20) -> None:
    """Fill a store and measure the reads of the console.

    Parameters
    ----------
    store
        The store to fill: a SQLite file or a PostgreSQL URL.
    filled
        The store was filled by this benchmark before.
    repeats
        Measurements of each read, each with different values.
    """
    if not filled:
        upgrade(store)
    with Store.open(store) as opened:
        fill_s = None if filled else fill(opened, dialogues)
        figures = measure(opened, dialogues, repeats)
    print(json.dumps({"dialogues": dialogues, "fill_s": fill_s, "milliseconds": figures}, indent=1))


if __name__ == "__main__":
    cyclopts.run(benchmark)
