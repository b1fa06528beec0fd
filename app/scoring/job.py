"""A durable scoring job, which may be killed at any moment and is resumed by the same command.

While the job runs, the folder ``.verdicts.job`` beside ``verdicts.jsonl`` holds the job's description
(``job.json``), the verdicts so far (``part.jsonl``), and a journal with the checksum of each committed chunk
of the part file; a truncated or changed chunk or line ends the list. When all is scored, the complete files
and their manifest are written there and published by three renames, the manifest last. Each step is
idempotent. The lock is the kernel's (``flock``) and is released when its process dies.

SIGTERM and SIGINT stop the job after the current chunk. A chunk that takes longer than `GRACE_S`, or a second
signal, drops the chunk, and the next run scores it again.

Scoring is at least once; exactly one result of each dialogue is committed. This module does not parse
verdicts.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NotRequired, TypedDict

from dialint.detector.artifacts import (
    MANIFEST,
    Appender,
    create_private,
    disk_errors,
    fingerprint,
    fsync_folder,
    read_manifest,
    remove_orphans,
    sha256_file,
    system_reason,
    verify_files,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.manifests import validate_fields
from dialint.detector.option_ranges import option_changes
from dialint.detector.verdict_files import (
    JobManifest,
    Work,
    manifest_path,
    output_stem,
    rejects_path,
    state_path,
)


class JobDescription(TypedDict):
    """The content of ``job.json``: the job's description, and the hashes of the files it replaces, by
    name."""

    work: Work
    replaces: NotRequired[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A line of the journal: `end` is the size of the part file after it, `ids` a hash of its dialogue
    ids."""

    number: int
    end: int
    rows: int
    sha256: str
    ids: str


def intact_chunks(journal_path: Path, part_path: Path) -> Iterator[Chunk]:
    """Yields the chunks whose journal line and bytes are intact, up to the first that is not."""
    if not (journal_path.exists() and part_path.exists()):
        return
    end = 0
    with open(journal_path, "rb") as journal, open(part_path, "rb") as part:
        for number, line in enumerate(journal):
            try:
                chunk = Chunk(**json.loads(line))
            except (ValueError, TypeError):
                return
            if journal_line(chunk) != line or chunk.number != number or chunk.end < end:
                return
            piece = part.read(chunk.end - end)
            if hashlib.sha256(piece).hexdigest() != chunk.sha256 or piece.count(b"\n") != chunk.rows:
                return
            end = chunk.end
            yield chunk


def hash_ids(ids: Sequence[str]) -> str:
    """Returns a short hash of dialogue ids in order, by which a resumed run is compared."""
    return hashlib.blake2b("\n".join(ids).encode(), digest_size=8).hexdigest()


def journal_line(chunk: Chunk) -> bytes:
    """Returns the journal line of a chunk."""
    return json.dumps(asdict(chunk), separators=(",", ":")).encode() + b"\n"


