"""Compares the quality of dialogues with their outcome in the log, as AUC.

    dialint eval outcome data/tau_bench/data.parquet --outcome task_reward --by split

The outcome is a number or a yes or no for each dialogue: a field of the record or of its metadata, or a
label of the whole dialogue (``turn_id`` -1) of that category. The dialogues are scored here, or taken from
``--verdicts``. AUC .5 is chance; an outcome may have causes that no agent can help.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import write_json
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.ingest.readers.parquet import check_parquet_columns
from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Verdict
from dialint.detector.statistics import Counts as Draws
from dialint.detector.statistics import bootstrap_counts, ratio
from dialint.detector.verdict_files import read_verdicts
from dialint.eval.figures import value_and_interval
from dialint.eval.metrics import Bools, Floats
from dialint.eval.run import check_writable

CHUNK = 256
WHOLE = -1


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class OutcomeConfig:
    """Options of `dialint eval outcome`."""

    outcome: str
    """Name of the field or label category."""
    by: str | None = None
    """A field of the record or its metadata; the figures are given for each of its values, too."""
    good_from: float = 0.5
    """An outcome of this or more is a good one."""
    verdicts: Path | None = None
    """Verdicts of the same log, as JSONL; without it the log is scored."""
    limit: Annotated[int | None, Field(ge=1)] = None
    """At most this many dialogues."""
    out: Path | None = None
    """Figures as JSON."""
    rounds: Annotated[int, Field(ge=0)] = 1000
    """Bootstrap rounds for the intervals."""

    def __post_init__(self) -> None:
        check_ranges(self)


def outcome(
    log: Path,
    /,
    *,
    config: Annotated[OutcomeConfig, Parameter(name="*")],
    detector: Annotated[DetectorConfig, Parameter(name="*")] | None = None,
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> None:
    """Compare the quality of dialogues with an outcome that the log holds."""
    if config.out is not None:
        check_writable(config.out)
    outcome_of = outcomes(log, config.outcome, config.by)
    if config.verdicts is not None:
        verdicts = read_verdicts(config.verdicts)
    else:
        from dialint.eval.baselines import open_detector

        verdicts = _score(
            open_detector(None, detector or DetectorConfig()), log, config.limit, reading or ReadConfig()
        )
    qualities = {v.dialogue_id: v.quality for v in verdicts if v.quality is not None}
    results = figures(qualities, outcome_of, config.good_from, config.rounds)
    if not results["all"]["dialogues"]:
        raise ConfigError("E_OPTION", "no scored dialogue has that outcome")
    from rich.console import Console

    Console(markup=False, emoji=False).print(table(config.outcome, results))
    if config.out is not None:
        write_json(
            config.out, {"kind": "outcome", "outcome": config.outcome, "by": config.by, "groups": results}
        )


def outcomes(log: Path, name: str, by: str | None) -> dict[str, tuple[float, str]]:
    """Outcome and group of each dialogue that has one, by its id.

    Raises:
        ConfigError: no record has that outcome.
        InputRefused: the log cannot be read as JSONL or Parquet.
    """
    results = {}
    for record in _records(log):
        value = _number(_value(record, name))
        if value is not None:
            group = _value(record, by) if by is not None else None
            results[str(record.get("dialogue_id", record.get("id")))] = (
                value,
                "" if group is None else str(group),
            )
    if not results:
        raise ConfigError("E_OPTION", f"--outcome {name}: no record of {log} has it as a number or yes or no")
    return results


def _records(log: Path) -> Iterator[dict[str, Any]]:
    """The records without their turns."""
    try:
        if log.suffix == ".parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(log) as file:
                columns = [name for name in file.schema_arrow.names if name != "turns"]
                check_parquet_columns(log, columns, ReadConfig())
                for batch in file.iter_batches(columns=columns):
                    yield from batch.to_pylist()
        else:
            with open(log, encoding="utf-8") as lines:
                for line in lines:
                    if line.strip() and isinstance(record := json.loads(line), dict):
                        yield record
    except OSError as error:
        raise InputRefused("E_READ", f"{log}: {error.strerror or 'cannot be read'}") from None
    except ValueError:
        raise InputRefused("E_FORMAT", f"{log}: neither JSONL nor Parquet") from None


def _value(record: Mapping[str, Any], name: str) -> Any:
    """A field of the record, of its metadata, or the mean of its whole-dialogue labels of that category."""
    meta = record.get("metadata", record.get("meta"))
    if isinstance(meta, str):
        meta = _json(meta)
    for fields in (record, meta if isinstance(meta, dict) else {}):
        if fields.get(name) is not None:
            return fields[name]
    labels = [
        _number(label.get("value"))
        for label in record.get("labels") or ()
        if isinstance(label, dict) and label.get("category") == name and label.get("turn_id") == WHOLE
    ]
    values = [value for value in labels if value is not None]
    return sum(values) / len(values) if values else None


def _json(text: str) -> Any:
    """The parsed text; None if it is not JSON, and so holds no outcome."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}.get(value.strip().lower(), value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _score(detector: Detector, log: Path, limit: int | None, reading: ReadConfig) -> Iterator[Verdict]:
    items = read(open_logs([str(log)]), reading, Counts())
    dialogues = islice((item.dialogue for item in items if isinstance(item, Loaded)), limit)
    while chunk := list(islice(dialogues, CHUNK)):
        yield from detector.verdicts(chunk)


