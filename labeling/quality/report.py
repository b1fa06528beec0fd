"""Stage ``dialint label quality``: how good each labeler's work is, code by code, and what it costs.

Reads our annotations (JSONL), the dialogues they are about and, with ``--gold``, what is known for sure.
Prints a table; ``--json`` and ``--html`` write all figures. Where answers are too few for a figure to mean
anything, it says so instead. Decides nothing about anybody.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from detector.artifacts import atomic_file, described, disk_errors, versions, write_manifest
from detector.errors import ConfigError, InputRefused, OutputRefused

if TYPE_CHECKING:
    from detector.records import Dialogue
    from labeling.annotation import Annotation
    from labeling.quality.gold import Gold


@Parameter(name="*")
@dataclass(frozen=True)
class QualityConfig:
    """Whose work is measured, against what."""

    annotations: Path
    """Our annotations (.jsonl), as dialint import labels writes them."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Logs of the dialogues that were labeled."""
    gold: Path | None = None
    """What is known for sure (.jsonl): dialogue, turn, code, present."""
    json: Path | None = None
    """File for all figures; must not exist."""
    html: Path | None = None
    """File for the report as a page; must not exist."""
    price_per_hour: float | None = None
    """What an hour of work costs; without it the cost of a bit is told in minutes."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        if self.price_per_hour is not None and not self.price_per_hour > 0:
            raise ConfigError("E_OPTION", "--price-per-hour must be above 0")


def quality(config: QualityConfig) -> None:
    """Report on each labeler: accuracy, bias, speed, share of the work, cost, and what is suspicious."""
    from labeling.quality.screen import show

    show(run(config))


def run(config: QualityConfig) -> dict[str, Any]:
    """The report; written to `json` and `html` if these are given.

    Raises:
        InputRefused: a file is bad, or an annotation is about a dialogue or turn that is not there.
        OutputRefused: an output is there already.
    """
    from labeling.dataset.inputs import read_annotations
    from labeling.platforms.import_labels import dialogues_of
    from labeling.quality.gold import read_gold

    for path in (config.json, config.html):
        if path is not None and path.exists():
            raise OutputRefused("E_EXISTS", f"{path}: is there already; name another file")
    started = time.monotonic()
    gold = {} if config.gold is None else read_gold(config.gold)
    report = reported(
        read_annotations(config.annotations),
        dialogues_of(config.dialogues),
        gold,
        config.price_per_hour,
        config.taxonomy,
    )
    inputs = [path for path in (config.annotations, config.gold) if path is not None]
    report = {
        "kind": "labeler-quality",
        "price_per_hour": config.price_per_hour,
        "versions": versions("dialint", "numpy", "scipy"),
        "inputs": [described(path) for path in inputs],
        **report,
        "seconds": round(time.monotonic() - started, 1),
    }
    _write(config, report)
    return report


def _write(config: QualityConfig, report: dict[str, Any]) -> None:
    from labeling.quality.page import page

    for path in (config.json, config.html):
        if path is not None:
            with disk_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
    if config.html is not None:
        with atomic_file(config.html) as file:
            file.write(page(report).encode())
    if config.json is not None:
        write_manifest(config.json, report)


def reported(
    annotations: Iterable[Annotation],
    dialogues: Mapping[str, Dialogue],
    gold: Gold,
    price_per_hour: float | None = None,
    taxonomy: Path | None = None,
) -> dict[str, Any]:
    """The figures of a stream of annotations, oldest first, as a JSON object: labelers, codes, flags.

    Raises:
        InputRefused: nobody answered anything, or about a dialogue that is not there.
    """
    from detector.taxonomy import load
    from labeling.quality.labelers import measured
    from labeling.quality.workload import workload

    scopes = load(taxonomy).codes
    of_dialogue = frozenset(code for code, entry in scopes.items() if entry.scope == "dialogue")
    try:
        load_of_work = workload(annotations, dialogues, of_dialogue)
    except KeyError as error:
        raise InputRefused("E_LABEL", f"an annotation of dialogue {error}, which is not there") from None
    if not load_of_work.answers.codes:
        raise InputRefused("E_NO_RECORDS", "no answers of people")
    found = asdict(measured(load_of_work, gold, price_per_hour))
    return {
        "annotations": sum(work.annotations for work in load_of_work.work.values()),
        "answers": sum(each["answers"] for each in found["codes"].values()),
        "gold": len(gold),
        **found,
    }
