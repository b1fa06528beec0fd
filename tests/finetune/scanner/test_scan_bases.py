"""Bases of other architectures with tokenizers of their own: trained, packed and scoring with the same commands."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from resuming import logged
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.engines.base_models import describe_base, resolve_base
from dialint.detector.errors import ConfigError
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.release import Release
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.eval.results import read_examples
from dialint.finetune.decoder.tokenizer import IM_END, IM_START, decoder_render
from dialint.finetune.scanner.backbone import build_network, init_model, load_base, prepare_tokenizer
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.scanner.pack import PackConfig, describe_release, pack
from dialint.finetune.scanner.train import scan
from dialint.finetune.scanner.trained import read_scanner
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions

OWN = ["<unk>", "<bos>", "<start_of_turn>", *(f"w{i}" for i in range(50)), "rude", "pin", "bye"]
LLAMA = {**tiny.DECODER, "model_type": "llama"}
GEMMA2 = {**tiny.DECODER, "model_type": "gemma2", "query_pre_attn_scalar": 8, "sliding_window": 16}
GEMMA3 = {**tiny.DECODER, "model_type": "gemma3_text", "query_pre_attn_scalar": 8, "sliding_window": 16}
BASES = pytest.mark.parametrize(
    ("shape", "adapters"),
    [
        (LLAMA, AdapterOptions(rank=8)),
        (GEMMA2, AdapterOptions(adapter="none")),
        (GEMMA3, AdapterOptions(rank=8, quantise="nf4")),
    ],
    ids=["llama, lora", "gemma 2, all weights", "gemma 3, 4 bits"],
)


def write_base(folder: Path, shape: dict[str, Any], marks: tuple[str, ...] = ()) -> Path:
    """A language model of random weights as its makers leave it: two files of weights, no marks of ours."""
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(OWN)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([*OWN[:3], *marks])
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    torch.manual_seed(0)
    sizes = {"vocab_size": len(OWN) + 4, "bos_token_id": 1, "pad_token_id": 0, "tie_word_embeddings": True}
    config = {**shape, **sizes}
    (folder / "config.json").write_text(json.dumps(config))
    kind = config.pop("model_type")
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **config))
    weights = {name: w.contiguous() for name, w in model.state_dict().items() if name != "lm_head.weight"}
    names = sorted(weights)
    for number, some in enumerate((names[::2], names[1::2]), 1):
        save_file({name: weights[name] for name in some}, folder / f"model-0000{number}-of-00002.safetensors")
    return folder


@pytest.fixture
def config(some: Path, tmp_path: Path) -> ScanConfig:
    return ScanConfig(
        examples=some, base=tmp_path / "base", out=tmp_path / "out", row_tokens=400, context_tokens=100, epochs=10,
        learning_rate=3e-3, head_learning_rate=3e-2, prefix_share=0.0, running=RunOptions(threads=1, precision="fp32"),
    )  # fmt: skip


def packed(config: ScanConfig, out: Path) -> Path:
    pack(
        PackConfig(scanner=config.out, examples=config.examples, out=out, name="tiny", per_100=50, per_100_dialogues=50,
                   min_average_precision=0, sets=("test",), rounds=2, evidence=False)
    )  # fmt: skip
    return out


@BASES
@pytest.mark.slow
def test_it_is_trained_packed_and_scores(
    config: ScanConfig, tmp_path: Path, shape: dict[str, Any], adapters: AdapterOptions
) -> None:
    write_base(config.base, shape)
    scan(replace(config, adapters=adapters))
    assert logged(config.out)[-1]["dev"]["ap"]["macro"] > 0.9
    release = packed(config, tmp_path / "release")
    examples = list(read_examples(config.examples / "test.jsonl"))
    log = tmp_path / "log.jsonl"
    log.write_text("".join(_record(item) for item in examples))
    out = tmp_path / "verdicts.jsonl"
    detector = DetectorConfig(release=release)
    assert run([str(log)], ScoreConfig(out=out, quiet=True, all_probabilities=True, detector=detector)) == 0
    rude = [
        (verdict.probabilities[label_turn]["T1"], labelled)
        for item, verdict in zip(examples, read_verdicts(out), strict=True)
        for label_turn, labelled in _turns(item, "T1")
    ]
    flagged = np.mean([p for p, labelled in rude if labelled])
    assert flagged > 2 * np.mean([p for p, labelled in rude if not labelled])


def _record(item: Any) -> str:
    turns = [{"role": turn.role, "text": turn.text} for turn in item.dialogue.turns]
    return json.dumps({"id": item.dialogue.id, "turns": turns}) + "\n"


def _turns(item: Any, code: str) -> list[tuple[int, bool]]:
    errors = {label.turn for label in item.labels if label.code == code}
    return [(turn.index, turn.index in errors) for turn in item.dialogue.turns if turn.role == "agent"]


def test_a_release_on_a_fetched_base_holds_heads_alone_and_wants_that_base(
    config: ScanConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    base = write_base(tmp_path / "home" / "bases" / "smollm2", LLAMA, (IM_START, IM_END))
    options = ScanConfig(
        examples=config.examples, base=Path("smollm2"), out=config.out, layers=1, row_tokens=400, context_tokens=100,
        running=config.running,
    )  # fmt: skip
    scan(options)
    made = load_file(config.out / "model.safetensors")
    assert set(made) == {"slot_head.weight", "slot_head.bias", "token_head.weight"}
    release = packed(config, tmp_path / "release")
    info = Release(release).info
    assert (info.base.name, info.render.slot, info.render.calls) == ("smollm2", IM_END, True)
    examples = list(read_examples(config.examples / "test.jsonl"))
    dialogues = [example.dialogue for example in examples]
    verdicts = load_detector(DetectorConfig(release=release)).verdicts(dialogues, all_probabilities=True)
    assert all(verdict.probabilities for verdict in verdicts)
    again = read_scanner(release)
    assert again.stands_on_base
    assert len(again.model.backbone.layers) == 1
    scan(replace(options, base=release, out=tmp_path / "again"))
    assert read_scanner(tmp_path / "again").codes == again.codes
    weights = {name: w + 1 for name, w in load_file(base / "model-00001-of-00002.safetensors").items()}
    save_file(weights, base / "model-00001-of-00002.safetensors")
    with pytest.raises(ConfigError, match="other weights than those"):
        load_detector(DetectorConfig(release=release))
    shutil.rmtree(base)
    with pytest.raises(ConfigError, match="dialint base fetch smollm2"):
        load_detector(DetectorConfig(release=release))


def test_the_release_that_ships_is_a_base_by_its_name(config: ScanConfig) -> None:
    base = resolve_base("embedded")
    base = load_base(replace(config, base=base.folder, context_tokens=500))
    assert base.new_ids == ()
    assert describe_base(base) == {
        "name": "embedded-7 (of sentence-transformers/all-MiniLM-L6-v2)",
        "revision": Release(base.folder).info.base.revision,
        "licence": "Apache-2.0",
    }


def test_a_base_is_described_by_its_own_model_card_or_not_at_all(config: ScanConfig) -> None:
    folder = write_base(config.base, LLAMA)
    assert describe_base(resolve_base(folder)) == {"name": folder.name}
    (folder / "README.md").write_text("---\nlanguage: en\nlicense: mit\n---\n# A model\nlicense: none\n")
    assert describe_base(resolve_base(folder)) == {"name": folder.name, "licence": "mit"}


def test_a_release_claims_no_unrecorded_base(tmp_path: Path) -> None:
    trained = {"codes": ["T1"], "render": decoder_render(100).model_dump(), "base_sha256": "0" * 64}
    trained["base"] = {"name": "mine"}
    options = PackConfig(scanner=tmp_path, examples=tmp_path, out=tmp_path / "r", name="r")
    assert dict(describe_release(options, trained, load_taxonomy()).base) == {
        "name": "mine", "revision": "unknown", "licence": "unknown", "sha256": "0" * 64,
    }  # fmt: skip


def test_windows_begin_as_the_base_is_used_to_and_marks_are_new_tokens(config: ScanConfig) -> None:
    write_base(config.base, LLAMA)
    base = load_base(config)
    assert base.render.begin == "<bos>"
    assert base.render.slot == "<|slot|>"
    tokenizer = Tokenizer.from_str(base.tokenizer)
    assert [tokenizer.id_to_token(token) for token in range(len(OWN))] == OWN
    assert set(base.new_ids) == {tokenizer.token_to_id(mark) for mark in base.render.control} - {1}
    assert min(base.new_ids) >= len(OWN)


@pytest.mark.parametrize("marks", [(), (IM_START, IM_END, "<a>", "<b>", "<c>")], ids=["our marks", "its own"])
def test_every_token_has_a_row_also_those_that_the_base_has_none_for(
    config: ScanConfig, marks: tuple[str, ...]
) -> None:
    write_base(config.base, LLAMA, marks)
    base = load_base(config)
    rows = init_model(config, base, 1).state_dict()["backbone.embed_tokens.weight"]
    assert len(rows) == Tokenizer.from_str(base.tokenizer).get_vocab_size() >= len(OWN) + 4


@pytest.mark.parametrize("begin", [None, 999, [1, 2]])
def test_a_base_without_begin_token_gets_none(config: ScanConfig, begin: object) -> None:
    write_base(config.base, LLAMA)
    tokenizer, render = prepare_tokenizer((config.base / "tokenizer.json").read_text(), begin, 100, True)
    assert render.begin == ""
    assert "<|slot|>" in tokenizer


def test_new_rows_resemble_the_bases_own_and_only_they_are_trained_beside_adapters(
    config: ScanConfig,
) -> None:
    write_base(config.base, LLAMA)
    name = "backbone.embed_tokens.weight"
    base = load_base(config)
    before = build_network(config, base, 3, "cpu").state_dict()[name]
    again = build_network(config, base, 3, "cpu").state_dict()[name]
    assert torch.equal(before, again)
    assert len(before) == max(base.new_ids) + 1
    own = before[: len(OWN)]
    assert before[list(base.new_ids)].std().item() == pytest.approx(own.std().item(), rel=0.3)
    scan(replace(config, epochs=0.2, adapters=AdapterOptions(rank=2)))
    after = load_file(config.out / "model.safetensors")[name]
    moved = {row for row in range(len(after)) if not torch.equal(before[row], after[row])}

    assert moved == set(base.new_ids)
    assert json.loads((config.out / "config.json").read_text())["vocab_size"] == len(after)


def test_a_base_without_a_part_of_its_weights_is_refused(config: ScanConfig) -> None:
    write_base(config.base, LLAMA)
    (config.base / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(ConfigError, match="has no weights"):
        scan(config)
