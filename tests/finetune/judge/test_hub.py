"""Bases by name: from a hub, which is a server on this machine here, from its cache, and the one that ships."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub import COMMIT, hub

from dialint.detector.artifacts import MANIFEST
from dialint.detector.engines import base_models
from dialint.detector.engines.base_models import SMALL_DECODER

NAME = "acme/tiny-judge"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def address(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A hub with the tiny decoder, and with what must not be fetched."""
    folder = tmp_path_factory.mktemp("hub")
    shutil.copytree(tiny, folder, dirs_exist_ok=True)
    (folder / "modeling_tiny.py").write_text("raise SystemExit('ran')")
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.safetensors").write_bytes(b"the same again")
    with hub(NAME, folder) as at:
        yield at


def run_python(at: str, cache: Path, *args: object) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own: the hub's library reads its address when it is imported."""
    settings = {"HF_ENDPOINT": at, "HF_HOME": str(cache), "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        [sys.executable, *map(str, args)],
        env={**os.environ, **settings}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def dialint(at: str, cache: Path, *args: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return run_python(at, cache, "-m", "dialint", *args)


@pytest.mark.slow
def test_a_judge_is_taught_on_a_name_and_examined_without_the_hub(
    address: str, dataset: Path, tmp_path: Path
) -> None:
    cache, out = tmp_path / "cache", tmp_path / "judge"
    done = dialint(
        address, cache, "train", "sft", "judge", "--dataset", dataset, "--base", f"{NAME}@v1", "--out", out,
        "--steps", 2, "--questions", 2, "--rank", 2, "--threads", 1, "--dev-answers", 0,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    base = json.loads((out / MANIFEST).read_text())["base"]
    assert base == {"name": NAME, "revision": COMMIT, "sha256": base_models.weights_sha256(_copy(cache))}
    assert json.loads((out / "adapter_config.json").read_text())["base_model_name_or_path"] == NAME
    fetched = {path.relative_to(_copy(cache)).as_posix() for path in _copy(cache).rglob("*")}
    assert "model.safetensors" in fetched
    assert fetched.isdisjoint({"modeling_tiny.py", "pytorch_model.bin", "onnx", "onnx/model.safetensors"})

    # The hub is gone: the cache has the commit that the judge was taught on.
    report = tmp_path / "report.json"
    done = dialint(
        NOWHERE, cache, "eval", "judge", dataset, "--judge", f"local:{out}", "--rounds", 0, "--split", "dev", "--limit", 2,
        "--out", report, "--threads", 1,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(report.read_text())["judges"][f"local:{out}"]["dialogues"] == 2

    # Other weights under the same name are noticed.
    weights = _copy(cache) / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.unlink()
    weights.write_bytes(changed)
    done = dialint(NOWHERE, cache, "eval", "judge", dataset, "--judge", f"local:{out}")
    assert done.returncode == 2
    assert "E_ADAPTER" in done.stderr
    assert "other weights" in done.stderr


def _copy(cache: Path) -> Path:
    return cache / "hub" / f"models--{NAME.replace('/', '--')}" / "snapshots" / COMMIT


EACH = """
import sys
from dialint.app.cli import main
dataset, *names = sys.argv[1:]
for name in names:
    sys.argv = ["dialint", "eval", "judge", dataset, "--judge", f"local:{name}"]
    try:
        main()
    except SystemExit as end:
        print(end.code)
"""
"""The same command for each name, in one process."""


@pytest.mark.slow
def test_names_that_mean_nothing_are_each_one_line(address: str, tmp_path: Path, dataset: Path) -> None:
    reasons = {
        "acme/another": "neither a folder here nor on the hub",
        f"{NAME}@v9": "neither a folder here nor on the hub",
        "build/models/nope": "there is no such folder",
    }
    done = run_python(address, tmp_path, "-c", EACH, dataset, *reasons)
    assert (done.returncode, done.stdout.split()) == (0, ["2"] * len(reasons)), done.stderr
    for line, (name, reason) in zip(done.stderr.splitlines(), reasons.items(), strict=True):
        assert f"E_BASE: {name}: {reason}" in line


def test_the_decoder_that_ships_is_known_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = base_models.resolve_source("small_decoder")
    assert source.base == base_models.BaseFolder(SMALL_DECODER, "small_decoder")
    assert source.sha256 == base_models.weights_sha256(SMALL_DECODER)
    assert base_models.resolve_source(str(SMALL_DECODER)).base.name == "small_decoder"
