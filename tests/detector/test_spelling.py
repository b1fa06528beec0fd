"""The check of misspelt words: what is a slip, and what only looks like one."""

from __future__ import annotations

import pytest

from dialint.detector.checks import CheckContext
from dialint.detector.checks.spelling import MAX_LOOKUPS, misspelt_word
from dialint.detector.log_profile import profile_log
from dialint.detector.records import Dialogue, Turn


def dialogue(*turns: tuple[str, str], name: str = "d") -> Dialogue:
    roles = {"a": "agent", "c": "customer", "t": "tool", "b": "bot"}
    return Dialogue(
        id=name,
        language="en",
        turns=tuple(Turn(index=i, role=roles[r], text=t) for i, (r, t) in enumerate(turns)),  # type: ignore[arg-type]
    )


def slips(text: str, *before: tuple[str, str], context: CheckContext | None = None) -> list[str]:
    talk = dialogue(*before, ("a", text))
    hits = misspelt_word(talk, context or CheckContext())
    return [hit.why.removeprefix("not in the dictionary, ") for hit in hits if hit.turn == len(before)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("We have recieved your request.", "recieved: received"),
        ("I can accomodate that on Friday.", "accomodate: accommodate"),
        ("Your appointement is on Monday.", "appointement: appointment"),
        ("Unfortunatley the hotel is full.", "Unfortunatley: unfortunately"),
        ("I will chekc teh order now.", "chekc: check; teh: the"),
        ("It will arrive tomorow.", "tomorow: tomorrow"),
        (
            "The resturant opens at noon, would you like a resevation?",
            "resturant: restaurant; resevation: reservation",
        ),
        ("I dont see the parcel.", "dont: don't"),
        ("Im afraid it is sold out.", "Im: I'm"),
        ("There are alot of rooms.", "alot: a lot"),
        ("That transfered the money at once.", "transfered: transferred"),
        (
            "I am writting to you about the order that you gave me, untill then be carefull.",
            "writting: writing; untill: until; carefull: careful",
        ),
        ("The dates wich you gave wont do.", "wich: which; wont: won't"),
        ("It is inthe shed wth the lamp.", "inthe: in the; wth: with"),
        ("Sould we send the lamp?", "Sould: should"),
        (
            "Unfortunatly it is sold out. Immediatly call us.",
            "Unfortunatly: unfortunately; Immediatly: immediately",
        ),
        (
            "We hope you enjoyed your stay. Reccomend us to your friends.",
            "Reccomend: recommend",
        ),
        ("Check the availibility seperately.", "availibility: availability; seperately: separately"),
        ("Sorry for the inconvinience of this isue.", "inconvinience: inconvenience; isue: issue"),
        (
            "Please choose the relevent catagory of the vehical that you would like to hire from us.",
            "relevent: relevant; catagory: category; vehical: vehicle",
        ),
        (
            "When you aquire one, we will send you an invoce and a questionaire to fill in at home.",
            "aquire: acquire; invoce: invoice; questionaire: questionnaire",
        ),
        (
            "It was transfered on Monday, then refered to us, and the error occured again on Tuesday.",
            "transfered: transferred; refered: referred; occured: occurred",
        ),
        ("Tuesay is fine, at 20 degrees celcius.", "Tuesay: Tuesday; celcius: Celsius"),
    ],
)
def test_a_slip_is_found_and_the_word_meant_is_named(text: str, why: str) -> None:
    assert slips(text) == [why]


@pytest.mark.parametrize(
    "text",
    [
        "We have received your request.",
        "The colour of the theatre programme was organised at the centre.",  # British
        "Our fibre line is 40 kilometres long; dialling, modelling and a jeweller's labelled catalogue cost 5 centimetres.",
        "The cheque for the grey tyre, the storey, the kerb, an enquiry, maths, a tonne of yoghurt and pyjamas.",
        "pls hold on, thx! I'm gonna check asap lol, yep sooo close",  # register
        "Log in with your wifi password, then reinstall the app and resync.",
        "Please write to recieve@exampel.com or visit www.recieve.example/adress.",
        "Your code is recieveX12 and the file is recieve_form.pdf.",
        "Type “recieve” as it stands on the form.",
        "Please greet Mr Wallen and Ms Donato in Tenison Road.",
        "Hello {frist_name}, [recieved] <adress>",
        "TEH",
        "ADN HAE",
        "Palo is on the line.",
        "Das ist leider nicht möglich, weil die Bestellung schon unterwegs ist.",
        "kaa oomel tistu praak velmi hosst grendel",
        "The girls' rooms, drinkin' and chillin' by the swimmingpool.",
        "I have actioned and triaged your case; we expensed it, and will diarise the call.",
        "The codec of the oled screen, the upsert, the sso login, const airside, a smurfing alert.",
        "\u00c0 demain, and thank you. Here is the pro forma invoice. Tusen takk for that. Grazie mille, and goodbye.",
        "The fete is open; set `recieve` there.",
        "Fortunata will call you today. Presidente Alvarez is our guest. Jacobsen is on leave.",
        "I am texting you the rebooked flight's voicemail.",
        "We didn't, couldn't and shouldn't; they'll see what's there.",
    ],
)
def test_a_word_that_is_right_or_none_is_left_alone(text: str) -> None:
    assert slips(text) == []


def test_what_customers_and_tools_write_is_theirs() -> None:
    assert slips("Your recieve option is on.", ("c", "what is the recieve option")) == []
    assert slips("The plan is called restuarant.", ("t", '{"plan": "restuarant"}')) == []
    assert slips("You can see hosptial there.", ("c", "I work at St Hosptial clinic.")) == []
    assert slips("You recieved it.", ("c", "did I get it?")) == ["recieved: received"]


def test_a_word_of_the_trade_is_told_from_a_slip_by_the_log() -> None:
    plain = [dialogue(("a", "The tabel is booked."), name=f"p{n}") for n in range(4)]
    trade = CheckContext(profile_log(plain))
    assert slips("The tabel is booked.", context=trade) == []
    beside = [dialogue(("a", "The table is booked."), name=f"t{n}") for n in range(200)]
    assert slips("The tabel is booked.", context=CheckContext(profile_log(plain + beside))) == [
        "tabel: table"
    ]
    lines = [dialogue(("a", "We can accomodate you."), name=f"l{n}") for n in range(9)]
    assert slips("We can accomodate you.", context=CheckContext(profile_log(lines))) == [
        "accomodate: accommodate"
    ]


def test_the_log_helps_to_name_the_word() -> None:
    log = profile_log(
        [dialogue(("c", "a hotel please"), ("a", "A hotel, gladly."), name=f"{n}") for n in range(250)]
    )
    assert slips("I found a hotal for you.", context=CheckContext(log)) == ["hotal: hotel"]


def test_only_agents_and_bots_are_checked_and_one_hit_a_turn_names_all() -> None:
    talk = dialogue(("c", "i recieved nothing"), ("b", "We beleive you, and apologise for the dleay."))
    (hit,) = misspelt_word(talk)
    assert (hit.turn, talk.turns[1].text[hit.start : hit.end]) == (1, "beleive")
    assert hit.why == "not in the dictionary, beleive: believe; dleay: delay"


def test_a_hostile_dialogue_costs_bounded_time() -> None:
    words = [f"{a}{b}{c}qwortzz" for a in "bcdfg" for b in "hjklm" for c in "pqrst"]
    talk = dialogue(*(("a", f"This is the {word} that you have asked us for") for word in words))
    assert list(misspelt_word(talk)) == []
    assert len(words) > MAX_LOOKUPS
