"""Methods of aggregation: by hand, against crowd-kit, and on crowds whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from answer_tables import CrowdPlan, SimulatedCrowd, from_rows, simulate_crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.joint import (
    confusion_posterior,
    fit_joint,
    joint_posterior,
    select_form,
    select_items,
)
from dialint.labeling.aggregation.joint_items import (
    Form,
    ModelUse,
    centred_model_logs,
    fit_items,
    jury_probabilities,
    jury_votes,
)
from dialint.labeling.aggregation.methods import aggregate_answers, dawid_skene, glad, majority, one_coin
from dialint.labeling.aggregation.posterior import Posterior


def accuracy(posterior: Posterior, crowd: SimulatedCrowd) -> float:
    noise = np.random.default_rng(0).random(posterior.probabilities.shape) * 1e-9
    return float(((posterior.probabilities + noise).argmax(axis=1) == crowd.truth).mean())


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


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_joint_is_never_clearly_worse_than_majority(name: str) -> None:
    gains, losses = [], []
    for seed in range(2):
        crowd = simulate_crowd(CrowdPlan(**{**PLANS[name].__dict__, "seed": 20 + seed}))
        gains.append(accuracy(joint_posterior(crowd.answers), crowd))
        losses.append(accuracy(majority(crowd.answers), crowd))
    assert np.mean(gains) >= np.mean(losses) - 0.005


def with_constant_worker(label: int, seed: int, first_label: float = 0.93) -> tuple[SimulatedCrowd, Answers]:
    """A crowd of eight people with a rare label, one of whom always gives one `label`; and the answers of the
    others."""
    plan = CrowdPlan(400, 8, per_task=3, skill=0.94, spread=60, first_label=first_label, seed=seed)
    crowd = simulate_crowd(plan)
    is_constant = crowd.answers.worker == 7
    labels = np.where(is_constant, label, crowd.answers.label).astype(np.int32)
    return replace(crowd, answers=replace(crowd.answers, label=labels)), crowd.answers.where(~is_constant)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("method", ["joint", "one-coin"])
def test_a_worker_who_always_gives_one_label_says_nothing(method: str, label: int) -> None:
    crowd, others = with_constant_worker(label, seed=3)
    assert np.flatnonzero(crowd.answers.constant_workers()).tolist() == [7]
    posterior, without = aggregate_answers(crowd.answers, method), aggregate_answers(others, method)
    assert posterior.probabilities == pytest.approx(without.probabilities, abs=1e-6)


@pytest.mark.parametrize("method", ["joint", "dawid-skene"])
def test_two_who_find_an_error_are_not_overruled_by_one_who_never_does(method: str) -> None:
    for seed in range(3):
        crowd, others = with_constant_worker(0, seed)
        both = (others.votes()[:, 1] == 2) & (others.n_labelers == 2) & (crowd.answers.n_labelers == 3)
        assert both.any()
        posterior = aggregate_answers(crowd.answers, method)
        assert (posterior.probabilities[both].argmax(axis=1) == 1).all()
        assert accuracy(posterior, crowd) >= accuracy(majority(crowd.answers), crowd) - 0.01


def test_people_who_rarely_see_an_error_are_not_taken_for_constant() -> None:
    flagged, workers = 0, 0
    for seed in range(5):
        plans = [*PLANS.values(), CrowdPlan(300, 60, per_task=3, first_label=0.97, skill=0.95)]
        for plan in plans:
            crowd = simulate_crowd(replace(plan, seed=seed))
            flagged += int(crowd.answers.constant_workers().sum())
            workers += len(crowd.answers.workers)
    assert flagged <= 0.002 * workers
    everybody = from_rows(
        [(f"t{n}", worker, "no") for n in range(50) for worker in "abc"], labels=("no", "yes")
    )
    assert not everybody.constant_workers().any()


def test_joint_pays_little_for_spammers() -> None:
    """Little against the bound of one who knows every skill."""
    crowd = simulate_crowd(CrowdPlan(per_task=5, n_labels=3, spammers=0.2, n_tasks=1500, seed=5))
    posterior = joint_posterior(crowd.answers)
    assert accuracy(posterior, crowd) >= skilled_accuracy(crowd) - 0.01


def skilled_accuracy(crowd: SimulatedCrowd) -> float:
    answers = crowd.answers
    odds = np.log(crowd.skills / (1 - crowd.skills) * (len(answers.labels) - 1))
    votes = np.zeros((len(answers.tasks), len(answers.labels)))
    np.add.at(votes, (answers.task, answers.label), odds[answers.worker])
    return float((votes.argmax(axis=1) == crowd.truth).mean())


def model_of(truth: NDArray[np.int64], n_labels: int, sharpness: float, seed: int) -> NDArray[np.float64]:
    """Calibrated by construction: the posterior of one noisy look at the truth."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(len(truth), n_labels))
    logits[np.arange(len(truth)), truth] += sharpness
    shares = np.exp(sharpness * logits)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), float)