def figures(
    qualities: Mapping[str, float], outcome_of: Mapping[str, tuple[float, str]], good_from: float, rounds: int
) -> dict[str, dict[str, Any]]:
    """AUC of quality for a good outcome, of all dialogues, `within` groups, and of each group."""
    both = [name for name in outcome_of if name in qualities]
    quality = np.array([qualities[name] for name in both])
    good = np.array([outcome_of[name][0] >= good_from for name in both], bool)
    groups = [outcome_of[name][1] for name in both]
    rows_of: dict[str, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        rows_of[group].append(index)
    draws = bootstrap_counts(len(both), rounds)
    wins = {group: _wins(quality, good, np.array(rows, int), draws) for group, rows in rows_of.items()}
    results = {"all": _row(quality, good, ratio(*_wins(quality, good, np.arange(len(both)), draws)))}
    if len(rows_of) > 1:
        above, below = (np.sum([part[side] for part in wins.values()], axis=0) for side in (0, 1))
        results["within groups"] = _row(quality, good, ratio(above, below))
        for group in sorted(rows_of):
            rows = np.array(rows_of[group])
            results[group or "(none)"] = _row(quality[rows], good[rows], ratio(*wins[group]))
    return results


def _wins(quality: Floats, good: Bools, rows: np.ndarray, draws: Draws) -> tuple[Floats, Floats]:
    """Pairs of a good and a bad dialogue of `rows` in which the good one has the higher quality, a tie
    being a half, and all such pairs; in every round, shape (1 + rounds,)."""
    levels, index = np.unique(quality[rows], return_inverse=True)
    weights = draws[:, rows].astype(float)
    table = np.zeros((2, len(draws), len(levels)))
    for side, mask in enumerate((~good[rows], good[rows])):
        for level in range(len(levels)):
            table[side, :, level] = weights[:, mask & (index == level)].sum(axis=1)
    below = np.cumsum(table[0], axis=1) - table[0]
    wins = np.asarray((table[1] * (below + table[0] / 2)).sum(axis=1))
    return wins, np.asarray(table[0].sum(axis=1) * table[1].sum(axis=1))


def _row(quality: Floats, good: Bools, auc: Floats) -> dict[str, Any]:
    def mean(values: Floats) -> float | None:
        return round(float(values.mean()), 2) if len(values) else None

    value, *bounds = value_and_interval(auc, min(int(good.sum()), int((~good).sum())))
    return {
        "dialogues": len(quality),
        "good": int(good.sum()),
        "auc": value,
        "auc_95": bounds,
        "quality_of_good": mean(quality[good]),
        "quality_of_bad": mean(quality[~good]),
    }


def table(name: str, results: Mapping[str, Mapping[str, Any]]) -> Any:
    """The figures as a rich table."""
    from rich.table import Table

    rendered = Table(title=f"AUC of quality against {name}")
    for column in ("dialogues of", "n", "good", "AUC", "95 %", "quality if good", "if bad"):
        rendered.add_column(column, justify="left" if column == "dialogues of" else "right")
    for group, row in results.items():
        low, high = row["auc_95"]
        cells: Sequence[Any] = (row["dialogues"], row["good"], row["auc"])
        between = "" if low is None else f"{low:.3f} to {high:.3f}"
        rendered.add_row(
            group, *map(_cell, cells), between, _cell(row["quality_of_good"]), _cell(row["quality_of_bad"])
        )
    return rendered


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
