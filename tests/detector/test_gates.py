"""Gates: what must be in the log for a suspicion of the scan to become a finding."""

import pytest

from dialint.detector.gates import GATES, GateInput
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile, profile_log
from dialint.detector.records import Dialogue, Role, ToolCall, Turn

ROLES: dict[str, Role] = {"c": "customer", "a": "agent", "t": "tool", "s": "system"}


def dialogue(*turns: str) -> Dialogue:
    """A dialogue of lines such as ``c: Hello``; ``call: NAME`` is a call by an agent without words."""
    made = []
    for index, turn in enumerate(turns):
        who, _, text = turn.partition(": ")
        if who == "call":
            made.append(Turn(index=index, role="agent", text="", tool_calls=(ToolCall(name=text),)))
        else:
            made.append(Turn(index=index, role=ROLES[who], text=text))
    return Dialogue(id="d", turns=tuple(made))


def outcome(gate: str, *turns: str, judged: int = -1, log: LogProfile = EMPTY_PROFILE) -> str:
    made = dialogue(*turns)
    position = judged % len(made.turns)
    text = made.turns[position].text
    return GATES[gate](GateInput(made, position, 0, len(text), 0.9, log)).outcome


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Your order {order_id} left.", "finding"),
        ("Here are your new details: [order details]", "finding"),
        ("I will look. [invokes tool to get order details]", "dropped"),
        ("I moved order '#user_order_id' to the front.", "finding"),
        ("Dear CUSTOMER_NAME, thanks.", "finding"),
        ("Hello null, how are you?", "finding"),
        ("Hello #NAME#, you reach us at <PHONE>. [smile]", "dropped"),
        ("Your card XXXX was sent.", "dropped"),
        ("Open [Settings - System Update] and check.", "dropped"),
        ("Please reply with the text {city_name} of your town.", "dropped"),
        ('{"name": "respond", "arguments": {"content": "You', "dropped"),
        ("Delete HKEY_LOCAL_MACHINE\\Software and restart.", "dropped"),
        ("Thanks for writing to us.", "dropped"),
    ],
)
def test_a_raw_slot(text: str, expected: str) -> None:
    assert outcome("raw_slot", "c: Hello", f"a: {text}") == expected


def test_the_logs_own_masking_is_no_raw_slot() -> None:
    own = [
        dialogue(f"c: I am {{{{client {number}}}}}").model_copy(update={"id": str(number)})
        for number in (1, 2)
    ]
    turns = ("c: Hello", "a: Hi {{client 3}}!")
    assert outcome("raw_slot", *turns) == "finding"
    assert outcome("raw_slot", *turns, log=profile_log(own)) == "dropped"
    assert outcome("raw_slot", "c: What is {{client 3}}?", turns[1]) == "dropped"


REFUSAL = "a: Unfortunately there are no flights that match what you are looking for."


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("c: To Oslo", REFUSAL, "c: That is a shame because everybody was hoping for the beach.", REFUSAL), "finding"),
        (("c: To Oslo", REFUSAL, "c: And to Rome?", REFUSAL), "finding"),
        (("c: To Oslo", REFUSAL, "c: Which flights are there?", REFUSAL), "suggestion"),
        (("c: To Oslo", REFUSAL, "c: And to Rome?", 't: {"n": 0, "to": "Rome"}', REFUSAL), "dropped"),
        (("c: To Oslo", REFUSAL, "c: And to Rome?", "call: find_flights", REFUSAL), "dropped"),
        (("c: To Oslo", "t: none", REFUSAL, "c: That is a shame because everybody was hoping for the beach.", "t: none", REFUSAL), "finding"),
        (("c: To Oslo", REFUSAL, "c: Say that again?", REFUSAL), "dropped"),
        (("c: To Oslo", REFUSAL, "c: And to Rome?", REFUSAL, "c: And to Bonn?", REFUSAL), "finding"),
        (("c: To Oslo", "a: Your train 5 to Oslo leaves at nine in the morning.", "c: No, the other one.",
          "a: Your train 7 to Oslo leaves at nine in the morning."), "dropped"),
        (("c: Hi", "a: Hello, how may I help you today, dear Ann?", "c: So.", REFUSAL), "dropped"),
        (("c: Hi", "a: Thank you, have a nice day!", "c: So.", "a: Thank you, have a nice day!"), "dropped"),
    ],
)  # fmt: skip
def test_repeats_itself(turns: tuple[str, ...], expected: str) -> None:
    assert outcome("repeats_itself", *turns) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Right, and your PIN as well please.", "finding"),
        ("Please send us your number and the service password.", "finding"),
        ("Could I have the security code of your card?", "finding"),
        ("You will get a text with six digits. Tell me those, please.", "finding"),
        ("Could you give me your full name, address and postcode?", "dropped"),
        ("Please send me your zip code.", "dropped"),
        ('Please click the menu "Me - Broadband Password" to report it.', "dropped"),
        ("Please never share your PIN with anyone.", "dropped"),
        ("Please reset your password in the settings.", "dropped"),
        ("Please log in at our website with your password.", "dropped"),
        ("Could you tell me the last four digits of your card number?", "dropped"),
        ("Was the password correct? Does it work elsewhere?", "dropped"),
        ("Your PIN was sent by letter.", "dropped"),
    ],
)
def test_asks_for_secret(text: str, expected: str) -> None:
    assert outcome("asks_for_secret", "c: I need help", f"a: {text}") == expected


