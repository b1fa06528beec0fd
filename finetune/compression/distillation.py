"""The loop of distillation: rows of dialogues, the teacher's word on them, steps, checkpoints.

Everything random follows from the seed and the step's number, so a run that goes on from a checkpoint is the
run that was never stopped: bit for bit on CPU in fp32. The teacher is asked anew in each step: what it says
of a corpus would fill the memory.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.finetune.compression.data import DistillData
from dialint.finetune.compression.soft_targets import mean_loss, soft_loss, soft_targets
from dialint.finetune.compression.states import resume, save
from dialint.finetune.compression.teachers import Teacher
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.trained import TrainedScanner
from dialint.finetune.train.estimate import estimate_cost
from dialint.finetune.train.finite import validate_loss
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.optimizer import build_optimizer, set_learning_rates, warmup_cosine
from dialint.finetune.train.progress import Progress
from dialint.finetune.train.shutdown import stop_on_signal

if TYPE_CHECKING:
    import torch

    from dialint.detector.render import Renderer
    from dialint.finetune.compression.distill import DistillConfig

LOG_STEPS = 10


@dataclass(frozen=True)
class Distillation:
    """A student on its way."""

    config: DistillConfig
    student: TrainedScanner
    teacher: Teacher
    renderer: Renderer
    precision: str
    lesson: DistillData
    job: str

    def steps(self) -> list[list[tuple[int, int]]]:
        """Pass and place of the dialogues of each step."""
        config, sizes = self.config, self.lesson.sizes
        rows: list[list[tuple[int, int]]] = []
        left = math.inf if config.tokens is None else config.tokens
        dialogues = int(len(sizes) * config.epochs)
        for epoch in range(math.ceil(config.epochs)):
            order = list(range(len(sizes)))
            random.Random(f"{config.running.seed}/{epoch}").shuffle(order)
            order = order[: dialogues - epoch * len(sizes)]
            for row in packed(order, sizes, config.row_tokens):
                left -= sum(sizes[place] for place in row)
                if left < 0:
                    return rows
                rows.append([(epoch, place) for place in row])
        return rows

    def targets(self, dialogues: Iterable[tuple[Dialogue, bool]]) -> list[Target]:
        """The windows of dialogues, each with whether it has ended, with what the teacher says of them."""
        asked = list(dialogues)
        said = self.teacher.says([dialogue for dialogue, _ in asked])
        at_end = np.array([code in self.student.dialogue_codes for code in self.student.codes])
        return [
            target
            for (dialogue, ended), turns in zip(asked, said, strict=True)
            for target in soft_targets(
                self.renderer.render(dialogue), turns, at_end, self.config.temperature, ended=ended
            )
        ]

    def loss(self, row: Sequence[tuple[int, int]], labelled: Sequence[Target]) -> torch.Tensor:
        """What one step learns from: the teacher's word, and the labels where there are any."""
        config, model = self.config, self.student.model
        batch = self.targets(self._cut(epoch, self.lesson.dialogues[place]) for epoch, place in row)
        loss = soft_loss(model, batch, self.precision, config.temperature, config.span_weight)
        if labelled:
            from dialint.finetune.scanner.losses import scan_loss

            low = self.precision == "bf16"
            loss = loss + config.label_weight * scan_loss(config.labels(), model, labelled, low=low)
        return loss

    def _cut(self, epoch: int, dialogue: Dialogue) -> tuple[Dialogue, bool]:
        """The dialogue, or now and then how it stood after an agent's turn; and whether it is whole."""
        chance = random.Random(f"{self.config.running.seed}/{epoch}/{dialogue.id}")
        if chance.random() >= self.config.prefix_share:
            return dialogue, True
        judged = [turn.index for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
        last = chance.choice(judged)
        turns = tuple(turn for turn in dialogue.turns if turn.index <= last)
        return dialogue.model_copy(update={"turns": turns}), False


def packed(order: Sequence[int], sizes: Sequence[int], room: int) -> Iterator[list[int]]:
    """The places in order, as many together as `room` holds; one at least."""
    row: list[int] = []
    left = room
    for place in order:
        if row and sizes[place] > left:
            yield row
            row, left = [], room
        row.append(place)
        left -= sizes[place]
    if row:
        yield row


def labelled_rows(labelled: Sequence[Target], seed: int, row_tokens: int) -> list[list[Target]]:
    """The labelled windows in steps, shuffled, an error and its twin together."""
    by_pair: dict[str, list[Target]] = {}
    for place, target in enumerate(labelled):
        by_pair.setdefault(target.pair or f"#{place}", []).append(target)
    groups = list(by_pair.values())
    random.Random(seed).shuffle(groups)
    sizes = [sum(len(target.window) for target in group) for group in groups]
    rows = packed(range(len(groups)), sizes, row_tokens)
    return [[target for place in row for target in groups[place]] for row in rows]


def distill_steps(run: Distillation) -> dict[str, Any] | None:
    """Teach the student from its last checkpoint to the end: its figures, or None if a signal stopped it.

    Raises:
        ConfigError: E_DIVERGED, the loss or the gradient is no number.
    """
    import torch

    config, model = run.config, run.student.model
    steps = run.steps()
    backbone = list(model.backbone.parameters())
    heads = [weight for name, weight in model.named_parameters() if not name.startswith("backbone.")]
    device = backbone[0].device.type
    optimizer = build_optimizer(config.running.optimizer, (backbone, heads), device)
    peaks = (config.learning_rate, config.head_learning_rate)
    parts = {"model": model, "optimizer": optimizer}
    first, log_bytes = resume(config.out, run.job, parts)
    labelled = labelled_rows(run.lesson.labelled, config.running.seed, config.row_tokens)
    saved = time.monotonic()
    cost_of_it = estimate_cost(config.running, device)
    with (
        stop_on_signal() as told,
        MetricsLog(config.out, log_bytes) as log,
        Progress(len(steps), first, cost_of_it) as progress,
    ):
        for step in range(first, len(steps)):
            model.train()
            loss = run.loss(steps[step], labelled[step % len(labelled)] if labelled else ())
            cost = float(loss.detach())
            loss.backward()  # type: ignore[no-untyped-call]
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
            validate_loss(step + 1, cost, norm)
            set_learning_rates(optimizer, peaks, warmup_cosine(step, len(steps)))
            optimizer.step()
            optimizer.zero_grad()
            size = sum(run.lesson.sizes[place] for _, place in steps[step])
            progress.advance(size, f"loss {cost:.3f}")
            if step % LOG_STEPS == 0:
                log.write({"step": step, "of": len(steps), "loss": cost, "tokens_s": progress.tokens_s})
            if told() or _due(config, step + 1, saved):
                saved = time.monotonic()
                save(config.out, run.job, step + 1, log.size, parts)
            if told() and step + 1 < len(steps):
                return None
        figures = {"heldout_loss": _heldout(run), "cost": cost_of_it.figures(progress.seconds)}
        log.write({"step": len(steps), **figures})
    return figures


def _heldout(run: Distillation) -> float | None:
    """The loss on dialogues that are not learnt."""
    if not run.lesson.heldout:
        return None
    targets = run.targets((dialogue, True) for dialogue in run.lesson.heldout)
    config = run.config
    return mean_loss(
        run.student.model, targets, run.precision, config.row_tokens, config.temperature, config.span_weight
    )


def _due(config: DistillConfig, step: int, saved: float) -> bool:
    if config.running.checkpoint_steps is not None:
        return step % config.running.checkpoint_steps == 0
    return time.monotonic() - saved > 60 * config.running.checkpoint_minutes
