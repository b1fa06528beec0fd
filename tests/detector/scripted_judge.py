"""A judge in this process whose answers are written by the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialint.detector.judge.engine import JudgeReply, JudgeRequest

Answers = Callable[[JudgeRequest], Sequence[str]]


@dataclass
class ScriptedJudge:
    """`answers` are those to a request, the first one and, where it cannot be used, the second."""

    answers: Answers
    name: str = "scripted"
    fingerprint: str = "scripted"
    is_remote: bool = True
    notes: tuple[str, ...] = ()
    max_prompt_tokens: int = 60_000
    requests: list[JudgeRequest] = field(default_factory=list)

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return sum(len(message["content"]) for message in messages) // 4

    def spell(self, text: str) -> str:
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        self.requests += requests
        return [self.reply(request) for request in requests]

    def reply(self, request: JudgeRequest) -> JudgeReply:
        tokens = self.count_tokens(request.messages)
        for text in self.answers(request)[: request.answers]:
            if not request.check(text):
                return JudgeReply(text=text, prompt_tokens=tokens, output_tokens=9)
        return JudgeReply(failure="E_ANSWER", prompt_tokens=tokens, output_tokens=9)

    def close(self) -> None:
        pass


def listed(*errors: Mapping[str, Any], decisions: Sequence[Mapping[str, Any]] = ()) -> Answers:
    """Readings with these errors, and second looks with these decisions."""
    usual = {
        "second_code": "none", "probability": 0.9, "severity": "S2", "reason": "It is (so).", "clause": "none",
    }  # fmt: skip

    def answers(request: JudgeRequest) -> list[str]:
        if is_second_look(request):
            own = [{"severity": "S2", "reason": "", **each} for each in decisions]
            return [json.dumps({"notes": "", "decisions": own})]
        return [json.dumps({"notes": "", "errors": [{**usual, **error} for error in errors]})]

    return answers


def is_second_look(request: JudgeRequest) -> bool:
    return "decisions" in request.schema["properties"]
