"""Misspelt words with the log and the stated language, and foreign words. Other cases are in `cases.yaml`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from marked_dialogues import read_case

from dialint.detector.checks import CheckContext
from dialint.detector.checks.dictionary import is_foreign
from dialint.detector.checks.spelling import misspelt_word
from dialint.detector.log_profile import profile_log


def slips(text: str, log: Iterable[str | list[str]]) -> list[str]:
    """Returns the slips of a turn in a log of these dialogues."""
    profile = profile_log(read_case(case, f"d{n}")[0] for n, case in enumerate(log))
    hits = misspelt_word(read_case(text)[0], CheckContext(profile))
    return [hit.why.removeprefix("not in the dictionary, ") for hit in hits]


def test_the_log_distinguishes_a_word_of_the_trade_from_a_slip() -> None:
    trade = ["The tabel is booked."] * 4
    assert slips("The tabel is booked.", trade) == []
    assert slips("The tabel is booked.", [*trade, *["The table is booked."] * 200]) == ["tabel: table"]
    assert slips("We can accomodate you.", ["We can accomodate you."] * 9) == ["accomodate: accommodate"]


def test_the_log_helps_to_name_the_word() -> None:
    log = [["a hotel please", "A hotel, gladly."]] * 250
    assert slips("I found a hotal for you.", log) == ["hotal: hotel"]


def test_the_language_that_the_user_states_counts_for_checks_as_well() -> None:
    """Without it no code would be missing in the verdict, and nothing would have been looked for."""
    talk = read_case("You recieved it.")[0].model_copy(update={"language": "fr"})
    assert list(misspelt_word(talk, CheckContext())) == []
    assert len(list(misspelt_word(talk, CheckContext(languages=("en",))))) == 1


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
def test_a_misspelt_word_that_is_also_a_word_of_another_language(text: str, word: str) -> None:
    assert not is_foreign(text, text.index(word), word)