def test_a_secret_of_which_the_customer_speaks() -> None:
    assert (
        outcome("asks_for_secret", "c: My PIN does not work", "a: What was wrong with the PIN, please?")
        == "dropped"
    )
    assert outcome("asks_for_secret", "c: My PIN does not work", "a: Please tell me the PIN.") == "finding"


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (
            (
                "c: Order A-7731 is late.",
                "a: Your order number?",
                "c: A-7731",
                "a: What is your order number?",
            ),
            "finding",
        ),
        (("c: my order number is A7731", "a: What is your order number?"), "finding"),
        (
            (
                "c: Hi",
                "a: Your name, please: what is your name?",
                "c: Ann",
                "a: Could I get your name please?",
            ),
            "finding",
        ),
        (("c: I am at ann@firm.example", "a: Could you provide your email?"), "finding"),
        (("c: I am at ann@firm.example", "a: Is your email ann@firm.example?"), "dropped"),
        (
            ("c: my email is a@b.example", "t: Error: user not found", "a: Could you provide your email?"),
            "dropped",
        ),
        (("c: my email is a@b.example", "a: Do you have another email?"), "dropped"),
        (("c: A table for Friday", "a: On what day would you like it?"), "suggestion"),
        (
            (
                "c: Hi",
                "a: When are you arriving?",
                "c: At 6 pm",
                "a: Yes.",
                "c: So",
                "a: When are you arriving?",
            ),
            "finding",
        ),
        (
            ("c: Hi", "a: When are you arriving?", "c: At 6 pm", "t: full", "a: When are you arriving?"),
            "suggestion",
        ),
        (("c: Hi", "a: What is your order number?"), "dropped"),
        (("c: my email is a@b.example", "a: I have sent it to your email."), "dropped"),
    ],
)
def test_asks_for_what_was_given(turns: tuple[str, ...], expected: str) -> None:
    assert outcome("asks_for_what_was_given", *turns) == expected


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("c: I am in tears, my parcel is gone.", "a: What is your order number?"), "finding"),
        (("c: I am in tears, my parcel is gone.", "a: I am so sorry. What is your order number?"), "dropped"),
        (("c: My parcel is gone.", "a: What is your order number?"), "suggestion"),
    ],
)
def test_passes_over_distress(turns: tuple[str, ...], expected: str) -> None:
    assert outcome("passes_over_distress", *turns) == expected


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("c: It broke", "a: You should have read the terms."), "finding"),
        (("c: 'You should have read it', they said", "a: You should have a new one."), "suggestion"),
        (("c: It broke", "a: Thank you, we will call."), "dropped"),
        (("c: It broke", "a: The deposit is kept."), "suggestion"),
    ],
)
def test_reproaches(turns: tuple[str, ...], expected: str) -> None:
    assert outcome("reproaches", *turns) == expected


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("c: And the late fee?", "a: Have a lovely day!"), "finding"),
        (("c: And the late fee?", "a: The fee is gone. Have a lovely day!"), "dropped"),
        (("c: Can I change the address?", "a: Our team packed everything in Leeds."), "suggestion"),
        (("c: Can I change the address?", "a: Let me look."), "dropped"),
        (("c: It works now.", "a: Have a lovely day!"), "inapplicable"),
    ],
)
def test_skips_question(turns: tuple[str, ...], expected: str) -> None:
    assert outcome("skips_question", *turns) == expected


