"""Questions for a value that the customer gave: which value answers which question, and what ends the search."""

from __future__ import annotations

import pytest

from dialint.detector.checks.questions import SLOTS, asks_for_given
from dialint.detector.records import Dialogue, Role, Turn


def dialogue(*texts: str) -> Dialogue:
    """Customer and agent in turn, the agent last."""
    roles: tuple[Role, Role] = ("agent", "customer")
    return Dialogue(
        id="d",
        turns=tuple(
            Turn(index=i, role=roles[(len(texts) - i) % 2 == 0], text=text) for i, text in enumerate(texts)
        ),
    )


GIVEN = [
    ("name", ("Hello, I am Greta and I need a plumber.", "Could you give me your name, please?")),
    ("day", ("I need a plumber for Friday.", "What day would you like?")),
    ("day", ("A plumber please.", "On what day?", "Friday. It is urgent.", "On what day?")),
    ("time", ("Book a table at 6 pm.", "For what time should the reservation be made?")),
    ("number of people", ("A table for 4, please.", "How many people will be dining?")),
    ("area", ("I need a dentist in the centre of town.", "What part of town would you like?")),
    ("price range", ("A cheap lamp, please.", "What price range are you looking for?")),
    ("length of the stay", ("A room for 3 nights.", "Gladly. How many nights will it be?")),
    ("place of departure", ("I need a taxi from Oldham.", "Where will you be leaving from?")),
    ("destination", ("I need a taxi to get to Oldham.", "Where do you want to go?")),
]


@pytest.mark.parametrize(("name", "texts"), GIVEN)
def test_what_was_given_need_not_be_asked(name: str, texts: tuple[str, ...]) -> None:
    (hit,) = asks_for_given(dialogue(*texts))
    assert hit.turn == len(texts) - 1
    assert hit.why == f"the customer gave the {name} in turn {len(texts) - 2}"


def test_every_value_has_a_case() -> None:
    assert {name for name, _ in GIVEN} == set(SLOTS)


@pytest.mark.parametrize(
    "texts",
    [
        ("I need a plumber.", "What day would you like?"),
        ("I need a plumber for Friday.", "So on Friday. What time should we come?"),
        ("I need a plumber for Friday.", "You said Friday: which day shall I note, Friday?"),
        ("I need a plumber for Friday.", "Sorry, Friday is full. What day would you like?"),
        ("For Friday, please.", "It is booked. Anything else?", "A painter too.", "What day would you like?"),
        ("My birthday is on Friday.", "What day would you like?"),
        ("Any day but not on Friday.", "What day would you like?"),
        ("I arrive on Friday.", "What day will you be leaving?"),
        ("I am Late for work.", "May I have your name, please?"),
        ("I am Greta.", "Can I have your full name, please?"),
        ("A table for 4 nights of cards.", "How many people will be dining?"),
        ("A taxi to Oldham, please.", "From where will you be going?"),
        ("A taxi from Oldham. Sorry, to Oldham.", "Where are you departing from?"),
        ("I need a plumber for Friday.", "Could you confirm the day: what day is it?"),
    ],
)
def test_another_value_or_a_reason_to_ask(texts: tuple[str, ...]) -> None:
    assert list(asks_for_given(dialogue(*texts))) == []


OTHER_VALUES = [
    ("The engineer came on Tuesday and it's broken again", "Which day suits you for a visit?"),
    ("I bought a kettle on Saturday and it leaks", "What day would you like to visit the shop?"),
    ("It is too expensive, I want another brand", "What price range are you looking for?"),
    ("I have been waiting 3 days", "How many nights would you like to stay?"),
    ("I'm Canadian, can I get a visa?", "May I have your name?"),
    ("I'm Platinum", "Could I have your name?"),
    ("I am Mrs Patel's carer", "What is your name?"),
    ("I'd like to get roaming added to Red Plus", "Where do you want to go?"),
    ("I got a letter from Sarah", "Where are you departing from?"),
    ("We are 12 people", "How many guests would like the vegetarian menu?"),
]


@pytest.mark.parametrize("texts", OTHER_VALUES)
def test_a_value_of_another_matter_was_not_given(texts: tuple[str, ...]) -> None:
    assert list(asks_for_given(dialogue(*texts))) == []


@pytest.mark.parametrize(
    "texts",
    [
        ("My name is Ryan Lee.", "May I have your name?"),
        ("We need a train from Hull to York.", "Where are you departing from?"),
    ],
)
def test_a_value_of_this_matter_was_given(texts: tuple[str, ...]) -> None:
    assert len(list(asks_for_given(dialogue(*texts)))) == 1
