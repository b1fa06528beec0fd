"""A client of the HTTP API (`dialint serve api`); it needs httpx2, which the extra ``serve`` brings.

    from dialint.client import Client

    with Client("https://dialint.example", key) as client:
        turns = [{"role": "agent", "text": "Dear {{name}}, no."}]
        verdict = client.score({"dialogue_id": "1", "turns": turns})

A dialogue is an object of a log, in any format that `dialint score` reads. Transient failures (429, 503, no
response) are retried; requests are idempotent. Other failures are raised as an `ApiError`.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from dialint.app.serving.api_records import JobResponse, TurnsResponse
from dialint.detector.artifacts import atomic_file
from dialint.detector.errors import DialintError
from dialint.detector.records import Record, Verdict

T = TypeVar("T")

RETRIED = (429, 503)
"""Statuses of transient failures."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
"""Bounds of the waits between attempts, which double at most."""


class ApiError(DialintError):
    """A request was refused, or there was no response (`status` 0). `code` is dialint's error code;
    `request_id` is in the server's log."""

    exit_code = 3

    def __init__(self, status: int, code: str, detail: str, request_id: str = "") -> None:
        super().__init__(code, "{detail}", detail=detail)
        self.status, self.request_id = status, request_id


class Rejected(Record):
    """A rejected record: the path in it, what was found there, and what was expected."""

    code: str
    path: str = ""
    found: str = ""
    expected: str = ""
    dialogue_id: str | None = None


class Client:
    """A client of the API at `url`. Each request is attempted up to `tries` times with a timeout of
    `timeout_s` seconds. Tests pass their own `http`."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        tries: int = 5,
        timeout_s: float = 60.0,
        http: httpx2.Client | None = None,
    ) -> None:
        self._http = http or httpx2.Client(base_url=url, timeout=timeout_s)
        self._headers = {"authorization": f"Bearer {key}"}
        self._tries = tries

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def score(self, dialogue: Mapping[str, Any], *, all_probabilities: bool = False) -> Verdict:
        """Return the verdict on one dialogue."""
        params = {"all_probabilities": all_probabilities}
        body = self._ask("POST", "/v1/score", content=_encode([dialogue]), params=params)
        return Verdict.model_validate_json(body)

    def score_many(
        self,
        dialogues: Iterable[Mapping[str, Any]],
        *,
        all_probabilities: bool = False,
        batch_size: int = 100,
    ) -> Iterator[Verdict | Rejected]:
        """Yield the result of each dialogue, in order. A request has `batch_size` dialogues; a dialogue that
        occurs twice in it has one result."""
        params, left = {"all_probabilities": all_probabilities}, iter(dialogues)
        while batch := list(islice(left, batch_size)):
            yield from self._score_batch(batch, params)

    def _score_batch(
        self, batch: list[Mapping[str, Any]], params: Mapping[str, bool]
    ) -> Iterator[Verdict | Rejected]:
        try:
            body = self._ask("POST", "/v1/score", content=_encode(batch), params=params)
        except ApiError as error:
            if error.status != 422:
                raise
            if len(batch) == 1:
                yield Rejected(code=error.code, found=error.message)
                return
            for dialogue in batch:  # all were rejected
                yield from self._score_batch([dialogue], params)
        else:
            for line in filter(None, body.split(b"\n")):
                content = json.loads(line)
                if content["status"] == "rejected":
                    yield Rejected(**{name: content[name] for name in Rejected.model_fields})
                else:
                    yield Verdict.model_validate_json(line)

    def turns(self, dialogue: Mapping[str, Any], known: Iterable[str] = ()) -> TurnsResponse:
        """Return the new findings in a dialogue so far; `known` is that of the previous response."""
        content = json.dumps({"dialogue": dialogue, "known": list(known)}).encode()
        return TurnsResponse.model_validate_json(self._ask("POST", "/v1/turns", content=content))

    def codes(self) -> dict[str, Any]:
        """Return the taxonomy, the release, and the codes with their coverage."""
        content: dict[str, Any] = json.loads(self._ask("GET", "/v1/codes"))
        return content

    def start_job(self, log: Path, *, all_probabilities: bool = False) -> JobResponse:
        """Score a log of any size in the background."""
        headers = {"idempotency-key": uuid.uuid4().hex}
        params = {"name": log.name, "all_probabilities": all_probabilities}

        def start() -> JobResponse:
            with (
                log.open("rb") as file,
                self._send("POST", "/v1/jobs", content=file, params=params, headers=headers) as response,
            ):
                return JobResponse.model_validate_json(response.read())

        return self._retry(start)

    def job(self, job_id: str) -> JobResponse:
        """Return the state of a job."""
        return JobResponse.model_validate_json(self._ask("GET", f"/v1/jobs/{job_id}"))

    def wait(self, job_id: str, timeout_s: float = 86400.0) -> JobResponse:
        """Return a job when it is done or failed, or its state after `timeout_s` seconds."""
        end_s, wait_s = time.monotonic() + timeout_s, FIRST_WAIT_S
        while (job := self.job(job_id)).state not in ("done", "failed") and time.monotonic() < end_s:
            time.sleep(wait_s)
            wait_s = min(1.5 * wait_s, 10.0)
        return job

    def download(self, job_id: str, name: str, path: Path) -> None:
        """Save a result of a finished job, such as ``verdicts.jsonl``, to a file with mode 0600."""

        def save() -> None:
            place = f"/v1/jobs/{job_id}/files/{name}"
            with self._send("GET", place) as response, atomic_file(path) as file:
                for part in response.iter_bytes():
                    file.write(part)

        self._retry(save)

    def delete_job(self, job_id: str) -> None:
        """Stop a job, if it runs, and delete its log and results."""
        n_tries = 0

        def delete() -> None:
            nonlocal n_tries
            n_tries += 1
            try:
                with self._send("DELETE", f"/v1/jobs/{job_id}"):
                    pass
            except ApiError as error:
                if error.status != 404 or n_tries == 1:  # else an earlier attempt has deleted it
                    raise

        self._retry(delete)

    def _ask(self, method: str, path: str, **options: Any) -> bytes:
        """Return the body of the response, with retries."""

        def ask() -> bytes:
            with self._send(method, path, **options) as response:
                return response.read()

        return self._retry(ask)

    def _retry(self, send: Callable[[], T]) -> T:
        n_failed = 0
        while True:
            try:
                return send()
            except ApiError as error:
                n_failed += 1
                if n_failed >= self._tries or error.status not in (0, *RETRIED):
                    raise
                wait_s = min(FIRST_WAIT_S * 2 ** (n_failed - 1), LONGEST_WAIT_S)
                time.sleep(wait_s * random.uniform(0.5, 1))

    @contextmanager
    def _send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> Iterator[httpx2.Response]:
        """Send one request.

        Raises:
            ApiError: it was refused, or the connection failed, also while reading the response.
        """
        try:
            with self._http.stream(
                method, path, headers={**self._headers, **(headers or {})}, **options
            ) as response:
                if not response.is_success:
                    response.read()
                    raise _error(response)
                yield response
        except httpx2.TransportError as error:
            raise ApiError(0, "E_SERVER", f"no answer ({type(error).__name__})") from None


def _encode(dialogues: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in dialogues)


def _error(response: httpx2.Response) -> ApiError:
    """Return the error of a refusal; that of a proxy is no problem+json."""
    try:
        content = response.json()
        return ApiError(response.status_code, content["code"], content["detail"], content["request_id"])
    except (ValueError, LookupError, TypeError):
        return ApiError(response.status_code, f"E_HTTP_{response.status_code}", response.reason_phrase)
