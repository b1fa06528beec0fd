"""Methods of aggregation: by hand, against crowd-kit, and on crowds whose truth is known."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from labeling.truth.answers import Answers, from_rows
from labeling.truth.borrowed import frame, glad, mace
from labeling.truth.codes import joined, posteriors
from labeling.truth.dawid_skene import dawid_skene, one_coin
from labeling.truth.joint.choice import chosen, hidden_answers
from labeling.truth.joint.fit import Assumptions, fitted, joint
from labeling.truth.joint.items import Form, Items, learned_items
from labeling.truth.joint.model_prior import model_prior
from labeling.truth.methods import METHODS
from labeling.truth.posterior import Posterior
from labeling.truth.simulated import CrowdPlan, Simulated, simulated
from labeling.truth.study import auroc
from labeling.truth.voting import majority, wawa

CAUTIOUS = Assumptions(float("inf"), form="alike")


def accuracy(posterior: Posterior, crowd: Simulated) -> float:
    noise = np.random.default_rng(0).random(posterior.probabilities.shape) * 1e-9
    return float(((posterior.probabilities + noise).argmax(axis=1) == crowd.truth).mean())


def test_majority_by_hand() -> None:
    answers = from_rows([("t1", "a", "y"), ("t1", "b", "y"), ("t1", "c", "n"), ("t2", "a", "n")])
    found = majority(answers)
    assert found.probabilities.tolist() == pytest.approx(np.array([[1 / 3, 2 / 3], [1, 0]]))
    assert found.skills is not None
    assert found.skills.tolist() == [1, 1, 0]


def test_wawa_by_hand() -> None:
    """a agrees twice of two: 2.5 / 3; b once of one: 1.5 / 2; c none of one: 0.5 / 2."""
    answers = from_rows([("t1", "a", "y"), ("t1", "b", "y"), ("t1", "c", "n"), ("t2", "a", "n")])
    found = wawa(answers)
    assert found.skills is not None
    assert found.skills.tolist() == pytest.approx([2.5 / 3, 0.75, 0.25])
    assert found.probabilities[0, 0] == pytest.approx(0.25 / (0.25 + 0.75 + 2.5 / 3))


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("ours", [dawid_skene, one_coin])
def test_the_same_posterior_as_crowd_kit(ours: object, n_labels: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from crowdkit import aggregation

        crowd = simulated(CrowdPlan(n_tasks=400, n_workers=25, n_labels=n_labels, skill=0.65, spread=6))
        theirs = {dawid_skene: aggregation.DawidSkene, one_coin: aggregation.OneCoinDawidSkene}[ours]().fit(
            frame(crowd.answers)
        )
    found = ours(crowd.answers)  # type: ignore[operator]
    expected = theirs.probas_.loc[range(400), range(n_labels)].to_numpy()
    assert np.abs(found.probabilities - expected).max() < 1e-9
    assert found.iterations == len(theirs.loss_history_)


def test_one_coin_finds_skills() -> None:
    crowd = simulated(CrowdPlan(n_tasks=3000, n_workers=20, n_labels=3, per_task=6, skill=0.7, spread=8))
    found = one_coin(crowd.answers)
    assert found.skills is not None
    assert np.abs(found.skills - crowd.skills).max() < 0.06


def test_dawid_skene_reads_a_worker_who_swaps_the_labels() -> None:
    """Nine honest people of skill 0.9 and one who always says the opposite: his no counts as a yes."""
    random = np.random.default_rng(3)
    truth = random.integers(0, 2, 300)
    rows = []
    for task, right in enumerate(truth):
        for worker in range(9):
            said = right if random.random() < 0.9 else 1 - right
            rows.append((f"t{task}", f"w{worker}", "ny"[said]))
        rows.append((f"t{task}", "liar", "ny"[1 - right]))
    found = dawid_skene(from_rows(rows, labels=("n", "y")))
    assert found.confusion is not None
    assert found.confusion[9] == pytest.approx(np.array([[0, 1], [1, 0]]), abs=0.02)
    assert (found.winners == truth).mean() > 0.99


PLANS = {
    "one answer": CrowdPlan(per_task=1),
    "two answers": CrowdPlan(per_task=2),
    "three answers": CrowdPlan(per_task=3),
    "three labels": CrowdPlan(per_task=3, n_labels=3),
    "twelve labels": CrowdPlan(per_task=3, n_labels=12, n_tasks=500),
    "rare": CrowdPlan(per_task=3, first_label=0.95, skill=0.85),
    "spam": CrowdPlan(per_task=5, spammers=0.2),
    "collusion": CrowdPlan(per_task=5, n_labels=3, colluders=0.1),
    "sharp": CrowdPlan(per_task=3, skill=0.95),
}


@pytest.mark.parametrize("name", PLANS)
def test_joint_is_never_clearly_worse_than_majority(name: str) -> None:
    gains, losses = [], []
    for seed in range(2):
        crowd = simulated(CrowdPlan(**{**PLANS[name].__dict__, "seed": 20 + seed}))
        gains.append(accuracy(joint(crowd.answers), crowd))
        losses.append(accuracy(majority(crowd.answers), crowd))
    assert np.mean(gains) >= np.mean(losses) - 0.005


def test_joint_reaches_dawid_skene_where_answers_are_many() -> None:
    crowd = simulated(CrowdPlan(n_tasks=2000, n_workers=30, per_task=7, skill=0.65, spread=4, seed=4))
    found, plain = accuracy(joint(crowd.answers), crowd), accuracy(majority(crowd.answers), crowd)
    assert found >= accuracy(dawid_skene(crowd.answers), crowd) - 0.01
    assert found > plain + 0.05


def test_joint_finds_spammers_and_pays_little_for_them() -> None:
    """Little against the bound of one who knows every skill."""
    crowd = simulated(CrowdPlan(per_task=5, n_labels=3, spammers=0.2, n_tasks=1500, seed=5))
    found = joint(crowd.answers)
    assert found.skills is not None
    spam = np.array([kind == "spammer" for kind in crowd.kinds])
    assert auroc(-found.skills, spam) >= 0.95
    assert accuracy(found, crowd) >= known_skills(crowd) - 0.01


def known_skills(crowd: Simulated) -> float:
    answers = crowd.answers
    odds = np.log(crowd.skills / (1 - crowd.skills) * (len(answers.labels) - 1))
    votes = np.zeros((len(answers.tasks), len(answers.labels)))
    np.add.at(votes, (answers.task, answers.label), odds[answers.worker])
    return float((votes.argmax(axis=1) == crowd.truth).mean())


def model_of(truth: NDArray[np.int64], n_labels: int, sharpness: float, seed: int) -> NDArray[np.float64]:
    """Calibrated by construction: the posterior of one noisy look at the truth."""
    random = np.random.default_rng(seed)
    look = random.normal(size=(len(truth), n_labels))
    look[np.arange(len(truth)), truth] += sharpness
    shares = np.exp(sharpness * look)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), float)


def test_a_models_opinion_helps_and_is_trusted_as_it_deserves() -> None:
    crowd = simulated(CrowdPlan(per_task=3, n_labels=3, skill=0.7, n_tasks=1500, seed=6))
    said = model_of(crowd.truth, 3, 1.5, 7)
    alone = Posterior(said, said)
    people = fitted(crowd.answers, None, CAUTIOUS).posterior()
    both = fitted(crowd.answers, said, CAUTIOUS)
    assert accuracy(both.posterior(), crowd) > max(accuracy(alone, crowd), accuracy(people, crowd)) + 0.02
    assert both.prior is not None
    assert both.prior.trust == pytest.approx(1.0, abs=0.25)


def test_a_model_that_knows_nothing_does_no_harm() -> None:
    crowd = simulated(CrowdPlan(per_task=3, n_labels=3, skill=0.7, n_tasks=1500, seed=6))
    junk = model_of(np.random.default_rng(1).integers(0, 3, 1500), 3, 1.5, 8)
    fit = fitted(crowd.answers, junk, CAUTIOUS)
    assert fit.prior is not None
    assert fit.prior.trust < 0.15
    people = fitted(crowd.answers, None, CAUTIOUS).posterior()
    assert accuracy(fit.posterior(), crowd) >= accuracy(people, crowd) - 0.01


def test_a_silent_model_leaves_its_tasks_as_they_are() -> None:
    crowd = simulated(CrowdPlan(per_task=3, n_tasks=300))
    silent = np.full((300, 2), np.nan)
    with_silence = fitted(crowd.answers, silent, CAUTIOUS).posterior()
    without = fitted(crowd.answers, None, CAUTIOUS).posterior()
    assert with_silence.probabilities == pytest.approx(without.probabilities, abs=1e-9)
    assert model_prior(np.array([[0.9, 0.1], [np.nan, np.nan]])).speaks.tolist() == [1, 0]


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("n_labels", [1, 2, 5, 12])
def test_the_true_label_leads_in_every_component(form: Form, n_labels: int) -> None:
    votes = np.random.default_rng(0).multinomial(3, np.full(n_labels, 1 / n_labels), 200).astype(float)
    items, member = learned_items(votes, form)
    right = items.shares[np.arange(len(items.truth)), items.truth]
    assert (right >= items.shares.max(axis=1) - 1e-9).all()
    assert items.shares.sum(axis=1) == pytest.approx(np.ones(len(right)))
    assert member.sum(axis=1) == pytest.approx(np.ones(200))
    assert items.verdicts.sum(axis=1) == pytest.approx(np.ones(len(right)))


def test_a_moot_item_is_what_a_jury_may_say() -> None:
    """Of 25 people at .5 and .5 either side leads as often; at .9 to .1 the first does all but always.
    Where items are alike the truth is the component's, however little people agree."""
    shares = np.array([[0.5, 0.5], [0.9, 0.1]])
    moot_items = Items(shares, np.array([0, 0]), np.array([0.5, 0.5]), "levels")
    assert moot_items.verdicts[0] == pytest.approx([0.5, 0.5], abs=0.03)
    assert moot_items.verdicts[1, 0] > 0.999
    assert replace(moot_items, form="alike").verdicts[:, 0].tolist() == [1, 1]


