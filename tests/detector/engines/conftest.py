"""Retries that do not wait."""

from __future__ import annotations

import pytest

from dialint.detector.engines import judge_http


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.002)
    monkeypatch.setattr(judge_http, "PAUSE_S", 0.02)
