"""Words of another language in an English turn."""

from __future__ import annotations

import pytest

from dialint.detector.checks.dictionary import is_foreign
from dialint.detector.checks.spelling import misspelt_word
from dialint.detector.records import Dialogue, Turn

FOREIGN = [
    ("Con mucho gusto! I will check.", "mucho"), ("Viel Erfolg!", "Erfolg"), ("Bis gleich!", "gleich"), ("Viel Erfolg!", "Viel"),
    ("Guten Appetit!", "Guten"),
    ("Thanks. Tschüss", "Tschüss"), ("À demain!", "demain"), ("Grazie mille!", "mille"), ("Excelente!", "Excelente"),
    ("Un momento, por favor.", "momento"),
]  # fmt: skip
MISSPELT = [
    ("It is not posible to change.", "posible"), ("Your adress is wrong.", "adress"), ("The profesional plan", "profesional"),
    ("We will recieve it", "recieve"), ("The proces is done", "proces"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "word"), FOREIGN)
def test_a_word_that_is_right_in_the_language_of_its_neighbours(text: str, word: str) -> None:
    assert is_foreign(text, text.index(word), word)


@pytest.mark.parametrize(("text", "word"), MISSPELT)
def test_a_misspelt_word_that_another_language_has_by_chance(text: str, word: str) -> None:
    assert not is_foreign(text, text.index(word), word)


def test_a_courtesy_in_another_language_is_no_misspelling() -> None:
    def hits(text: str) -> list[str]:
        customer = Turn(index=0, role="customer", text="Hi, can you check my order from last week, please?")
        turns = (customer, Turn(index=1, role="agent", text=text))
        return [hit.why for hit in misspelt_word(Dialogue(id="d", turns=turns))]

    assert hits("Con mucho gusto! I will check your order right away.") == []
    assert hits("I will check the adress of your order right away.") != []