def test_people_who_err_towards_one_label_are_told_from_those_who_err_anywhere() -> None:
    """Items that people take for one of two labels, never for the third, foretell themselves best so."""
    random = np.random.default_rng(5)
    rows = []
    for item in range(900):
        pair = random.permutation(3)[:2]
        given = pair[(random.random(7) < random.uniform(0, 0.48)).astype(int)]
        rows += [(f"t{item}", f"w{number}", f"l{label}") for number, label in enumerate(given)]
    assert chosen(from_rows(rows)).form == "rivals"


def test_expected_answers_are_those_of_the_crowd_and_not_of_the_truth() -> None:
    """The share of right answers is 0.75 everywhere: sure of the truth is not sure of the next answer."""
    crowd = simulated(CrowdPlan(per_task=9, skill=0.75, spread=1000, n_tasks=1500))
    found = fitted(crowd.answers, None, CAUTIOUS).posterior()
    sure = found.confidence > 0.99
    assert sure.mean() > 0.3
    assert found.expected[sure].max(axis=1).mean() == pytest.approx(0.75, abs=0.03)


def test_hidden_answers_leave_every_task_one() -> None:
    crowd = simulated(CrowdPlan(per_task=2, n_tasks=200))
    hidden = hidden_answers(crowd.answers, seed=1)
    left = crowd.answers.where(~hidden).n_labelers
    assert 60 < hidden.sum() < 140
    assert set(left.tolist()) == {1, 2}
    assert not hidden_answers(simulated(CrowdPlan(per_task=1)).answers, seed=1).any()


