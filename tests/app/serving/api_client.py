"""Shared by the tests of the HTTP API: options without the scan, dialogues and keys."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from patience import WAIT_S, wait_for

from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.api_keys import create_key, keys_path
from dialint.detector.interface import DetectorConfig
from dialint.detector.watchdog import WatchConfig

SAMPLE = Path(__file__).parents[3] / "app/sample/dialogues.jsonl"
LINES = SAMPLE.read_bytes().splitlines(keepends=True)
FEW = b"".join(LINES[14:25])
"""Eleven dialogues, in six of which checks find errors, of seven codes."""
RUDE = "Dear {{name}}, stop whining. That is not my problem."
OPTIONS: dict[str, Any] = {
    "detector": DetectorConfig(scan="off"), "watch": WatchConfig(dialogue_seconds=0), "max_body_mb": 1,
    "max_job_mb": 1,
}  # fmt: skip
CONFIG = ApiConfig(**OPTIONS)


def record(*texts: str, name: str = "d1") -> dict[str, Any]:
    roles = ("customer", "agent")
    turns = [{"role": roles[number % 2], "text": text} for number, text in enumerate(texts)]
    return {"dialogue_id": name, "turns": turns}


def make_key(name: str = "nora", *scopes: Any, days: float = 1) -> str:
    return create_key(keys_path(None), name, scopes or ("score", "jobs", "metrics"), days)


def bearer(name: str = "nora", *scopes: Any, days: float = 1) -> dict[str, str]:
    return {"authorization": f"Bearer {make_key(name, *scopes, days=days)}"}


@contextmanager
def api_process(
    port: int, *options: str
) -> Iterator[tuple[httpx2.Client, Callable[[], subprocess.Popen[bytes]]]]:
    """A client with a key, and what starts `dialint serve api` in a process of its own and waits until it is
    ready. The last one started is killed at the end."""
    command = [
        sys.executable,
        "-m",
        "dialint",
        "serve",
        "api",
        "--scan",
        "off",
        "--port",
        str(port),
        *options,
    ]
    started: list[subprocess.Popen[bytes]] = []
    with httpx2.Client(
        base_url=f"http://127.0.0.1:{port}", headers=bearer(), timeout=WAIT_S, trust_env=False
    ) as client:

        def is_ready() -> bool:
            try:
                return bool(client.get("/ready").status_code == 200)
            except httpx2.TransportError:
                return False

        def start() -> subprocess.Popen[bytes]:
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            server = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
            started.append(server)
            wait_for(lambda: server.poll() is not None or is_ready())
            assert server.poll() is None
            return server

        try:
            yield client, start
        finally:
            for server in started:
                server.kill()
                server.wait()
