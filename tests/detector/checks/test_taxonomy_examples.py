"""Each code's own example in the taxonomy is found by a check, and its counter-example is spared by all of them.

An example stands after the words of the customer or the agent that its brackets quote. What else it needs (a
policy, calls, times) is in `SETTINGS`; the examples that no check finds are in `NOT_FOUND`, with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from marked_dialogues import read_case

from dialint.detector.checks import CheckContext, load_checks
from dialint.detector.log_profile import LogProfile
from dialint.detector.policy import parse_policy
from dialint.detector.taxonomy import Code, load_taxonomy

TAXONOMY = load_taxonomy()
LOG = LogProfile(n_dialogues=10, tool_dialogues=9)
_BRACKETS = re.compile(r"\A\[(?P<context>.*?)\]\s*(?P<text>.*)\Z", re.DOTALL)
_QUOTE = re.compile(r'"([^"]*)"')
BIRTH = {"tools": {"read": ["check_birth"], "write": ["move_contract"]}}
FEE = {"tools": {"read": ["read_fee"], "write": ["order_upgrade"]}}
POLICIES: dict[str, dict[str, Any]] = {
    "P1": {**BIRTH, "on": {"call": "move_contract"}, "before": {"call": "check_birth"}},
    "P2": {"tools": {"write": ["credit"]}, "on": {"call": "credit"}, "forbid": {"amount": {"above": "20"}}},
    "P3": {"tools": {"write": ["change_seat"]}, "on": {"call": "change_seat"}, "stated": ["passenger"]},
    "P4": {**FEE, "on": {"call": "order_upgrade"}, "before": {"call": "read_fee"}},
}
SETTINGS: dict[str, tuple[list[str], list[str]]] = {
    "P1": (
        ["c: Please move my contract to 5 Elm Road.", "call: move_contract {}", "t: {}", "a: {text}"],
        ["c: Please move my contract to 5 Elm Road.", "a: {text}"],
    ),
    "P2": (
        ["c: I want 75 dollars back.", 'call: credit {"amount": 75}', "t: {}", "a: {text}"],
        ["c: I want 75 dollars back.", "a: {text}"],
    ),
    "P3": (
        ["c: Seat 4A for passenger 1.", 'call: change_seat {"passenger": 2}', "t: {}", "a: {text}"],
        ["c: Seat 4A for passenger 1.", 'call: change_seat {"passenger": 1}', "t: {}", "a: {text}"],
    ),
    "P4": (
        ["c: An upgrade, please.", "call: order_upgrade {}", "t: {}", "call: read_fee {}", "t: {}", "a: {text}"],
        ["c: An upgrade, please.", "call: read_fee {}", "t: {}", "a: {text}"],
    ),
    "M2": (["a: {text}"], ["c: How do I address my mailing with a {first_name} slot?", "a: {text}"]),
    "R3": (["c: I want a refund of 40 euros.", "a: {text}"], ["c: I want a refund of 40 euros.", "a: {text}"]),
    "W1": (["c@0: I have a question.", "a@12: {text}"], ["c@0: I have a question.", "a@1: {text}"]),
    "W2": (
        ["c@0: Hi", "a@0: Hello!", "c@1: My lamp is broken.", "a@21: {text}"],
        ["c@0: Is my part there?", "a@1: I need 10 minutes", "a@10: {text}"],
    ),
    "W3": (
        ["c@0: Hi", "a@0: Hello!", "c@1: Is my flight refundable?", "a@19: {text}"],
        ["c@0: Hi", "a@0: Hello!", "c@1: Is my flight refundable?", "a@19: {text}"],
    ),
}  # fmt: skip
"""The turns of the example and of the counter-example, ``{text}`` being the text without its brackets."""
NOT_FOUND = {
    code: reason
    for reason, codes in {
        "it takes the sense of the words": "L4 T3 M1 C3 U1 U3 U4 U5 R2 R4 E3 V3 X1 X2 X3",
        "it takes the sense of a source or a clause": "I1 I3 E1",
        "no check of such promises": "I2",
        "only what the customer says next shows it": "C1 C2",
        "no check of a ready-made text against the customer's words": "M4",
        "no check of who may hear what": "V1",
        "the number of the order is asked for in other words": "U2",
        "no check of hand-overs": "E2",
    }.items()
    for code in codes.split()
}
ALSO = {"W3": {"W2"}}
"""Faults that a counter-example has all the same: an apology does not undo the wait."""


def hits(code: Code, text: str, is_example: bool) -> Iterator[tuple[str, bool]]:
    """Yield the code of every hit and whether it may be a finding."""
    match = _BRACKETS.match(text)
    context, text = (match["context"], match["text"]) if match else ("", text)
    quote = next(iter(_QUOTE.findall(context)), "Hello, it is about my order.")
    lines = [f"c: {quote}", f"a: {text}"]
    if code.code in SETTINGS:
        lines = [line.replace("{text}", text) for line in SETTINGS[code.code][0 if is_example else 1]]
    elif context.startswith("Sent before"):
        lines = ["c: I cannot get in.", f"a: {text}", *lines]
    elif context.startswith("Earlier the agent"):
        lines = ["c: Hello", f"a: {quote}", "c: Thank you.", f"a: {text}"]
    policies = {}
    if code.code in POLICIES:
        tools, clause = POLICIES[code.code]["tools"], {**POLICIES[code.code]}
        del clause["tools"]
        content = {"policy": "own", "tools": tools, "clauses": [{"id": "1", "text": "own", **clause}]}
        policies["own"] = parse_policy(json.dumps(content))
    dialogue, _ = read_case(lines)
    for check in load_checks().values():
        for hit in check(dialogue, CheckContext(LOG, policies)):
            for found in [hit.code] if hit.code else list(check.codes):
                yield found, check.codes[found].outcome == "finding"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            each,
            id=each.code,
            marks=[pytest.mark.xfail(strict=True, reason=NOT_FOUND[each.code])]
            if each.code in NOT_FOUND
            else [],
        )
        for each in TAXONOMY.codes.values()
    ],
)
def test_the_example_of_a_code_is_found(code: Code) -> None:
    assert code.code in {found for found, _ in hits(code, code.example, True)}


@pytest.mark.parametrize("code", TAXONOMY.codes.values(), ids=list(TAXONOMY.codes))
def test_the_counter_example_of_a_code_is_spared(code: Code) -> None:
    found = {
        each for each, is_sure in hits(code, code.counter_example, False) if is_sure or each == code.code
    }
    assert found - ALSO.get(code.code, set()) == set()
