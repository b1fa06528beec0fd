"""The folders of scoring jobs: ``jobs/ID`` beside the store, or in $DIALINT_HOME, for their owner only.

    log/NAME                  the log, as it was brought
    mapping.yaml, policies/   what belongs to the options
    preview.json              what was recognised (`dialint.app.console.system.job_processes`)
    request.json              the command that scores it; with it the job waits for its turn
    process.json, .lock       the process that runs it; the lock is held as long as it lives
    errors.txt                what it wrote to standard error
    error.json                the error with which it ended, if that is one of dialint's
    stop                      somebody wants it to end
    result.json               how it ended
    out/verdicts.jsonl ...    the output of `dialint score` with its manifest, and other formats made of it

No permission is checked here: pages ask the store first (`dialint.labeling.store.score_jobs`).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    create_private,
    disk_errors,
    make_output_folder,
    sha256_file,
    write_json,
)
from dialint.detector.environment import child_environment
from dialint.detector.errors import ConfigError, Message
from dialint.detector.ingest.outcomes import without_hints
from dialint.detector.records import Record
from dialint.detector.registry import Registry, home_folder
from dialint.detector.verdict_files import manifest_path, output_stem, rejects_path
from dialint.labeling.store.score_jobs import JOB_ID, ScoreOptions

JOBS_VARIABLE, LOGS_VARIABLE = "DIALINT_CONSOLE_JOBS", "DIALINT_CONSOLE_LOGS"
"""Environment: the folder of the jobs instead of the one above, and a folder of logs on the server that leads
may score; without the second, logs come by upload only."""
CHUNK_SIZE = 32
"""Dialogues of a chunk: less than `dialint score` takes by itself, so that the progress is seen to move."""
MAX_LISTED_LOGS = 500
MAX_NAME_BYTES = 120
LOG_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet")
COMPRESSED = (".gz", ".zst")
Phase = Literal["absent", "new", "waiting", "running", "stopping", "done", "failed", "stopped"]


class JobEnd(Record):
    """Content of ``result.json``: the phase in which the job ended and, if it failed, why."""

    phase: Literal["done", "failed", "stopped"]
    message: StoredMessage = Message("")


class JobFolder:
    """The folder of one job, with its files as the module describes them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.out = path / "out" / "verdicts.jsonl"
        self.rejects = rejects_path(self.out)
        self.mapping, self.preview = path / "mapping.yaml", path / "preview.json"
        self.request, self.result = path / "request.json", path / "result.json"
        self.process, self.stop = path / "process.json", path / "stop"
        self.errors, self.error = path / "errors.txt", path / "error.json"

    @property
    def log(self) -> Path | None:
        """The log; none if its file is gone."""
        return next(iter(sorted((self.path / "log").glob("*"))), None)

    @property
    def policies(self) -> list[Path]:
        """The policy files."""
        return sorted((self.path / "policies").glob("*.yaml"))

    @property
    def phase(self) -> Phase:
        """Where the job stands, by its files."""
        if not self.path.is_dir():
            return "absent"
        if (end := self.end) is not None:
            return end.phase
        if not self.request.exists():
            return "new"
        if not self.process.exists():
            return "waiting"
        return "stopping" if self.stop.exists() else "running"

    @property
    def end(self) -> JobEnd | None:
        """How the job ended, if it did."""
        try:
            return JobEnd.model_validate_json(self.result.read_bytes())
        except FileNotFoundError:
            return None

    @property
    def manifest(self) -> dict[str, Any] | None:
        """The manifest of the output, unverified; none before it is complete."""
        try:
            content: dict[str, Any] = json.loads(manifest_path(self.out).read_bytes())
        except FileNotFoundError:
            return None
        return content

    @property
    def is_complete(self) -> bool:
        """Whether the output is there."""
        return manifest_path(self.out).exists() and not self._working.joinpath(MANIFEST).exists()

    @property
    def _working(self) -> Path:
        return self.out.with_name(f".{output_stem(self.out)}.job")

    def count_scored(self) -> tuple[int, float]:
        """Return how many dialogues are on disk by the journal, and the seconds they took."""
        n, seconds = 0, 0.0
        with suppress(FileNotFoundError):
            for line in (self._working / "journal.jsonl").read_bytes().splitlines():
                with suppress(ValueError, KeyError, TypeError):  # the last line may be cut off
                    chunk = json.loads(line)
                    n, seconds = n + int(chunk["rows"]), seconds + float(chunk["seconds"])
        return n, seconds

    def read_preview(self) -> dict[str, Any] | None:
        """What was recognised; none if the log was not looked at yet."""
        try:
            content: dict[str, Any] = json.loads(self.preview.read_bytes(), object_hook=load_message)
        except FileNotFoundError:
            return None
        return content

    def write_preview(self, content: dict[str, Any]) -> None:
        """Keep what was recognised, with the messages in it."""
        write_json(self.preview, store_messages(content))

    def for_screen(self, message: Message) -> Message:
        """A message without this folder's path, and without hints at commands for a terminal."""
        return without_hints(message).without(f"{self.path}/log/").without(f"{self.path}/")

    def ask(self, options: ScoreOptions) -> None:
        """Put the job into the queue; one that ended goes on where it was."""
        command = score_command(self, options)
        with disk_errors(self.path):
            for path in (self.stop, self.result, self.process, self.error):
                path.unlink(missing_ok=True)
        write_json(self.request, command)

    def ask_to_stop(self) -> None:
        """Ask the runner to end the job."""
        with disk_errors(self.stop):
            os.close(create_private(self.stop, os.O_WRONLY | os.O_CREAT))

    def write_end(self, end: JobEnd) -> None:
        """Record how it ended."""
        write_json(self.result, end.model_dump(mode="json"))


