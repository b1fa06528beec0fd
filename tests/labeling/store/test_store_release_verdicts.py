"""Figures of releases, on both databases: counts, differences, people's answers, changes."""

from typing import Any

import make
import pytest
from sqlalchemy import event

from dialint.labeling.store import annotations, dialogues, documents, history
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.insights import count_by_release

DAY_S = 86_400


@pytest.fixture
def judged(store: Store, time_: Any) -> Store:
    """`old` on four dialogues over three weeks, `new` on two of them."""
    names = ("d1", "d2", "d3", "d4")
    dialogues.add(store, "lea", [make.dialogue(name) for name in names])
    for name in names:
        findings = [make.finding(probability=0.9)] if name in ("d1", "d2") else []
        probability = {"d1": 0.9, "d2": 0.9, "d3": 0.4, "d4": 0.01}[name]
        dialogues.add_verdicts(store, "lea", [make.verdict(name, *findings, release="old", risk=probability)])
        time_.pass_s(7 * DAY_S)
    findings = [make.finding("T1"), make.finding(probability=0.8)]
    new = [make.verdict("d1", *findings, release="new"), make.verdict("d3", release="new")]
    dialogues.add_verdicts(store, "lea", new)
    return store


def test_releases_are_counted_newest_first(judged: Store) -> None:
    counts = count_by_release(judged, "lea")
    assert [(each.release, each.dialogues, each.flagged) for each in counts] == [("new", 2, 1), ("old", 4, 2)]


def test_previews_read_the_newest_by_an_index(judged: Store) -> None:
    """The plans of SQLite for what the pages of releases, taxonomy and policies read."""
    if judged.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL scans a table as small as this one")
    annotations.review(judged, "rob", "d1", "one", ["C1"], [], expected=None)
    statements: list[tuple[str, Any]] = []
    event.listen(judged.engine, "before_cursor_execute", lambda *each: statements.append((each[2], each[3])))
    count_by_release(judged, "lea")
    documents.list_newest_verdicts(judged, "lea", 9)
    documents.list_newest_dialogues(judged, "lea", 9)
    big = ("verdicts", "dialogues", "annotations")
    with judged.engine.connect() as connection:
        plans = {
            statement: [
                row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            ]
            for statement, parameters in statements
            if statement.startswith("SELECT") and any(f"FROM {name}" in statement for name in big)
        }
    steps = {statement: step for statement, plan in plans.items() for step in plan}
    assert len(steps) >= 3
    for plan in plans.values():
        assert not [step for step in plan if step.startswith("SCAN") and "INDEX" not in step], plan
        assert not [step for step in plan if "TEMP B-TREE" in step], plan


def test_who_took_a_file_of_a_scoring_job_is_recorded(store: Store) -> None:
    history.record_job(store, "lea", "download", "0" * 16, file="verdicts.csv")
    (entry,) = history.list_entries(store, "ada", action="score_jobs.").entries
    assert (entry.account, entry.action, entry.content) == (
        "lea", "score_jobs.download", {"file": "verdicts.csv"},
    )  # fmt: skip
