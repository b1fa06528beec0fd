"""Background scoring jobs of a server (the console, the HTTP API): one folder and one `dialint score` process
each, run one at a time.

    jobs/ID/job.json          account, name of the log, time, options, and counts of the import into the store
    jobs/ID/log/NAME          the log, unchanged
    jobs/ID/mapping.yaml, policies/*.yaml
    jobs/ID/out/verdicts.jsonl ...     the output of `dialint score`, and its conversions
    jobs/ID/error.json, errors.txt     the error with which it ended, and its standard error

The state is derived from the files of `dialint score`. Processes end with the server, however it ends; an
unfinished job is then stopped, and the same command resumes it. No permission is checked here: pages ask the
store first (`dialint.labeling.store.history.record_job`), the API compares the account.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO, Any, Literal

from dialint.app.output import ERROR_FILE_VARIABLE
from dialint.detector.artifacts import (
    atomic_file,
    create_private,
    disk_errors,
    make_output_folder,
    verify_files,
    write_json,
)
from dialint.detector.environment import child_environment, home_folder, missing_modules
from dialint.detector.errors import ConfigError, DialintError, Message, WorldError
from dialint.detector.ingest.outcomes import without_hints
from dialint.detector.records import Record
from dialint.detector.registry import Registry
from dialint.detector.verdict_files import (
    FileFormat,
    convert_verdicts,
    manifest_path,
    output_stem,
    rejects_path,
)

JOBS_VARIABLE, LOGS_VARIABLE = "DIALINT_CONSOLE_JOBS", "DIALINT_CONSOLE_LOGS"
"""Environment variables: the folder of the jobs, by default beside the store; and a folder of logs on the
server that leads may score, without which logs are uploaded only."""
CHUNK_SIZE = 32
"""Dialogues of a chunk: fewer than the default of `dialint score`, for a finer progress display."""
MAX_LISTED_LOGS = 500
MAX_NAME_BYTES = 120
LOG_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet")
POLL_S = 0.3
KILL_S = 40.0
"""Time from SIGTERM to SIGKILL; a process commits its chunk within 20 seconds."""
REPORT_TIMEOUT_S = 1800.0
NICE = (
    *(("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()), "nice", "-n", "10",
)  # fmt: skip
"""The kernel kills processes of a killed server: they would hold the locks of their jobs."""
FILES = (
    "verdicts.jsonl", "verdicts.parquet", "verdicts.csv", "report.html", "report.xlsx",
    "verdicts.rejects.jsonl",
)  # fmt: skip
"""Names of the downloads of a finished job."""
State = Literal["new", "waiting", "running", "stopping", "done", "failed", "stopped"]


class ScoreOptions(Record):
    """Options of a job. `release` is ``embedded`` or the id of a promoted one, `arguments` are further
    options of the command."""

    release: str = "embedded"
    all_probabilities: bool = True
    languages: tuple[str, ...] = ()
    trusts_domain: bool = False
    arguments: tuple[str, ...] = ()


class AddedCounts(Record):
    """Numbers of dialogues and verdicts that a job added to the store, and of dialogues that it had."""

    dialogues: int
    verdicts: int
    known: int


class JobRecord(Record):
    """Content of ``job.json``; without `options` the job was never started. `webhook` is the state of the
    message about its end, if one is due."""

    name: str
    account: str
    created_ms: int
    options: ScoreOptions | None = None
    added: AddedCounts | None = None
    webhook: Literal["waiting", "delivered", "dropped"] | None = None


@dataclass
class _Run:
    """A waiting or running job of this server."""

    stop: Event = field(default_factory=Event)
    process: subprocess.Popen[bytes] | None = None


_RUNS: dict[Path, _Run] = {}
_RUNNING = Lock()
"""Held by the running job."""


class Job:
    """One job, by its folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self.out = path / "out" / "verdicts.jsonl"
        self.mapping, self.error = path / "mapping.yaml", path / "error.json"
        self.record = JobRecord.model_validate_json((path / "job.json").read_bytes(), strict=False)

    @property
    def log(self) -> Path:
        """The path of the log. Raises ConfigError (E_PATH) if the file is gone."""
        for path in (self.path / "log").glob("*"):
            return path
        raise ConfigError("E_PATH", "the log of this job is gone")

    @property
    def state(self) -> State:
        """The state of the job."""
        if manifest_path(self.out).exists():
            return "done"
        if (run := _RUNS.get(self.path)) is not None:
            return "stopping" if run.stop.is_set() else "running" if run.process is not None else "waiting"
        if self.record.options is None:
            return "new"
        return "failed" if self.error.exists() else "stopped"

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the output of a finished job."""
        content: dict[str, Any] = json.loads(manifest_path(self.out).read_bytes())
        return content

    def count_scored(self) -> int:
        """Return the number of scored dialogues on disk, by the journal of `dialint score`."""
        journal, n = self.out.with_name(f".{output_stem(self.out)}.job") / "journal.jsonl", 0
        with suppress(FileNotFoundError):
            for line in journal.read_bytes().splitlines():
                with suppress(ValueError):  # the last line may be cut off
                    n += json.loads(line)["rows"]
        return n

    @property
    def failure_code(self) -> str:
        """The code of the error of a failed job."""
        return str(json.loads(self.error.read_bytes())["code"])

    def describe_failure(self) -> Message:
        """Return why the job failed, without paths and hints at commands for a terminal."""
        try:
            error = json.loads(self.error.read_bytes())
            message = self.for_screen(Message.from_json(error["message"]))
            return Message("{code}: {message}", code=error["code"], message=message)
        except (OSError, ValueError, LookupError):
            return Message("the files of the job are damaged")

    def for_screen(self, message: Message) -> Message:
        """Return a message without this folder's path, and without hints at commands for a terminal."""
        return without_hints(message).without(f"{self.path}/log/").without(f"{self.path}/")

    def update(self, **changes: Any) -> None:
        """Change fields of the record."""
        self.record = self.record.model_copy(update=changes)
        write_json(self.path / "job.json", self.record.model_dump(mode="json"))

    def start(self, on_end: Callable[[Job], None] = lambda job: None) -> None:
        """Score in the background, after the waiting jobs; a stopped job is resumed. `on_end` is called in a
        thread when the job is done, failed or stopped."""
        command = score_command(self)
        with disk_errors(self.error):
            self.error.unlink(missing_ok=True)
        if self.path not in _RUNS:
            run = _RUNS[self.path] = _Run()
            Thread(
                target=_score, args=(self, command, run, on_end), name=f"job {self.id}", daemon=True
            ).start()

    def stop(self) -> None:
        """Stop the process; the dialogues scored so far are kept."""
        if (run := _RUNS.get(self.path)) is not None:
            run.stop.set()

    def remove(self) -> None:
        """Stop and delete the job; its folder is deleted when its process has ended."""
        with disk_errors(self.path):
            (self.path / "job.json").unlink(missing_ok=True)
        self.stop()
        if self.path not in _RUNS:
            shutil.rmtree(self.path, ignore_errors=True)