def jobs_folder() -> Path:
    """The folder of all jobs: beside a store in a file, else in the home folder."""
    from dialint.labeling.store.api import on_sqlite, store_url

    if (folder := os.environ.get(JOBS_VARIABLE)) is not None:
        return Path(folder)
    url = store_url(os.environ.get("DIALINT_STORE") or None)
    return (Path(str(url.database)).parent if on_sqlite(url) else home_folder()) / "jobs"


def job_folder(job_id: str) -> JobFolder:
    """Return the folder of a job, which may not exist. Raises ConfigError (E_JOB) for what is no id."""
    if not JOB_ID.fullmatch(job_id):
        raise ConfigError("E_JOB", "there is no such job")
    return JobFolder(jobs_folder() / job_id)


def clean_name(name: str) -> str:
    """Return a safe name for a log on disk; its endings stay, as formats are recognised by them."""
    bare = unicodedata.normalize("NFC", re.split(r"[/\\]", name)[-1])
    clean = re.sub(r"[^\w.-]+", "_", bare).lstrip("._-") or "log"
    if len(clean.encode()) <= MAX_NAME_BYTES:
        return clean
    endings = "".join(Path(clean).suffixes[-2:])[-20:]
    stem = clean.encode()[: MAX_NAME_BYTES - len(endings.encode())].decode(errors="ignore")
    return f"{stem}{endings}"


def create_job_folder(name: str, content: bytes | Path) -> tuple[str, JobFolder, str]:
    """Make a folder with a log, of bytes or a file on the server. Returns the job's id, folder and the log's
    SHA-256."""
    job_id = secrets.token_hex(8)
    return (job_id, *write_log(jobs_folder() / job_id, name, content))


def write_log(path: Path, name: str, content: bytes | Path) -> tuple[JobFolder, str]:
    """A new job's folder at `path` with a log in it, and the log's SHA-256."""
    folder = JobFolder(path)
    make_output_folder(path / "log", new=True)
    make_output_folder(folder.out.parent)
    log = path / "log" / clean_name(name)
    with atomic_file(log) as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            with content.open("rb") as source:
                shutil.copyfileobj(source, file, 1 << 20)
    return folder, sha256_file(log)


