"""The HTTP API: `dialint score` for programs, one dialogue, many, a growing one, or a file in the background.

    POST   /v1/score           dialogues in, one verdict a line out, in their order
    POST   /v1/turns           a dialogue so far in, new findings of its verdict out
    POST   /v1/jobs            a log of any size, scored by `dialint score` after the jobs before it
    GET    /v1/jobs/ID         state of a job; DELETE removes it with its log
    GET    /v1/jobs/ID/files/NAME       verdicts.jsonl and the other outputs of a job that is done
    GET    /v1/codes           the taxonomy, and what the release covers
    GET    /health, /ready, /metrics, /openapi.json

A body is a log as `dialint score` reads it, and gets the same verdicts. Dialogues are scored in child
processes, so that one that takes too long or too much memory fails alone. Nothing is stored except the logs
of jobs. TLS is left to a proxy.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import queue
import re
import secrets
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import IO, Annotated, Any, get_args

import anyio.to_thread
import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from fastapi.telemetry import TelemetryConfig
from pydantic import ValidationError
from starlette.responses import FileResponse, Response, StreamingResponse

from dialint.app.ports import check_port
from dialint.app.scoring.background import (
    FILES,
    KILL_S,
    Job,
    ScoreOptions,
    create_job,
    list_jobs,
    load_job,
    make_file,
    stop_all,
)
from dialint.app.scoring.metrics import ApiMetrics
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.run import resolve_scan, select_reported
from dialint.app.scoring.summary import Tally
from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.api_keys import ApiKey, KeyRing, keys_path, read_keys
from dialint.app.serving.api_records import JobResponse, Problem, TurnsRequest, TurnsResponse
from dialint.app.serving.api_requests import (
    LogHandler,
    RequestMiddleware,
    handle_errors,
    iterate_body,
    without_paths,
    write_log,
)
from dialint.app.serving.webhooks import Receiver, WebhookSender
from dialint.detector.artifacts import make_output_folder
from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused, WorldError
from dialint.detector.ingest.outcomes import Counts, Loaded, Reject
from dialint.detector.ingest.read import read
from dialint.detector.ingest.sources import spool
from dialint.detector.interface import Detector, DetectorFacts
from dialint.detector.log_profile import LogProfile, profile_log
from dialint.detector.records import Dialogue, Role, Verdict
from dialint.detector.registry import CURRENT
from dialint.detector.rollout import load_rollout
from dialint.detector.tracing import start_tracing, trace_scoring
from dialint.detector.verdict_files import verdict_line
from dialint.detector.watchdog import WatchedDetector

CHUNK_SIZE = 32
"""Dialogues of a long request after which other requests are served."""
DRAIN_S = 60
"""Seconds for running requests to end when the server stops."""
MB = 1_000_000
TELEMETRY: TelemetryConfig = {
    "auto_configure": False, "logs": False, "metrics": False, "operation_spans": False,
}  # fmt: skip
"""FastAPI traces requests only: its logs have the texts of errors."""
NDJSON = "application/x-ndjson"
_ROLE, _TEXT = {"enum": list(get_args(Role))}, {"type": "string"}
_TURN = {"type": "object", "required": ["role", "text"], "properties": {"role": _ROLE, "text": _TEXT}}
_TURNS = {"type": "array", "items": _TURN, "minItems": 1}
_DIALOGUE = {
    "type": "object", "required": ["dialogue_id", "turns"],
    "properties": {"dialogue_id": _TEXT, "turns": _TURNS},
}  # fmt: skip
_GROWING = {
    "type": "object", "required": ["dialogue"], "additionalProperties": False,
    "properties": {"dialogue": _DIALOGUE, "known": {"type": "array", "items": _TEXT}},
}  # fmt: skip


def _body_schema(content: dict[str, Any]) -> dict[str, Any]:
    return {
        "requestBody": {
            "required": True,
            "content": {name: {"schema": each} for name, each in content.items()},
        }
    }


class DetectorThread:
    """A detector, and the thread that uses it and starts its process, which ends with that thread."""

    def __init__(self, config: ApiConfig, threads: int) -> None:
        self._thread = ThreadPoolExecutor(1, "detector")
        self._config = config
        self.detector: Detector = self._thread.submit(self._load, threads).result()

    def _load(self, threads: int) -> Detector:
        config = resolve_scan(ScoreConfig(detector=replace(self._config.detector, threads=threads))).detector
        if not self._config.watch.dialogue_seconds:
            detector = load_rollout(config)
            detector.monitor.on_defect = lambda line: write_log(message=line)
            return detector
        return WatchedDetector(config, self._config.watch, lambda line: write_log(message=line)).ready()

    def verdicts(
        self, dialogues: Sequence[Dialogue], log: LogProfile, all_probabilities: bool
    ) -> tuple[list[Verdict], dict[str, Any]]:
        """Returns the verdicts in order, and their cost, as in a manifest."""

        def score_all() -> tuple[list[Verdict], dict[str, Any]]:
            detector = self.detector.with_log(log)
            monitor, before = detector.monitor, dict(detector.monitor.seconds)
            n_tokens = monitor.tokens
            with trace_scoring(len(dialogues), monitor):
                verdicts = detector.verdicts(dialogues, all_probabilities=all_probabilities)
            seconds = {stage: value - before.get(stage, 0.0) for stage, value in monitor.seconds.items()}
            return verdicts, {"seconds": seconds, "tokens_scanned": monitor.tokens - n_tokens}

        return self._thread.submit(copy_context().run, score_all).result()

    def close(self) -> None:
        if isinstance(self.detector, WatchedDetector):
            self.detector.close()
        self._thread.shutdown()


class Api:
    """State shared by the routes: detectors, keys, jobs, metrics."""

    def __init__(self, config: ApiConfig, jobs: Path) -> None:
        self.config, self.keys, self.jobs = config, KeyRing(keys_path(config.keys)), jobs
        threads = 1 if config.workers > 1 else config.detector.threads
        self.workers = [DetectorThread(config, threads) for _ in range(config.workers)]
        detector = self.workers[0].detector
        self.facts, self.taxonomy = DetectorFacts.of(detector), detector.taxonomy
        self._free: queue.Queue[DetectorThread] = queue.Queue()
        for each in self.workers:
            self._free.put(each)
        self._creating = Lock()
        self.webhooks: WebhookSender | None = None
        self.is_draining: Callable[[], bool] = lambda: False
        self.metrics = ApiMetrics(detector, jobs)

    def read(self, body: bytes) -> list[Loaded | Reject]:
        """Returns the records of a body in order.

        Raises:
            InputRefused: it is no log, or all records are rejected.
        """
        config = replace(self.config.read, max_bad=1.0, max_expanded_bytes=10 * self.config.max_body_mb * MB)

        def write(file: IO[bytes]) -> None:
            file.write(body)

        records = list(read([spool("body", "body", write)], config, Counts()))
        rejects = Counter(each.code for each in records if isinstance(each, Reject))
        self.metrics.judged.add({"reading": {"rejects": rejects}})
        if rejects.total() == len(records):
            first = records[0]
            assert isinstance(first, Reject)
            raise InputRefused(
                first.code, "line {line}, {path}: found {found}; expected {expected}",
                line=first.line, path=first.path or "record", found=first.found, expected=first.expected,
            )  # fmt: skip
        return records

    def profile(self, records: Sequence[Loaded | Reject]) -> LogProfile:
        info = self.facts.info
        dialogues = [each.dialogue for each in records if isinstance(each, Loaded)]
        return profile_log(dialogues, None if info is None else info.domain)

    def verdicts(
        self, dialogues: Sequence[Dialogue], log: LogProfile, *, all_probabilities: bool = False
    ) -> list[Verdict]:
        """Returns the verdicts of dialogues of a log, as `dialint score` writes them."""
        worker = self._free.get()
        try:
            raw, cost = worker.verdicts(dialogues, log, all_probabilities)
        finally:
            self._free.put(worker)
        taxonomy, needs_policy = self.taxonomy, bool(self.config.detector.policy)
        verdicts, tally = [], Tally()
        for verdict, dialogue in zip(raw, dialogues, strict=True):
            placed = verdict.with_origin(dialogue)
            verdicts.append(select_reported(placed, frozenset(), taxonomy, needs_policy=needs_policy))
            tally.add(verdicts[-1])
        self.metrics.judged.add({"counts": tally.counts(), "cost": cost})
        return verdicts

    def create_job(
        self, account: str, name: str, file: IO[bytes], options: ScoreOptions, request: str
    ) -> Job:
        """Starts a job, or returns the existing one of the same `request` of this account."""
        job_id = hashlib.sha256(f"{account}\0{request}".encode()).hexdigest()[:16]
        with self._creating:
            try:
                job = load_job(job_id, self.jobs)
            except ConfigError:
                shutil.rmtree(self.jobs / job_id, ignore_errors=True)  # of a killed server
                job = create_job(self.jobs / job_id, account, name, file)
            if job.state == "new":
                job.update(options=options, webhook="waiting" if self.config.webhook else None)
                self.start_job(job)
        return job

    def start_job(self, job: Job) -> None:
        """Scores a job in the background; at its end it is counted, and a webhook sent."""
        job.start(self._end_job)

    def _end_job(self, job: Job) -> None:
        if job.state == "done":
            self.metrics.judged.add(job.manifest)
        if self.webhooks is not None:
            self.webhooks.wake()

    def close(self) -> None:
        if self.webhooks is not None:
            self.webhooks.close()
        for each in self.workers:
            each.close()


def _api(request: Request) -> Api:
    api: Api = request.app.state.api
    return api


def note_route(request: Request) -> None:
    """Sets the route for the log, as the path of a request may contain any text."""
    request.scope["state"]["route"] = getattr(request.scope.get("route"), "path", "")


async def require_key(
    request: Request,
    required: SecurityScopes,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(HTTPBearer(auto_error=False))],
) -> ApiKey:
    """Returns the key of the request.

    Raises:
        ConfigError: E_KEY, it has no valid key; E_SCOPE, the key lacks a scope.
    """
    if credentials is None:
        raise ConfigError("E_KEY", "Authorization: Bearer KEY is missing")
    key = _api(request).keys.find(credentials.credentials)
    request.scope["state"]["key"] = key.name
    if lacking := [scope for scope in required.scopes if scope not in key.scopes]:
        raise ConfigError("E_SCOPE", "the key lacks the scope {scope}", scope=lacking[0])
    return key


async def read_body(request: Request) -> bytes:
    """Returns the body of a request, within the limits."""
    return b"".join([part async for part in iterate_body(request, _api(request).config.max_body_mb * MB)])


Scorer = Annotated[ApiKey, Security(require_key, scopes=["score"])]
JobOwner = Annotated[ApiKey, Security(require_key, scopes=["jobs"])]
Body = Annotated[bytes, Depends(read_body)]
PROBLEM = {"application/problem+json": {"schema": Problem.model_json_schema()}}
router = APIRouter(
    dependencies=[Depends(note_route)], responses={"default": {"description": "Refused", "content": PROBLEM}}
)


@router.post(
    "/v1/score", openapi_extra=_body_schema({"application/json": _DIALOGUE, NDJSON: _DIALOGUE}),
    response_class=StreamingResponse, responses={200: {"content": {NDJSON: {"schema": {"type": "string"}}}}},
)  # fmt: skip
def score(request: Request, _: Scorer, body: Body, all_probabilities: bool = False) -> StreamingResponse:
    """Score a dialogue, or many (a line each). Each record has its line in the response, in order: a verdict,
    or why it was rejected, with ``"status": "rejected"``."""
    api = _api(request)
    records = api.read(body)
    log = api.profile(records)

    def lines() -> Iterator[bytes]:
        for start in range(0, len(records), CHUNK_SIZE):
            chunk = records[start : start + CHUNK_SIZE]
            dialogues = [each.dialogue for each in chunk if isinstance(each, Loaded)]
            verdicts = iter(api.verdicts(dialogues, log, all_probabilities=all_probabilities))
            yield b"".join(
                verdict_line(next(verdicts))
                if isinstance(each, Loaded)
                else json.dumps({"status": "rejected", **each.as_json()}).encode() + b"\n"
                for each in chunk
            )

    parts = lines()
    return StreamingResponse(chain([next(parts)], parts), media_type=NDJSON)  # the first may be refused


@router.post("/v1/turns", openapi_extra=_body_schema({"application/json": _GROWING}))
def turns(request: Request, _: Scorer, body: Body) -> TurnsResponse:
    """Score a dialogue that goes on. Nothing is kept between two requests: the client sends all turns so far,
    and `known` as it came with the response before."""
    api = _api(request)
    try:
        content = TurnsRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputRefused(
            "E_TYPE", f"{'.'.join(map(str, first['loc'][:3]))[:100]}: {first['type']}"
        ) from None
    records = api.read(json.dumps(content.dialogue).encode())
    if len(records) != 1 or not isinstance(records[0], Loaded):
        raise InputRefused("E_RECORD", "expected one dialogue")
    [verdict] = api.verdicts([records[0].dialogue], api.profile(records))
    previous, names = set(content.known), dict[str, None]()
    new: dict[str, list[Any]] = {"findings": [], "suggestions": []}
    for kind, listed in new.items():
        seen: Counter[str] = Counter()
        for finding in getattr(verdict, kind):
            place = f"{kind[0]}:{finding.code}:{finding.turn}:{finding.start}"
            seen[place] += 1
            names[name := f"{place}:{seen[place]}"] = None
            if name not in previous:
                listed.append(finding)
    withdrawn = tuple(name for name in content.known if name not in names)
    changed = verdict.model_copy(update={kind: tuple(listed) for kind, listed in new.items()})
    return TurnsResponse(verdict=changed, known=tuple(names), withdrawn=withdrawn)


@router.get("/v1/codes")
def codes(request: Request, _: Scorer) -> dict[str, Any]:
    """List the taxonomy and whether the release covers each code."""
    facts, taxonomy = _api(request).facts, _api(request).taxonomy
    entries = [
        {**code.model_dump(mode="json"), "covered": code.code in facts.codes}
        for code in taxonomy.codes.values()
    ]
    return {"taxonomy": taxonomy.version, "release": facts.release, "codes": entries}


@router.post("/v1/jobs", status_code=202, openapi_extra=_body_schema({"application/octet-stream": {}}))
async def start_job(
    request: Request,
    key: JobOwner,
    name: Annotated[str, Query(max_length=200)] = "log.jsonl",
    all_probabilities: bool = False,
    idempotency_key: Annotated[str, Header(max_length=200)] = "",
) -> JobResponse:
    """Score a log in the background, by the options of the server. The response comes when the log is safe on
    disk; after a stop of the server the job goes on. A second request with the same ``Idempotency-Key`` makes
    no second job."""
    api = _api(request)

    def start(file: Any) -> JobResponse:
        file.seek(0)
        arguments = score_arguments(api.config)
        options = ScoreOptions(all_probabilities=all_probabilities, arguments=arguments)
        request_key = idempotency_key or secrets.token_hex(16)
        return _describe_job(api.create_job(key.name, name, file, options, request_key))

    try:
        with tempfile.TemporaryFile(dir=api.jobs) as file:
            async for part in iterate_body(request, api.config.max_job_mb * MB):
                await anyio.to_thread.run_sync(file.write, part)
            return await anyio.to_thread.run_sync(start, file)
    except OSError as error:
        raise WorldError("E_WRITE", f"the log cannot be kept: {error.strerror}") from None


@router.get("/v1/jobs/{job_id}")
def show_job(request: Request, key: JobOwner, job_id: str) -> JobResponse:
    """Show where a job of this key stands."""
    return _describe_job(_find_job(request, key, job_id))


@router.delete("/v1/jobs/{job_id}", status_code=204)
def remove_job(request: Request, key: JobOwner, job_id: str) -> None:
    """Delete a job with its log and results; of one that runs once it ended, in 40 seconds at most."""
    _find_job(request, key, job_id).remove()


@router.get("/v1/jobs/{job_id}/files/{name}", response_class=FileResponse)
def download(request: Request, key: JobOwner, job_id: str, name: str) -> FileResponse:
    """Download a result of a job that is done: verdicts.jsonl, .csv, .parquet, verdicts.rejects.jsonl,
    report.html."""
    job = _find_job(request, key, job_id)
    if name not in FILES:
        raise ConfigError("E_NOT_FOUND", "there is no such file")
    return FileResponse(make_file(job, name), filename=name)


@router.get("/health")
async def health() -> dict[str, str]:
    """Answer while the process lives."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request) -> dict[str, str]:
    """Answer 200 while requests are taken."""
    if _api(request).is_draining():
        raise WorldError("E_STOPPING", "the server stops")
    return {"status": "ready", "release": _api(request).facts.release}


