"""The releases that are in use on this machine: copies of complete folders, and one history for each kind.

    $DIALINT_HOME/releases/judge/history.jsonl     one sealed line for each promotion and rollback
                                 NAME-1a2b3c4d/    a release; its name ends with the hash of its content

A scan release is a folder of `dialint train pack`, a judge one of `dialint train sft judge` or a stage after
it. A folder is copied, verified and renamed before its line is written, and never changes afterwards; a line
that a kill has cut off counts as never written. So a reader of the history sees the old or the new complete
release, whenever a promotion is killed. What a model is worth is not decided here, but by `dialint eval` and
the gates of `dialint release promote`, whose results a line holds.

A promotion to a part of the dialogues is a roll-out: the current release stays, and the candidate stands
beside it (`detector/rollout.py`) until it is promoted to all, or taken back by a rollback.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, ValidationError

from dialint.detector.artifacts import (
    MANIFEST,
    TEMPORARY_SUFFIX,
    Appender,
    atomic_file,
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


class Gate(Record):
    """One condition of a promotion, and what was measured of it."""

    name: str
    passed: bool
    detail: str


SHIPPED_RELEASES = {name: Path(__file__).with_name(name) for name in ("embedded", "smollm2")}
"""Scan releases that ship, by the names that commands take for their folders. The second has heads alone: its
base comes by `dialint base fetch smollm2`."""
WHOLE = 100
"""The share of a release that scores all dialogues."""


def _is_default(value: object) -> bool:
    return value in ("", WHOLE, ())


class HistoryLine(Record):
    """One line of ``history.jsonl``. `seal` is a hash of this line and the seal of the line before it. `by`
    is the person who signed it off, `before` the release that was current, or that a rollback takes back,
    `share` the percentage of dialogues that the release scores (0: it scores
    all of them aside), `gates` what was measured before, `reason` why it was rolled back."""

    line: int
    at: str
    action: Literal["promote", "rollback"]
    id: ReleaseId
    before: str | None
    fingerprint: str
    uid: int
    by: str = Field(default="", exclude_if=_is_default)
    share: Annotated[int, Field(ge=0, le=WHOLE)] = Field(default=WHOLE, exclude_if=_is_default)
    gates: tuple[Gate, ...] = Field(default=(), exclude_if=_is_default)
    reason: str = Field(default="", exclude_if=_is_default)
    seal: str = ""


@dataclass(frozen=True)
class VerifiedFolder:
    """A folder whose every byte was verified: kind, id in the registry, fingerprint of its manifest."""

    folder: Path
    kind: ReleaseKind
    id: str
    fingerprint: str


def resolve_release(kind: ReleaseKind, name: str | Path) -> Path:
    """The folder that `name` means: ``current``, one that ships, or a path.

    Raises:
        ConfigError: E_RELEASE, nothing was promoted yet.
    """
    if str(name) != CURRENT:
        return SHIPPED_RELEASES.get(str(name), Path(name)) if kind == "scan" else Path(name)
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
    """The releases of one kind. Reading needs no lock; changes take it."""

    def __init__(self, kind: ReleaseKind, home: Path | None = None) -> None:
        self.kind = kind
        self.folder = (home if home is not None else home_folder()) / "releases" / kind
        self._history = self.folder / "history.jsonl"

    def current(self) -> Pointer | None:
        """The release that the history makes the current one; None before the first promotion.

        Raises:
            OutputRefused: E_CHECKSUM, a line of the history was changed.
        """
        lines, _ = self._replay_history()
        if not lines:
            return None
        return Pointer(lines[-1].id, lines[-1].fingerprint, tuple(line.id for line in lines[:-1]))

    def rollout(self) -> HistoryLine | None:
        """The last line of the roll-out that is under way, if one is; raises as `current`."""
        return self._replay_history()[1]

    def _replay_history(self) -> tuple[list[HistoryLine], HistoryLine | None]:
        """Returns the promotions that were not rolled back, and the active roll-out."""
        lines: list[HistoryLine] = []
        rollout: HistoryLine | None = None
        for line in self.history():
            if line.action == "promote" and line.share < WHOLE:
                rollout = line
            elif line.action == "promote":
                lines.append(line)
                rollout = None
            elif rollout is not None:
                rollout = None
            else:
                lines.pop()
        return lines, rollout

    def shadow_file(self, release: str) -> Path:
        """Returns the file with the verdicts of a release that scores in shadow."""
        return self.folder / "shadow" / f"{release}.jsonl"

    def ids(self) -> list[str]:
        """The ids of all complete releases, by name."""
        if not self.folder.is_dir():
            return []
        return sorted(
            path.parent.name for path in self.folder.glob(f"*/{MANIFEST}") if path.parent.name[0] != "."
        )

    def promote(
        self,
        source: VerifiedFolder,
        prepare: Callable[[Path], None] | None = None,
        *,
        by: str = "",
        share: int = WHOLE,
        gates: tuple[Gate, ...] = (),
        compared_with: str | None = None,
    ) -> Pointer:
        """Make the release of `source` the current one, or let it score a `share` of the dialogues beside it.
        `prepare` gets the folder of the copy before the pointer moves; if it raises, the pointer stays where
        it is. `gates` were measured beside the release `compared_with`.

        Raises:
            ConfigError: E_RELEASE, a share of what is current already, or without a current release.
            OutputRefused: the source or the current release was changed in the meantime, or another promotion
                runs.
            WorldError: E_WRITE.
        """
        with self._lock():
            before = self.current()
            if compared_with is not None and (before is None or before.id != compared_with):
                raise OutputRefused(
                    "E_LOCKED", "{id} is not current any more; promote again", id=compared_with
                )
            if share < WHOLE and (before is None or before.id == source.id):
                raise ConfigError(
                    "E_RELEASE", "{id}: a roll-out needs another release that is current", id=source.id
                )
            self._copy(source)
            if prepare is not None:
                prepare(self.folder / source.id)
            if before is not None and before.id == source.id:
                return before
            line = {"by": by, "share": share, "gates": gates}
            last = None if before is None else before.id
            return self._append("promote", source.id, source.fingerprint, last, **line)

    def rollback(
        self, prepare: Callable[[Path], None] | None = None, *, by: str = "", reason: str = ""
    ) -> Pointer:
        """Take back the roll-out that is under way; without one, make the release before the current one
        current again, `prepare` as in `promote`.

        Raises:
            ConfigError: E_RELEASE, there is none before it.
            UserError: it is damaged.
        """
        with self._lock():
            before, rollout = self.current(), self.rollout()
            line = {"by": by, "reason": reason}
            if before is not None and rollout is not None:
                return self._append("rollback", before.id, before.fingerprint, rollout.id, **line)
            if before is None or not before.earlier:
                raise ConfigError(
                    "E_RELEASE", "no {kind} before the current one to go back to", kind=self.kind
                )
            target = verify_folder(self.folder / before.earlier[-1])
            if prepare is not None:
                prepare(target.folder)
            return self._append("rollback", target.id, target.fingerprint, before.id, **line)

    def _remove_shadows(self) -> None:
        """Remove what was scored aside, unless that roll-out goes on."""
        rollout = self.rollout()
        for path in self._shadow_files():
            if rollout is None or path != self.shadow_file(rollout.id):
                path.unlink(missing_ok=True)

    def _shadow_files(self) -> list[Path]:
        return sorted(self.shadow_file("x").parent.glob("*.jsonl"))

    def erase(self, dialogues: Collection[str]) -> None:
        """Remove the verdicts on these dialogues from what was scored aside; a line that a kill has cut off
        goes, too."""
        for path in self._shadow_files():
            remaining = []
            with disk_errors(path):
                lines = path.read_bytes().splitlines(keepends=True)
            for line in lines:
                with suppress(ValueError):
                    if json.loads(line)["dialogue_id"] not in dialogues:
                        remaining.append(line)
            if len(remaining) < len(lines):
                with atomic_file(path) as file:
                    file.writelines(remaining)

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
        self,
        action: Literal["promote", "rollback"],
        release: str,
        digest: str,
        before: str | None,
        **details: Any,
    ) -> Pointer:
        """Write the line that makes a release the current one, or lets it score beside it."""
        lines = self.history()
        line = HistoryLine(
            line=len(lines),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            action=action,
            id=release,
            before=before,
            fingerprint=digest,
            uid=os.getuid(),
            **details,
        )
        line = line.model_copy(update={"seal": _seal(line, lines[-1].seal if lines else "")})
        with closing(Appender(self._history, len(self._history_bytes()))) as file:
            file.write(json.dumps(line.model_dump(mode="json")).encode() + b"\n")
            file.sync()
        self._remove_shadows()
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
