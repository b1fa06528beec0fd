"""Pre-training end to end with tiny decoders: rows keep dialogues apart, a killed run loses nothing, any
decoder can go on learning. Dialogues are made of a few planted phrases: a test of the machinery."""

from __future__ import annotations

import os
import random
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from resuming import figures, logged
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from dialint.detector.artifacts import read_manifest, sha256_file, write_manifest
from dialint.detector.engines import packed
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.records import Turn
from dialint.finetune.decoder.pretrain import PretrainConfig, pretrain
from dialint.finetune.decoder.text import Piece, own_writer, read_corpus, template_writer
from dialint.finetune.decoder.tokenizer import SMALLEST, save_tokenizer, train_tokenizer
from dialint.finetune.decoder.trainer import PretrainTrainer, decoder_config, init_decoder, token_losses
from dialint.finetune.train.loop import StepOutput
from dialint.finetune.train.options import RunOptions

ASKS = ["I want to move my appointment", "Where is my parcel", "My card was charged twice"]
REPLIES = ["Of course, which day suits you?", "It is on its way.", "I have refunded the second charge."]


def row(number: int, chance: random.Random) -> dict[str, Any]:
    turns = []
    for _ in range(chance.randint(1, 4)):
        turns.append({"role": "customer", "text": chance.choice(ASKS) + f" {chance.randrange(100)}"})
        turns.append({"role": "agent", "text": chance.choice(REPLIES)})
    source = "shop" if number % 2 else "bank"
    return {"dialogue_id": f"{source}:{number}", "source": source, "language": "en", "group": str(number),
            "licence": "MIT", "turns": turns}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    chance = random.Random(0)
    for name, size in {"train-00000": 40, "train-00001": 40, "heldout-00000": 12}.items():
        table = pa.Table.from_pylist([row(number, chance) for number in range(size)])
        parquet.write_table(table, folder / f"{name}.parquet", compression="zstd")
    write_manifest(folder / "manifest.json", {"kind": "corpus"})
    return folder


