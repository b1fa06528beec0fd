"""Webhooks, as a receiver sees them: signed, tried again, each event once by its id, also after a kill."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from api_client import FEW, OPTIONS, api_process, bearer
from patience import WAIT_S, wait_for
from starlette.testclient import TestClient

from dialint.app.scoring.background import load_job
from dialint.app.serving import webhooks
from dialint.app.serving.api import create_app
from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.webhooks import Receiver
from dialint.detector.errors import ConfigError

SECRET = base64.b64encode(b"0123456789abcdef01234567").decode()


class Inbox:
    """A receiver: what it got, and the statuses that it answers with next; then 204."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.url = ""

    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.got]


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    inbox = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            inbox.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = inbox.statuses.pop(0) if inbox.statuses else 204
            self.send_response(status)
            if status == 307:
                self.send_header("location", f"{inbox.url}/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *ignored: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        inbox.url = f"http://127.0.0.1:{server.server_address[1]}/hooks"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield inbox
        server.shutdown()
        thread.join()


@contextmanager
def serving(inbox: Inbox) -> Iterator[TestClient]:
    with TestClient(create_app(ApiConfig(**OPTIONS, webhook=inbox.url))) as client:
        client.headers.update(bearer())
        yield client


@pytest.fixture(autouse=True)
def secret(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALINT_WEBHOOK_SECRET", f"whsec_{SECRET}")
    monkeypatch.setattr(webhooks, "FIRST_WAIT_S", 0.01)


def is_signed(headers: dict[str, str], body: bytes) -> bool:
    """As a receiver checks it by the page of Standard Webhooks."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(base64.b64decode(SECRET), signed, hashlib.sha256).digest()
    return headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


def test_an_event_is_sent_until_delivered_with_one_id(inbox: Inbox, home: Path) -> None:
    inbox.statuses = [500, 307]
    with serving(inbox) as client:
        job = client.post("/v1/jobs", content=FEW, params={"name": "whining.jsonl"}).json()
        wait_for(lambda: load_job(job["id"], home / "api-jobs").record.webhook == "delivered")
        metrics = client.get("/metrics").text
    assert inbox.ids() == [f"{job['id']}_done"] * 3
    assert len({body for _, body in inbox.got}) == 1
    assert all(is_signed(headers, body) for headers, body in inbox.got)
    headers, body = inbox.got[-1]
    assert not is_signed(headers, body + b" ")
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < WAIT_S
    event = json.loads(body)
    assert (event["type"], event["data"]["url"]) == ("job.done", f"/v1/jobs/{job['id']}")
    n = sum(event["data"][status] for status in ("scored", "failed", "not_judged"))
    assert n == FEW.count(b"\n")
    assert set(event["data"]["findings"]) <= {"S1", "S2", "S3", "S4"}
    assert b"whining" not in body
    assert 'dialint_webhooks_total{outcome="failed"} 2.0' in metrics
    assert 'dialint_webhooks_total{outcome="delivered"} 1.0' in metrics
    assert "dialint_webhooks_waiting 0.0" in metrics


def test_a_job_that_fails_is_announced_by_its_error_alone(inbox: Inbox) -> None:
    with serving(inbox) as client:
        client.post("/v1/jobs", content=b"no log", params={"name": "log.jsonl"})
        wait_for(lambda: inbox.got)
    event = json.loads(inbox.got[0][1])
    assert event["type"] == "job.failed"
    assert event["data"]["error"].startswith("E_")


def test_one_that_nobody_takes_is_dropped_after_days(
    inbox: Inbox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "GIVE_UP_S", 0.0)
    inbox.statuses = [410]
    with serving(inbox) as client:
        job = client.post("/v1/jobs", content=b"no log").json()
        wait_for(lambda: load_job(job["id"], home / "api-jobs").record.webhook == "dropped")
    assert len(inbox.got) == 1


def test_a_kill_between_the_end_of_a_job_and_its_delivery_loses_nothing(
    inbox: Inbox, home: Path, free_port: int
) -> None:
    inbox.statuses = [503] * 1000
    with api_process(free_port, "--webhook", inbox.url) as (client, start):
        server = start()
        job = client.post("/v1/jobs", content=b"no log").json()
        wait_for(lambda: inbox.got)
        server.kill()
        server.wait()
        inbox.statuses.clear()
        n_before = len(inbox.got)
        start()
        wait_for(lambda: load_job(job["id"], home / "api-jobs").record.webhook == "delivered")
        assert inbox.ids() == [f"{job['id']}_failed"] * (n_before + 1)


def test_invalid_urls_and_secrets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(url: str, file: Path | None = None) -> str:
        with pytest.raises(ConfigError) as error:
            Receiver.of(url, file)
        return error.value.message

    for url in ("ftp://x/", "file:///etc/passwd", "https://user:pw@x/", "/hooks", "http://"):
        assert "--webhook: expected http" in refused(url)
    short = tmp_path / "short"
    short.write_text("c2hvcnQ=\n")
    assert "24 bytes" in refused("https://x/", short)
    monkeypatch.delenv("DIALINT_WEBHOOK_SECRET")
    assert "openssl rand" in refused("https://x/")
    short.write_text(SECRET + "\n")
    assert "123" not in repr(Receiver.of("https://x/", short).url)


def test_the_same_request_makes_one_job(inbox: Inbox) -> None:
    with serving(inbox) as client:
        send: Callable[..., Any] = lambda key, **headers: client.post(  # noqa: E731
            "/v1/jobs", content=b"no log", headers={"idempotency-key": key, **headers}
        ).json()["id"]
        assert send("a") == send("a") != send("b")
        assert send("a", **bearer("other")) != send("a")
