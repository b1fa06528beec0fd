"""Rules that rewrite a few words of an agent's own sentence: one error, marked at the exact place.

The clean twin is the same turn unbroken, or the same slip in the customer's mouth, which is nobody's
fault. Which rules there are, the wordings say.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, Made, Mark, Pool, Use
from dialint.labeling.synthetic.grammar_rules import Rule
from dialint.labeling.synthetic.places import free_agent_turns, plain, shuffled

CUSTOMER_SHARE = 0.3
"""Share of twins in which the customer makes the slip, where his words allow it."""


def by_rules(code: str, name: str, rules: tuple[Rule, ...], use: Use = "train") -> Family:
    """The family of errors that `rules` make; "<code>.<name>"."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in shuffled(free_agent_turns(draft), rng):
            text = draft.turns[place].text
            order = list(rules)
            rng.shuffle(order)
            for rule in order:
                if done := applied(text, rule, rng):
                    mark = Mark(code, f"{code}.{name}", done[1], done[2])
                    error = draft.with_turn(place, DraftTurn("agent", done[0], (mark,), touched=True))
                    return Made(error, _twin(draft, place, order, code, rng))
        return None

    return Family(code, f"{code}.{name}", make, use)


def _twin(draft: Draft, place: int, rules: list[Rule], code: str, rng: Random) -> Draft:
    """The draft with the turn at `place` as it was, at times with a customer who slips instead."""
    clean = draft.with_turn(place, plain("agent", draft.turns[place].text, code))
    if rng.random() >= CUSTOMER_SHARE:
        return clean
    customers = [i for i, turn in enumerate(draft.turns) if turn.role == "customer" and not turn.touched]
    for other in shuffled(customers, rng):
        for rule in rules[:12]:
            if done := applied(draft.turns[other].text, rule, rng):
                return clean.with_turn(other, plain("customer", done[0]))
    return clean


def applied(text: str, rule: Rule, rng: Random) -> tuple[str, int, int] | None:
    """One match of the rule rewritten, and where the new words stand; None if there is no match."""
    matches = list(re.finditer(rule.pattern, text, re.IGNORECASE))
    if not matches:
        return None
    match = rng.choice(matches)
    new = match.expand(rng.choice(rule.becomes))
    if match[0][0].isupper():
        new = _recased(new, match[0].split()[0])
    if new.lower() == match[0].lower() or not new.strip():
        return None
    start = match.start()
    return text[:start] + new + text[match.end() :], start, start + len(new.rstrip())


def _recased(new: str, first: str) -> str:
    """`new` with a capital at its start, and none on the word `first` if that has moved inwards."""
    if first != "I" and not first.startswith("I'"):
        new = re.sub(rf"(?<=\s){re.escape(first)}\b", first.lower(), new)
    return new[:1].upper() + new[1:]
