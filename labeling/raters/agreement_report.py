"""Stage ``dialint label agreement``: how far the people of a crowd agree, with intervals.

Reads a table of task, worker, label (optionally code and at), or the answers in a store. Computes, and with
``--out`` writes as JSON, for each code: Krippendorff's alpha (of a scale with ``--level``), Fleiss' kappa,
specific agreement of each label, the leave-one-out human ceiling, Cohen's kappa of the pairs with most tasks
in common, alpha by period of time and, from a store, how far marked evidence agrees (soft F1 and alpha of
spans). Does not measure who is right.
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
    from dialint.labeling.raters.agreement import ReadText
    from dialint.labeling.raters.reports import Report

    Stored = tuple[Mapping[str, Answers], Mapping[str, Sequence[ReadText]]]

DAY_S = 86_400


@Parameter(name="*")
@dataclass(frozen=True)
class AgreementConfig:
    """Whose agreement is measured, and in which detail."""

    annotations: Path | None = None
    """Crowd table with columns task, worker, label and, if it has them, code and at (seconds since 1970).
    Without it the answers in the store are taken."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the main ones in any case."""
    rounds: int = 1000
    """Bootstrap rounds of the intervals."""
    pairs: int = 20
    """Pairs of workers with most tasks in common for which kappa is given, for each code."""
    period_days: float = 7.0
    """Length of a period for agreement over time."""
    seed: int = 0
    """Seed of the bootstrap."""
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
        if self.rounds < 1 or self.pairs < 0 or not 0 < self.period_days < math.inf:
            raise ConfigError(
                "E_OPTION", "--rounds must be at least 1, --pairs 0 or more, --period-days above 0"
            )


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
            tables, reads = stored()
        elif config.annotations is None:
            raise ConfigError("E_OPTION", "--annotations names no table")
        else:
            tables, reads = read_answers(config.annotations, config.last_wins), {}
        return {"codes": {code: _figures(table, reads.get(code), config) for code, table in tables.items()}}

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
        yield "soft F1 of spans", figures["spans"]["f1"]
        yield "alpha of spans", figures["spans"]["alpha"]


def _figures(answers: Answers, reads: Sequence[ReadText] | None, config: AgreementConfig) -> dict[str, Any]:
    from dialint.labeling.raters.agreement import (
        cohen_kappa,
        fleiss_kappa,
        human_ceiling,
        krippendorff_alpha,
        soft_span_f1,
        specific_agreement,
        unitised_alpha,
    )

    bootstrap, votes = (config.rounds, config.seed), answers.votes()
    scale = label_scale(answers.labels, config)
    pairs = [
        {
            "workers": [answers.workers[one], answers.workers[other]],
            **_to_json(cohen_kappa(answers, one, other, *bootstrap)),
        }
        for one, other in most_shared_pairs(answers, config.pairs)
    ]
    return {
        "answers": len(answers),
        "tasks": len(answers.tasks),
        "labelers": len(set(answers.worker.tolist())),
        "level": config.level,
        "alpha": _to_json(krippendorff_alpha(votes, scale, config.level, *bootstrap)),
        "fleiss_kappa": _to_json(fleiss_kappa(votes, *bootstrap)),
        "human_ceiling": _to_json(human_ceiling(answers, *bootstrap)),
        "specific_agreement": {
            label: _to_json(specific_agreement(votes, index, *bootstrap))
            for index, label in enumerate(answers.labels)
        },
        "spans": reads
        and {
            "f1": _to_json(soft_span_f1(reads, *bootstrap)),
            "alpha": _to_json(unitised_alpha(reads, *bootstrap)),
        },
        "pairs": pairs,
        "periods": list(_periods(answers, config)),
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


def most_shared_pairs(answers: Answers, n: int) -> list[tuple[int, int]]:
    """The `n` pairs of workers with most tasks in common, most first."""
    import numpy as np
    from scipy.sparse import csr_array, triu

    shape = (len(answers.workers), len(answers.tasks))
    present = csr_array((np.ones(len(answers), np.int32), (answers.worker, answers.task)), shape)
    shared = triu(present @ present.T, k=1).tocoo()
    first, second = shared.coords
    order = np.lexsort((second, first, -shared.data))[:n]
    return [(int(first[index]), int(second[index])) for index in order]


def _periods(answers: Answers, config: AgreementConfig) -> Iterator[dict[str, Any]]:
    """Alpha of the answers of each period in order of time; answers without a time are left out."""
    import numpy as np

    from dialint.labeling.raters.agreement import krippendorff_alpha

    if answers.at is None or np.isnan(answers.at).all():
        return
    period = np.floor((answers.at - np.nanmin(answers.at)) / (config.period_days * DAY_S))
    for number in np.unique(period[~np.isnan(period)]):
        selected = answers.where(period == number)
        begins = float(np.nanmin(answers.at)) + float(number) * config.period_days * DAY_S
        values = label_scale(selected.labels, config)
        figure = krippendorff_alpha(selected.votes(), values, config.level, config.rounds, config.seed)
        yield {"begins_at": begins, "answers": len(selected), **_to_json(figure)}


def _to_json(figure: Estimate) -> dict[str, Any]:
    """The estimate for JSON, none for what is not a number."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(figure).items()
    }
