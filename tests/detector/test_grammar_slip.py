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
    ("a for an", "We offer a Arabic course.", "a Arabic"),
    ("a for an", "That is a eulogistic, then a archimandrite.", "a archimandrite"),
    ("an for a", "It is an Japanese lamp.", "an Japanese"),
    ("doubled word", "It lies behind the The Swan.", "the The"),
    ("you're for your", "Here is you're final bill.", "you're final"),
    ("you for your", "You order is on its way.", "You order is"),
    ("you for your", "Please confirm you address.", "confirm you address"),
    ("it's for its", "The van is on it's way.", "on it's way"),
    ("its for it's", "I like it, its cheap and small.", "its cheap"),
    ("their for there", "Is their anything to sign?", "Is their anything"),
    ("the for there", "The are 4 of them left.", "The are 4"),
    ("then for than", "The blue one is lower then the red one.", "lower then the"),
    ("lets for let's", "Sure, lets check the label.", "lets check"),
    ("another word in its place", "Would you like too try the other lamp?", "like too try"),
    ("another word in its place", "Could I do that for your?", "for your"),
    ("another word in its place", "How may tickets shall I send?", "How may tickets"),
    (
        "there is with a plural",
        "Is there any other questions about the lamp?",
        "Is there any other questions",
    ),
    ("there is with a plural", "There is no tickets left.", "There is no tickets"),
    ("there are with a singular", "There are no guesthouse in that road.", "There are no guesthouse"),
    ("singular after a number", "We have 3 museum in town.", "3 museum"),
    ("singular after a number", "How many ticket shall I send?", "How many ticket"),
    ("plural after one", "It takes 1 hours.", "1 hours"),
    ("plural with a possessive", "We have 6 hotel's in that road.", "6 hotel's"),
    ("plural in a measure", "It is a 20 minutes walk.", "a 20 minutes walk"),
    ("past after did or to", "You can chose a colour.", "can chose"),
    ("base form after have or be", "I have book the repair. It is book for Monday.", "I have book the"),
    ("base form after have or be", "The repair is schedule for Monday.", "is schedule"),
    ("does with a third person", "Is there is a lift?", "Is there is "),
    ("wrong verb form", "This train leave at nine.", "This train leave"),
    ("wrong verb form", "There have plenty of lamps.", "There have"),
    ("question without its subject", "What colour would like?", "What colour would like"),
    ("question without its subject", "Would like to see it?", "Would like to see it?"),
    (
        "question in the order of a statement",
        "At what time you want the van?",
        "At what time you want the van?",
    ),
    ("preposition twice", "From which road do you come from?", "From which road do you come from?"),
    ("wrong preposition of time", "In what date shall we come?", "In what date"),
    ("wrong preposition of time", "The van comes on next Friday.", "on next Friday"),
    ("wrong preposition of time", "It opens at Friday.", "at Friday"),
    ("wrong preposition", "Please get off the museum.", "get off the museum"),
    ("wrong preposition", "Can I help you in anything else?", "help you in anything else"),
    ("missing preposition", "Is there anything else I can help you?", "anything else I can help you?"),
    ("missing preposition", "It is a barn, located North.", "located North"),
    ("missing to", "Shall I? Do you want book it?", "Do you want book"),
    ("missing article", "Please bring Passport with you.", "bring Passport"),
    ("missing article", "Have nice day!", "Have nice day"),
    ("missing article", "It is nice place.", "It is nice place"),
    ("missing relative", "There is a bus leaves at nine.", "There is a bus leaves"),
    ("object of the wrong verb", "Please confirm me the colour.", "confirm me the"),
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
        "Your table at The Old Mill is booked; the Old Mill is near.",
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
        "Take a taxi; a European and a university are near, and a URL, a unit, a one-off.",
        "Plan A Europe; a Utah lamp.",
        "The Swan is the one. What would you like? What you need is a lamp. When you are ready, call us.",
        "Tell me which colour you want? If so, which one do you want, and when?",
        "How many hours does it take? How many guest rooms? It is a 20 minute walk, a 3 hour ride, a 5 star hotel.",
        "They have 2 museum tours, 1 hour each, and a 3 bedroom flat. Is there any question?",
        "Check in March 4th and leave on 5 May. It is on today, and what's on tomorrow?",
        "In which area do you live? To whom shall I send it? In which road and what do you live in?",
        "Get off the bus at the museum. It lies north of town, located North of here.",
        "Have a nice day. Bring your passport. It is a nice place, and these are nice places.",
        "I have book tokens. The schedule is tight. Their schedule is good. I would like book tokens.",
        "There is a bus that leaves at nine. I have a bus and the tram leaves.",
        "Please confirm that. Would you like me to go? You too have a nice day. Is that too expensive?",
        "Let us see. He lets us go. The lamp costs less than that; then the bus left.",
        "She told me to and fro. It is your final bill, and you're welcome to it. Your two are here.",
        "Is it open? Its open door; its cheap paint; its own way; on its way.",
        "These 4 hotels' rooms are full. There are no hotel rooms. There are a few museum tours.",
        "I know that that was had had been said.",
        "Tom hat ein Rad, und das das so ist, ist die die Frage.",
    ],
)
def test_correct_english_and_other_languages_are_left_alone(text: str) -> None:
    assert hits(text) == []


def test_the_customers_own_words_are_no_slip_of_the_agent() -> None:
    assert hits("You wrote: their is no lift.", "their is no lift") == []
