"""The HTTP API by starlette's client, with the checks alone, and once as a process that is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from api_client import CONFIG, LINES, RUDE, SAMPLE, api_process, bearer, make_key, record
from patience import WAIT_S, wait_for
from starlette.requests import Request
from starlette.testclient import TestClient

from dialint.app.cli import app as command_line
from dialint.app.scoring.background import ScoreOptions, create_job
from dialint.app.serving import api_requests
from dialint.app.serving.api import CHUNK_SIZE, create_app, score_arguments
from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.api_keys import create_key, keys_path, revoke_key
from dialint.app.serving.api_requests import LogHandler, RequestMiddleware
from dialint.client import Client
from dialint.detector.artifacts import write_json
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.suspicions import PreparedDialogue, Suspicion, SuspicionFinder
from dialint.detector.watchdog import WatchedDetector


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    with TestClient(create_app(CONFIG), raise_server_exceptions=False) as client:
        client.headers.update(bearer())
        yield client


def test_verdicts_equal_those_of_the_command_by_lines_and_as_a_job(
    client: TestClient, tmp_path: Path
) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    log.write_bytes(b"".join(LINES[: CHUNK_SIZE + 8]))
    command_line(["score", str(log), "--scan", "off", "--dialogue-seconds", "0", "--quiet", "--out", str(out)],
                 result_action="return_value")  # fmt: skip
    response = client.post("/v1/score", content=log.read_bytes())
    assert response.headers["content-type"] == "application/x-ndjson"
    assert response.content == out.read_bytes()
    job = client.post("/v1/jobs", content=log.read_bytes(), params={"name": "../log.jsonl"})
    assert (job.status_code, job.json()["name"]) == (202, "log.jsonl")
    place = f"/v1/jobs/{job.json()['id']}"
    wait_for(lambda: client.get(place).json()["state"] in ("done", "failed"))
    assert client.get(place).json() | {"id": ""} == {
        "id": "", "name": "log.jsonl", "state": "done", "error": None, "scored": out.read_bytes().count(b"\n"),
    }  # fmt: skip
    assert client.get(f"{place}/files/verdicts.jsonl").content == out.read_bytes()
    assert client.get(f"{place}/files/job.json").status_code == 404
    assert client.get(place, headers=bearer("other")).status_code == 404
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


def test_a_growing_dialogue_gets_what_is_new_and_what_no_longer_stands(client: TestClient) -> None:
    body = {"dialogue": record("Where is it?", RUDE)}
    first = client.post("/v1/turns", json=body).json()
    assert [each["code"] for each in first["verdict"]["findings"]] == ["M2"]
    longer = record("Where is it?", RUDE, "Hello?", "Please hold on.")
    body = {"dialogue": longer, "known": [*first["known"], "f:T1:0:0:1"]}
    again = client.post("/v1/turns", json=body).json()
    assert again["verdict"]["findings"] == []
    assert set(again["known"]) >= {name for name in first["known"] if name.startswith("f")}
    assert "f:T1:0:0:1" in again["withdrawn"]


def test_personal_data_are_masked_and_neither_texts_nor_keys_are_logged(
    client: TestClient, capfd: pytest.CaptureFixture[str]
) -> None:
    dialogue = record("I am jane.doe@example.org", f"Write to jane.doe@example.org. {RUDE}")
    response = client.post("/v1/score", json=dialogue, headers={"x-request-id": "r-1"})
    assert response.json()["findings"]
    assert "jane.doe" not in response.text
    assert response.headers["x-request-id"] == "r-1"
    client.get("/v1/jobs/whining", headers={"x-request-id": "bad id"})
    log = capfd.readouterr().err
    lines = [json.loads(line) for line in log.splitlines()]
    assert [(each["route"], each["status"], each["key"]) for each in lines] == [
        ("/v1/score", 200, "nora"), ("/v1/jobs/{job_id}", 404, "nora"),
    ]  # fmt: skip
    assert not [word for word in ("jane", "whining", "dialint_") if word in log]


def test_keys_have_scopes_expire_and_are_revoked_at_once(client: TestClient, home: Path) -> None:
    def status(headers: dict[str, str]) -> tuple[int, str]:
        response = client.get("/v1/codes", headers=headers)
        return response.status_code, response.json().get("code", "")

    assert status({}) == (200, "")
    assert status({"authorization": "Bearer wrong"}) == (401, "E_KEY")
    assert status({"authorization": ""}) == (401, "E_KEY")
    assert status(bearer("late", days=-1)) == (401, "E_KEY")
    assert status(bearer("jobs", "jobs")) == (403, "E_SCOPE")
    assert client.get("/metrics").text.count("dialint_request_seconds_count")
    assert keys_path(None).stat().st_mode & 0o777 == 0o600
    assert client.headers["authorization"].split()[1] not in keys_path(None).read_text()
    revoke_key(keys_path(None), "nora")
    assert status({}) == (401, "E_KEY")


def test_the_example_of_the_page_runs(client: TestClient) -> None:
    page = (SAMPLE.parents[2] / "docs/howto/serve_the_api.md").read_text()
    [example] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "serve_the_api.md", "exec"), names)
    verdicts = names["ask"](Client("", make_key(), http=client))
    assert [[each.code for each in verdict.findings] for verdict in verdicts] == [["M2"], ["M2"], []]


HOSTILE = [
    b"", b"{", b"null", b"[]", b"\xff\xfe", b"\x1f\x8b\x08bad", b"NaN", b'"\\ud800"', b"[" * 100_000,
    b'{"dialogue_id": "a", "turns": [{"role": "agent", "text": "\\ud800"}]}',
    b'{"dialogue_id": "\\ud800", "turns": [{"role": "agent", "text": "x"}]}',
    b'{"dialogue_id": "a", "turns": [{"role": "agent", "text": "x", "at": NaN}], "metadata": {"x": NaN}}',
    b'{"dialogue_id": "a", "turns": [{"role": "king", "text": "x"}]}',
    b'{"dialogue_id": "a", "turns": [{"role": "agent", "text": "hello"}], "unknown": 1}',
    b'{"dialogue_id": "a", "turns": ' + json.dumps([{"role": "agent", "text": "hi"}] * 6000).encode() + b"}",
    b'{"dialogue": {"dialogue_id": "a", "turns": []}, "unknown": 1}', b'{"dialogue": {"x": 1e999}}',
    b"x" * 1_000_001,
]  # fmt: skip


def test_no_body_and_no_method_makes_a_server_error(client: TestClient) -> None:
    """Every operation of the schema, with bodies that are wrong in all ways that a log can be."""
    schema = client.get("/openapi.json").json()
    codes = set()
    for path, method, body in product(schema["paths"], ("GET", "POST", "PUT", "DELETE"), HOSTILE):
        if path == "/v1/jobs" and len(body) < 1_000_000:
            continue  # takes any bytes: what is wrong with them, the job says
        place = path.replace("{job_id}", "0123456789abcdef").replace("{name}", "..%2f")
        response = client.request(method, place, content=body)
        assert response.status_code < 500, (method, path, body[:60], response.text)
        if response.status_code >= 400:
            assert response.headers["content-type"] == "application/problem+json"
            codes.add((response.status_code, response.json()["code"]))
    assert {(413, "E_TURNS"), (413, "E_BODY_SIZE"), (422, "E_SURROGATE")} <= codes
    assert {(404, "E_NOT_FOUND"), (405, "E_HTTP_405")} <= codes
    lengths = {"content-length": "0", "transfer-encoding": "chunked"}
    smuggling = client.post("/v1/score", content=b"", headers=lengths)
    assert (smuggling.status_code, smuggling.headers["connection"]) == (400, "close")


def test_a_bad_record_and_a_defect_cost_their_own_dialogues(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    find = SuspicionFinder.find

    def break_on_b(self: SuspicionFinder, case: PreparedDialogue) -> dict[tuple[int, str], list[Suspicion]]:
        if case.dialogue.id == "b":
            raise KeyError(case.dialogue.turns[0].text)
        return find(self, case)

    monkeypatch.setattr(SuspicionFinder, "find", break_on_b)
    lines = [json.dumps(record("Hi", RUDE, name=name)) for name in "abc"]
    response = client.post("/v1/score", content="\n".join([*lines[:2], '{"dialogue_id": 1}', lines[2]]))
    answers = [json.loads(line) for line in response.text.splitlines()]
    assert [each["status"] for each in answers] == ["scored", "failed", "rejected", "scored"]
    assert (answers[1]["failure"], answers[2]["line"]) == ("E_INTERNAL", 3)
    log = capfd.readouterr().err
    assert "KeyError at test_api.py" in log
    assert "Hi" not in log


def test_slow_bodies_and_too_many_requests_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def receive() -> Any:
        await asyncio.sleep(WAIT_S)

    async def read_slow_body() -> None:
        async for _ in api_requests.iterate_body(Request({"type": "http", "headers": []}, receive), 9):
            pass

    monkeypatch.setattr(api_requests, "BODY_S", 0.05)
    with pytest.raises(InputRefused, match="E_SLOW"):
        asyncio.run(read_slow_body())
    config = replace(CONFIG)
    object.__setattr__(config, "max_requests", 0)
    with TestClient(create_app(config)) as client:
        response = client.get("/v1/codes", headers=bearer())
        assert (response.status_code, response.json()["code"]) == (429, "E_BUSY")
        assert response.headers["retry-after"] == "1"
        assert client.get("/health").status_code == 200


def test_jobs_get_the_options_of_the_server() -> None:
    detector = DetectorConfig(release=Path("current"), policy=(Path("/a"), Path("/b")), threads=2)
    config = ApiConfig(detector=detector, read=ReadConfig(format="csv", strip=False))
    words = score_arguments(config)
    expected = "--input-format=csv --strip=false --release=current --threads=2 --policy=/a --policy=/b"
    assert " ".join(words) == expected
    _, bound, _ = command_line.parse_args(["score", "log", *words], print_error=False, exit_on_error=False)
    assert (bound.arguments["config"].detector, bound.arguments["config"].read) == (detector, config.read)


def test_sigterm_loses_nothing(home: Path, free_port: int) -> None:
    """A request that runs is answered, a job that runs goes on at the next start, by the watched process."""
    many = b"".join(line.replace(b'_id": "', b'_id": "%d-' % n, 1) for n in range(2) for line in LINES)
    with api_process(free_port) as (client, start):
        server = start()
        job = client.post("/v1/jobs", content=many).json()
        with client.stream("POST", "/v1/score", content=many) as response:
            parts = response.iter_bytes()
            body = next(parts)
            server.send_signal(signal.SIGTERM)
            body += b"".join(parts)
        assert body.count(b"\n") == many.count(b"\n")
        assert server.wait(WAIT_S) == 0
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", free_port)).close()
        server = start()
        place = f"/v1/jobs/{job['id']}"
        wait_for(lambda: client.get(place).json()["state"] in ("done", "failed"))
        assert client.get(f"{place}/files/verdicts.jsonl").content == body
        started_s = time.monotonic()
        server.send_signal(signal.SIGTERM)
        assert server.wait(WAIT_S) == 0
        assert time.monotonic() - started_s < api_requests.BODY_S + 40


def test_a_detector_is_used_by_one_thread_from_its_load_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that two threads read gives each the message for the other; a process ends with the thread that
    started it."""
    users: set[str] = set()
    start = WatchedDetector._start

    def note(self: WatchedDetector, place: int = 0) -> Any:
        users.add(threading.current_thread().name)
        return start(self, place)

    config = ApiConfig(detector=DetectorConfig(scan="off"))
    with TestClient(create_app(config), headers=bearer()) as api:
        monkeypatch.setattr(WatchedDetector, "_start", note)
        for path in ("/ready", "/v1/codes"):
            assert api.get(path).status_code == 200
        for path, body in {"/v1/score": record(RUDE), "/v1/turns": {"dialogue": record(RUDE)}}.items():
            assert api.post(path, json=body).status_code == 200
    assert users == {"detector_0"}


