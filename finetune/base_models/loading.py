"""Base models and adapters, loaded for learning: safetensors, no remote code.

A *model folder* is a Hugging Face folder, or one that a stage left behind: an adapter with ``base.json``,
which names the base and the sha256 of its weights. Loading an adapter verifies its manifest first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import fingerprint, sha256_file, write_json
from dialint.detector.errors import ConfigError
from dialint.finetune.base_models.adapter_files import ADAPTER_CONFIG, validate_adapter, validate_manifest
from dialint.finetune.base_models.adapter_files import MANIFEST as MANIFEST
from dialint.finetune.base_models.adapter_options import AdapterOptions
from dialint.finetune.base_models.finite import validate_finite
from dialint.finetune.base_models.quantization import (
    keep_gradients,
    load_dequantized,
    nf4_config,
    storage_format,
)
from dialint.finetune.base_models.resolve import BaseFolder, resolve_base

if TYPE_CHECKING:
    from peft import LoraConfig, PeftModel
    from transformers import PreTrainedModel

BASE_FILE = "base.json"
SHAPE = {
    "rank": "r",
    "alpha": "lora_alpha",
    "adapter_dropout": "lora_dropout",
    "dora": "use_dora",
    "rslora": "use_rslora",
}
"""Our options of an adapter's shape, and what peft calls them."""


@dataclass(frozen=True)
class ModelSource:
    """Where weights come from: the base, the sha256 of its weights, and the adapter on top of it, if any."""

    base: BaseFolder
    sha256: str
    adapter: Path | None = None

    @property
    def folder(self) -> Path:
        """What was named: the adapter's folder, or the base's."""
        return self.adapter or self.base.folder

    def alone(self) -> ModelSource:
        """The base without its adapter."""
        return replace(self, adapter=None)


def resolve_source(model: str) -> ModelSource:
    """What `model` names: a folder with an adapter, or a base as `folders.found` takes it.

    Raises:
        ConfigError: E_BASE, there is none; E_ADAPTER, an adapter that does not belong to its base, is damaged
            or unsafe.
    """
    folder = Path(model)
    if (folder / ADAPTER_CONFIG).exists() or (folder / BASE_FILE).exists():
        return _with_adapter(folder)
    base = resolve_base(model)
    if (base.folder / MANIFEST).exists():  # all weights, as a stage left them
        validate_manifest(base.folder)
    return ModelSource(base, weights_sha256(base.folder))


def weights_sha256(folder: Path) -> str:
    """One hash of all weights of a base's folder.

    Raises:
        ConfigError: E_BASE, it has none as safetensors.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ConfigError("E_BASE", f"{folder}: no *.safetensors")
    if len(files) == 1:
        return sha256_file(files[0])
    return fingerprint([(file.name, sha256_file(file)) for file in files])


def _with_adapter(folder: Path) -> ModelSource:
    """An adapter's folder, every byte vouched for before any is loaded."""
    validate_manifest(folder)
    try:
        told = json.loads((folder / BASE_FILE).read_bytes())
        name, revision, sha256 = str(told["base"]), told["revision"], told["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError("E_ADAPTER", f"{folder / BASE_FILE}: names no base") from None
    try:
        base = resolve_base(name, None if revision is None else str(revision))
    except ConfigError as error:
        raise ConfigError("E_ADAPTER", f"{folder}: its base is not here: {error.message}") from None
    if weights_sha256(base.folder) != sha256:
        raise ConfigError("E_ADAPTER", f"{folder}: made for other weights than those in {name}")
    validate_adapter(folder, base.folder)
    return ModelSource(base, sha256, folder)


def load_model(
    source: ModelSource,
    adapters: AdapterOptions,
    *,
    trainable: bool = True,
    kind: str = "CAUSAL_LM",
    device: str = "cpu",
    exact: bool = False,
    bf16: bool = False,
) -> Any:
    """The model of `source`, with its adapter, or with a new one where it has none and one is wanted.

    `kind` is peft's task type: CAUSAL_LM, or SEQ_CLS for one number a text (a reward). `exact` as in
    `load_bare`. With `bf16` frozen weights are stored in bf16, 2 bytes each; trained weights stay in fp32.

    Raises:
        ConfigError: E_BASE or E_ADAPTER; E_OPTION, another adapter is wanted than the one that is there.
    """
    if source.adapter is not None and trainable:
        _refuse_other_shape(source.adapter, adapters)
    half = bf16 and not (trainable and source.adapter is None and adapters.adapter == "none")
    model = load_bare(source, adapters, kind, device, trainable=trainable, exact=exact, bf16=half)
    if source.adapter is not None:
        return _adapted(model, source.adapter, trainable)
    if adapters.adapter == "none" or not trainable:
        return model
    return add_adapters(model, adapters, kind)


def load_bare(
    source: ModelSource,
    adapters: AdapterOptions,
    kind: str = "CAUSAL_LM",
    device: str = "cpu",
    *,
    trainable: bool = False,
    exact: bool = False,
    bf16: bool = False,
) -> PreTrainedModel:
    """The base alone, in fp32 or bf16, or in 4 bits with bf16 for the rest. One that is stored in few bits
    comes as it is served; with `exact` in floating point, and with `trainable` too, if all of it will learn
    or its own kernels have no gradient.

    Raises:
        ConfigError: E_BASE, nothing there that loads, or its weights are stored in a way that is not known.
    """
    import torch
    from huggingface_hub.errors import StrictDataclassError
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    folder = source.base.folder
    loader: Any = AutoModelForSequenceClassification if kind == "SEQ_CLS" else AutoModelForCausalLM
    more: dict[str, Any] = {"num_labels": 1} if kind == "SEQ_CLS" else {}
    how = storage_format(folder)
    undone = exact or (trainable and (how != "bitsandbytes" or adapters.adapter == "none"))
    served = "quantization_config" in _config(folder) and not undone
    if served:
        more |= {"device_map": {"": device}}
    elif adapters.quantise == "nf4":
        more |= {"quantization_config": nf4_config(kind), "device_map": {"": device}, "dtype": torch.bfloat16}
    else:
        more |= {"dtype": torch.bfloat16 if bf16 else torch.float32}
    try:
        if undone and how != "plain":
            model, told = load_dequantized(loader, folder, **more)
        else:
            model, told = loader.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **more,
            )
    except (
        ImportError,
        OSError,
        ValueError,
        KeyError,
        RuntimeError,
        SafetensorError,
        StrictDataclassError,
    ) as error:
        raise ConfigError("E_BASE", f"{folder}: no model that loads ({type(error).__name__})") from None
    missing = [name for name in told["missing_keys"] if kind != "SEQ_CLS" or "score" not in name]
    if missing or told["mismatched_keys"]:
        raise ConfigError("E_BASE", f"{folder}: weights are missing or do not fit config.json")
    if served or adapters.quantise == "nf4":
        keep_gradients(model, served=served and not trainable)
    loaded: PreTrainedModel = model if served or adapters.quantise == "nf4" else model.to(device)
    return loaded


