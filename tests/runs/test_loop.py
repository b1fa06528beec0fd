"""`runs/loop.sh` refuses what it cannot do before it does anything; its rounds are in docs/experiments/loop.md."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from patience import WAIT_S

LOOP = Path(__file__).parents[2] / "runs" / "loop.sh"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"FIGURE": "accuracy"}, "FIGURE=accuracy: expected one of f_half "),
        ({"ALIGN": "dpo"}, "ALIGN=dpo: expected none, grpo or ppo"),
        ({"SERVER": "http://127.0.0.1:8000"}, "set DIALINT_JUDGE_KEY to its key"),
    ],
)
def test_mistakes_are_one_line(options: dict[str, str], message: str, tmp_path: Path) -> None:
    work = tmp_path / "loop"
    environment = {name: value for name, value in os.environ.items() if name != "DIALINT_JUDGE_KEY"}
    options = environment | options
    run = {"capture_output": True, "text": True, "timeout": WAIT_S, "check": False}
    result = subprocess.run([LOOP, "", work], env=options, **run)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not work.exists()
