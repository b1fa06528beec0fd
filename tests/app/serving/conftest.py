"""A stand-in for vLLM that `--python` finds, or that runs here, and judges' folders of a few bytes."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from dialint.detector.artifacts import MANIFEST, file_entry, write_manifest
from dialint.detector.engines.base_models import SMALL_DECODER, weights_sha256


@pytest.fixture
def vllm_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PYTHONPATH in which a module vllm is the stand-in."""
    folder = tmp_path / "site" / "vllm" / "entrypoints" / "cli"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text("")
    shutil.copyfile(Path(__file__).with_name("fake_vllm.py"), folder / "main.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    return tmp_path / "site"


@pytest.fixture
def make_judge(tmp_path: Path) -> Callable[..., Path]:
    """Makes the folder of a judge: an adapter of the small decoder, its weights some bytes."""

    def make(
        name: str, *, rank: int = 16, weights: bytes = b"1", kind: str = "judge", **options: object
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        base = {"base": "small_decoder", "revision": None, "sha256": weights_sha256(SMALL_DECODER)}
        (folder / "base.json").write_text(json.dumps({**base, **options.pop("base", {})}))  # type: ignore[dict-item]
        (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": rank, **options}))
        (folder / "adapter_model.safetensors").write_bytes(weights)
        write_manifest(
            folder / MANIFEST, {"kind": kind, "files": [file_entry(p) for p in sorted(folder.iterdir())]}
        )
        return folder

    return make


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty $DIALINT_HOME, and no key in the environment."""
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DIALINT_JUDGE_KEY", raising=False)
    return tmp_path / "home"


@pytest.fixture
def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.fixture
def fake_server(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AbstractContextManager[tuple[str, Any]]]:
    """Runs the stand-in for vLLM in this process, with a key; yields its address and its handler."""
    monkeypatch.setenv("VLLM_API_KEY", "sk-1")
    monkeypatch.setenv("DIALINT_JUDGE_KEY", "sk-1")

    @contextmanager
    def run(adapters: dict[str, str], *, swap: bool = True) -> Iterator[tuple[str, Any]]:
        handler = run_path(str(Path(__file__).with_name("fake_vllm.py")))["Handler"]
        handler.names, handler.adapters, handler.swap = ["small_decoder"], adapters, swap
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.05,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}", handler
            finally:
                server.shutdown()
                thread.join()

    return run
