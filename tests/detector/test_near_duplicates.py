"""Shingles, near pairs and groups, with answers worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.detector import near_duplicates
from dialint.detector.near_duplicates import (
    RELATED,
    Shingles,
    group_names,
    jaccard,
    linking_pairs,
    near_pairs,
    ngrams,
    shingles,
    words,
)

WORDS = [
    f"{a}{b}" for a in ("ba", "ko", "ru", "ti", "mo", "se", "fa") for b in ("lan", "mit", "ros", "dek", "pum")
]


def talk(seed: int, length: int = 80) -> str:
    rng = Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(length))


def test_words_are_lower_case_without_marks_and_chinese_by_character() -> None:
    assert words("Don't PANIC, at 7:30!") == ["don", "t", "panic", "at", "7", "30"]
    assert words("你好 Anna") == ["你", "好", "anna"]
    assert words("Здравствуйте!") == ["здравствуйте"]


def test_shingles_are_runs_of_three_words_each_once() -> None:
    assert len(shingles("a b c d")) == 2
    assert len(shingles("a b c a b c")) == 3  # abc bca cab abc
    assert len(shingles("one two")) == 1
    assert len(shingles("...")) == 0
    assert not np.array_equal(shingles("a b c"), shingles("c b a"))


def test_jaccard_by_hand() -> None:
    assert jaccard(shingles("a b c d"), shingles("a b c e")) == pytest.approx(1 / 3)
    assert jaccard(shingles("a b c"), shingles("a b c")) == 1
    assert jaccard(shingles(""), shingles("")) == 0


def test_ngrams_keep_their_order_and_shrink_for_short_text() -> None:
    whole = ngrams(["a", "b", "c", "d"], 2)
    assert len(whole) == 3
    assert np.array_equal(whole[1:], ngrams(["b", "c", "d"], 2))
    assert len(ngrams(["a", "b"], 13)) == 1
    assert len(ngrams([], 13)) == 0


def test_an_empty_dialogue_is_like_nothing() -> None:
    assert near_pairs([shingles(""), shingles(""), shingles("?!")], RELATED) == []
    assert near_pairs([], RELATED) == []
    assert list(linking_pairs([shingles(""), shingles("")], RELATED)) == []


@given(st.text(st.sampled_from("abß. "), max_size=12))
def test_each_run_of_words_is_one_shingle(text: str) -> None:
    runs = {tuple(words(text)[n : n + 3]) for n in range(max(1, len(words(text)) - 2))} - {()}
    assert len(shingles(text)) == len(runs)


def hashed(sets: list[set[int]], spread: int) -> list[Shingles]:
    return [np.array(sorted({code * spread % 2**64 for code in codes}), np.uint64) for codes in sets]


SETS = st.lists(st.sets(st.integers(0, 15), max_size=12), max_size=14)
SPREAD = st.sampled_from([1, 0x9E3779B97F4A7C15])
"""Spread by 1, all shingles look alike to the search, which may only cost it time."""
BOUND = st.sampled_from([0.3, 0.5, 0.55, RELATED, 2 / 3, 0.7, 0.8, 1.0])


@settings(max_examples=120)
@given(SETS, SPREAD, BOUND, st.sampled_from([1, 3, near_duplicates.CHUNK]))
def test_every_pair_is_found_and_no_other(
    sets: list[set[int]], spread: int, at_least: float, chunk: int
) -> None:
    hashes = hashed(sets, spread)
    with mock.patch.object(near_duplicates, "CHUNK", chunk):
        assert near_pairs(hashes, at_least) == every_pair(hashes, at_least)


def every_pair(sets: list[Shingles], at_least: float) -> list[tuple[int, int, float]]:
    return [
        (later, earlier, value)
        for later in range(len(sets))
        for earlier in range(later)
        if (value := jaccard(sets[later], sets[earlier])) >= at_least
    ]


@settings(max_examples=120)
@given(SETS, SPREAD, BOUND)
def test_links_join_what_all_pairs_join_and_are_no_more_than_needed(
    sets: list[set[int]], spread: int, at_least: float
) -> None:
    hashes = hashed(sets, spread)
    keys = [(f"{number:02}",) for number in range(len(hashes))]
    pairs = {(later, earlier) for later, earlier, _ in every_pair(hashes, at_least)}
    linked = list(linking_pairs(hashes, at_least))
    groups = group_names(keys, linked)
    assert set(linked) <= pairs
    assert groups == group_names(keys, pairs)
    assert len(linked) == len(hashes) - len(set(groups))


def sliding(n: int) -> list[str]:
    tokens = talk(0, n + 100).split()
    return [" ".join(tokens[start : start + 100]) for start in range(n)]


@pytest.mark.parametrize(
    "family",
    [[f"{talk(0)} and goodbye {number}" for number in range(400)], sliding(400)],
    ids=["copies of one", "a chain"],
)
def test_of_a_large_family_few_pairs_are_looked_at(
    family: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All would be 79,800, in up to 399 rounds."""
    rounds: list[int] = []
    proposed = near_duplicates._candidate_pairs

    def counted(sets: Sequence[Shingles], at_least: float, labels: Any) -> Iterator[Any]:
        for keys in proposed(sets, at_least, labels):
            rounds.append(len(np.unique(keys)))
            yield keys

    monkeypatch.setattr(near_duplicates, "_candidate_pairs", counted)
    assert len(list(linking_pairs(list(map(shingles, family)), RELATED))) == 399
    assert len(rounds) < 30
    assert sum(rounds) < 9_000


def test_groups_join_through_keys_and_pairs_and_take_the_smallest_name() -> None:
    keys = [("d",), ("c", "shared"), ("b", "shared"), ("a",), ("e",)]
    assert group_names(keys, [(0, 1)]) == ["b", "b", "b", "a", "e"]
    assert group_names(keys[::-1], [(4, 3)])[::-1] == ["b", "b", "b", "a", "e"]
