"""Under a launcher each process takes its own GPU and talks by NCCL there; what runs alone says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialint.detector import environment
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.finetune import screening, search
from dialint.finetune.decoder.options import PretrainConfig
from dialint.finetune.decoder.pretrain import pretrain
from dialint.finetune.judge import merge_adapter
from dialint.finetune.scanner.calibrate import CalibrateConfig, calibrate
from dialint.finetune.scanner.distill import distill
from dialint.finetune.scanner.options import DistillConfig, ScanConfig
from dialint.finetune.scanner.pack import PackConfig, pack
from dialint.finetune.scanner.prune import PruneConfig, prune
from dialint.finetune.scanner.train import scan
from dialint.finetune.train.distributed import (
    ProcessGroup,
    backend_for,
    init_process_group,
    resolve_device,
)
from dialint.finetune.train.options import RunOptions

NOWHERE = Path("nowhere")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the second of two processes."""
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("device", "backend"),
    [("cpu", "gloo"), ("cuda", "cpu:gloo,cuda:nccl"), ("cuda:0", "cpu:gloo,cuda:nccl"), ("cuda:7", "cpu:gloo,cuda:nccl")],
)  # fmt: skip
def test_processes_talk_by_nccl_where_their_tensors_lie_on_gpus(device: str, backend: str) -> None:
    assert backend_for(device) == backend


def test_a_process_joins_with_its_own_gpu(launched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a launcher's process names is cuda:1, not cuda."""
    called: list[Any] = []
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.set_device", called.append)
    monkeypatch.setattr("torch.distributed.init_process_group", called.append)
    monkeypatch.setattr("torch.distributed.get_rank", lambda: 1)
    assert [resolve_device(RunOptions(device=name)) for name in ("auto", "cuda")] == ["cuda:1", "cuda:1"]
    assert init_process_group(resolve_device(RunOptions())) == ProcessGroup(1, 2)
    assert called == ["cuda:1", "cpu:gloo,cuda:nccl"]
    with pytest.raises(ConfigError, match="E_DEVICE: --device cuda:0: one GPU for 2 processes"):
        resolve_device(RunOptions(device="cuda:0"))


def test_a_process_alone_needs_no_team(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert init_process_group("cpu") == ProcessGroup()
    require_single_process("train pretrain")
    assert not torch.distributed.is_initialized()


ALONE: dict[str, Callable[[Path], Any]] = {
    "train sft scan": lambda out: scan(ScanConfig(examples=NOWHERE, base=NOWHERE, out=out)),
    "train distill": lambda out: distill(DistillConfig(teacher=NOWHERE, dialogues=(), out=out)),
    "train pretrain": lambda out: pretrain(PretrainConfig(corpus=NOWHERE, out=out)),
    "train prune": lambda out: prune(PruneConfig(NOWHERE, NOWHERE, out, layers=1)),
    "train pack": lambda out: pack(PackConfig(scanner=NOWHERE, examples=NOWHERE, out=out, name="name")),
    "train calibrate": lambda out: calibrate(CalibrateConfig(examples=NOWHERE, out=out, name="name")),
    "train merge": lambda out: merge_adapter.run(merge_adapter.MergeConfig(model="nowhere", out=out)),
    "train screen": lambda out: screening.run(screening.ScreenConfig(dataset=NOWHERE, out=out)),
    "train search": lambda out: search.run(
        search.SearchConfig(stage="scan", out=out, space=("rank=4,8",)), [], search.STAGES["scan"]
    ),
}


@pytest.mark.parametrize("command", ALONE)
def test_what_runs_in_one_process_refuses_a_launcher(launched: None, tmp_path: Path, command: str) -> None:
    with pytest.raises(ConfigError, match=f"E_OPTION: dialint {command} runs in one process") as refused:
        ALONE[command](tmp_path / "out")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    assert environment.world_size() == 2
