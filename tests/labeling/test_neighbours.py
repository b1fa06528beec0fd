"""Shingles, near pairs and groups, with answers worked out by hand."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from labeling.corpus.recall import edited, exact_jaccard, exhaustive, planted
from labeling.neighbours import KIN, Neighbours, jaccard, near_pairs, ngrams, shingles, united, words

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


def test_hashed_jaccard_is_that_of_the_words() -> None:
    for seed in range(20):
        copy = edited(talk(seed), 0.7, WORDS, Random(seed))
        assert jaccard(shingles(talk(seed)), shingles(copy)) == pytest.approx(exact_jaccard(talk(seed), copy))
        assert 0.7 <= exact_jaccard(talk(seed), copy) < 0.8


def test_near_copies_are_found_and_strangers_are_not() -> None:
    talks = [talk(seed) for seed in range(60)]
    copies = [edited(talks[seed], 0.85, WORDS, Random(seed)) for seed in range(20)]
    pairs = near_pairs([shingles(text) for text in talks + copies], KIN)
    assert {(later, earlier) for later, earlier, _ in pairs} == {(60 + n, n) for n in range(20)}
    assert all(0.85 <= value < 0.95 for _, _, value in pairs)


def test_an_empty_dialogue_is_like_nothing() -> None:
    known = Neighbours()
    assert known.add_near(shingles(""), KIN) == []
    assert known.add_near(shingles(""), KIN) == []
    assert known.near(shingles("?!"), KIN) == []


def test_groups_join_through_keys_and_pairs_and_take_the_smallest_name() -> None:
    keys = [("d",), ("c", "shared"), ("b", "shared"), ("a",), ("e",)]
    assert united(keys, [(0, 1)]) == ["b", "b", "b", "a", "e"]
    assert united(keys[::-1], [(4, 3)])[::-1] == ["b", "b", "b", "a", "e"]


def test_recall_is_measured_on_planted_copies_and_on_every_pair() -> None:
    talks = [talk(seed) for seed in range(80)]
    rows = {row["level"]: row for row in planted(talks, 40, seed=3)}
    assert rows[0.95]["found"] == 1
    assert rows[0.95]["dropped"] == 1
    assert rows[0.8]["dropped"] == 1
    assert rows[0.6]["dropped"] == 0
    assert all(row["false"] == 0 for row in rows.values())
    figures = exhaustive([*talks, *(edited(talks[n], 0.93, WORDS, Random(n)) for n in range(10)), talks[0]])
    assert figures["levels"]["0.9"]["pairs"] >= 10
    assert figures["levels"]["0.9"]["found"] == figures["levels"]["0.9"]["pairs"]
    assert figures["wrong"] == 0
