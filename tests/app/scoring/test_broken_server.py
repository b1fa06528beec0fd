"""`dialint score --judge http:` with servers and models that answer wrongly: what can be read is read, what cannot
is asked for once more and is then a failure, and nothing that failed is clean. What can be read of an answer is
in `tests/detector/judge/test_reading.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fake_llm import FakeLLM, serving
from judge_requests import RUDE, opened

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import TooManyBad
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.detector.watchdog import WatchConfig

CALM = "It is on its way."


@dataclass(frozen=True)
class Mode:
    """A fault of the server, and the expected result of each dialogue: in "rude" the right answer lists T1,
    in "calm" nothing. `complaint` is in the repeated request."""

    mutate: Callable[[dict[str, Any]], Any]
    rude: str = "found"
    calm: str = "clean"
    complaint: str = ""
    content_type: str = "application/json"


def content(change: Callable[[str], Any], **choice: Any) -> Callable[[dict[str, Any]], Any]:
    """A completion with another content, made of the right one; other fields of the message or, with a
    leading underscore, of the choice."""

    def mutate(data: dict[str, Any]) -> Any:
        [own] = data["choices"]
        own["message"]["content"] = change(own["message"]["content"])
        for name, value in choice.items():
            (own if name[0] == "_" else own["message"])[name.removeprefix("_")] = value
        return data

    return mutate


def listed(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    """A completion whose errors have other values."""

    def change(right: str) -> str:
        answer = json.loads(right)
        return json.dumps({**answer, "errors": [{**error, **changes} for error in answer["errors"]]})

    return content(change)


def unusable(mutate: Callable[[dict[str, Any]], Any], complaint: str = "no JSON object") -> Mode:
    return Mode(mutate, "failed", "failed", complaint)


MODES = {
    "parts": Mode(content(lambda right: [{"type": "text", "text": right[:9]}, {"type": "text", "text": right[9:]}])),
    "fence and words": Mode(content(lambda right: f"Sure!\n```json\n{right}\n```\nAnything else {{here}}?")),
    "thoughts beside it": Mode(content(lambda right: right, reasoning_content="Let me see")),
    "huge": Mode(content(lambda right: right.replace("simulated", "{" * 2_000_000, 1))),
    "whole, and then no end": Mode(content(lambda right: right + " \n" * 5000, _finish_reason="length")),
    "wrong content type": Mode(content(lambda right: right), content_type="text/html"),
    "quote of the customer": Mode(listed(quote="Where is it?"), rude="clean"),
    "thoughts alone": unusable(content(lambda _: None, reasoning_content="Let me see", _finish_reason="length")),
    "refusal": unusable(content(lambda _: None, refusal="I can't help with that.")),
    "picture": unusable(content(lambda _: [{"type": "image_url", "image_url": {"url": "x"}}])),
    "words": unusable(content(lambda _: "There is no error.")),
    "cut": unusable(content(lambda right: right[:-2], _finish_reason="length")),
    "no choices": unusable(lambda data: {**data, "choices": []}),
    "an error as a success": unusable(lambda data: {"error": {"message": "overloaded"}}),
    "a page": unusable(lambda data: b"<html><body>504</body></html>"),
    "events": unusable(lambda data: b"data: " + json.dumps(data).encode() + b"\n\ndata: [DONE]\n"),
    "unknown code": Mode(listed(code="Z9"), "failed", "clean", '"code" is not one of L1'),
}  # fmt: skip


def clean(dialogue: Dialogue, _: bool) -> Verdict:
    return Verdict(dialogue_id=dialogue.id, release="fake-1", taxonomy="1", status="scored", quality=100.0)


@pytest.mark.parametrize("name", MODES)
def test_what_cannot_be_read_is_never_clean(name: str, tmp_path: Path, driver: ModuleType) -> None:
    mode, log = MODES[name], tmp_path / "log.jsonl"
    with log.open("w") as file:
        for key, text in (("rude", RUDE), ("calm", CALM), ("mild", CALM)):
            turns = [{"role": "customer", "text": "Where is it?"}, {"role": "agent", "text": text}]
            file.write(json.dumps({"id": key, "turns": turns}) + "\n")
    detector = driver.FakeDetector({})
    detector._verdict = clean
    llm = FakeLLM(labels={"T1": {RUDE: "fool"}}, seed=1)
    assert llm.probability("T1", RUDE) >= 0.8  # it takes no second look
    options: dict[str, Any] = {"out": tmp_path / "v.jsonl", "watch": WatchConfig(dialogue_seconds=0)}
    failed = [mode.rude, mode.calm, mode.calm].count("failed")
    with serving(llm) as url:
        options |= {"quiet": True, "judge": JudgeConfig(judge=url, judge_precision=0.9)}
        engine = opened(url)
        llm.log.clear()
        llm.content_type = mode.content_type
        llm.mutate = lambda path, data: mode.mutate(data) if path.endswith("/chat/completions") else data
        if failed:
            with pytest.raises(TooManyBad) as stopped:
                run([str(log)], ScoreConfig(**options), detector, engine)
            assert stopped.value.exit_code == 3
            assert (
                f"{failed} of 3 dialogues could not be judged ({failed} x E_ANSWER)" in stopped.value.message
            )
        bodies = [entry["body"] for entry in llm.log]
        assert run([str(log)], ScoreConfig(**options, max_failed=1.0), detector, engine) == 0
    verdicts = {verdict.dialogue_id: verdict for verdict in read_verdicts(tmp_path / "v.jsonl")}
    for key, expected in (("rude", mode.rude), ("calm", mode.calm), ("mild", mode.calm)):
        verdict = verdicts[key]
        findings = [(finding.code, finding.quote) for finding in verdict.findings]
        assert (verdict.status, findings) == ("scored", [("T1", "fool")] if expected == "found" else [])
        assert (verdict.quality is None) == (expected == "failed")
        assert (verdict.quality == 100.0) == (expected == "clean")
        assert verdict.judge_failures == (("E_ANSWER",) if expected == "failed" else ())
    unquoted = read_manifest(manifest_path(tmp_path / "v.jsonl"))["judge"]["unquoted"]
    assert unquoted == (name == "quote of the customer")
    if failed:
        assert len(bodies) == 3 + failed
        again = [body["messages"][-1]["content"] for body in bodies if "could not be used" in str(body)]
        assert len(again) == failed
        assert all(mode.complaint in text.rpartition("could not be used: ")[2] for text in again)
