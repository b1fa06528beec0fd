"""Teaches a scanner: binary cross-entropy on verdict slots, dialogue ends and evidence tokens.

    dialint train scan --examples build/examples --base build/minilm --out build/scanner

Reads the sets ``train`` and ``dev`` (JSONL or Parquet) and ``manifest.json`` of the examples folder and the
base model's folder. Writes a folder with ``model.safetensors``, ``training.json`` and a log of metrics. A
stopped run goes on from its last checkpoint.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from detector.artifacts import sha256_file, versions, write_json, write_manifest
from detector.errors import ConfigError, OutputRefused
from detector.example_files import needed_set, read_examples, set_at
from detector.release import WEIGHTS
from detector.render import RenderConfig, Renderer, tokenizer_of
from detector.taxonomy import load as load_taxonomy
from finetune.examples import Target, examples_id, made_in, prefix_of, targets
from finetune.teach import CHECKPOINT, teach
from finetune.tokenizer import decoder_render

if TYPE_CHECKING:
    from detector.engines.scan_model import ScanModel


CHECKED = ("dev", "dev_unseen")
"""Sets that are looked at while learning: families of training, and families that only choose."""


@Parameter(name="*")
@dataclass(frozen=True)
class ScanConfig:
    """What `dialint train scan` needs to know."""

    examples: Path
    """Folder of `dialint data inject` or `dialint export dataset`."""
    base: Path
    """Folder of the base model: config.json, model.safetensors, tokenizer.json."""
    out: Path
    """Folder for the trained scanner."""
    taxonomy: Path | None = None
    """A taxonomy of your own, which the examples are labelled by."""
    codes: tuple[str, ...] = ()
    """Codes to learn; none: every code that the training labels name."""
    seed: int = 1
    """Seed of order, prefixes and the head's first weights."""
    epochs: float = 1.0
    """Passes over the training file."""
    tokens: int | None = None
    """Tokens to learn from, at most, whatever the passes."""
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
    pair_weight: float = 0.5
    """Weight of the loss that wants an error above its clean twin."""
    error_weight: float = 1.0
    """Weight of what is an error beside what is none."""
    focal: float = 0.0
    """Exponent of the focal loss; 0 is plain cross-entropy."""
    history: bool = True
    """Tell the model which words were said before, and by whom."""
    evidence: bool = True
    """Let a turn's score take in its strongest evidence token."""
    adapter: Literal["none", "lora"] = "none"
    """Train all weights, or low-rank adapters that are merged at the end."""
    rank: int = 16
    """Rank of the adapters."""
    from_scratch: bool = False
    """Start from random weights of the base's shape; for the ablation."""
    prefix_share: float = 0.25
    """Share of dialogues that are also learnt as they stood in the middle."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints."""
    threads: int = 2
    """CPU threads."""


def scan(config: ScanConfig) -> None:
    """Fine-tune a scanner on labelled examples."""
    import torch

    from detector.engines.faithful import refuse_unfaithful

    if (config.out / "training.json").exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a trained scanner already; name another folder")
    _refuse(config)
    torch.set_num_threads(config.threads)
    codes, dialogue_codes = _codes(config)
    base = _base(config.base)
    tokenizer = (config.base / "tokenizer.json").read_text()
    render = render_of(tokenizer, config.context_tokens, config.history)
    renderer = Renderer(render, tokenizer)
    learn = list(_training_targets(config, renderer, codes, dialogue_codes))
    check = {
        name: list(targets(read_examples(path), renderer, codes, dialogue_codes))
        for name in CHECKED
        if (path := set_at(config.examples, name))
    }
    print(f"{len(learn)} windows to learn, {sum(len(t.window) for t in learn)} tokens", flush=True)
    config.out.mkdir(parents=True, exist_ok=True)
    model = _model(config, base, len(codes))
    refuse_unfaithful(model, config.context_tokens)
    if config.adapter == "lora":
        model.backbone = _with_adapters(config, model.backbone)
    started = time.time()
    teach(config, model, learn, check, codes)
    if config.adapter == "lora":
        model.backbone = model.backbone.merge_and_unload()  # type: ignore[operator]
    _save(config, model, base, codes, render, time.time() - started)
    (config.out / CHECKPOINT).unlink(missing_ok=True)


