"""A tiny random decoder with the small decoder's tokenizer, and a data set of made-up dialogues."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from rude_dialogues import written
from transformers import Qwen3Config, Qwen3ForCausalLM

from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.finetune.train.options import RunOptions

RUNNING = RunOptions(threads=1, precision="fp32", device="cpu")


def write_decoder(folder: Path, **changes: object) -> Path:
    """A decoder of random weights, of two layers, with the small decoder's tokenizer."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(SMALL_DECODER / name, folder / name)
    torch.manual_seed(0)
    shape = {
        "vocab_size": 8192, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 64, "max_position_embeddings": 2048,
        "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 10, "pad_token_id": 0,
        "initializer_range": 0.2, **changes,
    }  # fmt: skip
    Qwen3ForCausalLM(Qwen3Config(**shape)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a decoder of two layers with random weights."""
    return write_decoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `dialint export dataset` writes it."""
    folder = tmp_path_factory.mktemp("dataset")
    return written(folder, lambda place: 1.0 if place % 3 else 0.6)