@router.get("/metrics", response_class=Response)
def metrics(request: Request, _: Annotated[ApiKey, Security(require_key, scopes=["metrics"])]) -> Response:
    """Seconds of requests, what was judged, and jobs, for Prometheus."""
    return Response(_api(request).metrics.render(), media_type="text/plain; version=0.0.4")


def _find_job(request: Request, key: ApiKey, job_id: str) -> Job:
    try:
        job = load_job(job_id, _api(request).jobs)
    except ConfigError:
        job = None
    if job is None or job.record.account != key.name:
        raise ConfigError("E_NOT_FOUND", "there is no such job of this key")
    return job


def _describe_job(job: Job) -> JobResponse:
    error = without_paths(job.describe_failure()) if job.state == "failed" else None
    scored = job.manifest["files"][0]["rows"] if job.state == "done" else job.count_scored()
    return JobResponse(id=job.id, name=job.record.name, state=job.state, scored=scored, error=error)


def score_arguments(config: ApiConfig) -> tuple[str, ...]:
    """Returns the command-line options of `dialint score` for jobs, those that differ from their defaults."""
    arguments = []
    for group in (config.read, config.detector, config.watch):
        for option in fields(group):
            value = getattr(group, option.name)
            if value == option.default:
                continue
            name = "--input-format" if option.name == "format" else f"--{option.name.replace('_', '-')}"
            for each in value if isinstance(value, tuple) else (value,):
                word = each.absolute() if isinstance(each, Path) and str(each) != CURRENT else each
                arguments.append(f"{name}={str(word).lower() if isinstance(word, bool) else word}")
    return tuple(arguments)


