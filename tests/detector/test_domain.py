"""The distance of a log from the calibration data of a release, and its consequences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import tiny
from marked_dialogues import dialogue, in_turn
from pydantic import ValidationError

from dialint.detector.decide import FAR_LOG
from dialint.detector.interface import DetectorConfig
from dialint.detector.log_profile import (
    MAX_PAIRS,
    MIN_FOR_DISTANCE,
    MIN_REFERENCE,
    Domain,
    fit_domain,
    profile_log,
    word_pairs,
)
from dialint.detector.pipeline import load_detector, score
from dialint.detector.records import Dialogue

TRADES = ("hotel", "train", "table", "taxi", "parcel", "flight")
DAYS = ("monday", "tuesday", "friday", "sunday")
HOME = [
    (f"I need a {trade} for {day}.", f"Your {trade} is booked for {day}. Anything else?")
    for trade, day in product(TRADES, DAYS)
]
AWAY = [
    (f"Mein {thing} geht seit {day} nicht.", f"Haben Sie den {thing} am {day} neu gestartet?")
    for thing, day in product(
        ("Router", "Drucker", "Wecker", "Fernseher", "Herd"), ("gestern", "Montag", "heute")
    )
]


def log(pairs: list[tuple[str, str]], n: int) -> Iterator[Dialogue]:
    return (in_turn(*pairs[i % len(pairs)], id=f"d{i}") for i in range(n))


@pytest.fixture(scope="module")
def domain() -> Domain:
    fitted = fit_domain({"home": log(HOME, MIN_REFERENCE)})
    assert fitted is not None
    return fitted


def test_pairs_are_of_neighbouring_words_said_with_the_ends_of_turns() -> None:
    one = word_pairs(in_turn("Book it, now!"))
    assert len(one) == 4
    assert one == word_pairs(in_turn("book IT now", "book it now"))
    assert one < word_pairs(in_turn("Book it, now!", "Now book it."))
    assert word_pairs(dialogue(("system", "Book it, now!"))) == set()
    assert all(0 <= pair < 2**24 for pair in one)


def test_distance_is_the_share_of_new_pairs(domain: Domain) -> None:
    assert domain.count_unknown(in_turn(HOME[0][0])) == (0, 7)
    assert domain.count_unknown(in_turn("I need a zebra for monday.")) == (2, 7)
    assert profile_log(log(HOME, 30), domain).distance == 0.0
    assert profile_log(log(AWAY, 30), domain).distance == 1.0
    assert profile_log(log(AWAY, 30)).distance is None
    assert profile_log([], domain).distance is None


def test_a_small_log_and_one_that_was_not_measured_are_never_far(domain: Domain) -> None:
    assert domain.is_far(1.0, MIN_FOR_DISTANCE)
    assert not domain.is_far(1.0, MIN_FOR_DISTANCE - 1)
    assert not domain.is_far(None, 1000)
    assert domain.is_far(domain.far_from, 1000)
    assert not domain.is_far(domain.far_from - 1e-9, 1000)


def test_a_reference_is_the_same_for_the_same_dialogues_and_holds_the_most_frequent_pairs() -> None:
    dialogues = list(log(HOME, MIN_REFERENCE))
    letters = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(676)]
    rare = [in_turn(" ".join(f"{letters[i]}{each}" for each in letters), id=f"r{i}") for i in range(40)]
    fitted = fit_domain({"a": dialogues, "b": rare})
    assert fitted is not None
    assert fitted == fit_domain({"b": rare, "a": reversed(dialogues)})
    assert fitted.count_unknown(HOME_DIALOGUE) == (0, len(word_pairs(HOME_DIALOGUE)))
    assert len(fitted.pairs) == MAX_PAIRS * 4
    assert (fitted.corpora, fitted.n_dialogues) == (("a", "b"), MIN_REFERENCE + 40)


HOME_DIALOGUE = in_turn(*HOME[0])


def test_too_few_dialogues_make_no_reference() -> None:
    assert fit_domain({"home": log(HOME, MIN_REFERENCE - 1)}) is None


@pytest.mark.parametrize("pairs", ["AAA", "AAAAAA==", "not base64"])
def test_damaged_pairs_are_refused(pairs: str) -> None:
    with pytest.raises(ValidationError):
        Domain(pairs=pairs, corpora=("home",), n_dialogues=1)


def test_tempering_keeps_the_order_and_never_raises(domain: Domain) -> None:
    sharp = domain.model_copy(update={"slope": 0.5, "offset": -1.0})
    values = [0.0, 0.001, 0.1, 0.5, 0.9, 0.999, 1.0]
    tempered = [sharp.temper(value) for value in values]
    assert tempered == sorted(tempered)
    assert all(0.0 <= after <= before for before, after in zip(values, tempered, strict=True))
    assert tempered[0] == 0.0
    assert sharp.temper(0.5) == pytest.approx(0.268941, abs=1e-6)
    assert sharp.temper(0.9) == pytest.approx(0.524633, abs=1e-6)
    rising = domain.model_copy(update={"slope": 1.0, "offset": 3.0})
    assert [rising.temper(value) for value in values[:-1]] == pytest.approx(values[:-1])


def test_in_a_far_log_the_scans_findings_are_suggestions_of_lower_probability_and_checks_stay(
    tmp_path: Path, domain: Domain
) -> None:
    """The word w17, M2's unfilled placeholder, is found by a check, all else by the scan."""
    far = domain.model_copy(update={"slope": 0.5, "offset": -1.0})
    folder = tiny.write_release(tmp_path / "r", info=tiny.release_info(domain=far))
    items = [
        in_turn(
            f"w{i} w{i + 1}?",
            f"w{i + 2} w{7 * i % 90} {{{{order}}}} w3",
            f"w{i}",
            f"hello w{i} w9",
            id=f"d{i}",
        )
        for i in range(MIN_FOR_DISTANCE)
    ]
    detector = load_detector(DetectorConfig(release=folder))
    trusting = load_detector(DetectorConfig(release=folder, domain="trust"))
    assert detector.fingerprint != trusting.fingerprint
    plain = score(items, trusting, all_probabilities=True)
    few = score(items[:-1], detector, all_probabilities=True)
    assert few == score(items[:-1], trusting, all_probabilities=True)
    n_scan = n_checked = 0
    for before, after in zip(plain, score(items, detector, all_probabilities=True), strict=True):
        by_check = [each for each in before.findings if "exact check" in each.reason]
        n_checked += len(by_check)
        assert list(after.findings) == by_check
        by_scan = [each for each in before.findings if each not in by_check]
        assert len(after.suggestions) == len(by_scan) + len(before.suggestions)
        for old, new in zip(by_scan, after.suggestions, strict=True):
            n_scan += 1
            assert (old.code, old.turn, old.quote) == (new.code, new.turn, new.quote)
            assert new.probability == pytest.approx(far.temper(old.probability), abs=1e-5)
            assert FAR_LOG in new.reason
        for turn, row in (before.probabilities or {}).items():
            for code, value in row.items():
                tempered = (after.probabilities or {})[turn][code]
                assert tempered == pytest.approx(value if code == "M2" else far.temper(value), abs=1e-5)
    assert n_scan > 0
    assert n_checked > 0
