"""Judges: one of random weights, one on a server whose retries do not wait."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from fake_llm import FakeLLM, serving
from judge_requests import RUDE
from transformers import Qwen3Config, Qwen3ForCausalLM

from dialint.detector.engines import judge_http
from dialint.detector.engines.base_models import SMALL_DECODER


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.002)
    monkeypatch.setattr(judge_http, "PAUSE_S", 0.02)


@pytest.fixture
def llm() -> FakeLLM:
    return FakeLLM(labels={"T1": {RUDE: "fool"}})


@pytest.fixture
def url(llm: FakeLLM) -> Iterator[str]:
    with serving(llm) as url:
        yield url


@pytest.fixture(scope="session")
def random_decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a decoder of random weights with the small decoder's tokenizer."""
    folder = tmp_path_factory.mktemp("random")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(SMALL_DECODER / name, folder / name)
    torch.manual_seed(1)
    shape = Qwen3Config(
        vocab_size=8192, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        head_dim=16, intermediate_size=64, max_position_embeddings=2048, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=10, pad_token_id=0, initializer_range=0.2,
    )  # fmt: skip
    Qwen3ForCausalLM(shape).save_pretrained(folder)
    return folder
