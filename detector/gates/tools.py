"""The gate of codes that only a log with tool calls can show: what was looked up, what was done."""

from __future__ import annotations

from dialint.detector.gates.suspicion import GateResult, Suspicion, finding


def tools_are_logged(suspicion: Suspicion) -> GateResult:
    """I2, I4, P, R2, R3 must see that the log holds tool calls: this dialogue has one, or enough others."""
    turns = suspicion.dialogue.turns
    if any(turn.tool_calls or turn.role == "tool" for turn in turns):
        return finding("the dialogue holds the agent's tool calls")
    if suspicion.log.has_tools:
        return finding("the log holds tool calls, this dialogue has none")
    return GateResult("inapplicable", "the log holds no tool calls")
