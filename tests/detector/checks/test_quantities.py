"""Numbers in words, as all checks read them."""

from __future__ import annotations

from dialint.detector.checks.quantities import plain


def test_a_number_in_words_ends_where_a_word_does() -> None:
    assert plain("the twenty-sixth of march") == "the 26th of march"
    assert plain("forty tenants, sixty sevens, two thousand one") == "40 tenants, 60 sevens, 2000 one"
