"""Slips of punctuation and capitals: what is one, what is none, and the style of a whole dialogue."""

from __future__ import annotations

import pytest

from dialint.detector.checks.grammar import format_slip
from dialint.detector.records import Dialogue, Turn


def dialogue(*texts: str) -> Dialogue:
    """Agent's turns, the customer's between them."""
    turns = [part for text in texts for part in (("customer", "Hello?"), ("agent", text))]
    return Dialogue(
        id="d", turns=tuple(Turn(index=i, role=role, text=text) for i, (role, text) in enumerate(turns))
    )


CAPITAL = "We have looked into it."


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("your parcel left the depot yesterday.", "your"),
        ("It left the depot. the driver has it now.", "the"),
        ("Shall i send the form again?", "i"),
        ("Well, i'll send the form again.", "i'll"),
        ("The shop opens on monday at nine.", "monday"),
        ("It is due on march 9th at noon.", "march"),
        ("It left the depot.The driver has it.", "depot.The"),
        ("It left the depot,and the driver has it.", "depot,and"),
        ("Would you like me to book it ?", "it ?"),
        ("Your parcel left the depot yesterday", None),
        ("See www.example.com or write to help@example.com today.", None),
        ("iPhone cases are sold out, I am afraid.", None),
        ("It may take 3 days, or it may march on.", None),
        ("We sell screws, nuts etc. and deliver them.", None),
        ("Version 2.1,5 of the tool (e.g. the web one) works.", None),
        ("ok thanks", None),
    ],
)
def test_slips(text: str, quote: str | None) -> None:
    hits = list(format_slip(dialogue(CAPITAL, text, CAPITAL)))
    assert [text[hit.start : hit.end] for hit in hits] == ([] if quote is None else [quote])


def test_an_agent_who_writes_all_in_lower_case_has_a_style() -> None:
    casual = ("we have looked into it", "it left the depot on monday", "shall i call you then")
    assert list(format_slip(dialogue(*casual))) == []
    (hit,) = format_slip(dialogue(*casual, "it is there,have a nice day"))
    assert hit.why == "no space after the mark"
