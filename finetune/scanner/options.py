"""The options of ``dialint train sft scan`` and ``dialint train distill``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.option_ranges import check_ranges
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions

ALL_WEIGHTS = AdapterOptions(adapter="none")
DEFAULT_RUN = RunOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
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

    def __post_init__(self) -> None:
        check_ranges(self)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DistillConfig:
    """Options of `dialint train distill`."""

    teacher: Path
    """A release, the folder of a trained scanner, or a JSONL file of a judge's answers."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Logs to train on; they need no labels."""
    out: Path
    """Folder for the student."""
    base: Path | None = None
    """What the student starts from: a backbone (a folder or a name on a hub), or a scanner's folder."""
    layers: Annotated[int | None, Field(ge=1)] = None
    """Keep so many layers of the base, evenly spread; without a base, of the teacher itself."""
    examples: Path | None = None
    """Examples of `dialint data inject` to train on beside; dialogues of their evaluation sets are left out
    of the logs."""
    label_weight: Annotated[float, Field(ge=0)] = 1.0
    """Weight of the loss on the examples' labels beside the teacher's scores."""
    temperature: Annotated[float, Field(gt=0)] = 2.0
    """Divisor of the logits in soft targets and loss; higher gives more weight to unlikely codes."""
    span_weight: Annotated[float, Field(ge=0)] = 0.5
    """Weight of the evidence loss beside the turn loss."""
    prefix_share: Annotated[float, Field(ge=0)] = 0.25
    """Share of dialogues that are trained on as they stood in the middle."""
    epochs: Annotated[float, Field(gt=0)] = 1.0
    """Passes over the dialogues."""
    tokens: Annotated[int | None, Field(ge=1)] = None
    """Tokens to train on, at most, whatever the passes."""
    row_tokens: Annotated[int, Field(ge=1)] = 4096
    """Tokens in one training step."""
    context_tokens: Annotated[int | None, Field(ge=1)] = None
    """Tokens that a new student sees at once, as in `train sft scan`; a scanner keeps its own."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak rate of the backbone."""
    head_learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    """Peak rate of the heads."""
    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """How logs are read."""
    running: RunOptions = field(default_factory=RunOptions)
    """How it runs."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def scan_config(self, base: Path | None = None) -> ScanConfig:
        """Options of a new student on `base`, and of the loss on labelled examples."""
        return ScanConfig(
            examples=self.examples or Path(),
            base=base or Path(),
            out=self.out,
            span_weight=self.span_weight,
            context_tokens=self.context_tokens,
            epochs=self.epochs,
            running=self.running,
        )
