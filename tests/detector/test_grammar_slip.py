"""The check of grammar slips: every rule with a slip and with its nearest correct neighbours."""

from __future__ import annotations

import pytest

from dialint.detector.checks.grammar import RULES, grammar_slip
from dialint.detector.records import Dialogue, Turn

SLIPS = [
    ("doubled word", "I will send the the parcel today.", "the the"),
    ("your for you're", "Your welcome! Have a nice day.", "Your welcome"),
    ("your for you're", "Is that the size your looking for?", "your looking for"),
    ("you're for your", "You're order is on its way.", "You're order is"),
    ("you for your", "The blue one suits you needs.", "suits you needs"),
    ("it's for its", "The shop is open; it's address is Mill Lane 3.", "it's address is"),
    ("its for it's", "Its a small flat in the north.", "Its a"),
    ("their for there", "I am afraid their is no lift.", "their is"),
    ("there for their", "There phone number is on the card.", "There phone number is"),
    ("then for than", "The tram is cheaper then the bus.", "cheaper then the"),
    ("there is with a plural", "There is 4 cheap hotels nearby.", "There is 4 cheap hotels"),
    ("there are with a singular", "There are 1 flight on Monday.", "There are 1 flight"),
    ("past after did or to", "We did not received the form.", "did not received"),
    ("past after did or to", "It will arrived on Monday.", "will arrived"),
    ("does with a third person", "Does it has a balcony?", "Does it has"),
    ("wrong verb form", "It is near. It have two rooms.", "It have"),
    ("plural of an uncountable", "I need some more informations.", "informations"),
    ("a for an", "Shall I book a appointment?", "a appointment"),
    ("a for an", "It takes a hour.", "a hour"),
    ("an for a", "That is an nice idea.", "an nice"),
    ("an for a", "Each has an unique number.", "an unique"),
    ("a before a number", "There is a 8 am train.", "a 8"),
    ("a before a number", "It is an 3 hour ride.", "an 3"),
]


def hits(text: str, *before: str) -> list[tuple[str, str]]:
    turns = [Turn(index=i, role="customer", text=said) for i, said in enumerate(before)]
    turn = Turn(index=len(before), role="agent", text=text)
    talk = Dialogue(id="d", language="en", turns=(*turns, turn))
    return [(hit.why, text[hit.start : hit.end]) for hit in grammar_slip(talk)]


@pytest.mark.parametrize(("rule", "text", "quote"), SLIPS)
def test_a_slip_is_found(rule: str, text: str, quote: str) -> None:
    assert hits(text) == [(rule, quote)]


def test_every_rule_has_a_slip() -> None:
    assert {rule for rule, _, _ in SLIPS} == set(RULES)


@pytest.mark.parametrize(
    "text",
    [
        "Your table at the The Old Mill is booked.",  # a name
        "You're welcome. Your welcome gift is in the post.",
        "You're booking a table for two. You're in luck.",
        "It's a flat; its rooms, its own garden and its address are new.",
        "Their flat is there, and their phone number is known.",
        "It is cheaper than the bus, then the tram follows; more then.",
        "There is one hotel. There is 1 flight. There are one or two rooms. There is a 2 hour wait.",
        "Did you receive the form? It will arrive. I would like to book.",
        "Does it have a lift? What it has is a lift. They were here; if it were open, we would go.",
        "It takes an hour, an honest hour; a university, a one way trip, a European hotel, a useful unit, a user.",
        "An umbrella, an uninvited guest, an hourly bus, an historic hotel, an SMS, an FAQ, a UFO, an MRI.",
        "An 8 am train, an 11 am tram, an 18 year old, an 80 dollar fee, a 7 am bus, a 100 dollar note.",
        "Vitamin A is good. Option a and option b are free.",
        "He said “their is no lift”.",
        "I know that that was had had been said.",
        "Tom hat ein Rad, und das das so ist, ist die die Frage.",
    ],
)
def test_correct_english_and_other_languages_are_left_alone(text: str) -> None:
    assert hits(text) == []


def test_the_customers_own_words_are_no_slip_of_the_agent() -> None:
    assert hits("You wrote: their is no lift.", "their is no lift") == []
