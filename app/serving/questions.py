"""One question, as the judge is asked, for a server that has to be warmed up or looked at."""

from __future__ import annotations

from typing import Any

from dialint.detector.judge import SCHEMA, Question, build_chat
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

WARM_UP_TOKENS = 96


def sample_request(model: str) -> dict[str, Any]:
    """A chat completion about a made-up dialogue, constrained to the schema of a judge's answer."""
    turns = (
        Turn(index=0, role="customer", text="Where is my parcel?"),
        Turn(index=1, role="agent", text="It is on its way and arrives tomorrow."),
    )
    question = Question(dialogue=Dialogue(id="sample", turns=turns), turn=1, code="T1")
    messages = build_chat(question, load_taxonomy().codes["T1"]).messages
    return {
        "model": model,
        "messages": messages,
        "temperature": 0,
        "max_tokens": WARM_UP_TOKENS,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }
