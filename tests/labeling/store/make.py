"""Records for tests of labels: small dialogues, findings and verdicts."""

from __future__ import annotations

from typing import Any

from dialint.detector.records import Dialogue, Finding, Turn, Verdict


def dialogue(name: str, agent: str = "a1", text: str = "Anything else?") -> Dialogue:
    turns = (
        Turn(index=0, role="customer", text="Where is my parcel?"),
        Turn(index=1, role="agent", text=text),
    )
    return Dialogue(id=name, turns=turns, agent=agent, team="t1", channel="chat", metadata={"injected": "C1"})


def finding(code: str = "C1", turn: int = 1, probability: float = 0.91, **more: Any) -> Finding:
    fields = {"severity": "S2", "quote": "Anything", "start": 0, "end": 8, "reason": "it was passed over"}
    return Finding(code=code, turn=turn, probability=probability, **{**fields, **more})


def verdict(name: str, *findings: Finding, release: str = "embedded-1", risk: float | None = None) -> Verdict:
    return Verdict(
        dialogue_id=name, release=release, taxonomy="1.0.0", status="scored", quality=72.0, findings=findings,
        probabilities=None if risk is None else {1: {"C1": risk}},
    )  # fmt: skip
