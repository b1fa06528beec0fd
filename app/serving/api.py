"""The HTTP API: `dialint score` for programs, one dialogue, many, a growing one, or a file in the background.

    POST   /v1/score           dialogues in, one verdict a line out, in their order
    POST   /v1/turns           a dialogue so far in, what is new in its verdict out
    POST   /v1/jobs            a log of any size, scored by `dialint score` after the jobs before it
    GET    /v1/jobs/ID         where the job stands; DELETE removes it with its log
    GET    /v1/jobs/ID/files/NAME       verdicts.jsonl and the other outputs of a job that is done
    GET    /v1/codes           the taxonomy, and what the release covers
    GET    /health, /ready, /metrics, /openapi.json

A body is a log as `dialint score` reads it, and gets the verdicts that it would get there. Dialogues are
judged in processes of their own, so that one that takes too long or too much memory fails alone. Nothing is
kept of them but the logs of jobs. TLS is left to a proxy.
"""

from __future__ import annotations

import json
import queue
import secrets
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import IO, Annotated, Any, get_args, get_type_hints

import anyio.to_thread
import uvicorn
from cyclopts import Parameter
from fastapi import APIRouter, Depends, FastAPI, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client import Counter as Total
from pydantic import JsonValue, ValidationError
from starlette.responses import FileResponse, Response, StreamingResponse

from dialint.app.ports import check_port
from dialint.app.scoring.background import (
    KILL_S,
    POLL_S,
    Job,
    ScoreOptions,
    State,
    create_job,
    list_jobs,
    load_job,
    make_file,
    stop_all,
)
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.run import resolve_scan, select_reported
from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.api_keys import Key, KeyRing, keys_path, read_keys
from dialint.app.serving.api_requests import (
    RequestMiddleware,
    describe_defect,
    handle_errors,
    iterate_body,
    write_log,
)
from dialint.detector.artifacts import make_output_folder
from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError, DialintError, InputRefused, WorldError
from dialint.detector.ingest.outcomes import Counts, Loaded, Reject
from dialint.detector.ingest.read import read
from dialint.detector.ingest.sources import spool
from dialint.detector.interface import Detector
from dialint.detector.isolation import failed_verdict
from dialint.detector.log_profile import LogProfile, profile_log
from dialint.detector.records import Dialogue, Record, Role, Verdict
from dialint.detector.registry import CURRENT
from dialint.detector.rollout import load_rollout
from dialint.detector.verdict_files import verdict_line
from dialint.detector.watchdog import WatchedDetector

CHUNK_SIZE = 32
"""Dialogues after which a long request lets others judge."""
DRAIN_S = 60
"""Time that running requests get when the server stops."""
MB = 1_000_000
NDJSON = "application/x-ndjson"
_ROLE, _TEXT = {"enum": list(get_args(Role))}, {"type": "string"}
_TURN = {"type": "object", "required": ["role", "text"], "properties": {"role": _ROLE, "text": _TEXT}}
_TURNS = {"type": "array", "items": _TURN}
_DIALOGUE = {
    "type": "object", "required": ["dialogue_id", "turns"],
    "properties": {"dialogue_id": _TEXT, "turns": _TURNS},
}  # fmt: skip


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
    """Where a job stands: how many dialogues are scored, of a failed one why."""

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


def _body_schema(content: dict[str, Any]) -> dict[str, Any]:
    return {
        "requestBody": {
            "required": True,
            "content": {name: {"schema": each} for name, each in content.items()},
        }
    }


