"""The releases on this machine, for the Releases page: the embedded one, and those of the registry.

A release is verified whole when it is first opened here, and again by the button; in between its report is
kept in memory, by the seal of its manifest. No permission is checked here: pages ask the store first.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import MANIFEST
from dialint.detector.calibration import CodeRelease
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.registry import KINDS, Registry, ReleaseKind, VerifiedFolder, verify_folder
from dialint.detector.release import EMBEDDED, Release, ReleaseInfo
from dialint.detector.statistics import wilson_interval

RELEASES_VARIABLE = "DIALINT_CONSOLE_RELEASES"
"""Environment: a folder with releases that leads may promote; without it only those in the registry."""
CARD = "MODEL_CARD.md"
MAX_CARD = 100_000


@dataclass(frozen=True)
class ReleaseEntry:
    """A release: `name` is its id in the registry, or ``embedded``; `in_use` says whether the pointer is at
    it; `promoted_at` is when it was last made current (ISO 8601), if ever."""

    kind: ReleaseKind
    name: str
    folder: Path
    in_use: bool = False
    promoted_at: str = ""


@dataclass(frozen=True)
class ReleaseReport:
    """A verified scan release: its `release.json`, files with sizes and hashes, and its model card."""

    info: ReleaseInfo
    files: tuple[dict[str, Any], ...]
    card: str

    def measurements(self, code: str) -> dict[str, Any]:
        """What was measured of a code on errors of unseen kinds; empty if it was not. An interval without
        width, as reports had it where all drawn dialogues agreed, is replaced by Wilson's of the counts."""
        on_unseen: Any = self.info.report.get("test_unseen")
        codes = on_unseen.get("codes", {}) if isinstance(on_unseen, dict) else {}
        measured: dict[str, Any] = {**codes.get(code, {})}
        for name, count in (
            ("precision", "flagged"),
            ("recall", "n_errors"),
            ("average_precision", "n_errors"),
        ):
            interval, n = measured.get(f"{name}_95"), measured.get(count)
            if isinstance(interval, list) and interval[0] is not None and interval[0] == interval[1] and n:
                measured[f"{name}_95"] = list(wilson_interval(measured[name] * n, n))
        return measured

    def headline(self, name: str) -> float | None:
        """A figure of all codes together on errors of unseen kinds; none if it was not measured."""
        on_unseen: Any = self.info.report.get("test_unseen")
        value = on_unseen.get(name) if isinstance(on_unseen, dict) else None
        return value if isinstance(value, int | float) else None

    def how(self, code: str) -> CodeRelease | None:
        """How the release finds a code; none if it does not cover it."""
        return self.info.codes.get(code)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it covers."""
        return tuple(self.info.codes)


def list_releases() -> tuple[list[ReleaseEntry], DialintError | None]:
    """The embedded release and those in the registry, and why a registry cannot be read, if one cannot."""
    entries: list[ReleaseEntry] = []
    problem: DialintError | None = None
    for kind in KINDS:
        registry = Registry(kind)
        try:
            pointer = registry.current()
            at = {line.id: line.at for line in registry.history()}
        except DialintError as damaged:
            problem = damaged
            continue
        for name in registry.ids():
            is_current = pointer is not None and pointer.id == name
            entries.append(ReleaseEntry(kind, name, registry.folder / name, is_current, at.get(name, "")))
    entries.sort(key=lambda entry: (entry.kind != "scan", not entry.in_use, entry.name))
    is_default = not any(entry.kind == "scan" and entry.in_use for entry in entries)
    return [ReleaseEntry("scan", "embedded", EMBEDDED, is_default), *entries], problem


def read_report(entry: ReleaseEntry) -> ReleaseReport:
    """The report of a scan release.

    Raises:
        DialintError: it is damaged, or gone.
    """
    try:
        status = (entry.folder / MANIFEST).stat()
    except OSError:
        raise ConfigError("E_RELEASE", "{name} is gone", name=entry.name) from None
    return _read_report(entry.folder, status.st_mtime_ns)


@lru_cache(16)
def _read_report(folder: Path, changed_ns: int) -> ReleaseReport:
    release = Release(folder)
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace")[:MAX_CARD] if card.exists() else ""
    return ReleaseReport(release.info, tuple(release.manifest["files"]), text)


def verify_release(entry: ReleaseEntry) -> str:
    """Compare every byte of a release with its manifest now. Returns its fingerprint."""
    return verify_folder(entry.folder).fingerprint


def list_candidates() -> list[str]:
    """The folders that the operator opened for promotion, by name."""
    root = os.environ.get(RELEASES_VARIABLE)
    if not root or not Path(root).is_dir():
        return []
    return sorted(
        path.name
        for path in Path(root).iterdir()
        if (path / MANIFEST).is_file() and not path.is_symlink() and not path.name.startswith(".")
    )


def find_candidate(name: str, *, is_recent: bool = False) -> VerifiedFolder:
    """Return one of them, or of the registry (``scan/ID``), verified; `is_recent`: since its manifest last
    changed."""
    registered = {f"{entry.kind}/{entry.name}": entry.folder for entry in list_releases()[0]}
    if name in registered and not name.endswith("/embedded"):
        folder = registered[name]
    elif name not in list_candidates():
        raise ConfigError("E_RELEASE", "there is no such release on this machine")
    else:
        folder = Path(os.environ[RELEASES_VARIABLE]) / name
    return _verify(folder, (folder / MANIFEST).stat().st_mtime_ns) if is_recent else verify_folder(folder)


@lru_cache(16)
def _verify(folder: Path, changed_ns: int) -> VerifiedFolder:
    return verify_folder(folder)


def summarize_base(info: ReleaseInfo) -> str:
    """The base model and its licence, in words."""
    return f"{info.base.name} {info.base.revision} ({info.base.licence})"


def count_training(info: ReleaseInfo) -> dict[str, str]:
    """Facts about the training as text, by name: single values only."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in info.training.items()
        if not isinstance(value, dict | list) and value is not None
    }