def save_policies(folder: JobFolder, policies: Sequence[tuple[str, bytes]]) -> int:
    """Keep policy files in place of those before, after each was read; none if one is refused. Returns how
    many."""
    from dialint.detector.policy import load_policies

    target = folder.path / "policies"
    fresh = folder.path / ".policies"
    shutil.rmtree(fresh, ignore_errors=True)
    make_output_folder(fresh)
    try:
        for number, (name, content) in enumerate(policies):
            with atomic_file(fresh / f"{number:02d}-{Path(clean_name(name)).stem}.yaml") as file:
                file.write(content)
        load_policies(tuple(sorted(fresh.glob("*.yaml"))))
    except ConfigError as refused:
        shutil.rmtree(fresh)
        raise ConfigError(refused.code, refused.text.without(f"{fresh}/")) from None
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
    return len(policies)


def list_server_logs() -> list[str]:
    """Return the logs in the folder that the operator opened, by their paths in it, without hidden files and
    links."""
    root = os.environ.get(LOGS_VARIABLE)
    if not root or not Path(root).is_dir():
        return []
    logs: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            ending = Path(name.removesuffix(".gz").removesuffix(".zst")).suffix
            if (
                ending in LOG_ENDINGS
                and not name.startswith(".")
                and path.is_file()
                and not path.is_symlink()
            ):
                logs.append(str(path.relative_to(root)))
        if len(logs) >= MAX_LISTED_LOGS:
            break
    return logs[:MAX_LISTED_LOGS]


def server_log(name: str) -> Path:
    """Return the path of such a log. Raises ConfigError (E_PATH)."""
    if name not in list_server_logs():
        raise ConfigError("E_PATH", "this log is not in the folder of logs any more")
    return Path(os.environ[LOGS_VARIABLE]) / name


def release_folder(name: str) -> Path | None:
    """Return the folder of a promoted release; none for ``embedded``. Raises ConfigError (E_RELEASE)."""
    if name == "embedded":
        return None
    registry = Registry("scan")
    if name not in registry.ids():
        raise ConfigError("E_RELEASE", "this release is not on this machine any more")
    return registry.folder / name


def score_command(folder: JobFolder, options: ScoreOptions) -> list[str]:
    """Return the command line of `dialint score`; equal options give an equal one, so that it resumes."""
    if folder.log is None:
        raise ConfigError("E_PATH", "the log of this job is gone")
    command = [sys.executable, "-m", "dialint", "score", str(folder.log), "--out", str(folder.out)]
    command += ["--chunk-size", str(CHUNK_SIZE)]
    release = release_folder(options.release)
    if release is not None:
        command += ["--release", str(release)]
    if options.all_probabilities:
        command.append("--all-probabilities")
    if options.trusts_domain:
        command += ["--domain", "trust"]
    for language in options.languages:
        command += ["--languages", language]
    for policy in folder.policies[: options.n_policies]:
        command += ["--policy", str(policy)]
    if options.has_mapping:
        command += ["--mapping", str(folder.mapping)]
    return command


def worker_environment() -> dict[str, str]:
    """The environment of processes that work for a job: half of the cores, and no secret of the server."""
    cores = max(1, (os.cpu_count() or 2) // 2)
    return {"OMP_NUM_THREADS": str(cores), **child_environment()}


def remove_folder(folder: JobFolder) -> None:
    """Delete a job's folder with the log and all results. The process must have ended."""
    with disk_errors(folder.path):
        if folder.path.is_dir():
            shutil.rmtree(folder.path)


StoredMessage = Annotated[Message, PlainValidator(Message.from_json), PlainSerializer(Message.as_json)]
"""A message as a field of a record."""


def store_messages(value: Any) -> Any:
    """A value as JSON has it, with the template and the values of each message in it."""
    if isinstance(value, Message):
        return value.as_json()
    if isinstance(value, dict):
        return {key: store_messages(each) for key, each in value.items()}
    return [store_messages(each) for each in value] if isinstance(value, list) else value


def load_message(content: dict[str, Any]) -> Any:
    """The message that an object of JSON holds, or the object itself: an ``object_hook`` for `json.loads`."""
    return Message.from_json(content) if content.keys() == {"template", "values"} else content