def create_app(config: ApiConfig) -> FastAPI:
    """Returns the ASGI application. Loads the release, and resumes the jobs of an earlier server.

    Raises:
        UserError: an option or the release is invalid; E_LOCKED, another server runs the jobs of the folder.
        WorldError: E_WRITE, the folder of jobs cannot be made.
    """
    start_tracing()
    receiver = None if config.webhook is None else Receiver.of(config.webhook, config.webhook_secret_file)
    folder = (config.jobs or home_folder() / "api-jobs").absolute()
    make_output_folder(folder)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise OutputRefused(
            "E_LOCKED", "{path}: another server runs these jobs; `--jobs` names another folder", path=folder
        ) from None
    api = Api(config, folder)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = config.max_requests + 8
        for path in folder.glob("*/"):  # unfinished creations and deletions of a killed server
            if re.fullmatch("[0-9a-f]{16}", path.name) and not (path / "job.json").exists():
                shutil.rmtree(path, ignore_errors=True)
        for job in reversed(list_jobs(folder)):
            if job.state == "stopped":
                api.start_job(job)
        if receiver is not None:
            api.webhooks = WebhookSender(receiver, api.jobs, api.metrics.note_webhook)
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(stop_all, KILL_S)
            api.close()
            os.close(lock)

    app = FastAPI(
        title="dialint", version="1", docs_url=None, redoc_url=None, lifespan=lifespan, telemetry=TELEMETRY
    )
    app.state.api = api
    app.include_router(router)
    app.add_middleware(RequestMiddleware, max_requests=config.max_requests, metrics=api.metrics)
    handle_errors(app)
    return app


def serve(config: ApiConfig) -> int:
    """Serves until a signal, then finishes running requests. Returns 130 after Ctrl-C.

    Raises:
        ConfigError: E_KEY, there is no key; what `create_app` and `check_port` raise.
    """
    path = keys_path(config.keys)
    if not read_keys(path):
        raise ConfigError("E_KEY", f"{path}: no key yet; `dialint serve key NAME` makes one")
    check_port(config.host, config.port, "--host")
    app = create_app(config)
    options = uvicorn.Config(
        app, host=config.host, port=config.port, log_config=None, access_log=False, server_header=False,
        http="h11", lifespan="on", ws="none", proxy_headers=False, timeout_graceful_shutdown=DRAIN_S,
    )  # fmt: skip
    server = uvicorn.Server(options)
    logging.basicConfig(handlers=[LogHandler()])
    app.state.api.is_draining = lambda: server.should_exit
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:  # uvicorn re-raises the signal at its end
        stopped.append(number)
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    write_log(message="listening", host=config.host, port=config.port, workers=len(app.state.api.workers))
    server.run()
    return 130 if signal.SIGINT in stopped else 0
