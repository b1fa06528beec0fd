"""P1 to P4: violations of clauses of the policy that applies to a dialogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import locate_act, locate_call
from dialint.detector.checks.values import name_words
from dialint.detector.checks.words import SENTENCE, patterns
from dialint.detector.policy import Clause, Policy, Violation, policy_for, violations
from dialint.detector.policy.format import Consent, Event, Tools
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import tool_uses

PATTERNS = patterns("policy")
MAX_TEXT = 200
"""Most characters of a clause that a reason quotes."""
_CITED = re.compile(
    rf"clause ([\w.-]{{1,64}}) of policy ([\w.-]{{1,64}}) \(“(.{{1,{MAX_TEXT + 2}}}?)”\):",
    re.ASCII | re.DOTALL,
)


class CitedClause(NamedTuple):
    """A clause of a policy as the reason of a finding names it; its `text` may be cut, and then ends with
    `` …``."""

    clause: str
    policy: str
    text: str


def find_cited_clause(reason: str) -> CitedClause | None:
    """Return the clause that the reason of a finding of this check names, or none."""
    match = _CITED.search(reason)
    return None if match is None else CitedClause(*match.groups())


@check(
    P1=Evidence(estimate=0.718),
    P2=Evidence(estimate=0.818),
    P3=Evidence(estimate=0.778),
    P4=Evidence(estimate=0.75, report="suggestion"),
)
def policy(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find broken clauses, each once a turn. Without a policy for the dialogue there are none.

    The hit is on the turn of the call, as in the taxonomy: the words beside the call or, without any, the
    call itself; an omission is reported at the agent's next message.
    """
    applies = policy_for(dialogue, context.policies)
    if applies is None:
        return
    for place, violation in broken_clauses(dialogue, applies):
        if context.log.is_partial and violation.code == "P1" and violation.clause.before is not None:
            continue
        where = "" if place[0] == violation.turn else f" in turn {violation.turn}"
        why = f"{_quote(violation.clause, applies)}: {violation.why}{where}"
        yield Hit(*place, why, violation.code)


def _quote(clause: Clause, policy: Policy) -> str:
    text = clause.text if len(clause.text) <= MAX_TEXT else f"{clause.text[:MAX_TEXT].rstrip()} …"
    return f"clause {clause.id} of policy {policy.policy} (“{text}”)"


def broken_clauses(dialogue: Dialogue, policy: Policy) -> Iterator[tuple[tuple[int, int, int], Violation]]:
    """Yield the broken clauses with the places that they are reported at; the first of a clause and turn."""
    reported: set[tuple[int, str]] = set()
    turns = {turn.index: turn for turn in dialogue.turns}
    for violation in violations(dialogue, policy):
        turn = turns[violation.turn]
        is_call = turn.role in JUDGED_ROLES and violation.call < len(turn.tool_calls)
        place = locate_call(turn, violation.call) if is_call else locate_act(dialogue, turn.index)
        if place is not None and (place[0], violation.clause.id) not in reported:
            reported.add((place[0], violation.clause.id))
            yield place, violation


@check(P1=Evidence(), languages=("en",))
def unconfirmed_change(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call that changes something without the customer's yes, where a sentence of a system turn or a
    source demands one and no policy file applies (P1). The hit is that of `policy`.
    """
    if policy_for(dialogue, context.policies) is not None:
        return
    texts = [*dialogue.sources, *(turn.text for turn in dialogue.turns if turn.role == "system")]
    sentences = (match[0].strip() for text in texts for match in SENTENCE.finditer(text))
    demand = next(
        (
            each
            for each in sentences
            if PATTERNS.demands_yes.search(each) and PATTERNS.about_changes.search(each)
        ),
        None,
    )
    names = {use.call.name for use in tool_uses(dialogue)}
    writes = [name for name in sorted(names) if PATTERNS.changes.fullmatch("".join(name_words(name)[:1]))]
    if demand is None or not writes:
        return
    clause = Clause(id="yes", text=demand[:MAX_TEXT], code="P1", on=Event(call=("write",)), consent=Consent())
    demanding = Policy(policy="log", tools=Tools(write=tuple(writes)), clauses=(clause,))
    for place, violation in broken_clauses(dialogue, demanding):
        yield Hit(*place, f"“{clause.text}”: {violation.why}", "P1")
