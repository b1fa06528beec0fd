"""Logs and verdicts in an S3-compatible store: a real server (moto's) on this machine, asked over HTTP.

Here and not among the tests of ingest, as moto is no part of the development environment; `make test-cluster`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster_log import write_log

from dialint.app.scoring import object_output
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import WorldError

SECRET = "planted-secret-0123456789"


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    for bucket in ("logs", "out"):
        urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}", method="PUT")).close()
    yield url
    server.stop()


def put(store: str, key: str, content: bytes) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(f"{store}/{key}", content, headers, method="PUT")
    urllib.request.urlopen(request, timeout=60).close()


def get(store: str, key: str) -> bytes:
    with urllib.request.urlopen(f"{store}/{key}") as response:
        return bytes(response.read())


def keys(store: str, bucket: str) -> list[str]:
    text = get(store, f"{bucket}?list-type=2").decode()
    return [part.partition("</Key>")[0] for part in text.split("<Key>")[1:]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, store: str) -> Path:
    """A log, which the store has in two parts; one of them is Parquet in another."""
    folder = tmp_path_factory.mktemp("log")
    path = folder / "log.jsonl"
    write_log(path, 40)
    lines = path.read_bytes().splitlines(keepends=True)
    put(store, "logs/2026/a.jsonl", b"".join(lines[:24]))
    put(store, "logs/2026/b.jsonl", b"".join(lines[24:]))
    put(store, "logs/2026/deep/c.jsonl", b"not a log")
    rows = [json.loads(line) for line in lines]
    turns = [
        {"dialogue_id": row["dialogue_id"], "role": turn["role"], "text": turn["text"], "turn": number}
        for row in rows
        for number, turn in enumerate(row["turns"])
    ]
    table = folder / "log.parquet"
    pq.write_table(pa.Table.from_pylist(turns), table)
    put(store, "logs/2026/log.parquet", table.read_bytes())
    return path


def environment(store: str, home: Path) -> dict[str, str]:
    keys = {"AWS_ACCESS_KEY_ID": "planted", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    return {**os.environ, **keys, "AWS_ENDPOINT_URL": store, "DIALINT_HOME": str(home)}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dialint", "score", "--chunk-size", "8", "--threads", "1", *arguments]


def score(store: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), env=environment(store, home), capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip


@pytest.fixture(scope="module")
def expected(log: Path, tmp_path_factory: pytest.TempPathFactory, store: str) -> bytes:
    """The verdicts of one machine's files."""
    folder = tmp_path_factory.mktemp("expected")
    result = score(store, folder, str(log), "--out", str(folder / "v.jsonl"))
    assert result.returncode == 0, result.stderr
    return (folder / "v.jsonl").read_bytes()


def test_verdicts_of_objects_are_those_of_files(
    store: str, log: Path, expected: bytes, tmp_path: Path
) -> None:
    result = score(store, tmp_path, "s3://logs/2026/*.jsonl", "--out", "s3://out/one/v.jsonl")
    assert result.returncode == 0, result.stderr
    assert "s3://out/one/v.jsonl: stored, 40 verdicts" in result.stderr
    assert get(store, "out/one/v.jsonl") == expected
    manifest = json.loads(get(store, "out/one/v.manifest.json"))
    assert manifest["files"][0]["rows"] == 40
    names = [each["name"] for each in manifest["inputs"]]
    assert names == ["s3://logs/2026/a.jsonl", "s3://logs/2026/b.jsonl"]
    assert list((tmp_path / "s3").iterdir()) == []
    again = score(store, tmp_path, "s3://logs/2026/*.jsonl", "--out", "s3://out/one/v.jsonl")
    assert again.returncode == 0
    assert "done already" in again.stderr
    other = score(store, tmp_path, "s3://logs/2026/a.jsonl", "--out", "s3://out/one/v.jsonl")
    assert other.returncode == 2
    assert "belongs to another job" in other.stderr
    assert get(store, "out/one/v.jsonl") == expected
    new = score(store, tmp_path, "s3://logs/2026/a.jsonl", "--out", "s3://out/one/v.jsonl", "--restart")
    assert new.returncode == 0, new.stderr
    assert get(store, "out/one/v.jsonl").count(b"\n") == 24
    for each in (result, again, other, new):
        assert SECRET not in each.stdout + each.stderr
    assert SECRET.encode() not in get(store, "out/one/v.manifest.json")


def test_parquet_in_and_out_with_actors(store: str, log: Path, tmp_path: Path) -> None:
    out = ("--out", "s3://out/two/v.parquet", "--cluster", "ray", "--actors", "2")
    result = score(store, tmp_path, "s3://logs/2026/log.parquet", *out)
    assert result.returncode == 0, result.stderr
    stored = tmp_path / "v.parquet"
    stored.write_bytes(get(store, "out/two/v.parquet"))
    assert pq.read_table(stored).num_rows == 40
    assert sorted(keys(store, "out"))[-3:] == [
        "two/v.parquet", "two/v.parquet.manifest.json", "two/v.parquet.rejects.jsonl",
    ]  # fmt: skip


def test_a_killed_command_resumes_and_stores_each_verdict_once(
    store: str, log: Path, expected: bytes, tmp_path: Path
) -> None:
    arguments = ("s3://logs/2026/a.jsonl", "s3://logs/2026/b.jsonl", "--out", "s3://out/three/v.jsonl")
    with subprocess.Popen(command(*arguments, "--quiet"), env=environment(store, tmp_path)) as process:
        give_up_s = time.monotonic() + 240
        while time.monotonic() < give_up_s and process.poll() is None:
            journals = list((tmp_path / "s3").glob("*/.v.job/journal.jsonl"))
            if journals and journals[0].read_bytes().count(b"\n") >= 1:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.02)
    assert not [key for key in keys(store, "out") if key.startswith("three/")]
    result = score(store, tmp_path, *arguments)
    assert result.returncode == 0, result.stderr
    assert "resuming after" in result.stderr
    assert get(store, "out/three/v.jsonl") == expected


def test_an_upload_that_was_cut_off_is_completed(
    store: str, log: Path, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store refuses the manifest once: what is there then has none."""
    for name, value in environment(store, tmp_path).items():
        monkeypatch.setenv(name, value)
    stored = object_output.store_object

    def fail_at_manifest(path: Path, name: str) -> None:
        if name.endswith(".manifest.json"):
            raise WorldError("E_S3", "cut off")
        stored(path, name)

    config = ScoreConfig(out=Path("s3://out/four/v.jsonl"), chunk_size=8, quiet=True)
    monkeypatch.setattr(object_output, "store_object", fail_at_manifest)
    with pytest.raises(WorldError):
        run([str(log)], config)
    assert "four/v.manifest.json" not in keys(store, "out")
    monkeypatch.setattr(object_output, "store_object", stored)
    assert run([str(log)], config) == 0
    assert get(store, "out/four/v.jsonl") == expected
    assert "four/v.manifest.json" in keys(store, "out")


@pytest.mark.parametrize(
    ("log_name", "message"),
    [
        ("s3://logs/2026/none.jsonl", "there is no such object"),
        ("s3://none/2026/a.jsonl", "there is no such"),
        ("s3://logs", "expected s3://BUCKET/KEY"),
        ("s3://*/a.jsonl", "only keys may be patterns"),
    ],
)
def test_what_is_not_there_is_one_line(store: str, tmp_path: Path, log_name: str, message: str) -> None:
    result = score(store, tmp_path, log_name)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr


def test_a_store_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    result = score("http://127.0.0.1:9", tmp_path, "s3://logs/2026/a.jsonl")
    assert result.returncode == 3
    assert "no answer of the store" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
