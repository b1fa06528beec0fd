"""``dialint score LOG... --out verdicts.jsonl``: the main job, from a log to verdicts and their manifest.

Reads logs and a release; writes the verdicts, ``*.rejects.jsonl`` and ``*.manifest.json`` beside them,
or, without ``--out``, a report on standard output. The same command after a crash goes on where it
stopped; no model, no score. Exit codes: 0 done, 1 ``--fail-on`` found something, 2 the input or the
options are wrong, 3 too many bad records or failures, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dialint.detector.detectors import Detector, DetectorConfig
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.records import Severity
from dialint.detector.watchdog import WatchConfig, Watched

OutputFormat = Literal["auto", "text", "jsonl", "parquet", "csv", "junit", "sarif"]

ENDINGS: dict[str, OutputFormat] = {
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".csv": "csv",
    ".xml": "junit",
    ".sarif": "sarif",
}


@dataclass(frozen=True)
class ScoreConfig:
    """Options of ``dialint score``."""

    out: Path | None = None
    """Write verdicts to this file (.jsonl, .parquet, .csv; .xml and .sarif are reports), with its
    rejects and manifest beside it. Without it a report goes to standard output. Its files are for you only
    (mode 0600), as they quote dialogues, if masked; chmod shares them."""

    format: OutputFormat = "auto"
    """Format of the output; `auto` goes by the ending of --out."""

    fail_on: Severity | None = None
    """Exit with 1 if a reported finding is this severe or more severe, and with 3 if none is, but too many
    dialogues (--max-failed) are in languages that the release does not cover."""

    codes: tuple[str, ...] = ()
    """Report only these codes or categories, for instance C1,T."""

    min_severity: Severity = "S4"
    """Report only findings this severe or more severe."""

    all_probabilities: bool = False
    """Add the probability of every agent turn and code."""

    limit: int | None = None
    """Stop after this many dialogues."""

    max_failed: float = 0.05
    """Share of dialogues that could not be judged above which the job stops. Those in languages that the
    release does not cover count with --fail-on only."""

    chunk_size: int = 128
    """Dialogues that are judged, written and made durable together."""

    restart: bool = False
    """Throw away what an interrupted job has done and start anew."""

    quiet: bool = False
    """No progress, no closing table."""

    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """How logs are read."""

    detector: Annotated[DetectorConfig, Parameter(name="*")] = field(default_factory=DetectorConfig)
    """What judges them."""

    watch: Annotated[WatchConfig, Parameter(name="*")] = field(default_factory=WatchConfig)
    """What one dialogue may take."""

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigError("E_OPTION", "--limit: expected at least 1")
        if self.chunk_size < 1:
            raise ConfigError("E_OPTION", "--chunk-size: expected at least 1")
        if not 0.0 <= self.max_failed <= 1.0:
            raise ConfigError("E_OPTION", "--max-failed: expected a share between 0 and 1")
        if self.out is not None and self.out.suffix not in ENDINGS and self.format == "auto":
            raise ConfigError("E_OPTION", f"--out {self.out}: expected an ending of {', '.join(ENDINGS)}")
        if self.out is not None and self.output_format == "text":
            raise ConfigError("E_OPTION", "--format text is for reading on a screen; leave --out away")
        if self.out is None and self.format == "parquet":
            raise ConfigError("E_OPTION", "--format parquet needs --out")

    @property
    def output_format(self) -> OutputFormat:
        """The format that is written."""
        if self.format != "auto":
            return self.format
        return "text" if self.out is None else ENDINGS[self.out.suffix]


def score(
    *logs: Annotated[str, Parameter(allow_leading_hyphen=True)],
    config: Annotated[ScoreConfig, Parameter(name="*")] = ScoreConfig(),
) -> int:
    """Find the errors in dialogue logs.

    Parameters
    ----------
    logs
        Log files, globs, or - for standard input.
    """
    for log in logs:
        if log.startswith("-") and log != "-":
            raise ConfigError(
                "E_OPTION", f"unknown option {log}{_nearest(log)}; `dialint score --help` lists all"
            )
    return run(logs, config)


def _nearest(typed: str) -> str:
    """The option that was probably meant."""
    from dataclasses import fields
    from difflib import get_close_matches

    groups = (ScoreConfig, ReadConfig, DetectorConfig, WatchConfig)
    names = ["--" + field.name.replace("_", "-") for group in groups for field in fields(group)]
    near = get_close_matches(typed.partition("=")[0], names, 1)
    return f"; did you mean {near[0]}?" if near else ""


def run(logs: Sequence[str], config: ScoreConfig, detector: Detector | None = None) -> int:
    """Score `logs` as `config` says and return the exit code. Tests give a `detector` of their own.

    Raises:
        UserError: the input, an option, the release or the output is wrong (exit 2), or too much is bad
            (exit 3).
        WorldError: the disk is full or failed; the same command goes on later.
    """
    if not logs:
        raise ConfigError("E_OPTION", "no log was named; give files, globs, or - for standard input")
    from dialint.app.scoring.loop import done_already, score_to_file
    from dialint.app.scoring.screen import score_to_screen

    if config.out is not None and detector is None:
        code = done_already(logs, config, config.out)
        if code is not None:
            return code
    with _watched(config, detector) as judge:
        if config.out is None:
            return score_to_screen(logs, config, judge)
        return score_to_file(logs, config, config.out, judge)


def _watched(config: ScoreConfig, detector: Detector | None) -> AbstractContextManager[Detector | None]:
    """What judges, in a process of its own unless the user wants no limits. It starts before the output is
    locked, so that it never holds the lock of a job that was killed."""
    if not config.watch.dialogue_seconds:
        return nullcontext(detector)
    return Watched(detector or config.detector, config.watch, say)


def say(line: str) -> None:
    """One line for the person at the terminal."""
    sys.stderr.write(f"dialint: {line}\n")
