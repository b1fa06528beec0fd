"""Pre-training end to end with tiny decoders: rows keep dialogues apart, a killed run loses nothing, any
decoder can go on learning. Dialogues are made of a few planted phrases: a test of the machinery."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
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

from dialint.detector.artifacts import read_manifest, sha256_file
from dialint.detector.engines import packed
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.records import Dialogue, Turn
from dialint.finetune.decoder.pretrain import PretrainConfig, pretrain
from dialint.finetune.decoder.text import (
    Piece,
    Writer,
    own_writer,
    read_dialogues,
    split_dialogues,
    template_writer,
)
from dialint.finetune.decoder.tokenizer import CONTROL, IM_END, SMALLEST, save_tokenizer, train_tokenizer
from dialint.finetune.decoder.trainer import decoder_config, init_decoder, token_losses
from dialint.finetune.train.hf_trainer import TrainingCallback
from dialint.finetune.train.options import RunOptions

ASKS = ["I want to move booking {} please", "Where is parcel {} now", "My payment {} was charged twice"]
REPLIES = ["Of course, which day suits you?", "It is on its way.", "I have refunded the second charge."]


def dialogue(number: int) -> Dialogue:
    rng = random.Random(number)
    texts = [
        text
        for _ in range(rng.randint(1, 4))
        for text in (rng.choice(ASKS).format(rng.randrange(100)), rng.choice(REPLIES))
    ]
    roles: tuple[Literal["customer", "agent"], ...] = ("customer", "agent")
    turns = tuple(Turn(index=i, role=roles[i % 2], text=text) for i, text in enumerate(texts))
    return Dialogue(id=f"d{number}", turns=turns, metadata={"source": "shop" if number % 2 else "bank"})


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("".join(f"{dialogue(number).model_dump_json()}\n" for number in range(120)))
    return str(path)


@pytest.fixture(scope="module")
def config(log: str, tmp_path_factory: pytest.TempPathFactory) -> PretrainConfig:
    return PretrainConfig(
        dialogues=(log,), out=tmp_path_factory.mktemp("pretrained") / "decoder", depth=2, vocabulary=SMALLEST + 100,
        epochs=6, row_tokens=96, rows=4, learning_rate=1e-2, eval_steps=20,
        running=RunOptions(threads=1, precision="fp32", device="cpu"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def heldout(log: str) -> list[Dialogue]:
    return split_dialogues(read_dialogues([log], ReadConfig())[0])[1]


@pytest.fixture(scope="module")
def trained(config: PretrainConfig) -> Path:
    pretrain(config)
    return config.out


def test_it_learns_and_writes_its_figures(trained: Path) -> None:
    manifest = read_manifest(trained / "training.json")
    lines = logged(trained)
    assert lines[0]["loss"] > 5
    assert set(manifest["heldout"]) == {"all", "bank", "shop"}
    assert manifest["heldout"]["all"]["perplexity"] < 4
    assert manifest["sources"]["shop"]["heldout"] > 0
    losses = figures(trained, "eval_loss")
    assert len(losses) >= 2
    assert losses[-1] < losses[0]


def test_the_folder_loads_in_transformers_and_continues_a_dialogue(trained: Path) -> None:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(trained), AutoTokenizer.from_pretrained(trained)
    start = tokenizer("<|begin|><|customer|>Where is parcel 7 now<|agent|>", return_tensors="pt")
    made = model.generate(**start, max_new_tokens=30, do_sample=False)
    answer = tokenizer.decode(made[0, start["input_ids"].shape[1] :])
    assert any(answer.startswith(reply) for reply in REPLIES)
    assert "# decoder" in (trained / "README.md").read_text()


def test_figures_are_those_of_the_file(trained: Path, heldout: list[Dialogue]) -> None:
    """Perplexity by hand, one dialogue at a time, with nothing of the training's own code."""
    model = AutoModelForCausalLM.from_pretrained(trained).float()
    writer = own_writer((trained / "tokenizer.json").read_text())
    nats, tokens = 0.0, 0
    for piece in writer.pieces(heldout, 96):
        ids = torch.from_numpy(piece.ids).long()[None]
        with torch.no_grad():
            nats += float(model(ids, labels=ids).loss) * (ids.shape[1] - 1)
        tokens += ids.shape[1] - 1
    own = read_manifest(trained / "training.json")["heldout"]["all"]
    assert own["tokens"] == tokens
    assert own["perplexity"] == pytest.approx(np.exp(nats / tokens), rel=1e-3)


def test_sigterm_saves_and_the_same_command_resumes_bit_for_bit(
    config: PretrainConfig, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    again, on_step_end = replace(config, out=tmp_path / "decoder"), TrainingCallback.on_step_end

    def terminated(self: Any, args: Any, state: Any, control: Any, **more: Any) -> Any:
        if state.global_step == 25:  # the best weights so far are those of the evaluation after step 20
            os.kill(os.getpid(), signal.SIGTERM)
        return on_step_end(self, args, state, control, **more)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingCallback, "on_step_end", terminated)
        with pytest.raises(SystemExit, match="0"):
            pretrain(again)
    assert "stopped at step 25 of " in capsys.readouterr().err
    assert {path.name for path in again.out.glob("checkpoint-*")} == {"checkpoint-20", "checkpoint-25"}
    assert not (again.out / "training.json").exists()
    with pytest.raises(OutputRefused, match="E_OTHER_JOB"):
        pretrain(replace(again, running=replace(again.running, seed=2)))
    pretrain(again)
    assert sha256_file(again.out / "model.safetensors") == sha256_file(trained / "model.safetensors")
    assert not list(again.out.glob("checkpoint-*"))


