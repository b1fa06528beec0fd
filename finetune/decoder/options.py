"""The options of ``dialint train pretrain``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.option_ranges import check_ranges
from dialint.finetune.train.options import RunOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PretrainConfig:
    """Options of `dialint train pretrain`."""

    corpus: Path
    """Folder of train-*.parquet, heldout-*.parquet and manifest.json."""
    out: Path
    """Folder for the decoder."""
    base: Path | None = None
    """A decoder to train further, a folder or a name on a hub; none: the small one, from random weights."""
    depth: Annotated[int, Field(ge=1, le=64)] = 6
    """Layers of the small decoder; width, heads and all else follow from it."""
    vocabulary: int = 8192
    """Tokens of the small decoder's tokenizer."""
    style: Literal["template", "plain"] = "template"
    """How dialogues are written for a base: by its chat template, if it has one, or in plain words."""
    chat_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of dialogues that the small decoder reads in its chat template rather than in role marks."""
    languages: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Languages to read; none: all."""
    epochs: Annotated[float, Field(gt=0)] = 4.0
    """Passes over the training dialogues, at most."""
    row_tokens: Annotated[int, Field(ge=16)] = 1024
    """Tokens the model sees at once; dialogues are packed into rows of this length."""
    rows: Annotated[int, Field(ge=1)] = 4
    """Rows in one step; each is a forward pass."""
    learning_rate: Annotated[float | None, Field(gt=0)] = None
    """Peak rate; none: 2e-3 for the small decoder, 5e-5 for a base."""
    warm_up: Annotated[float, Field(ge=0, le=1)] = 0.03
    """Share of steps in which the rate rises."""
    eval_steps: Annotated[int, Field(ge=1)] = 200
    """Steps between two evaluations on held-out dialogues."""
    heldout_per_source: Annotated[int, Field(ge=1)] = 50
    """Held-out dialogues of each source in those evaluations; at the end all are evaluated."""
    patience: Annotated[int, Field(ge=1)] = 5
    """Evaluations without improvement after which training stops."""
    dtype: Literal["fp32", "bf16"] = "bf16"
    """Type of the weights in the file."""
    running: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def peak_rate(self) -> float:
        """The learning rate at its peak."""
        return self.learning_rate or (5e-5 if self.base else 2e-3)
