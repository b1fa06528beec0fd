"""The loop that teaches a scanner: rows of windows, a schedule, checkpoints, a log.

Knows targets and a model; what they are made of stands in `finetune.scan` and `finetune.examples`.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detector.artifacts import fingerprint
from detector.errors import OutputRefused
from finetune.examples import Target, examples_id
from finetune.looks import look
from finetune.losses import scan_loss
from finetune.metrics_log import MetricsLog
from finetune.progress import Progress

if TYPE_CHECKING:
    from detector.engines.scan_model import ScanModel
    from finetune.scan import ScanConfig

CHECKPOINT = "checkpoint.pt"
CHECKED_OFTEN = 500
"""Windows of each set that are looked at while learning goes on; all at the end."""


def teach(
    config: ScanConfig,
    model: ScanModel,
    learn: list[Target],
    check: dict[str, list[Target]],
    codes: list[str],
) -> None:
    """Teach `model` in place, from the last checkpoint in `config.out` if there is one.

    Learns the windows of `learn`; every few minutes and at the end the average precision of each code
    on the sets of `check`, and how often an error is above its twin, go to ``metrics.jsonl``.
    """
    import torch

    heads = [p for name, p in model.named_parameters() if not name.startswith("backbone.")]
    optimizer = torch.optim.AdamW(
        [
            {
                "params": [p for p in model.backbone.parameters() if p.requires_grad],
                "lr": config.learning_rate,
            },
            {"params": heads, "lr": config.head_learning_rate},
        ],
        weight_decay=0.01,
        fused=True,
    )
    rows = list(_rows(config, learn))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _warm_then_cosine(len(rows)))
    checkpoint = config.out / CHECKPOINT
    job = _job(config)
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    first, log_bytes = _resume(checkpoint, job, **parts)
    saved, running = time.time(), 0.0

    def looked(at_most: int | None) -> dict[str, Any]:
        return {name: look(model, some[:at_most], codes, config.row_tokens) for name, some in check.items()}

    model.train()
    with MetricsLog(config.out, log_bytes) as log, Progress(len(rows), first) as progress:
        for step in range(first, len(rows)):
            loss = scan_loss(config, model, [learn[place] for place in rows[step]])
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            running = float(loss.detach()) if not running else 0.98 * running + 0.02 * float(loss.detach())
            progress.advance(sum(len(learn[place].window) for place in rows[step]), f"loss {running:.3f}")
            if step % 50 == 0:
                log.write({"step": step, "of": len(rows), "loss": running, "tokens_s": progress.tokens_s})
            if time.time() - saved > 60 * config.checkpoint_minutes:
                saved = time.time()
                _checkpoint(checkpoint, job, step + 1, log.size, **parts)
                log.write({"step": step, **looked(CHECKED_OFTEN)})
                model.train()
        log.write({"step": len(rows), **looked(None)})


def _rows(config: ScanConfig, learn: Sequence[Target]) -> Iterator[list[int]]:
    """Places of windows for each step, all passes, shuffled anew in each; an error and its twin together."""
    by_pair: dict[str, list[int]] = {}
    for place, target in enumerate(learn):
        by_pair.setdefault(target.pair or f"#{place}", []).append(place)
    windows = int(len(learn) * config.epochs)
    left = math.inf if config.tokens is None else config.tokens
    row: list[int] = []
    room = config.row_tokens
    for epoch in range(math.ceil(config.epochs)):
        groups = list(by_pair.values())
        random.Random(config.seed * 1000 + epoch).shuffle(groups)
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


def _warm_then_cosine(steps: int) -> Any:
    warm = max(1, min(200, steps // 20))

    def rate(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))

    return rate


def _job(config: ScanConfig) -> str:
    """What a checkpoint belongs to: every option that changes a weight, and the examples."""
    told = {
        key: str(value) for key, value in vars(config).items() if key not in ("out", "checkpoint_minutes")
    }
    return fingerprint([told, examples_id(config.examples)])


def _checkpoint(path: Path, job: str, step: int, log_bytes: int, **parts: Any) -> None:
    """The state of all `parts` after `step` steps, and how long the log was."""
    import torch

    temporary = path.with_suffix(".tmp")
    states = {name: part.state_dict() for name, part in parts.items()}
    torch.save({"job": job, "step": step, "log_bytes": log_bytes, **states}, temporary)
    temporary.replace(path)


def _resume(path: Path, job: str, **parts: Any) -> tuple[int, int]:
    """Brings `parts` back to the checkpoint: its step, and the bytes of the log so far; zeros without one.

    Raises:
        OutputRefused: the checkpoint was made with other options or examples.
    """
    import torch

    if not path.exists():
        return 0, 0
    state = torch.load(path, weights_only=True)
    if state["job"] != job:
        raise OutputRefused(
            "E_OTHER_JOB", f"{path}: made with other options or examples; remove it to start anew"
        )
    for name, part in parts.items():
        part.load_state_dict(state[name])
    return int(state["step"]), int(state["log_bytes"])
