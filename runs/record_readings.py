"""Records how a judge reads the sample, for `tests/app/scoring/test_reading_sample.py`, which replays it.

    python runs/record_readings.py http:http://127.0.0.1:8000/v1
    python runs/record_readings.py http:http://127.0.0.1:8000/v1 --out build/readings.jsonl

To be run after each change of the prompt or of the taxonomy's definitions. The judge reads the masked sample
without labels, as at its first use. A line of the file is JSON with a dialogue's ``reading`` and, if there
was one, its ``second_look``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cyclopts import App

from dialint.app.scoring.judging import SAMPLE, read_sample
from dialint.detector.artifacts import atomic_file
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest
from dialint.detector.judge.reading import find_object
from dialint.detector.judge.stage import StageOptions
from dialint.detector.policy import load_policies
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.judge_measure import measure

RECORDED = Path(__file__).parents[1] / "tests" / "app" / "scoring" / "recorded_readings.jsonl"
app = App(help="Record how a judge reads the sample.")


class Recorder:
    """A judge's engine that records its answers by dialogue and kind of question."""

    def __init__(self, engine: JudgeEngine) -> None:
        self._engine = engine
        self.answers: dict[str, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        replies = self._engine.ask(requests)
        for request, reply in zip(requests, replies, strict=True):
            key = "decisions" if "decisions" in request.schema["properties"] else "errors"
            answer: Mapping[str, Any] | None = find_object(reply.text, key)
            if answer is None:
                raise SystemExit(f"{request.dialogue_id}: no usable answer ({reply.failure})")
            kind = "second_look" if key == "decisions" else "reading"
            self.answers.setdefault(request.dialogue_id, {})[kind] = answer
        return replies


@app.default
def record(judge: str, *, out: Path = RECORDED, judge_model: str = "") -> None:
    """Write the answers of JUDGE, as in `dialint score --judge`."""
    engine = Recorder(open_judge(JudgeConfig(judge=judge, judge_model=(judge_model,) if judge_model else ())))
    taxonomy, examples = load_taxonomy(), read_sample()
    policies = load_policies(sorted((SAMPLE / "policies").glob("*.yaml")))
    options = StageOptions(codes=frozenset(taxonomy.codes), policies=policies)
    measure(engine, taxonomy, options, examples, taxonomy.codes)
    with atomic_file(out) as file:
        for example in examples:
            row = {"dialogue_id": example.dialogue.id, **engine.answers[example.dialogue.id]}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    n_answers = sum(map(len, engine.answers.values()))
    print(f"{out}: {len(examples)} dialogues, {n_answers} answers of {engine.name}")


if __name__ == "__main__":
    app()
