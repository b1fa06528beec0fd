"""The content of `throughput.yaml`: measured rates, GPUs, and what `dialint eval plan` assumes of others."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dialint.detector.records import Record
from dialint.detector.yaml_document import read_document

THROUGHPUT = Path(__file__).parent / "throughput.yaml"

Range = tuple[float, float, float]
"""Lowest, expected and highest value; equal where it is measured or given."""


class Measurement(Record):
    """A rate that was measured on one core or one GPU."""

    stage: Literal["scan"]
    model: str
    device: str
    tokens_per_second: Annotated[float, Field(gt=0)]
    what: str
    date: date
    machine: str
    versions: str
    source: str


class Gpu(Record):
    """A GPU; `measured_tflops` is what large matrix products reached on one."""

    name: str
    memory_gb: Annotated[float, Field(gt=0)]
    data_sheet_tflops: Annotated[float, Field(gt=0)]
    measured_tflops: Annotated[float | None, Field(gt=0)] = None
    source: str


class Assumptions(Record):
    """What a plan takes for granted where nothing was measured."""

    reached_of_data_sheet: Annotated[float, Field(gt=0, le=1)]
    prompt_utilisation: Range
    answer_utilisation: Range
    weights_share: Annotated[float, Field(gt=0, le=1)]
    system_tokens: Annotated[float, Field(ge=0)]
    question_tokens: Annotated[float, Field(ge=0)]
    screen_tokens: Annotated[float, Field(ge=0)]


class Throughput(Record):
    """The content of `throughput.yaml`."""

    version: date
    measurements: tuple[Measurement, ...]
    gpus: tuple[Gpu, ...]
    assumptions: Assumptions


def load_throughput(path: Path = THROUGHPUT) -> Throughput:
    """The measured rates and the assumptions."""
    return Throughput.model_validate(read_document(path, "E_THROUGHPUT").value, strict=False)
