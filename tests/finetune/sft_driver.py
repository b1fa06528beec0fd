"""One process of several that teach a judge: terminated after two steps, then going on to the end."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from dialint.finetune.judge.sft import SftJudgeConfig, run
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.hf_trainer import TrainingCallback
from dialint.finetune.train.options import RunOptions, ScheduleOptions

STOPS_AT = 2


def config(tiny: Path, dataset: Path, out: Path, questions: int) -> SftJudgeConfig:
    """What the processes run with `questions` each, and one process with all of them."""
    return SftJudgeConfig(
        dataset=dataset, base=str(tiny), out=out, questions=questions, learning_rate=1e-3,
        dev_questions=4, dev_answers=0, learning=ScheduleOptions(steps=4, eval_steps=3),
        adapters=AdapterOptions(rank=4),
        running=RunOptions(threads=1, precision="fp32", device="cpu", checkpoint_minutes=60),
    )  # fmt: skip


def terminated_once() -> None:
    """The second process gets SIGTERM in its second step, the first one none."""
    ended = TrainingCallback.on_step_end

    def on_step_end(self: TrainingCallback, args: Any, state: Any, control: Any, **more: Any) -> Any:
        if os.environ["RANK"] == "1" and state.global_step == STOPS_AT:
            os.kill(os.getpid(), signal.SIGTERM)
        return ended(self, args, state, control, **more)

    TrainingCallback.on_step_end = on_step_end  # type: ignore[method-assign]


def main(tiny: str, dataset: str, out: str) -> None:
    """Stop, say how far it came, go on."""
    own = config(Path(tiny), Path(dataset), Path(out), questions=1)
    terminated_once()
    try:
        run(own)
    except SystemExit as left:
        assert left.code == 0
        print("stopped", sorted(path.name for path in Path(out).glob("checkpoint-*")), flush=True)
    manifest = run(own)
    print("manifest", sorted(manifest), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
