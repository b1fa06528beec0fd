"""What a follower holds, against a fresh fit of the same answers.

Tolerance, over streams of single answers between two refits: the probabilities of touched tasks are on
average within 0.03 of the fresh ones; at least 94 % of the decisions are the same, and those that differ are
on tasks whose fresh confidence is within 0.05 of `sure`, but for 1 in 200. Both fits assume the same: two
fresh runs that do not are no nearer to each other than either is to the follower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dialint.detector.records import Finding
from dialint.labeling.aggregation import question_posteriors as module
from dialint.labeling.aggregation.adaptive_overlap import task_statuses
from dialint.labeling.aggregation.dialogue_answers import DialogueContext, collect_answers
from dialint.labeling.aggregation.joint import fit_joint
from dialint.labeling.aggregation.overlap import OverlapRule
from dialint.labeling.aggregation.question_posteriors import RunningPosteriors, question_posteriors
from dialint.labeling.annotation import Annotation
from dialint.labeling.simulation.answer_tables import CrowdPlan, SimulatedCrowd, simulate_crowd

NOBODY: frozenset[str] = frozenset()


def said(
    who: str, dialogue: str, *found: tuple[str, int], codes: Sequence[str] = ("C1",), **more: Any
) -> Annotation:
    findings = tuple(
        Finding(code=code, turn=turn, severity="S3", probability=1.0, quote="w", start=0, end=1, reason="")
        for code, turn in found
    )
    given = {"id": "0", "labeler": who, "dialogue_id": dialogue, "kind": "crowd", **more}
    return Annotation(codes=tuple(codes), findings=findings, **given)


def known(_: str) -> DialogueContext:
    return DialogueContext((1,), None)


def stream(crowd: SimulatedCrowd, seed: int) -> list[Annotation]:
    """One answer after the other, in a random order; label 1 is a finding."""
    table = crowd.answers
    rows = [
        said(table.workers[w], table.tasks[t], *([("C1", 1)] if yes else []))
        for t, w, yes in zip(table.task, table.worker, table.label, strict=True)
    ]
    return [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]


def as_fresh(running: RunningPosteriors) -> dict[str, float]:
    """The probability of each dialogue's question, were all fitted anew now as `running` assumes."""
    table = running.answers.tables()["C1"]
    fit = fit_joint(table, running.answers.model_probabilities("C1"), running.assumptions["C1"][0])
    names = (item.dialogue for item in running.answers.codes["C1"].votes)
    return dict(zip(names, fit.posterior().probabilities[:, 1].tolist(), strict=True))


@pytest.mark.parametrize("with_model", [pytest.param(False, marks=pytest.mark.slow), True])
def test_as_a_fresh_fit_would_say(with_model: bool) -> None:
    rule, apart, differ, far = OverlapRule(2, 5, 0.9), [], 0, 0
    for seed in range(3):
        crowd = simulate_crowd(
            CrowdPlan(500, 25, skill=0.8, spread=10, spammers=0.1, first_label=0.7, seed=seed)
        )
        right = np.random.default_rng(seed).beta(4, 1.5, len(crowd.truth))
        model = {
            f"t{n}": {1: {"C1": float(p)}} for n, p in enumerate(np.where(crowd.truth, right, 1 - right))
        }
        of = {name: DialogueContext((1,), model[name] if with_model else None) for name in model}
        rows, touched = stream(crowd, seed), set[str]()
        running = RunningPosteriors(collect_answers(rows[:1200], of.__getitem__, NOBODY), NOBODY)
        for place, one in enumerate(rows[1200:1700]):
            changed = running.add([one], of.__getitem__)
            touched = set() if changed is None else touched | changed
            if place % 50 != 40:
                continue
            fresh = as_fresh(running)
            for held in running.posteriors(touched):
                confidence = max(fresh[held.dialogue], 1 - fresh[held.dialogue])
                same = rule.decide(held.confidence, held.n_labelers) is rule.decide(
                    confidence, held.n_labelers
                )
                apart.append(abs(held.probability - fresh[held.dialogue]))
                differ += not same
                far += not same and abs(confidence - rule.sure) > 0.05
    print(
        f"\n{len(apart)} decisions, {differ} differ, {far} far; {np.mean(apart):.4f} apart, at most {max(apart):.3f}"
    )
    assert len(apart) > 300
    assert np.mean(apart) < 0.03
    assert differ <= 0.06 * len(apart)
    assert far <= len(apart) / 200


def test_it_is_fitted_anew_when_answers_grew_and_chosen_anew_when_they_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = stream(simulate_crowd(CrowdPlan(60, 12)), 0)
    running = RunningPosteriors(collect_answers(rows[:100], known, NOBODY), NOBODY)
    assert [running.add([one], known) is None for one in rows[100:106]] == [False] * 5 + [True]
    assert running.assumptions["C1"][1] == 100
    assert running.add(rows[106:200], known) is None
    assert running.assumptions["C1"][1] == 200
    held = {one.dialogue: one.probability for one in running.posteriors()}
    assert held == pytest.approx(
        {
            one.dialogue: one.probability
            for one in question_posteriors(collect_answers(rows[:200], known, NOBODY))
        }
    )


