"""The options of `dialint train sft judge`, which trl's trainer and the private one share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.option_ranges import check_ranges
from dialint.eval.labelled import SelectionConfig
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions, ScheduleOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SftJudgeConfig:
    """Options of `dialint train sft judge`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    base: str
    """Base model: a folder, one of an earlier stage, small_decoder (it ships), smollm2 (`dialint base
    fetch`), or a name on a hub, org/name or org/name@revision."""
    out: Path
    """Folder for the judge."""
    questions: Annotated[int, Field(ge=1)] = 8
    """Questions (dialogues, or parts of long ones) in one forward pass (batch size)."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak learning rate."""
    prompt_tokens: Annotated[int, Field(ge=64)] = 2048
    """Maximum tokens of a prompt; a longer dialogue is asked about in parts."""
    detail: Literal["full", "short"] = "short"
    """Code entries in the prompt: definition and examples (full), or the test alone (short)."""
    dev_questions: Annotated[int, Field(ge=1)] = 400
    """Questions of the dev split whose loss is computed at each evaluation."""
    dev_answers: Annotated[int, Field(ge=0)] = 64
    """Questions of the dev split that the judge answers at each evaluation."""
    private_epsilon: Annotated[float | None, Field(gt=0)] = None
    """Train with differential privacy: the epsilon of what a single dialogue may change."""
    private_delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    """The delta beside --private-epsilon; must be far below one over the number of dialogues."""
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    learning: ScheduleOptions = field(default_factory=ScheduleOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def forward_answers(self) -> int:
        """Questions with an answer in one forward pass."""
        return self.questions
