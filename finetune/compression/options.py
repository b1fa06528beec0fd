"""The options of ``dialint train distill``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.option_ranges import check_ranges
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.options import RunOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DistillConfig:
    """What `dialint train distill` needs to know."""

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
    from_scratch: bool = False
    """Start from random weights of that shape."""
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
    context_tokens: Annotated[int, Field(ge=1)] = 500
    """Tokens that a new student sees at once; a scanner keeps its own."""
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

    @property
    def scan_config(self) -> ScanConfig:
        """Options of the loss on labelled examples."""
        examples, base = self.examples or Path(), self.base or Path()
        return ScanConfig(examples=examples, base=base, out=self.out, span_weight=self.span_weight)
