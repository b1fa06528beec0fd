"""Low-rank adapters: their options, and loading and saving models with adapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import write_json
from dialint.detector.engines.base_models import BASE_FILE, ModelSource, load_adapter, load_base_model
from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_names, command_options
from dialint.finetune.train.checkpoint import validate_finite

if TYPE_CHECKING:
    import torch
    from peft import LoraConfig, PeftModel

Quantization = Literal["none", "nf4"]
PEFT_NAMES = {
    "rank": "r",
    "alpha": "lora_alpha",
    "adapter_dropout": "lora_dropout",
    "dora": "use_dora",
    "rslora": "use_rslora",
}
"""Options of an adapter's shape, and their names in peft."""


@command_options
class AdapterOptions:
    """The trained weights of a base model: all, or adapters beside frozen ones."""

    adapter: Annotated[Literal["none", "lora"], Parameter(show_default=False)] = "lora"
    """lora: train low-rank adapters; none: all weights. The default is lora for a judge and its reward; for a
    scanner it is none, and lora where any other option of adapters is given."""
    rank: Annotated[int, Field(ge=1)] = 16
    """Rank of the adapters."""
    alpha: Annotated[int | None, Field(ge=1)] = None
    """Scale of the adapters; none: twice the rank."""
    targets: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ("all-linear",)
    """Names of the layers that get adapters."""
    adapter_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Dropout before the adapters."""
    dora: bool = False
    """Train magnitude and direction separately (Liu et al. 2024, DoRA)."""
    rslora: bool = False
    """Scale by alpha over the root of the rank (Kalajdzievski 2023, rsLoRA)."""
    quantise: Quantization = "none"
    """nf4: the frozen base in 4 bits, double quantization, bf16 arithmetic (Dettmers et al. 2023, QLoRA)."""

    def __post_init__(self) -> None:
        if not self.targets:
            raise ConfigError("E_OPTION", "--targets must name layers")

    def validate(self) -> None:
        """Checks that the options go together and that their libraries are installed.

        Raises:
            ConfigError: E_OPTION or E_EXTRA.
        """
        if self.adapter == "none" and self.quantise != "none":
            raise ConfigError(
                "E_OPTION", "--quantise nf4 needs --adapter lora: 4-bit weights are not trained"
            )
        shape = {f.name for f in fields(self) if f.name not in ("adapter", "quantise")}
        if self.adapter == "none" and any(getattr(self, f) != getattr(AdapterOptions(), f) for f in shape):
            raise ConfigError("E_OPTION", "options of adapters need --adapter lora")
        if self.adapter == "lora":
            require_library("peft", "--adapter lora")
        if self.quantise == "nf4":
            require_library("bitsandbytes", "--quantise nf4")


def load_model(
    source: ModelSource,
    adapters: AdapterOptions,
    *,
    trainable: bool = True,
    kind: str = "CAUSAL_LM",
    device: str = "cpu",
    full_precision: bool = False,
    bf16: bool = False,
) -> Any:
    """Loads the model of `source` with its adapter; without one and if it is `trainable`, with a new adapter
    unless all weights are trained.

    `kind` and `full_precision` as in `load_base_model`. With `bf16` frozen weights are stored in bf16;
    trained weights stay in fp32.

    Raises:
        ConfigError: E_BASE or E_ADAPTER; E_OPTION, the options require another adapter than that of `source`.
    """
    if source.adapter is not None and trainable:
        _validate_same_shape(source.adapter, adapters)
    trains_all = trainable and adapters.adapter == "none"
    model = load_base_model(
        source,
        kind=kind,
        device=device,
        quantise=adapters.quantise,
        trainable=trainable,
        full_precision=full_precision or trains_all,
        bf16=bf16 and not (trains_all and source.adapter is None),
    )
    if source.adapter is not None:
        return load_adapter(model, source.adapter, trainable=trainable)
    if adapters.adapter == "none" or not trainable:
        return model
    return add_adapters(model, adapters, kind)


def unwrap(model: Any) -> Any:
    """Returns the language model inside of adapters and of `DistributedDataParallel`, or the model itself."""
    import torch

    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    return model.get_base_model() if hasattr(model, "peft_config") else model


def require_positions(model: Any, longest: int) -> None:
    """Checks that a model has positions for `longest` tokens.

    Raises:
        ConfigError: E_BASE, for fewer.
    """
    config = unwrap(model).config
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and longest > positions:
        raise ConfigError(
            "E_BASE",
            f"{longest} tokens at once, and {config.model_type} has positions for {positions}; options like "
            "--prompt-tokens and --row-tokens make them fewer",
        )


def add_adapters(
    model: Any, adapters: AdapterOptions, kind: str | None, rows: Sequence[int] = ()
) -> PeftModel:
    """Adds adapters to a frozen model. `kind` None: a bare backbone. `rows` of its embeddings are trained
    too.

    Raises:
        ConfigError: E_OPTION, a target is no layer of the model, or none that can have an adapter.
    """
    from peft import get_peft_model

    if adapters.targets != AdapterOptions().targets:
        names = [f".{name}" for name, _ in model.named_modules()]
        layers = {name.split(".")[-2] for name, weight in model.named_parameters() if weight.ndim == 2}
        ends = {target for target in adapters.targets if any(name.endswith(f".{target}") for name in names)}
        check_names("--targets", adapters.targets, layers | ends)
    try:
        return get_peft_model(model, _lora_config(adapters, kind, rows))
    except ValueError as error:
        raise ConfigError("E_OPTION", f"--targets: {str(error).partition('.')[0][:120]}") from None


def _lora_config(adapters: AdapterOptions, kind: str | None = None, rows: Sequence[int] = ()) -> LoraConfig:
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


def _validate_same_shape(folder: Path, adapters: AdapterOptions) -> None:
    """Refuses options that require another shape than that of the existing adapter, which is trained
    further."""
    from peft import LoraConfig

    existing = LoraConfig.from_pretrained(str(folder))
    requested, default = _lora_config(adapters), _lora_config(AdapterOptions())
    other = [
        name
        for name, peft_name in PEFT_NAMES.items()
        if getattr(requested, peft_name) not in (getattr(default, peft_name), getattr(existing, peft_name))
    ]
    if adapters.targets != AdapterOptions().targets and set(adapters.targets) != set(
        existing.target_modules or ()
    ):
        other.append("targets")
    if adapters.adapter == "none":
        other.append("adapter")
    if other:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        raise ConfigError(
            "E_OPTION", f"{folder} has an adapter of another shape: leave out {options}, or merge it"
        )


def save_model(
    model: Any, folder: Path, source: ModelSource, weights: Mapping[str, torch.Tensor] | None = None
) -> None:
    """Saves the adapter with the name of its base, or all weights; `weights` in place of the model's if these
    are sharded. The caller writes the manifest.

    Raises:
        ConfigError: E_DIVERGED, a weight is NaN or infinite.
    """
    has_adapter = hasattr(model, "peft_config")
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad or not has_adapter}
    validate_finite(weights or trained, folder)
    whole = {} if weights is None else {"state_dict": dict(weights)}
    base = source.base
    if has_adapter:
        peft_config = model.peft_config["default"]
        peft_config.base_model_name_or_path, peft_config.revision = base.name, base.revision
        model.save_pretrained(
            folder,
            selected_adapters=["default"],
            safe_serialization=True,
            save_embedding_layers=False,  # none is trained as a whole; "auto" would ask a hub for the base
            **whole,
        )
        write_json(
            folder / BASE_FILE, {"base": base.name, "revision": base.revision, "sha256": source.sha256}
        )
        (folder / "README.md").unlink(missing_ok=True)  # peft's own card
    else:
        model.save_pretrained(folder, safe_serialization=True, **whole)
