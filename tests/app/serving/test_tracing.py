"""Traces, by the exporter of OpenTelemetry's SDK that keeps them in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from api_client import CONFIG, RUDE, SAMPLE, bearer, record
from fake_llm import FakeLLM, serving
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, Tracer
from starlette.testclient import TestClient

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.app.serving.api import create_app
from dialint.detector import tracing
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.watchdog import WatchConfig


@cache
def exporter() -> tuple[InMemorySpanExporter, Tracer]:
    """A process has one provider."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.use_provider(provider)
    tracer, tracing._tracer = tracing._tracer, None
    assert tracer
    return exporter, tracer


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    spans, tracer = exporter()
    spans.clear()
    monkeypatch.setattr(tracing, "_tracer", tracer)
    return spans


def tree(spans: InMemorySpanExporter) -> dict[str, str]:
    """The parent's name by each span's, of finished spans."""
    finished = spans.get_finished_spans()
    names = {each.context.span_id: each.name for each in finished if each.context}
    return {each.name: names.get(each.parent.span_id, "?") if each.parent else "" for each in finished}


def texts(spans: tuple[ReadableSpan, ...]) -> str:
    return json.dumps([each.to_json() for each in spans])


def test_a_request_is_a_trace_down_to_the_stages(home: Path, spans: InMemorySpanExporter) -> None:
    with TestClient(create_app(CONFIG)) as client:
        client.headers.update(bearer())
        client.post("/v1/score", json=record("Hi", RUDE, name="secret-id"), headers={"x-request-id": "r-1"})
        client.get("/v1/jobs/whining?name=whining")
    by_name = {each.name: each for each in spans.get_finished_spans()}
    assert tree(spans) | {"scan": "score"} == {
        "POST /v1/score": "", "score": "POST /v1/score", "mask": "score", "scan": "score", "checks": "score",
        "GET /v1/jobs/{job_id}": "",
    }  # fmt: skip
    request = by_name["POST /v1/score"]
    assert (request.attributes or {})["dialint.request_id"] == "r-1"
    assert dict(by_name["score"].attributes or {}) == {"dialint.dialogues": 1}
    assert not [word for word in ("whining", "secret-id", "Hi") if word in texts(spans.get_finished_spans())]


def test_questions_to_a_judge_are_spans_of_the_genai_conventions(
    tmp_path: Path, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(record("Where is it?", "You fool.", name="secret-id")) + "\n")
    llm = FakeLLM(labels={"T1": {"You fool.": "fool"}})
    with serving(llm) as url:
        judge = JudgeConfig(judge=f"http:{url}", judge_precision=0.9)
        config = ScoreConfig(
            out=tmp_path / "v.jsonl", quiet=True, detector=DetectorConfig(scan="off"), judge=judge,
            watch=WatchConfig(dialogue_seconds=0),
        )  # fmt: skip
        assert run([str(log)], config) == 0
    parents = tree(spans)
    assert (parents["judge"], parents["mask"], parents["score"]) == ("score", "score", "")
    chats = [each for each in spans.get_finished_spans() if each.name == "chat fake-4b" and each.parent]
    assert chats
    attributes = dict(chats[0].attributes or {})
    assert chats[0].kind == SpanKind.CLIENT
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.request.model"] == "fake-4b"
    assert int(str(attributes["gen_ai.usage.input_tokens"])) > 100
    assert int(str(attributes["gen_ai.usage.output_tokens"])) > 10
    assert not [word for word in ("fool", "secret-id", "Where") if word in texts(tuple(chats))]


def test_an_error_leaves_its_type_and_no_text(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="whining"), tracing.span("failing"):
        raise ValueError("stop whining")
    [failed] = spans.get_finished_spans()
    assert (failed.attributes or {})["error.type"] == "ValueError"
    assert "whining" not in failed.to_json()


def test_spans_are_sent_to_the_variables_url_and_without_it_nothing_is_imported(tmp_path: Path) -> None:
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *ignored: object) -> None:
            pass

    def score(name: str, **variables: str) -> str:
        words = ["score", str(SAMPLE), "--scan", "off", "--limit", "1", "--quiet", "--dialogue-seconds", "0"]
        words += ["--out", str(tmp_path / name)]
        code = f"""
import sys
from dialint.app.cli import app
app({words!r}, result_action="return_value")
print([name for name in sys.modules if name.startswith("opentelemetry")][:1])
"""
        result = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | variables,
        )
        return result.stdout

    assert score("a.jsonl") == "[]\n"
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        assert score("b.jsonl", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint) == "['opentelemetry']\n"
        server.shutdown()
        thread.join()
    [(path, body)] = received
    assert path == "/v1/traces"
    assert all(word in body for word in (b"dialint", b"score", b"mask", b"checks"))
