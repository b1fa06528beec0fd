"""Questions to a judge on a server."""

from __future__ import annotations

from typing import Any

from dialint.detector.engines.judge_http import HttpJudge
from dialint.detector.judge import SCHEMA, JudgeRequest, Question, build_chat
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

RUDE = "You fool."
CODES = load_taxonomy().codes


def request(text: str, code: str = "T1", customer: str = "Where is it?") -> JudgeRequest:
    turns = (Turn(index=0, role="customer", text=customer), Turn(index=1, role="agent", text=text))
    question = Question(dialogue=Dialogue(id="d", turns=turns), turn=1, code=code)
    return JudgeRequest(
        dialogue_id="d", messages=tuple(build_chat(question, CODES[code]).messages), schema=SCHEMA,
        max_tokens=160, wants_verdict=True,
    )  # fmt: skip


def opened(url: str, **options: Any) -> HttpJudge:
    return HttpJudge(url, JudgeConfig(judge=f"http:{url}", **options))
