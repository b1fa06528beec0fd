"""Clauses on dialogues: each rule where it is broken, where it is kept, and where the log cannot tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialint.detector.checks import CheckContext, load_checks
from dialint.detector.policy import Policy, load_policies, load_policy, violations
from dialint.detector.records import Dialogue, ToolCall, Turn

HEAD = """\
policy: shop
tools: {read: [find, read_order], write: [refund, cancel], other: [think]}
facts:
  order: {call: [read_order, cancel], key: {order_id: order_id}}
clauses:
  - id: c
    text: A clause.
"""


def policy(folder: Path, rule: str) -> Policy:
    path = folder / "shop.yaml"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in rule.splitlines()), encoding="utf-8")
    return load_policy(path)


def talk(*turns: tuple[str, Any]) -> Dialogue:
    """Of ("c", text), ("a", text), ("call", name, arguments, result); a result of None was never run."""
    made: list[Turn] = []
    for role, *what in turns:
        if role == "call":
            name, arguments, result = what
            call = ToolCall(name=name, arguments=arguments)
            made.append(Turn(index=len(made), role="agent", text="", tool_calls=(call,)))
            if result is not None:
                text = result if isinstance(result, str) else json.dumps(result)
                made.append(Turn(index=len(made), role="tool", text=text))
        else:
            made.append(
                Turn(index=len(made), role={"c": "customer", "a": "agent"}[role], text=what[0])  # type: ignore[arg-type]
            )
    return Dialogue(id="d", turns=tuple(made))


def broken(folder: Path, rule: str, *turns: tuple[str, Any]) -> list[tuple[str, int]]:
    return [(each.code, each.turn) for each in violations(talk(*turns), policy(folder, rule))]


def call(name: str, arguments: dict[str, Any] | None = None, result: Any = "done") -> Any:
    return ("call", name, arguments or {}, result)


FIND, REFUND = call("find"), call("refund")
HELLO = ("c", "My parcel is broken.")


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((HELLO, FIND, REFUND), []),
        ((HELLO, REFUND), [("P1", 1)]),
        ((HELLO, REFUND, FIND), [("P4", 1)]),
        ((HELLO, REFUND, REFUND), [("P1", 1)]),
        ((HELLO, call("find", result="Error: no such customer"), REFUND), [("P1", 3)]),
        ((HELLO, call("refund", result="Error: no such order")), []),
        ((HELLO, call("refund", result=None)), []),
    ],
)
def test_before(tmp_path: Path, turns: Any, expected: Any) -> None:
    assert broken(tmp_path, "on: refund\nbefore: find", *turns) == expected


def test_before_for_the_same_order(tmp_path: Path) -> None:
    rule = "on: refund\nbefore:\n  - {call: read_order, same: {order_id: order_id}}"
    look = call("read_order", {"order_id": "#7"})
    assert broken(tmp_path, rule, HELLO, look, call("refund", {"order_id": "7"})) == []
    assert broken(tmp_path, rule, HELLO, look, call("refund", {"order_id": "8"})) == [("P1", 3)]
    assert broken(tmp_path, rule, HELLO, call("refund")) == []


def test_before_in_words(tmp_path: Path) -> None:
    rule = "on: refund\nbefore:\n  - {says: [your name], customer_says: [my name is]}"
    assert broken(tmp_path, rule, ("a", "What's your name?"), ("c", "Ana"), REFUND) == []
    assert broken(tmp_path, rule, ("c", "Hi, my name is Ana"), REFUND) == []
    assert broken(tmp_path, rule, ("c", "Hi, my names differ"), REFUND) == [("P1", 1)]


def test_after(tmp_path: Path) -> None:
    rule = "on: refund\nafter: {says: business days}"
    assert broken(tmp_path, rule, HELLO, REFUND, ("a", "Within 5 business days.")) == []
    assert broken(tmp_path, rule, HELLO, REFUND, ("a", "Done.")) == [("P1", 1)]


@pytest.mark.parametrize(
    ("status", "arguments", "expected"),
    [("sent", {"order_id": "7"}, [("P2", 3)]), ("open", {"order_id": "7"}, []), ("sent", {"order_id": "8"}, []), ("sent", {}, [])],
)  # fmt: skip
def test_forbid_by_a_fact(tmp_path: Path, status: str, arguments: dict[str, Any], expected: Any) -> None:
    look = call("read_order", {"order_id": "7"}, {"order_id": "7", "status": status})
    rule = "on: cancel\nforbid: {order.status: [sent, delivered]}"
    assert broken(tmp_path, rule, HELLO, look, call("cancel", arguments)) == expected


def test_only_if_needs_every_alternative_to_be_false(tmp_path: Path) -> None:
    rule = "on: refund\nonly_if:\n  - {order.paid: voucher}\n  - {amount: {at_most: 50}}"
    order = {"order_id": "7", "paid": "card"}
    look = call("read_order", {"order_id": "7"}, order)
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "amount": 51})) == [("P2", 2)]
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "amount": 50})) == []
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7"})) == []
    assert broken(tmp_path, rule, call("refund", {"order_id": "7", "amount": 51})) == []


def test_calculations_and_counts(tmp_path: Path) -> None:
    rule = 'on: refund\nforbid: {amount: {above: "10 * $count(order.items) + $order.fee"}}'
    look = call("read_order", {"order_id": "7"}, {"order_id": "7", "items": [1, 2], "fee": 3})
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "amount": 23})) == []
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "amount": 23.5})) == [("P2", 2)]


def test_items_of_lists(tmp_path: Path) -> None:
    look = call("read_order", {"order_id": "7"}, {"order_id": "7", "items": [{"id": "A"}, {"id": "B"}]})
    rule = "on: refund\nonly_if: {items: $order.items.id}"
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "items": ["A"]})) == []
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "items": ["A", "C"]})) == [("P2", 2)]
    rule = "on: refund\nforbid: {items: {other_items_than: $order.items.id}}"
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "items": ["B", "A"]})) == []
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7", "items": ["A"]})) == [("P2", 2)]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((HELLO, ("a", "I can refund 20 dollars. Shall I go ahead?"), ("c", "Yes"), REFUND), []),
        ((HELLO, ("a", "Please confirm the refund of 20 dollars."), ("c", "fine by me"), REFUND), []),
        ((HELLO, ("a", "Would you like that?"), ("c", "No, wait. Yes, go ahead"), REFUND), []),
        (
            (
                *((HELLO, ("a", "Shall I go ahead?"), ("c", "Yes"))),
                *(("a", "Any other wishes?"), ("c", "No"), REFUND),
            ),
            [],
        ),
        ((HELLO, ("a", "Do you want that?"), ("c", "No longer, wait. Yes"), REFUND), []),
        ((HELLO, REFUND), [("P2", 1)]),
        ((HELLO, ("a", "What is your name?"), ("c", "Ana"), REFUND), [("P2", 3)]),
        ((HELLO, ("a", "To proceed, tell me more."), ("c", "Ana"), REFUND), [("P2", 3)]),
        ((HELLO, ("a", "Shall I go ahead?"), REFUND), [("P2", 2)]),
        ((HELLO, ("a", "Shall I go ahead?"), ("c", "No, not yet."), REFUND), [("P2", 3)]),
        ((HELLO, ("a", "What is your name?"), ("c", "Ana"), call("think")), []),
        ((HELLO, ("a", "Shall I go ahead?"), ("c", "Can you refund it?"), REFUND), [("P2", 3)]),
        (
            (
                *(HELLO, ("a", "Shall I refund it?"), ("c", "Yes, refund it.")),
                *(("a", "Please give me the reason."), ("c", "It broke."), REFUND),
            ),
            [],
        ),
        (
            (HELLO, ("a", "If you have a reason, we can proceed. Why?"), ("c", "It broke."), REFUND),
            [("P2", 3)],
        ),
        (
            (
                *(HELLO, ("a", "Shall I go ahead?"), ("c", "Yes"), ("a", "What would you like next?")),
                *(("c", "Refund it."), REFUND),
            ),
            [("P2", 5)],
        ),
    ],
)
def test_consent(tmp_path: Path, turns: Any, expected: Any) -> None:
    assert broken(tmp_path, "on: write\nconsent: yes", *turns) == expected


def test_consent_in_words_of_ones_own(tmp_path: Path) -> None:
    rule = "on: refund\nconsent: {asks: [einverstanden], yes: [ja], no: [nein]}"
    asks = ("a", "Sind Sie einverstanden?")
    assert broken(tmp_path, rule, asks, ("c", "ja"), REFUND) == []
    assert broken(tmp_path, rule, asks, ("c", "nein"), REFUND) == [("P2", 2)]


def test_an_order_is_consent_where_own_words_do_not_say_otherwise(tmp_path: Path) -> None:
    turns = (("a", "Einverstanden?"), ("c", "Sicher?"), REFUND)
    rule = "on: refund\nconsent: {asks: [einverstanden], no: [nein]}"
    assert broken(tmp_path, rule, *turns) == []
    assert broken(tmp_path, rule.replace("no:", "agrees: [ja], no:"), *turns) == [("P2", 2)]


def test_limits(tmp_path: Path) -> None:
    calls = [call("refund", {"order_id": each, "items": ["a-1", "b-2", "a-3"]}) for each in "778"]
    assert broken(tmp_path, "on: refund\nlimit: {at_most: 2}", *calls) == [("P2", 4)]
    assert broken(tmp_path, "on: refund\nlimit: {at_most: 1, per: order_id}", *calls) == [("P2", 2)]
    assert broken(tmp_path, "on: refund\nlimit: {at_most: 1, different: order_id}", *calls) == [("P2", 4)]
    rule = 'on: refund\nlimit: {at_most: 1, items: items, like: "a-*"}'
    assert broken(tmp_path, rule, calls[0]) == [("P2", 0)]
    assert broken(tmp_path, rule.replace("a-*", "b-*"), calls[0]) == []
    said = [("a", "Please hold the line.")] * 3
    assert broken(tmp_path, "on: {says: hold the line}\nlimit: {at_most: 2}", *said) == [("P2", 2)]


def test_a_deeply_nested_result_is_read(tmp_path: Path) -> None:
    rule = "on: refund\nforbid: {order.items.id: {not: [A]}}\n"
    result = "[" * 500 + '{"id": "B"}' + "]" * 500
    look = call("read_order", {"order_id": "7"}, f'{{"order_id": "7", "items": {result}}}')
    assert broken(tmp_path, rule, look, call("refund", {"order_id": "7"})) == [("P2", 2)]
    assert broken(tmp_path, "on: refund\nstated: order.items", look, call("refund", {"order_id": "7"})) == []


def test_stated(tmp_path: Path) -> None:
    rule = "on: {call: refund, tried: yes}\nstated: [order_id, day, amount]"
    refund = call("refund", {"order_id": "#W77", "day": "2024-05-20", "amount": 1250.0}, "Error: no")
    words = ("c", "Order W77 from May 20, 1,250 dollars")
    assert broken(tmp_path, rule, words, refund) == []
    assert broken(tmp_path, rule, ("c", "Order W771 from May 20, 1250"), refund) == [("P3", 1)]
    assert broken(tmp_path, rule, ("c", "Order W77 from May 2, 1250"), refund) == [("P3", 1)]
    seen = call("find", {}, {"orders": [{"id": "W77", "day": "2024-05-20", "total": "1250.00"}]})
    assert broken(tmp_path, rule, ("c", "my order"), seen, refund) == []


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
def test_stated_in_other_words(tmp_path: Path, words: str, value: Any, stated: bool) -> None:
    found = broken(tmp_path, "on: refund\nstated: a", ("c", words), call("refund", {"a": value}))
    assert found == ([] if stated else [("P3", 1)])


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
def test_equal_values(tmp_path: Path, left: Any, right: str, equal: bool) -> None:
    rule = f'on: refund\nforbid: {{a: {{is: "{right}"}}}}'
    assert bool(broken(tmp_path, rule, call("refund", {"a": left}))) is equal
    rule = "on: refund\nforbid: {a: {not: $b}}"
    assert bool(broken(tmp_path, rule, call("refund", {"a": left, "b": right}))) is not equal


def test_values_of_json_in_a_policy(tmp_path: Path) -> None:
    for word, value in (("yes", True), ("true", True), ("No", False), ("false", False), ("null", None)):
        rule = f"on: refund\nforbid: {{frozen: {word}}}"
        for other in (True, False, None, "other", 1, 0):
            assert bool(broken(tmp_path, rule, call("refund", {"frozen": other}))) is (other is value)
        assert broken(tmp_path, rule, call("refund", {"frozen": word})) == [("P2", 0)]


def test_sums_are_exact(tmp_path: Path) -> None:
    rule = 'on: refund\nforbid: {sum: {not: "$a + 3 * $b"}}'
    assert broken(tmp_path, rule, call("refund", {"sum": "0.5", "a": 0.2, "b": 0.1})) == []
    assert broken(tmp_path, rule, call("refund", {"sum": 5, "a": "NaN", "b": 1})) == []  # unknown
    assert broken(tmp_path, rule, call("refund", {"sum": 5, "a": "9" * 41, "b": 10**50})) == []


def test_words_that_must_not_be_said_and_unless(tmp_path: Path) -> None:
    rule = "on: {says: [guarantee]}\nlimit: {at_most: 0}\nunless: {customer_says: guarantee}"
    assert broken(tmp_path, rule, ("a", "We guarantee it.")) == [("P2", 0)]
    assert broken(tmp_path, rule, ("c", "Is there a guarantee?"), ("a", "We guarantee it.")) == []


def test_words_that_must_not_be_said_under_conditions(tmp_path: Path) -> None:
    rule = "on: {says: full refund}\nforbid: {order.rate: fixed, order.paid: {above: 0}}"

    def look(rate: str, order: str = "7") -> Any:
        return call("read_order", {"order_id": order}, {"rate": rate, "paid": 5})

    promise = ("a", "You get a full refund.")
    assert broken(tmp_path, rule, look("fixed"), promise) == [("P2", 2)]
    assert broken(tmp_path, rule, look("flex"), promise) == []
    assert broken(tmp_path, rule, promise, look("fixed")) == []
    assert broken(tmp_path, rule, look("flex"), look("fixed"), promise) == [("P2", 4)]
    assert broken(tmp_path, rule, look("flex", "8"), look("fixed"), promise) == []  # which of the two is open
    why = violations(talk(look("fixed"), promise), policy(tmp_path, rule))[0].why
    assert why == "said what must not be said with order.rate fixed, order.paid 5"


def test_words_beside_a_call_need_no_consent(tmp_path: Path) -> None:
    refund = ("a", "I am glad to refund it.")
    assert broken(tmp_path, "on: {call: refund, says: refund}\nconsent: yes", refund) == []


def test_logs_without_results(tmp_path: Path) -> None:
    rule = "on: refund\nbefore: find"
    turns = (HELLO, call("refund", result=None))
    assert broken(tmp_path, rule, *turns) == []
    whole = (HEAD + "    on: refund\n    before: find\n").replace("other: [think]", "results: no")
    path = tmp_path / "bare.yaml"
    path.write_text(whole, encoding="utf-8")
    assert [each.code for each in violations(talk(*turns), load_policy(path))] == ["P1"]


def test_the_check_names_the_clause_and_marks_a_turn_that_was_said(tmp_path: Path) -> None:
    policy(tmp_path, "on: refund\nbefore: find")
    context = CheckContext(policies=load_policies([tmp_path / "shop.yaml"]))
    text = "I refunded it."
    hits = list(load_checks()["policy"](talk(HELLO, REFUND, ("a", text)), context))
    assert [(hit.turn, hit.start, hit.end, hit.code) for hit in hits] == [(3, 0, len(text), "P1")]
    assert hits[0].why == "clause c of policy shop (“A clause.”): before refund find is missing in turn 1"
    assert list(load_checks()["policy"](talk(HELLO, REFUND, ("a", text)), CheckContext())) == []
    silent = list(load_checks()["policy"](talk(HELLO, REFUND), context))
    assert [(hit.turn, hit.start, hit.end) for hit in silent] == [(1, 0, 1)]  # the call itself