class Judge:
    """A detector and the thread that starts its process: the system ends the process with that thread."""

    def __init__(self, config: ApiConfig) -> None:
        self._thread = ThreadPoolExecutor(1, "judge")
        self._config = config
        self.detector: Detector = self._thread.submit(self._load).result()

    def _load(self) -> Detector:
        what = resolve_scan(ScoreConfig(detector=self._config.detector)).detector
        if not self._config.watch.dialogue_seconds:
            return load_rollout(what)
        return WatchedDetector(what, self._config.watch, lambda line: write_log(message=line)).ready()

    def verdicts(
        self, dialogues: Sequence[Dialogue], log: LogProfile, all_probabilities: bool
    ) -> list[Verdict]:
        """The verdicts in order. A dialogue on which the detector has a defect gets a failed one."""

        def judge(part: Sequence[Dialogue]) -> list[Verdict]:
            try:
                return self.detector.with_log(log).verdicts(part, all_probabilities=all_probabilities)
            except DialintError:
                raise
            except Exception as error:  # noqa: BLE001  a client must not get an error for its neighbour's dialogue
                if len(part) > 1:
                    return [verdict for each in part for verdict in judge([each])]
                write_log(message="E_INTERNAL", defect=describe_defect(error))
                failed = failed_verdict(part[0], self.detector.release, self.detector.taxonomy.version)
                return [failed.model_copy(update={"failure": "E_INTERNAL"})]

        return self._thread.submit(judge, dialogues).result()

    def close(self) -> None:
        if isinstance(self.detector, WatchedDetector):
            self.detector.close()
        self._thread.shutdown()


class Api:
    """What the routes share: judges, keys, jobs, counts."""

    def __init__(self, config: ApiConfig) -> None:
        self.config, self.keys = config, KeyRing(keys_path(config.keys))
        self.jobs = (config.jobs or home_folder() / "api-jobs").absolute()
        self.judges = [Judge(config) for _ in range(config.workers)]
        self.detector = self.judges[0].detector
        self._free: queue.Queue[Judge] = queue.Queue()
        for each in self.judges:
            self._free.put(each)
        self.is_draining: Callable[[], bool] = lambda: False
        self.registry = CollectorRegistry()
        names = ["route", "status"]
        self.seconds = Histogram("dialint_request_seconds", "Of requests.", names, registry=self.registry)
        self.n_verdicts = Total("dialint_verdicts", "By status.", ["status"], registry=self.registry)

    def read(self, body: bytes) -> list[Loaded | Reject]:
        """The records of a body in order.

        Raises:
            InputRefused: it is no log, or no record of it can be used.
        """
        config = replace(self.config.read, max_bad=1.0, max_expanded_bytes=10 * self.config.max_body_mb * MB)

        def write(file: IO[bytes]) -> None:
            file.write(body)

        records = list(read([spool("body", "body", write)], config, Counts()))
        if all(isinstance(each, Reject) for each in records):
            first = records[0]
            assert isinstance(first, Reject)
            raise InputRefused(
                first.code, "line {line}, {path}: found {found}; expected {expected}",
                line=first.line, path=first.path or "record", found=first.found, expected=first.expected,
            )  # fmt: skip
        return records

    def profile(self, records: Sequence[Loaded | Reject]) -> LogProfile:
        info = self.detector.info
        dialogues = [each.dialogue for each in records if isinstance(each, Loaded)]
        return profile_log(dialogues, None if info is None else info.domain)

    def verdicts(
        self, dialogues: Sequence[Dialogue], log: LogProfile, *, all_probabilities: bool = False
    ) -> list[Verdict]:
        """The verdicts of dialogues of a log, as `dialint score` writes them."""
        judge = self._free.get()
        try:
            raw = judge.verdicts(dialogues, log, all_probabilities)
        finally:
            self._free.put(judge)
        taxonomy, needs_policy = self.detector.taxonomy, bool(self.config.detector.policy)
        verdicts = []
        for verdict, dialogue in zip(raw, dialogues, strict=True):
            placed = verdict.with_origin(dialogue)
            verdicts.append(select_reported(placed, frozenset(), taxonomy, needs_policy=needs_policy))
            self.n_verdicts.labels(placed.status).inc()
        return verdicts

    def close(self) -> None:
        for each in self.judges:
            each.close()


def _api(request: Request) -> Api:
    api: Api = request.app.state.api
    return api


def note_route(request: Request) -> None:
    """Names the route in the log: the path of a request may hold anything."""
    request.scope["state"]["route"] = getattr(request.scope.get("route"), "path", "")


