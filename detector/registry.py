"""The releases that are in use on this machine: copies of complete folders, and one history for each kind.

    $DIALINT_HOME/releases/judge/history.jsonl     one sealed line for each promotion and rollback
                                 NAME-1a2b3c4d/    a release; its name ends with the hash of its content

A scan release is a folder of `dialint train pack`, a judge one of `dialint train sft judge` or a stage after
it. A folder is copied, verified and renamed before its line is written, and never changes afterwards; a line
that a kill has cut off counts as never written. So a reader of the history sees the old or the new complete
release, whenever a promotion is killed. What a model is worth is not decided here, but by `dialint eval`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, ValidationError

from dialint.detector.artifacts import (
    MANIFEST,
    TEMPORARY_SUFFIX,
    Appender,
    create_private,
    disk_errors,
    fingerprint,
    fsync_folder,
    make_output_folder,
    read_manifest,
)
from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError, OutputRefused, UserError
from dialint.detector.manifests import Folder
from dialint.detector.records import Record

ReleaseKind = Literal["scan", "judge"]
KINDS: tuple[ReleaseKind, ...] = get_args(ReleaseKind)
CURRENT = "current"
"""The name by which commands mean the release that was promoted last."""
HASH_CHARS = 8
ReleaseId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length=255)]
"""The name of a release's folder in the registry."""


@dataclass(frozen=True)
class Pointer:
    """The release in use, its fingerprint, and the ids of those before it, newest last."""

    id: str
    fingerprint: str
    earlier: tuple[str, ...] = ()


class HistoryLine(Record):
    """One line of ``history.jsonl``. `seal` is a hash of this line and the seal of the line before it."""

    line: int
    at: str
    action: Literal["promote", "rollback"]
    id: ReleaseId
    before: str | None
    fingerprint: str
    uid: int
    seal: str = ""


@dataclass(frozen=True)
class VerifiedFolder:
    """A folder whose every byte was verified: kind, id in the registry, fingerprint of its manifest."""

    folder: Path
    kind: ReleaseKind
    id: str
    fingerprint: str


def resolve_release(kind: ReleaseKind, name: str | Path) -> Path:
    """The folder that `name` means: ``current``, or a path.

    Raises:
        ConfigError: E_RELEASE, nothing was promoted yet.
    """
    if str(name) != CURRENT:
        return Path(name)
    registry = Registry(kind)
    pointer = registry.current()
    if pointer is None:
        raise ConfigError(
            "E_RELEASE",
            "no {kind} was promoted yet: `dialint release promote FOLDER`, or name a folder",
            kind=kind,
        )
    return registry.folder / pointer.id


def verify_folder(folder: Path) -> VerifiedFolder:
    """Verify a folder that may be promoted, or was.

    Raises:
        ReleaseRefused: a scan release that must not be loaded.
        ConfigError: E_JUDGE or E_ADAPTER, neither a release nor a judge, or damaged.
    """
    if (folder / "release.json").exists():
        from dialint.detector.release import Release

        release = Release(folder)
        kind: ReleaseKind = "scan"
        name, digest = release.info.id, release.fingerprint
    else:
        from dialint.detector.engines.judge_folder import read_judge

        kind, digest = "judge", read_judge(folder).fingerprint
        name = folder.resolve().name
    name = name.removesuffix(f"-{digest[:HASH_CHARS]}")
    safe = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in name)
    return VerifiedFolder(folder, kind, f"{safe.lstrip('.') or kind}-{digest[:HASH_CHARS]}", digest)


