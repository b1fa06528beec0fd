"""The loop that teaches a scanner: steps of rows of windows, a schedule, looks, checkpoints, a log.

Everything random follows from the seed and the step's number, so a run that goes on from a checkpoint is
the run that was never stopped: bit for bit on CPU in fp32. Knows targets and a model; what they are made
of stands in `dialint.finetune.scanner.train` and `dialint.finetune.scanner.data`.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import atomic_file, make_output_folder
from dialint.detector.errors import ConfigError
from dialint.finetune.scanner.backbone import load_trainable, trainable_parameters
from dialint.finetune.scanner.data import Target
from dialint.finetune.scanner.evaluate import evaluate
from dialint.finetune.scanner.losses import count_targets, scan_loss
from dialint.finetune.train.checkpoint import find_latest, remove_except, seal
from dialint.finetune.train.estimate import Cost
from dialint.finetune.train.finite import validate_finite, validate_loss
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.optimizer import build_optimizer, set_learning_rates, warmup_cosine
from dialint.finetune.train.progress import Progress
from dialint.finetune.train.shutdown import stop_on_signal

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.scan_model import ScanModel
    from dialint.finetune.scanner.train import ScanConfig

STATE = "state.pt"
LOG_STEPS = 50
CHECKED_OFTEN = 500
"""Windows of each set that are looked at while learning goes on; all at the end."""


@dataclass(frozen=True)
class Lesson:
    """Windows to learn from and to look at, the codes of their columns, and the job that a checkpoint
    belongs to."""

    learn: Sequence[Target]
    check: dict[str, list[Target]]
    codes: list[str]
    job: str


@dataclass
class State:
    """How far a run is, beside its weights. `loss` is a running mean, `best` the best macro average precision
    of ``dev`` so far, `bad` the number of looks since, `seconds` the time of all its processes."""

    step: int = 0
    loss: float = 0.0
    best: float = -math.inf
    best_step: int = 0
    bad: int = 0
    seconds: float = 0.0


@dataclass
class Run:
    """A scanner on its way. `best` holds the best weights where learning may stop early, `found` the last
    look's figures."""

    config: ScanConfig
    model: ScanModel
    lesson: Lesson
    precision: Any
    state: State = field(default_factory=State)
    best: dict[str, torch.Tensor] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows, together = list(_rows(self.config, self.lesson.learn)), self.config.accumulate
        self.steps = [rows[start : start + together] for start in range(0, len(rows), together)]
        weights = trainable_parameters(self.model)
        groups = [
            [weight for name, weight in weights.items() if name.startswith("backbone.") is backbone]
            for backbone in (True, False)
        ]
        device = str(self.model.turn_head.weight.device)
        self.optimizer = build_optimizer(self.config.running.optimizer, groups, device)

    @property
    def ended(self) -> bool:
        """Whether all steps are done, or nothing got better for too long."""
        patience = self.config.patience
        return self.state.step >= len(self.steps) or (patience is not None and self.state.bad >= patience)

    def looked(self, at_most: int | None) -> dict[str, Any]:
        """Figures of the sets that are looked at, and of no more than so many windows of each."""
        model, codes, row_tokens = self.model, self.lesson.codes, self.config.row_tokens
        found = {
            name: evaluate(model, some[:at_most], codes, row_tokens, self.precision)
            for name, some in self.lesson.check.items()
        }
        model.train()
        return found


def teach(run: Run, cost: Cost) -> bool:
    """Teach `run.model` in place from the last checkpoint of its folder; the best weights are in it then, if
    learning may stop early. False: SIGTERM ended it before that, and a checkpoint holds all.

    Losses, the average precision of each code on the sets that are looked at, and how often an error is above
    its twin, go to ``metrics.jsonl``.
    """
    log_bytes, state = _resume(run), run.state
    saved = time.monotonic()
    run.model.train()
    with (
        stop_on_signal() as told,
        MetricsLog(run.config.out, log_bytes) as log,
        Progress(len(run.steps), state.step, cost, state.seconds) as progress,
    ):
        while not run.ended:
            _advance(run, log, progress)
            if told() or _due(run, saved):
                _checkpoint(run, log.size)
                saved = time.monotonic()
            if told():
                return False
        if run.best:
            load_trainable(run.model, run.best)
        run.found = run.looked(None)
        log.write({"step": state.best_step if run.best else state.step, **run.found})
    return True


