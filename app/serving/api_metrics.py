"""What ``/metrics`` of the HTTP API exposes, in Prometheus' text format; `docs/howto/monitor.md` lists it."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from dialint.app.scoring.background import State, list_jobs
from dialint.app.scoring.metrics import RunMetrics
from dialint.detector.artifacts import package_versions
from dialint.detector.interface import Detector

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds, in seconds."""


class ApiMetrics:
    """The metrics of a server for the jobs in a folder."""

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
        """Count a try to deliver one."""
        self._webhooks.labels(outcome).inc()

    def render(self) -> bytes:
        """Return the text of ``/metrics``."""
        return generate_latest(self.registry)


class _JobCollector(Collector):
    """Jobs by state, and webhooks about them, counted in their folder when Prometheus asks."""

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
