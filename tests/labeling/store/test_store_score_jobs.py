"""What is done with scoring jobs stands in the audit log."""

from dialint.labeling.store.database.schema import audit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.score_jobs import record_job


def test_who_took_a_file_of_a_job_is_recorded(store: Store) -> None:
    record_job(store, "lea", "create", "0" * 16)
    record_job(store, "ada", "download", "0" * 16, file="verdicts.csv")
    rows = store.read(lambda transaction: transaction.run(audit.select().order_by(audit.c.id)).all())
    assert [(row.account, row.action) for row in rows if row.subject == "0" * 16] == [
        ("lea", "score_jobs.create"), ("ada", "score_jobs.download"),
    ]  # fmt: skip
