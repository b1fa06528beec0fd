"""A client of the HTTP API (`dialint serve api`); it needs httpx2, which the extra ``serve`` brings.

    from dialint.client import Client

    with Client("https://dialint.example", key) as client:
        turns = [{"role": "agent", "text": "Dear {{name}}, no."}]
        verdict = client.score({"dialogue_id": "1", "turns": turns})

A dialogue is an object of a log, in any shape that `dialint score` reads. What may pass (429, 503, no answer)
is tried again; no request has an effect twice. All else is raised as an `ApiError`.
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
"""Statuses of what may pass."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
"""Between tries; each wait is up to twice the one before."""


class ApiError(DialintError):
    """A request was refused, or nobody answered (`status` 0). `code` is dialint's; `request_id` stands in the
    server's log."""

    exit_code = 3

    def __init__(self, status: int, code: str, detail: str, request_id: str = "") -> None:
        super().__init__(code, "{detail}", detail=detail)
        self.status, self.request_id = status, request_id


class Rejected(Record):
    """A record that is no dialogue: where in it, what was found there, and what was expected."""

    code: str
    path: str = ""
    found: str = ""
    expected: str = ""
    dialogue_id: str | None = None


class Client:
    """The API at `url`. Each request is tried `tries` times, and has `timeout_s` seconds for an answer. Tests
    pass a client of `http` of their own."""

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
        """Yield the result of each dialogue, in order. `batch_size` go into one request; a dialogue that
        stands twice in it has one result."""
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
            for dialogue in batch:  # none of them can be used
                yield from self._score_batch([dialogue], params)
        else:
            yield from map(_parse_result, filter(None, body.split(b"\n")))

    def turns(self, dialogue: Mapping[str, Any], known: Iterable[str] = ()) -> TurnsResponse:
        """Return what is new in the verdict on a dialogue so far; `known` is that of the response before."""
        content = json.dumps({"dialogue": dialogue, "known": list(known)}).encode()
        return TurnsResponse.model_validate_json(self._ask("POST", "/v1/turns", content=content))

    def codes(self) -> dict[str, Any]:
        """Return the taxonomy, the release, and the codes with what the release covers."""
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
        """Return where a job stands."""
        return JobResponse.model_validate_json(self._ask("GET", f"/v1/jobs/{job_id}"))

    def wait(self, job_id: str, timeout_s: float = 86400.0) -> JobResponse:
        """Return a job when it is done or failed, or as it stands after `timeout_s` seconds."""
        end_s, wait_s = time.monotonic() + timeout_s, FIRST_WAIT_S
        while (job := self.job(job_id)).state not in ("done", "failed") and time.monotonic() < end_s:
            time.sleep(wait_s)
            wait_s = min(1.5 * wait_s, 10.0)
        return job

    def download(self, job_id: str, name: str, path: Path) -> None:
        """Save a result of a job that is done, such as ``verdicts.jsonl``, to a file that only its owner may
        read."""

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
                if error.status != 404 or n_tries == 1:  # else the try before has done it
                    raise

        self._retry(delete)

    def _ask(self, method: str, path: str, **options: Any) -> bytes:
        """Return the body of the response, after as many tries as it takes."""

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
        """One try.

        Raises:
            ApiError: it was refused, or the connection failed, also while the response is read.
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


def _parse_result(line: bytes) -> Verdict | Rejected:
    content = json.loads(line)
    if content["status"] != "rejected":
        return Verdict.model_validate_json(line)
    return Rejected(**{name: content[name] for name in Rejected.model_fields})


def _error(response: httpx2.Response) -> ApiError:
    """What a response says of why it was refused; a proxy's is no problem+json."""
    try:
        content = response.json()
        return ApiError(response.status_code, content["code"], content["detail"], content["request_id"])
    except (ValueError, LookupError, TypeError):
        return ApiError(response.status_code, f"E_HTTP_{response.status_code}", response.reason_phrase)