def _advance(run: Run, log: MetricsLog, progress: Progress) -> None:
    """One step, with all that is written of it."""
    state = run.state
    loss, tokens = learn_step(run, state.step)
    state.step += 1
    state.loss = 0.98 * state.loss + 0.02 * loss if state.step > 1 else loss
    progress.advance(tokens, f"loss {state.loss:.3f}")
    state.seconds = progress.seconds
    if state.step % LOG_STEPS == 0 or state.step == 1:
        told = {"tokens_s": round(progress.tokens_s), "left_s": round(progress.left_s)}
        log.write({"step": state.step, "of": len(run.steps), "loss": state.loss, **told})
    if state.step % run.config.eval_steps == 0:
        found = run.looked(CHECKED_OFTEN)
        log.write({"step": state.step, **found})
        if run.config.patience is not None:
            _compare(run, found)


def _compare(run: Run, found: dict[str, Any]) -> None:
    """Keep the weights if they are the best so far.

    Raises:
        ConfigError: E_EXAMPLE, ``dev`` has no error to be measured by.
    """
    reached = found.get("dev", {}).get("ap", {}).get("macro")
    if reached is None:
        raise ConfigError("E_EXAMPLE", "--patience needs a dev.jsonl with errors in its first windows")
    state = run.state
    state.bad += 1
    if reached > state.best:
        state.best, state.best_step, state.bad = reached, state.step, 0
        run.best = {name: weight.detach().clone() for name, weight in trainable_parameters(run.model).items()}


def learn_step(run: Run, step: int) -> tuple[float, int]:
    """The optimizer's step number `step`: its loss, and the tokens it learnt from.

    Raises:
        ConfigError: E_DIVERGED, the loss or the gradient is no number.
    """
    import torch

    config, model = run.config, run.model
    torch.manual_seed(config.running.seed * 1_000_003 + step)  # dropout of adapters, noise
    rows = [[run.lesson.learn[place] for place in row] for row in run.steps[step]]
    counts = count_targets([target for row in rows for target in row])
    total = 0.0
    for row in rows:
        loss = scan_loss(config, model, row, counts, run.precision == "bf16")
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    validate_loss(step + 1, total, float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
    peaks = (config.learning_rate, config.head_learning_rate)
    set_learning_rates(run.optimizer, peaks, warmup_cosine(step, len(run.steps)))
    run.optimizer.step()
    run.optimizer.zero_grad()
    return total, sum(len(target.window) for row in rows for target in row)


def _rows(config: ScanConfig, learn: Sequence[Target]) -> Iterator[list[int]]:
    """Places of windows for each row, all passes, shuffled anew in each; an error and its twin together."""
    by_pair: dict[str, list[int]] = {}
    for place, target in enumerate(learn):
        by_pair.setdefault(target.pair or f"#{place}", []).append(place)
    windows = int(len(learn) * config.epochs)
    left = math.inf if config.tokens is None else config.tokens
    row: list[int] = []
    room = config.row_tokens
    for epoch in range(math.ceil(config.epochs)):
        groups = list(by_pair.values())
        random.Random(config.running.seed * 1000 + epoch).shuffle(groups)
        for group in groups:
            size = sum(len(learn[place].window) for place in group)
            windows, left = windows - len(group), left - size
            if windows < 0 or left < 0:
                break
            if row and size > room:
                yield row
                row, room = [], config.row_tokens
            row += group
            room -= size
    if row:
        yield row


def _due(run: Run, saved: float) -> bool:
    """Whether it is time for a checkpoint, the last one having been made at `saved`."""
    steps = run.config.running.checkpoint_steps
    if steps is not None:
        return run.state.step % steps == 0
    return time.monotonic() - saved >= 60 * run.config.running.checkpoint_minutes


def _checkpoint(run: Run, log_bytes: int) -> None:
    """All that a run needs to go on, sealed; frozen weights are not in it, the base has them."""
    import torch

    folder = run.config.out / f"checkpoint-{run.state.step}"
    held = {
        "state": asdict(run.state),
        "learnt": {name: weight.detach() for name, weight in trainable_parameters(run.model).items()},
        "best": run.best,
        "optimizer": run.optimizer.state_dict(),
    }
    validate_finite((held["learnt"], held["best"], held["optimizer"]), folder)
    make_output_folder(folder)
    with atomic_file(folder / STATE) as file:
        torch.save(held, file)
    seal(folder, run.lesson.job, log_bytes)
    remove_except(run.config.out, folder)


def _resume(run: Run) -> int:
    """Take up the newest checkpoint of the run's folder; how long the log was then, 0 without one.

    Raises:
        OutputRefused: it was made with other options or examples, or changed since.
    """
    import torch

    found = find_latest(run.config.out, run.lesson.job)
    if found is None:
        return 0
    folder, log_bytes = found
    held = torch.load(folder / STATE, weights_only=True, map_location="cpu")
    load_trainable(run.model, held["learnt"])
    run.optimizer.load_state_dict(held["optimizer"])
    run.state, run.best = State(**held["state"]), held["best"]
    return log_bytes
