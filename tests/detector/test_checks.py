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


BOOK = "The Alder is free on that day. Shall I book it?"


@pytest.mark.parametrize(
    "said",
    [
        "did that",
        "I did that already!",
        "Thanks a lot, that is really kind.",
        "There is no connection in my house since the storm came down on us",  # as before the text
        "My neighbours were laughing their heads off about this whole story",
    ],
)
def test_the_same_text_after_nothing_new_was_said_is_found(said: str) -> None:
    first = "there is no connection in my house since the storm came down on us"
    talk = dialogue(("c", first), ("a", AGAIN), ("c", said), ("a", f" {AGAIN.upper()} "))
    (hit,) = same_text_again(talk)
    assert (hit.turn, hit.start, hit.end) == (3, 1, 1 + len(AGAIN))


@pytest.mark.parametrize(
    "said",
    [
        "And on Thursday",
        "It shows a red light now and hums for 20 seconds",
        "How about the other router?",
        "Could you say that again?",
        "the blue one",
        "My friend Robin said that everybody in the street has it too",
    ],
)
def test_the_same_text_may_be_the_right_answer_to_something_new(said: str) -> None:
    talk = dialogue(("c", "no net"), ("a", AGAIN), ("c", said), ("a", AGAIN))
    assert list(same_text_again(talk)) == []


def test_a_question_may_be_asked_again_until_it_is_answered() -> None:
    unanswered = dialogue(("c", "hi"), ("a", BOOK), ("c", "I love that old house so very much"), ("a", BOOK))
    answered = dialogue(("c", "hi"), ("a", BOOK), ("c", "Yes please."), ("a", BOOK))
    assert list(same_text_again(unanswered)) == []
    assert [hit.turn for hit in same_text_again(answered)] == [3]


def test_a_yes_to_another_question_may_call_for_the_same_words() -> None:
    done = "Your appointment with the doctor is booked."
    other = ("a", "And your child at nine?"), ("c", "yes")
    talk = dialogue(("c", "book it"), ("a", done), ("c", "thanks"), *other, ("a", done))
    assert list(same_text_again(talk)) == []


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
