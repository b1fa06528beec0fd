"""Bodies of requests and responses of the HTTP API, except verdicts."""

from __future__ import annotations

from pydantic import JsonValue

from dialint.app.scoring.background import State
from dialint.detector.records import Record, Verdict


class TurnsRequest(Record):
    """A dialogue so far, in the shape of a log, and `known` of the response before."""

    dialogue: dict[str, JsonValue]
    known: tuple[str, ...] = ()


class TurnsResponse(Record):
    """The verdict on the dialogue so far with only the findings and suggestions that are not `known` yet;
    `known` for the next request, and what of it no longer stands."""

    verdict: Verdict
    known: tuple[str, ...]
    withdrawn: tuple[str, ...]


class JobResponse(Record):
    """The state of a job: the number of scored dialogues, and the error of a failed one."""

    id: str
    name: str
    state: State
    scored: int
    error: str | None = None


class Problem(Record):
    """Why a request was refused (RFC 9457)."""

    status: int
    code: str
    detail: str
    request_id: str
