"""P1 to P4: what breaks a clause of the policy that applies to a dialogue."""

from __future__ import annotations

from collections.abc import Iterator

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
from dialint.detector.policy import Policy, Violation, policy_for, violations
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn

MAX_TEXT = 200
"""Most characters of a clause that a reason quotes."""


def policy(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects broken clauses, each once a turn. Without a policy for the dialogue there are none.

    A tool call is an error of the message it came with; where nothing was said beside it, of the agent's next
    message, which tells the customer what was done, or else of the last one.
    """
    applies = policy_for(dialogue, context.policies)
    for turn, violation in broken_clauses(dialogue, applies) if applies is not None else ():
        clause = violation.clause
        text = clause.text if len(clause.text) <= MAX_TEXT else f"{clause.text[:MAX_TEXT].rstrip()} …"
        start = len(turn.text) - len(turn.text.lstrip())
        where = "" if turn.index == violation.turn else f" in turn {violation.turn}"
        why = f"clause {clause.id} of policy {violation.policy} (“{text}”): {violation.why}{where}"
        yield Hit(turn.index, start, len(turn.text.rstrip()), why, violation.code)


def broken_clauses(dialogue: Dialogue, policy: Policy) -> Iterator[tuple[Turn, Violation]]:
    """The broken clauses with the turns that they are reported at; the first of a clause and turn."""
    judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
    reported: set[tuple[int, str]] = set()
    for violation in violations(dialogue, policy) if judged else ():
        turn = next((turn for turn in judged if turn.index >= violation.turn), judged[-1])
        if (turn.index, violation.clause.id) not in reported:
            reported.add((turn.index, violation.clause.id))
            yield turn, violation