def _config(folder: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        raise ConfigError("E_BASE", f"{folder}: no config.json that can be read") from None
    return told


def add_adapters(
    model: Any, adapters: AdapterOptions, kind: str | None, rows: Sequence[int] = ()
) -> PeftModel:
    """New adapters on a frozen model. `kind` None: a bare backbone. `rows` of its embeddings are learnt
    too."""
    from peft import get_peft_model

    try:
        return get_peft_model(model, _shape(adapters, kind, rows))
    except ValueError as error:
        raise ConfigError("E_OPTION", f"--targets: {str(error).partition('.')[0][:120]}") from None


def _shape(adapters: AdapterOptions, kind: str | None = None, rows: Sequence[int] = ()) -> LoraConfig:
    from peft import LoraConfig

    targets = adapters.targets[0] if adapters.targets == ("all-linear",) else list(adapters.targets)
    return LoraConfig(
        task_type=kind,
        r=adapters.rank,
        lora_alpha=adapters.alpha or 2 * adapters.rank,
        target_modules=targets,
        lora_dropout=adapters.adapter_dropout,
        use_dora=adapters.dora,
        use_rslora=adapters.rslora,
        modules_to_save=["score"] if kind == "SEQ_CLS" else None,
        trainable_token_indices=list(rows) or None,
    )


def _refuse_other_shape(folder: Path, adapters: AdapterOptions) -> None:
    """An adapter that is there is learnt on as it is: options that ask for another one are refused."""
    from peft import LoraConfig

    there, wanted, default = (
        LoraConfig.from_pretrained(str(folder)),
        _shape(adapters),
        _shape(AdapterOptions()),
    )
    other = [
        name
        for name, theirs in SHAPE.items()
        if getattr(wanted, theirs) not in (getattr(default, theirs), getattr(there, theirs))
    ]
    if adapters.targets != AdapterOptions().targets and set(adapters.targets) != set(
        there.target_modules or ()
    ):
        other.append("targets")
    if adapters.adapter == "none":
        other.append("adapter")
    if other:
        told = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        raise ConfigError(
            "E_OPTION", f"{folder} has an adapter of another shape: leave out {told}, or merge it"
        )


def _adapted(model: Any, folder: Path, trainable: bool) -> PeftModel:
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, folder, is_trainable=trainable)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            "E_ADAPTER", f"{folder}: does not fit its base ({type(error).__name__}); wrong rank or shape?"
        ) from None


def save_model(model: Any, folder: Path, source: ModelSource, weights: dict[str, Any] | None = None) -> None:
    """The adapter with the name of its base, or all weights, those in `weights` where the model does not hold
    them itself. The caller seals the folder.

    Raises:
        ConfigError: E_DIVERGED, what would be saved holds NaN or infinity.
    """
    learnt = weights or dict(model.named_parameters())
    if hasattr(model, "peft_config"):
        learnt = {name: weight for name, weight in learnt.items() if weights or weight.requires_grad}
    validate_finite(learnt, folder)
    base = source.base
    if hasattr(model, "peft_config"):
        told = model.peft_config["default"]
        told.base_model_name_or_path, told.revision = base.name, base.revision
        model.save_pretrained(
            folder,
            selected_adapters=["default"],
            safe_serialization=True,
            state_dict=weights,
            save_embedding_layers=False,  # none is learnt whole; "auto" would ask a hub for the base
        )
        write_json(
            folder / BASE_FILE, {"base": base.name, "revision": base.revision, "sha256": source.sha256}
        )
        (folder / "README.md").unlink(missing_ok=True)  # peft's own card
    else:
        model.save_pretrained(folder, safe_serialization=True, state_dict=weights)


def tokenizer_folder(source: ModelSource) -> Path:
    """Where the tokenizer is: with the adapter if it has one, else with the base."""
    return source.folder if (source.folder / "tokenizer.json").exists() else source.base.folder
