"""The training steps of distillation: rows of dialogues, the teacher's scores on them, labelled examples
beside.

Everything random follows from the seed and the step's number.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from dialint.detector.errors import ConfigError
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.render import Rendered
from dialint.finetune.scanner.data import Target, pack_rows
from dialint.finetune.scanner.losses import mean_loss, scan_loss, soft_loss, soft_targets
from dialint.finetune.scanner.options import DistillConfig
from dialint.finetune.scanner.teachers import DistillData, Teacher
from dialint.finetune.scanner.trained import TrainedScanner
from dialint.finetune.train.loop import (
    StepOutput,
    TrainingLoop,
    build_optimizer,
    optimizer_step,
    warmup_cosine,
)

LOG_STEPS = 10


@dataclass
class DistillTrainer:
    """A student and its teacher with the data of the training; `render` makes the student's windows."""

    config: DistillConfig
    student: TrainedScanner
    teacher: Teacher
    render: Callable[[Dialogue], Sequence[Rendered]]
    precision: str
    data: DistillData
    labelled: Sequence[Target]
    job: str

    def __post_init__(self) -> None:
        config = self.config
        self.steps = self._plan_steps()
        if not self.steps:
            raise ConfigError("E_OPTION", "--tokens or --epochs leaves nothing to learn from")
        order = list(range(len(self.labelled)))
        random.Random(config.running.seed).shuffle(order)
        rows = pack_rows(order, [len(target.window) for target in self.labelled], config.row_tokens)
        self.labelled_rows = [[self.labelled[index] for index in row] for row in rows]
        self.parameters = dict(self.student.model.named_parameters())
        heads = [weight for name, weight in self.parameters.items() if not name.startswith("backbone.")]
        groups = (list(self.student.model.backbone.parameters()), heads)
        self.optimizer = build_optimizer(config.running.optimizer, groups, heads[0].device.type)

    def build_loop(self) -> TrainingLoop:
        """The run in the folder of the config, with the loss on held-out dialogues at its end."""
        return TrainingLoop(
            out=self.config.out,
            job=self.job,
            n_steps=len(self.steps),
            train_step=self.train_step,
            parameters=self.parameters,
            optimizer=self.optimizer,
            final_evaluate=self.evaluate,
            log_steps=LOG_STEPS,
            running=self.config.running,
        )

    def train_step(self, step: int) -> StepOutput:
        """The optimizer's step number `step`."""
        self.student.model.train()
        loss = self.loss(step)
        loss.backward()  # type: ignore[no-untyped-call]
        value, share = float(loss.detach()), warmup_cosine(step, len(self.steps))
        peaks = (self.config.learning_rate, self.config.head_learning_rate)
        optimizer_step(self.optimizer, self.parameters.values(), value, peaks, share, step)
        return StepOutput(sum(self.data.sizes[index] for _, index in self.steps[step]), value)

    def _plan_steps(self) -> list[list[tuple[int, int]]]:
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

    def loss(self, step: int) -> torch.Tensor:
        """The loss of one step: on the teacher's scores of its dialogues, and on labelled windows."""
        config, model = self.config, self.student.model
        targets = self.targets(
            self._truncate(epoch, self.data.dialogues[index]) for epoch, index in self.steps[step]
        )
        loss = soft_loss(model, targets, self.precision, config.temperature, config.span_weight)
        if self.labelled_rows:
            labelled = self.labelled_rows[step % len(self.labelled_rows)]
            bf16 = self.precision == "bf16"
            loss = loss + config.label_weight * scan_loss(model, labelled, config.span_weight, bf16=bf16)
        return loss

    def targets(self, dialogues: Iterable[Dialogue]) -> list[Target]:
        """The windows of dialogues, with the teacher's scores as targets."""
        batch, n_codes = list(dialogues), len(self.student.codes)
        return [
            target
            for dialogue, turns in zip(batch, self.teacher.score(batch), strict=True)
            for target in soft_targets(self.render(dialogue), turns, n_codes, self.config.temperature)
        ]

    def evaluate(self) -> dict[str, float]:
        """The loss on dialogues that are not trained on."""
        config = self.config
        targets = self.targets(self.data.heldout)
        loss = mean_loss(
            self.student.model,
            targets,
            self.precision,
            config.row_tokens,
            config.temperature,
            config.span_weight,
        )
        return {"heldout_loss": loss}

    def _truncate(self, epoch: int, dialogue: Dialogue) -> Dialogue:
        """The dialogue, or with probability `prefix_share` its turns up to one of the agent's."""
        rng = random.Random(f"{self.config.running.seed}/{epoch}/{dialogue.id}")
        judged = [turn.index for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
        if not judged or rng.random() >= self.config.prefix_share:
            return dialogue
        last = rng.choice(judged)
        turns = tuple(turn for turn in dialogue.turns if turn.index <= last)
        return dialogue.model_copy(update={"turns": turns})
