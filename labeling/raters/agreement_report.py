"""Stage ``dialint label agreement``: how far the people of a crowd agree, with intervals.

Reads a table of task, worker, label (optionally code), or the answers in a store. Computes, and with
``--out`` writes as JSON, for each code: Krippendorff's alpha (of a scale with ``--level``), Fleiss' kappa,
specific agreement of each label, the leave-one-out human ceiling and, from a store, how far marked evidence
agrees (soft F1). Pairs of people are on the console's page People. Does not measure who is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    from dialint.detector.statistics import Estimate
    from dialint.labeling.aggregation.answers import Answers, Floats
    from dialint.labeling.aggregation.dialogue_answers import Span
    from dialint.labeling.raters.reports import Report

    Spans = Sequence[Mapping[str, Sequence[Span]]]
    Stored = tuple[Mapping[str, Answers], Mapping[str, Spans]]


@Parameter(name="*")
@dataclass(frozen=True)
class AgreementConfig:
    """Whose agreement is measured, and in which detail."""

    annotations: Path | None = None
    """Crowd table with columns task, worker, label and, if it has it, code. Without it the answers in the
    store are taken."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the main ones in any case."""
    rounds: int = 1000
    """Bootstrap rounds of the intervals."""
    level: Literal["nominal", "ordinal", "interval"] = "nominal"
    """How labels compare in alpha: the same or not; by their order; by their distance, which needs
    numbers."""
    order: tuple[str, ...] = ()
    """The labels from low to high, for --level ordinal where they are not numbers."""
    last_wins: Annotated[bool, Parameter(negative=())] = False
    """Of a worker's several answers to a task take the last; without, they are refused."""

    def __post_init__(self) -> None:
        if self.order and self.level != "ordinal":
            raise ConfigError("E_OPTION", "--order needs --level ordinal")
        if self.rounds < 1:
            raise ConfigError("E_OPTION", "--rounds must be at least 1")


def run(config: AgreementConfig, stored: Callable[[], Stored] | None = None) -> Report:
    """Compute all figures, of the table or of the `stored` answers, and write them to `out` if it is set.

    Raises:
        ConfigError: neither is given.
        InputRefused: the table is bad; the message names file and line.
        OutputRefused: `out` exists.
    """
    from dialint.labeling.aggregation.crowd_tables import read_answers
    from dialint.labeling.raters.reports import make_report

    def figures() -> Mapping[str, Any]:
        if stored is not None:
            tables, spans = stored()
        elif config.annotations is None:
            raise ConfigError("E_OPTION", "--annotations names no table")
        else:
            tables, spans = read_answers(config.annotations, config.last_wins), {}
        return {"codes": {code: _figures(table, spans.get(code), config) for code, table in tables.items()}}

    return make_report("agreement", asdict(config), figures, config.out, [config.annotations])


def rows(report: Report) -> list[list[str]]:
    """The main figures as a table for the terminal, headings first."""
    table = [["code", "measure", "value", "95 %", "tasks"]]
    for code, figures in report["codes"].items():
        for name, figure in _main_figures(figures):
            interval = "-" if figure["low"] is None else f"{figure['low']:.3f} to {figure['high']:.3f}"
            value = "-" if figure["value"] is None else f"{figure['value']:.3f}"
            table.append([code or "-", name, value, interval, str(figure["n"])])
    return table


def _main_figures(figures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield f"Krippendorff's alpha, {figures['level']}", figures["alpha"]
    yield "Fleiss' kappa", figures["fleiss_kappa"]
    yield "human ceiling", figures["human_ceiling"]
    for label, figure in figures["specific_agreement"].items():
        yield f"agreement on {label}", figure
    if figures["spans"]:
        yield "soft F1 of spans", figures["spans"]


def _figures(answers: Answers, spans: Spans | None, config: AgreementConfig) -> dict[str, Any]:
    from dialint.labeling.raters.agreement import (
        fleiss_kappa,
        human_ceiling,
        krippendorff_alpha,
        soft_span_f1,
        specific_agreement,
    )

    votes, rounds = answers.votes(), config.rounds
    scale = label_scale(answers.labels, config)
    return {
        "answers": len(answers),
        "tasks": len(answers.tasks),
        "labelers": len(set(answers.worker.tolist())),
        "level": config.level,
        "alpha": _to_json(krippendorff_alpha(votes, scale, config.level, rounds)),
        "fleiss_kappa": _to_json(fleiss_kappa(votes, rounds)),
        "human_ceiling": _to_json(human_ceiling(answers, rounds)),
        "specific_agreement": {
            label: _to_json(specific_agreement(votes, index, rounds))
            for index, label in enumerate(answers.labels)
        },
        "spans": None if spans is None else _to_json(soft_span_f1(spans, rounds)),
    }


def label_scale(labels: Sequence[str], config: AgreementConfig) -> Floats:
    """The position of each label on the scale of `config`, shape (labels,).

    Raises:
        ConfigError: a label that is no number, or is not in `order`.
    """
    import numpy as np

    if config.level == "nominal":
        return np.arange(len(labels), dtype=float)
    if config.order:
        if missing := sorted(set(labels) - set(config.order)):
            raise ConfigError("E_OPTION", f"--order does not name {', '.join(missing)}")
        return np.array([config.order.index(label) for label in labels], float)
    try:
        return np.array([float(label) for label in labels])
    except ValueError:
        raise ConfigError(
            "E_OPTION", f"--level {config.level}: labels are no numbers; --order names them from low to high"
        ) from None


def _to_json(figure: Estimate) -> dict[str, Any]:
    """The estimate for JSON, none for what is not a number."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(figure).items()
    }
