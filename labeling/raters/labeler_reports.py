"""Stages ``dialint label watch`` and ``dialint label quality``: suspicions, and how good each one's work is.

``watch`` reads a table of task, worker, label (optionally code and seconds), or the answers in a store: who
answers without reading, too fast, or from a shared sheet. A flag is a reason for a review, not a verdict; it
excludes nobody's answers from anything. ``quality`` reads our annotations (JSONL), the dialogues they are
about and, with ``--gold``, gold; or all of it from a store. Where answers are too few for a figure, it is
left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dialint.detector.errors import ConfigError, InputRefused
from dialint.labeling.raters.flags import WORDS_PER_MINUTE, format_certainty

if TYPE_CHECKING:
    from dialint.detector.records import Dialogue
    from dialint.labeling.aggregation.answers import Answers, Floats
    from dialint.labeling.annotation import Annotation
    from dialint.labeling.raters.anomalies import CrowdAnomalies
    from dialint.labeling.raters.people import Gold
    from dialint.labeling.raters.reports import Report

    Crowd = tuple[Mapping[str, Answers], Answers | None, Floats | None, Floats | None]
    Sources = tuple[Iterable[Annotation], Mapping[str, Dialogue], Gold]


@Parameter(name="*")
@dataclass(frozen=True)
class WatchConfig:
    """Whose answers are checked."""

    annotations: Path | None = None
    """Crowd table with columns task, worker, label and, if it has them, code and seconds. Without it the
    answers in the store are checked."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the flags in any case."""
    words_per_minute: float = WORDS_PER_MINUTE
    """Faster than anybody reads: answers that took less are flagged, where the dialogues are known (in the
    store); 0 flags none."""
    last_wins: Annotated[bool, Parameter(negative=())] = False
    """Of a worker's several answers to a task take the last; without, they are refused."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.words_per_minute < math.inf:
            raise ConfigError("E_OPTION", "--words-per-minute must not be negative")


def watch(config: WatchConfig, stored: Callable[[], Crowd] | None = None) -> Report:
    """Compute all flags and figures, of the table or of the `stored` answers, and write them to `out` if it
    is set.

    Raises:
        ConfigError: neither is given.
        InputRefused: the table is bad; the message names file and line.
        OutputRefused: `out` exists.
    """
    from dialint.labeling.aggregation.crowd_tables import read_answers
    from dialint.labeling.raters.anomalies import find_anomalies
    from dialint.labeling.raters.reports import make_report

    def figures() -> Mapping[str, Any]:
        if stored is not None:
            crowd = stored()
        elif config.annotations is None:
            raise ConfigError("E_OPTION", "--annotations names no table")
        else:
            crowd = read_answers(config.annotations, config.last_wins), None, None, None
        anomalies = find_anomalies(*crowd, config.words_per_minute)
        return {
            "flags": [asdict(flag) for flag in anomalies.flags],
            "workers": dict(zip(anomalies.workers, _worker_figures(anomalies), strict=True)),
        }

    return make_report("watch", asdict(config), figures, config.out, [config.annotations])


def _worker_figures(anomalies: CrowdAnomalies) -> list[dict[str, float | None]]:
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


def flag_rows(report: Report) -> list[list[str]]:
    """The flags of a report as a table for the terminal, headings first."""
    flags = [
        [flag["kind"], ", ".join(flag["workers"]), str(flag["n"]), format_certainty(flag), flag["why"]]
        for flag in report["flags"]
    ]
    return [["flag", "workers", "n", "certainty", "why"], *flags]


@Parameter(name="*")
@dataclass(frozen=True)
class QualityConfig:
    """Whose work is measured, and what it is compared with."""

    annotations: Path | None = None
    """Our annotations (.jsonl), as dialint import labels writes them. Without them the answers in the
    store are measured."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Logs of the dialogues that were labeled; the store has its own."""
    gold: Path | None = None
    """Gold (.jsonl): dialogue, turn, code, present; the store has its own."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the main ones in any case."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""


def measure(config: QualityConfig, stored: Callable[[], Sources] | None = None) -> Report:
    """Make the quality report, of the files or of the `stored` answers, and write it to `out` if it is set.

    Raises:
        ConfigError: neither is given.
        InputRefused: a file is bad, or an annotation is about a dialogue or turn that is not there.
        OutputRefused: `out` exists.
    """
    from dialint.labeling.raters.reports import make_report

    def figures() -> Mapping[str, Any]:
        sources = _read_files(config) if stored is None else stored()
        return quality_figures(*sources, config.taxonomy)

    options = {name: value for name, value in asdict(config).items() if name != "dialogues"}
    return make_report("labeler-quality", options, figures, config.out, (config.annotations, config.gold))


def _read_files(config: QualityConfig) -> Sources:
    from dialint.detector.ingest.read import load_dialogues
    from dialint.labeling.annotation import read_annotations

    if config.annotations is None or not config.dialogues:
        raise ConfigError("E_OPTION", "from files, --annotations and --dialogues must name some")
    gold = {} if config.gold is None else read_gold(config.gold)
    return read_annotations(config.annotations), load_dialogues(config.dialogues), gold


def read_gold(path: Path) -> Gold:
    """The gold of a file in the format of `dialint label gold import`.

    Raises:
        InputRefused: no such file, or a bad or contradictory row, with its line.
    """
    from dialint.labeling.store.gold import read_gold_file

    return {(row.dialogue, row.turn, row.code): row.present for row in read_gold_file(path)}


def quality_figures(
    annotations: Iterable[Annotation],
    dialogues: Mapping[str, Dialogue],
    gold: Gold,
    taxonomy: Path | None = None,
) -> Report:
    """Measure a stream of annotations, oldest first; the figures as a JSON object: labelers, codes, flags.

    Raises:
        InputRefused: nobody answered anything, or about a dialogue that is not there.
    """
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.aggregation.dialogue_answers import dialogue_codes
    from dialint.labeling.raters.people import measure_quality
    from dialint.labeling.raters.workload import measure_workload

    try:
        workload = measure_workload(annotations, dialogues, dialogue_codes(load_taxonomy(taxonomy)))
    except KeyError as error:
        raise InputRefused("E_LABEL", f"an annotation of dialogue {error}, which is not there") from None
    if not workload.answers.codes:
        raise InputRefused("E_NO_RECORDS", "no answers of people")
    quality = asdict(measure_quality(workload, gold))
    return {"answers": sum(each["answers"] for each in quality["codes"].values()), **quality}


MEASURES = {"accuracy": "accuracy on gold", "agreement": "agreement with others", "bias": "bias"}


def labeler_rows(report: Report) -> list[list[str]]:
    """The main figures of each labeler as a table for the terminal, headings first."""
    rows = [["labeler", "answers", *MEASURES.values(), "seconds"]]
    for each in report["labelers"]:
        overall, speed = each["overall"], each["speed"]
        seconds = "not enough" if speed["n"] else "-"
        if speed["median"] is not None:
            seconds = (
                f"{speed['median']:.0f} ({speed['first_quartile']:.0f} to {speed['third_quartile']:.0f})"
            )
        measures = (_format_figure(overall[name]) for name in MEASURES)
        rows.append([each["name"], str(overall["answers"]), *measures, seconds])
    return rows


def code_rows(report: Report) -> list[list[str]]:
    """The main figures of each code, all labelers together, headings first."""
    rows = [["code", "answers", "yes", "accuracy on gold", "agreement with others"]]
    for code, each in sorted(report["codes"].items()):
        portion = f"{each['yes'] / max(1, each['answers']):.1%}"
        measures = (_format_figure(each[name]) for name in ("accuracy", "agreement"))
        rows.append([code, str(each["answers"]), portion, *measures])
    return rows


def _format_figure(value: Mapping[str, Any]) -> str:
    """A figure above its interval, or that the answers are not enough for one."""
    if value["value"] is None:
        return "not enough" if value["n"] else "-"
    return f"{value['value']:.2f}\n{value['low']:.2f} to {value['high']:.2f}"
