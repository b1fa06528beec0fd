"""The options of `dialint train sft judge`, which trl's trainer and the private one share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.judge import Detail
from dialint.detector.option_ranges import check_ranges
from dialint.eval.questions import QuestionConfig
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions, ScheduleOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SftJudgeConfig:
    """Options of `dialint train sft judge`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    model: str
    """Base model: a folder, one of an earlier stage, small_decoder (it ships), or a name on a hub,
    org/name or org/name@revision."""
    out: Path
    """Folder for the judge."""
    questions: Annotated[int, Field(ge=1)] = 16
    """Questions in one forward pass (batch size)."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak learning rate."""
    prompt_tokens: Annotated[int, Field(ge=64)] = 1024
    """Maximum tokens of a prompt."""
    detail: Detail = "short"
    """How much of a code's taxonomy entry the prompt has."""
    packed: bool = True
    """Pack questions end to end; false: pad them, as trl does by itself."""
    dev_questions: Annotated[int, Field(ge=1)] = 400
    """Questions of the dev split that are evaluated during training."""
    private_epsilon: Annotated[float | None, Field(gt=0)] = None
    """Train with differential privacy: the epsilon of what a single dialogue may change."""
    private_delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    """The delta beside --private-epsilon; must be far below one over the number of dialogues."""
    question_config: QuestionConfig = field(default_factory=QuestionConfig)
    learning: ScheduleOptions = field(default_factory=ScheduleOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def forward_answers(self) -> int:
        """Questions with an answer in one forward pass."""
        return self.questions
