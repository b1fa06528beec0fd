"""Arguments of the Hugging Face trainers: one GPU each, recomputation by size."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dialint.app.cli import main
from dialint.finetune.train import memory
from dialint.finetune.train.hf_trainer import restrict_to_one_gpu
from dialint.finetune.train.memory import recomputes_activations
from dialint.finetune.train.options import RunOptions


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_process_without_a_launcher_takes_one_gpu_of_many(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import TrainingArguments

    monkeypatch.delenv("LOCAL_RANK", raising=False)
    arguments = TrainingArguments(use_cpu=True, report_to="none")
    arguments._n_gpu = 4  # as transformers counts them
    arguments = restrict_to_one_gpu(arguments, device)
    assert arguments.n_gpu == 1
    assert arguments.train_batch_size == arguments.per_device_train_batch_size
    if device == "cuda:1":
        assert arguments.device == torch.device("cuda:1")


def test_a_launcher_decides_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    arguments = SimpleNamespace(_n_gpu=4)
    assert restrict_to_one_gpu(arguments, "cuda:0")._n_gpu == 4


def test_large_models_recompute_activations_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = torch.nn.Linear(10, 10)
    assert not recomputes_activations(RunOptions(), model)
    assert recomputes_activations(RunOptions(gradient_checkpointing=True), model)
    monkeypatch.setattr(memory, "LARGE", 100)
    assert recomputes_activations(RunOptions(), model)
    assert not recomputes_activations(RunOptions(gradient_checkpointing=False), model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("sft", "scan", "--examples", "e", "--base", "b", "--row-tokens", "0"), "--row-tokens: expected at least 1"),
        (("distill", "--teacher", "t", "--dialogues", "d", "--layers", "0"), "--layers: expected at least 1"),
        (("sft", "judge", "--dataset", "d", "--base", "b", "--rank", "0"), "--rank: expected at least 1"),
        (("pretrain", "--dialogues", "c", "--row-tokens", "1"), "--row-tokens: expected at least 16"),
    ],
)  # fmt: skip
def test_an_option_out_of_its_range_is_one_line(
    options: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["dialint", "train", *options, "--out", "out"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"dialint: E_OPTION: {message}\n"
