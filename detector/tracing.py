"""Traces by OpenTelemetry, where its variable OTEL_EXPORTER_OTLP_ENDPOINT is set (the extra ``otel``).

A span ``score`` for dialogues that are judged together, with one for each stage; in the stage of the judge
one for each question to a server, with the attributes of the GenAI conventions. No span has a text or an id
of a dialogue. Without the variable nothing is imported.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dialint.detector.environment import missing_extra_error
from dialint.detector.interface import Monitor

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_tracer: Tracer | None = None


def start_tracing() -> None:
    """Send spans by OTLP over HTTP from now on, if the environment says where to.

    Raises:
        ConfigError: E_EXTRA, the extra is not installed.
    """
    if _tracer is not None or not any(os.environ.get(name) for name in VARIABLES):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise missing_extra_error("otel", VARIABLES[0], ["opentelemetry-sdk"]) from None

    own = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "dialint"}
    provider = TracerProvider(resource=Resource.create(own))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    use_provider(provider)


def use_provider(provider: TracerProvider) -> None:
    """Send spans to a provider; it becomes the one of the process."""
    from opentelemetry import trace

    global _tracer
    trace.set_tracer_provider(provider)
    _tracer = provider.get_tracer("dialint")


@contextmanager
def span(
    name: str, attributes: dict[str, str | int] | None = None, *, is_client: bool = False
) -> Iterator[Span | None]:
    """A span within the current one; None where nothing is traced. An error leaves its type there, as its
    text may be a dialogue's."""
    if _tracer is None:
        yield None
        return
    from opentelemetry.trace import SpanKind, StatusCode

    kind = SpanKind.CLIENT if is_client else SpanKind.INTERNAL
    with _tracer.start_as_current_span(
        name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(StatusCode.ERROR)
            raise


@contextmanager
def trace_scoring(n_dialogues: int, monitor: Monitor) -> Iterator[None]:
    """A span ``score`` around the judging of dialogues, in it one for each stage with the seconds that
    `monitor` gets. Stages of several dialogues interleave: their spans are sums, one after the other. The
    judge makes its own."""
    before, started_ns = dict(monitor.seconds), time.time_ns()
    with span("score", {"dialint.dialogues": n_dialogues}):
        yield
        if _tracer is None:
            return
        for stage, seconds in monitor.seconds.items():
            if stage != "judge" and (spent_ns := int(1e9 * (seconds - before.get(stage, 0.0)))) > 0:
                _tracer.start_span(stage, start_time=started_ns).end(started_ns + spent_ns)
                started_ns += spent_ns
