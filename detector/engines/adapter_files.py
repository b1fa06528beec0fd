"""Validation of adapter files before they are loaded into a model.

A folder's manifest proves that nothing was changed, not who wrote it; so the content is validated too: files
that cannot run code, options that we use, names and shapes that fit the base, numbers that are numbers.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dialint.detector.artifacts import MANIFEST, read_manifest, read_object, verify_whole
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.manifests import Folder

ADAPTER = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
BESIDE = frozenset((MANIFEST, "tensorboard"))
"""Files that a sealed folder may hold beside those of its manifest: a tracker still writes to it."""
KINDS = frozenset((".json", ".jsonl", ".safetensors", ".txt", ".md", ".jinja"))
"""Endings of files that cannot run code when they are read."""
SUPPORTED = frozenset((
    "r", "lora_alpha", "lora_dropout", "target_modules", "modules_to_save", "use_dora", "use_rslora",
    "task_type",
))  # fmt: skip
"""Options of peft that training stages set; all others must have peft's defaults."""
IGNORED = frozenset(("base_model_name_or_path", "revision", "auto_mapping", "peft_version", "inference_mode"))
"""Options that peft records and loading does not use."""

Shapes = dict[str, tuple[int, ...]]


def validate_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest, after a check that every file may be part of an adapter and has the bytes that it
    states.

    Raises:
        ConfigError: E_ADAPTER.
    """
    for path in sorted(folder.rglob("*")):
        unsafe = path.suffix not in KINDS and path.relative_to(folder).parts[0] not in BESIDE
        if unsafe and not path.is_dir():
            raise ConfigError(
                "E_ADAPTER", f"{path}: no part of an adapter may be this; only safetensors are loaded"
            )
    try:
        manifest = read_manifest(folder / MANIFEST, expected=Folder)
        verify_whole(folder, manifest["files"], BESIDE)
    except OutputRefused as error:
        raise ConfigError("E_ADAPTER", error.text) from None
    return manifest


def validate_adapter(folder: Path, base: Path) -> None:
    """Checks that the adapter is a LoRA of `base`, tensor by tensor; the base's own weights are not needed.

    Raises:
        ConfigError: E_ADAPTER; E_BASE where the base's config cannot be read.
    """
    from safetensors.torch import load_file

    options = _read_options(folder / ADAPTER_CONFIG)
    path = folder / ADAPTER
    stored, expected = _stored_shapes(path), _expected_shapes(folder, options, base)
    for name in sorted(expected.keys() | stored.keys()):
        if stored.get(name) != expected.get(name):
            is_, wants = (
                "absent" if name not in shapes else " x ".join(map(str, shapes[name]))
                for shapes in (stored, expected)
            )
            raise ConfigError(
                "E_ADAPTER", f"{path}: {name[:150]} is {is_}, the base and its rank want {wants}"
            )
    for name, tensor in load_file(path).items():
        if not bool(tensor.isfinite().all()):
            raise ConfigError("E_ADAPTER", f"{path}: {name} holds NaN or infinity")


def _read_options(path: Path) -> dict[str, Any]:
    """The options of a LoRA that may be passed to peft."""
    from peft import LoraConfig

    options = read_object(path) or {}
    if "peft_type" not in options:
        raise ConfigError("E_ADAPTER", f"{path}: no options of an adapter")
    kind = options.pop("peft_type")
    default = json.loads(json.dumps(asdict(LoraConfig()), default=list))
    unsupported = [
        name
        for name in options.keys() - SUPPORTED - IGNORED
        if name not in default or options[name] != default[name]
    ]
    if kind != "LORA" or unsupported:
        what = f"sets {min(unsupported)[:40]}" if unsupported else f"is of type {str(kind)[:20]}"
        raise ConfigError("E_ADAPTER", f"{path}: {what}; adapters are LoRA with the options of dialint train")
    used = {name: options[name] for name in options.keys() & SUPPORTED}
    try:
        _LoraOptions.model_validate(used)
    except ValidationError:
        raise ConfigError("E_ADAPTER", f"{path}: rank, scale, dropout or layers are none") from None
    return used


class _LoraOptions(BaseModel):
    """The options whose values are checked. The layers are a list of names and no pattern."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    r: Annotated[int, Field(gt=0)]
    lora_alpha: Annotated[float, Field(gt=0)]
    lora_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    target_modules: list[str]


def _stored_shapes(path: Path) -> Shapes:
    """Names and shapes of the stored tensors, read from the file's header alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            shapes = {name: file.get_slice(name) for name in file.offset_keys()}
            integers = [
                name for name, part in shapes.items() if part.get_dtype() not in ("F32", "F16", "BF16")
            ]
            stored = {name: tuple(part.get_shape()) for name, part in shapes.items()}
    except (OSError, SafetensorError):
        raise ConfigError("E_ADAPTER", f"{path}: no safetensors") from None
    if integers:
        raise ConfigError(
            "E_ADAPTER", f"{path}: {min(integers)[:150]} does not hold numbers of 16 or 32 bits"
        )
    return stored


def _expected_shapes(folder: Path, options: dict[str, Any], base: Path) -> Shapes:
    """Names and shapes of the tensors of an adapter with these options on this base; nothing is allocated."""
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model
    from peft.utils import get_peft_model_state_dict
    from peft.utils.other import EMBEDDING_LAYER_NAMES

    kinds = {
        "CAUSAL_LM": "AutoModelForCausalLM",
        "SEQ_CLS": "AutoModelForSequenceClassification",
        None: "AutoModel",
    }
    task = options.get("task_type")
    if task not in kinds:
        raise ConfigError("E_ADAPTER", f"{folder}: for the task {str(task)[:20]}, which no stage has")
    labels = {"num_labels": 1} if task == "SEQ_CLS" else {}
    try:
        config = transformers.AutoConfig.from_pretrained(
            base, local_files_only=True, trust_remote_code=False, **labels
        )
    except (OSError, ValueError, KeyError):
        raise ConfigError("E_BASE", f"{base}: no config.json that can be read") from None
    try:
        with torch.device("meta"):
            model = getattr(transformers, kinds[task]).from_config(config)
            adapted = get_peft_model(model, LoraConfig(**options), low_cpu_mem_usage=True)
    except (ValueError, TypeError, KeyError, RuntimeError, AttributeError, OverflowError) as error:
        reason = f"peft makes no such adapter for {base} ({type(error).__name__})"
        raise ConfigError("E_ADAPTER", f"{folder}: {reason}") from None
    embedded = any(name in EMBEDDING_LAYER_NAMES for name in options["target_modules"])
    state = get_peft_model_state_dict(adapted, save_embedding_layers=embedded)
    return {name: tuple(tensor.shape) for name, tensor in state.items()}
