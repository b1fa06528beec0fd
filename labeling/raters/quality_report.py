"""Stage ``dialint label quality``: how good each labeler's work is, code by code, and what it costs.

Reads our annotations (JSONL), the dialogues they are about and, with ``--gold``, gold; or all of it from a
store. ``--json`` and ``--html`` write all figures. Where answers are too few for a figure, it is left out.
Decides nothing about anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import require_new_files
from dialint.detector.errors import ConfigError, InputRefused
from dialint.labeling.raters.reports import Report, make_report, write_report

if TYPE_CHECKING:
    from dialint.detector.records import Dialogue
    from dialint.labeling.annotation import Annotation
    from dialint.labeling.raters.labeler_quality import Gold

    Sources = tuple[Iterable[Annotation], Mapping[str, Dialogue], Gold]


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
    json: Path | None = None
    """File for all figures; must not exist."""
    html: Path | None = None
    """File for the report as a page; must not exist."""
    price_per_hour: float | None = None
    """What an hour of work costs; without it the cost of a bit is in minutes."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        if self.price_per_hour is not None and not self.price_per_hour > 0:
            raise ConfigError("E_OPTION", "--price-per-hour must be above 0")


def run(config: QualityConfig, stored: Callable[[], Sources] | None = None) -> Report:
    """Make the report, of the files or of the `stored` answers, and write it to `json` and `html` if they are
    set.

    Raises:
        ConfigError: neither is given.
        InputRefused: a file is bad, or an annotation is about a dialogue or turn that is not there.
        OutputRefused: an output exists.
    """
    from dialint.labeling.raters.quality_rendering import render_page

    require_new_files(config.json, config.html)

    def figures() -> Mapping[str, Any]:
        sources = _read_files(config) if stored is None else stored()
        return quality_figures(*sources, config.price_per_hour, config.taxonomy)

    inputs, libraries = (config.annotations, config.gold), ("numpy", "scipy")
    options = {name: value for name, value in asdict(config).items() if name != "dialogues"}
    report = make_report("labeler-quality", options, figures, inputs=inputs, libraries=libraries)
    if config.html is not None:
        write_report(report, config.html, render_page(report))
    write_report(report, config.json)
    return report


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
    from dialint.labeling.store.gold_files import read_gold_file

    return {(row.dialogue, row.turn, row.code): row.present for row in read_gold_file(path)}


def quality_figures(
    annotations: Iterable[Annotation],
    dialogues: Mapping[str, Dialogue],
    gold: Gold,
    price_per_hour: float | None = None,
    taxonomy: Path | None = None,
) -> Report:
    """Measure a stream of annotations, oldest first; the figures as a JSON object: labelers, codes, flags.

    Raises:
        InputRefused: nobody answered anything, or about a dialogue that is not there.
    """
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.aggregation.dialogue_answers import dialogue_codes
    from dialint.labeling.raters.labeler_quality import measure_quality
    from dialint.labeling.raters.workload import measure_workload

    try:
        workload = measure_workload(annotations, dialogues, dialogue_codes(load_taxonomy(taxonomy)))
    except KeyError as error:
        raise InputRefused("E_LABEL", f"an annotation of dialogue {error}, which is not there") from None
    if not workload.answers.codes:
        raise InputRefused("E_NO_RECORDS", "no answers of people")
    quality = asdict(measure_quality(workload, gold, price_per_hour))
    return {
        "annotations": sum(work.annotations for work in workload.work.values()),
        "answers": sum(each["answers"] for each in quality["codes"].values()),
        "gold": len(gold),
        **quality,
    }
