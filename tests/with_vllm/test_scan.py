"""`dialint serve vllm --scan` and `score --engine` on a real vLLM: the scores and verdicts of the local engine.

The scan is that of the embedded release without its vectors of history: its scores are those of no release that
anybody trained, and do for comparing two engines. DIALINT_SCAN_RELEASE names a release to take instead, one that
was trained with ``--history=false``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from dialint.detector.engines.local import load_engine
from dialint.detector.engines.pooling import open_pooling_engine
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.masking import mask_dialogue
from dialint.detector.release import EMBEDDED, WEIGHTS, Release, finalize_release
from dialint.detector.render import Renderer

SAMPLE = Path(__file__).parents[2] / "app" / "sample" / "dialogues.jsonl"
READY_S = 300.0


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if trained := os.environ.get("DIALINT_SCAN_RELEASE"):
        return Path(trained)
    folder = tmp_path_factory.mktemp("release") / "r"
    shutil.copytree(EMBEDDED, folder)
    (folder / "manifest.json").unlink()
    tensors = {name: tensor for name, tensor in load_file(folder / WEIGHTS).items() if "history" not in name}
    info = Release(EMBEDDED).info
    save_file(tensors, folder / WEIGHTS, metadata={"base_sha256": info.base.sha256})
    render = info.render.model_copy(update={"history": False})
    finalize_release(folder, info.model_copy(update={"render": render, "domain": None}))
    return folder


@pytest.fixture(scope="module")
def url(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("scan")
    dialint = [sys.executable, "-m", "dialint"]
    subprocess.run([*dialint, "train", "export", str(release), "--out", str(folder / "scan")], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "log"
    command = [
        *dialint, "serve", "vllm", "--scan", str(folder / "scan"), "--port", str(port),
        "--extra", "--enforce-eager --dtype float32 --gpu-memory-utilization 0.25", "--python", sys.executable, "--log", str(log),
        "--ready-s", str(READY_S),
    ]  # fmt: skip
    with subprocess.Popen(
        command, start_new_session=True, env={**os.environ, "DIALINT_HOME": str(folder)}
    ) as process:
        give_up_s = time.monotonic() + READY_S
        while True:
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < give_up_s, log.read_text()[-3000:]
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                    break
            except OSError:
                time.sleep(0.5)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(90) == 0


def test_scores_are_those_of_the_local_engine(release: Path, url: str) -> None:
    opened = Release(release)
    renderer = Renderer(opened.info.render, opened.tokenizer_json())
    dialogues = [mask_dialogue(each)[0] for each in load_dialogues([str(SAMPLE)]).values()][:40]
    windows = [window for dialogue in dialogues for window in renderer.render(dialogue)]
    engine = open_pooling_engine(opened, url, 4096)
    started_s = time.monotonic()
    results = engine.scan(windows)
    seconds = time.monotonic() - started_s
    expected = load_engine(opened, "fp32", 4096, "cpu").scan(windows)
    greatest = 0.0
    for own, other in zip(results, expected, strict=True):
        pairs = [(own.slots, other.slots), *zip(own.spans, other.spans, strict=True)]
        if own.dialogue is not None and other.dialogue is not None:
            pairs.append((own.dialogue, other.dialogue))
        greatest = max([greatest, *(float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)])
    n_slots = sum(len(window.slots) for window in windows)
    print(
        f"scan by vLLM's pooling: {len(windows)} windows, {sum(map(len, windows))} tokens, {n_slots} turns in "
        f"{seconds:.1f} s, greatest difference of a logit {greatest:.1e}"
    )
    assert greatest < 1e-3


def test_verdicts_are_those_of_the_local_engine(release: Path, url: str, tmp_path: Path) -> None:
    lines = {}
    for engine in ("local", url):
        out = tmp_path / f"{len(lines)}.jsonl"
        command = [
            sys.executable, "-m", "dialint", "score", str(SAMPLE), "--out", str(out), "--release", str(release),
            "--precision", "fp32", "--threads", "1", "--engine", engine, "--quiet",
        ]  # fmt: skip
        subprocess.run(command, check=True)
        lines[engine] = [json.loads(line) for line in out.read_text().splitlines()]
    n = 0
    for own, other in zip(lines[url], lines["local"], strict=True):
        for kind in ("findings", "suggestions"):
            found, expected = (
                [(each["turn"], each["code"], each["quote"]) for each in verdict.get(kind, [])]
                for verdict in (own, other)
            )
            assert found == expected
            n += len(found)
    print(f"scan by vLLM's pooling: {len(lines[url])} verdicts with {n} findings and suggestions, the same")
    assert n > 10
