"""The interface of every detector, and the configuration of `ReleaseDetector`.

Command lines are built from `DetectorConfig`, so this module imports no heavy library.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import Taxonomy


class Detector(Protocol):
    """Anything that judges dialogues."""

    @property
    def release(self) -> str:
        """Id that every verdict carries."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of all that can change a verdict: weights, taxonomy, thresholds, engine options."""
        ...

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy that defines its codes."""
        ...

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it covers; all others are not covered, which is not the same as clean."""
        ...

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        """One verdict for each dialogue, in order. A dialogue that cannot be judged gets a failed one."""
        ...


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


@dataclass(frozen=True)
class DetectorConfig:
    """Which release judges, and how it runs."""

    release: Path | None = None
    """Folder of a release, or current, the one promoted last (`dialint release promote`); without it the
    embedded one."""
    taxonomy: Path | None = None
    """A taxonomy file of your own."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Arithmetic of the model; auto takes bf16 where the processor computes it."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto takes a GPU if there is one."""
    threads: int = 0
    """CPU threads of the model; 0 for OMP_NUM_THREADS if it is set, else every core this process may use."""
    row_tokens: int = 4096
    """Tokens that go through the model together."""
    policy: tuple[Path, ...] = ()
    """Policy files, for the codes P1 to P4. A dialogue that names a policy is judged by that one; one that
    names none by the only one, or by the one of several that lists most of the tools it calls."""
    check: tuple[Path, ...] = ()
    """Python files with exact checks of your own, which are executed; `dialint.detector.checks` says how to
    write one. Without a measured precision a check only suggests."""
    demoted: Path | None = None
    """File of `dialint label demote`: findings of the codes in it, which people seldom confirm, are
    suggestions."""
    spot_check: Path | None = None
    """File of `dialint eval tally --apply`: findings of codes that were seldom right on this log are
    suggestions, and probabilities are scaled to what was measured."""
    thresholds: Path | None = None
    """File of own thresholds by code, for one release, as the Releases page of the console writes it. A
    raised threshold turns findings of the scan into suggestions; one under the release's adds suggestions
    only."""
    domain: Literal["auto", "trust"] = "auto"
    """What a log means that is far from what the release was calibrated on: with auto the scan's findings are
    suggestions there, of tempered probability; with trust nothing, for instance after
    `dialint eval spot-check` on this log."""
    engine: str = "local"
    """Where the scan's model runs: local, in this process, or the URL of a vLLM server with what
    `dialint train export` made of the release, for instance http://127.0.0.1:8000. It is sent masked text
    only, as token ids. Precision and device are the server's then."""
    languages: tuple[str, ...] = ()
    """Language of the dialogues, for instance de, instead of the detected one; of several (en,de) one is
    detected for each turn. Turns in a language that the release does not cover are not judged."""
