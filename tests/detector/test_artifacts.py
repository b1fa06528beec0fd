"""Files are whole or not there, and a manifest vouches for every byte, its own included."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dialint.detector import artifacts
from dialint.detector.errors import OutputRefused, WorldError


def test_atomic_file_appears_complete_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    with artifacts.atomic_file(target) as file:
        file.write(b"half")
        assert not target.exists()
        file.write(b" whole")
    assert target.read_bytes() == b"half whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_atomic_file_keeps_the_old_content_when_its_writer_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    with pytest.raises(TypeError), artifacts.atomic_file(target) as file:
        file.writelines([b"new", "not bytes"])  # type: ignore[list-item]
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_and_folders_are_for_their_owner_only(tmp_path: Path, umask: int) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    there.chmod(0o755)
    before = os.umask(umask)
    try:
        artifacts.make_output_folder(there)
        artifacts.make_output_folder(there / "a" / "b")
        with artifacts.atomic_file(there / "a" / "whole") as file:
            modes = {path.stat().st_mode & 0o777 for path in (there / "a").iterdir() if path.is_file()}
            file.write(b"x")
        artifacts.Appender(there / "a" / "grows", keep=0).close()
        artifacts.write_manifest(there / "a" / "manifest.json", {})
        with pytest.raises(WorldError, match=r"E_WRITE: .*/a: File exists"):
            artifacts.make_output_folder(there / "a", new=True)
        (there / "file").touch()
        with pytest.raises(WorldError, match=r"E_WRITE: .*/file: File exists"):
            artifacts.make_output_folder(there / "file" / "c")
    finally:
        os.umask(before)
    assert modes == {0o600}, "the temporary file, too"
    assert there.stat().st_mode & 0o777 == 0o755, "a folder that was there stays as it was"
    for path in (there / "a").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_full_disk_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(WorldError, match=r"a\.bin: No space left on device") as caught,
        artifacts.atomic_file(tmp_path / "a.bin") as file,
    ):
        file.write(b"new")
    assert caught.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_threads_write_one_file_and_each_write_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    contents = [bytes([number]) * 100_000 for number in range(8)]

    def write(number: int) -> None:
        with artifacts.atomic_file(target) as file:
            for part in range(10):
                file.write(contents[number % 8][part * 10_000 : (part + 1) * 10_000])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(160)))
    assert target.read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_an_orphan_of_the_same_process_id_stops_nobody(tmp_path: Path) -> None:
    orphan = tmp_path / f".a.bin.{os.getpid()}.tmp"
    orphan.write_bytes(b"half")
    artifacts.write_json(tmp_path / "a.bin", 1)
    assert artifacts.remove_orphans(tmp_path / "a.bin") == 1
    assert not orphan.exists()


@pytest.mark.parametrize("name", ["a.bin", "v[1].jsonl", "*"])
def test_orphans_are_those_of_one_name(tmp_path: Path, name: str) -> None:
    (tmp_path / ".other.1.tmp").write_bytes(b"half")
    with artifacts.atomic_file(tmp_path / name):
        (temporary,) = (path for path in tmp_path.iterdir() if path.name != ".other.1.tmp")
        orphan = temporary.with_suffix(".2.tmp")
    orphan.write_bytes(b"of a killed writer")
    assert artifacts.remove_orphans(tmp_path / name) == 1
    assert {path.name for path in tmp_path.iterdir()} == {".other.1.tmp", name}


def test_appender_cuts_what_is_not_known_to_be_good(tmp_path: Path) -> None:
    path = tmp_path / "grows"
    path.write_bytes(b"good, torn")
    appender = artifacts.Appender(path, keep=4)
    appender.write(b"!")
    appender.sync()
    appender.close()
    assert path.read_bytes() == b"good!"
    assert appender.size == 5


def test_appender_finishes_short_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:3]))
    appender = artifacts.Appender(tmp_path / "grows", keep=0)
    appender.write(b"0123456789")
    appender.close()
    assert (tmp_path / "grows").read_bytes() == b"0123456789"


def test_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    assert artifacts.fingerprint({"a": 1, "b": [1, 2]}) == artifacts.fingerprint({"b": [1, 2], "a": 1})
    assert artifacts.fingerprint({"a": 1}) != artifacts.fingerprint({"a": 2})


CONTENT = {
    "kind": "verdicts", "seconds": 1e-07, "note": "naïve \x1b",
    "files": [{"name": "f", "bytes": 3, "sha256": "0" * 64}],
}  # fmt: skip


def test_manifest_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "x.manifest.json"
    artifacts.write_manifest(path, CONTENT)
    assert artifacts.read_manifest(path) == CONTENT


def test_every_byte_of_a_manifest_counts(tmp_path: Path) -> None:
    """Of each byte another bit is flipped."""
    path = tmp_path / "x.manifest.json"
    artifacts.write_manifest(path, CONTENT)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(OutputRefused):
            artifacts.read_manifest(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{}", b"\xff", b'{"seal": 1}', b"[" * 100_000])
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.manifest.json"
    path.write_bytes(content)
    with pytest.raises(OutputRefused, match="E_MANIFEST"):
        artifacts.read_manifest(path)


def test_missing_manifest_means_not_complete(tmp_path: Path) -> None:
    with pytest.raises(OutputRefused, match="not complete"):
        artifacts.read_manifest(tmp_path / "x.manifest.json")


def test_verify_files_names_what_is_missing_or_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    entry = artifacts.file_entry(path, rows=1)
    assert (entry["bytes"], entry["rows"]) == (3, 1)
    artifacts.verify_files(tmp_path, [entry])
    path.write_bytes(b"abd")
    with pytest.raises(OutputRefused, match=r"a\.txt: its bytes"):
        artifacts.verify_files(tmp_path, [entry])
    path.unlink()
    with pytest.raises(OutputRefused, match=r"a\.txt: missing"):
        artifacts.verify_files(tmp_path, [entry])
