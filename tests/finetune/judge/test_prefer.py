"""DPO and KTO: the preferred answer becomes more probable against the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.questions import Asking
from finetune.judge.prefer import PreferConfig, run
from finetune.training.options import Adapters, Running


@pytest.mark.parametrize("method", ["dpo", "kto"])
def test_what_is_preferred_becomes_more_probable(
    tiny: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setenv("DIALINT_MIRRORS", "0")
    config = PreferConfig(
        dataset=dataset,
        model=str(tiny),
        out=tmp_path,
        method=method,  # type: ignore[arg-type]
        steps=10,
        pairs=4,
        learning_rate=1e-2,
        asking=Asking(random_questions=0),
        adapters=Adapters(rank=4),
        running=Running(threads=1, precision="fp32", device="cpu"),
    )
    manifest = run(config)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    margins = [row["rewards/margins"] for row in rows if "rewards/margins" in row]
    assert abs(margins[0]) < 0.05  # nothing learnt, nothing preferred
    assert sum(margins[-3:]) / 3 > 0.1
    assert manifest["kind"] == "judge"