def test_levels_are_chosen_by_the_crowd() -> None:
    tasks_have_answers = simulated(CrowdPlan(n_tasks=4000, n_labels=3, per_task=5, skill=0.8))
    assert chosen(tasks_have_answers.answers).form == "alike"
    assert chosen(moot(600, 8)).form != "alike"


def moot(n_tasks: int, per_task: int) -> Answers:
    """Half of the items are plain, half are a matter of taste; all people are alike."""
    random = np.random.default_rng(2)
    rows = []
    for task in range(n_tasks):
        share = (0.02, 0.4, 0.6, 0.98)[task % 4]
        people = random.choice(40, per_task, replace=False)
        rows += [(f"t{task}", f"w{worker}", "ny"[int(random.random() < share)]) for worker in people]
    return from_rows(rows, labels=("n", "y"))


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_no_name_and_no_order_matters(seed: int) -> None:
    crowd = simulated(CrowdPlan(n_tasks=60, n_workers=12, n_labels=3, per_task=3, seed=seed))
    answers, random = crowd.answers, np.random.default_rng(seed)
    tasks, labels, rows = random.permutation(60), random.permutation(3), random.permutation(len(answers))
    moved = Answers(
        tasks[answers.task[rows]].astype(np.int32),
        answers.worker[rows],
        labels[answers.label[rows]].astype(np.int32),
        answers.tasks,
        answers.workers,
        answers.labels,
    )
    for method in (majority, wawa, dawid_skene, one_coin, lambda a: fitted(a, None, CAUTIOUS).posterior()):
        first, second = method(answers).probabilities, method(moved).probabilities
        assert second[np.ix_(tasks, labels)] == pytest.approx(first, abs=1e-6)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "glad"])
