"""Webhooks: a POST to the operator's URL when a job of the HTTP API is done or failed, repeated until the
status is 2xx. Headers as of Standard Webhooks (standardwebhooks.com):

    webhook-id: JOB_done              the same at every attempt, so that a receiver can drop repeats
    webhook-timestamp: 1790000000     seconds, of this attempt
    webhook-signature: v1,BASE64      HMAC-SHA256 of ID.TIMESTAMP.BODY by the secret

Pending webhooks are in the folders of the jobs (`JobRecord.webhook`), so a killed server sends them after its
next start. The body has numbers, no text of a log, and not its name. No redirect is followed and no proxy is
used.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import httpx2

from dialint.app.scoring.background import Job, list_jobs
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.judge.config import read_key
from dialint.detector.verdict_files import manifest_path

SECRET_VARIABLE = "DIALINT_WEBHOOK_SECRET"
PREFIX = "whsec_"
TIMEOUT_S = 15.0
FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 1800.0
"""Waits between attempts, which double."""
GIVE_UP_S = 3 * 86400.0
"""Time from the end of a job after which its webhook is dropped."""


@dataclass(frozen=True)
class Receiver:
    """The URL of webhooks, and the secret that signs them."""

    url: str
    secret: bytes

    @classmethod
    def of(cls, url: str, secret_file: Path | None) -> Receiver:
        """
        Raises:
            ConfigError: E_OPTION, an invalid URL or secret.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ConfigError("E_OPTION", "--webhook: expected http://... or https://... without a password")
        key, _ = read_key(secret_file, "--webhook-secret-file", SECRET_VARIABLE)
        try:
            secret = base64.b64decode((key or "").removeprefix(PREFIX), validate=True)
        except ValueError:
            secret = b""
        if len(secret) < 24:
            raise ConfigError(
                "E_OPTION",
                f"--webhook needs a secret of 24 bytes or more in base64 (--webhook-secret-file or "
                f"{SECRET_VARIABLE}): openssl rand -base64 32",
            )
        return cls(url, secret)

    def sign(self, event_id: str, timestamp: int, body: bytes) -> str:
        """Return the value of ``webhook-signature``."""
        digest = hmac.digest(self.secret, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256)
        return f"v1,{base64.b64encode(digest).decode()}"


def describe_end(job: Job) -> dict[str, Any]:
    """Return the body for a finished or failed job, the same at every call."""
    data: dict[str, Any] = {"job_id": job.id, "state": job.state, "url": f"/v1/jobs/{job.id}"}
    if job.state == "done":
        counts = job.manifest["counts"]
        findings: dict[str, int] = {}
        for by in counts["findings"].values():
            for severity, n in by.items():
                findings[severity] = findings.get(severity, 0) + n
        data |= {name: counts[name] for name in ("scored", "failed", "not_judged")}
        data |= {"rejected": job.manifest["reading"]["rejected"], "findings": dict(sorted(findings.items()))}
    else:
        data["error"] = job.failure_code
    at = datetime.fromtimestamp(_ended_s(job), UTC).isoformat(timespec="seconds")
    return {"type": f"job.{job.state}", "timestamp": at, "data": data}


def _ended_s(job: Job) -> float:
    return (manifest_path(job.out) if job.state == "done" else job.error).stat().st_mtime


class WebhookSender:
    """Sends the pending webhooks of a folder of jobs in a thread. `note` is called with the outcome of each
    attempt: delivered, failed, or dropped after `GIVE_UP_S`."""

    def __init__(self, receiver: Receiver, jobs: Path, note: Callable[[str], None]) -> None:
        self._receiver, self._jobs, self._note = receiver, jobs, note
        self._wake, self._is_closed = Event(), False
        self._thread = Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Send pending webhooks now."""
        self._wake.set()

    def close(self) -> None:
        """Stop after the running attempt; the next server sends the rest."""
        self._is_closed = True
        self._wake.set()
        self._thread.join(TIMEOUT_S)

    def _run(self) -> None:
        n_failed = 0
        with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as client:
            while not self._is_closed:
                self._wake.clear()
                n_failed = 0 if self._send_all(client) else n_failed + 1
                wait_s = min(FIRST_WAIT_S * 2 ** min(n_failed - 1, 20), LONGEST_WAIT_S)
                self._wake.wait(wait_s if n_failed else None)

    def _send_all(self, client: httpx2.Client) -> bool:
        """Attempt each pending webhook until there is no response. Returns whether none is left."""
        is_done = True
        for job in reversed(list_jobs(self._jobs)):
            if self._is_closed:
                return False
            if job.record.webhook != "waiting" or job.state not in ("done", "failed"):
                continue
            status: int | None = None
            with suppress(OSError, ValueError, LookupError):  # the job was removed
                status = self._post(client, job)
                is_late = time.time() - _ended_s(job) > GIVE_UP_S
                is_delivered = status is not None and 200 <= status < 300
                self._note("delivered" if is_delivered else "dropped" if is_late else "failed")
                if is_delivered or is_late:
                    with suppress(DialintError):
                        job.update(webhook="delivered" if is_delivered else "dropped")
                        continue
                is_done = False
                if status is None:
                    return False
        return is_done

    def _post(self, client: httpx2.Client, job: Job) -> int | None:
        """Return the status of the response, if there is one."""
        event_id, timestamp = f"{job.id}_{job.state}", int(time.time())
        body = json.dumps(describe_end(job)).encode()
        headers = {
            "content-type": "application/json", "webhook-id": event_id, "webhook-timestamp": str(timestamp),
            "webhook-signature": self._receiver.sign(event_id, timestamp, body),
        }  # fmt: skip
        try:
            with client.stream("POST", self._receiver.url, content=body, headers=headers) as response:
                return response.status_code
        except httpx2.HTTPError:
            return None
