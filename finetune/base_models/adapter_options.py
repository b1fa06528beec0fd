"""The options of a stage that trains adapters: their shape, and how the frozen base below them is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_library
from dialint.detector.option_ranges import check_ranges

Quantization = Literal["none", "nf4"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AdapterOptions:
    """Which weights of a base model are trained: all, or adapters beside frozen ones."""

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
        check_ranges(self)
        if not self.targets:
            raise ConfigError("E_OPTION", "--targets must name layers")

    def validate(self) -> None:
        """Check that the options go together and that their libraries are installed.

        Raises:
            ConfigError: E_OPTION or E_EXTRA.
        """
        if self.adapter == "none" and self.quantise != "none":
            raise ConfigError(
                "E_OPTION", "--quantise nf4 needs --adapter lora: 4-bit weights are not trained"
            )
        if self.adapter == "lora":
            require_library("peft", "--adapter lora")
        if self.quantise == "nf4":
            require_library("bitsandbytes", "--quantise nf4")