def test_it_may_begin_with_nothing_and_meets_new_codes() -> None:
    running = RunningPosteriors(collect_answers([], known, NOBODY), NOBODY)
    assert list(running.posteriors()) == []
    assert running.add([], known) == NOBODY
    assert running.add([said("ann", "d1", ("C1", 1))], known) is None
    assert running.add([said("ben", "d1", codes=("T1",))], known) is None
    assert {one.code: (one.n_yes, one.n_labelers) for one in running.posteriors()} == {
        "C1": (1, 1),
        "T1": (0, 1),
    }


def test_a_correction_takes_the_place_of_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the same end as if it had been said at once, and twice the same changes no vote."""
    monkeypatch.setattr(module, "GROWTH", 10.0)
    rows = stream(simulate_crowd(CrowdPlan(200, 15, skill=0.85)), 0)
    kept = next(place for place in range(950, 1000) if not rows[place].findings)
    ends = []
    for first in (rows[kept], said(rows[kept].labeler, rows[kept].dialogue_id, ("C1", 1))):
        running = RunningPosteriors(collect_answers(rows[:900], known, NOBODY), NOBODY)
        running.add([*rows[900:kept], *rows[kept + 1 :], first], known)
        assert running.add([rows[kept]], known) == {rows[kept].dialogue_id}
        ends.append(next(running.posteriors([rows[kept].dialogue_id])))
    assert ends[0].n_labelers == ends[1].n_labelers == 5
    assert ends[0].n_yes == ends[1].n_yes
    assert ends[0].probability == pytest.approx(ends[1].probability, abs=0.005)


def test_who_always_answers_no_decides_nothing() -> None:
    """Neither in a whole fit nor when his answer comes afterwards, and no task is sure by him and one other."""
    random = np.random.default_rng(1)
    people = [f"w{n}" for n in range(6)]
    rows = [
        said(who, f"d{n}", *([("C1", 1)] if n % 4 == 0 and random.random() < 0.9 else []))
        for n in range(60)
        for who in random.choice(people, 2, replace=False)
    ]
    constant = [said("never", f"d{n}") for n in range(60)]
    without = {one.dialogue: one for one in question_posteriors(collect_answers(rows, known, NOBODY))}
    answers = collect_answers([*rows, *constant], known, NOBODY)
    running = RunningPosteriors(answers, NOBODY)
    for found in (question_posteriors(answers), running.posteriors()):
        for one in found:
            assert one.probability == pytest.approx(without[one.dialogue].probability, abs=0.02)
            assert (one.n_labelers, one.n_independent) == (3, 2)
    before = {one.dialogue: one.probability for one in running.posteriors()}
    running.add([said("w0", "late", ("C1", 1)), said("never", "late"), said("never", "d0")], known)
    (late,) = running.posteriors({"late"})
    assert late.probability > 0.5
    assert not task_statuses([late], OverlapRule(2, 5, 0.9))["late", 1].independent
    assert [one.probability for one in running.posteriors({"d0"})] == pytest.approx([before["d0"]], abs=0.01)


def test_a_task_is_as_sure_as_its_least_sure_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two turns, a code of turns and one of the whole dialogue; people disagree on one of them at a time."""
    monkeypatch.setattr(module, "GROWTH", 10.0)
    of = lambda _: DialogueContext((1, 3), None)  # noqa: E731
    asked = {"codes": ("C1", "P1")}
    rows = [said(who, f"d{n}", **asked) for n in range(40) for who in ("ann", "ben")]
    running = RunningPosteriors(collect_answers(rows, of, frozenset({"P1"})), frozenset({"P1"}))
    running.add(
        [
            said("ann", "x", ("C1", 3), **asked), said("ben", "x", **asked),
            said("ann", "y", ("P1", 1), **asked), said("ben", "y", **asked),
            said("ann", "z", **asked), said("ben", "z", **asked),
        ],
        of,
    )  # fmt: skip
    found = task_statuses(running.posteriors(["x", "y", "z"]), OverlapRule())
    sure = {key: one.confidence for key, one in found.items()}
    assert sure["x", None] == sure["x", 3] < 0.95 < sure["x", 1]
    assert sure["y", None] == sure["y", 1] < 0.95 < sure["y", 3]
    assert sure["z", None] == min(sure["z", 1], sure["z", 3]) > 0.95


def test_once_the_verdict_was_seen_the_model_is_heard_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROWTH", 10.0)
    told = {f"d{n}": DialogueContext((1,), {1: {"C1": 0.9 if n % 2 else 0.1}}) for n in range(60)}
    found = [("C1", 1)]
    rows = [said(who, f"d{n}", *(found if n % 2 else [])) for n in range(50) for who in ("ann", "ben")]
    running = RunningPosteriors(collect_answers(rows, told.__getitem__, NOBODY), NOBODY)
    running.add([said("ann", "d51"), said("ann", "d53")], told.__getitem__)
    running.add([said("cem", "d51"), said("cem", "d53", seen_verdict=True)], told.__getitem__)
    heard, not_heard = running.posteriors(["d51", "d53"])
    assert (heard.model, not_heard.model) == (0.9, None)
    assert heard.probability > 10 * not_heard.probability


def test_it_can_be_ended_between_two_codes() -> None:
    rows = [said("ann", "d1", codes=("C1", "T1", "M1"))]
    calls = iter((None, None))
    with pytest.raises(StopIteration):
        RunningPosteriors(collect_answers(rows, known, NOBODY), NOBODY, lambda: next(calls))