class Registry:
    """The releases of one kind. Reading needs no lock; who changes something holds it."""

    def __init__(self, kind: ReleaseKind, home: Path | None = None) -> None:
        self.kind = kind
        self.folder = (home if home is not None else home_folder()) / "releases" / kind
        self._history = self.folder / "history.jsonl"

    def current(self) -> Pointer | None:
        """The release that the history makes the current one; None before the first promotion.

        Raises:
            OutputRefused: E_CHECKSUM, a line of the history was changed.
        """
        lines: list[HistoryLine] = []
        for line in self.history():
            if line.action == "promote":
                lines.append(line)
            else:
                lines.pop()
        if not lines:
            return None
        return Pointer(lines[-1].id, lines[-1].fingerprint, tuple(line.id for line in lines[:-1]))

    def ids(self) -> list[str]:
        """The ids of all complete releases, by name."""
        if not self.folder.is_dir():
            return []
        return sorted(
            path.parent.name for path in self.folder.glob(f"*/{MANIFEST}") if path.parent.name[0] != "."
        )

    def promote(self, source: VerifiedFolder, prepare: Callable[[Path], None] | None = None) -> Pointer:
        """Make the release of `source` the current one. `prepare` gets the folder of the copy before the
        pointer moves; if it raises, the pointer stays where it is.

        Raises:
            OutputRefused: the source was changed in the meantime, or another promotion runs.
            WorldError: E_WRITE.
        """
        with self._lock():
            before = self.current()
            self._copy(source)
            if prepare is not None:
                prepare(self.folder / source.id)
            if before is not None and before.id == source.id:
                return before
            return self._append("promote", source.id, source.fingerprint, before)

    def rollback(self, prepare: Callable[[Path], None] | None = None) -> Pointer:
        """Make the release before the current one current again; `prepare` as in `promote`.

        Raises:
            ConfigError: E_RELEASE, there is none before it.
            UserError: it is damaged.
        """
        with self._lock():
            before = self.current()
            if before is None or not before.earlier:
                raise ConfigError(
                    "E_RELEASE", "no {kind} before the current one to go back to", kind=self.kind
                )
            target = verify_folder(self.folder / before.earlier[-1])
            if prepare is not None:
                prepare(target.folder)
            return self._append("rollback", target.id, target.fingerprint, before)

    def verify(self) -> Iterator[tuple[str, str]]:
        """Everything in the registry with what is wrong with it, which is empty if nothing is."""
        for name in self.ids():
            try:
                own = verify_folder(self.folder / name)
                is_own = own.id == name and own.kind == self.kind
                yield name, "" if is_own else "its content is not that of its name"
            except UserError as error:
                yield name, str(error)
        try:
            pointer = self.current()
            if pointer is not None:
                folder = self.folder / pointer.id
                there = folder.is_dir() and verify_folder(folder).fingerprint == pointer.fingerprint
                yield self._history.name, "" if there else "the current release is not there"
        except UserError as error:
            yield self.kind, str(error)

    def history(self) -> list[HistoryLine]:
        """Every complete line; one that was cut off by a kill at the end of the file is left out.

        Raises:
            OutputRefused: E_CHECKSUM, a line was changed, or lines are missing before another.
        """
        lines: list[HistoryLine] = []
        for raw in self._history_bytes().splitlines():
            with suppress(ValidationError):
                line = HistoryLine.model_validate_json(raw)
                if line.line == len(lines) and line.seal == _seal(line, lines[-1].seal if lines else ""):
                    lines.append(line)
                    continue
            raise OutputRefused(
                "E_CHECKSUM", "{path}: line {n} was changed", path=self._history, n=len(lines) + 1
            )
        return lines

    def _history_bytes(self) -> bytes:
        """The file up to its last line end."""
        if not self._history.exists():
            return b""
        content = self._history.read_bytes()
        return content[: content.rfind(b"\n") + 1]

    def _append(
        self, action: Literal["promote", "rollback"], release: str, digest: str, before: Pointer | None
    ) -> Pointer:
        """Write the line that makes a release the current one."""
        lines = self.history()
        line = HistoryLine(
            line=len(lines),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            action=action,
            id=release,
            before=None if before is None else before.id,
            fingerprint=digest,
            uid=os.getuid(),
        )
        line = line.model_copy(update={"seal": _seal(line, lines[-1].seal if lines else "")})
        with closing(Appender(self._history, len(self._history_bytes()))) as file:
            file.write(json.dumps(line.model_dump(mode="json")).encode() + b"\n")
            file.sync()
        current = self.current()
        assert current is not None
        return current

    def _copy(self, source: VerifiedFolder) -> None:
        """Copy a release into the registry, unless it is there: verified again, then renamed."""
        target = self.folder / source.id
        if target.is_dir():
            if verify_folder(target).fingerprint == source.fingerprint:
                return
            raise OutputRefused("E_CHECKSUM", "{path}: damaged; remove it, and promote again", path=target)
        manifest = read_manifest(source.folder / MANIFEST, expected=Folder)
        part = self.folder / f".{source.id}{TEMPORARY_SUFFIX}"
        with disk_errors(part):
            make_output_folder(part, new=True)
            for name in (*(entry["name"] for entry in manifest["files"]), MANIFEST):
                with (
                    open(source.folder / name, "rb") as old,
                    open(part / name, "xb", opener=create_private) as new,
                ):
                    shutil.copyfileobj(old, new)
                    new.flush()
                    os.fsync(new.fileno())
            fsync_folder(part)
            if verify_folder(part).fingerprint != source.fingerprint:
                raise OutputRefused("E_CHECKSUM", "{path}: changed while it was copied", path=source.folder)
            part.rename(target)
            fsync_folder(self.folder)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """The right to change the registry; the kernel's, so that it ends with the process. What killed
        promotions left half-made is removed."""
        with disk_errors(self.folder):
            make_output_folder(self.folder)
            handle = create_private(self.folder / ".lock", os.O_WRONLY | os.O_CREAT)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutputRefused(
                    "E_LOCKED", "{path}: another promotion is running", path=self.folder
                ) from None
            with disk_errors(self.folder):
                for part in self.folder.glob(f".*{TEMPORARY_SUFFIX}/"):
                    shutil.rmtree(part)
            yield
        finally:
            os.close(handle)


def _seal(line: HistoryLine, before: str) -> str:
    content = line.model_dump(mode="json", exclude={"seal"})
    return hashlib.sha256(f"{before}{fingerprint(content)}".encode()).hexdigest()
