"""What the Hugging Face trainers are told: one GPU each, recomputation by size."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dialint.finetune.train import estimate
from dialint.finetune.train.arguments import restrict_to_one_gpu
from dialint.finetune.train.estimate import recomputes_activations
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


def test_large_models_compute_activations_twice_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = torch.nn.Linear(10, 10)
    assert not recomputes_activations(RunOptions(), model)
    assert recomputes_activations(RunOptions(gradient_checkpointing=True), model)
    monkeypatch.setattr(estimate, "LARGE", 100)
    assert recomputes_activations(RunOptions(), model)
    assert not recomputes_activations(RunOptions(gradient_checkpointing=False), model)
