"""No process that reads what others sent gets a secret of the process that starts it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dialint.app.console.system import job_processes
from dialint.app.console.system.job_files import JobFolder
from dialint.app.console.system.job_processes import make_file, preview_log
from dialint.app.console.system.job_runner import ScoreRunner
from dialint.app.serving.process import ServerProcess
from dialint.app.serving.vllm_command import probe_vllm, server_environment
from dialint.detector.artifacts import file_entry, make_output_folder, write_json, write_manifest
from dialint.detector.errors import DialintError
from dialint.detector.interface import DetectorConfig
from dialint.detector.verdict_files import manifest_path
from dialint.detector.watchdog import _Worker

SECRETS = (
    "DIALINT_STORE", "DIALINT_STORE_KEY", "DIALINT_STORE_KEY_FILE", "DIALINT_SPLIT_KEY", "DIALINT_JUDGE_KEY",
    "DIALINT_CONSOLE_OIDC", "MY_OIDC_CLIENT_SECRET", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD",
    "AZURE_CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS", "OPENAI_API_KEY", "VLLM_API_KEY", "https_proxy",
)  # fmt: skip
KEPT = ("LC_ALL", "PYTHONPATH", "OMP_NUM_THREADS", "DIALINT_HOME")


def _preview(folder: JobFolder) -> None:
    with pytest.raises(AssertionError):  # the stand-in leaves no preview
        preview_log(folder)


def _export(folder: JobFolder) -> None:
    make_output_folder(folder.out.parent)
    folder.out.write_bytes(b"")
    folder.rejects.write_bytes(b"")
    files = [file_entry(folder.out, 0), file_entry(folder.rejects, 0)]
    write_manifest(manifest_path(folder.out), {"kind": "verdicts", "format": "jsonl", "files": files})
    make_file(folder, "verdicts.csv")


def _score(folder: JobFolder) -> None:
    write_json(folder.request, [sys.executable])
    runner = ScoreRunner(folder.path.parent)
    runner._launch(folder, 1)
    assert runner._child is not None
    runner._child.wait()


def _judge(folder: JobFolder) -> None:
    worker = _Worker(DetectorConfig())
    with pytest.raises(DialintError, match="E_WORKER"):
        worker.about()


def _serve(folder: JobFolder) -> None:
    environment = server_environment({}, "key of this server alone")
    with ServerProcess([sys.executable], environment, folder.path / "log") as server:
        assert server._process is not None
        server._process.wait()


def _probe(folder: JobFolder) -> None:
    with pytest.raises(DialintError, match="E_VLLM"):
        probe_vllm(Path(sys.executable))


STARTERS = {start.__name__[1:]: start for start in (_preview, _export, _score, _judge, _serve, _probe)}


@pytest.mark.new_interpreter
@pytest.mark.parametrize("start", STARTERS.values(), ids=STARTERS)
def test_a_child_has_no_secret_of_its_parent(
    start: Callable[[JobFolder], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\nenv > {seen}.part\nmv {seen}.part {seen}\n")
    stand_in.chmod(0o700)
    for name in SECRETS:
        monkeypatch.setenv(name, f"secret of {name}")
    for name in KEPT:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(sys, "executable", str(stand_in))
    monkeypatch.setattr(job_processes, "SELF", (str(stand_in), *job_processes.SELF[1:]))
    folder = JobFolder(tmp_path / "job")
    folder.path.mkdir()
    start(folder)
    text = seen.read_text()
    assert "secret of" not in text
    assert set(KEPT) <= {line.partition("=")[0] for line in text.splitlines()}
