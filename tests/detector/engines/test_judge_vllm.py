"""What is refused before vLLM starts, in one line each; tests/with_vllm runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.detector.engines import judge_vllm
from dialint.detector.engines.base_models import resolve_source
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig


def test_vllm_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_vllm, "is_installed", lambda module: False)
    with pytest.raises(ConfigError, match=r"--judge vllm:FOLDER needs vllm: pip install 'dialint\[vllm\]'"):
        open_judge(JudgeConfig(judge="vllm:small_decoder"))


def test_the_context_is_within_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_vllm, "is_installed", lambda module: True)
    with pytest.raises(ConfigError, match="--judge-context 4096: the model has 2048"):
        judge_vllm.load_vllm_judge(resolve_source("small_decoder"), context=4096)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r": 8, "use_dora": True}, "no adapter with use_dora: `dialint train merge` first"),
        ({"r": 8, "modules_to_save": ["lm_head"]}, "no adapter with modules_to_save"),
        ({"r": 1024}, "no adapter with rank 1024"),
    ],
)
def test_adapters_that_vllm_does_not_serve(options: dict[str, object], message: str, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps(options))
    with pytest.raises(ConfigError, match=message):
        judge_vllm.lora_options(tmp_path)


def test_the_rank_is_one_that_vllm_knows(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 24, "use_dora": False}))
    assert judge_vllm.lora_options(tmp_path) == {"enable_lora": True, "max_loras": 1, "max_lora_rank": 32}
