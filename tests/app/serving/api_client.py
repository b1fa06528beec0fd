"""What the tests of the HTTP API share: its options with the checks alone, dialogues and keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.api_keys import create_key, keys_path
from dialint.detector.interface import DetectorConfig
from dialint.detector.watchdog import WatchConfig

SAMPLE = Path(__file__).parents[3] / "app/sample/dialogues.jsonl"
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
