"""`dialint export traces`: findings go back to the spans, traces and sessions that they are in."""

import json
from pathlib import Path
from typing import Any

import pytest

from dialint.app.commands.transfer import export_traces
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.watchdog import WatchConfig

QUERY, WRONG = "Where is my parcel?", "Hello {first_name}, your parcel left us this morning."


def messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def span(number: int, question: str, answer: str) -> dict[str, Any]:
    earlier = json.loads(messages("user", QUERY)) + json.loads(messages("assistant", WRONG)) if number else []
    return {
        "traceId": f"trace{number}", "spanId": f"span{number}", "startTimeUnixNano": str((1_772_442_800 + number) * 10**9),
        "attributes": {
            "gen_ai.conversation.id": "talk",
            "gen_ai.input.messages": json.dumps(earlier + json.loads(messages("user", question))),
            "gen_ai.output.messages": messages("assistant", answer),
        },
    }  # fmt: skip


LANGFUSE = {
    "id": "t1", "timestamp": "2026-11-30T02:00:00Z", "input": [{"role": "user", "content": QUERY}],
    "output": {"role": "assistant", "content": WRONG},
}  # fmt: skip


def export(folder: Path, records: list[dict[str, Any]], to: Any) -> list[dict[str, Any]]:
    log, out, bodies = folder / "log.jsonl", folder / "v.jsonl", folder / "bodies.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    config = ScoreConfig(
        out=out, quiet=True, detector=DetectorConfig(scan="off"), watch=WatchConfig(dialogue_seconds=0)
    )
    assert run([str(log)], config) == 0
    assert export_traces(out, str(log), to=to, out=bodies) == 0
    return [json.loads(line) for line in bodies.read_text().splitlines()]


SPANS = [span(1, "Thanks.", "You are welcome."), span(0, QUERY, WRONG)]
"""The later one first; it repeats the answer of the earlier one."""


def test_phoenix_gets_an_annotation_of_the_span_that_answered(tmp_path: Path) -> None:
    (body,) = export(tmp_path, SPANS, "phoenix")
    (annotation,) = body["data"]
    assert annotation["span_id"] == "span0"
    assert annotation["annotator_kind"] == "CODE"
    assert annotation["result"]["label"].startswith("S")
    assert 0 < annotation["result"]["score"] < 1
    assert annotation["metadata"]["quote"] == "{first_name}"


def test_langfuse_gets_scores_of_the_observation_and_of_the_trace(tmp_path: Path) -> None:
    finding, quality = export(tmp_path, SPANS, "langfuse")
    assert (finding["traceId"], finding["observationId"]) == ("trace0", "span0")
    assert finding["dataType"] == "NUMERIC"
    assert finding["name"].startswith("dialint ")
    assert (quality["traceId"], quality["name"]) == ("trace1", "dialint quality")
    assert "observationId" not in quality


def test_the_traces_may_come_by_a_pipe_and_other_ones_have_no_place_for_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected, piped = export(tmp_path, SPANS, "langfuse"), tmp_path / "piped.jsonl"
    with open(tmp_path / "log.jsonl") as log:
        monkeypatch.setattr("sys.stdin", log)
        assert export_traces(tmp_path / "v.jsonl", "-", to="langfuse", out=piped) == 0
    assert [json.loads(line) for line in piped.read_text().splitlines()] == expected
    (tmp_path / "other.jsonl").write_text(json.dumps(LANGFUSE) + "\n")
    out = tmp_path / "none.jsonl"
    assert export_traces(tmp_path / "v.jsonl", str(tmp_path / "other.jsonl"), to="langfuse", out=out) == 0
    assert out.read_text() == ""
    assert "0 requests; 1 findings stand in no span of the logs" in capsys.readouterr().out


@pytest.mark.parametrize("session", [None, "s1"])
def test_what_was_exported_by_langfuse_goes_back_by_its_id(tmp_path: Path, session: str | None) -> None:
    record = {**LANGFUSE, **({"sessionId": session} if session else {})}
    finding, quality = export(tmp_path, [record], "langfuse")
    for body in (finding, quality):
        assert body["sessionId" if session else "traceId"] == (session or "t1")
        assert not {"observationId", "traceId" if session else "sessionId"} & body.keys()
    assert finding["id"] != quality["id"]
