"""Teaches a scanner: binary cross-entropy on verdict slots, dialogue ends and evidence tokens.

    dialint train scan --examples build/examples --base build/minilm --out build/scanner

Reads ``train.jsonl``, ``dev.jsonl`` and ``manifest.json`` of the examples folder and the base model's
folder. Writes a folder with ``model.safetensors``, ``training.json`` and a log of metrics. A stopped
run goes on from its last checkpoint.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cyclopts import Parameter

from detector.artifacts import fingerprint, sha256_file, versions, write_json, write_manifest
from detector.errors import ConfigError, OutputRefused
from detector.render import RenderConfig, Renderer
from detector.taxonomy import load as load_taxonomy
from eval.metrics import average_precision
from eval.truth import read_examples
from finetune.examples import Target, prefix_of, targets

CHECKPOINT = "checkpoint.pt"

if TYPE_CHECKING:
    import torch

    from detector.engines.scan_model import ScanModel


@Parameter(name="*")
@dataclass(frozen=True)
class ScanConfig:
    """What `dialint train scan` needs to know."""

    examples: Path
    """Folder with train.jsonl and dev.jsonl of `dialint data inject`."""
    base: Path
    """Folder of the base model: config.json, model.safetensors, tokenizer.json."""
    out: Path
    """Folder for the trained scanner."""
    codes: tuple[str, ...] = ()
    """Codes to learn; none: every code that the training labels name."""
    seed: int = 1
    """Seed of order, prefixes and the head's first weights."""
    epochs: float = 1.0
    """Passes over the training file."""
    row_tokens: int = 4096
    """Tokens in one training step."""
    context_tokens: int = 500
    """Tokens the model sees at once."""
    learning_rate: float = 2e-4
    """Peak rate of the backbone."""
    head_learning_rate: float = 2e-3
    """Peak rate of the heads."""
    span_weight: float = 0.5
    """Weight of the evidence loss beside the turn loss."""
    prefix_share: float = 0.25
    """Share of dialogues that are also learnt as they stood in the middle."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints."""
    threads: int = 2
    """CPU threads."""


def scan(config: ScanConfig) -> None:
    """Fine-tune a scanner on labelled examples."""
    import torch

    if (config.out / "training.json").exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a trained scanner already; name another folder")
    torch.set_num_threads(config.threads)
    codes, dialogue_codes = _codes(config)
    base = _base(config.base)
    render = encoder_render(config.context_tokens)
    renderer = Renderer(render, (config.base / "tokenizer.json").read_text())
    learn = list(_training_targets(config, renderer, codes, dialogue_codes))
    check = list(targets(read_examples(config.examples / "dev.jsonl"), renderer, codes, dialogue_codes))
    print(f"{len(learn)} windows to learn, {sum(len(t.window) for t in learn)} tokens", flush=True)
    config.out.mkdir(parents=True, exist_ok=True)
    model = _model(config, base, len(codes))
    started = time.time()
    _teach(config, model, learn, check, codes)
    _save(config, model, base, codes, render, time.time() - started)
    (config.out / CHECKPOINT).unlink(missing_ok=True)


def encoder_render(context_tokens: int) -> RenderConfig:
    """How dialogues are written for a BERT-like encoder: its unused tokens mark the roles."""
    return RenderConfig(
        context_tokens=context_tokens,
        roles={"customer": "[unused1]", "agent": "[unused2]", "bot": "[unused2]"},
        begin="[CLS]",
        slot="[SEP]",
        dialogue_slot="[unused3]",
    )


def _codes(config: ScanConfig) -> tuple[list[str], list[str]]:
    named = set(config.codes) or {
        label.code for example in read_examples(config.examples / "train.jsonl") for label in example.labels
    }
    known = load_taxonomy().codes
    if not named or named - set(known):
        raise ConfigError("E_CODE", f"no codes to learn, or unknown ones: {sorted(named - set(known))}")
    codes = [code for code in known if code in named]
    return codes, [code for code in codes if known[code].scope == "dialogue"]


def _base(folder: Path) -> dict[str, Any]:
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise ConfigError("E_BASE", f"{folder}: no readable config.json ({error})") from None
    return {**config, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def _training_targets(
    config: ScanConfig, renderer: Renderer, codes: list[str], dialogue_codes: list[str]
) -> Iterator[Target]:
    """Every training example whole, and some of them also as they stood after one of their turns."""
    chance = random.Random(config.seed)
    for example in read_examples(config.examples / "train.jsonl"):
        yield from targets([example], renderer, codes, dialogue_codes)
        judged = [turn.index for turn in example.dialogue.turns if turn.role in ("agent", "bot")]
        if judged and chance.random() < config.prefix_share:
            cut = prefix_of(example, chance.choice(judged))
            for target in targets([cut], renderer, codes, dialogue_codes):
                yield Target(target.window, target.turns, target.spans, None)


def _model(config: ScanConfig, base: dict[str, Any], n_codes: int) -> ScanModel:
    import torch
    from safetensors.torch import load_file

    from detector.engines.scan_model import ScanModel, backbone_from_config

    torch.manual_seed(config.seed)
    model = ScanModel(backbone_from_config(base), n_codes)
    weights = load_file(config.base / "model.safetensors")
    wanted = model.backbone.state_dict().keys()
    model.backbone.load_state_dict({name: weights[name] for name in wanted})
    for head in (model.turn_head, model.dialogue_head, model.span_head):
        torch.nn.init.constant_(head.bias, -4.0)  # errors are rare: start from that prior
    return model


def _teach(
    config: ScanConfig, model: ScanModel, learn: list[Target], check: list[Target], codes: list[str]
) -> None:
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
    first = _resume(checkpoint, model, optimizer, schedule)
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
            _checkpoint(checkpoint, step + 1, model, optimizer, schedule)
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


def _checkpoint(path: Path, step: int, model: Any, optimizer: Any, schedule: Any) -> None:
    import torch

    temporary = path.with_suffix(".tmp")
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    torch.save({"step": step, **{name: part.state_dict() for name, part in parts.items()}}, temporary)
    temporary.replace(path)


def _resume(path: Path, model: Any, optimizer: Any, schedule: Any) -> int:
    """The step to go on from; 0 without a checkpoint."""
    import torch

    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    return int(state["step"])


def _log(config: ScanConfig, entry: dict[str, Any]) -> None:
    with open(config.out / "metrics.jsonl", "a") as file:
        file.write(json.dumps(entry) + "\n")
    print(json.dumps(entry), flush=True)


def _save(
    config: ScanConfig,
    model: Any,
    base: dict[str, Any],
    codes: list[str],
    render: RenderConfig,
    seconds: float,
) -> None:
    """The trained weights in fp32 and all that a release needs to know of how they came about."""
    from safetensors.torch import save_file

    save_file(
        {k: v.detach().contiguous() for k, v in model.state_dict().items()}, config.out / "model.safetensors"
    )
    write_json(config.out / "config.json", base)
    tokenizer = (config.base / "tokenizer.json").read_bytes()
    (config.out / "tokenizer.json").write_bytes(tokenizer)
    told = {
        key: value if isinstance(value, int | float) else str(value) for key, value in asdict(config).items()
    }
    write_manifest(
        config.out / "training.json",
        {
            "kind": "scanner",
            "codes": codes,
            "render": render.model_dump(),
            "base_sha256": sha256_file(config.base / "model.safetensors"),
            "examples": fingerprint(json.loads((config.examples / "manifest.json").read_text())),
            "config": told,
            "seconds": round(seconds),
            "versions": versions("torch", "transformers", "tokenizers"),
        },
    )