def test_a_models_opinion_helps_and_is_trusted_as_it_deserves() -> None:
    """A calibrated one is taken as it stands, one that is thrice as sure as it may be is cooled."""
    crowd = simulate_crowd(CrowdPlan(per_task=3, n_labels=3, skill=0.7, n_tasks=1500, seed=6))
    model = model_of(crowd.truth, 3, 1.5, 7)
    alone = Posterior(model, model)
    people, both = fit_joint(crowd.answers).posterior(), joint_posterior(crowd.answers, model)
    assert select_items(crowd.answers, "heterogeneous", model)[1] == "calibrated"
    assert accuracy(both, crowd) > max(accuracy(alone, crowd), accuracy(people, crowd)) + 0.02
    surer = model**3 / (model**3).sum(axis=1, keepdims=True)
    items, use = select_items(crowd.answers, "heterogeneous", surer)
    assert use == "recalibrated"
    assert items.temperature < 0.7
    assert accuracy(joint_posterior(crowd.answers, surer), crowd) > accuracy(both, crowd) - 0.02


def matters_of_taste(seed: int) -> tuple[SimulatedCrowd, NDArray[np.float64]]:
    """Items whose answer shares lie around what a model foretells, five labels, three answers of people who are all
    alike; the truth is the label that most would give."""
    random = np.random.default_rng(seed)
    model = random.dirichlet(np.array([2.0, 1.0, 1.0, 0.5, 0.5]), 400)
    shares = np.array([random.dirichlet(10 * one + 1e-3) for one in model])
    rows = [
        (f"t{task:03}", f"w{worker}", "abcde"[random.choice(5, p=shares[task])])
        for task in range(400)
        for worker in random.choice(19, 3, replace=False)
    ]
    answers = from_rows(rows, labels=tuple("abcde"))
    return SimulatedCrowd(answers, shares.argmax(axis=1), np.ones(19), ("honest",) * 19), model


def test_no_form_alone_is_better_than_the_mean_by_much() -> None:
    """Matters of taste, of which classes are too sure; plain items, of which whoever has no classes is not sure."""
    taste, taste_model = matters_of_taste(seed=0)
    plain = simulate_crowd(CrowdPlan(per_task=3, n_labels=3, skill=0.7, n_tasks=600, seed=6))
    for crowd, model in ((taste, taste_model), (plain, model_of(plain.truth, 3, 1.5, 7))):
        forms: tuple[Form, ...] = ("heterogeneous", "individual")
        alone = [fit_joint(crowd.answers, model, form).posterior() for form in forms]
        alone += [confusion_posterior(crowd.answers, model), Posterior(model, model), majority(crowd.answers)]
        posterior = joint_posterior(crowd.answers, model)
        assert accuracy(posterior, crowd) > max(accuracy(one, crowd) for one in alone) - 0.04
        assert log_loss(posterior, crowd) < min(log_loss(one, crowd) for one in alone) + 0.1
    classes = fit_joint(taste.answers, taste_model).posterior()
    assert accuracy(joint_posterior(taste.answers, taste_model), taste) > accuracy(classes, taste) + 0.02


def log_loss(posterior: Posterior, crowd: SimulatedCrowd) -> float:
    chosen = posterior.probabilities[np.arange(len(crowd.truth)), crowd.truth]
    return float(-np.log(np.maximum(chosen, 1e-3)).mean())


def test_confusion_matrices_hold_gold_and_do_without_a_model_where_there_is_none() -> None:
    crowd = simulate_crowd(CrowdPlan(n_tasks=200, n_workers=10, per_task=3, skill=0.7, seed=4))
    yes = np.where(crowd.truth == 1, 0.8, 0.2)
    model = np.column_stack([1 - yes, yes])
    model[:50] = np.nan
    gold = np.where(np.arange(200) >= 150, crowd.truth, -1)
    posterior = confusion_posterior(crowd.answers, model, gold)
    assert (posterior.probabilities[150:].argmax(axis=1) == crowd.truth[150:]).all()
    assert accuracy(posterior, crowd) > accuracy(confusion_posterior(crowd.answers), crowd) + 0.1
    nothing = confusion_posterior(crowd.answers, np.full((200, 2), np.nan))
    assert nothing.probabilities == pytest.approx(confusion_posterior(crowd.answers).probabilities)


def test_one_answer_that_nobody_shares_makes_no_constant_worker() -> None:
    """A task's three people answer no other, and one of them sees an error: he is heard."""
    rows = [(f"t{n}", f"w{3 * n + k}", "yes" if k == 0 else "no") for n in range(40) for k in range(3)]
    assert not from_rows(rows).constant_workers().any()