async def require_key(
    request: Request,
    required: SecurityScopes,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(HTTPBearer(auto_error=False))],
) -> Key:
    """The key of the request.

    Raises:
        ConfigError: E_KEY, it has none of ours; E_SCOPE, the key may not do this.
    """
    if credentials is None:
        raise ConfigError("E_KEY", "Authorization: Bearer KEY is missing")
    key = _api(request).keys.find(credentials.credentials)
    request.scope["state"]["key"] = key.name
    if lacking := [scope for scope in required.scopes if scope not in key.scopes]:
        raise ConfigError("E_SCOPE", "the key lacks the scope {scope}", scope=lacking[0])
    return key


async def read_body(request: Request) -> bytes:
    """The body of a request, within the limits."""
    return b"".join([part async for part in iterate_body(request, _api(request).config.max_body_mb * MB)])


Scorer = Annotated[Key, Security(require_key, scopes=["score"])]
JobOwner = Annotated[Key, Security(require_key, scopes=["jobs"])]
Body = Annotated[bytes, Depends(read_body)]
router = APIRouter(dependencies=[Depends(note_route)], responses={"4XX": {"model": Problem}})


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


@router.post("/v1/turns", openapi_extra=_body_schema({"application/json": TurnsRequest.model_json_schema()}))
def turns(request: Request, _: Scorer, body: Body) -> TurnsResponse:
    """Score a dialogue that goes on. Nothing is kept between two requests: the client sends all turns so far,
    and `known` as it came with the response before."""
    api = _api(request)
    try:
        asked = TurnsRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputRefused(
            "E_TYPE", f"{'.'.join(map(str, first['loc'][:3]))[:100]}: {first['type']}"
        ) from None
    records = api.read(json.dumps(asked.dialogue).encode())
    if len(records) != 1 or not isinstance(records[0], Loaded):
        raise InputRefused("E_RECORD", "expected one dialogue")
    [verdict] = api.verdicts([records[0].dialogue], api.profile(records))
    known, names = set(asked.known), dict[str, None]()
    new: dict[str, list[Any]] = {"findings": [], "suggestions": []}
    for kind, fresh in new.items():
        seen: Counter[str] = Counter()
        for finding in getattr(verdict, kind):
            place = f"{kind[0]}:{finding.code}:{finding.turn}:{finding.start}"
            seen[place] += 1
            names[name := f"{place}:{seen[place]}"] = None
            if name not in known:
                fresh.append(finding)
    withdrawn = tuple(name for name in asked.known if name not in names)
    changed = verdict.model_copy(update={kind: tuple(fresh) for kind, fresh in new.items()})
    return TurnsResponse(verdict=changed, known=tuple(names), withdrawn=withdrawn)


@router.get("/v1/codes")
def codes(request: Request, _: Scorer) -> dict[str, Any]:
    """List the taxonomy and whether the release covers each code."""
    detector = _api(request).detector
    entries = [
        {**code.model_dump(mode="json"), "covered": code.code in detector.codes}
        for code in detector.taxonomy.codes.values()
    ]
    return {"taxonomy": detector.taxonomy.version, "release": detector.release, "codes": entries}


@router.post("/v1/jobs", status_code=202, openapi_extra=_body_schema({"application/octet-stream": {}}))
async def start_job(
    request: Request,
    key: JobOwner,
    name: Annotated[str, Query(max_length=200)] = "log.jsonl",
    all_probabilities: bool = False,
) -> JobResponse:
    """Score a log in the background, by the options of the server. The response comes when the log is safe on
    disk; after a stop of the server the job goes on."""
    api = _api(request)

    def start(file: Any) -> JobResponse:
        file.seek(0)
        job = create_job(api.jobs / secrets.token_hex(8), key.name, name, file)
        arguments = score_arguments(api.config)
        job.update(options=ScoreOptions(all_probabilities=all_probabilities, arguments=arguments))
        job.start()
        return _describe_job(job)

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
    """Stop a job and delete its log and results."""
    job = _find_job(request, key, job_id)
    job.stop()
    give_up_s = time.monotonic() + KILL_S
    while True:
        try:
            job.remove()
            return
        except ConfigError:  # its process has not ended yet
            if time.monotonic() > give_up_s:
                raise
            time.sleep(POLL_S)


