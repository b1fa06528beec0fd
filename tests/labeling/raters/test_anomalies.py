"""Blind answers, pace, and the tests behind every flag."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from answer_tables import AnomalousCrowdPlan, auroc, from_rows, simulate_anomalous_crowd
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.posterior import softmax
from dialint.labeling.raters.anomalies import CrowdAnomalies, find_anomalies, measure_response_times
from dialint.labeling.raters.competence import estimate_competence, leave_one_out


def flagged(anomalies: CrowdAnomalies, *kinds: str) -> set[str]:
    return {name for flag in anomalies.flags if flag.kind in kinds for name in flag.workers}


def test_an_answer_taken_out_leaves_what_the_rest_say() -> None:
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=40, n_workers=12, per_task=4, seed=1))
    fit, answers = leave_one_out(crowd.answers, "heterogeneous"), crowd.answers
    row = 17
    rest = np.flatnonzero((answers.task == answers.task[row]) & (np.arange(len(answers)) != row))
    logs = fit.logs[answers.worker[rest], answers.label[rest]].sum(axis=0)
    expected = softmax((logs + np.log(fit.fit.workers.items.weights))[None])[0]
    assert fit.component_posterior(np.array([row]))[0] == pytest.approx(expected[0])
    assert fit.truth[row] == pytest.approx(expected[0] @ fit.label_probabilities)
    assert fit.expected.sum(axis=1) == pytest.approx(np.ones(len(answers)))


def test_the_spread_under_blindness_is_that_of_all_ways_to_deal() -> None:
    """One worker with seven answers of three labels: every deal of the answers, tried."""
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=30, n_workers=12, per_task=3, seed=4))
    fit, worker = leave_one_out(crowd.answers, "homogeneous"), 3
    rows = np.flatnonzero(crowd.answers.worker == worker)[:7]
    labels, expected = crowd.answers.label[rows].tolist(), fit.expected[rows]
    assert len(set(labels)) == 3
    assert len(rows) == 7
    alone = replace(fit, answers=crowd.answers.where(np.isin(np.arange(len(crowd.answers)), rows)))
    alone.__dict__["expected"] = expected  # what the cached property would work out of all answers
    centred = expected - expected.mean(axis=0)
    variation = float((centred**2).sum())
    dealt = [sum(centred[i, x] for i, x in enumerate(deal)) for deal in permutations(labels)]
    knows = estimate_competence([alone])
    assert knows.slope[worker] == pytest.approx(dealt[0] / variation)
    assert knows.spread[worker] == pytest.approx(np.std(dealt) / variation)
    assert np.isnan(knows.slope[worker - 1])


@pytest.mark.parametrize("spam", ["random", "one answer", "like the crowd"])
def test_spammers_are_told_from_honest_people(spam: str) -> None:
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=1500, spammers=0.2, spam=spam, seed=11))  # type: ignore[arg-type]
    anomalies = find_anomalies({"": crowd.answers})
    assert auroc(anomalies.competence.log_odds, crowd.spammer) >= 0.98
    names = flagged(anomalies, "no knowledge", "one answer")
    spammers = {name for name, is_one in zip(anomalies.workers, crowd.spammer, strict=True) if is_one}
    assert len(names & spammers) >= 8
    assert len(names - spammers) <= 1


def test_an_honest_crowd_is_left_alone() -> None:
    crowd = simulate_anomalous_crowd(
        AnomalousCrowdPlan(n_tasks=1500, n_labels=2, first_label=0.9, skill=0.9, seed=12)
    )
    assert flagged(find_anomalies({"": crowd.answers}), "no knowledge", "one answer", "contrary") == set()


def test_saying_no_where_errors_are_rare_is_no_offence_until_it_is_unlikely() -> None:
    """Errors in 3 of 100 items: 30 times no is what anybody would say; 3,000 times is not."""
    few = simulate_anomalous_crowd(
        AnomalousCrowdPlan(n_tasks=300, n_labels=2, first_label=0.97, skill=0.97, difficulty=0, seed=1)
    )
    quiet = [w for w in range(50) if (few.answers.label[few.answers.worker == w] == 0).all()]
    anomalies = find_anomalies({"": few.answers})
    assert quiet
    assert (anomalies.competence.no_knowledge[quiet] < 0.5).all()
    many = simulate_anomalous_crowd(
        AnomalousCrowdPlan(30_000, n_labels=2, first_label=0.97, skill=0.97, difficulty=0)
    ).answers
    mute = replace(many, label=np.where(many.worker == 0, 0, many.label).astype(np.int32))
    assert flagged(find_anomalies({"": mute}), "one answer") == {"w0"}


def test_who_has_the_labels_the_wrong_way_round_is_contrary_and_not_blind() -> None:
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=1500, n_labels=2, skill=0.9, seed=5))
    answers = crowd.answers
    swapped = np.where(answers.worker == 7, 1 - answers.label, answers.label).astype(np.int32)
    anomalies = find_anomalies({"": replace(answers, label=swapped)})
    assert flagged(anomalies, "contrary") == {"w7"}
    assert anomalies.competence.slope[7] < -0.5


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0.5, 50)), min_size=1, max_size=40))
def test_medians_are_those_of_numpy(rows: list[tuple[int, float]]) -> None:
    worker, seconds = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    answers = Answers(
        np.arange(len(rows), dtype=np.int32), worker.astype(np.int32), np.zeros(len(rows), np.int32),
        tuple(map(str, range(len(rows)))), tuple("abcdef"), ("x",), seconds,
    )  # fmt: skip
    times = measure_response_times(answers)
    for place in range(6):
        mine = seconds[worker == place]
        if len(mine):
            assert np.log(times.median[place]) == pytest.approx(np.median(np.log(mine)))
        else:
            assert np.isnan(times.median[place])


def test_clicking_is_told_from_reading_and_short_items_are_no_offence() -> None:
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=1000, spammers=0.2, seed=8))
    anomalies = find_anomalies({"": crowd.answers}, sizes=crowd.sizes)
    assert flagged(anomalies, "too fast") == {f"w{n}" for n in range(10)}
    assert 0.3 < anomalies.response_times.slope < 0.7
    honest = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=1000, seed=9))
    assert len(flagged(find_anomalies({"": honest.answers}, sizes=honest.sizes), "too fast")) <= 1


def test_the_quickest_of_a_crowd_of_equals_is_no_cheat() -> None:
    """Nine people at 20 seconds and one at 9, all within a tenth: another one at 1 second is."""
    random = np.random.default_rng(0)
    typical = {f"w{n}": 20.0 for n in range(9)} | {"quick": 9.0, "racer": 1.0}
    rows = [(f"t{n}", who, "x") for n in range(30) for who in typical]
    seconds = np.array([typical[who] for _, who, _ in rows]) * np.exp(random.normal(0, 0.1, len(rows)))
    times = measure_response_times(replace(from_rows(rows), seconds=seconds))
    assert times.p_value[list(typical).index("racer")] < 1e-9
    assert times.p_value[list(typical).index("quick")] > 0.05


def test_too_few_people_or_no_seconds_say_nothing_of_pace() -> None:
    answers = replace(
        from_rows([(f"t{n}", w, "x") for n in range(20) for w in ("a", "b")]), seconds=np.full(40, 0.01)
    )
    assert measure_response_times(answers).p_value.tolist() == [1, 1]
    silent = from_rows([("t", "a", "x")])
    assert measure_response_times(silent).n.tolist() == [0]


ROW = st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 2))


@settings(max_examples=20)
@given(st.lists(ROW, min_size=1, max_size=25, unique_by=lambda row: row[:2]))
def test_any_table_can_be_watched(rows: list[tuple[int, int, int]]) -> None:
    answers = from_rows([(f"t{t}", f"w{w}", f"l{x}") for t, w, x in rows])
    anomalies = find_anomalies({"": answers})
    assert ((anomalies.competence.no_knowledge >= 0) & (anomalies.competence.no_knowledge <= 1)).all()
    assert anomalies.competence.n.sum() == len(answers)
