"""Clauses on dialogues: the cases of `cases.yaml`, and how values are compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from marked_dialogues import read_case

from dialint.detector.checks import CheckContext, load_checks
from dialint.detector.policy import Policy, parse_policy, violations

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
HEAD = """\
policy: shop
tools: {read: [find, read_order], write: [refund, cancel], other: [think]}
facts:
  order: {call: [read_order, cancel], key: {order_id: order_id}}
clauses:
  - id: c
    text: A clause.
"""
HELLO, REFUND = "c: My parcel is broken.", ("call: refund", "t: done")


def policy(rule: str) -> Policy:
    return parse_policy(HEAD + "".join(f"    {line}\n" for line in rule.splitlines()))


def broken(rule: str, *lines: str) -> list[tuple[str, int]]:
    return [(each.code, each.turn) for each in violations(read_case([*lines])[0], policy(rule))]


def refund(**arguments: Any) -> tuple[str, str]:
    return f"call: refund {json.dumps(arguments)}", "t: done"


def cases() -> Iterator[Any]:
    for case in CASES:
        rule = case.pop("rule")
        for code, listed in case.items():
            yield from (
                pytest.param(rule, code, lines, id=f"{rule[:40]}: {lines[-1][:30]}") for lines in listed
            )


@pytest.mark.parametrize(("rule", "code", "lines"), tuple(cases()))
def test_a_rule_is_broken_where_it_is_marked_and_nowhere_else(rule: str, code: str, lines: list[str]) -> None:
    _, marked = read_case(lines)
    assert bool(marked) == (code != "kept")
    assert broken(rule, *lines) == [(code, turn) for turn, _, _ in marked]


def test_a_deeply_nested_result_is_read() -> None:
    result = "[" * 500 + '{"id": "B"}' + "]" * 500
    lookup = 'call: read_order {"order_id": "7"}', f't: {{"order_id": "7", "items": {result}}}'
    rule = "on: refund\nforbid: {order.items.id: {not: [A]}}"
    assert broken(rule, *lookup, *refund(order_id="7")) == [("P2", 2)]
    assert broken("on: refund\nstated: order.items", *lookup, *refund(order_id="7")) == []


@pytest.mark.parametrize(
    ("words", "value", "stated"),
    [
        ("20 euros", 20, True),
        ("20 euros", 20.0, True),
        ("20 euros", 20.49, False),
        ("20 euros", 19.51, False),
        ("20.50 euros", 20.5, True),
        ("20.5 euros", "20.50", True),
        ("1,020 euros", 1020, True),
        ("May 31", "2026-05-31", True),
        ("May 31", "2026-05-03", False),
        ("may 31st", "2026-05-31", True),
        ("the 31st of May", "2026-05-31", True),
        ("on 23 March", "2026-03-03", False),
        ("on 3.5.2026", "2026-05-03", True),
        ("on 03.05.26", "2026-05-03", True),
        ("on 13.5.2026", "2026-05-03", False),
        ("5/31/2026", "2026-05-31", True),
        ("5/31/2026", "2026-05-03", False),
        ("call 07700 900123 please", "07700900123", True),
        ("call 0 7700-900123 please", "07700900123", True),
        ("call 07700 9001234 please", "07700900123", False),
        ("12 345", "12345", False),
    ],
)
def test_stated_in_other_words(words: str, value: Any, stated: bool) -> None:
    results = broken("on: refund\nstated: a", f"c: {words}", *refund(a=value))
    assert results == ([] if stated else [("P3", 1)])


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1234567890123456789, "1234567890123456788", False),
        (1234567890123456789, "1234567890123456789", True),
        ("00e1", "00e2", False),
        ("1e2", "100", False),
        ("007", "7", False),
        ("Nan", "nan", True),
        ("5.0", 5, True),
        (0.5, "0.50", True),
        (0.1 + 0.2, "0.3", True),
        ("Paris", "PARIS", True),
    ],
)
def test_equal_values(left: Any, right: str, equal: bool) -> None:
    rule = f'on: refund\nforbid: {{a: {{is: "{right}"}}}}'
    assert bool(broken(rule, *refund(a=left))) is equal
    rule = "on: refund\nforbid: {a: {not: $b}}"
    assert bool(broken(rule, *refund(a=left, b=right))) is not equal


def test_values_of_json_in_a_policy() -> None:
    for word, value in (("yes", True), ("true", True), ("No", False), ("false", False), ("null", None)):
        rule = f"on: refund\nforbid: {{frozen: {word}}}"
        for other in (True, False, None, "other", 1, 0):
            assert bool(broken(rule, *refund(frozen=other))) is (other is value)
        assert broken(rule, *refund(frozen=word)) == [("P2", 0)]


def test_logs_without_results() -> None:
    lines = (HELLO, "call: refund")
    assert broken("on: refund\nbefore: find", *lines) == []
    text = (HEAD + "    on: refund\n    before: find\n").replace("other: [think]", "results: no")
    assert [each.code for each in violations(read_case([*lines])[0], parse_policy(text))] == ["P1"]


def test_the_check_names_the_clause_and_marks_the_call_or_the_words_beside_it() -> None:
    check, shop = load_checks()["policy"], policy("on: refund\nbefore: find")
    context = CheckContext(policies={"shop": shop})
    talk, _ = read_case([HELLO, *REFUND, "a: I refunded it."])
    (hit,) = check(talk, context)
    assert (hit.turn, hit.start, hit.end, hit.code) == (1, 0, 1, "P1")  # the call itself
    assert hit.why == "clause c of policy shop (“A clause.”): before refund find is missing"
    assert list(check(talk, CheckContext())) == []
    hello, call, *rest = talk.turns
    turns = (hello, call.model_copy(update={"text": " One moment.\n"}), *rest)
    (beside,) = check(talk.model_copy(update={"turns": turns}), context)
    assert (beside.turn, beside.start, beside.end, beside.why) == (1, 1, 12, hit.why)


def test_what_nobody_did_is_missing_in_the_next_message_of_the_agent() -> None:
    context = CheckContext(policies={"shop": policy("on: {customer_says: broken}\nafter: find")})
    (hit,) = load_checks()["policy"](read_case([HELLO, "a: I see."])[0], context)
    assert (hit.turn, hit.start, hit.end) == (1, 0, 6)
    assert hit.why.endswith("never followed in turn 0")


def test_a_reason_names_the_values_that_forbid_it() -> None:
    lookup = 'call: read_order {"order_id": "7"}', 't: {"rate": "fixed", "paid": 5}'
    talk, _ = read_case([*lookup, "a: You get a full refund."])
    rule = "on: {says: full refund}\nforbid: {order.rate: fixed, order.paid: {above: 0}}"
    (violation,) = violations(talk, policy(rule))
    assert violation.why == "said what must not be said with order.rate fixed, order.paid 5"
