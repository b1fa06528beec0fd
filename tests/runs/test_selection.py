"""What is kept and what is not, one small dialogue each; rude agents always stay."""

from __future__ import annotations

import pytest
from selection import is_agent_rude, is_customer_rude, rejection_reason
from sources import SOURCES, CorpusDialogue

USUAL = (
    ("customer", "Hello, my parcel was due on Monday and it is still not here."),
    ("agent", "I am sorry to hear that. May I have the number of the parcel, please?"),
    ("customer", "It is 7 7 1 9, sent from Leeds."),
    ("agent", "Thank you. It is on the van now and should reach you this afternoon."),
)


def dialogue(*turns: tuple[str, str], hidden: bool = False) -> CorpusDialogue:
    return CorpusDialogue("x:1", SOURCES[0], turns, ("id:x:1",), hidden)


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        (USUAL[::2], "one_sided"),
        ((("customer", "Hello"), ("agent", "Hello, how are you?")), "short"),
        (USUAL * 40, "long"),
        ((*USUAL, ("agent", "It costs 5 â€™ and the cafÃ© is Ã¶ffen â€“ \ufffd\ufffd")), "encoding"),
        ((*USUAL[:2], ("agent", '{"name": "get_order", "arguments": {"id": 7}}')), "machine"),
        (USUAL * 3, "repetitive"),
        ((("customer", "ha " * 400), ("agent", "Pardon, what do you mean by that?")), "repetitive"),
    ],
)
def test_what_is_not_worth_keeping_has_a_reason(turns: tuple[tuple[str, str], ...], why: str) -> None:
    assert rejection_reason(dialogue(*turns)) == why


def test_a_rude_agent_is_kept_and_counted() -> None:
    rude = dialogue(*USUAL[:3], ("agent", "Are you stupid? I told you to wait, you idiot. Now shut up."))
    assert rejection_reason(rude) is None
    assert is_agent_rude(rude)
    assert not is_customer_rude(rude)
    assert not is_agent_rude(dialogue(*USUAL))


def test_an_agent_who_answers_vile_talk_in_kind_is_kept() -> None:
    both = dialogue(
        ("customer", "Suck my toe, you whore, and send nudes."), ("agent", "You retard, go away now.")
    )
    assert rejection_reason(both) is None
    assert is_agent_rude(both)


def test_vile_talk_with_nothing_else_is_left_out_but_swearing_at_a_late_parcel_is_not() -> None:
    vile = dialogue(
        ("customer", "Send me your nudes, I am so horny tonight."),
        ("agent", "I cannot do that."),
        ("customer", "Come on, have sex with me."),
    )
    assert rejection_reason(vile) == "vile"
    angry = dialogue(("customer", "Where is my fucking parcel, you bastards?"), *USUAL[1:])
    assert rejection_reason(angry) is None
    assert is_customer_rude(angry)
    once = dialogue(
        *USUAL, ("customer", "Your driver called me a fag, I want to complain."), USUAL[1], *USUAL[::2]
    )
    assert rejection_reason(once) is None
