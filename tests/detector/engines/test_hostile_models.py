"""A model's folder from somewhere: sizes that fit no memory, tokenizers that panic, files that are none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hostile_values import BODIES

from dialint.detector.engines.base_models import SMALL_DECODER, resolve_source, validate_sizes
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import DialintError, ReleaseRefused
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.render import load_tokenizer

PANICS = json.loads(Path(__file__).with_name("panics.json").read_text(encoding="utf-8"))
"""Parts of a tokenizer.json at which the library panics."""


@pytest.fixture
def folder(random_decoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(random_decoder, tmp_path / "model"))


def refused(folder: Path) -> str:
    """The message by which the judge in a folder is refused; empty if it is opened."""
    try:
        open_judge(JudgeConfig(judge=f"local:{folder}"), device="cpu").close()
    except DialintError as error:
        assert "\n" not in error.message
        return error.message
    return ""


def test_models_that_ship_have_the_sizes_of_their_weights(random_decoder: Path) -> None:
    for folder in (random_decoder, SMALL_DECODER):
        validate_sizes(folder)
    assert refused(random_decoder) == ""


@pytest.mark.parametrize("value", [10**9, 10**30])
@pytest.mark.parametrize(
    "name",
    ["num_hidden_layers", "hidden_size", "vocab_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
     "head_dim"],
)  # fmt: skip
def test_a_size_beyond_the_weights_is_refused_before_it_is_made(folder: Path, name: str, value: int) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for changed in ({**config, name: value}, {**config, "text_config": {name: value}}):
        path.write_text(json.dumps(changed))
        with pytest.raises(
            DialintError, match=rf"config.json says {name} 10{{9}}.*, and the weights are \d+ tensors"
        ):
            resolve_source(str(folder))


@pytest.mark.parametrize("case", PANICS)
def test_a_tokenizer_that_panics_is_refused(folder: Path, case: str) -> None:
    path = folder / "tokenizer.json"
    changed = json.dumps({**json.loads(path.read_text()), **PANICS[case]})
    path.write_text(changed)
    with pytest.raises(ReleaseRefused, match="describes no tokenizer"):
        load_tokenizer(changed)
    with pytest.raises(DialintError, match="its tokenizer does not load"):
        JudgePrompt.of(folder)


@pytest.mark.parametrize(
    "name",
    ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "model.safetensors"],
)
def test_a_file_that_is_none_is_refused_or_left_alone(folder: Path, name: str) -> None:
    path = folder / name
    for body in BODIES:
        path.write_bytes(body)
        message = refused(folder)
        assert message or name in ("generation_config.json", "tokenizer_config.json"), body[:20]
