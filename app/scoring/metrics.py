"""Metrics for Prometheus: `RunMetrics`, which the API exposes under ``/metrics``, and the gauges of one run
of `dialint score --metrics FILE`, for node_exporter's textfile collector.

Both are read from what a manifest says. Labels are routes, statuses, stages, codes and the codes of errors:
no id, no key and no text of a dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, write_to_textfile

from dialint.detector.artifacts import disk_errors

Values = Mapping[tuple[str, ...], float]
"""By the values of the labels."""


def _by_name(values: Mapping[str, float]) -> Values:
    return {(name,): value for name, value in values.items()}


@dataclass(frozen=True)
class Figure:
    """A figure of a manifest: its name without prefix, what it is, its labels, the section of the manifest
    that has it, and how it is read there."""

    name: str
    help: str
    labels: tuple[str, ...]
    section: Literal["counts", "reading", "cost", "judge"]
    read: Callable[[Mapping[str, Any]], Values]


FIGURES = (
    Figure(
        "verdicts", "Dialogues with a verdict, by its status.", ("status",), "counts",
        lambda counts: {(status,): counts[status] for status in ("scored", "failed", "not_judged")},
    ),
    Figure(
        "failures", "Dialogues that failed, or with a failure of the judge, by error.", ("error",), "counts",
        lambda counts: _by_name(counts["failures"]),
    ),
    Figure(
        "findings", "Findings, by code and severity.", ("code", "severity"), "counts",
        lambda counts: {
            (code, severity): n for code, by in counts["findings"].items() for severity, n in by.items()
        },
    ),
    Figure(
        "rejects", "Records that were refused, by error.", ("error",), "reading",
        lambda reading: _by_name(reading["rejects"]),
    ),
    Figure(
        "scanned_tokens", "Tokens that the scan has read.", (), "cost",
        lambda cost: {(): cost["tokens_scanned"]},
    ),
    Figure(
        "stage_seconds", "Seconds of work, by stage, such as mask, scan, checks.", ("stage",), "cost",
        lambda cost: _by_name(cost["seconds"]),
    ),
    Figure(
        "judge_questions", "Questions to the judge, by kind.", ("kind",), "judge",
        lambda judge: _by_name(judge["questions"]),
    ),
    Figure(
        "judge_failures", "Dialogues with a question without a usable answer, by error.", ("error",), "judge",
        lambda judge: _by_name(judge["failures"]),
    ),
    Figure(
        "judge_tokens", "Tokens of questions to the judge and of its answers, by kind.", ("kind",), "judge",
        lambda judge: _by_name(judge["tokens"]),
    ),
    Figure(
        "judge_cost_usd", "What the judge cost by --judge-price, in US dollars.", (), "judge",
        lambda judge: {(): judge["cost_usd"] or 0.0},
    ),
)  # fmt: skip


class RunMetrics:
    """Counters of what was judged by a process; it asks no judge."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counters = [
            (each, Counter(f"dialint_{each.name}", each.help, each.labels, registry=registry))
            for each in FIGURES
            if each.section != "judge"
        ]

    def add(self, sections: Mapping[str, Any]) -> None:
        """Count a manifest, or those sections of one that are there."""
        for figure, counter in self._counters:
            for labels, value in _read(figure, sections).items():
                (counter.labels(*labels) if labels else counter).inc(value)


def _read(figure: Figure, manifest: Mapping[str, Any]) -> Values:
    return figure.read(manifest[figure.section]) if figure.section in manifest else {}


def run_registry(manifest: Mapping[str, Any]) -> CollectorRegistry:
    """Return the gauges of one run."""
    registry = CollectorRegistry()
    for figure in FIGURES:
        gauge = Gauge(f"dialint_run_{figure.name}", figure.help, figure.labels, registry=registry)
        for labels, value in _read(figure, manifest).items():
            (gauge.labels(*labels) if labels else gauge).set(value)
    ended = Gauge("dialint_run_timestamp_seconds", "When the run ended (Unix time).", registry=registry)
    ended.set(datetime.fromisoformat(manifest["ended_at"]).timestamp())
    Gauge("dialint_run_seconds", "Seconds of the run.", registry=registry).set(manifest["seconds"])
    return registry


def write_metrics(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the gauges of a run to a file, in one rename.

    Raises:
        WorldError: E_WRITE, the disk is full or failed.
    """
    with disk_errors(path):
        write_to_textfile(str(path), run_registry(manifest))