@pytest.mark.parametrize("n_tasks", [200, 1500])
def test_a_model_that_knows_nothing_is_not_heard(n_tasks: int) -> None:
    for seed in range(3):
        crowd = simulate_crowd(CrowdPlan(per_task=3, skill=0.8, n_tasks=n_tasks, first_label=0.9, seed=seed))
        junk = model_of(np.random.default_rng(1).integers(0, 2, n_tasks), 2, 1.5, 8)
        assert select_items(crowd.answers, "heterogeneous", junk)[1] == "none"


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("n_labels", [1, 2, 5, 12])
def test_components_are_distributions_and_the_truth_is_the_label_that_leads(
    form: Form, n_labels: int
) -> None:
    votes = np.random.default_rng(0).multinomial(3, np.full(n_labels, 1 / n_labels), 200).astype(float)
    items = fit_items(votes, form)
    leads = items.shares >= items.shares.max(axis=1, keepdims=True) - 1e-9
    assert (leads == (items.label_probabilities > 0)).all()
    tables = (items.shares, items.label_probabilities, items.class_components, items.pooled)
    for rows in (*tables, items.class_rates[None]):
        assert rows.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    model = centred_model_logs(np.random.default_rng(1).dirichlet(np.ones(n_labels), 200))
    for use in get_args(ModelUse):
        items = fit_items(votes, form, use, model)
        assert np.exp(items.component_logs(model, None, 200)).sum(axis=1) == pytest.approx(np.ones(200))


def test_items_lie_as_the_dirichlet_says() -> None:
    """Its mean, and its variance m (1 - m) / (concentration + 1), whatever the jury's size."""
    for n_labels, concentration in ((2, 3.0), (2, 20.0), (3, 4.0)):
        centre = np.array([0.7, 0.3, 0.2])[:n_labels]
        centre = centre / centre.sum()
        votes = jury_votes(n_labels)
        probabilities = jury_probabilities(votes, concentration, centre[None])[0]
        share = votes[:, 0] / votes[0].sum()
        mean = probabilities @ share
        assert mean == pytest.approx(centre[0])
        expected = centre[0] * (1 - centre[0]) / (concentration + 1)
        assert probabilities @ (share - mean) ** 2 == pytest.approx(expected, rel=1e-6)


def test_how_firm_items_are_is_learnt_where_answers_can_tell() -> None:
    """Plain items by five answers, moot ones by eight; by three, both are taken for as plain as before."""
    plain = simulate_crowd(CrowdPlan(n_tasks=4000, per_task=5, skill=0.8)).answers
    assert fit_items(plain.votes(), "heterogeneous").concentration > 60
    assert fit_items(moot(600, 8).votes(), "heterogeneous").concentration < 30
    few = simulate_crowd(CrowdPlan(n_tasks=4000, per_task=3, skill=0.8)).answers
    assert 60 < fit_items(few.votes(), "heterogeneous").concentration < 170


def test_base_rates_are_those_of_the_truth() -> None:
    """Errors in one task of three, of ten and of fifty, three answers a task: none is swallowed."""
    for share in (0.32, 0.1, 0.02):
        crowd = simulate_crowd(
            CrowdPlan(n_tasks=5000, n_workers=100, per_task=3, skill=0.9, first_label=1 - share)
        )
        items = fit_items(crowd.answers.votes(), "heterogeneous")
        assert items.class_rates[1] == pytest.approx(share, abs=0.012)


@pytest.mark.parametrize("seed", range(2))
def test_rare_errors_of_a_clean_crowd_are_found(seed: int) -> None:
    """The case of the issue: one error in ten tasks, 5,000 tasks, three answers of people who are right in nine
    of ten, so that two of three who find one are as often wrong as right. Majority has F1 .86 to .88; the method
    of before had .59."""
    crowd = simulate_crowd(
        CrowdPlan(n_tasks=5000, n_workers=100, per_task=3, skill=0.9, spread=1000, first_label=0.9, seed=seed)
    )
    posterior, plain = joint_posterior(crowd.answers), majority(crowd.answers)
    assert accuracy(posterior, crowd) >= accuracy(plain, crowd) - 0.001
    assert f1(posterior, crowd) >= f1(plain, crowd) - 0.05
    assert f1(posterior, crowd) > 0.8


def f1(posterior: Posterior, crowd: SimulatedCrowd) -> float:
    yes, true = posterior.probabilities.argmax(axis=1) == 1, crowd.truth == 1
    return float(2 * (yes & true).sum() / (yes.sum() + true.sum()))