def test_every_method_gives_distributions(method: str) -> None:
    crowd = simulated(CrowdPlan(n_tasks=80, n_workers=10, n_labels=3, per_task=2))
    found = METHODS[method](crowd.answers)
    assert found.probabilities.shape == (80, 3)
    assert found.probabilities.sum(axis=1) == pytest.approx(np.ones(80))
    assert found.expected.sum(axis=1) == pytest.approx(np.ones(80))
    assert found.skills is not None
    assert ((found.skills >= 0) & (found.skills <= 1)).all()
    assert accuracy(found, crowd) > 0.6


@pytest.mark.parametrize("method", [mace, glad])
def test_borrowed_methods_keep_our_numbers(method: object) -> None:
    """Workers and tasks appear in an order of their own in the file; the bad worker must stay the bad one."""
    crowd = simulated(CrowdPlan(n_tasks=60, n_workers=8, per_task=4, skill=0.9, spammers=0.125, seed=1))
    found = method(crowd.answers)  # type: ignore[operator]
    assert found.skills.argmin() == 0
    assert accuracy(found, crowd) > 0.85


def test_shared_workers_teach_each_other_codes() -> None:
    """Code A tells who is good; code B has too few answers to learn it, and wins by sharing."""
    many = simulated(CrowdPlan(n_tasks=1000, n_workers=20, per_task=5, skill=0.65, spread=2, seed=1))
    random = np.random.default_rng(5)
    truth = random.integers(0, 2, 120)
    task = np.repeat(np.arange(120), 3).astype(np.int32)
    worker = np.concatenate([random.choice(20, 3, replace=False) for _ in range(120)]).astype(np.int32)
    right = random.random(360) < many.skills[worker]
    label = np.where(right, truth[task], 1 - truth[task]).astype(np.int32)
    few = Answers(task, worker, label, tuple(map(str, range(120))), many.answers.workers, many.answers.labels)
    tables = {"A": many.answers, "B": few}
    assert len(joined(tables)) == len(many.answers) + 360
    apart, together = posteriors(tables, "dawid-skene"), posteriors(tables, "dawid-skene", shared=True)
    assert (together["B"].winners == truth).mean() > (apart["B"].winners == truth).mean() + 0.03
    assert together["A"].probabilities.shape == (1000, 2)
