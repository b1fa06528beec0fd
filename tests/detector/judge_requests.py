"""Questions to a judge on a server."""

from __future__ import annotations

from typing import Any

from marked_dialogues import in_turn

from dialint.detector.engines.judge_http import HttpJudge
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.prompt import Evidence, Reader
from dialint.detector.judge.reading import Question, parse_reading
from dialint.detector.taxonomy import load_taxonomy

RUDE = "You fool."
TAXONOMY = load_taxonomy()


def question(text: str, *codes: str, customer: str = "Where is it?") -> Question:
    """About a dialogue whose turn 1, of the agent, is `text`; of T1 unless `codes` are given."""
    reader = Reader(taxonomy=TAXONOMY, max_tokens=10**6, count=lambda messages: 1)
    requested = {code: TAXONOMY.codes[code] for code in codes or ("T1",)}
    [question], _ = reader.questions(in_turn(customer, text), requested, Evidence())
    return question


def request(text: str, *codes: str, customer: str = "Where is it?") -> JudgeRequest:
    requested = question(text, *codes, customer=customer)

    def check(answer: str) -> str:
        result = parse_reading(answer, requested)
        return result if isinstance(result, str) else ""

    return JudgeRequest(
        dialogue_id="d", messages=requested.messages, schema=requested.schema, max_tokens=300, check=check
    )


def opened(url: str, **options: Any) -> HttpJudge:
    return HttpJudge(url, JudgeConfig(judge=f"http:{url}", **options))
