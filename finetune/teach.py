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
from eval.metrics import average_precision, pair_auc
from finetune.examples import Target

if TYPE_CHECKING:
    import torch

    from detector.engines.scan_model import ScanModel
    from detector.scanner import WindowScores
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
            found = {name: _found(config, model, some[:CHECKED_OFTEN], codes) for name, some in check.items()}
            _log(config, {"step": step, **found})
            model.train()
    found = {name: _found(config, model, whole, codes) for name, whole in check.items()}
    _log(config, {"step": len(rows), **found})


def _rows(config: ScanConfig, learn: Sequence[Target]) -> Iterator[list[int]]:
    """Places of windows for each step, all passes, shuffled anew in each; an error and its twin together."""
    by_pair: dict[str, list[int]] = {}
    for place, target in enumerate(learn):
        by_pair.setdefault(target.pair or f"#{place}", []).append(place)
    order: list[int] = []
    for epoch in range(math.ceil(config.epochs)):
        groups = list(by_pair.values())
        random.Random(config.seed * 1000 + epoch).shuffle(groups)
        order.extend(place for group in groups for place in group)
    row: list[int] = []
    room = config.row_tokens
    for place in order[: int(len(learn) * config.epochs)]:
        if row and len(learn[place].window) > room:
            yield row
            row, room = [], config.row_tokens
        row.append(place)
        room -= len(learn[place].window)
    if row:
        yield row


def _loss(config: ScanConfig, model: ScanModel, batch: Sequence[Target]) -> torch.Tensor:
    """Mean cross-entropy of a slot, summed over codes, plus the weighted mean of an evidence token, plus
    the weighted mean of what a pair says: the error above its twin."""
    import torch
    from torch.nn.functional import softplus

    from detector.engines.local import head_places, row_of

    windows = [target.window for target in batch]
    row = row_of(windows)
    places = head_places(windows, row)
    with torch.autocast("cpu", torch.bfloat16):
        states = model.hidden(row)
    states = states.float()
    turns = model.turn_head(states[places.slots])
    ends = model.dialogue_head(states[places.ends])
    ended = [target for target in batch if target.window.dialogue_slot is not None]
    judged = [place for place, target in enumerate(ended) if target.dialogue is not None]
    loss = (
        _entropy(config, turns, [target.turns for target in batch])
        + _entropy(config, ends[judged], [t.dialogue[None] for t in ended if t.dialogue is not None])
        + config.span_weight
        * _entropy(config, model.span_head(states[places.tokens]), [target.spans for target in batch])
    )
    errors, twins = _rivals(batch, turns, ends)
    if config.pair_weight and errors:
        loss = loss + config.pair_weight * softplus(torch.stack(twins) - torch.stack(errors)).mean()
    return loss


def _entropy(config: ScanConfig, logits: torch.Tensor, wanted: list[Any]) -> torch.Tensor:
    """Binary cross-entropy of shape (places, codes) with soft labels, summed over codes, mean over places.

    With `focal` above 0 what is judged well already counts less. Source: Lin et al. 2017, equation 4.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    if not len(logits):
        return logits.new_zeros(())
    truth = torch.from_numpy(np.concatenate(wanted))
    weight = 1 + (config.error_weight - 1) * truth
    if config.focal:
        weight = weight * (torch.sigmoid(logits.detach()) - truth).abs() ** config.focal
    return binary_cross_entropy_with_logits(logits, truth, weight, reduction="sum") / len(logits)


def _rivals(
    batch: Sequence[Target], turns: torch.Tensor, ends: torch.Tensor
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The scores of errors and of their twins, pair by pair, where both are in this batch."""
    sides: dict[str, dict[bool, torch.Tensor]] = {}
    slot = end = 0
    for target in batch:
        if target.rival is not None:
            place, code = target.rival
            score = ends[end, code] if place < 0 else turns[slot + place, code]
            sides.setdefault(target.pair, {})[target.error] = score
        slot += len(target.window.slots)
        end += target.window.dialogue_slot is not None
    both = [side for side in sides.values() if len(side) == 2]
    return [side[True] for side in both], [side[False] for side in both]


def _found(
    config: ScanConfig, model: ScanModel, check: Sequence[Target], codes: list[str]
) -> dict[str, dict[str, float]]:
    """Average precision of each code on the windows, and the share of pairs with the error above."""
    from detector.engines.local import LocalEngine

    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    results = LocalEngine(model, row_tokens=config.row_tokens).scan([target.window for target in check])
    for weight in learnt:
        weight.requires_grad_(True)
    ended = [(r, t) for r, t in zip(results, check, strict=True) if t.dialogue is not None]
    precision, pairs = {}, {}
    for column, code in enumerate(codes):
        truth = np.concatenate([target.turns[:, column] for target in check]) > 0.5
        scores = np.concatenate([result.slots[:, column] for result in results])
        if not truth.any():
            truth = np.array([t.dialogue[column] > 0.5 for _, t in ended if t.dialogue is not None], bool)
            scores = np.array([r.dialogue[column] for r, _ in ended if r.dialogue is not None])
        if truth.any():
            precision[code] = round(average_precision(truth, scores), 3)
        errors, twins = _sides(check, results, column)
        if len(errors):
            pairs[code] = round(pair_auc(errors, twins), 3)
    return {name: {"macro": round(float(np.mean(list(rows.values()))), 3), **rows}
            for name, rows in (("ap", precision), ("pairs", pairs)) if rows}  # fmt: skip


def _sides(
    check: Sequence[Target], results: Sequence[WindowScores], column: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of errors and of their twins, each of shape (pairs,)."""
    sides: dict[str, dict[bool, float]] = {}
    for target, result in zip(check, results, strict=True):
        if target.rival is None or target.rival[1] != column:
            continue
        place = target.rival[0]
        scores = result.dialogue if place < 0 else result.slots[place]
        if scores is not None:
            sides.setdefault(target.pair, {})[target.error] = float(scores[column])
    both = [side for side in sides.values() if len(side) == 2]
    return np.array([side[True] for side in both]), np.array([side[False] for side in both])


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
