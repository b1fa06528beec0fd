"""Exact checks: what they must find and, as important, what they must leave alone."""

from __future__ import annotations

import pytest

from detector.checks import CHECKS, same_text_again, unfilled_placeholder
from detector.records import Dialogue, Turn


def dialogue(*turns: tuple[str, str]) -> Dialogue:
    return Dialogue(
        id="d",
        turns=tuple(
            Turn(index=i, role="agent" if r == "a" else "customer", text=t) for i, (r, t) in enumerate(turns)
        ),
    )


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Hello, {first_name}!", "{first_name}"),
        ("Dear {{customer.name}}, thanks", "{{customer.name}}"),
        ("Hi [Customer Name], hello", "[Customer Name]"),
        ("Your order <<order_id>> left", "<<order_id>>"),
        ("Hi %FIRSTNAME%", "%FIRSTNAME%"),
        ("Hi %FIRST_NAME%", "%FIRST_NAME%"),
        ("Due on INSERT DATE HERE.", "INSERT DATE HERE"),
        ("A ____ takes 33 hours", None),
        ("I mailed [EMAIL_1] about it", None),
        ("[name] called", None),
        ("It is 50% off, 20% today", None),
        ("see a[0] or {} or <b>bold</b>", None),
        ("a snake_case_word and x_y", None),
    ],
)
def test_unfilled_placeholder(text: str, quote: str | None) -> None:
    hits = list(unfilled_placeholder(dialogue(("c", "hi"), ("a", text))))
    assert [text[hit.start : hit.end] for hit in hits] == ([] if quote is None else [quote])
    assert all(hit.turn == 1 for hit in hits)


def test_a_placeholder_that_the_customer_speaks_of_is_no_slip() -> None:
    talk = dialogue(
        ("c", "What does {first_name} do in my mailing?"), ("a", "{first_name} becomes their name.")
    )
    assert list(unfilled_placeholder(talk)) == []


AGAIN = "Please restart the router and wait two minutes."


def test_the_same_text_after_the_customer_spoke_is_found() -> None:
    talk = dialogue(("c", "no net"), ("a", AGAIN), ("c", "did that"), ("a", f" {AGAIN.upper()} "))
    (hit,) = same_text_again(talk)
    assert (hit.turn, hit.start, hit.end) == (3, 1, 1 + len(AGAIN))


@pytest.mark.parametrize(
    "talk",
    [
        dialogue(("c", "hi"), ("a", AGAIN), ("a", AGAIN)),  # nobody spoke in between: a double send
        dialogue(("c", "hi"), ("a", "One moment."), ("c", "ok"), ("a", "One moment.")),
        dialogue(
            ("c", "hi"),
            ("a", "Is there anything else I can help you with?"),
            ("c", "yes, my bill"),
            ("a", "Is there anything else I can help you with?"),
        ),
        dialogue(("c", AGAIN), ("a", "Thank you for telling me about it all."), ("c", AGAIN)),
    ],
)
def test_what_may_repeat(talk: Dialogue) -> None:
    assert list(same_text_again(talk)) == []


def test_checks_are_found_by_the_name_a_release_uses() -> None:
    assert {"unfilled_placeholder": unfilled_placeholder, "same_text_again": same_text_again} == CHECKS
