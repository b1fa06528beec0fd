"""The check of misspelt words: what is a slip, and what only looks like one."""

from __future__ import annotations

from dialint.detector.checks import CheckContext
from dialint.detector.checks.spelling import misspelt_word
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


def test_the_language_that_the_user_states_counts_for_checks_as_well() -> None:
    """Without it no code would be missing in the verdict, and nothing would have been looked for."""
    talk = dialogue(("a", "You recieved it.")).model_copy(update={"language": "fr"})
    assert list(misspelt_word(talk, CheckContext())) == []
    assert len(list(misspelt_word(talk, CheckContext(languages=("en",))))) == 1