def pieces(*sizes: int) -> list[Piece]:
    rng = np.random.default_rng(0)
    return [Piece(rng.integers(3, 90, size).astype(np.int32), "s", size) for size in sizes]


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


def test_a_dry_run_prints_the_memory(
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


@pytest.fixture
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A decoder of random weights with a tokenizer and a chat template."""
    kind, shape, more = BASES[getattr(request, "param", "llama")]
    folder = tmp_path / "base"
    folder.mkdir()
    save_tokenizer(train_tokenizer(ASKS + REPLIES, SMALLEST + 20), folder)
    torch.manual_seed(0)
    options = {**SMALL, **more, "vocab_size": SMALLEST + 20, "max_position_embeddings": 128}
    kind(shape(**options, bos_token_id=1, eos_token_id=2, pad_token_id=0)).save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES, indirect=True)
def test_any_decoder_goes_on_learning(base: Path, config: PretrainConfig, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pretrain(replace(config, base=base, out=out, epochs=1, learning_rate=5e-3, eval_steps=5))
    manifest = read_manifest(out / "training.json")
    losses = figures(out, "eval_loss")
    assert losses[-1] < losses[0]
    assert manifest["written"] == ["template"]
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


def written(folder: Path, writer: Writer) -> str:
    """The one piece that a writer makes of `TURNS`."""
    (piece,) = writer.pieces([Dialogue(id="d", turns=TURNS)], 999)
    return str(AutoTokenizer.from_pretrained(folder).decode(piece.ids.tolist(), skip_special_tokens=False))


def test_own_marks(marked: Path) -> None:
    writer = own_writer((marked / "tokenizer.json").read_text())
    assert written(marked, writer) == (
        "<|begin|><|agent|>Hello <|im_end|> there<|slot|><|system|>lookup<|customer|>Hi"
        "<|customer|>it's me<|bot|>Good.<|slot|><|dialogue_slot|><|end|>"
    )
    turns = writer.write(TURNS)
    assert len(turns) == len(TURNS)
    assert CONTROL.index(IM_END) not in turns[0]  # the one that was typed is plain text


def test_a_chat_template(marked: Path) -> None:
    """Without what was typed as one of its marks."""
    assert written(marked, template_writer(marked)) == (
        "<|im_start|>assistant\nHello   there<|im_end|>\n"
        "<|im_start|>user\nHi\nit's me<|im_end|>\n<|im_start|>assistant\nGood.<|im_end|>\n"
    )


def test_plain_words_where_there_is_no_template(marked: Path, tmp_path: Path) -> None:
    options = json.loads((marked / "tokenizer_config.json").read_text())
    del options["chat_template"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(options))
    shutil.copy(marked / "tokenizer.json", tmp_path)
    assert written(marked, template_writer(tmp_path)) == (
        "<|begin|>Agent: Hello   there\nCustomer: Hi\nit's me\nAgent: Good.\n<|im_end|>"
    )


def test_long_dialogues_are_cut_between_turns(marked: Path) -> None:
    writer = own_writer((marked / "tokenizer.json").read_text())
    dialogues = [dialogue(number) for number in range(40)]
    whole, parts = writer.pieces(dialogues, 10_000), writer.pieces(dialogues, 60)
    assert len(whole) == len(dialogues) < len(parts)
    assert all(len(part.ids) <= 60 and part.ids[0] == 1 for part in parts)
    assert sum(part.n_bytes for part in parts) == sum(piece.n_bytes for piece in whole)
    again = [token for part in parts for token in part.ids if token != 1]
    assert again == [token for piece in whole for token in piece.ids if token != 1]


def test_copies_are_left_out_what_is_alike_is_on_one_side_and_personal_data_are_masked() -> None:
    words = [f"word{number}" for number in range(2000)]
    rng, dialogues = random.Random(1), []
    for number in range(60):
        own = rng.sample(words, 40)
        for kind, text_words in (("", own), ("copy", [*own, "bye"]), ("like", [*own[:34], *own[:6]])):
            text = f"{' '.join(text_words)} anna.smith@example.org"
            dialogues.append(Dialogue(id=f"{number}{kind}", turns=(Turn(index=0, role="agent", text=text),)))
    train, heldout = split_dialogues(dialogues)
    sides = [{each.id.rstrip("acekilopy") for each in side} for side in (train, heldout)]
    assert len(train) + len(heldout) == 120
    assert not sides[0] & sides[1]
    assert len(sides[1]) > 0
    assert all("@" not in each.turns[0].text for each in train)


def test_too_few_dialogues_are_refused(config: PretrainConfig, tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl"
    path.write_text(dialogue(1).model_dump_json())
    with pytest.raises(InputRefused, match="too few dialogues"):
        pretrain(replace(config, dialogues=(str(path),), out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()