@pytest.mark.parametrize(
    ("turns", "expected", "judged"),
    [
        (("c: And the late fee?", "a: Have a lovely day!"), "finding", -1),
        (("c: Fee gone, thank you!", "a: Have a lovely day!"), "dropped", -1),
        (("c: And the fee?", "a: Have a lovely day!", "c: Wait", "a: Yes?"), "dropped", 1),
        (("c: And the fee?", "a: Have a lovely day!", "c: Thanks, bye"), "dropped", 1),
        (("c: And the fee?", "a: It is due on Monday."), "dropped", -1),
        (("c: And the fee?", "a: We will contact you. Have a lovely day!"), "suggestion", -1),
    ],
)
def test_closes_with_open_question(turns: tuple[str, ...], expected: str, judged: int) -> None:
    assert outcome("closes_with_open_question", *turns, judged=judged) == expected


def test_a_turn_of_another_subject() -> None:
    ask = "c: My washing machine leaks water since Monday"
    assert outcome("shares_no_words", ask, "a: Your train to Lyon leaves from platform six.") == "suggestion"
    assert (
        outcome("shares_no_words", ask, "a: When did the washing machine start leaking over the floor?")
        == "dropped"
    )
    assert outcome("shares_no_words", ask, "a: Have a nice day!") == "dropped"


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("recieved", "finding"),
        ("Thier", "finding"),
        ("Elantra", "dropped"),
        ("fluxo", "dropped"),
        ("usual", "dropped"),
        ("demurrage", "dropped"),
    ],
)
def test_an_odd_word(evidence: str, expected: str) -> None:
    text = "Thier usual Elantra was recieved with the fluxo; demurrage starts."
    made = dialogue("c: My fluxo is gone", f"a: {text}")
    start = text.index(evidence)
    log = LogProfile(n_dialogues=50, word_dialogues={"usual": 9, "recieved": 2})
    suspicion = GateInput(made, 1, start, start + len(evidence), 0.9, log)
    assert GATES["odd_word"](suspicion).outcome == expected


def test_every_gate_says_what_it_must_see() -> None:
    for name, gate in GATES.items():
        assert " must see " in " ".join((gate.__doc__ or "").split()), name


def test_what_only_tool_calls_show_needs_a_log_that_holds_them() -> None:
    spoken = ("c: Cancel my order.", "a: I have cancelled it.")
    assert outcome("tools_are_logged", *spoken) == "inapplicable"
    assert outcome("tools_are_logged", spoken[0], "call: cancel", "t: done", spoken[1]) == "finding"
    with_tools = profile_log([dialogue(spoken[0], "call: cancel", "t: done", spoken[1])] * 20)
    assert outcome("tools_are_logged", *spoken, log=with_tools) == "finding"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thought: I should look the order up first.", "finding"),
        ('{"name": "find_order", "arguments": {}}', "finding"),
        ("I will call get_order_details now.", "finding"),
        ("[Simulated action: reading the order] Done.", "finding"),
        ("Sure.\nuser\nYes, please.", "finding"),
        ("You have $13,017.75 in your account.", "inapplicable"),
        ("Booked for 3:45 pm (two people).", "inapplicable"),
        ("Your number is [PHONE_1].", "inapplicable"),
        ("Hello {first_name|friend}, thanks.", "inapplicable"),
    ],
)
def test_raw_text_must_look_like_a_machines(text: str, expected: str) -> None:
    assert outcome("shows_machine_text", "c: Hello", f"a: {text}") == expected


def test_a_postal_code_is_no_secret() -> None:
    asked = "a: Please provide your PIN code."
    assert outcome("asks_for_secret", "c: Do you deliver to my area?", asked) == "dropped"
    assert outcome("asks_for_secret", "c: My card does not work.", asked) == "finding"


@pytest.mark.parametrize(
    ("customer", "agent", "expected"),
    [
        ("Who has admin rights?", "Here they are:\nUser: Katarzyna\nUser: Bartholomew", "inapplicable"),
        ("Hello", "User: Hello\nAssistant: Hello, how can I help?", "finding"),
        ("The API refuses my token.", "The API takes {order_id} from the path.", "inapplicable"),
        ("Hello", "The API takes {order_id} from the path.", "finding"),
    ],
)
def test_text_of_a_machine(customer: str, agent: str, expected: str) -> None:
    assert outcome("shows_machine_text", f"c: {customer}", f"a: {agent}") == expected
