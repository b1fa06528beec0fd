"""A durable scoring job: it may be killed at any moment and the same command goes on from there.

Beside ``verdicts.jsonl`` lies, while the job runs, the folder ``.verdicts.job``: what the job is
(``job.json``), the verdicts so far (``part.jsonl``), and a journal with one line for each chunk that is
whole. When all is scored the complete files and their manifest are made in there; three renames, the
manifest last, bring them out. Each step can be repeated, so each can be interrupted.

At-least-once work, one committed result for each dialogue. This module does not know what a verdict is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialint.app.scoring.journal import Chunk, ids_hash, journal_line, whole_chunks
from dialint.app.scoring.lock import locked, remove
from dialint.detector.artifacts import (
    Appender,
    disk_errors,
    fingerprint,
    fsync_folder,
    option_changes,
    read_manifest,
    remove_orphans,
    verify_files,
    write_manifest,
)
from dialint.detector.errors import OutputRefused
from dialint.detector.verdict_files import beside, find_manifest, manifest_path, rejects_path


@dataclass
class Job:
    """One output of one job, locked for this process. `resumed` are the chunks of earlier runs."""

    out: Path
    folder: Path
    resumed: list[Chunk] = field(default_factory=list)
    n_chunks: int = 0
    n_rows: int = 0
    _part: Appender | None = None
    _journal: Appender | None = None

    @property
    def part(self) -> Path:
        """The verdicts so far."""
        return self.folder / "part.jsonl"

    @property
    def rejects(self) -> Path:
        """The rejects of this run; made anew by every run."""
        return self.folder / "rejects.jsonl"

    @property
    def places(self) -> Path:
        """File and line of each dialogue, for reports that point there; made anew by every run."""
        return self.folder / "places.jsonl"

    @property
    def journal(self) -> Path:
        """Which chunks of the part file are whole."""
        return self.folder / "journal.jsonl"

    @property
    def final(self) -> Path:
        """The complete output before its rename, where it is not the part file itself."""
        return self.folder / "final"

    @property
    def _ready(self) -> Path:
        return self.folder / "manifest.json"

    @property
    def _about(self) -> Path:
        return self.folder / "job.json"

    def finished(self, work: dict[str, Any], *, restart: bool) -> dict[str, Any] | None:
        """The manifest, verified with its files, if this very job is done already. With `restart` a job
        that was interrupted while it brought its files out takes them back first.

        Raises:
            OutputRefused: the output belongs to another job, is damaged, or has no manifest.
        """
        if restart:
            self._withdraw()
        self._publish()
        path = find_manifest(self.out)
        if not path.exists():
            for stray in (self.out, rejects_path(self.out)):
                if stray.exists() or stray.is_symlink():
                    raise OutputRefused(
                        "E_OUTPUT_EXISTS", f"{stray}: is there already, without a manifest; move it away"
                    )
            return None
        manifest = read_manifest(path)
        if manifest.get("kind") != "verdicts":
            raise OutputRefused("E_OUTPUT_EXISTS", f"{path}: is no manifest of verdicts; use another --out")
        _refuse_shared_manifest(self.out, path, manifest["files"][0]["name"])
        _same_job(self.out, manifest["work"], work, "; move it away or use another --out")
        verify_files(self.out.parent, manifest["files"])
        return manifest

    def begin(self, work: dict[str, Any], *, restart: bool) -> None:
        """Go on with the partial job in the folder, or start one.

        Raises:
            OutputRefused: the partial job is another one and has done something; what differs is said.
        """
        self.resumed = list(whole_chunks(self.journal, self.part))
        if self._about.exists() and self.resumed and not restart:
            kept = read_manifest(self._about)
            _same_job(self.out, kept["work"], work, "; --restart throws the partial output away")
        else:
            self.discard()
            write_manifest(self._about, {"kind": "job", "work": work})
        self.n_chunks = len(self.resumed)
        self.n_rows = sum(chunk.rows for chunk in self.resumed)
        self._part = Appender(self.part, self.resumed[-1].end if self.resumed else 0)
        self._journal = Appender(self.journal, sum(len(journal_line(chunk)) for chunk in self.resumed))
        with disk_errors(self.folder):
            fsync_folder(self.folder)

    def commit(self, lines: Sequence[bytes], ids: Sequence[str], longest: str, seconds: float) -> None:
        """Make one chunk durable: first its lines, then the journal line that vouches for them."""
        assert self._part is not None
        assert self._journal is not None
        piece = b"".join(lines)
        self._part.write(piece)
        self._part.sync()
        digest = hashlib.sha256(piece).hexdigest()
        chunk = Chunk(
            number=self.n_chunks,
            end=self._part.size,
            rows=len(lines),
            sha256=digest,
            ids=ids_hash(ids),
            longest=longest,
            seconds=round(seconds, 4),
        )
        self._journal.write(journal_line(chunk))
        self._journal.sync()
        self.n_chunks += 1
        self.n_rows += len(lines)

    def publish(self, manifest: dict[str, Any]) -> None:
        """Bring the complete files out under their names, the manifest last, and end the job."""
        write_manifest(self._ready, manifest)
        self._publish()

    def discard(self) -> None:
        """Throw the partial job away. First what says that it is complete, then `job.json`: without it the
        rest means nothing."""
        self.close()
        with disk_errors(self.folder):
            self._ready.unlink(missing_ok=True)
            self._about.unlink(missing_ok=True)
            for path in (self.journal, self.part, self.rejects, self.places, self.final):
                path.unlink(missing_ok=True)
        self.resumed, self.n_chunks, self.n_rows = [], 0, 0

    def close(self) -> None:
        """Let go of the open files."""
        for appender in (self._part, self._journal):
            if appender is not None:
                appender.close()
        self._part = self._journal = None

    def _publish(self) -> None:
        """The renames, from wherever they were interrupted. Nothing happens before the job is complete."""
        if not self._ready.exists():
            return
        self.close()
        manifest = read_manifest(self._ready)
        with disk_errors(self.out):
            for made, target, _ in self._ways_out(manifest):
                if made.exists():
                    if target.exists():
                        raise OutputRefused("E_OUTPUT_EXISTS", f"{target}: appeared meanwhile; move it away")
                    made.replace(target)
            fsync_folder(self.out.parent)
            try:
                verify_files(self.out.parent, manifest["files"])
            except OutputRefused as error:
                way_on = f"the job in {self.folder} is not over: put the file back, or --restart starts anew"
                raise OutputRefused(error.code, f"{error.message}; {way_on}") from None
            self._ready.replace(manifest_path(self.out))
            fsync_folder(self.out.parent)

    def _ways_out(self, manifest: dict[str, Any]) -> Iterator[tuple[Path, Path, dict[str, Any]]]:
        """Of each complete file: where it is made, where it goes, and its entry in the manifest."""
        final = self.part if manifest["format"] == "jsonl" else self.final
        for made, entry in zip((final, self.rejects), manifest["files"], strict=True):
            yield made, self.out.with_name(entry["name"]), entry

    def _withdraw(self) -> None:
        """Take back what an interrupted `_publish` brought out, if it is still ours, and forget the job."""
        if not self._ready.exists():
            return
        manifest = read_manifest(self._ready)
        if manifest["files"][0]["name"] != self.out.name:
            return  # the complete output of another name with the same stem
        with disk_errors(self.out):
            for made, target, entry in self._ways_out(manifest):
                if not made.exists() and _is_whole(target, entry):
                    target.replace(made)
            fsync_folder(self.out.parent)
        self.discard()


def _is_whole(path: Path, entry: dict[str, Any]) -> bool:
    try:
        verify_files(path.parent, [entry])
    except OutputRefused:
        return False
    return True


def _refuse_shared_manifest(out: Path, path: Path, other: str) -> None:
    """``v.csv`` and ``v.csv.jsonl`` would have one manifest."""
    if other != out.name:
        free = out.with_name(f"{out.stem.replace('.', '-')}-2{out.suffix}")
        raise OutputRefused(
            "E_OTHER_JOB",
            f"{out}: its manifest would be {path.name}, which is that of {other}; use another name, such as "
            f"--out {free}",
        )


def _same_job(out: Path, kept: dict[str, Any], work: dict[str, Any], way_on: str) -> None:
    """Refuse when `kept` and `work` are not the same, and say in what they differ."""
    if fingerprint(kept) == fingerprint(work):
        return
    details = option_changes(kept.get("options", {}), work.get("options", {}))
    details += _release_changes(kept.get("release", {}), work.get("release", {}))
    if kept.get("inputs") != work.get("inputs"):
        details.append("the logs are other ones, or were changed")
    raise OutputRefused("E_OTHER_JOB", f"{out}: belongs to another job: {', '.join(details)}{way_on}")


def _release_changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """What judges: its name and the taxonomy's, or, where these are the same, that something else differs."""
    changed = [part for part in ("id", "taxonomy") if before.get(part) != now.get(part)]
    for part in changed:
        what = "--release" if part == "id" else "--taxonomy"
        yield f"{what} was {before.get(part)}, is {now.get(part)} now"
    if before != now and not changed:
        yield "what judges differs (the files of --release, the text of --taxonomy, --precision, --languages)"


@contextmanager
def hold(out: Path) -> Iterator[Job]:
    """The job of `out`, locked: one process at a time. Orphan temporaries of killed ones are removed.

    Raises:
        OutputRefused: another process works on it; the message has its id.
        WorldError: the folder cannot be written.
    """
    folder = out.with_name(f".{beside(out)}.job")
    lock = locked(folder, out)
    job = Job(out, folder)
    try:
        for name in ("job.json", "manifest.json", "final"):
            remove_orphans(folder / name)
        yield job
    finally:
        job.close()
        if not (folder / "job.json").exists() or _is_over(job):
            remove(folder)
        os.close(lock)


def _is_over(job: Job) -> bool:
    """Whether the output is out and only leftovers are in the folder."""
    return find_manifest(job.out).exists() and not (job.folder / "manifest.json").exists()