def _score(job: Job, command: list[str], run: _Run, on_end: Callable[[Job], None]) -> None:
    code = None
    try:
        with _RUNNING:
            if not run.stop.is_set():
                code = _run_process(job, command, run)
    except (OSError, DialintError):  # no memory or disk left: nothing was started, the state is stopped
        pass
    finally:
        is_unexplained = not job.error.exists() and not manifest_path(job.out).exists()
        if code is not None and is_unexplained and not run.stop.is_set():
            if code < 0:
                problem = Message("the process was killed by signal {n}", n=-code)
            else:
                problem = Message("the process ended without a message (exit code {code})", code=code)
            with suppress(DialintError):
                write_json(job.error, {"code": "E_JOB", "message": problem.as_json()})
        if run.stop.is_set():
            job.error.unlink(missing_ok=True)
        del _RUNS[job.path]
        if not (job.path / "job.json").exists():
            shutil.rmtree(job.path, ignore_errors=True)
    on_end(job)


def _run_process(job: Job, command: list[str], run: _Run) -> int:
    errors = create_private(job.path / "errors.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        run.process = subprocess.Popen(
            command, cwd=job.path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            env={**worker_environment(), ERROR_FILE_VARIABLE: str(job.error)},
        )  # fmt: skip
    finally:
        os.close(errors)
    while run.process.poll() is None:
        if run.stop.wait(POLL_S):
            run.process.terminate()
            try:
                run.process.wait(KILL_S)
            except subprocess.TimeoutExpired:
                run.process.kill()
                run.process.wait()
    return run.process.returncode


