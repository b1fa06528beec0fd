"""Ids, amounts, dates and times that an agent states, against the log."""

from __future__ import annotations

import json

import pytest

from dialint.detector.checks.facts import unsupported_fact
from dialint.detector.checks.questions import asks_for_known
from dialint.detector.checks.values import AMOUNT, DATE, cents, ids, parse_day, times
from dialint.detector.records import Dialogue, ToolCall, Turn

ORDER = {
    "order_id": "#K7781204",
    "items": [
        {"item_id": "5550001234", "price": 120.50},
        {"item_id": "5550005678", "price": 79.99},
        {"item_id": "5550009999", "price": 15.25},
    ],
    "placed": "2026-03-14",
    "pickup": "16:30:00",
}
FLIGHTS = [
    {"flight_number": "QX112", "departs": "06:10:00", "arrives": "09:40:00", "prices": {"eco": 151, "biz": 477}},
    {"flight_number": "QX339", "departs": "17:00:00", "arrives": "20:35:00", "prices": {"eco": 163, "biz": 391}},
]  # fmt: skip


def dialogue(answer: str, result: object = ORDER, ask: str = "What about my order?") -> Dialogue:
    call = ToolCall(name="get_order", arguments={"order_id": "#K7781204"})
    return Dialogue(
        id="d",
        turns=(
            Turn(index=0, role="customer", text=ask),
            Turn(index=1, role="agent", text="", tool_calls=(call,)),
            Turn(index=2, role="tool", text=result if isinstance(result, str) else json.dumps(result)),
            Turn(index=3, role="agent", text=answer),
        ),
    )


def found(
    answer: str, result: object = ORDER, ask: str = "What about my order?"
) -> list[tuple[str | None, str]]:
    return [
        (hit.code, answer[hit.start : hit.end]) for hit in unsupported_fact(dialogue(answer, result, ask))
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "Order K7781204 of March 14th, 2026 costs $120.50, $79.99 and $15.25.",
        "You paid $215.74 in all on 14 March.",
        "The two together are $200.49, which is $40.51 more.",
        "It comes to about $216.",
        "Half of it is $60.25, ready at 4:30 PM on 03/14/2026.",
        "Three of them cost $361.50.",
        "It arrives on March 17, by 11:05 AM.",
        "With shipping that is some $231.",
        "Please send the number, for example #A1234567.",
        "It has 512GB and an i7-9750H at 1920x1080.",
    ],
)
def test_what_follows_from_the_log_is_no_error(answer: str) -> None:
    assert found(answer) == []


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        ("Your order number is #K9912345.", [("I2", "#K9912345")]),
        ("I found the user dora_klein_77712.", [("I2", "dora_klein_77712")]),
        ("That is $1,834.17.", [("I4", "$1,834.17")]),
    ],
)
def test_what_stands_nowhere_is_found(answer: str, hits: list[tuple[str, str]]) -> None:
    assert found(answer) == hits


@pytest.mark.parametrize(
    "answer",
    [
        "It is up to 500Mbps, or 1000Mbps in town.",
        "Take 2000mg, which has 1500kcal.",
        "It prints 1200dpi at 3000rpm and has 1100sqft.",
        "In FY2026 you get Office365, signed with SHA256, after ISO27001 and RFC9110; see KB5031455.",
        "You need the form W8BEN.",
        "You have 150000 points, or 150000 bonus miles.",
        "Call our hotline 08001234567.",
        "It plays 1080p60.",
        "You can call +442071234567.",
        "Our SWIFT code is COBADEFF370.",
    ],
)
def test_quantities_products_and_published_numbers_are_no_ids(answer: str) -> None:
    assert found(answer, [{"down": 500, "points": 50000}, {"points": 100000}]) == []


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        ("Your order is 1500001.", [("I2", "1500001")]),
        ("Your order 1500001 for three users is sent.", [("I2", "1500001")]),
        ("Your ticket is KBQ50314.", [("I2", "KBQ50314")]),
        ("Your phone number is 5551234567.", [("I2", "5551234567")]),
        ("You have 734211 points.", [("I4", "734211")]),
    ],
)
def test_ids_and_counts_beside_them_are_found(answer: str, hits: list[tuple[str, str]]) -> None:
    assert found(answer, [{"down": 500, "points": 50000}, {"points": 100000}]) == hits