def test_a_killed_server_leaves_no_process_and_no_log_and_a_running_job_is_deleted_at_once(
    home: Path, free_port: int
) -> None:
    jobs = home / "api-jobs"
    many = b"".join(line.replace(b'_id": "', b'_id": "%d-' % n, 1) for n in range(10) for line in LINES)
    with api_process(free_port) as (api, start):

        def scored() -> int:
            job = api.get(place).json()
            assert job["state"] in ("waiting", "running", "done")
            return int(job["scored"])

        server = start()
        place = f"/v1/jobs/{api.post('/v1/jobs', content=many).json()['id']}"
        wait_for(scored)
        before = scored()
        server.kill()
        server.wait()
        (jobs / ("0" * 16) / "log").mkdir(parents=True)
        server = start()
        wait_for(lambda: scored() > before)
        assert not (jobs / ("0" * 16)).exists()
        started_s = time.monotonic()
        assert api.delete(place).status_code == 204
        assert time.monotonic() - started_s < 5
        assert api.get(place).status_code == 404
        wait_for(lambda: not list(jobs.iterdir()))
        server.send_signal(signal.SIGTERM)
        assert server.wait(WAIT_S) == 0


def test_a_problem_has_a_status_and_no_paths_of_the_server(client: TestClient, home: Path) -> None:
    job = create_job(home / "api-jobs" / ("a" * 16), "nora", "log.jsonl", b"")
    job.update(options=ScoreOptions())
    why = {"template": "{path}: {why}", "values": {"path": "/srv/secret/policy.yaml", "why": "gone"}}
    write_json(job.error, {"code": "E_POLICY", "message": why})
    assert client.get(f"/v1/jobs/{job.id}").json()["error"] == "E_POLICY: policy.yaml: gone"

    def refuse(method: str, path: str) -> tuple[int, str]:
        response = client.request(method, path)
        assert response.headers["content-type"] == "application/problem+json"
        assert str(home) not in response.text
        return response.status_code, response.json()["code"]

    assert refuse("GET", f"/v1/jobs/{job.id}/files/job.json") == (404, "E_NOT_FOUND")
    assert refuse("GET", f"/v1/jobs/{job.id}/files/verdicts.jsonl") == (409, "E_JOB")
    assert "dialint" not in client.post("/v1/score", content=b"nonsense").json()["detail"]
    assert client.delete("/v1/codes").headers["allow"] == "GET"
    assert "#/$defs" not in client.get("/openapi.json").text
    for method in client.get("/openapi.json").json()["paths"].values():
        for operation in method.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]
    keys_path(None).write_text('[{"name": "nora"}]')
    assert refuse("GET", "/v1/codes") == (503, "E_READ")


