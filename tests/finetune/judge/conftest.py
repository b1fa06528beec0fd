"""A tiny random decoder with the small decoder's tokenizer, and a data set of made-up dialogues."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from detector.artifacts import described, write_manifest
from detector.records import Dialogue, Example, Label, Turn
from finetune.decoder import SMALL

SORRY = "I am truly sorry to hear that, let me look into it for you."
RUDE = "That is your own fault, you should have read the terms."


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a decoder of two layers with random weights."""
    folder = tmp_path_factory.mktemp("tiny")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(SMALL / name, folder / name)
    torch.manual_seed(0)
    shape = Qwen3Config(
        vocab_size=8192, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        head_dim=16, intermediate_size=64, max_position_embeddings=2048, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=10, pad_token_id=0,
    )  # fmt: skip
    Qwen3ForCausalLM(shape).save_pretrained(folder)
    return folder


def example(name: str, split: str, rude: bool, probability: float = 1.0) -> Example:
    """A dialogue of four turns whose last is rude or is not."""
    said = ("My parcel never came.", SORRY, f"It is order {name}, and I am angry.", RUDE if rude else SORRY)
    turns = tuple(
        Turn(index=index, role=("customer", "agent")[index % 2], text=text) for index, text in enumerate(said)
    )
    label = Label(
        dialogue_id=name, turn=3, code="T1", probability=probability, method="crowd", start=0, end=26
    )
    return Example(dialogue=Dialogue(id=name, turns=turns), labels=(label,) if rude else (), split=split)


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `dialint export dataset` writes it."""
    folder = tmp_path_factory.mktemp("dataset")
    return written(folder, lambda place: 1.0 if place % 3 else 0.6)


def written(folder: Path, sure: Callable[[int], float]) -> Path:
    """Splits of half rude dialogues; `sure` gives the probability of each label."""
    paths = []
    for split, count in (("train", 32), ("dev", 8), ("test", 8)):
        path = folder / f"{split}.jsonl"
        rows = [example(f"{split}{place}", split, place % 2 == 0, sure(place)) for place in range(count)]
        path.write_text("".join(row.model_dump_json() + "\n" for row in rows))
        paths.append(path)
    content = {"kind": "labelled-examples", "codes": ["T1"], "files": [described(path) for path in paths]}
    write_manifest(folder / "manifest.json", content)
    return folder