def _refuse(config: ScanConfig) -> None:
    """Say what cannot be before any work is done.

    Raises:
        ConfigError: an option out of its range, or a file missing.
    """
    for name in ("epochs", "threads", "row_tokens", "rank", "learning_rate", "head_learning_rate"):
        if not getattr(config, name) > 0:
            raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be above 0")
    for name in ("span_weight", "pair_weight", "error_weight", "focal", "prefix_share", "checkpoint_minutes"):
        if not getattr(config, name) >= 0:
            raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must not be negative")
    wanted = [
        needed_set(config.examples, "train"),
        config.examples / "manifest.json",
        config.base / "tokenizer.json",
    ]
    for path in wanted if config.from_scratch else [*wanted, config.base / WEIGHTS]:
        if not path.is_file():
            raise ConfigError("E_OPTION", f"{path}: there is no such file")


def render_of(tokenizer_json: str, context_tokens: int, history: bool) -> RenderConfig:
    """How dialogues are written for a base: with the marks of our own tokenizer if it has them, with a
    BERT-like encoder's unused tokens else.

    Raises:
        ConfigError: the tokenizer has neither.
    """
    known = tokenizer_of(tokenizer_json).get_vocab()
    for render in (decoder_render(context_tokens), _encoder_render(context_tokens)):
        if all(mark in known for mark in render.control):
            return render.model_copy(update={"history": history})
    raise ConfigError("E_BASE", "the base's tokenizer has no marks for roles and slots that are known here")


def _encoder_render(context_tokens: int) -> RenderConfig:
    return RenderConfig(
        context_tokens=context_tokens,
        roles={"customer": "[unused1]", "agent": "[unused2]", "bot": "[unused2]"},
        begin="[CLS]",
        slot="[SEP]",
        dialogue_slot="[unused3]",
    )


def _codes(config: ScanConfig) -> tuple[list[str], list[str]]:
    named = set(config.codes) or {
        label.code
        for example in read_examples(needed_set(config.examples, "train"))
        for label in example.labels
    }
    known = load_taxonomy(config.taxonomy).codes
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
    """Every training example whole, and some of them also as they stood after one of their turns: that of
    the error or of its counterpart in a pair, any other else."""
    for example in read_examples(needed_set(config.examples, "train")):
        yield from targets([example], renderer, codes, dialogue_codes)
        chance = random.Random(f"{config.seed}/{example.pair or example.dialogue.id}")
        if chance.random() >= config.prefix_share:
            continue
        made, _ = made_in(example) if example.pair else (-1, "")
        judged = [turn.index for turn in example.dialogue.turns if turn.role in ("agent", "bot")]
        if not judged:
            continue
        cut = prefix_of(example, made if made >= 0 else chance.choice(judged))
        for target in targets([cut], renderer, codes, dialogue_codes):
            pair = f"{target.pair}~cut" if target.pair and target.rival and target.rival[0] >= 0 else ""
            yield replace(target, dialogue=None, pair=pair, rival=target.rival if pair else None)


def _model(config: ScanConfig, base: dict[str, Any], n_codes: int) -> ScanModel:
    import torch
    from safetensors.torch import load_file

    from detector.engines.scan_model import ScanModel, backbone_from_config

    torch.manual_seed(config.seed)
    model = ScanModel(backbone_from_config(base), n_codes, config.history, config.evidence)
    if not config.from_scratch:
        weights = load_file(config.base / WEIGHTS)
        wanted = model.backbone.state_dict().keys()
        inside = f"{model.backbone.base_model_prefix}."  # where a language model keeps its backbone
        named = {name.removeprefix(inside): weight for name, weight in weights.items()}
        missing = sorted(wanted - named.keys())
        if missing:
            raise ConfigError(
                "E_BASE", f"{config.base}: has no weights {missing[0]}; another model's config?"
            )
        model.backbone.load_state_dict({name: named[name] for name in wanted})
    if model.history is not None:
        torch.nn.init.zeros_(model.history.weight)  # a base that was never told starts as it is
    for head in (model.turn_head, model.dialogue_head, model.span_head):
        torch.nn.init.constant_(head.bias, -4.0)  # errors are rare: start from that prior
    if config.evidence:
        torch.nn.init.zeros_(model.turn_head.bias)  # the strongest token brings it
    return model


def _with_adapters(config: ScanConfig, backbone: Any) -> Any:
    """The backbone frozen, with a trainable low-rank adapter beside every linear layer."""
    from peft import LoraConfig, get_peft_model

    shape = LoraConfig(
        r=config.rank, lora_alpha=2 * config.rank, target_modules="all-linear", lora_dropout=0.0
    )
    return get_peft_model(backbone, shape)


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

    save_file({k: v.detach().contiguous() for k, v in model.state_dict().items()}, config.out / WEIGHTS)
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
            "taxonomy": load_taxonomy(config.taxonomy).version,
            "base_sha256": sha256_file(config.base / WEIGHTS),
            "examples": examples_id(config.examples),
            "config": told,
            "seconds": round(seconds),
            "versions": versions("torch", "transformers", "tokenizers"),
        },
    )