def test_an_id_may_get_its_prefix() -> None:
    assert found("Is it ORD1234567?", ask="It is order 1234567.") == []
    assert found("Is it ORD1234568?", ask="It is order 1234567.") == [("I2", "ORD1234568")]


def test_what_the_customer_said_may_be_repeated() -> None:
    ask = "My code is ZZ91TT3, I paid $1834.17 on April 28 at 11:05."
    assert found("ZZ91TT3: $1,834.17 on Apr 28, 11:05 AM.", ask=ask) == []


def test_a_rate_that_somebody_states_explains_an_amount() -> None:
    answer = "All three are $183.38 then, and a fifth of that $36.68."
    assert found(answer, ask="I have a code for 15 per cent off.") == []
    assert found(answer, ask="I have a code.") == [("I4", "$183.38")]


def test_a_value_of_another_record_is_found() -> None:
    assert found("QX112 departs at 6:10 AM and costs $151.", FLIGHTS) == []
    assert found("QX112 departs at 5:00 PM.", FLIGHTS) == [("I4", "5:00 PM")]
    assert found("1. Flight QX339:\n   - Departs: 17:00\n   - Price: $151\n", FLIGHTS) == [("I4", "$151")]
    assert found("QX112 is $391 more than QX339.", FLIGHTS) == []


def test_a_documents_text_is_a_source() -> None:
    turns = (
        Turn(index=0, role="customer", text="?"),
        Turn(index=1, role="agent", text="Quote code RX55210."),
    )
    bare = Dialogue(id="d", turns=turns)
    assert list(unsupported_fact(bare)) == []
    assert list(unsupported_fact(bare.model_copy(update={"sources": ("No code is needed.",)}))) == []
    made = dialogue("Quote code RX55210.")
    assert [hit.code for hit in unsupported_fact(made)] == ["I2"]
    assert list(unsupported_fact(made.model_copy(update={"sources": ("The code is RX55210.",)}))) == []


def test_an_argument_counts_only_if_the_call_succeeded() -> None:
    made = dialogue("There is no order #K7781204.", "Error: not found", "Where is it?")
    assert [hit.code for hit in unsupported_fact(made)] == ["I2"]
    assert found("Your order #K7781204 is on its way.", {"status": "sent"}) == []


def test_a_value_is_reported_once() -> None:
    made = dialogue("It is #K9912345.")
    again = made.model_copy(
        update={"turns": (*made.turns, Turn(index=4, role="agent", text="As I said, #K9912345."))}
    )
    assert [hit.turn for hit in unsupported_fact(again)] == [3]


def test_a_deeply_nested_result_is_read_to_a_limit() -> None:
    nested = '{"a":' * 900 + "1" + "}" * 900
    assert found("Your number is #K9912345.", nested) == [("I2", "#K9912345")]
    assert list(asks_for_known(dialogue("What is your email address?", nested))) == []


def test_values_in_text() -> None:
    text = "Order W2378156 (#77120), flight QX112, user ann_lee_3668, 27th, 500ml, 10am, 2024-05-20, a.b@c.de1234"
    assert [match.group() for match in ids(text)] == ["W2378156", "#77120", "QX112", "ann_lee_3668"]
    assert [cents(match) for match in AMOUNT.finditer("$1,200.5 and 30 dollars, €7, 12 USD")] == [
        120050, 3000, 700, 1200,
    ]  # fmt: skip
    assert [parse_day(match) for match in DATE.finditer("2024-05-20, May 3rd, 7 of June 2025, 12/24/24")] == [
        (2024, 5, 20), (0, 5, 3), (2025, 6, 7), (2024, 12, 24),
    ]  # fmt: skip
    assert [minute for *_, minute in times("6:10 AM, 12 am, 17:00:00, 12:05pm, 99:10")] == [370, 0, 1020, 725]
