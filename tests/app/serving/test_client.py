"""`dialint.client` against the real application, and against one that fails as networks do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from api_client import CONFIG, FEW, RUDE, make_key, record
from patience import wait_for
from starlette.testclient import TestClient

from dialint import client as client_module
from dialint.app.serving.api import create_app
from dialint.client import ApiError, Client, Rejected
from dialint.detector.records import Verdict

LINE_SEPARATOR = "\u2028"
"""Ends a line for Python, and none of NDJSON."""


@pytest.fixture
def http(home: Path) -> Iterator[TestClient]:
    with TestClient(create_app(CONFIG), raise_server_exceptions=False) as http:
        yield http


@pytest.fixture
def client(http: TestClient) -> Client:
    return Client("", make_key(), http=http)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "FIRST_WAIT_S", 0.001)


class Faulty(httpx2.BaseTransport):
    """Passes requests on to the application, after the faults that come first."""

    def __init__(
        self, inner: TestClient, faults: list[Callable[[httpx2.Response], httpx2.Response] | int]
    ) -> None:
        self.inner, self.faults = inner, faults
        self.requests: list[httpx2.Request] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        content = request.read()
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, int):
            return httpx2.Response(fault, text="a proxy's page")
        answered = self.inner.request(
            request.method, str(request.url).removeprefix("http://faulty"), content=content,
            headers=dict(request.headers),
        )  # fmt: skip
        response = httpx2.Response(answered.status_code, headers=answered.headers, content=answered.content)
        return fault(response) if fault else response


def faulty(http: TestClient, *faults: Any) -> tuple[Client, Faulty]:
    transport = Faulty(http, list(faults))
    inner = httpx2.Client(transport=transport, base_url="http://faulty")
    return Client("", make_key(), http=inner), transport


def lose(response: httpx2.Response) -> httpx2.Response:
    """The request arrived and had its effect; the response is lost."""
    raise httpx2.ReadError("lost")


def cut(response: httpx2.Response) -> httpx2.Response:
    """The connection breaks after the first 1,000 bytes."""

    def parts() -> Iterator[bytes]:
        yield response.content[:1000]
        raise httpx2.RemoteProtocolError("cut")

    return httpx2.Response(response.status_code, content=parts())


def test_verdicts_are_those_of_the_server(client: Client, http: TestClient) -> None:
    verdict = client.score(record("Where is it?", RUDE))
    assert isinstance(verdict, Verdict)
    assert [finding.code for finding in verdict.findings] == ["M2"]
    dialogues = [json.loads(line) for line in FEW.splitlines()]
    results = list(client.score_many(dialogues, batch_size=1000))
    assert [each.dialogue_id for each in results] == [each["dialogue_id"] for each in dialogues]
    headers = {"authorization": client._headers["authorization"]}
    lines = http.post("/v1/score", content=FEW, headers=headers).text.split("\n")
    assert results == [Verdict.model_validate_json(line) for line in lines if line]
    assert client.score(record("Hi", RUDE), all_probabilities=True).probabilities is not None
    assert "M2" in [code["code"] for code in client.codes()["codes"]]


def test_many_are_sent_in_batches_and_each_bad_record_has_its_own_result(client: Client) -> None:
    dialogues = [record("Hi", f"{RUDE}{LINE_SEPARATOR}Bye.", name="a"), {"dialogue_id": "b"}, {"turns": 1}]
    results = list(client.score_many(dialogues, batch_size=2))
    assert [type(each) for each in results] == [Verdict, Rejected, Rejected]
    assert list(client.score_many([])) == []
    with pytest.raises(ApiError) as refused:
        client.score({"turns": 1})
    assert (refused.value.status, refused.value.code[:2]) == (422, "E_")
    assert len(refused.value.request_id) == 32


def test_turns_of_a_growing_dialogue(client: Client) -> None:
    first = client.turns(record("Where is it?", RUDE))
    again = client.turns(record("Where is it?", RUDE, "Hello?", "Please hold on."), first.known)
    assert [finding.code for finding in first.verdict.findings] == ["M2"]
    assert again.verdict.findings == ()


def test_a_job_from_the_file_to_its_results(client: Client, tmp_path: Path) -> None:
    (tmp_path / "dialogues.jsonl").write_bytes(FEW)
    job = client.wait(client.start_job(tmp_path / "dialogues.jsonl").id)
    assert (job.state, job.name) == ("done", "dialogues.jsonl")
    client.download(job.id, "verdicts.jsonl", tmp_path / "v.jsonl")
    assert (tmp_path / "v.jsonl").read_bytes().count(b"\n") == job.scored == FEW.count(b"\n")
    client.delete_job(job.id)
    with pytest.raises(ApiError) as gone:
        client.job(job.id)
    assert (gone.value.status, gone.value.code) == (404, "E_NOT_FOUND")


def test_what_may_pass_is_tried_again_and_has_its_effect_once(
    http: TestClient, quick: None, tmp_path: Path
) -> None:
    client, transport = faulty(http, 503, 429, lose)
    assert client.score(record("Hi", RUDE)).findings
    assert len(transport.requests) == 4
    client, transport = faulty(http, lose, 503)
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"no log")
    job = client.start_job(log)
    assert [request.content for request in transport.requests] == [b"no log"] * 3
    transport.faults[:] = [lose]
    client.delete_job(job.id)
    jobs = tmp_path / "home" / "api-jobs"
    wait_for(lambda: not any((each / "job.json").exists() for each in jobs.iterdir()))


def test_a_stream_that_breaks_goes_on_without_repeats(http: TestClient, quick: None) -> None:
    client, transport = faulty(http, cut, lose, cut)
    dialogues = [record("Hi", RUDE, name=str(number)) for number in range(20)]
    results = list(client.score_many(dialogues))
    assert [each.dialogue_id for each in results] == [str(number) for number in range(20)]
    assert len(transport.requests) == 4


def test_what_does_not_pass_is_raised(http: TestClient, quick: None) -> None:
    client, transport = faulty(http, *[503] * 9)
    with pytest.raises(ApiError) as busy:
        client.codes()
    assert (busy.value.status, busy.value.code, len(transport.requests)) == (503, "E_HTTP_503", 5)
    client, transport = faulty(http, *[lose] * 9)
    with pytest.raises(ApiError, match="no answer"):
        list(client.score_many([record("Hi", RUDE)]))
    assert len(transport.requests) == 5
    with pytest.raises(ApiError) as refused:
        Client("", "wrong", http=http).codes()
    assert (refused.value.status, refused.value.code) == (401, "E_KEY")
