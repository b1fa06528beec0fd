"""``dialint score --out s3://BUCKET/KEY``: the job runs in a local folder, then its files are uploaded.

While it runs, the folder ``$DIALINT_HOME/s3/...`` holds the verdicts so far, so that the same command on the
same machine resumes. When all is scored, verdicts and rejects are uploaded, the manifest last; the same
command resumes an interrupted upload. Afterwards the folder is removed. Existing objects are treated as
existing files are: as the completed output of this job, or refused. The lock is local: processes of other
machines may write the same objects at the same time.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dialint.app.output import print_status
from dialint.detector.artifacts import atomic_file, make_output_folder, read_manifest, verify_files
from dialint.detector.environment import home_folder
from dialint.detector.errors import OutputRefused
from dialint.detector.ingest.object_store import copy_object, is_object, list_objects, store_object
from dialint.detector.verdict_files import JobManifest, manifest_path, output_stem


@contextmanager
def staged_output(out: Path | None, *, restart: bool) -> Iterator[Path | None]:
    """Yields the file to write for ``--out``: itself, or a local one that is uploaded afterwards.

    Raises:
        OutputRefused: the existing object is no output of this command.
        ConfigError, WorldError: E_S3, the store refuses, or does not answer; the same command resumes.
    """
    parts = () if out is None else out.parts
    name = "s3://" + "/".join(parts[1:])  # Path merges the two slashes
    if parts[:1] != ("s3:",) or not is_object(name):
        yield out
        return
    folder = home_folder() / "s3" / hashlib.sha256(name.encode()).hexdigest()[:16]
    make_output_folder(folder)
    store, _, own_name = name.rpartition("/")
    staged = folder / own_name
    is_copy = _fetch(staged, store, restart=restart)
    try:
        yield staged
        if not is_copy and manifest_path(staged).exists():
            _publish(staged, store)
    finally:
        if is_copy:  # else the next command would resume it
            shutil.rmtree(folder)


def _fetch(out: Path, store: str, *, restart: bool) -> bool:
    """Downloads the existing output, the manifest last, unless a local job is unfinished or `restart`
    replaces the output. Returns whether there was one.

    Raises:
        OutputRefused: the object exists without a manifest.
    """
    manifest = manifest_path(out)
    if restart or manifest.exists() or out.with_name(f".{output_stem(out)}.job").exists():
        return False
    if not list_objects(f"{store}/{manifest.name}"):
        if list_objects(f"{store}/{out.name}"):
            raise OutputRefused(
                "E_OUTPUT_EXISTS", f"{store}/{out.name}: is there already, without a manifest; move it away"
            )
        return False
    incomplete = out.with_name("fetched.json")
    with atomic_file(incomplete) as file:
        copy_object(f"{store}/{manifest.name}", file)
    for entry in read_manifest(incomplete, expected=JobManifest)["files"]:
        with atomic_file(out.parent / entry["name"]) as file:
            copy_object(f"{store}/{entry['name']}", file)
    incomplete.replace(manifest)
    return True


def _publish(out: Path, store: str) -> None:
    """Uploads the complete files, the manifest last, and removes the folder."""
    entries = read_manifest(manifest_path(out), expected=JobManifest)["files"]
    verify_files(out.parent, entries)
    for name in (*(entry["name"] for entry in entries), manifest_path(out).name):
        store_object(out.with_name(name), f"{store}/{name}")
    print_status(f"{store}/{out.name}: stored, {entries[0]['rows']:,} verdicts")
    shutil.rmtree(out.parent)
