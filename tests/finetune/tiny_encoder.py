"""Tiny encoders of random weights, each with a tokenizer of its own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tiny
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from dialint.detector.engines.scan_model import backbone_from_config

CONTROL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused1]", "[unused2]", "[unused3]", "[unused4]")


def write_encoder(folder: Path, words: list[str], *, letters: bool = False, **changes: Any) -> Path:
    """A base whose tokens are `words`, between blanks, or with `letters` single characters."""
    folder.mkdir()
    vocabulary = [*CONTROL, *words]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    cuts = [pre_tokenizers.Split("", "isolated")] if letters else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), *cuts])
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    shape = {**tiny.ENCODER, "vocab_size": len(vocabulary), **changes}
    (folder / "config.json").write_text(json.dumps(shape))
    torch.manual_seed(0)
    save_file(backbone_from_config(shape).state_dict(), folder / "model.safetensors")
    return folder
