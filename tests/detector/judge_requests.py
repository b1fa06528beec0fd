"""Questions to a judge on a server, and policies that do not wait long."""

from __future__ import annotations

from typing import Any

from dialint.detector.engines.judge_http import HttpJudge
from dialint.detector.engines.pacing import RetryPolicy
from dialint.detector.judge import SCHEMA, JudgeRequest, Question, build_chat
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

FAST = RetryPolicy(
    first_wait_s=0.002, longest_wait_s=0.01, longest_retry_after_s=0.2, opening_s=8, outage_s=8
)
RUDE = "You fool."
CODES = load_taxonomy().codes


def request(text: str, code: str = "T1", customer: str = "Where is it?") -> JudgeRequest:
    turns = (Turn(index=0, role="customer", text=customer), Turn(index=1, role="agent", text=text))
    question = Question(dialogue=Dialogue(id="d", turns=turns), turn=1, code=code)
    return JudgeRequest(
        dialogue_id="d", messages=tuple(build_chat(question, CODES[code]).messages), schema=SCHEMA,
        max_tokens=160, wants_verdict=True,
    )  # fmt: skip


def opened(url: str, policy: RetryPolicy = FAST, **options: Any) -> HttpJudge:
    return HttpJudge(JudgeConfig(judge=f"http:{url}", **options), policy)
