"""A bot's call of a tool, or its notes to itself, in a message to the customer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
from dialint.detector.records import JUDGED_ROLES, Dialogue

_CALL = re.compile(
    r"\{\s*+\"(?:name|function|tool|tool_name|action)\"\s*+:\s*+\"\w{2,60}\"\s*+,\s*+"
    r"\"(?:arguments|args|parameters|input|action_input|kwargs)\"\s*+:"
    r"|</?(?:tool_calls?|function_calls?|invoke)\b[^>\n]{0,100}>|<function=\w{2,60}>|<\|python_tag\|>"
    r"|\[/?TOOL_CALLS?\]|^\s*+Action:\s*+\{|^\s*+Action Input:|^\s*+API output:",
    re.MULTILINE,
)
_THOUGHT = re.compile(r"\s*+Thought:\s*+(?=\S)|\s*+<think(?:ing)?>")


def raw_tool_call(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects the text of a tool call, or of a bot's reasoning, that the customer was shown (L4).

    It is jargon to him. At most one hit for each turn; silent where a customer sent such text first, as a
    developer may.
    """
    for turn in dialogue.turns:
        if turn.role == "customer" and _CALL.search(turn.text):
            return
        if turn.role not in JUDGED_ROLES:
            continue
        end = len(turn.text.rstrip())
        if (call := _CALL.search(turn.text)) is not None:
            yield Hit(turn.index, call.start(), end, "a tool call was sent as text", "L4")
        elif (thought := _THOUGHT.match(turn.text)) is not None:
            yield Hit(turn.index, thought.start(), end, "the bot's reasoning was sent as text", "L4")
