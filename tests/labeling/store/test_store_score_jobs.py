"""Scoring jobs in the store, on both databases: their states, who may change them, and paging."""

from typing import Any

import pytest
from pydantic import ValidationError

from dialint.labeling.store import score_jobs
from dialint.labeling.store.database.schema import audit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import StoreRefused
from dialint.labeling.store.score_jobs import AddedCounts, NewScoreJob, ScoreOptions, ScoreResult

NEW = NewScoreJob(id="0" * 16, name="march.jsonl", size=12, sha256="ab")


def test_a_job_goes_from_its_log_to_its_end(store: Store, time_: Any) -> None:
    made = score_jobs.create_job(store, "lea", NEW)
    assert (made.state, made.account, made.name, made.options) == (
        "uploaded",
        "lea",
        "march.jsonl",
        ScoreOptions(),
    )
    assert score_jobs.create_job(store, "ada", NEW) == made, "the same log once"
    with pytest.raises(StoreRefused, match="E_JOB"):
        score_jobs.create_job(store, "lea", NEW.model_copy(update={"sha256": "cd"}))
    chosen = ScoreOptions(languages=("de",), n_policies=1)
    assert score_jobs.queue_job(store, "lea", NEW.id, chosen).options == chosen
    assert score_jobs.queue_job(store, "ada", NEW.id).state == "queued", "a second click does nothing"
    with pytest.raises(StoreRefused, match="other options"):
        score_jobs.queue_job(store, "lea", NEW.id, ScoreOptions())
    time_.pass_s(60)
    stopped = score_jobs.record_end(store, "ada", NEW.id, "stopped", ScoreResult(message="by ada"))
    assert (stopped.state, stopped.ended_ms) == ("stopped", made.created_ms + 60_000)
    again = score_jobs.queue_job(store, "ada", NEW.id)
    assert (again.state, again.options, again.result, again.ended_ms) == ("queued", chosen, None, None)
    result = ScoreResult(dialogues=3, findings=2, seconds=1.5, release="embedded-5")
    done = score_jobs.record_end(store, "lea", NEW.id, "done", result)
    assert score_jobs.record_end(store, "ada", NEW.id, "failed", ScoreResult()) == done, (
        "the first end counts"
    )
    added = AddedCounts(dialogues=3, verdicts=3, known=0, changed=0)
    assert score_jobs.record_added(store, "lea", NEW.id, added).added == added
    assert score_jobs.load_job(store, "ada", NEW.id).result == result
    assert score_jobs.record_download(store, "ada", NEW.id, "csv").added == added
    with pytest.raises(StoreRefused, match="is done"):
        score_jobs.queue_job(store, "lea", NEW.id)
    score_jobs.remove_job(store, "ada", NEW.id)
    score_jobs.remove_job(store, "ada", NEW.id)
    with pytest.raises(StoreRefused, match="no such job"):
        score_jobs.load_job(store, "lea", NEW.id)
    rows = store.read(lambda transaction: transaction.run(audit.select().order_by(audit.c.id)).all())
    assert [(row.account, row.action) for row in rows if row.subject == NEW.id] == [
        ("lea", "score_jobs.create"), ("lea", "score_jobs.queue"), ("ada", "score_jobs.stopped"),
        ("ada", "score_jobs.queue"), ("lea", "score_jobs.done"), ("lea", "score_jobs.add"),
        ("ada", "score_jobs.download"), ("ada", "score_jobs.remove"),
    ]  # fmt: skip


def test_only_what_is_done_is_added_and_only_an_end_ends(store: Store) -> None:
    score_jobs.create_job(store, "lea", NEW)
    with pytest.raises(StoreRefused, match="not done"):
        score_jobs.record_added(
            store, "lea", NEW.id, AddedCounts(dialogues=0, verdicts=0, known=0, changed=0)
        )
    with pytest.raises(StoreRefused, match="not done"):
        score_jobs.record_download(store, "lea", NEW.id, "csv")
    with pytest.raises(StoreRefused, match="no end"):
        score_jobs.record_end(store, "lea", NEW.id, "queued", ScoreResult())
    assert score_jobs.record_end(store, "lea", NEW.id, "done", ScoreResult()).state == "uploaded"


@pytest.mark.parametrize("wrong", ["", "../../etc", "0" * 15, "0" * 17, "G" * 16, "0" * 16 + "\n"])
def test_an_id_is_no_path(wrong: str) -> None:
    with pytest.raises(ValidationError):
        NewScoreJob(id=wrong, name="x", size=0, sha256="")


def test_all_leads_see_all_jobs_newest_first_page_by_page(store: Store, time_: Any) -> None:
    ids = [f"{n:016x}" for n in range(5)]
    for at, name in enumerate(ids):
        if at != 2:  # two at the same millisecond
            time_.pass_s(1)
        score_jobs.create_job(store, ("lea", "ada")[at % 2], NEW.model_copy(update={"id": name}))
    first = score_jobs.list_jobs(store, "lea", limit=3)
    rest = score_jobs.list_jobs(store, "lea", first[-1], limit=3)
    assert [job.id for job in (*first, *rest)] == ids[::-1]
    assert {job.account for job in first} == {"lea", "ada"}