def stop_all(wait_s: float = 0.0) -> None:
    """Stop all processes, and wait up to `wait_s` seconds for them."""
    for run in list(_RUNS.values()):
        run.stop.set()
        if run.process is not None and run.process.poll() is None:
            run.process.terminate()
    deadline_s = time.monotonic() + wait_s
    while _RUNS and time.monotonic() < deadline_s:
        time.sleep(POLL_S)


def worker_environment() -> dict[str, str]:
    """Return the environment of a job's processes: half of the cores, no secret of the server."""
    cores = max(1, (os.cpu_count() or 2) // 2)
    return {"OMP_NUM_THREADS": str(cores), **child_environment()}


def score_command(job: Job) -> list[str]:
    """Return the command line of `dialint score`, deterministic so that it resumes the job."""
    options = job.record.options or ScoreOptions()
    command = [*NICE, sys.executable, "-m", "dialint", "score", str(job.log), "--out", str(job.out)]
    command += ["--chunk-size", str(CHUNK_SIZE)]
    if options.release != "embedded":
        registry = Registry("scan")
        if options.release not in registry.ids():
            raise ConfigError("E_RELEASE", "this release is not on this machine any more")
        command += ["--release", str(registry.folder / options.release)]
    if options.all_probabilities:
        command.append("--all-probabilities")
    if options.trusts_domain:
        command += ["--domain", "trust"]
    for language in options.languages:
        command += ["--languages", language]
    for policy in sorted((job.path / "policies").glob("*.yaml")):
        command += ["--policy", str(policy)]
    if job.mapping.exists():
        command += ["--mapping", str(job.mapping)]
    return command + list(options.arguments)


def jobs_folder() -> Path:
    """Return the folder of all jobs: beside a store in a file, else in the home folder."""
    from dialint.labeling.store.api import on_sqlite, store_url

    if (folder := os.environ.get(JOBS_VARIABLE)) is not None:
        return Path(folder)
    url = store_url(os.environ.get("DIALINT_STORE") or None)
    return (Path(str(url.database)).parent if on_sqlite(url) else home_folder()) / "jobs"


def list_jobs(folder: Path | None = None) -> list[Job]:
    """Return the jobs of a folder, the console's by default, newest first; other folders are skipped."""
    jobs = []
    for path in (folder or jobs_folder()).glob("*"):
        with suppress(OSError, ValueError):
            jobs.append(Job(path))
    return sorted(jobs, key=lambda job: (job.record.created_ms, job.id), reverse=True)


def load_job(job_id: str, folder: Path | None = None) -> Job:
    """Return a job of a folder, the console's by default. Raises ConfigError (E_JOB) if there is none."""
    if re.fullmatch("[0-9a-f]{16}", job_id):
        with suppress(OSError, ValueError):
            return Job((folder or jobs_folder()) / job_id)
    raise ConfigError("E_JOB", "there is no such job; somebody may have removed it")


def create_job(path: Path, account: str, name: str, content: bytes | Path | IO[bytes]) -> Job:
    """Create a job in the folder `path` with a log, given as bytes, a path or an open file. Raises
    ConfigError (E_JOB) while a deleted job of this folder still runs."""
    if path in _RUNS:
        raise ConfigError("E_JOB", "a job of this id is still being deleted")
    make_output_folder(path / "log", new=True)
    make_output_folder(path / "out")
    with atomic_file(path / "log" / clean_name(name)) as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            with content.open("rb") if isinstance(content, Path) else content as source:
                shutil.copyfileobj(source, file, 1 << 20)
    record = JobRecord(name=clean_name(name), account=account, created_ms=time.time_ns() // 1_000_000)
    write_json(path / "job.json", record.model_dump(mode="json"))
    return Job(path)


def clean_name(name: str) -> str:
    """Return a safe file name; its suffixes stay, as formats are recognised by them."""
    bare = unicodedata.normalize("NFC", re.split(r"[/\\]", name)[-1])
    clean = re.sub(r"[^\w.-]+", "_", bare).lstrip("._-") or "log"
    if len(clean.encode()) <= MAX_NAME_BYTES:
        return clean
    endings = "".join(Path(clean).suffixes[-2:])[-20:]
    stem = clean.encode()[: MAX_NAME_BYTES - len(endings.encode())].decode(errors="ignore")
    return f"{stem}{endings}"


def save_policies(job: Job, policies: Sequence[tuple[str, bytes]]) -> None:
    """Replace the policy files of a job; none of them if one is invalid."""
    from dialint.detector.policy import load_policies

    target, staged = job.path / "policies", job.path / ".policies"
    shutil.rmtree(staged, ignore_errors=True)
    make_output_folder(staged)
    for number, (name, content) in enumerate(policies):
        with atomic_file(staged / f"{number:02d}-{Path(clean_name(name)).stem}.yaml") as file:
            file.write(content)
    try:
        load_policies(tuple(sorted(staged.glob("*.yaml"))))
    except ConfigError as refused:
        raise ConfigError(refused.code, refused.text.without(f"{staged}/")) from None
    shutil.rmtree(target, ignore_errors=True)
    staged.rename(target)


def list_server_logs() -> list[str]:
    """Return the relative paths in the server's folder of logs, without hidden files and links."""
    root = os.environ.get(LOGS_VARIABLE)
    if not root:
        return []
    names = (
        path.relative_to(root) for path in Path(root).rglob("*") if not path.is_symlink() and path.is_file()
    )
    logs = (
        str(name)
        for name in names
        if Path(name.name.removesuffix(".gz").removesuffix(".zst")).suffix in LOG_ENDINGS
        and not any(part.startswith(".") for part in name.parts)
    )
    return sorted(islice(logs, MAX_LISTED_LOGS))


def server_log(name: str) -> Path:
    """Return the path of a log of `list_server_logs`. Raises ConfigError (E_PATH)."""
    if name not in list_server_logs():
        raise ConfigError("E_PATH", "this log is not in the folder of logs any more")
    return Path(os.environ[LOGS_VARIABLE]) / name


def available_files() -> list[str]:
    """Return the names in `FILES` that can be made: a workbook needs XlsxWriter."""
    return [name for name in FILES if name != "report.xlsx" or not missing_modules("report")]


def make_file(job: Job, name: str) -> Path:
    """Return the path of a download of a finished job, made if it does not exist. Raises ConfigError (E_JOB)
    or WorldError (E_EXPORT)."""
    if name not in available_files() or job.state != "done":
        raise ConfigError("E_JOB", "there is no such file")
    target = job.out.with_name(name)
    if target in (job.out, rejects_path(job.out)):
        verify_files(job.out.parent, job.manifest["files"])
    elif not target.exists() and name.startswith("report."):
        part = job.out.with_name(f".{secrets.token_hex(8)}.{name}")
        option = f"--{name.rpartition('.')[2]}"
        command = [*NICE, sys.executable, "-m", "dialint", "report", str(job.out), option, str(part)]
        try:
            subprocess.run(
                command, timeout=REPORT_TIMEOUT_S, env=worker_environment(), check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            part.replace(target)
        except (subprocess.SubprocessError, OSError):
            raise WorldError("E_EXPORT", "this file could not be made") from None
    elif not target.exists():
        file_format: FileFormat = "csv" if name.endswith(".csv") else "parquet"
        with job.out.open("rb") as lines, atomic_file(target) as file:
            convert_verdicts(lines, file, file_format)
    return target
