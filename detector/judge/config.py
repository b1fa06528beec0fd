"""Which judge is asked, and how. Command lines are built from `JudgeConfig`; no heavy library is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_ranges

EngineKind = Literal["local", "vllm", "http"]


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """The judge that a scoring job asks after the scan."""

    judge: str | None = None
    """The LLM that judges what the scan flags, and the codes that it does not cover: local:FOLDER, in this
    process; vllm:FOLDER, in vLLM in this process; http:URL, any OpenAI-compatible server (for instance
    http://127.0.0.1:8000/v1). A folder is that of a base model or of `dialint train sft judge`."""

    judge_model: str | None = None
    """Name of the model or adapter on the server; without it the only one that the server lists."""

    judge_key_file: Path | None = None
    """File with the server's API key; without it the environment variable DIALINT_JUDGE_KEY, if there is
    one."""

    judge_timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds after which a request to the server is given up, and tried again."""

    judge_outage_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds without any answer of the server after which the job stops; the same command goes on later."""

    judge_context: Annotated[int | None, Field(ge=512)] = None
    """Tokens of the model's context; without it what the server or the model says, else 8192."""

    judge_concurrency: Annotated[int, Field(ge=1, le=1024)] = 64
    """Most requests at a time; fewer are sent where the server answers more slowly with more."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.judge is not None:
            parse_judge(self.judge)


def parse_judge(value: str) -> tuple[EngineKind, str]:
    """Splits the value of ``--judge`` into the engine's kind and its folder or URL.

    Raises:
        ConfigError: E_OPTION, it has none of the three forms, or a key stands in the URL.
    """
    kind, _, rest = value.partition(":")
    if kind in ("http", "https") and rest.startswith("//"):
        kind, rest = "http", value
    if kind not in ("local", "vllm", "http") or not rest:
        raise ConfigError("E_OPTION", "--judge: expected local:FOLDER, vllm:FOLDER or http:URL")
    if kind == "http" and ("@" in rest.partition("//")[2].partition("/")[0] or "?" in rest):
        raise ConfigError(
            "E_OPTION", "--judge: a URL with a user or a key in it; keys belong into DIALINT_JUDGE_KEY"
        )
    return kind, rest  # type: ignore[return-value]