@router.get("/v1/jobs/{job_id}/files/{name}", response_class=FileResponse)
def download(request: Request, key: JobOwner, job_id: str, name: str) -> FileResponse:
    """Download a result of a job that is done: verdicts.jsonl, .csv, .parquet, verdicts.rejects.jsonl,
    report.html."""
    return FileResponse(make_file(_find_job(request, key, job_id), name))


@router.get("/health")
async def health() -> dict[str, str]:
    """Answer while the process lives."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request) -> dict[str, str]:
    """Answer 200 while requests are taken."""
    if _api(request).is_draining():
        raise WorldError("E_STOPPING", "the server stops")
    return {"status": "ready", "release": _api(request).detector.release}


@router.get("/metrics", response_class=Response)
def metrics(request: Request, _: Annotated[Key, Security(require_key, scopes=["metrics"])]) -> Response:
    """Seconds of requests and numbers of verdicts, for Prometheus."""
    return Response(generate_latest(_api(request).registry), media_type="text/plain; version=0.0.4")


def _find_job(request: Request, key: Key, job_id: str) -> Job:
    try:
        job = load_job(job_id, _api(request).jobs)
    except ConfigError:
        job = None
    if job is None or job.record.account != key.name:
        raise ConfigError("E_NOT_FOUND", "there is no such job of this key")
    return job


def _describe_job(job: Job) -> JobResponse:
    error = str(job.describe_failure()) if job.state == "failed" else None
    scored = job.manifest["files"][0]["rows"] if job.state == "done" else job.count_scored()
    return JobResponse(id=job.id, name=job.record.name, state=job.state, scored=scored, error=error)


def score_arguments(config: ApiConfig) -> tuple[str, ...]:
    """The options of `dialint score` that are not at their defaults, for jobs."""
    arguments = []
    for group in (config.read, config.detector, config.watch):
        hints = get_type_hints(type(group), include_extras=True)
        for option in fields(group):
            value = getattr(group, option.name)
            names = [
                next(iter(each.name)) for each in getattr(hints[option.name], "__metadata__", ())
                if isinstance(each, Parameter) and each.name
            ]  # fmt: skip
            if value == option.default:
                continue
            name = names[0] if names else f"--{option.name.replace('_', '-')}"
            for each in value if isinstance(value, tuple) else (value,):
                word = each.absolute() if isinstance(each, Path) and str(each) != CURRENT else each
                arguments.append(f"{name}={str(word).lower() if isinstance(word, bool) else word}")
    return tuple(arguments)


def create_app(config: ApiConfig) -> FastAPI:
    """The ASGI application. It loads the release, and starts the jobs that an earlier server has left.

    Raises:
        UserError: an option or the release is wrong.
        WorldError: E_WRITE, the folder of jobs cannot be made.
    """
    api = Api(config)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = config.max_requests + 8
        for job in reversed(list_jobs(api.jobs)):
            if job.state == "stopped":
                job.start()
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(stop_all, KILL_S)
            api.close()

    make_output_folder(api.jobs)
    app = FastAPI(title="dialint", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.api = api
    app.include_router(router)
    app.add_middleware(RequestMiddleware, max_requests=config.max_requests, seconds=api.seconds)
    handle_errors(app)
    return app


def serve(config: ApiConfig) -> int:
    """Serve until a signal comes; what is running is finished first. Returns 130 after Ctrl-C.

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
        lifespan="on", ws="none", proxy_headers=False, timeout_graceful_shutdown=DRAIN_S,
    )  # fmt: skip
    server = uvicorn.Server(options)
    app.state.api.is_draining = lambda: server.should_exit
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again when it has ended
        signal.signal(number, lambda number, _: stopped.append(number))
    server.run()
    return 130 if signal.SIGINT in stopped else 0
