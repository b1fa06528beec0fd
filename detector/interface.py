"""The interface of every detector, and the configuration of `ReleaseDetector`.

Command lines are built from `DetectorConfig`, so this module imports no heavy library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from dialint.detector.environment import has_gpu
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import Taxonomy

if TYPE_CHECKING:  # they import heavy libraries
    from dialint.detector.log_profile import LogProfile
    from dialint.detector.overrides import JudgeContract
    from dialint.detector.release import ReleaseInfo


@dataclass
class Monitor:
    """Receives the progress of a detector while it judges, and the costs so far."""

    on_step: Callable[[int | None], None] = lambda position: None
    """Called before each step that may take long: with the position of the dialogue that is masked, rendered
    or judged, or None for a row that goes through the model."""
    on_progress: Callable[[int], None] = lambda n_done: None
    """Called after each dialogue, or after several in a process of their own, with the number of dialogues of
    this call of `Detector.verdicts` that are done."""
    on_defect: Callable[[str], None] = lambda line: print(f"dialint: {line}", file=sys.stderr)
    """Called with a line without dialogue text for each dialogue that failed by a defect (E_INTERNAL)."""
    tokens: int = 0
    """Tokens that went through the model."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall-clock seconds by stage: ``mask`` (with languages), ``scan`` (with the windows),
    ``checks`` (with decisions), ``judge``."""
    cpu_seconds: Callable[[], float] = lambda: 0.0
    """CPU seconds of the living processes that judge for this one."""

    def reset(self) -> None:
        """Resets the costs."""
        self.tokens = 0
        self.seconds.clear()

    def add_seconds(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds


@dataclass
class JudgeUsage:
    """The questions to the judge and their costs. `unquoted` counts errors whose quote was not in the turn,
    `shortened` questions that show a turn without its middle, as it does not fit the judge's context."""

    questions: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    allowed: float = 0.0
    spent: float = 0.0
    unquoted: int = 0
    shortened: int = 0
    failures: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JudgeInfo:
    """The judge of a detector, for those who report on it: `fingerprint` is that of its engine, `notes` are
    the engine's messages to the user, `max_prompt_tokens` is the limit of a question, `contract` the measured
    calibration, `usage` the costs so far."""

    name: str
    fingerprint: str
    notes: tuple[str, ...]
    max_prompt_tokens: int
    contract: JudgeContract | None
    usage: JudgeUsage


@dataclass(frozen=True)
class DetectorFacts:
    """The properties of a `Detector` in another process."""

    release: str
    fingerprint: str
    codes: tuple[str, ...]
    info: ReleaseInfo | None

    @classmethod
    def of(cls, detector: Detector) -> DetectorFacts:
        return cls(detector.release, detector.fingerprint, tuple(detector.codes), detector.info)


class Detector(Protocol):
    """Anything that judges dialogues."""

    @property
    def release(self) -> str:
        """Id that every verdict carries."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that can change a verdict: weights, taxonomy, overrides, engine options."""

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy that defines its codes."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it covers; all others are not covered, which is not the same as clean."""

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        """One verdict for each dialogue, in order. A dialogue that cannot be judged gets a failed one."""

    @property
    def info(self) -> ReleaseInfo | None:
        """The description of the release that judges, if one does."""

    @property
    def judge_info(self) -> JudgeInfo | None:
        """The judge of the detector, if any, with its usage."""

    @property
    def monitor(self) -> Monitor:
        """Reports and costs."""

    def with_log(self, log: LogProfile) -> Detector:
        """The detector for dialogues of a log with this profile."""


class PlainDetector:
    """The part of a `Detector` without a release and a judge, which ignores the profile of the log."""

    info: ReleaseInfo | None = None
    judge_info: JudgeInfo | None = None

    @cached_property
    def monitor(self) -> Monitor:
        return Monitor()

    def with_log(self, log: LogProfile) -> Self:
        return self


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads() -> int:
    """CPU threads of a model where no option says so: OMP_NUM_THREADS if it is set, else one for each core.

    Two processes with two spinning threads each on two cores: a small decoder wrote twenty times slower
    (2026-11-24).
    """
    requested = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(requested) if requested.isdigit() and int(requested) else available_cores()


def runs_by_onnx(config: DetectorConfig, backbone: Mapping[str, Any]) -> bool:
    """Returns whether ONNX Runtime scans, without torch, with a backbone of this ``config.json``: on CPUs, if
    the graph is supported (`dialint.detector.engines.onnx_scan`)."""
    on_cpu = config.device == "cpu" or (config.device == "auto" and not has_gpu())
    return (
        on_cpu
        and config.precision == "auto"
        and backbone.get("model_type") == "bert"
        and backbone.get("hidden_act", "gelu") == "gelu"
        and backbone.get("position_embedding_type", "absolute") == "absolute"
        and not backbone.get("is_decoder")
    )


@dataclass(frozen=True)
class DetectorConfig:
    """The release that judges, and how it runs."""

    release: Path | None = None
    """Folder of a release, current, the one promoted last (`dialint release promote`), or smollm2, a larger
    one (after `dialint base fetch smollm2`); without it the embedded one."""
    taxonomy: Path | None = None
    """A taxonomy file of your own."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Arithmetic of the model; auto takes bf16 where the processor computes it."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto takes a GPU if there is one."""
    threads: int = 0
    """CPU threads, and processes that judge at once; 0 for OMP_NUM_THREADS if it is set, else every core this
    process may use."""
    policy: tuple[Path, ...] = ()
    """Policy files, for the codes P1 to P4. A dialogue that names a policy is judged by that one; one that
    names none by the only one, or by the one of several that lists most of the tools it calls."""
    check: tuple[Path, ...] = ()
    """Python files with exact checks of your own, which are executed; `dialint.detector.checks` says how to
    write one. Without a measured precision a check only suggests."""
    overrides: Path | None = None
    """File (YAML or JSON) of what your team measured: codes that are only suggested, thresholds of your own,
    a spot check of this log, contracts. `dialint label demote`, `eval contract`, `eval judge` and the
    Releases page of the console write it."""
    scan: Literal["auto", "off"] = "auto"
    """off: no model is loaded, and only exact checks and policies judge. Codes that only the scan finds are
    not covered then. auto: the same where nothing of the scan would be reported."""
    domain: Literal["auto", "trust"] = "auto"
    """What a log means that is far from what the release was calibrated on: with auto the scan's findings are
    suggestions there, of tempered probability; with trust nothing, for instance after
    `dialint eval spot-check` on this log."""
    languages: tuple[str, ...] = ()
    """Language of the dialogues, for instance de, instead of the detected one; of several (en,de) one is
    detected for each turn. Turns in a language that the release does not cover are not judged."""