def test_gold_tells_what_is_meant_by_true() -> None:
    """Six in ten people overlook what experts call an error, nobody sees one where there is none. Most people say
    no, so without gold that is the truth; with gold it is not, for tasks without gold either."""
    random = np.random.default_rng(0)
    truth = (random.random(600) < 0.3).astype(np.int64)
    is_yes = random.random((600, 5)) < np.where(truth == 1, 0.4, 0.02)[:, None]
    task, worker = np.indices(is_yes.shape, np.int32)
    answers = Answers(
        task.ravel(), worker.ravel(), is_yes.ravel().astype(np.int32),
        tuple(f"t{n}" for n in range(600)), tuple(f"w{n}" for n in range(5)), ("no", "yes"),
    )  # fmt: skip
    gold = np.where(np.arange(600) < 60, truth, -1)
    assert select_form(answers.votes(), None) == "heterogeneous"
    assert select_form(answers.votes(), gold) == "homogeneous"
    right, without = (
        joint_posterior(answers, gold=labels).probabilities.argmax(axis=1) == truth for labels in (gold, None)
    )
    assert right[:60].all()
    assert right[60:].mean() > without[60:].mean() + 0.05
    plain = simulate_crowd(CrowdPlan(n_tasks=600, per_task=3))
    gold = np.where(np.arange(600) < 60, plain.truth, -1)
    assert select_form(plain.answers.votes(), gold) != "homogeneous"


def test_a_model_is_better_than_people_alone() -> None:
    """It is right in nine of ten, the people in six of ten."""
    crowd = simulate_crowd(CrowdPlan(n_tasks=600, n_workers=20, per_task=3, skill=0.62, spread=200, seed=1))
    random = np.random.default_rng(0)
    yes = np.where((random.random(600) < 0.9) == (crowd.truth == 1), 0.9, 0.1)
    model = np.column_stack([1 - yes, yes])
    model[:10] = np.nan
    posterior = aggregate_answers(crowd.answers, "joint", model)
    assert posterior.probabilities.sum(axis=1) == pytest.approx(np.ones(600))
    assert accuracy(posterior, crowd) > accuracy(joint_posterior(crowd.answers), crowd) + 0.05


def test_expected_answers_are_those_of_the_crowd_and_not_of_the_truth() -> None:
    """The share of right answers is 0.75 everywhere: sure of the truth is not sure of the next answer."""
    crowd = simulate_crowd(CrowdPlan(per_task=9, skill=0.75, spread=1000, n_tasks=1500))
    posterior = fit_joint(crowd.answers).posterior()
    sure = posterior.probabilities.max(axis=1) > 0.99
    assert sure.mean() > 0.3
    assert posterior.expected[sure].max(axis=1).mean() == pytest.approx(0.75, abs=0.03)


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
@settings(max_examples=1)
def test_no_name_and_no_order_matters(seed: int) -> None:
    crowd = simulate_crowd(CrowdPlan(n_tasks=60, n_workers=12, n_labels=3, per_task=3, seed=seed))
    answers, random = crowd.answers, np.random.default_rng(seed)
    tasks, labels, rows = random.permutation(60), random.permutation(3), random.permutation(len(answers))
    moved = replace(
        answers, task=tasks[answers.task[rows]].astype(np.int32), worker=answers.worker[rows],
        label=labels[answers.label[rows]].astype(np.int32),
    )  # fmt: skip
    for method in (majority, dawid_skene, one_coin, lambda a: fit_joint(a).posterior()):
        first, second = method(answers).probabilities, method(moved).probabilities
        assert second[np.ix_(tasks, labels)] == pytest.approx(first, abs=1e-6)


@pytest.mark.parametrize("method", ["joint", "majority", "wawa", "dawid-skene", "one-coin"])
def test_every_method_gives_distributions(method: str) -> None:
    crowd = simulate_crowd(CrowdPlan(n_tasks=80, n_workers=10, n_labels=3, per_task=2))
    posterior = aggregate_answers(crowd.answers, method)
    assert posterior.probabilities.shape == (80, 3)
    assert posterior.probabilities.sum(axis=1) == pytest.approx(np.ones(80))
    assert posterior.expected.sum(axis=1) == pytest.approx(np.ones(80))
    firm = simulate_crowd(CrowdPlan(n_tasks=80, n_workers=10, per_task=9, skill=0.97))
    sure = aggregate_answers(firm.answers, method)
    for result in (posterior, sure):  # a label of 1.00000001 is refused wherever it is written
        assert ((result.probabilities >= 0) & (result.probabilities <= 1)).all()
    assert accuracy(posterior, crowd) > 0.6


@pytest.mark.parametrize("method", [glad, dawid_skene])
def test_borrowed_methods_keep_our_numbers(method: object) -> None:
    """Workers and tasks appear in an order of their own in the file."""
    crowd = simulate_crowd(CrowdPlan(n_tasks=60, n_workers=8, per_task=4, skill=0.9, spammers=0.125, seed=1))
    posterior = method(crowd.answers)  # type: ignore[operator]
    assert accuracy(posterior, crowd) > 0.85
