"""Training steps of distillation: rows of dialogues, the teacher's scores on them, labelled examples beside.

Everything random follows from the seed and the step's number. The teacher scores a row anew in each step: its
scores of a whole corpus would fill the memory.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.finetune.compression.data import DistillData
from dialint.finetune.compression.options import DistillConfig
from dialint.finetune.compression.soft_targets import mean_loss, pack_rows, soft_loss, soft_targets
from dialint.finetune.compression.teachers import Teacher
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.losses import scan_loss
from dialint.finetune.scanner.trained import TrainedScanner
from dialint.finetune.train.estimate import Cost
from dialint.finetune.train.loop import StepOutput, TrainingLoop, optimizer_step
from dialint.finetune.train.optimizer import build_optimizer, warmup_cosine

if TYPE_CHECKING:
    import torch

    from dialint.detector.render import Renderer

LOG_STEPS = 10


@dataclass(frozen=True)
class DistillTrainer:
    """A student and its teacher with the data of the training."""

    config: DistillConfig
    student: TrainedScanner
    teacher: Teacher
    renderer: Renderer
    precision: str
    data: DistillData
    job: str

    def build_loop(self, cost: Cost) -> TrainingLoop:
        """The run in the folder of the config, with the loss on held-out dialogues at its end."""
        config, model, data, steps = self.config, self.student.model, self.data, self.plan_steps()
        parameters = dict(model.named_parameters())
        heads = [weight for name, weight in parameters.items() if not name.startswith("backbone.")]
        groups = (list(model.backbone.parameters()), heads)
        optimizer = build_optimizer(config.running.optimizer, groups, heads[0].device.type)
        peaks = (config.learning_rate, config.head_learning_rate)
        labelled = labelled_rows(data.labelled, config.running.seed, config.row_tokens)

        def train_step(step: int) -> StepOutput:
            model.train()
            loss = self.loss(steps[step], labelled[step % len(labelled)] if labelled else ())
            loss.backward()  # type: ignore[no-untyped-call]
            value, share = float(loss.detach()), warmup_cosine(step, len(steps))
            optimizer_step(optimizer, parameters.values(), value, peaks, share, step)
            return StepOutput(sum(data.sizes[index] for _, index in steps[step]), value)

        return TrainingLoop(
            out=config.out,
            job=self.job,
            n_steps=len(steps),
            train_step=train_step,
            parameters=parameters,
            optimizer=optimizer,
            final_evaluate=self.evaluate,
            log_steps=LOG_STEPS,
            checkpoint_steps=config.running.checkpoint_steps,
            checkpoint_minutes=config.running.checkpoint_minutes,
            cost=cost,
        )

    def plan_steps(self) -> list[list[tuple[int, int]]]:
        """Epoch and index of the dialogues of each step."""
        config, sizes = self.config, self.data.sizes
        rows: list[list[tuple[int, int]]] = []
        left = math.inf if config.tokens is None else config.tokens
        dialogues = int(len(sizes) * config.epochs)
        for epoch in range(math.ceil(config.epochs)):
            order = list(range(len(sizes)))
            random.Random(f"{config.running.seed}/{epoch}").shuffle(order)
            order = order[: dialogues - epoch * len(sizes)]
            for row in pack_rows(order, sizes, config.row_tokens):
                left -= sum(sizes[index] for index in row)
                if left < 0:
                    return rows
                rows.append([(epoch, index) for index in row])
        return rows

    def targets(self, dialogues: Iterable[tuple[Dialogue, bool]]) -> list[Target]:
        """The windows of dialogues, each with whether it has ended, with the teacher's scores as targets."""
        batch = list(dialogues)
        scores = self.teacher.score([dialogue for dialogue, _ in batch])
        at_end = np.array([code in self.student.dialogue_codes for code in self.student.codes])
        return [
            target
            for (dialogue, ended), turns in zip(batch, scores, strict=True)
            for target in soft_targets(
                self.renderer.render(dialogue), turns, at_end, self.config.temperature, ended=ended
            )
        ]

    def loss(self, row: Sequence[tuple[int, int]], labelled: Sequence[Target]) -> torch.Tensor:
        """The loss of one step: on the teacher's scores of the dialogues `row`, and on labelled windows."""
        config, model = self.config, self.student.model
        targets = self.targets(self._truncate(epoch, self.data.dialogues[index]) for epoch, index in row)
        loss = soft_loss(model, targets, self.precision, config.temperature, config.span_weight)
        if labelled:
            bf16 = self.precision == "bf16"
            loss = loss + config.label_weight * scan_loss(config.scan_config, model, labelled, bf16=bf16)
        return loss

    def evaluate(self) -> dict[str, float | None]:
        """The loss on dialogues that are not trained on."""
        if not self.data.heldout:
            return {"heldout_loss": None}
        config = self.config
        targets = self.targets((dialogue, True) for dialogue in self.data.heldout)
        loss = mean_loss(
            self.student.model,
            targets,
            self.precision,
            config.row_tokens,
            config.temperature,
            config.span_weight,
        )
        return {"heldout_loss": loss}

    def _truncate(self, epoch: int, dialogue: Dialogue) -> tuple[Dialogue, bool]:
        """The dialogue, or with probability `prefix_share` its turns up to one of the agent's; and whether it
        is whole."""
        rng = random.Random(f"{self.config.running.seed}/{epoch}/{dialogue.id}")
        if rng.random() >= self.config.prefix_share:
            return dialogue, True
        judged = [turn.index for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
        last = rng.choice(judged)
        turns = tuple(turn for turn in dialogue.turns if turn.index <= last)
        return dialogue.model_copy(update={"turns": turns}), False


def labelled_rows(labelled: Sequence[Target], seed: int, row_tokens: int) -> list[list[Target]]:
    """The labelled windows in steps, shuffled, an error and its twin together."""
    by_pair: dict[str, list[Target]] = {}
    for index, target in enumerate(labelled):
        by_pair.setdefault(target.pair or f"#{index}", []).append(target)
    groups = list(by_pair.values())
    random.Random(seed).shuffle(groups)
    sizes = [sum(len(target.window) for target in group) for group in groups]
    rows = pack_rows(range(len(groups)), sizes, row_tokens)
    return [[target for index in row for target in groups[index]] for row in rows]
