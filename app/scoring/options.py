"""The options of ``dialint score``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.app.store_session import DEFAULT_SESSION, Session
from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Severity
from dialint.detector.watchdog import WatchConfig

OutputFormat = Literal["text", "jsonl", "parquet", "csv", "junit", "sarif"]

ENDINGS: dict[str, OutputFormat] = {
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".csv": "csv",
    ".xml": "junit",
    ".sarif": "sarif",
}


GROWING = (".jsonl", ".parquet", ".csv")
"""Endings of outputs that ``--only-new`` can update."""


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """Options of ``dialint score --cluster``."""

    cluster: Literal["ray"] | None = None
    """Judge by actors of a Ray cluster: same verdicts, same files, resumed by the same command. The cluster
    is that of RAY_ADDRESS (HOST:PORT, or auto for the one that this machine belongs to); without it Ray is
    started on this machine for this command alone."""

    actors: Annotated[int | None, Field(ge=1)] = None
    """Actors that judge, each with --threads CPUs (1 if that is 0), with --device cuda also a GPU; without it
    as many as the cluster has room for."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.cluster is None and self.actors is not None:
            raise ConfigError("E_OPTION", "--actors needs --cluster ray")


@dataclass(frozen=True, kw_only=True)
class ScoreConfig:
    """Options of ``dialint score``."""

    out: Path | None = None
    """Write verdicts to this file, or object s3://BUCKET/KEY (.jsonl, .parquet, .csv; .xml and .sarif are
    reports), with its rejects and manifest beside it. Without it a report is printed. Files are
    for you only (mode 0600), as they quote dialogues, if masked; chmod shares them."""

    metrics: Annotated[Path | None, Parameter(name="--metrics")] = None
    """With --out: write what the manifest counts to this file (.prom), for the textfile collector of
    Prometheus' node_exporter, which may read it: it has no text and no id of a dialogue."""

    format: Literal["text", "jsonl"] = "text"
    """Format of what is printed without --out."""

    fail_on: Severity | None = None
    """Exit with 1 if a reported finding is this severe or more severe, and with 3 if none is, but too many
    dialogues (--max-failed) were not judged as a whole: the judge gave no usable answer, no agent speaks, the
    language is not covered, or no policy of --policy applies."""

    codes: tuple[str, ...] = ()
    """Report only these codes or categories, for instance C1,T."""

    all_probabilities: bool = False
    """Add the probability of every agent turn and code."""

    limit: Annotated[int | None, Field(ge=1)] = None
    """Stop after this many dialogues. A job that was interrupted goes on with a larger number, or without."""

    max_failed: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Share of dialogues that could not be judged, by the release or by --judge, above which the job stops.
    Those without an agent's turn, in languages that the release does not cover, or to which no policy of
    --policy applies count with --fail-on only."""

    chunk_size: Annotated[int, Field(ge=1)] = 128
    """Dialogues that are scored, written and made durable together."""

    restart: bool = False
    """Start anew: discard what an interrupted job has done, and replace an output that is complete."""

    only_new: bool = False
    """Judge only dialogues that the output lacks, or that have changed since, and replace their verdicts in
    it: the same command every night, over files that grow. VERDICTS.state beside the output says what each
    verdict is of; without it all are judged again."""

    watch_s: Annotated[float | None, Field(gt=0, le=86_400), Parameter(name="--watch")] = None
    """With --only-new: look again after this many seconds, until SIGTERM."""

    import_: Annotated[bool, Parameter(name="--import")] = False
    """With --only-new: put the dialogues and verdicts into the store as they are made. Newer ones replace
    older ones, unless people have answered about what is different now."""

    quiet: bool = False
    """No progress, no summary table."""

    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """Options of reading."""

    detector: Annotated[DetectorConfig, Parameter(name="*")] = field(default_factory=DetectorConfig)
    """Options of the detector."""

    judge: Annotated[JudgeConfig, Parameter(name="*")] = field(default_factory=JudgeConfig)
    """Options of the judge."""

    watch: Annotated[WatchConfig, Parameter(name="*")] = field(default_factory=WatchConfig)
    """Limits of one dialogue."""

    cluster: Annotated[ClusterConfig, Parameter(name="*")] = field(default_factory=ClusterConfig)
    """Options of a cluster."""

    session: Session = DEFAULT_SESSION
    """The store of --import."""

    def __post_init__(self) -> None:
        check_ranges(self)
        out = self.out
        if self.only_new and (out is None or out.suffix not in GROWING or out.parts[0] == "s3:"):
            raise ConfigError("E_OPTION", f"--only-new: needs --out, a file here ({', '.join(GROWING)})")
        if not self.only_new and (self.watch_s is not None or self.import_):
            raise ConfigError("E_OPTION", "--watch and --import need --only-new")
        if self.import_:
            require_library("sqlalchemy", "--import")
        if self.out is not None and self.out.suffix not in ENDINGS:
            raise ConfigError("E_OPTION", f"--out {self.out}: expected an ending of {', '.join(ENDINGS)}")
        if self.metrics is not None:
            require_library("prometheus_client", "--metrics")
            if self.out is None:
                raise ConfigError("E_OPTION", "--metrics needs --out")
        if self.out is not None and self.output_format == "parquet":
            require_library("pyarrow", f"--out {self.out}")
        if self.out is not None and self.format != "text":
            raise ConfigError(
                "E_OPTION", "--format is of what is printed: omit it, the ending of --out decides"
            )

    @property
    def output_format(self) -> OutputFormat:
        return self.format if self.out is None else ENDINGS[self.out.suffix]
