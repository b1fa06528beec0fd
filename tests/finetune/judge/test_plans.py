"""--dry-run says what memory a stage would take, before anything is loaded, and leaves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialint.finetune.judge import grpo, ppo, sft
from dialint.finetune.train.options import RunOptions


@pytest.mark.parametrize("stage", ["sft", "grpo", "ppo"])
def test_a_dry_run_plans_for_a_gpu_that_is_not_here(
    tiny: Path, dataset: Path, tmp_path: Path, stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    common: dict[str, Any] = {
        "dataset": dataset, "base": str(tiny), "out": tmp_path / "judge",
        "running": RunOptions(device="cuda", dry_run=True),
    }  # fmt: skip
    runs: dict[str, Any] = {
        "sft": lambda: sft.run(sft.SftJudgeConfig(**common)),
        "grpo": lambda: grpo.run(grpo.GrpoConfig(**common)),
        "ppo": lambda: ppo.run(ppo.PpoConfig(**common)),
    }
    with pytest.raises(SystemExit) as ended:
        runs[stage]()
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "memory: about" in printed
    assert not (tmp_path / "judge").exists()
