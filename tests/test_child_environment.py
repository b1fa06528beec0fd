"""No process that reads what others sent gets a secret of the process that starts it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import wait_for

from dialint.app.console.system import log_preview
from dialint.app.scoring.background import Job, ScoreOptions, create_job, make_file
from dialint.app.serving.vllm_command import probe_vllm, server_environment
from dialint.detector.artifacts import write_manifest
from dialint.detector.errors import DialintError, WorldError
from dialint.detector.interface import DetectorConfig
from dialint.detector.verdict_files import manifest_path
from dialint.detector.watchdog import _Worker

SECRETS = (
    "DIALINT_STORE", "DIALINT_STORE_KEY", "DIALINT_STORE_KEY_FILE", "DIALINT_SPLIT_KEY", "DIALINT_JUDGE_KEY",
    "DIALINT_CONSOLE_OIDC", "MY_OIDC_CLIENT_SECRET", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD",
    "AZURE_CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS", "OPENAI_API_KEY", "VLLM_API_KEY", "https_proxy",
)  # fmt: skip
INHERITED = ("LC_ALL", "PYTHONPATH", "OMP_NUM_THREADS", "DIALINT_HOME")


def _preview(job: Job) -> None:
    with pytest.raises(EOFError):  # the stand-in writes no preview
        log_preview.preview_log(str(job.log), "", 0)


def _export(job: Job) -> None:
    write_manifest(manifest_path(job.out), {"kind": "verdicts", "format": "jsonl", "files": []})
    with pytest.raises(WorldError, match="E_EXPORT"):  # it writes no report either
        make_file(job, "report.html")


def _score(job: Job) -> None:
    job.update(options=ScoreOptions())
    job.start()
    wait_for(lambda: job.state == "failed")


def _judge(job: Job) -> None:
    worker = _Worker(DetectorConfig())
    with pytest.raises(DialintError, match="E_WORKER"):
        worker.facts()


def _serve(job: Job) -> None:
    environment = server_environment({}, "key of this server alone")
    subprocess.run([sys.executable], env=environment, check=True)


def _probe(job: Job) -> None:
    with pytest.raises(DialintError, match="E_VLLM"):
        probe_vllm(Path(sys.executable))


STARTERS = {start.__name__[1:]: start for start in (_preview, _export, _score, _judge, _serve, _probe)}


@pytest.mark.new_interpreter
@pytest.mark.parametrize("start", STARTERS.values(), ids=STARTERS)
def test_a_child_has_no_secret_of_its_parent(
    start: Callable[[Job], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\nenv > {seen}.part\nmv {seen}.part {seen}\n")
    stand_in.chmod(0o700)
    for name in SECRETS:
        monkeypatch.setenv(name, f"secret of {name}")
    for name in INHERITED:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(sys, "executable", str(stand_in))
    monkeypatch.setattr(log_preview, "SELF", (str(stand_in), *log_preview.SELF[1:]))
    job = create_job(tmp_path / "job", "lea", "log.jsonl", b"{}\n")
    start(job)
    text = seen.read_text()
    assert "secret of" not in text
    assert set(INHERITED) <= {line.partition("=")[0] for line in text.splitlines()}
