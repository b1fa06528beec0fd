"""``dialint score --out s3://BUCKET/KEY``: the job runs in a folder here, then its files go to the store.

While it runs, the folder ``$DIALINT_HOME/s3/...`` holds the verdicts so far, so that the same command on the
same machine resumes. When all is scored, verdicts and rejects are stored, the manifest last; an interrupted
upload is taken up by the same command. Afterwards the folder is removed. What is in the store already is
compared as it is with files: it is this job, done, or it is refused. Only the processes of one machine are
kept from writing the same objects at the same time.
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
    """The file to write for ``--out``: itself, or one whose bytes are stored as the object afterwards.

    Raises:
        OutputRefused: what is in the store is no output of this command.
        ConfigError, WorldError: E_S3, the store refuses, or does not answer; the same command resumes.
    """
    parts = () if out is None else out.parts
    name = "s3://" + "/".join(parts[1:])  # a path has lost one of the slashes
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
        if is_copy:  # of a complete output: the next command must not take it for its own
            shutil.rmtree(folder)


def _fetch(out: Path, store: str, *, restart: bool) -> bool:
    """Copy what is in the `store` to this machine, the manifest last, unless a job of this machine is under
    way, or with `restart`, when it is replaced. Whether there was something.

    Raises:
        OutputRefused: there is such an object without a manifest.
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
    """Store the complete files, the manifest last, and remove the folder."""
    entries = read_manifest(manifest_path(out), expected=JobManifest)["files"]
    verify_files(out.parent, entries)
    for name in (*(entry["name"] for entry in entries), manifest_path(out).name):
        store_object(out.with_name(name), f"{store}/{name}")
    print_status(f"{store}/{out.name}: stored, {entries[0]['rows']:,} verdicts")
    shutil.rmtree(out.parent)
