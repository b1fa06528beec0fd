"""The loop that teaches a scanner: rows of windows, a loss, a schedule, checkpoints, dev figures.

Knows targets and a model; what they are made of stands in `finetune.scan` and `finetune.examples`.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from detector.artifacts import fingerprint
from detector.errors import OutputRefused
from eval.metrics import average_precision
from finetune.examples import Target

if TYPE_CHECKING:
    import torch

    from detector.engines.scan_model import ScanModel
    from finetune.scan import ScanConfig

CHECKPOINT = "checkpoint.pt"


def teach(
    config: ScanConfig, model: ScanModel, learn: list[Target], check: list[Target], codes: list[str]
) -> None:
    """Teach `model` in place, from the last checkpoint in `config.out` if there is one.

    Learns the windows of `learn`; every few minutes and at the end the average precision of each code
    on `check` goes to ``metrics.jsonl``.
    """
    import torch

    heads = [p for name, p in model.named_parameters() if not name.startswith("backbone.")]
    optimizer = torch.optim.AdamW(
        [
            {"params": list(model.backbone.parameters()), "lr": config.learning_rate},
            {"params": heads, "lr": config.head_learning_rate},
        ],
        weight_decay=0.01,
        fused=True,
    )
    rows = list(_rows(config, learn))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _warm_then_cosine(len(rows)))
    checkpoint = config.out / CHECKPOINT
    job = _job(config)
    first = _resume(checkpoint, job, model, optimizer, schedule)
    started = saved = time.time()
    tokens, running = 0, 0.0
    model.train()
    for step in range(first, len(rows)):
        loss = _loss(config, model, [learn[place] for place in rows[step]])
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        tokens += sum(len(learn[place].window) for place in rows[step])
        running = float(loss.detach()) if not running else 0.98 * running + 0.02 * float(loss.detach())
        if step % 50 == 0:
            speed = tokens / (time.time() - started)
            left = (len(rows) - step) * (time.time() - started) / (step + 1 - first)
            _log(config, {"step": step, "of": len(rows), "loss": running, "tokens_s": speed, "left_s": left})
        if time.time() - saved > 60 * config.checkpoint_minutes:
            saved = time.time()
            _checkpoint(checkpoint, job, step + 1, model, optimizer, schedule)
            _log(config, {"step": step, "dev": _dev(config, model, check[:400], codes)})
            model.train()
    _log(config, {"step": len(rows), "dev": _dev(config, model, check, codes)})


def _rows(config: ScanConfig, learn: Sequence[Target]) -> Iterator[list[int]]:
    """Places of windows for each step, all passes, shuffled anew in each."""
    total = int(len(learn) * config.epochs)
    order: list[int] = []
    for epoch in range(math.ceil(config.epochs)):
        places = list(range(len(learn)))
        random.Random(config.seed * 1000 + epoch).shuffle(places)
        order.extend(places)
    row: list[int] = []
    room = config.row_tokens
    for place in order[:total]:
        if row and len(learn[place].window) > room:
            yield row
            row, room = [], config.row_tokens
        row.append(place)
        room -= len(learn[place].window)
    if row:
        yield row


def _loss(config: ScanConfig, model: ScanModel, batch: Sequence[Target]) -> torch.Tensor:
    """Mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

    from detector.engines import packed
    from detector.engines.local import head_places

    windows = [target.window for target in batch]
    row = packed.pack([window.ids for window in windows], 0)
    places = head_places(windows, row)
    with torch.autocast("cpu", torch.bfloat16):
        states = model.hidden(row)
    states = states.float()

    def part(head: torch.nn.Linear, where: list[int], wanted: list[np.ndarray]) -> torch.Tensor:
        if not where:
            return states.new_zeros(())
        truth = torch.from_numpy(np.concatenate(wanted))
        return cross_entropy(head(states[where]), truth, reduction="sum") / len(where)

    ends = [target.dialogue[None] for target in batch if target.dialogue is not None]
    kept = [
        place
        for place, target in zip(places.ends, _with_end(batch), strict=True)
        if target.dialogue is not None
    ]
    return (
        part(model.turn_head, places.slots, [target.turns for target in batch])
        + part(model.dialogue_head, kept, ends)
        + config.span_weight * part(model.span_head, places.tokens, [target.spans for target in batch])
    )


def _with_end(batch: Sequence[Target]) -> list[Target]:
    return [target for target in batch if target.window.dialogue_slot is not None]


def _dev(config: ScanConfig, model: ScanModel, check: Sequence[Target], codes: list[str]) -> dict[str, float]:
    """Average precision of each code on the dev windows."""
    from detector.engines.local import LocalEngine

    engine = LocalEngine(model, row_tokens=config.row_tokens)
    results = engine.scan([target.window for target in check])
    model.requires_grad_(True)
    scores = np.concatenate([result.slots for result in results])
    truth = np.concatenate([target.turns for target in check]) > 0.5
    ends = [(r.dialogue, t.dialogue) for r, t in zip(results, check, strict=True) if t.dialogue is not None]
    found = {}
    for column, code in enumerate(codes):
        if truth[:, column].any():
            found[code] = round(average_precision(truth[:, column], scores[:, column]), 3)
        elif any(wanted[column] > 0.5 for _, wanted in ends):
            end_truth = np.array([wanted[column] > 0.5 for _, wanted in ends])
            end_scores = np.array([given[column] for given, _ in ends if given is not None])
            found[code] = round(average_precision(end_truth, end_scores), 3)
    return {"macro": round(float(np.mean(list(found.values()))), 3), **found} if found else {}


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
    return fingerprint([told, json.loads((config.examples / "manifest.json").read_text())])


def _checkpoint(path: Path, job: str, step: int, model: Any, optimizer: Any, schedule: Any) -> None:
    import torch

    temporary = path.with_suffix(".tmp")
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    torch.save(
        {"job": job, "step": step, **{name: part.state_dict() for name, part in parts.items()}}, temporary
    )
    temporary.replace(path)


def _resume(path: Path, job: str, model: Any, optimizer: Any, schedule: Any) -> int:
    """The step to go on from; 0 without a checkpoint.

    Raises:
        OutputRefused: the checkpoint was made with other options or examples.
    """
    import torch

    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    if state["job"] != job:
        raise OutputRefused(
            "E_OTHER_JOB", f"{path}: made with other options or examples; remove it to start anew"
        )
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    return int(state["step"])


def _log(config: ScanConfig, entry: dict[str, Any]) -> None:
    with open(config.out / "metrics.jsonl", "a") as file:
        file.write(json.dumps(entry) + "\n")
    print(json.dumps(entry), flush=True)
