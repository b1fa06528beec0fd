"""Releases that leads bring to the console as a .zip file, to be promoted without a command line.

Only the files that the release's manifest names are taken out of the archive, each no longer than the
manifest says; the folder is verified byte by byte before it is listed. It lies beside the registry until it
is promoted, which copies it.
"""

from __future__ import annotations

import secrets
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

from dialint.detector.artifacts import (
    MANIFEST,
    create_private,
    disk_errors,
    make_output_folder,
    read_manifest,
)
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.archives import zip_errors
from dialint.detector.manifests import Folder
from dialint.detector.registry import VerifiedFolder, home_folder, verify_folder

MAX_BYTES = 2 << 30
"""Of all files of a release together, unpacked."""
MAX_MANIFEST = 10 << 20
UPLOADED = "uploaded"
"""Before the id of a release that was brought, in the list of those that can be promoted."""


def uploads_folder() -> Path:
    """The folder of the releases that were brought."""
    return home_folder() / "releases" / UPLOADED


def list_uploads() -> list[str]:
    """Their ids."""
    folder = uploads_folder()
    return sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}") if path.parent.name[0] != ".")


def add_upload(content: bytes) -> VerifiedFolder:
    """Unpack and verify a release.

    Raises:
        ConfigError: E_RELEASE, the file is no .zip of a release, or too large.
        DialintError: the release is damaged; nothing is kept.
        WorldError: the disk is full.
    """
    folder = uploads_folder()
    part = folder / f".{secrets.token_hex(8)}"  # holds the folder, whose name is in the id of a judge
    with disk_errors(folder):
        make_output_folder(folder)
        make_output_folder(part, new=True)
    try:
        with disk_errors(part):
            unpacked = _unpack(content, part)
        source = verify_folder(unpacked)
        target = folder / source.id
        with disk_errors(target):
            if not target.exists():
                unpacked.rename(target)
        return VerifiedFolder(target, source.kind, source.id, source.fingerprint)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_upload(name: str) -> None:
    """Remove a release that was brought, once it is copied or no longer wanted."""
    if name in list_uploads():
        shutil.rmtree(uploads_folder() / name, ignore_errors=True)


def _unpack(content: bytes, part: Path) -> Path:
    """The folder below `part` into which a release was unpacked."""
    refused = ConfigError("E_RELEASE", "expected a .zip of a release's folder, with its manifest.json")
    with zip_errors(refused), zipfile.ZipFile(BytesIO(content)) as archive:
        manifests = [each for each in archive.infolist() if each.filename.rpartition("/")[2] == MANIFEST]
        if len(manifests) != 1:
            raise refused
        prefix = manifests[0].filename.removesuffix(MANIFEST)
        name = "".join(char for char in Path(prefix).name if char.isalnum() or char in "-_.")
        folder = part / (name.lstrip(".") or "release")
        make_output_folder(folder, new=True)
        _extract(archive, manifests[0].filename, folder / MANIFEST, MAX_MANIFEST)
        total = 0
        for entry in read_manifest(folder / MANIFEST, expected=Folder)["files"]:
            name, member = entry["name"], f"{prefix}{entry['name']}"
            total += entry["bytes"]
            if "/" in name or total > MAX_BYTES or member not in archive.NameToInfo:
                raise refused
            _extract(archive, member, folder / name, entry["bytes"])
        return folder


def _extract(archive: zipfile.ZipFile, name: str, path: Path, most: int) -> None:
    """Write a member of at most `most` bytes; what is longer does not fit its manifest and is cut."""
    with archive.open(name) as member, open(path, "xb", opener=create_private) as file:
        left = most
        while left > 0 and (block := member.read(min(left, 1 << 20))):
            left -= file.write(block)