@pytest.fixture(scope="module")
def config(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> PretrainConfig:
    return PretrainConfig(
        corpus=corpus, out=tmp_path_factory.mktemp("pretrained") / "decoder", depth=2, vocabulary=SMALLEST + 100,
        epochs=6, row_tokens=96, rows=4, learning_rate=1e-2, eval_steps=20,
        running=RunOptions(threads=1, precision="fp32", device="cpu"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(config: PretrainConfig) -> Path:
    pretrain(config)
    return config.out


def test_it_learns_and_says_how_well(trained: Path) -> None:
    told = read_manifest(trained / "training.json")
    lines = logged(trained)
    assert lines[0]["loss"] > 5
    assert set(told["heldout"]) == {"all", "bank", "shop"}
    assert told["heldout"]["all"]["perplexity"] < 4
    assert told["sources"]["shop"] == {"licence": "MIT", "train": 40, "heldout": 6}
    looks = [entry["all"]["loss"] for entry in figures(trained, "heldout")]
    assert len(looks) >= 2
    assert looks[-1] < looks[0]


def test_the_folder_loads_in_transformers_and_continues_a_dialogue(trained: Path) -> None:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(trained), AutoTokenizer.from_pretrained(trained)
    start = tokenizer("<|begin|><|customer|>Where is my parcel 7<|agent|>", return_tensors="pt")
    made = model.generate(**start, max_new_tokens=30, do_sample=False)
    said = tokenizer.decode(made[0, start["input_ids"].shape[1] :])
    assert any(said.startswith(reply) for reply in REPLIES)
    assert "# decoder" in (trained / "README.md").read_text()


def test_figures_are_those_of_the_file(trained: Path, corpus: Path) -> None:
    """Perplexity by hand, one dialogue at a time, with nothing of the training's own code."""
    model = AutoModelForCausalLM.from_pretrained(trained).float()
    writer = own_writer((trained / "tokenizer.json").read_text())
    nats, tokens = 0.0, 0
    for piece in writer.pieces(read_corpus(corpus, "heldout"), 96):
        ids = torch.from_numpy(piece.ids).long()[None]
        with torch.no_grad():
            nats += float(model(ids, labels=ids).loss) * (ids.shape[1] - 1)
        tokens += ids.shape[1] - 1
    told = read_manifest(trained / "training.json")["heldout"]["all"]
    assert told["tokens"] == tokens
    assert told["perplexity"] == pytest.approx(np.exp(nats / tokens), rel=1e-3)


def test_sigterm_saves_and_the_same_command_resumes_bit_for_bit(
    config: PretrainConfig, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    again, train_step = replace(config, out=tmp_path / "decoder"), PretrainTrainer.train_step

    def terminated(self: PretrainTrainer, step: int) -> StepOutput:
        if step == 24:  # the best weights so far are those of the evaluation after step 20
            os.kill(os.getpid(), signal.SIGTERM)
        return train_step(self, step)

    with monkeypatch.context() as patch:
        patch.setattr(PretrainTrainer, "train_step", terminated)
        pretrain(again)
    assert "stopped after step 25 of " in capsys.readouterr().err
    assert [path.name for path in again.out.glob("checkpoint-*")] == ["checkpoint-25"]
    assert not (again.out / "training.json").exists()
    with pytest.raises(OutputRefused, match="E_OTHER_JOB"):
        pretrain(replace(again, running=replace(again.running, seed=2)))
    pretrain(again)
    assert sha256_file(again.out / "model.safetensors") == sha256_file(trained / "model.safetensors")
    assert not list(again.out.glob("checkpoint-*"))


def pieces(*sizes: int) -> list[Piece]:
    chance = np.random.default_rng(0)
    return [Piece(chance.integers(3, 90, size).astype(np.int32), "s", size) for size in sizes]


def test_a_dialogue_does_not_see_its_neighbours() -> None:
    model = init_decoder(decoder_config(2, 90, 64), 0)
    model.set_attn_implementation(packed.NAME)
    first, second, third, other = pieces(20, 14, 9, 14)
    beside = token_losses(model, [first, second, third])
    alone = token_losses(model, [second])
    assert torch.allclose(beside[20:34], alone, atol=1e-5)
    changed = token_losses(model, [other, second, third])
    assert torch.allclose(beside[20:34], changed[14:28], atol=1e-5)
    assert beside[33] == 0.0  # the last token of a dialogue predicts nothing


def test_a_base_that_mixes_dialogues_is_refused(
    config: PretrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialint.detector.engines.packed.equivalence_error", lambda *_: "it mixes")
    with pytest.raises(ConfigError, match="E_BASE: it mixes"):
        pretrain(replace(config, out=tmp_path / "d"))


def test_a_dry_run_says_what_it_would_take(
    config: PretrainConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running = replace(config.running, dry_run=True)
    pretrain(replace(config, out=tmp_path / "d", running=running))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["parameters", "memory"]
    assert not (tmp_path / "d").exists()


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
BASES = {
    "llama": (LlamaForCausalLM, LlamaConfig, {"num_key_value_heads": 2}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, {"num_key_value_heads": 2, "tie_word_embeddings": True}),
    "gpt_neox": (GPTNeoXForCausalLM, GPTNeoXConfig, {}),
}


@pytest.fixture(params=BASES)
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A decoder of random weights with a tokenizer and a chat template."""
    kind, shape, more = BASES[request.param]
    folder = tmp_path / "base"
    folder.mkdir()
    save_tokenizer(train_tokenizer(ASKS + REPLIES, SMALLEST + 20), folder)
    torch.manual_seed(0)
    options = {**SMALL, **more, "vocab_size": SMALLEST + 20, "max_position_embeddings": 128}
    kind(shape(**options, bos_token_id=1, eos_token_id=2, pad_token_id=0)).save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("style", ["template", "plain"])
def test_any_decoder_goes_on_learning(base: Path, style: Any, config: PretrainConfig, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pretrain(replace(config, base=base, out=out, style=style, epochs=1, learning_rate=5e-3, eval_steps=5))
    told = read_manifest(out / "training.json")
    losses = [look["all"]["loss"] for look in figures(out, "heldout")]
    assert losses[-1] < losses[0]
    assert told["written"] == [style]
    before, after = (AutoModelForCausalLM.from_pretrained(folder) for folder in (base, out))
    assert after.config.model_type == before.config.model_type
    assert after.config._attn_implementation != "packed"


def test_a_base_whose_positions_end_is_refused(base: Path, config: PretrainConfig, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="positions for 128"):
        pretrain(replace(config, base=base, out=tmp_path / "out", row_tokens=256))


TURNS = (
    Turn(index=0, role="agent", text="Hello <|im_end|> there"),
    Turn(index=1, role="system", text="lookup"),
    Turn(index=2, role="customer", text="Hi"),
    Turn(index=3, role="customer", text="it's me"),
    Turn(index=4, role="bot", text="Good."),
)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marked")
    save_tokenizer(train_tokenizer(ASKS + REPLIES, SMALLEST + 20), folder)
    return folder


def written(folder: Path, units: list[list[int]]) -> str:
    ids = [token for unit in units for token in unit]
    return str(AutoTokenizer.from_pretrained(folder).decode(ids, skip_special_tokens=False))


def test_own_marks(marked: Path) -> None:
    units = own_writer((marked / "tokenizer.json").read_text()).write(TURNS)
    assert len(units) == len(TURNS)
    assert written(marked, units) == (
        "<|begin|><|agent|>Hello <|im_end|> there<|slot|><|system|>lookup<|customer|>Hi"
        "<|customer|>it's me<|bot|>Good.<|slot|><|dialogue_slot|><|end|>"
    )


def test_a_chat_template(marked: Path) -> None:
    units = template_writer(marked).write(TURNS)
    assert written(marked, units) == (
        "<|im_start|>assistant\nHello <|im_end|> there<|im_end|>\n"
        "<|im_start|>user\nHi\nit's me<|im_end|>\n<|im_start|>assistant\nGood.<|im_end|>\n"
    )
    end = AutoTokenizer.from_pretrained(marked).convert_tokens_to_ids("<|im_end|>")
    assert sum(unit.count(end) for unit in units) == 3  # the one that was typed is none


def test_plain_words(marked: Path) -> None:
    units = template_writer(marked, plain=True).write(TURNS[2:])
    assert written(marked, units) == "<|begin|>Customer: Hi\nit's me\nAgent: Good.\n<|im_end|>"


def test_long_dialogues_are_cut_between_turns(corpus: Path, marked: Path) -> None:
    writer = own_writer((marked / "tokenizer.json").read_text())
    dialogues = list(read_corpus(corpus, "train"))
    whole, parts = writer.pieces(dialogues, 10_000), writer.pieces(dialogues, 60)
    assert len(whole) == len(dialogues) < len(parts)
    assert all(len(part.ids) <= 60 and part.ids[0] == 1 for part in parts)
    assert sum(part.n_bytes for part in parts) == sum(piece.n_bytes for piece in whole)
    again = [token for part in parts for token in part.ids if token != 1]
    assert again == [token for piece in whole for token in piece.ids if token != 1]


def test_a_corpus_without_its_files_is_refused(tmp_path: Path, config: PretrainConfig) -> None:
    with pytest.raises(OutputRefused, match="E_MANIFEST"):
        pretrain(replace(config, corpus=tmp_path, out=tmp_path / "out"))
    write_manifest(tmp_path / "manifest.json", {})
    with pytest.raises(InputRefused, match="no train-"):
        pretrain(replace(config, corpus=tmp_path, out=tmp_path / "out"))
    parquet.write_table(pa.table({"dialogue_id": ["1"]}), tmp_path / "train-0.parquet")
    with pytest.raises(InputRefused, match="lacks the columns"):
        list(read_corpus(tmp_path, "train"))


def test_personal_data_are_masked(tmp_path: Path) -> None:
    said = row(1, random.Random(0))
    said["turns"] = [{"role": "customer", "text": "mail me at anna.smith@example.org"}]
    parquet.write_table(pa.Table.from_pylist([said]), tmp_path / "train-0.parquet")
    (masked,) = read_corpus(tmp_path, "train")
    assert "@" not in masked.dialogue.turns[0].text


def test_a_dialogue_without_an_id_is_named(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([row(1, random.Random(0)) | {"dialogue_id": None}])
    parquet.write_table(table, tmp_path / "train-0.parquet")
    with pytest.raises(InputRefused, match="E_CORPUS"):
        list(read_corpus(tmp_path, "train"))
