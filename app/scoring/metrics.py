"""Metrics for Prometheus, listed in `docs/howto/monitor.md`: `RunMetrics`, which the API exposes under
``/metrics`` with those of its requests and jobs, and the gauges of one run of `dialint score --metrics FILE`,
for node_exporter's textfile collector.

Values are read from manifests. Labels are routes, statuses, stages, codes and error codes: no id, no key and
no text of a dialogue.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
    write_to_textfile,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from dialint.app.scoring.background import State, list_jobs
from dialint.detector.artifacts import disk_errors, package_versions
from dialint.detector.interface import Detector

Values = Mapping[tuple[str, ...], float]
"""Values by the values of the labels."""


@dataclass(frozen=True)
class MetricSpec:
    """A metric of a manifest: its name without prefix, its help, its labels, its section of the manifest, and
    the field there, a number or numbers by label; if there are several fields, their names are the label."""

    name: str
    help: str
    labels: tuple[str, ...]
    section: Literal["counts", "reading", "cost", "judge"]
    field: str | tuple[str, ...]

    def read(self, manifest: Mapping[str, Any]) -> Values:
        """Return the values in a manifest; none if it lacks the section."""
        section = manifest.get(self.section)
        if section is None:
            return {}
        if isinstance(self.field, tuple):
            return {(name,): section[name] for name in self.field}
        return _flatten(section[self.field])


def _flatten(value: Any) -> Values:
    if not isinstance(value, Mapping):
        return {(): value or 0.0}
    return {(name, *rest): n for name, each in value.items() for rest, n in _flatten(each).items()}


METRICS = (
    MetricSpec("verdicts", "Dialogues with a verdict, by its status.", ("status",), "counts",
               ("scored", "failed", "not_judged")),
    MetricSpec("failures", "Dialogues that failed, or with a failure of the judge, by error.", ("error",),
               "counts", "failures"),
    MetricSpec("findings", "Findings, by code and severity.", ("code", "severity"), "counts", "findings"),
    MetricSpec("rejects", "Records that were refused, by error.", ("error",), "reading", "rejects"),
    MetricSpec("scanned_tokens", "Tokens that the scan has read.", (), "cost", "tokens_scanned"),
    MetricSpec("stage_seconds", "Seconds of work, by stage, such as mask, scan, checks.", ("stage",), "cost",
               "seconds"),
    MetricSpec("judge_questions", "Questions to the judge, by kind.", ("kind",), "judge", "questions"),
    MetricSpec("judge_failures", "Dialogues with a question without a usable answer, by error.", ("error",),
               "judge", "failures"),
    MetricSpec("judge_tokens", "Tokens of questions to the judge and of its answers, by kind.", ("kind",),
               "judge", "tokens"),
    MetricSpec("judge_cost_usd", "What the judge cost by --judge-price, in US dollars.", (), "judge",
               "cost_usd"),
)  # fmt: skip


class RunMetrics:
    """Counters of what a process scored, without a judge."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counters = [
            (each, Counter(f"dialint_{each.name}", each.help, each.labels, registry=registry))
            for each in METRICS
            if each.section != "judge"
        ]

    def add(self, sections: Mapping[str, Any]) -> None:
        """Count a manifest, or some of its sections."""
        for metric, counter in self._counters:
            for labels, value in metric.read(sections).items():
                (counter.labels(*labels) if labels else counter).inc(value)


def run_registry(manifest: Mapping[str, Any]) -> CollectorRegistry:
    """Return the registry of the gauges of one run."""
    registry = CollectorRegistry()
    for metric in METRICS:
        gauge = Gauge(f"dialint_run_{metric.name}", metric.help, metric.labels, registry=registry)
        for labels, value in metric.read(manifest).items():
            (gauge.labels(*labels) if labels else gauge).set(value)
    ended = Gauge("dialint_run_timestamp_seconds", "When the run ended (Unix time).", registry=registry)
    ended.set(datetime.fromisoformat(manifest["ended_at"]).timestamp())
    Gauge("dialint_run_seconds", "Seconds of the run.", registry=registry).set(manifest["seconds"])
    return registry


def write_metrics(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the gauges of a run to a file, atomically.

    Raises:
        WorldError: E_WRITE, the disk is full or failed.
    """
    with disk_errors(path):
        write_to_textfile(str(path), run_registry(manifest))


BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds, in seconds."""


class ApiMetrics:
    """The metrics of a server whose jobs are in a folder."""

    def __init__(self, detector: Detector, jobs: Path) -> None:
        self.registry = registry = CollectorRegistry()
        self.seconds = Histogram(
            "dialint_request_seconds", "Seconds of requests, by route and status.", ["route", "status"],
            buckets=BUCKETS, registry=registry,
        )  # fmt: skip
        self.n_running = Gauge("dialint_requests_running", "Requests that run or wait.", registry=registry)
        self.judged = RunMetrics(registry)
        release = Gauge(
            "dialint_release_info", "1, with what judges as labels.", ["release", "taxonomy", "version"],
            registry=registry,
        )  # fmt: skip
        version = package_versions("dialint").get("dialint", "")
        release.labels(detector.release, detector.taxonomy.version, version).set(1)
        self._webhooks = Counter(
            "dialint_webhooks", "Tries to deliver a webhook, by outcome.", ["outcome"], registry=registry
        )
        registry.register(_JobCollector(jobs))
        ProcessCollector(registry=registry)

    def note_webhook(self, outcome: str) -> None:
        """Count a delivery attempt."""
        self._webhooks.labels(outcome).inc()

    def render(self) -> bytes:
        """Return the text of ``/metrics``."""
        return generate_latest(self.registry)


class _JobCollector(Collector):
    """Jobs by state, and their pending webhooks, counted in their folder at each scrape."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        """Yield two gauges."""
        jobs = list_jobs(self._folder)
        states = Tally(job.state for job in jobs)
        gauge = GaugeMetricFamily("dialint_jobs", "Jobs on disk, by state.", labels=["state"])
        for state in get_args(State):
            gauge.add_metric([state], states[state])
        yield gauge
        n_waiting = sum(job.record.webhook == "waiting" and job.state in ("done", "failed") for job in jobs)
        yield GaugeMetricFamily("dialint_webhooks_waiting", "Webhooks to be delivered.", value=n_waiting)
