"""Masking of texts: what goes, what stays, the way back, and that doing it twice changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dialint.detector.masking import mask_text
from dialint.detector.masking.spans import PLACEHOLDER

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
FRAGMENTS = [
    *CASES["goes"], *CASES["stays"],
    "Hi ", "Anna", "Will", "may", " at ", " dot ", "com", "@", "(at)", "[", "]", "_1", "my name is ",
    "Mr. ", "[NAME_1]", "[EMAIL_7]", "[PHONE_0]", "[NAME_", "order ", "call ", "555", "0199", "-", " ",
    "\n", ", ", "+", "\u200b", "\ue000", "４１", "é", "İ", "ß", "one two ", "three four ", "street",
    "12 Elm ", "passport ", "电话", "です", "тел", "هو", "%40", "@bob_1", "my insta is ", "the PIN is ",
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "13900001111",
]  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=9).map("".join), st.text(max_size=60))


@pytest.mark.parametrize(("text", "masked"), CASES["goes"].items())
def test_personal_data_become_placeholders(text: str, masked: str) -> None:
    assert mask_text(text).text == masked


@pytest.mark.parametrize("text", CASES["stays"])
def test_what_is_not_personal_stays(text: str) -> None:
    assert mask_text(text).text == text


def test_one_value_has_one_placeholder_however_it_is_written() -> None:
    masked = mask_text(
        "mail BEN@example.com or ben (at) example dot com, cell 212-555-0142 or (212) 555 0142"
    )
    assert masked.text == "mail [EMAIL_1] or [EMAIL_1], cell [PHONE_1] or [PHONE_1]"


def test_numbering_goes_on_after_placeholders_that_stand_there() -> None:
    assert mask_text("[EMAIL_3] wrote to a@example.com").text == "[EMAIL_3] wrote to [EMAIL_4]"


def test_similar_characters_do_not_hide_a_number() -> None:
    assert (
        mask_text("call ４１５-５５５-０１９９ or 415\u200b-555-0188").text == "call [PHONE_1] or [PHONE_2]"
    )


def test_offsets_lead_back_to_the_original() -> None:
    text = "Hi Sarah, mail a@example.com now"
    masked = mask_text(text)
    assert masked.text == "Hi [NAME_1], mail [EMAIL_1] now"
    assert masked.to_original(0, 2) == (0, 2)
    assert text[slice(*masked.to_original(masked.text.index("mail"), masked.text.index(" now")))] == (
        "mail a@example.com"
    )
    inside = masked.text.index("AME_1")
    assert text[slice(*masked.to_original(inside, inside + 2))] == "Sarah"
    assert masked.to_original(inside, inside) == (3, 8)
    assert masked.to_original(3, 3) == (3, 3)
    assert masked.to_original(len(masked.text), len(masked.text)) == (len(text), len(text))


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 99)])
def test_a_range_outside_the_text_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="range"):
        mask_text("Hi Sarah").to_original(start, end)


@settings(max_examples=150)
@given(TEXTS)
@example("Mr. Mr. Mr. Anna")
@example("[NAME_1] call 555 0199 555 0199")
def test_masking_what_is_masked_changes_nothing(text: str) -> None:
    once = mask_text(text).text
    assert mask_text(once).text == once


@settings(max_examples=100)
@given(TEXTS)
def test_spans_tell_exactly_what_was_replaced(text: str) -> None:
    masked = mask_text(text)
    rebuilt, position, original = "", 0, 0
    for span in masked.spans:
        assert masked.text[position : span.start] == text[original : span.original_start]
        assert PLACEHOLDER.fullmatch(masked.text, span.start, span.end)
        assert masked.to_original(span.start, span.end) == (span.original_start, span.original_end)
        rebuilt += masked.text[position : span.start] + text[span.original_start : span.original_end]
        position, original = span.end, span.original_end
    assert rebuilt + masked.text[position:] == text
