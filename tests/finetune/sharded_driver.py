"""One process of several that train with a model cut up among them, on CPUs: accelerate shards on accelerators only,
and is told here that CPUs are some."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType

from dialint.detector.environment import sharding
from dialint.finetune.judge import grpo, reward, sft
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.hf_trainer import TrainingCallback
from dialint.finetune.train.options import RunOptions, ScheduleOptions


def config(stage: str, tiny: Path, dataset: Path, out: Path, rows: int, **more: Any) -> Any:
    """Returns a training with `rows` questions or pairs of each process in a step: of all weights, and longer if
    gradients are compressed."""
    running = RunOptions(threads=1, precision="fp32", device="cpu", checkpoint_steps=1000, **more)
    steps = 4 if running.compress_gradients == "none" else 14
    adapters = AdapterOptions(rank=4) if steps == 4 else AdapterOptions(adapter="none")
    shared: dict[str, Any] = {
        "dataset": dataset, "base": str(tiny), "out": out, "adapters": adapters, "running": running,
    }  # fmt: skip
    learning = ScheduleOptions(steps=steps, eval_steps=3 if steps == 4 else steps)
    if stage == "sft":
        return sft.SftJudgeConfig(
            **shared,
            questions=rows,
            learning_rate=1e-3,
            dev_questions=4,
            dev_answers=int(steps == 4),
            learning=learning,
        )
    if stage == "reward":
        return reward.RewardConfig(
            **shared, pairs=rows, learning_rate=1e-3, dev_pairs=4, held_pairs=4, learning=learning
        )
    sampling: dict[str, Any] = {"questions": rows, "answers": 4, "answer_tokens": 6, "steps": 4}
    return grpo.GrpoConfig(**shared, **sampling, learning_rate=1e-2)


def rewarded(completion_ids: list[list[int]], **_: Any) -> list[float]:
    """A reward that random weights can earn."""
    return [sum(token % 7 for token in ids) / len(ids) for ids in completion_ids]


ENDED = TrainingCallback.on_step_end
RUNS: dict[str, Callable[[Any], Any]] = {"sft": sft.run, "reward": reward.run, "grpo": grpo.run}


def shard_on_cpus() -> None:
    made = AcceleratorState.__init__
    if sharding() == "deepspeed":
        import deepspeed

        deepspeed.comm.torch.build_shm_op = lambda: None  # minutes of C++ for what gloo does
        deepspeed.init_distributed("gloo", auto_mpi_discovery=False)

    def init(self: Any, *args: Any, **more: Any) -> None:
        made(self, *args, **more)
        if self.distributed_type != DistributedType.MULTI_CPU:
            return
        if sharding() == "fsdp":
            self.distributed_type = DistributedType.FSDP
            self.fsdp_plugin = more["fsdp_plugin"]
        else:
            plugin = more["deepspeed_plugin"]
            self.distributed_type = DistributedType.DEEPSPEED
            plugin.set_mixed_precision("no")
            plugin.select(_from_accelerator_state=True)
            self.deepspeed_plugins = {"default": plugin}
        PartialState._shared_state["distributed_type"] = self.distributed_type

    AcceleratorState.__init__ = init


def stop_at(step: int) -> None:
    """SIGTERM for the last process in that step; 0: never."""

    def on_step_end(self: TrainingCallback, args: Any, state: Any, control: Any, **more: Any) -> Any:
        if int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1 and state.global_step == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return ENDED(self, args, state, control, **more)

    TrainingCallback.on_step_end = on_step_end  # type: ignore[method-assign]


def main(tiny: str, dataset: str, out: str, *jobs: str) -> None:
    """Each job is folder:stage:rows:stop:compression."""
    grpo.to_trl_reward = lambda _: rewarded
    if sharding():
        shard_on_cpus()
    for job in jobs:
        name, stage, rows, stop, compress = job.split(":")
        stop_at(int(stop))
        folder = Path(out) / name
        own = config(stage, Path(tiny), Path(dataset), folder, int(rows), compress_gradients=compress)
        try:
            RUNS[stage](own)
        except SystemExit as left:
            print(
                name,
                "stopped",
                left.code,
                sorted(path.name for path in folder.glob("checkpoint-*/*")),
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
