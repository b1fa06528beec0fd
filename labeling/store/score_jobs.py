"""The right to score logs in the console, and the audit log's entries of who did so. The jobs are folders
(`dialint.app.console.system.job`); every lead may start, stop, use or remove each of them.
"""

from __future__ import annotations

from typing import Literal

from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.permissions import write_operation

Action = Literal["create", "start", "stop", "add", "download", "remove"]


@write_operation("plan")
def record_job(transaction: Transaction, actor: str, action: Action, job_id: str, file: str = "") -> None:
    """Record what the actor is about to do with a job; a download quotes dialogues outside of the console."""
    transaction.log(actor, f"score_jobs.{action}", job_id, **({"file": file} if file else {}))
