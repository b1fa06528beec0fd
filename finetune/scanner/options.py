"""The options of ``dialint train sft scan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.option_ranges import command_options
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions

ALL_WEIGHTS = AdapterOptions(adapter="none")
DEFAULT_RUN = RunOptions()


@command_options
class ScanConfig:
    """Options of `dialint train sft scan`."""

    examples: Path
    """Folder of `dialint data inject` or `dialint export dataset`."""
    base: Path
    """Base model: a folder, embedded or small_decoder (they ship), smollm2 or minilm (`dialint base fetch`),
    or a name on a hub. Of a release its backbone is taken."""
    out: Path
    """Folder for the trained scanner."""
    taxonomy: Path | None = None
    """A taxonomy of your own, which the examples are labelled by."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes to train; none: every code that the training labels name."""
    layers: Annotated[int | None, Field(ge=1)] = None
    """Read the hidden states of this layer of the base, the ones behind it are left out; none: the last."""
    new_heads: bool = False
    """Begin with new heads, also where the base is a release, whose own are otherwise continued."""
    epochs: Annotated[float, Field(ge=0)] = 0.0
    """Passes over the training file that train the base too. With 0 it stays as it is: each example goes
    through it once, and the heads are fitted by logistic regression."""
    tokens: Annotated[int | None, Field(ge=1)] = None
    """Tokens to train on, at most, whatever the passes."""
    row_tokens: Annotated[int, Field(ge=1)] = 4096
    """Tokens in one forward pass."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Forward passes in one step."""
    context_tokens: Annotated[int | None, Field(ge=1)] = None
    """Tokens the model sees at once; none: 500 of an encoder, 1,400 of a decoder."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak rate of the backbone."""
    head_learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    """Peak rate of the heads."""
    span_weight: Annotated[float, Field(ge=0)] = 0.5
    """Weight of the evidence loss beside the turn loss."""
    history: bool | None = None
    """Mark for the model which words occurred before, and in whose turns; unset: where the base is trained
    too, or is a scanner that is told."""
    prefix_share: Annotated[float, Field(ge=0)] = 0.25
    """Share of dialogues that are also trained on up to one of their turns only."""
    eval_steps: Annotated[int, Field(ge=1)] = 200
    """Steps between two evaluations on dev."""
    patience: Annotated[int | None, Field(ge=1)] = None
    """Evaluations without improvement of the macro average precision on dev after which training stops, and
    the best weights are kept; none: train to the end, keep the last."""
    adapters: AdapterOptions = ALL_WEIGHTS
    running: RunOptions = DEFAULT_RUN
