"""The exam: how well a detector finds labelled errors, code by code, with intervals by dialogue.

    dialint eval run build/examples/test_unseen.jsonl --release build/release --out report.json

Reads files of examples; writes a table and, with ``--out``, the same as JSON. Trains and tunes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from detector.artifacts import sha256_file, write_json
from detector.detectors import Detector, DetectorConfig
from detector.errors import ConfigError
from detector.pipeline import load_detector
from detector.records import Example, Verdict
from eval import metrics
from eval.truth import Judged, hard_pairs, judge, judged, read_examples


@Parameter(name="*")
@dataclass(frozen=True)
class EvalConfig:
    """What is measured, and where the report goes."""

    out: Path | None = None
    """Report as JSON."""
    rounds: int = 200
    """Bootstrap rounds for the intervals."""


def run(
    *examples: Path,
    config: Annotated[EvalConfig, Parameter(name="*")] | None = None,
    detector: Annotated[DetectorConfig, Parameter(name="*")] | None = None,
) -> None:
    """Measure a release on labelled examples."""
    config = config or EvalConfig()
    if not examples:
        raise ConfigError("E_OPTION", "name at least one file of examples")
    for path in examples:
        if not path.is_file():
            raise ConfigError("E_EXAMPLE", f"{path}: there is no such file")
    if config.out is not None:
        refuse_no_folder(config.out)
    judge_with = load_detector(detector or DetectorConfig())
    report = {path.stem: report_on(judge_with, path, config.rounds) for path in examples}
    from rich.console import Console

    for name, content in report.items():
        Console().print(table(name, content))
    if config.out is not None:
        write_json(
            config.out, {"release": judge_with.release, "fingerprint": judge_with.fingerprint, "sets": report}
        )


def refuse_no_folder(out: Path) -> None:
    """Say before any work is done that `out` cannot be written.

    Raises:
        ConfigError: its folder does not exist, or it is a folder itself.
    """
    if out.is_dir() or not out.parent.is_dir():
        raise ConfigError("E_OPTION", f"--out {out}: no file can be written there")


def report_on(detector: Detector, path: Path, rounds: int) -> dict[str, Any]:
    """Every figure of one file of examples."""
    return {"sha256": sha256_file(path), **measure(detector, judge(detector, read_examples(path)), rounds)}


def measure(detector: Detector, results: Sequence[tuple[Example, Verdict]], rounds: int) -> dict[str, Any]:
    """Counts, flagged share, and a row of figures for each code that occurs or is covered."""
    scored = [(example, verdict) for example, verdict in results if verdict.status == "scored"]
    named = {label.code for example, _ in results for label in example.labels}
    known = detector.taxonomy.codes
    rows = {}
    for code in (code for code in known if code in named or code in detector.codes):
        whole = known[code].scope == "dialogue"
        rows[code] = _figures(judged(scored, code, whole_dialogue=whole), rounds)
        rows[code]["covered"] = code in detector.codes
        auc, n_pairs = hard_pairs(scored, code, whole_dialogue=whole)
        rows[code] |= {"pair_auc": _number(auc), "n_pairs": n_pairs}
    present = [row for row in rows.values() if row["n_errors"]]
    turns = sum(len(verdict.probabilities or {}) for _, verdict in scored)
    wrong = sum(_accused_wrongly(example, verdict) for example, verdict in scored)
    return {
        "dialogues": len(results),
        "failed": len(results) - len(scored),
        "judged_turns": turns,
        "flagged_per_100_turns": 100
        * sum(len({f.turn for f in v.findings}) for _, v in scored)
        / max(turns, 1),
        "wrong_findings_per_100_turns": 100 * wrong / max(turns, 1),
        "macro_average_precision": _mean([row["average_precision"] for row in present]),
        "macro_false_alarms_at_recall_50": _mean([row["false_alarms_at_recall_50"] for row in present]),
        "codes": rows,
    }


def _accused_wrongly(example: Example, verdict: Verdict) -> int:
    """Findings whose turn and code have no label."""
    true = {(label.turn, label.code) for label in example.labels}
    return sum((finding.turn, finding.code) not in true for finding in verdict.findings)


def _figures(rows: Judged, rounds: int) -> dict[str, Any]:
    """The figures of one code; None where there is nothing to measure."""
    low, high = metrics.bootstrap(
        lambda index: metrics.average_precision(rows.truth[index], rows.probabilities[index]),
        rows.dialogue,
        rounds if rows.truth.any() else 0,
    )
    hits = int((rows.flagged & rows.truth).sum())
    flagged = int(rows.flagged.sum())
    errors = int(rows.truth.sum())
    return {
        "n_errors": errors,
        "n": len(rows.truth),
        "average_precision": _number(metrics.average_precision(rows.truth, rows.probabilities)),
        "average_precision_95": [_number(low), _number(high)],
        "precision_at_recall_50": _number(metrics.precision_at_recall(rows.truth, rows.probabilities, 0.5)),
        "false_alarms_at_recall_50": _number(metrics.false_alarms(rows.truth, rows.probabilities, 0.5)),
        "recall_at_1_false_alarm": _number(
            metrics.recall_at_false_alarms(rows.truth, rows.probabilities, 1.0)
        ),
        "calibration_error": _number(metrics.calibration_error(rows.truth, rows.probabilities)),
        "flagged": flagged,
        "precision": hits / flagged if flagged else None,
        "recall": hits / errors if errors else None,
        "span_f1": _number(float(rows.overlap.mean())) if len(rows.overlap) else None,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return round(float(np.mean(present)), 4) if present else None


def table(name: str, content: dict[str, Any]) -> Any:
    """A report's rows as a rich table."""
    from rich.table import Table

    shown = Table(
        title=f"{name}: {content['dialogues']} dialogues, {content['judged_turns']} turns, "
        f"macro AP {content['macro_average_precision']}, flagged {content['flagged_per_100_turns']:.2f} and "
        f"wrong {content['wrong_findings_per_100_turns']:.2f} per 100 turns"
    )
    columns = (
        "code",
        "errors",
        "AP",
        "95 %",
        "P@R50",
        "FA@R50",
        "precision",
        "recall",
        "ECE",
        "span F1",
        "pair AUC",
    )
    for column in columns:
        shown.add_column(column, justify="left" if column == "code" else "right")
    for code, row in content["codes"].items():
        low, high = row["average_precision_95"]
        shown.add_row(
            code if row["covered"] else f"{code} (not covered)",
            str(row["n_errors"]),
            _shown(row["average_precision"]),
            "" if low is None else f"{low:.2f}-{high:.2f}",
            *(
                _shown(row[key])
                for key in ("precision_at_recall_50", "false_alarms_at_recall_50", "precision")
            ),
            *(_shown(row[key]) for key in ("recall", "calibration_error", "span_f1")),
            _shown(row["pair_auc"]) if row["n_pairs"] else "",
        )
    return shown


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
