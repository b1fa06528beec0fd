"""The options of ``dialint train sft scan``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_ranges
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions

ALL_WEIGHTS = AdapterOptions(adapter="none")
DEFAULT_RUN = RunOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScanConfig:
    """What `dialint train sft scan` needs to know."""

    examples: Path
    """Folder of `dialint data inject` or `dialint export dataset`."""
    base: Path
    """Base model: a folder, embedded or small_decoder (they ship), or a name on a hub. Of a release its
    backbone is taken."""
    out: Path
    """Folder for the trained scanner."""
    taxonomy: Path | None = None
    """A taxonomy of your own, which the examples are labelled by."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes to train; none: every code that the training labels name."""
    epochs: Annotated[float, Field(gt=0)] = 1.0
    """Passes over the training file."""
    tokens: Annotated[int | None, Field(ge=1)] = None
    """Tokens to train on, at most, whatever the passes."""
    row_tokens: Annotated[int, Field(ge=1)] = 4096
    """Tokens in one forward pass."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Forward passes in one step."""
    context_tokens: Annotated[int, Field(ge=1)] = 500
    """Tokens the model sees at once."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak rate of the backbone."""
    head_learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    """Peak rate of the heads."""
    span_weight: Annotated[float, Field(ge=0)] = 0.5
    """Weight of the evidence loss beside the turn loss."""
    pair_weight: Annotated[float, Field(ge=0)] = 0.5
    """Weight of the ranking loss, an error above its clean twin."""
    error_weight: Annotated[float, Field(ge=0)] = 1.0
    """Weight of errors relative to clean turns."""
    focal: Annotated[float, Field(ge=0)] = 0.0
    """Exponent of the focal loss; 0 is plain cross-entropy."""
    history: bool = True
    """Mark for the model which words occurred before, and in whose turns."""
    evidence: bool = True
    """Let a turn's score depend on its highest evidence token."""
    from_scratch: bool = False
    """Start from random weights of the base's shape; for the ablation."""
    prefix_share: Annotated[float, Field(ge=0)] = 0.25
    """Share of dialogues that are also trained on up to one of their turns only."""
    weight_by_confidence: bool = False
    """Weigh a label of probability p by |2p - 1|. Soft labels express doubt already: use it where
    probabilities near one half are unreliable."""
    neftune: Annotated[float, Field(ge=0)] = 0.0
    """Noise on embeddings during training (Jain et al. 2023), usually 5; 0 is none."""
    eval_steps: Annotated[int, Field(ge=1)] = 200
    """Steps between two evaluations on dev."""
    patience: Annotated[int | None, Field(ge=1)] = None
    """Evaluations without improvement of the macro average precision on dev after which training stops, and
    the best weights are kept; none: train to the end, keep the last."""
    adapters: AdapterOptions = ALL_WEIGHTS
    running: RunOptions = DEFAULT_RUN

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.from_scratch and self.adapters.adapter == "lora":
            raise ConfigError(
                "E_OPTION", "--from-scratch trains all weights: leave out the options of adapters"
            )
