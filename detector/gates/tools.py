"""Gates of tools: codes that only a log with tool calls can show, and raw text of machines."""

from __future__ import annotations

import re

from dialint.detector.checks.calls import speaks_of_calls
from dialint.detector.dialogue_cache import per_dialogue
from dialint.detector.gates.suspicion import GateInput, GateResult, finding, first_position
from dialint.detector.records import Dialogue

_MACHINE_TEXT = re.compile(
    r"\{\s{0,5}+[\"']|[\"']\s{0,5}+:|</?\w{1,40}+>|(?<![\w{<%#\[])[a-z]{2,20}+_[a-z]{2,20}+|\\n"
    r"|\b(?:thought|action|observation|arguments|response|api output)\s{0,3}+:"
    r"|\[[a-z]+ [^\]\n]{3,300}+\]|\b(?:json|api|tool calls?|function calls?)\b"
    r"|^[ \t]{0,5}+(?:user|assistant|human|system)[ \t]{0,5}+$",
    re.IGNORECASE | re.MULTILINE,
)
"""JSON, tags, names of functions and fields, labels of reasoning, stage directions."""
_ROLES = re.compile(r"^[ \t]{0,5}+(user|assistant|human|agent|system):", re.IGNORECASE | re.MULTILINE)
"""Roles of a transcript before what they say; one alone begins the lines of many a list."""


@per_dialogue
def _has_tools(dialogue: Dialogue) -> bool:
    return any(turn.tool_calls or turn.role == "tool" for turn in dialogue.turns)


@per_dialogue
def _calls_from(dialogue: Dialogue) -> float:
    return first_position(dialogue, speaks_of_calls)


def tools_are_logged(suspicion: GateInput) -> GateResult:
    """I2, I4, P, R2, R3 must see that the log holds tool calls: this dialogue has one, or enough others."""
    if _has_tools(suspicion.dialogue):
        return finding("the dialogue holds the agent's tool calls")
    if suspicion.log.has_tools:
        return finding("the log holds tool calls, this dialogue has none")
    return GateResult("inapplicable", "the log holds no tool calls")


def shows_machine_text(suspicion: GateInput) -> GateResult:
    """L4 must see text of a machine in the turn: JSON, tags, names of functions, labels of reasoning."""
    text, masking = suspicion.turn.text, suspicion.log.is_masking
    if _calls_from(suspicion.dialogue) < suspicion.position:
        return GateResult("inapplicable", "the customer speaks of calls")
    matches = _MACHINE_TEXT.finditer(text)
    match = next((match for match in matches if match[0][0] not in "<[" or not masking(match[0])), None)
    if match is None:
        roles = {role.casefold(): None for role in _ROLES.findall(text)}
        if len(roles) < 2:
            return GateResult("inapplicable", "plain words")
        return finding(f"{' and '.join(roles)} are roles of a transcript")
    return finding(f"“{' '.join(match[0].split())[:40]}” is text of a machine")
