"""Requests for an act that no tool of the dialogue carried out, at the end of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dialint.detector.checks.calls import raw_tool_call
from dialint.detector.checks.claims import claims_undone_write, may_write, name_words
from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import tool_uses

_CHANGES = "exchang|swap|replac|modif|chang|updat|upgrad|downgrad|switch|add|remov"
_VERBS = rf"(?:cancel|return|refund|book(?!ings?\b)|{_CHANGES})"
"""Beginnings of the verbs that ask for an act."""
_REQUEST = re.compile(
    r"\b(?:i(?:['’]d| would)? (?:want|like|need|wish)|(?:can|could|would) you|please|help me|go ahead"
    r"|proceed with)\b"
    rf"[^.?!\n]{{0,60}}?\b{_VERBS}",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(
    r"\bnever ?mind\b|\bforget (?:it|about)\b|\bchanged my mind\b"
    r"|\b(?:keep|leave) (?:it|them|everything|the|my)\b|\bhold off\b"
    r"|\b(?:don['’]?t|do not|won['’]?t|no longer) (?:want|need|wish|proceed|go ahead|cancel|return"
    r"|exchange|book)\b"
    r"|\bi(?:['’]?ll| will) (?:think|call|contact|reach|wait|check|do it|handle|get back|come back|leave|keep"
    r"|try|look|find)\b"
    r"|\bthink about it\b|\banother time\b|\b(?:some time|later)\b|\bdecid",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:can(?:not|['’]t| not)|unable|not able|isn['’]t|policy|sorry|apologi[sz]e|unfortunately"
    r"|not (?:possible|eligible|allowed|permitted|refundable|available|within)|non-?refundable|no longer"
    r"|already been|outside|beyond"
    r"|transfer\w*|human agent|escalat\w*)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?|\b(?:confirm|please (?:provide|let|share|tell|give|hold|wait|check))\b", re.IGNORECASE
)
_LAST_TURNS = 3
"""Turns of the agent before the end in which a refusal may stand."""


@check(R2=Evidence(16, 18, "suggestion"), languages=("en",))
def leaves_request_open(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects the end of a dialogue in which the customer asked for an act, no tool changed anything, and the
    agent neither refused nor handed over (R2); at the last turn of the agent.

    Silent where the customer withdrew, where the agent's last words are a question, and where neither the
    dialogue nor the log holds calls of tools.

    Read on the once-half of tau_bench (2026-11-23): 16 of 18 right, .89 (.65 to .99), so a suggestion: on a
    log that holds only some of the tools an act may have been done elsewhere.
    """
    uses = tool_uses(dialogue)
    if not (context.log.has_tools or any(use.was_run for use in uses)):
        return
    customer = [turn for turn in dialogue.turns if turn.role == "customer"]
    spoken = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
    request = _open_request(customer, [use.call.name for use in uses if not use.failed])
    if request is None or len(spoken) < _LAST_TURNS:
        return
    last = spoken[-1]
    if _ASKS.search(last.text) or any(_WITHDRAWN.search(turn.text) for turn in customer[1:]):
        return
    raw = {hit.turn for hit in raw_tool_call(dialogue, context)}
    readable = [turn for turn in spoken[-_LAST_TURNS:] if turn.index not in raw]
    if any(_REFUSAL.search(turn.text) for turn in readable) or any(claims_undone_write(dialogue, context)):
        return
    start, end = len(last.text) - len(last.text.lstrip()), len(last.text.rstrip())
    yield Hit(last.index, start, end, f"asked for in turn {request}, and no tool did it by the end", "R2")


def _open_request(customer: Sequence[Turn], done: Sequence[str]) -> int | None:
    """The turn of the first request that no tool served; None where any tool may have changed something."""
    if any(may_write(name) and not _is_helper(name) for name in done):
        return None
    return next((turn.index for turn in customer if _REQUEST.search(turn.text)), None)


def _is_helper(name: str) -> bool:
    words = name_words(name)
    return "think" in words or not words
