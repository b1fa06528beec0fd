"""Stage ``dialint label watch``: who in a crowd answers without reading, too fast, or from a shared sheet.

Reads a table of task, worker, label (optionally code and seconds), or the answers in a store. Returns the
flags and, with ``--out``, writes them with the figures of every worker as JSON. A flag is a reason for a
review, not a verdict; it excludes nobody's answers from anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import require_new_files
from dialint.detector.errors import ConfigError
from dialint.labeling.raters.flags import WORDS_PER_MINUTE, FlagRule
from dialint.labeling.raters.reports import Report, make_report, write_report

if TYPE_CHECKING:
    from dialint.labeling.aggregation.answers import Answers, Floats
    from dialint.labeling.raters.anomalies import CrowdAnomalies

    Crowd = tuple[Mapping[str, Answers], Answers | None, Floats | None, Floats | None]


@Parameter(name="*")
@dataclass(frozen=True)
class WatchConfig:
    """Whose answers are checked, and how strictly."""

    annotations: Path | None = None
    """Crowd table with columns task, worker, label and, if it has them, code and seconds. Without it the
    answers in the store are checked."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the flags in any case."""
    sure: float = 0.95
    """Probability of knowing nothing from which a worker is flagged."""
    rate: float = 0.01
    """False discovery rate of the flags for speed and of those for copying."""
    words_per_minute: float = WORDS_PER_MINUTE
    """Faster than anybody reads: answers that took less are flagged, where the dialogues are known (in the
    store); 0 flags none."""
    last_wins: Annotated[bool, Parameter(negative=())] = False
    """Of a worker's several answers to a task take the last; without, they are refused."""

    def __post_init__(self) -> None:
        FlagRule(self.sure, self.rate, self.words_per_minute)


def run(config: WatchConfig, stored: Callable[[], Crowd] | None = None) -> Report:
    """Compute all flags and figures, of the table or of the `stored` answers, and write them to `out` if it
    is set.

    Raises:
        ConfigError: neither is given.
        InputRefused: the table is bad; the message names file and line.
        OutputRefused: `out` exists.
    """
    from dialint.labeling.raters.anomalies import find_anomalies

    require_new_files(config.out)

    def figures() -> Mapping[str, Any]:
        rule = FlagRule(config.sure, config.rate, config.words_per_minute)
        anomalies = find_anomalies(*(_read_table(config) if stored is None else stored()), rule)
        return {
            "flags": [asdict(flag) for flag in anomalies.flags],
            "workers": dict(zip(anomalies.workers, _figures(anomalies), strict=True)),
        }

    inputs = [config.annotations]
    report = make_report("watch", asdict(config), figures, inputs=inputs, libraries=("numpy", "scipy"))
    write_report(report, config.out)
    return report


def _read_table(config: WatchConfig) -> Crowd:
    from dialint.labeling.aggregation.crowd_tables import read_answers

    if config.annotations is None:
        raise ConfigError("E_OPTION", "--annotations names no table")
    return read_answers(config.annotations, config.last_wins), None, None, None


def rows(report: Report) -> list[list[str]]:
    """The flags as a table for the terminal, headings first."""
    from dialint.labeling.raters.flags import format_certainty

    flags = [
        [flag["kind"], ", ".join(flag["workers"]), str(flag["n"]), format_certainty(flag), flag["why"]]
        for flag in report["flags"]
    ]
    return [["flag", "workers", "n", "certainty", "why"], *flags]


def _figures(anomalies: CrowdAnomalies) -> list[dict[str, float | None]]:
    """The figures of each worker, none where they are not defined."""
    competence, times = anomalies.competence, anomalies.response_times
    columns = {
        "answers": competence.n,
        "slope": competence.slope,
        "slope_spread": competence.spread,
        "knows_nothing": competence.no_knowledge,
        "commonest_answer": competence.commonest,
        "timed": times.n,
        "fast": times.fast,
        "unread": times.unread,
        "median_seconds": times.median,
    }
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [
        {name: None if math.isnan(value) else value for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]
