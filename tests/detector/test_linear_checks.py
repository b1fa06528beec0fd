"""The work of every check, rule and operator of a policy grows with the dialogue, not with its square.

Work is counted in lines that run, a loop within one as often as it turns, so that no clock is needed: four times
the dialogue may take six times as many, where a quadratic algorithm takes up to sixteen. What the interpreter does
within one bytecode (a search in a text, a copy of it) is measured in CPU time, of longer dialogues; those tests are
slow ones.

A new check needs its line in `checks/exchanges.yaml`, a new rule or operator in the tables here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from linear_time import Make, growth, seconds

from dialint.detector.checks import CheckContext, answers, figures, load_checks, quantities, repeats
from dialint.detector.log_profile import LOGGED
from dialint.detector.policy import parse_policy, violations
from dialint.detector.policy.format import OPERATORS, RULES
from dialint.detector.policy.values import plain
from dialint.detector.records import Dialogue, Role, ToolCall, Turn
from dialint.detector.tool_use import tool_uses

START, HOUR = datetime(2026, 3, 2, tzinfo=UTC), timedelta(hours=1)
N = 40
N_SLOW = 500
LOG = replace(LOGGED, listing_tools=("list_orders",))

EXCHANGES = yaml.safe_load(
    (Path(__file__).with_name("checks") / "exchanges.yaml").read_text(encoding="utf-8")
)


# --- dialogues that grow -------------------------------------------------------------------------


def say(role: Role, text: str) -> tuple[Role, str, list[ToolCall], str | None]:
    return role, text, [], None


def call(i: int, id: str | None = None) -> ToolCall:
    name = ("get_order", "cancel_order", "find_user", "transfer_to_agent", "book_seat")[i % 5]
    return ToolCall(
        name=name,
        id=id,
        arguments={
            "order_id": f"W{i}0777",
            "email": f"a{i}@b.co",
            "items": [f"i{i}", "x"],
            "to_place": "Rome",
            "seats": 90,
        },
    )


def result(i: int) -> str:
    fields = {"order_id": f"W{i}0777", "user_id": f"ann_{i}", "status": "cancelled", "price": i + 0.25}
    fields |= {"email": f"a{i}@b.example", "membership": "silver"}
    stock = [{"id": f"s{i}", "available": True}, {"id": f"r{i}", "available": False}]
    parts = {"items": [f"i{i}", "x"], "stock": stock, "paid": {"type": "refund", "amount": i + 0.5}}
    return json.dumps({**fields, **parts}) if i % 3 else f"Error: W{i}0777 not possible"


def build(turns: list[tuple[Role, str, list[ToolCall], str | None]]) -> Dialogue:
    made = (
        Turn(index=i, role=role, text=text, at=START + i * HOUR, tool_calls=tuple(calls), tool_call_id=id)
        for i, (role, text, calls, id) in enumerate(turns)
    )
    return Dialogue(id="d", turns=tuple(made), channel="chat")


def _lookup(i: int, text: str = "") -> list[tuple[Role, str, list[ToolCall], str | None]]:
    return [("agent", text, [call(i)], None), ("tool", result(i), [], None)]


def many_turns(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    return build([turn for i in range(n) for turn in (say("customer", customer(i)), say("agent", agent(i)))])


def agent_alone(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    return build([say("customer", customer(0)), *(say("agent", agent(i)) for i in range(2 * n))])


def customer_first(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    return build(
        [*(say("customer", customer(i)) for i in range(n)), *(say("agent", agent(i)) for i in range(n))]
    )


def long_customer(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    text = " ".join(f"{customer(i)}." for i in range(n))
    return build([say("customer", text), *(say("agent", agent(i)) for i in range(n)), say("agent", "Bye.")])


def long_turns(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    texts = (" ".join(f"{each(i)}." for i in range(n)) for each in (customer, agent, customer))
    first, second, last = texts
    return build(
        [
            *_lookup(1), say("customer", first), say("agent", second), say("customer", last), say("agent", second),
        ]
    )  # fmt: skip


def lookups(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    turns = ([say("customer", customer(i)), *_lookup(i), say("agent", agent(i))] for i in range(n))
    return build([turn for part in turns for turn in part])


def calls_of_one_turn(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    calls = [call(i, f"c{i}" if i % 2 else None) for i in range(n)]
    results = [("tool", result(i), [], f"c{i}" if i % 4 else None) for i in reversed(range(n))]
    return build([say("customer", customer(0)), ("agent", "", calls, None), *results, say("agent", agent(0))])  # type: ignore[list-item]


def results_first(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    turns = [turn for i in range(n) for turn in _lookup(i)]
    return build(
        [*turns, *(turn for i in range(n) for turn in (say("customer", customer(i)), say("agent", agent(i))))]
    )


def wide_result(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    records = json.dumps(
        [{"order_id": f"W{i}1888", "price": i + 0.5, "dep": f"{i % 12}:15 pm"} for i in range(n)]
    )
    turns: list[tuple[Role, str, list[ToolCall], str | None]] = [
        ("agent", "", [call(0)], None),
        ("tool", records, [], None),
    ]
    return build([say("customer", customer(0)), *turns, *(say("agent", agent(i)) for i in range(n))])


def deep_values(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    value: Any = "x"
    for i in range(min(n, 150)):
        value = {"email": value, "id": f"W{i}0777"} if i % 2 else [value, i]
    deep = ToolCall(name="get_order", arguments={"order_id": value})
    turns: list[tuple[Role, str, list[ToolCall], str | None]] = [
        turn
        for i in range(3)
        for turn in (("agent", "", [deep], None), ("tool", json.dumps(value), [], None))
    ]  # type: ignore[misc]
    return build([say("customer", customer(0)), *turns, say("agent", agent(0))])


def one_word(n: int, customer: Callable[[int], str], agent: Callable[[int], str]) -> Dialogue:
    return build(
        [*_lookup(1), say("customer", customer(0) + " isab" * n), say("agent", agent(0) + " " + "isab" * n)]
    )


SHAPES = (
    many_turns, agent_alone, customer_first, long_customer, long_turns, lookups, calls_of_one_turn, results_first,
    wide_result, deep_values, one_word,
)  # fmt: skip
Shape = Callable[[int, Callable[[int], str], Callable[[int], str]], Dialogue]


def dialogue(shape: Shape, n: int, name: str) -> Dialogue:
    customer, agent = EXCHANGES[name]
    made = shape(n, lambda i: customer.format(i=100 + i), lambda i: agent.format(i=100 + i))
    stated = {"policy": "none", "sources": ("Wait for a yes before any change.",)}
    return made.model_copy(update=stated) if name == "unconfirmed_change" else made


# --- work ----------------------------------------------------------------------------------------


def steps(work: Callable[[], object]) -> int:
    """Returns the number of lines of Python that `work` runs. A jump back to the same line counts, and so does each item of a
    generator; counting bytecodes instead took three times as long (2026-11-29)."""
    n = 0

    def count(*_: object) -> Any:
        nonlocal n
        n += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return n


def too_much(
    works: dict[str, Make], n: int, cost: Callable[[Callable[[], object]], float], most: float
) -> dict[str, float]:
    """The works that grow to more than `most` times their cost."""
    grown = {name: round(growth(make, n, cost), 1) for name, make in works.items()}
    return {name: ratio for name, ratio in grown.items() if ratio > most}


def run_check(name: str, dialogue: Dialogue) -> Callable[[], object]:
    context = CheckContext(LOG, {"shop": parse_policy(json.dumps(SHOP))})
    return lambda: list(load_checks()[name](dialogue.model_copy(), context))


def checked_in(name: str) -> dict[str, Make]:
    """A check on its exchange in dialogues of all shapes."""
    return {
        shape.__name__: lambda n, shape=shape: run_check(name, dialogue(shape, n, name))  # type: ignore[misc]
        for shape in SHAPES
    }


SHOP: dict[str, Any] = {
    "policy": "shop",
    "tools": {"read": ["get_order", "find_user"], "write": ["cancel_order", "book_seat"]},
    "facts": {"order": {"call": "get_order", "key": {"order_id": "order_id"}}, "user": {"call": "find_user"}},
    "clauses": [
        {"id": "a", "text": "a", "on": "write", "before": {"call": "get_order", "same": {"order_id": "order_id"}}},
        {"id": "b", "text": "Greet every customer.", "on": "write", "consent": "yes"},
    ],
}  # fmt: skip


def test_every_check_has_an_exchange_that_it_finds_something_in() -> None:
    assert set(EXCHANGES) == set(load_checks())
    for name in set(load_checks()) - {"policy", "asks_secret_for_tool"}:
        assert any(run_check(name, dialogue(shape, 5, name))() for shape in SHAPES), name


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a short dialogue reaches."""
    monkeypatch.setattr(quantities, "MAX_NUMBERS", N // 4)
    monkeypatch.setattr(figures, "MAX_FIELDS", N // 4)
    monkeypatch.setattr(answers, "MAX_TURNS", N // 4)
    monkeypatch.setattr(repeats, "MAX_COMPARED", N // 4)


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("name", EXCHANGES)
def test_four_times_the_dialogue_takes_four_times_the_steps(name: str) -> None:
    assert too_much(checked_in(name), N, steps, 6) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXCHANGES)
def test_four_times_the_dialogue_takes_four_times_the_time(name: str) -> None:
    assert too_much(checked_in(name), N_SLOW, seconds, 8) == {}


# --- policies ------------------------------------------------------------------------------------


def texts(n: int, what: str = "W{}") -> list[str]:
    return [what.format(i) for i in range(n)]


RULE_CLAUSES: dict[str, Callable[[int], dict[str, Any]]] = {
    "before": lambda n: {"before": [{"call": [*texts(n, "t{}"), "get_order"], "same": {"order_id": "order_id"}}]},
    "after": lambda n: {"after": [{"call": texts(n, "t{}")}, {"says": texts(n, "done {}")}]},
    "forbid": lambda n: {"forbid": [{"order.status": f"s{i}"} for i in range(n)]},
    "only_if": lambda n: {"only_if": [*({"order.status": f"s{i}"} for i in range(n)), {"user.user_id": {"not": "a"}}]},
    "consent": lambda n: {"consent": {"asks": texts(n, "ask {}"), "yes": texts(n, "yes {}"), "agrees": texts(n, "fine {}")}},
    "limit": lambda n: {"limit": {"at_most": 1, "per": "order_id"}},
    "stated": lambda n: {"stated": ["order_id", "email", "items"]},
}  # fmt: skip
OPERATOR_TESTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "is": lambda n: {"is": [*texts(n), "$order.order_id"]},
    "not": lambda n: {"not": [*texts(n), "$order.order_id"]},
    "at_least": lambda n: {"at_least": "$order.price * 2 + 1"},
    "at_most": lambda n: {"at_most": "$order.price - 1"},
    "above": lambda n: {"above": "3"},
    "below": lambda n: {"below": "$user.limit"},
    "starts_with": lambda n: {"starts_with": texts(n, "V{}")},
    "same_items_as": lambda n: {"same_items_as": "$order.items"},
    "other_items_than": lambda n: {"other_items_than": "$order.items"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "limit of all": {"limit": {"at_most": 0}},
    "limit of different": {"limit": {"at_most": 1, "different": "items"}},
    "limit of items": {"limit": {"at_most": 1, "items": "items", "like": "i*"}},
    "unless": {"unless": [{"call": "find_user"}], "limit": {"at_most": 0}},
    "before what is said": {"on": {"says": "cancelled"}, "before": {"customer_says": "manager"}},
    "forbid to say": {"on": {"says": "cancelled"}, "forbid": {"order.status": "sent", "user.user_id": "x"}},
    "with": {"on": {"call": "write", "with": {"count(items)": {"above": "1"}}}, "limit": {"at_most": 0}},
    "same of a fact": {
        "before": {"call": "get_order", "same": {"order_id": "chain.order_id", "user_id": "order.user_id"}}
    },
}


def policy_text(*clauses: dict[str, Any], facts: int = 0) -> str:
    chain: dict[str, Any] = {"chain": {"call": "get_order", "key": {"order_id": "order.order_id"}}}
    for i in range(facts):
        above = f"f{i - 1}" if i else "order"
        key = {"order_id": f"{above}.order_id", "user_id": f"{above}.user_id"}
        chain[f"f{i}"] = {"call": "get_order", "key": key}
    made = [{"id": f"c{i}", "text": "t", "on": "write", **clause} for i, clause in enumerate(clauses)]
    tools = {**SHOP["tools"], "other": texts(len(json.dumps(clauses[0])) // 4, "t{}")}
    return json.dumps({**SHOP, "tools": tools, "facts": {**SHOP["facts"], **chain}, "clauses": made})


def talk_of(n: int, shape: Shape = lookups) -> Dialogue:
    return dialogue(shape, n, "policy")


def judge(text: str, dialogue: Dialogue) -> Callable[[], object]:
    shop = parse_policy(text)

    def work() -> None:
        plain.cache_clear()  # a short list fits into it, a long one does not
        violations(dialogue.model_copy(), shop)

    return work


def with_operator(test: Callable[[int], dict[str, Any]]) -> Callable[[int], dict[str, Any]]:
    return lambda n: {"forbid": [{"order_id": test(n), "count(items)": "never"}]}


def always(clause: dict[str, Any]) -> Callable[[int], dict[str, Any]]:
    return lambda _: clause


CLAUSES = {
    **RULE_CLAUSES,
    **{f"operator {name}": with_operator(test) for name, test in OPERATOR_TESTS.items()},
    **{name: always(clause) for name, clause in OTHERS.items()},
}
GROWTHS: dict[str, Callable[[str], Make]] = {
    **{
        shape.__name__: lambda name, shape=shape: lambda n: judge(policy_text(CLAUSES[name](4)), talk_of(n, shape))
        for shape in (lookups, results_first, calls_of_one_turn, deep_values, long_turns)
    },
    "lists": lambda name: lambda n: judge(policy_text(CLAUSES[name](8 * n)), talk_of(8)),
    "clauses": lambda name: lambda n: judge(policy_text(*[CLAUSES[name](4)] * n), talk_of(8)),
    "lists of a call": lambda name: lambda n: judge(
        policy_text(CLAUSES[name](8 * n)),
        build([*_lookup(1), ("agent", "", [ToolCall(name="cancel_order", arguments={"order_id": texts(8 * n, "X{}"), "items": texts(8 * n)})], None), ("tool", "{}", [], None)]),
    ),
}  # fmt: skip


def test_every_rule_and_operator_has_a_clause() -> None:
    assert set(RULE_CLAUSES) == set(RULES)
    assert set(OPERATOR_TESTS) == set(OPERATORS)


@pytest.mark.parametrize("name", CLAUSES)
def test_a_clause_takes_steps_in_proportion(name: str) -> None:
    assert too_much({how: make(name) for how, make in GROWTHS.items()}, N // 2, steps, 6) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAUSES)
def test_a_clause_takes_time_in_proportion(name: str) -> None:
    assert too_much({how: make(name) for how, make in GROWTHS.items()}, N_SLOW // 2, seconds, 8) == {}


def test_facts_that_lead_to_facts_are_looked_up_once() -> None:
    def make(n: int) -> Callable[[], object]:
        return judge(policy_text({"forbid": {f"f{n - 1}.status": "sent"}}, facts=n), talk_of(8))

    assert growth(make, 5, steps) < 6


def test_calls_are_linked_to_their_results_in_proportion() -> None:
    for shape in SHAPES:
        assert growth(lambda n: lambda: tool_uses(talk_of(n, shape)), N, steps) < 6, shape  # noqa: B023
