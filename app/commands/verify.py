"""``dialint verify PATH...``: verifies the checksums of an output or a release.

Compares files with their manifest, and the manifest with its own checksum. Repairs nothing.
"""

from __future__ import annotations

from pathlib import Path

from dialint.app.output import print_line, print_status
from dialint.detector.artifacts import MANIFEST, read_manifest, verify_files
from dialint.detector.errors import ConfigError, OutputRefused, UserError
from dialint.detector.verdict_files import manifest_path


def verify(*paths: Path) -> int:
    """Check outputs and releases against their manifests.

    Parameters
    ----------
    paths
        Output files of dialint score, their manifests, or release folders.
    """
    if not paths:
        raise ConfigError("E_OPTION", "nothing to verify was named")
    damaged = 0
    for path in paths:
        try:
            print_line(f"{path}: whole, {verify_path(path)} files")
        except UserError as error:
            damaged += 1
            print_status(str(error))
    return UserError.exit_code if damaged else 0


def verify_path(path: Path) -> int:
    """Verifies the files of the output or release at `path`, and returns their number.

    Raises:
        OutputRefused: a file is missing, was changed, or has no manifest.
        ReleaseRefused: the release folder is damaged or unsafe.
    """
    if not path.exists():
        raise OutputRefused("E_PATH", f"{path}: no such file or folder")
    if path.is_dir():
        if not (path / "release.json").exists():
            return _verify_listed(path / MANIFEST)
        from dialint.detector.release import Release

        return len(Release(path).manifest["files"])
    if path.name.endswith(".manifest.json"):
        return _verify_listed(path)
    return _verify_listed(manifest_path(path), path.name)


def _verify_listed(manifest: Path, name: str | None = None) -> int:
    entries = read_manifest(manifest).get("files")
    if not entries:
        raise OutputRefused("E_MANIFEST", f"{manifest}: names no files")
    if name is not None and name not in [entry["name"] for entry in entries]:
        raise OutputRefused("E_MANIFEST", f"{manifest}: vouches for other files, not for {name}")
    verify_files(manifest.parent, entries)
    return len(entries)