WORLD_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of the disk, not of the path."""


def _acquire_lock(folder: Path, out: Path) -> int:
    """Locks the folder's lock file and returns its descriptor. Retries if the folder was removed meanwhile.

    Raises:
        ConfigError: `out` cannot be written.
        OutputRefused: another process has the lock.
        WorldError: the disk is full or failed.
    """
    path = folder / "lock"
    while True:
        with disk_errors(out):
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
                handle = create_private(path, os.O_RDWR | os.O_CREAT)
            except FileNotFoundError:
                if not folder.parent.exists():
                    raise
                continue
            except OSError as error:
                if error.errno in WORLD_ERRORS:
                    raise
                raise ConfigError(
                    "E_OPTION", "--out: cannot write {path}: {reason}", path=path, reason=system_reason(error)
                ) from None
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = os.read(handle, 20).decode(errors="replace").strip() or "?"
                os.close(handle)
                raise OutputRefused(
                    "E_LOCKED", "{path}: another dialint (process {pid}) is writing it; wait or stop it",
                    path=out, pid=pid,
                ) from None  # fmt: skip
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                os.ftruncate(handle, 0)
                os.write(handle, f"{os.getpid()}\n".encode())
                return handle
            os.close(handle)


@dataclass
class DurableJob:
    """The locked job of one output. `resumed` are the chunks of earlier runs."""

    out: Path
    folder: Path
    resumed: list[Chunk] = field(default_factory=list)
    n_chunks: int = 0
    n_rows: int = 0
    _part: Appender | None = None
    _journal: Appender | None = None

    def __post_init__(self) -> None:
        self.part = self.folder / "part.jsonl"  # the verdicts so far
        self.journal = self.folder / "journal.jsonl"  # checksums of the committed chunks
        self.rejects = self.folder / "rejects.jsonl"  # this one and the next are rewritten by every run
        self.locations = self.folder / "places.jsonl"  # file and line of each dialogue
        self.final = self.folder / "final"  # the complete output, if it is not the part file
        self.state = self.folder / "state"  # the state of `--only-new`
        self._ready = self.folder / MANIFEST
        self._description = self.folder / "job.json"

    def finished_manifest(self, description: dict[str, Any], *, restart: bool) -> dict[str, Any] | None:
        """Returns the manifest, verified with its files, if this job is complete. With `restart` returns
        None, and reverts an interrupted publication.

        Raises:
            OutputRefused: the output belongs to another job, is damaged, or has no manifest.
        """
        if restart:
            self._unpublish()
        self._publish()
        path = manifest_path(self.out)
        if not path.exists():
            for stray in (self.out, rejects_path(self.out)):
                if stray.exists() or stray.is_symlink():
                    raise OutputRefused(
                        "E_OUTPUT_EXISTS",
                        "{path}: is there already, without a manifest; move it away",
                        path=stray,
                    )
            return None
        manifest = read_manifest(path)
        if manifest.get("kind") != "verdicts":
            raise OutputRefused(
                "E_OUTPUT_EXISTS", "{path}: is no manifest of verdicts; use another --out", path=path
            )
        validate_fields(manifest, JobManifest, path)
        other = manifest["files"][0]["name"]
        if other != self.out.name:  # `v.csv` and `v.csv.jsonl` would have one manifest
            free = self.out.with_name(f"{self.out.stem.replace('.', '-')}-2{self.out.suffix}")
            raise OutputRefused(
                "E_OTHER_JOB",
                "{path}: its manifest would be {manifest}, which is that of {other}; use another name, such "
                "as --out {free}",
                path=self.out, manifest=path.name, other=other, free=free,
            )  # fmt: skip
        if restart:
            return None
        advice = "; --restart replaces it, another --out keeps it"
        _check_same_job(self.out, _comparable(manifest["work"]), _comparable(description), advice)
        verify_files(self.out.parent, manifest["files"])
        return manifest

    def begin(self, description: dict[str, Any], *, restart: bool) -> None:
        """Resume the partial job in the folder, possibly with another limit, or start one. With `restart` it
        replaces the existing complete files.

        Raises:
            OutputRefused: the partial job is another one and has committed chunks; the message lists the
                differences.
        """
        replace = restart or is_growing(description)
        self.resumed = list(intact_chunks(self.journal, self.part))
        if self._description.exists() and self.resumed and not restart:
            stored = read_manifest(self._description, expected=JobDescription)["work"]
            works = _comparable(stored, any_limit=True), _comparable(description, any_limit=True)
            _check_same_job(self.out, *works, "; --restart throws the partial output away")
        else:
            self.discard()
            complete = [path for path in (self.out, rejects_path(self.out)) if replace and path.exists()]
            replaces = {path.name: sha256_file(path) for path in complete}
            write_manifest(self._description, {"kind": "job", "work": description, "replaces": replaces})
        self.n_chunks = len(self.resumed)
        self.n_rows = sum(chunk.rows for chunk in self.resumed)
        self._part = Appender(self.part, self.resumed[-1].end if self.resumed else 0)
        self._journal = Appender(self.journal, sum(len(journal_line(chunk)) for chunk in self.resumed))
        with disk_errors(self.folder):
            fsync_folder(self.folder)

    def commit(self, lines: Iterable[bytes], ids: Sequence[str]) -> None:
        """Commit one chunk durably: first its lines, one for each id, then its journal line."""
        assert self._part is not None
        assert self._journal is not None
        piece = b"".join(lines)
        self._part.write(piece)
        self._part.sync()
        digest = hashlib.sha256(piece).hexdigest()
        chunk = Chunk(self.n_chunks, self._part.size, len(ids), digest, hash_ids(ids))
        self._journal.write(journal_line(chunk))
        self._journal.sync()
        self.n_chunks += 1
        self.n_rows += len(ids)

    def publish(self, manifest: dict[str, Any]) -> None:
        """Publish the complete files under their names, the manifest last, and end the job."""
        write_manifest(self._ready, manifest)
        self._publish()

    def discard(self) -> None:
        """Delete the partial job: first the manifest that marks it as complete, then `job.json`, without
        which the rest is ignored."""
        self.close()
        with disk_errors(self.folder):
            self._ready.unlink(missing_ok=True)
            self._description.unlink(missing_ok=True)
            for path in (self.journal, self.part, self.rejects, self.locations, self.final, self.state):
                path.unlink(missing_ok=True)
        self.resumed, self.n_chunks, self.n_rows = [], 0, 0

    def close(self) -> None:
        for appender in (self._part, self._journal):
            if appender is not None:
                appender.close()
        self._part = self._journal = None

    def _publish(self) -> None:
        """Do the renames, or the remaining ones after an interruption; nothing before the job is complete."""
        if not self._ready.exists():
            return
        self.close()
        manifest = read_manifest(self._ready, expected=JobManifest)
        replaces = read_manifest(self._description, expected=JobDescription).get("replaces", {})
        with disk_errors(self.out):
            for source, target, _ in self._renames(manifest):
                if source.exists():
                    if target.exists() and sha256_file(target) != replaces.get(target.name):
                        raise OutputRefused(
                            "E_OUTPUT_EXISTS", "{path}: appeared meanwhile; move it away", path=target
                        )
                    source.replace(target)
            fsync_folder(self.out.parent)
            try:
                verify_files(self.out.parent, manifest["files"])
            except OutputRefused as error:
                raise OutputRefused(
                    error.code,
                    "{problem}; the job in {path} is not over: put the file back, or --restart starts anew",
                    problem=error.text, path=self.folder,
                ) from None  # fmt: skip
            if self.state.exists():
                self.state.replace(state_path(self.out))
            self.journal.unlink(missing_ok=True)  # nothing to resume
            self._ready.replace(manifest_path(self.out))
            fsync_folder(self.out.parent)

    def _renames(self, manifest: dict[str, Any]) -> Iterator[tuple[Path, Path, dict[str, Any]]]:
        """Yields source, target and manifest entry of each complete file."""
        is_part = manifest["format"] == "jsonl" and not is_growing(manifest["work"])
        final = self.part if is_part else self.final
        for source, entry in zip((final, self.rejects), manifest["files"], strict=True):
            yield source, self.out.parent / entry["name"], entry

    def _unpublish(self) -> None:
        """Revert the renames of an interrupted `_publish`, of unchanged files, and discard the job."""
        if not self._ready.exists():
            return
        manifest = read_manifest(self._ready, expected=JobManifest)
        if manifest["files"][0]["name"] != self.out.name:
            return  # the complete output of another name with the same stem
        with disk_errors(self.out):
            for source, target, entry in self._renames(manifest):
                with suppress(OutputRefused):  # changed: it stays
                    if not source.exists():
                        verify_files(target.parent, [entry])
                        target.replace(source)
            fsync_folder(self.out.parent)
        self.discard()


def is_growing(work: Mapping[str, Any]) -> bool:
    """Returns whether a job adds to a complete output: ``--only-new``."""
    return bool(work.get("options", {}).get("only_new"))


def _comparable(work: dict[str, Any], *, any_limit: bool = False) -> dict[str, Any]:
    """Returns a description without what may differ: the limit of a partial job, and the inputs and the limit
    of a growing output."""
    is_open, options = is_growing(work), work.get("options", {})
    if any_limit or is_open:
        options = {**options, "limit": None}
    changing = ("inputs", "log") if is_open else ()
    return {**{name: value for name, value in work.items() if name not in changing}, "options": options}


def _check_same_job(out: Path, stored: dict[str, Any], requested: dict[str, Any], advice: str) -> None:
    """
    Raises:
        OutputRefused: the descriptions differ; the message lists the differences.
    """
    if fingerprint(stored) == fingerprint(requested):
        return
    details = option_changes(stored.get("options", {}), requested.get("options", {}))
    before, now = stored.get("release", {}), requested.get("release", {})
    options = {"id": "--release", "taxonomy": "--taxonomy"}
    changed = [part for part in options if before.get(part) != now.get(part)]
    details += [f"{options[part]} was {before.get(part)}, is {now.get(part)} now" for part in changed]
    if before != now and not changed:
        files = "the files of --release, the text of --taxonomy, --policy, --check or --overrides"
        details.append(f"what judges differs ({files}, --precision, --languages)")
    if stored.get("inputs") != requested.get("inputs"):
        details.append("the logs are other ones, or were changed")
    if not details:
        details.append("the log's first dialogues are read otherwise by this version")
    raise OutputRefused(
        "E_OTHER_JOB", "{path}: belongs to another job: {details}{advice}",
        path=out, details=", ".join(details), advice=advice,
    )  # fmt: skip


@contextmanager
def lock_job(out: Path, *, growing: bool = False) -> Iterator[DurableJob]:
    """Context of the locked job of `out`. Temporary files of killed processes are removed. The job of a
    `growing` output keeps unpublished chunks.

    Raises:
        OutputRefused: another process has the lock; the message has its id.
        WorldError: the folder cannot be written.
    """
    folder = out.with_name(f".{output_stem(out)}.job")
    lock = _acquire_lock(folder, out)
    job = DurableJob(out, folder)
    try:
        for name in ("job.json", MANIFEST, "final", "state"):
            remove_orphans(folder / name)
        yield job
    finally:
        job.close()
        published = manifest_path(out).exists() and not (folder / MANIFEST).exists()
        if growing and job.journal.exists():
            published = published and not job.journal.stat().st_size
        if published or not (folder / "job.json").exists():
            with disk_errors(folder):
                for path in sorted(folder.iterdir(), key=lambda path: path.name == "lock"):  # last
                    path.unlink()
                with suppress(OSError):  # the next process may use it already
                    folder.rmdir()
                fsync_folder(folder.parent)
        os.close(lock)


GRACE_S = 20


class Interrupted(BaseException):
    """A signal stopped the job. Not an `Exception`: only the owner of the job may catch it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C; 0 for SIGTERM, by which schedulers stop resumable jobs."""
        return 130 if self.signum == signal.SIGINT else 0


class GracefulShutdown:
    """Defers a signal until the current chunk is committed."""

    def __init__(self) -> None:
        self._requested: int | None = None
        self._busy = False

    @contextmanager
    def chunk(self) -> Iterator[None]:
        """Context of scoring and committing one chunk. Raises `Interrupted` at its end after a signal."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._requested is not None:
            raise Interrupted(self._requested)

    def handle(self, signum: int, frame: FrameType | None) -> None:
        first = self._requested is None
        if signum != signal.SIGALRM:
            self._requested = self._requested or signum
        if self._busy and first:
            signal.setitimer(signal.ITIMER_REAL, GRACE_S)
        else:
            raise Interrupted(self._requested or signum)


@contextmanager
def graceful_shutdown() -> Iterator[GracefulShutdown]:
    """Install the handlers for the duration of the job, then restore the earlier ones."""
    shutdown = GracefulShutdown()
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    earlier = [signal.signal(number, shutdown.handle) for number in signals]
    try:
        yield shutdown
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip(signals, earlier, strict=True):
            signal.signal(number, handler)
