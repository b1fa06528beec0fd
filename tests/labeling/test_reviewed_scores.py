"""The reviewed score of many dialogues: by hand, and over populations whose true mean is known."""

import numpy as np
import pytest

from dialint.detector.statistics import betting_interval
from dialint.labeling.reviewed_scores import Part, ScoredDialogues, estimate_score

N, ROUNDS = 600, 120


def test_the_parts_by_hand() -> None:
    """40 clean dialogues, 20 of them sampled, one of which has an S2 that the model missed; 2 flagged ones that
    people decided, and one that the model did not judge. Of the 20 unread the sample expects 100 - 25 / 20 = 98.75."""
    rows = [
        ScoredDialogues(20, 100.0, None, False),
        ScoredDialogues(19, 100.0, 100.0, False, 5.0, 0.5),
        ScoredDialogues(1, 100.0, 75.0, False, 1.0, 0.5),
        ScoredDialogues(1, 75.0, 100.0, True),
        ScoredDialogues(1, 75.0, 75.0, True),
        ScoredDialogues(1, None, 87.5, True),
    ]
    score = estimate_score(rows)
    assert (score.decided, score.sampled) == (Part(3, 75.0, 87.5, 2), Part(20, 100.0, 98.75, 20))
    assert score.unread == (20, 100.0, pytest.approx(98.75), 20)
    assert score.value == pytest.approx((3 * 87.5 + 40 * 98.75) / 43)
    assert score.low is not None
    assert score.high is not None
    assert score.value - 20 < score.low < score.value < score.high <= 100
    assert (score.n_rated, score.rating) == (20, pytest.approx(4.8))
    assert score.correlation is not None
    assert score.correlation.value == pytest.approx(1.0)


def test_without_a_sample_there_is_no_score_and_what_all_have_read_is_exact() -> None:
    reviewed = ScoredDialogues(90, 100.0, 80.0, False)
    unread = ScoredDialogues(90, 100.0, None, False)
    assert estimate_score([reviewed, unread]).value is None, "what was read by choice stands for nothing else"
    exact = estimate_score([reviewed])
    assert (exact.value, exact.low, exact.high) == (80.0, 80.0, 80.0)
    alike = [unread, ScoredDialogues(3, 100.0, 100.0, False, None, 0.1)]
    assert estimate_score(alike).value is None, "three alike are no evidence"
    assert estimate_score([]).value is None


def test_weights_undo_unequal_chances() -> None:
    """Of 1,000 dialogues half have an error and were drawn nine times as often: 90 of them and 10 others."""
    rows = [
        ScoredDialogues(900, 100.0, None, False),
        ScoredDialogues(90, 100.0, 0.0, False, None, 0.18),
        ScoredDialogues(10, 100.0, 100.0, False, None, 0.02),
    ]
    assert estimate_score([*rows]).unread.reviewed is None, "ten of those with weight are too few"
    low, high = betting_interval(
        np.repeat([0.0, 1.0], [90, 10]), (0.0, 1.0), np.repeat([1 / 0.18, 1 / 0.02], [90, 10])
    )
    assert low < 0.5 < high


def test_an_interval_is_never_without_width_and_is_all_there_is_without_values() -> None:
    assert betting_interval(np.array([]), (0.0, 1.0)) == (0.0, 1.0)
    low, high = betting_interval(np.ones(50), (0.0, 1.0))
    assert high == pytest.approx(1.0)
    assert 0.88 < low < 0.96


def test_it_covers_the_true_mean_and_the_mean_of_what_was_read_does_not() -> None:
    """Flagged dialogues are read by choice, half of them, and 80 of all at random; the model accuses wrongly in
    3 of 10 flagged and misses an error in 1 of 10 others."""
    rng = np.random.default_rng(38)
    covered, naive = 0, 0
    for _ in range(ROUNDS):
        flagged = rng.random(N) < 0.25
        model = np.where(flagged, rng.choice([75.0, 92.0, 0.0], N, p=[0.5, 0.4, 0.1]), 100.0)
        missed = np.where(rng.random(N) < 0.1, rng.choice([92.0, 75.0, 0.0], N, p=[0.4, 0.4, 0.2]), 100.0)
        true = np.where(flagged, np.where(rng.random(N) < 0.3, 100.0, model), missed)
        sampled = np.isin(np.arange(N), rng.choice(N, 80, replace=False))
        read = sampled | (flagged & (rng.random(N) < 0.5))
        score = estimate_score(
            ScoredDialogues(
                1, float(model[i]), float(true[i]) if read[i] else None, bool(flagged[i]), None,
                80 / N if sampled[i] else None,
            )
            for i in range(N)
        )  # fmt: skip
        assert score.value is not None
        assert score.low is not None
        assert score.high is not None
        covered += score.low <= true.mean() <= score.high
        half = (score.high - score.low) / 2
        naive += abs(float(true[read].mean()) - float(true.mean())) <= half
    assert covered >= 0.95 * ROUNDS
    assert naive < 0.8 * ROUNDS