def test_one_server_runs_the_jobs_of_a_folder(client: TestClient) -> None:
    with pytest.raises(OutputRefused, match="E_LOCKED"):
        create_app(CONFIG)


@pytest.mark.parametrize(("name", "scopes"), [(" ", ("score",)), ("nora", ())])
def test_a_key_has_a_name_and_may_do_something(home: Path, name: str, scopes: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError, match="E_OPTION"):
        create_key(keys_path(None), name, scopes, 1)


def test_who_takes_no_response_loses_its_place(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def take_nothing(message: Any) -> None:
        await asyncio.sleep(WAIT_S)

    monkeypatch.setattr(api_requests, "SEND_S", 0.05)
    middleware = RequestMiddleware(app, 1, MagicMock())
    scope = {"type": "http", "path": "/v1/score", "method": "POST", "headers": []}
    asyncio.run(middleware(scope, take_nothing, take_nothing))  # type: ignore[arg-type]
    assert middleware.n_running == 0
    assert json.loads(capfd.readouterr().err)["error"] == "E_SLOW"


def test_what_libraries_log_is_json_without_values(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        raise KeyError("jane")
    except KeyError:
        info = sys.exc_info()
    LogHandler().emit(logging.LogRecord("uvicorn", 40, "", 1, "No %s.\n", ("jane",), info))
    line = json.loads(capfd.readouterr().err)
    assert (line["message"], line["defect"].split()[0]) == ("No %s.", "KeyError")
    assert "jane" not in str(line)
