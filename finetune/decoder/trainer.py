"""The loop that pre-trains: steps, schedule, early stopping, and checkpoints that lose nothing.

Everything random follows from the seed and the step's number, so a run that goes on from a checkpoint
is the run that was never stopped: bit for bit on CPU in fp32.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import atomic_file, remove_orphans
from dialint.finetune.decoder.model import AttentionMode, token_losses
from dialint.finetune.decoder.packing import Batch, build_batch, plan_rows
from dialint.finetune.decoder.perplexity import evaluate_perplexity, sum_costs
from dialint.finetune.decoder.writing import Piece
from dialint.finetune.train.checkpoint import job_mismatch
from dialint.finetune.train.finite import validate_finite, validate_loss
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.progress import Progress

if TYPE_CHECKING:
    import torch

CHECKPOINT = "checkpoint.pt"
BEST = "best.pt"
LOG_STEPS = 20


@dataclass(frozen=True)
class Setting:
    """What the loop needs to know; every field but `job` and `checkpoint_s` changes weights."""

    job: str
    seed: int
    epochs: float
    row_tokens: int
    rows: int
    accumulate: int
    rate: float
    weight_decay: float
    warm_up: float
    eval_steps: int
    patience: int
    precision: str
    way: AttentionMode
    device: str
    checkpoint_s: float

    def losses(self, model: Any, batch: Batch) -> torch.Tensor:
        """Each token's loss, on CPU in fp32, in the precision of the run."""
        import torch

        moved = Batch(*(part.to(self.device) for part in vars(batch).values()))
        low = self.precision == "bf16"
        with torch.autocast(self.device.split(":")[0], torch.bfloat16) if low else nullcontext():
            losses = token_losses(model, moved, self.way)
        return losses.float().cpu()


@dataclass
class State:
    """How far a run is, beside its weights. `bad` counts evaluations since the best one."""

    step: int = 0
    best_step: int = -1
    best_loss: float = math.inf
    bad: int = 0
    log_bytes: int = 0
    tokens: int = 0


@dataclass
class Run:
    """A model on its way. `forward` is the model or its compiled twin."""

    setting: Setting
    folder: Path
    model: Any
    forward: Any
    learn: Sequence[Piece]
    check: Sequence[Piece]
    state: State = field(default_factory=State)

    def __post_init__(self) -> None:
        s = self.setting
        self.rows = plan_rows([len(piece.ids) for piece in self.learn], s.seed, s.epochs, s.row_tokens)
        self.steps = math.ceil(len(self.rows) / (s.rows * s.accumulate))
        self.optimizer = _optimizer(self.model, s)


def pretrain_steps(run: Run, told: Callable[[str], None]) -> State:
    """Train `run.model` from its last checkpoint to the end or until it stops getting better; the model
    has its best weights then."""
    _resume(run)
    state, setting = run.state, run.setting
    if state.step:
        told(f"goes on at step {state.step} of {run.steps}")
    saved = time.monotonic()
    with MetricsLog(run.folder, state.log_bytes) as log, Progress(run.steps, state.step) as progress:
        running = 0.0
        while state.step < run.steps and state.bad < setting.patience:
            loss, tokens = _step(run, state.step)
            running = 0.95 * running + 0.05 * loss if running else loss
            state.step += 1
            state.tokens += tokens
            progress.advance(tokens, f"loss {running:.3f}")
            if state.step % LOG_STEPS == 0 or state.step == 1:
                log.write(_entry(run, running, progress))
            if state.step % setting.eval_steps == 0 or state.step == run.steps:
                _evaluate(run, log, told)
            if time.monotonic() - saved >= setting.checkpoint_s:
                saved = time.monotonic()
                state.log_bytes = log.size
                _checkpoint(run)
    _load_best(run)
    return state


