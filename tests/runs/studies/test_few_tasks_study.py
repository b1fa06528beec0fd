"""The joint posterior where there are only a handful of tasks: a model must not drown out people."""

import numpy as np
import pytest
from few_tasks_study import MODELS, one_draw

from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.joint import joint_posterior

pytestmark = pytest.mark.slow  # a study is run by hand


def crowd(votes: list[list[int]]) -> Answers:
    """Every row a task, every column a person; 0 is no, 1 is yes."""
    table = np.array(votes, np.int32)
    task, worker = np.indices(table.shape, np.int32)
    names = tuple(f"t{n}" for n in range(len(table))), tuple(f"w{n}" for n in range(table.shape[1]))
    return Answers(task.ravel(), worker.ravel(), table.ravel(), *names, ("no", "yes"))


@pytest.mark.parametrize("n_tasks", [1, 2, 5, 10, 20, 50])
@pytest.mark.parametrize("said", [1e-6, 0.001, 0.01, 0.1])
def test_three_people_who_agree_are_not_overruled_by_a_model(n_tasks: int, said: float) -> None:
    answers = crowd([[1, 1, 1]] + [[0, 0, 0]] * (n_tasks - 1))
    model = np.array([[1 - said, said]] + [[0.98, 0.02]] * (n_tasks - 1))
    assert joint_posterior(answers, model).probabilities[0, 1] > 0.5


@pytest.mark.parametrize("n_tasks", [15, 30, 60, 200])
@pytest.mark.parametrize("surer", [1.0, 2.0])
def test_a_good_model_makes_few_tasks_better_than_majority(n_tasks: int, surer: float) -> None:
    """Made-up people and a model that is calibrated, or twice as sure as it may be (in log odds)."""
    right = {"joint": 0, "majority": 0}
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth = random.random(n_tasks) < 0.15
        seen = random.normal(0, 1, n_tasks) + 2.5 * truth
        odds = np.log(0.15 / 0.85) + 2.5 * seen - 2.5**2 / 2
        said = 1 / (1 + np.exp(-surer * odds))
        votes = random.random((n_tasks, 3)) < np.where(truth, 0.8, 0.06)[:, None]
        answers = crowd(votes.astype(int).tolist())
        found = joint_posterior(answers, np.column_stack([1 - said, said])).probabilities[:, 1] > 0.5
        right["joint"] += int((found == truth).sum())
        right["majority"] += int(((votes.sum(axis=1) > 1) == truth).sum())
    assert right["joint"] >= right["majority"]


def test_the_study_tells_every_way_alike_for_the_same_seed() -> None:
    found = one_draw(40, 3, seed=7)
    assert list(found) == ["majority", "people", *MODELS]
    assert found == one_draw(40, 3, seed=7) != one_draw(40, 3, seed=8)
    assert all(0 <= right <= 1 and loss >= 0 for right, loss in found.values())
