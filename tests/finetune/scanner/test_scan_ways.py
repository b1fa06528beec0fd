"""The ways in which a scanner may learn: 4 bits, adapters of each kind, stopping early, estimates."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from resuming import assert_same_weights, interrupted, logged
from safetensors.torch import load_file, save_file

from dialint.detector.engines.local import pack_windows
from dialint.detector.engines.scan_model import backbone_from_config
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.finetune.scanner import backbone, train
from dialint.finetune.scanner.backbone import build_network, load_base
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.scanner.trainer import ScanTrainer
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions

EXACT = RunOptions(threads=1, precision="fp32")
QLORA = AdapterOptions(rank=4, quantise="nf4")


@pytest.fixture
def config(folders: tuple[Path, Path], few: Path, tmp_path: Path) -> ScanConfig:
    return ScanConfig(
        examples=few, base=folders[1], out=tmp_path / "out", epochs=1, row_tokens=200, context_tokens=100, learning_rate=4e-3,
        head_learning_rate=2e-2, prefix_share=0.0, running=EXACT,
    )  # fmt: skip


def started(config: ScanConfig) -> ScanTrainer:
    """A run before its first step."""
    base_model = load_base(config)
    codes, _ = train.select_codes(config)
    train_data = train.load_data(config, base_model, codes)
    return ScanTrainer(
        config, build_network(config, base_model, len(codes), "cpu").train(), train_data, "fp32"
    )


def fits_avx512_bf16() -> bool:
    from bitsandbytes.functional import has_avx512bf16

    return bool(has_avx512bf16())


@pytest.fixture
def wide(config: ScanConfig, tmp_path: Path) -> ScanConfig:
    """To learn in 4 bits beside a decoder whose layers are as wide as bitsandbytes' blocks and have no bias:
    elsewhere its packed kernel fails rather than drop gradients."""
    vocabulary = json.loads((config.base / "config.json").read_text())["vocab_size"]
    sizes = {"vocab_size": vocabulary, "hidden_size": 64, "intermediate_size": 128, "head_dim": 16}
    shape = {**tiny.DECODER, **sizes}
    base = tmp_path / "wide"
    base.mkdir()
    (base / "config.json").write_text(json.dumps(shape))
    (base / "tokenizer.json").symlink_to(config.base / "tokenizer.json")
    torch.manual_seed(0)
    save_file(backbone_from_config(shape).state_dict(), base / "model.safetensors")
    return replace(config, base=base, adapters=QLORA, history=False)


def losses_after_inference(config: ScanConfig, infers_first: bool) -> list[float | None]:
    run = started(config)
    if infers_first:
        run.model.eval()
        with torch.no_grad():
            run.model.hidden_states(pack_windows([run.data.train[0].window]))
        run.model.train()
    return [run.train_step(step).loss for step in range(4)]


@pytest.mark.skipif(not fits_avx512_bf16(), reason="bitsandbytes repacks on CPUs with AVX512-BF16 only")
def test_inference_disables_no_gradient_of_4_bit_weights(wide: ScanConfig) -> None:
    assert losses_after_inference(wide, infers_first=True) == losses_after_inference(wide, infers_first=False)


@pytest.mark.parametrize(
    "adapters",
    [
        replace(QLORA, dora=True, rslora=True),
        AdapterOptions(rank=4, alpha=3, targets=("query", "value"), adapter_dropout=0.1),
    ],
    ids=["4 bits, dora", "two layers"],
)
def test_adapters_are_merged_into_the_exact_weights(config: ScanConfig, adapters: AdapterOptions) -> None:
    train.scan(replace(config, adapters=adapters, epochs=3))
    base, made = load_file(config.base / "model.safetensors"), load_file(config.out / "model.safetensors")
    moved = {name for name, w in base.items() if not torch.equal(w, made[f"backbone.{name}"])}
    suffixes = [f"{target}.weight" for target in adapters.targets]
    wanted = {name for name in base if name.endswith("weight") and "layer." in name and "Norm" not in name}
    if adapters.targets != ("all-linear",):
        wanted = {name for name in wanted if any(name.endswith(end) for end in suffixes)}
    assert moved == wanted
    assert {weight.dtype for weight in made.values()} == {torch.float32}


def test_merging_after_4_bits_serves_the_trained_weights(config: ScanConfig) -> None:
    """The served scanner, in exact weights, says nearly what the one that learnt in 4 bits says."""
    run = started(replace(config, adapters=QLORA, epochs=4))
    for step in range(len(run.steps)):
        run.train_step(step)
    base_model, window = load_base(run.config), pack_windows([run.data.train[0].window])
    whole = backbone.merge_adapters(run.config, base_model, run.model, len(run.data.codes)).eval()
    with torch.no_grad():
        small, exact = run.model.eval().hidden_states(window), whole.hidden_states(window)
        plain = build_network(replace(config, adapters=AdapterOptions(adapter="none")), base_model, 3, "cpu")
        base = plain.eval().hidden_states(window)
    assert (small - exact).norm() < 0.3 * (base - exact).norm()


def test_gradients_are_the_same_when_activations_are_computed_twice(config: ScanConfig) -> None:
    again = replace(config, running=replace(EXACT, gradient_checkpointing=True))
    runs = [started(one) for one in (config, again)]
    assert [
        any(getattr(module, "gradient_checkpointing", False) for module in run.model.modules())
        for run in runs
    ] == [False, True]
    first, second = ([run.train_step(step).loss for step in range(3)] for run in runs)
    assert first == pytest.approx(second, rel=1e-5)


def test_learning_stops_early_and_keeps_the_best(config: ScanConfig) -> None:
    train.scan(replace(config, epochs=20, eval_steps=3, patience=2, learning_rate=2e-2))
    evaluations = [line for line in logged(config.out) if "dev" in line]
    *while_learning, last = evaluations
    reached = [line["dev"]["ap"]["macro"] for line in while_learning]
    best = reached.index(max(reached))
    manifest = json.loads((config.out / "training.json").read_text())
    assert len(while_learning) == best + 3
    assert last["step"] == manifest["best_step"] == while_learning[best]["step"] < manifest["steps"]
    assert last["dev"] == while_learning[best]["dev"]


def test_stopping_early_needs_errors_in_dev(config: ScanConfig, tmp_path: Path) -> None:
    for path in config.examples.iterdir():
        if path.name != "dev.jsonl":
            shutil.copyfile(path, tmp_path / path.name)
    with pytest.raises(ConfigError, match="--patience needs a dev"):
        train.scan(replace(config, examples=tmp_path, epochs=20, eval_steps=1, patience=1))


def test_a_dry_run_tells_and_leaves_nothing(config: ScanConfig, capsys: pytest.CaptureFixture[str]) -> None:
    train.scan(replace(config, running=replace(EXACT, dry_run=True)))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["parameters", "memory"]
    assert not config.out.exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"accumulate": 0}, "--accumulate"),
        ({"patience": 0}, "--patience"),
        ({"adapters": AdapterOptions(adapter="none", quantise="nf4")}, "--quantise nf4 needs"),
        ({"adapters": AdapterOptions(targets=("nowhere",))}, "--targets"),
        ({"adapters": AdapterOptions(adapter="none", rank=4)}, "need --adapter lora"),
        ({"running": RunOptions(device="cuda:999")}, "cuda:999"),
        ({"adapters": AdapterOptions(), "epochs": 0}, "--learning-rate --head-learning-rate: only where"),
        ({"layers": 99}, "--layers must be 1 to 2"),
    ],
)
def test_impossible_options_are_refused_first(config: ScanConfig, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        train.scan(replace(config, **options))
    assert not config.out.exists()


def test_a_frozen_base_is_stored_in_bf16_and_merged_into_exact_weights(config: ScanConfig) -> None:
    half = replace(
        config, adapters=AdapterOptions(rank=2), running=replace(EXACT, precision="bf16", device="cpu")
    )
    base_model = load_base(half)
    model = build_network(half, base_model, 3, "cpu")
    dtypes = {weight.requires_grad: weight.dtype for weight in model.backbone.parameters()}
    assert dtypes == {False: torch.bfloat16, True: torch.float32}
    whole = backbone.merge_adapters(half, base_model, model, 3).state_dict()
    for name, weight in build_network(config, base_model, 3, "cpu").state_dict().items():
        torch.testing.assert_close(whole[name], weight)  # adapters begin as nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 2, "accumulate": 3, "eval_steps": 4, "patience": 6, "prefix_share": 0.25,
         "adapters": AdapterOptions(rank=2, adapter_dropout=0.2), "running": EXACT},
        {"epochs": 2, "adapters": AdapterOptions(rank=32, quantise="nf4"),
         "running": replace(EXACT, optimizer="adamw-8bit", gradient_checkpointing=True)},
    ],
    ids=["all that is random", "4 bits"],
)  # fmt: skip
def test_an_interrupted_run_goes_on_bit_for_bit(
    config: ScanConfig, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr("dialint.finetune.scanner.trainer.LOG_STEPS", 1)
    whole = replace(config, **options)
    train.scan(whole)
    again = replace(
        whole, out=config.out.with_name("again"), running=replace(whole.running, checkpoint_steps=1)
    )
    for _ in range(2):
        with interrupted(ScanTrainer, "train_step", 2):
            train.scan(again)
    with pytest.raises(OutputRefused, match="E_OTHER_JOB"):
        train.scan(replace(again, span_weight=1.0))
    train.scan(again)
    assert logged(whole.out) == logged(again.out)
    assert_same_weights(*(each.out / "model.safetensors" for each in (whole, again)))
