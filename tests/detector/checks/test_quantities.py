"""Numbers in words, as all checks read them."""

from __future__ import annotations

import pytest

from dialint.detector.checks.quantities import plain


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("the twenty-sixth of march", "the 26th of march"),
        ("forty tenants, sixty sevens", "40 tenants, 60 sevens"),
        ("two thousand three hundred forty-one euros", "2341 euros"),
    ],
)
def test_a_number_in_words_ends_where_a_word_does(said: str, read: str) -> None:
    assert plain(said) == read
