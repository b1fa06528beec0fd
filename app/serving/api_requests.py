"""The handling of every request to the HTTP API: ids, limits, its body, errors as problem+json (RFC 9457),
and a line of JSON on standard error at its end, without paths, keys and texts of dialogues.

The routes are in `dialint.app.serving.api`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from opentelemetry import trace
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from dialint.detector.errors import (
    ConfigError,
    DialintError,
    InputRefused,
    Message,
    WorldError,
    describe_defect,
)
from dialint.detector.ingest.outcomes import without_hints

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.types import Message as Event

    from dialint.app.scoring.metrics import ApiMetrics

BODY_S = 20.0
MIN_BYTES_PER_S = 50_000
"""Time limit of a body: `BODY_S`, and a second for each `MIN_BYTES_PER_S` of it."""
SEND_S = 60.0
"""Time limit for a client to receive each part of a response."""
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
STATUS = {
    "E_KEY": 401, "E_SCOPE": 403, "E_NOT_FOUND": 404, "E_SLOW": 408, "E_JOB": 409, "E_BODY_SIZE": 413,
    "E_LINE_SIZE": 413, "E_RECORD_SIZE": 413, "E_TURN_SIZE": 413, "E_TURNS": 413, "E_EXPANSION": 413,
    "E_BUSY": 429,
}  # fmt: skip
"""HTTP status by error code. Other user errors are 422, other errors of the environment 503."""
HEADERS = {401: {"www-authenticate": "Bearer"}, 429: {"retry-after": "1"}}


def write_log(**fields: object) -> None:
    """Write a line of JSON on standard error."""
    line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **fields}
    with suppress(OSError):  # the reader of the log is gone
        sys.stderr.write(json.dumps(line) + "\n")


class LogHandler(logging.Handler):
    """Writes log records of libraries by `write_log`, the message template without its values."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        write_log(message=str(record.msg).strip(), **({"defect": describe_defect(error)} if error else {}))


def without_paths(text: Message) -> str:
    """Return a message for a client, with the last component only of each path."""
    values = {
        name: without_paths(value)
        if isinstance(value, Message)
        else PurePath(value).name
        if isinstance(value, PurePath) or (isinstance(value, str) and value.startswith("/"))
        else value
        for name, value in text.values.items()
    }
    return str(Message(text.template, **values))


def problem(
    state: dict[str, Any], status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response to a refused request, and set its error code for the log."""
    state["error"] = code
    content = {"status": status, "code": code, "detail": detail, "request_id": state["request_id"]}
    body = json.dumps(content).encode()
    return Response(body, status, headers or HEADERS.get(status), "application/problem+json")


async def answer_error(request: Request, error: Exception) -> Response:
    """Return the response to an expected error."""
    state = request.scope["state"]
    if isinstance(error, DialintError):
        status = STATUS.get(error.code, 503 if isinstance(error, WorldError) else 422)
        return problem(state, status, error.code, without_paths(without_hints(error.text)))
    if isinstance(error, RequestValidationError):
        places = ", ".join(".".join(map(str, each["loc"])) + f": {each['type']}" for each in error.errors())
        return problem(state, 422, "E_OPTION", places[:500])
    assert isinstance(error, HTTPException)
    code = f"E_HTTP_{error.status_code}"
    return problem(state, error.status_code, code, str(error.detail), error.headers)


def handle_errors(app: FastAPI) -> None:
    for kind in (DialintError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer_error)


async def iterate_body(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the parts of the body.

    Raises:
        InputRefused: E_BODY_SIZE, it is too large; E_SLOW, it comes too slowly.
    """
    n_bytes, started_s, parts = 0, time.monotonic(), request.stream()
    declared = request.headers.get("content-length", "")
    while True:
        if n_bytes > max_bytes or (declared.isdigit() and int(declared) > max_bytes):
            raise InputRefused("E_BODY_SIZE", "at most {n} bytes in one request", n=max_bytes)
        left_s = BODY_S + n_bytes / MIN_BYTES_PER_S - (time.monotonic() - started_s)
        try:
            async with asyncio.timeout(left_s):
                part = await anext(parts, None)
        except TimeoutError:
            raise InputRefused("E_SLOW", "the body did not come in time") from None
        if part is None:
            return
        n_bytes += len(part)
        yield part


@dataclass
class RequestMiddleware:
    """The ASGI middleware of all routes. At most `max_requests` under ``/v1`` run at once."""

    app: ASGIApp
    max_requests: int
    metrics: ApiMetrics
    n_running: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        own = next(
            (value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), ""
        )
        request_id = own if REQUEST_ID.fullmatch(own) else uuid.uuid4().hex
        state = scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        attributes = {"dialint.request_id": request_id, "url.path": "", "url.query": ""}
        trace.get_current_span().set_attributes(attributes)  # a path may contain any text
        status, started_s = 0, time.perf_counter()

        async def send_with_id(message: Event) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                headers["x-content-type-options"], headers["cache-control"] = "nosniff", "no-store"
            try:
                async with asyncio.timeout(SEND_S):
                    await send(message)
            except TimeoutError:
                state["error"] = "E_SLOW"
                raise ClientDisconnect from None

        sizes = {name for name, _ in scope["headers"]} & {b"content-length", b"transfer-encoding"}
        is_limited = scope["path"].startswith("/v1/")
        self.n_running += is_limited
        self.metrics.n_running.set(self.n_running)
        try:
            if len(sizes) > 1:  # a proxy may see the end of this request elsewhere (RFC 9112, 6.1)
                refused = HTTPException(400, "two lengths", {"connection": "close"})
                await (await answer_error(Request(scope), refused))(scope, receive, send_with_id)
            elif is_limited and self.n_running > self.max_requests:
                busy = ConfigError("E_BUSY", "{n} requests are running", n=self.max_requests)
                await (await answer_error(Request(scope), busy))(scope, receive, send_with_id)
            else:
                await self.app(scope, receive, send_with_id)
        except ClientDisconnect:
            status = status or 499
        except Exception as error:  # noqa: BLE001  its text may be a dialogue's: only the location is logged
            await self._answer_defect(error, state, is_started=bool(status))(scope, receive, send_with_id)
        finally:
            self.n_running -= is_limited
            self.metrics.n_running.set(self.n_running)
            passed_s, route = time.perf_counter() - started_s, state.get("route", "")
            self.metrics.seconds.labels(route, status).observe(passed_s)
            facts = {name: state[name] for name in ("key", "error", "defect") if name in state}
            write_log(
                id=request_id, method=scope["method"], route=route, status=status,
                ms=round(1000 * passed_s, 1), **facts,
            )  # fmt: skip

    def _answer_defect(self, error: Exception, state: dict[str, Any], *, is_started: bool) -> Response:
        state["defect"] = describe_defect(error.__cause__ or error)  # starlette wraps errors after the start
        if is_started:
            state["error"] = "E_INTERNAL"
            raise ConnectionError("the response ended early: see the log") from None
        return problem(state, 500, "E_INTERNAL", "a defect of dialint; its log says where")
