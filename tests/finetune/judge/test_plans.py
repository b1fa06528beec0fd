"""--dry-run says what a stage would take, and leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.questions import Asking
from finetune.judge import grpo, ppo, sft
from finetune.training.options import Adapters, Learning, Running

DRY = Running(threads=1, precision="fp32", device="cpu", dry_run=True, price_per_hour=2.0, watts=30.0)
ASKING = Asking(random_questions=0)


@pytest.mark.parametrize("stage", ["sft", "grpo", "ppo"])
def test_a_dry_run_says_what_it_would_take(
    tiny: Path, dataset: Path, tmp_path: Path, stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, adapters = tmp_path / "judge", Adapters(rank=4)
    common = {
        "dataset": dataset,
        "model": str(tiny),
        "out": out,
        "asking": ASKING,
        "adapters": adapters,
        "running": DRY,
    }
    if stage == "ppo":
        method = ppo.Method(steps=50, questions=2, answers=2, answer_tokens=4, minibatch=4)
        ppo.run(ppo.PpoConfig(**common, method=method))  # type: ignore[arg-type]
    else:
        config = (
            sft.SftJudgeConfig(**common, questions=4, learning=Learning(steps=50))  # type: ignore[arg-type]
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
