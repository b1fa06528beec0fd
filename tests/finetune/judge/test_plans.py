"""--dry-run says what a stage would take, and leaves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialint.eval.questions import QuestionConfig
from dialint.finetune.judge import grpo, ppo, sft, sft_options
from dialint.finetune.train import options
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions, ScheduleOptions

DRY = RunOptions(threads=1, precision="fp32", device="cpu", dry_run=True, price_per_hour=2.0, watts=30.0)
ASKING = QuestionConfig(random_questions=0)


@pytest.mark.parametrize("stage", ["sft", "grpo", "ppo"])
def test_a_dry_run_says_what_it_would_take(
    tiny: Path, dataset: Path, tmp_path: Path, stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, adapters = tmp_path / "judge", AdapterOptions(rank=4)
    common = {
        "dataset": dataset,
        "model": str(tiny),
        "out": out,
        "question_config": ASKING,
        "adapters": adapters,
        "running": DRY,
    }
    if stage == "ppo":
        ppo_options = options.PpoOptions(steps=50, questions=2, answers=2, answer_tokens=4, minibatch=4)
        ppo.run(ppo.PpoConfig(**common, options=ppo_options))  # type: ignore[arg-type]
    else:
        config = (
            sft_options.SftJudgeConfig(**common, questions=4, learning=ScheduleOptions(steps=50))  # type: ignore[arg-type]
            if stage == "sft"
            else grpo.GrpoConfig(**common, steps=50, questions=2, answers=2, answer_tokens=4)  # type: ignore[arg-type]
        )
        with pytest.raises(SystemExit) as ended:
            (sft.run if stage == "sft" else grpo.run)(config)  # type: ignore[operator]
        assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "memory: about" in told
    assert "time: 50 steps" in told
    assert "at 30 W (given)" in told
    assert not out.exists()


@pytest.mark.parametrize("stage", ["sft", "grpo", "ppo"])
def test_memory_is_told_before_a_step_is_run(
    tiny: Path,
    dataset: Path,
    tmp_path: Path,
    stage: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step that does not fit must not be the one that says so."""

    def fails(*_: Any, **__: Any) -> Any:
        raise MemoryError

    common: dict[str, Any] = {
        "dataset": dataset, "model": str(tiny), "out": tmp_path / "judge", "question_config": ASKING,
        "adapters": AdapterOptions(rank=4), "running": DRY,
    }  # fmt: skip
    monkeypatch.setattr("dialint.finetune.rl.ppo_trainer.PpoTrainer.train_step", fails)
    monkeypatch.setattr("transformers.Trainer.training_step", fails)
    monkeypatch.setattr("dialint.finetune.judge.sft_trainer.JudgeSFTTrainer.training_step", fails)
    monkeypatch.setattr("dialint.finetune.judge.trl_trainers.JudgeGRPOTrainer.training_step", fails)
    runs: dict[str, Any] = {
        "sft": lambda: sft.run(sft_options.SftJudgeConfig(**common)),
        "grpo": lambda: grpo.run(grpo.GrpoConfig(**common, questions=2, answers=2)),
        "ppo": lambda: ppo.run(ppo.PpoConfig(**common)),
    }
    with pytest.raises(MemoryError):
        runs[stage]()
    told = capsys.readouterr().out
    assert "memory: about" in told
    assert "time:" not in told


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_a_dry_run_plans_for_a_gpu_that_is_not_here(
    tiny: Path, dataset: Path, tmp_path: Path, stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    common: dict[str, Any] = {
        "dataset": dataset, "model": str(tiny), "out": tmp_path / "judge", "question_config": ASKING,
        "running": RunOptions(device="cuda:24GB", dry_run=True),
    }  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        sft.run(sft_options.SftJudgeConfig(**common)) if stage == "sft" else grpo.run(
            grpo.GrpoConfig(**common)
        )
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "a GPU of 24 GB has 21.9 GB to use" in printed
    assert "fits" in printed
    assert not (tmp_path / "judge").exists()