def _step(run: Run, step: int) -> tuple[float, int]:
    """One optimizer step: its mean loss, and the tokens it learnt from. The mean is taken over all wanted
    tokens of the step, however many batches they come in.

    Raises:
        ConfigError: E_DIVERGED, the loss or the gradient is no number.
    """
    import torch

    setting = run.setting
    torch.manual_seed(setting.seed * 1_000_003 + step)  # dropout of base models
    per_step = setting.rows * setting.accumulate
    rows = run.rows[step * per_step : (step + 1) * per_step]
    batches = [
        build_batch(run.learn, rows[start : start + setting.rows], setting.rows, setting.row_tokens)
        for start in range(0, len(rows), setting.rows)
    ]
    wanted = sum(batch.n_wanted for batch in batches)
    total = 0.0
    for batch in batches:
        loss = setting.losses(run.forward, batch).sum() / wanted
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    validate_loss(step + 1, total, float(torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)))
    for group in run.optimizer.param_groups:
        group["lr"] = setting.rate * warm_then_cosine(step, run.steps, setting.warm_up)
    run.optimizer.step()
    run.optimizer.zero_grad(set_to_none=True)
    return total, wanted


def warm_then_cosine(step: int, steps: int, warm_up: float) -> float:
    """The rate's share of its peak: a line up over the share `warm_up` of all steps, then half a cosine
    down to a tenth."""
    warm = max(1, round(warm_up * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def _optimizer(model: Any, setting: Setting) -> torch.optim.AdamW:
    """Decay for matrices, embeddings among them; none for norms and biases."""
    import torch

    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": setting.weight_decay}]
    if others:
        groups.append({"params": others, "weight_decay": 0.0})
    return torch.optim.AdamW(groups, lr=setting.rate, betas=(0.9, 0.95), fused=True)


def _entry(run: Run, loss: float, progress: Progress) -> dict[str, Any]:
    return {
        "step": run.state.step,
        "of": run.steps,
        "loss": round(loss, 4) if math.isfinite(loss) else None,
        "rate": run.optimizer.param_groups[0]["lr"],
        "tokens": run.state.tokens,
        "tokens_s": round(progress.tokens_s),
        "left_s": round(progress.left_s),
    }


def _evaluate(run: Run, log: MetricsLog, told: Callable[[str], None]) -> None:
    """Held-out figures; keeps the weights if they are the best so far.

    Raises:
        ConfigError: E_DIVERGED, the held-out loss is no number.
    """
    state = run.state
    costs = evaluate_perplexity(run.forward, run.check, run.setting)
    total = sum_costs(costs)
    validate_loss(state.step, total.per_token)
    if total.per_token < state.best_loss:
        state.best_step, state.best_loss, state.bad = state.step, total.per_token, 0
        with atomic_file(run.folder / BEST) as file:
            _save(run.model.state_dict(), file)
    else:
        state.bad += 1
    by_source = {source: cost.figures() for source, cost in sorted(costs.items())}
    log.write({"step": state.step, "heldout": {"all": total.figures(), **by_source}})
    shown = total.figures()
    told(
        f"step {state.step}: held-out perplexity {shown['perplexity']}, {shown['bits_per_byte']} bits a byte"
    )


def _checkpoint(run: Run) -> None:
    with atomic_file(run.folder / CHECKPOINT) as file:
        _save(
            {
                "job": run.setting.job,
                "state": vars(run.state),
                "model": run.model.state_dict(),
                "optimizer": run.optimizer.state_dict(),
            },
            file,
        )


def _resume(run: Run) -> None:
    """Take up the folder's checkpoint, if there is one.

    Raises:
        OutputRefused: it was made with other options, another corpus or another base.
    """
    import torch

    path = run.folder / CHECKPOINT
    for name in (CHECKPOINT, BEST):
        remove_orphans(run.folder / name)
    if not path.exists():
        return
    found = torch.load(path, weights_only=True, map_location="cpu")
    if found["job"] != run.setting.job:
        raise job_mismatch(path, found["job"], run.setting.job)
    run.model.load_state_dict(found["model"])
    run.optimizer.load_state_dict(found["optimizer"])
    run.state = State(**found["state"])


def _load_best(run: Run) -> None:
    """Take up the best weights: the last step at the latest was looked at."""
    import torch

    run.model.load_state_dict(torch.load(run.folder / BEST, weights_only=True, map_location="cpu"))


def _save(value: Any, file: Any) -> None:
    import torch

    validate_finite(value, CHECKPOINT)
    torch.save(value, file)
