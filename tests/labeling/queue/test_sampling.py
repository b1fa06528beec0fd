"""Drawing: exact sizes, inclusion probabilities that simulation confirms, and the frames of each design."""

from collections import Counter
from typing import Any

import make
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.labeling.queue import sampling
from dialint.labeling.queue.sampling import (
    allocation,
    binary_entropy,
    inclusion_probabilities,
    sample_stratified,
    sample_weighted,
    uniform,
)
from dialint.labeling.store import dialogues, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Project, StoreRefused


def test_inclusion_by_hand() -> None:
    """3 of weights 10, 1, 1, 1, 1: the first for certain, the others share 2 of 4."""
    assert inclusion_probabilities(np.array([10.0, 1, 1, 1, 1]), 3).tolist() == [1.0, 0.5, 0.5, 0.5, 0.5]
    assert inclusion_probabilities(np.array([1.0, 3.0]), 1).tolist() == [0.25, 0.75]
    assert inclusion_probabilities(np.zeros(4), 2).tolist() == [0.5] * 4


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=30), st.data())
def test_inclusion_sums_to_the_size(weights: list[float], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(weights)))
    expected = inclusion_probabilities(np.array(weights), n)
    assert expected.sum() == pytest.approx(n)
    assert ((expected > 0) & (expected <= 1)).all()
    sample = sample_weighted(np.array(weights), n, np.random.default_rng(0))
    assert len(set(sample.indices.tolist())) == n
    assert (sample.probabilities == expected[sample.indices]).all()


@pytest.mark.parametrize("bad", [[], [1.0], [1.0, -1.0], [1.0, np.nan]])
def test_what_cannot_be_drawn_is_refused(bad: list[float]) -> None:
    with pytest.raises(ConfigError):
        inclusion_probabilities(np.array(bad), 2)


def test_simulation_confirms_every_design() -> None:
    """Each unit is sampled as often as its probability says (within 4.5 standard errors), and the
    Horvitz-Thompson total is unbiased."""
    generator, rounds = np.random.default_rng(5), 4000
    weights = np.array([0.02, 0.9, 0.1, 0.4, 0.0, 0.6, 0.3, 0.8, 0.05, 0.2])
    strata = list("aaaaaabbbc")
    truth = np.arange(10.0)
    for design in (
        lambda: sample_weighted(weights, 4, generator),
        lambda: uniform(10, 4, generator),
        lambda: sample_stratified(strata, 5, generator),
    ):
        times, expected, totals = np.zeros(10), np.zeros(10), []
        for _ in range(rounds):
            sample = design()
            times[sample.indices] += 1
            expected[sample.indices] = sample.probabilities
            totals.append((truth[sample.indices] / sample.probabilities).sum())
        seen = expected > 0
        error = np.sqrt(expected * (1 - expected) / rounds)
        assert (np.abs(times / rounds - expected)[seen] <= 4.5 * error[seen] + 1e-12).all()
        spread = np.std(totals) / np.sqrt(rounds)
        assert abs(np.mean(totals) - truth[seen].sum()) <= 4.5 * spread
        assert seen.sum() >= 9, "only a unit of weight 0 may never have come up"


def test_allocation_by_hand() -> None:
    """10 of 60, 30, 9, 1: exact 6, 3, 0.9, 0.1; everybody at least one, so the largest surplus gives way."""
    expected = ({"a": 5, "b": 3, "c": 1, "d": 1}, {"a": 6, "b": 2, "c": 1, "d": 1})
    assert allocation(Counter(a=60, b=30, c=9, d=1), 10) in expected
    assert allocation(Counter(a=2, b=2), 4) == {"a": 2, "b": 2}
    with pytest.raises(ConfigError):
        allocation(Counter(a=2, b=2), 1)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.data())
def test_allocation_adds_up(sizes: list[int], data: st.DataObject) -> None:
    counted: Counter[Any] = Counter(dict(enumerate(sizes)))
    n = data.draw(st.integers(len(sizes), sum(sizes)))
    shares = allocation(counted, n)
    assert sum(shares.values()) == n
    assert all(1 <= shares[stratum] <= size for stratum, size in counted.items())


RISKS = (0.95, 0.5, 0.05, 0.05, 0.05, 0.05)


@pytest.fixture
def scored(store: Store) -> Store:
    """d0 flagged and risky, d1 undecided, d2 to d5 clean; d6 has no verdict."""
    projects.create(store, "lea", Project(id="p", codes=("C1",)))
    dialogues.add(store, "lea", [make.dialogue(f"d{i}", agent="a1" if i < 4 else "a2") for i in range(7)])
    findings = [(make.finding(),), (), (), (), (), ()]
    verdicts = [make.verdict(f"d{i}", *findings[i], risk=risk) for i, risk in enumerate(RISKS)]
    dialogues.add_verdicts(store, "lea", verdicts)
    return store


def load_tasks(store: Store) -> dict[str, Any]:
    rows = {}
    while lease := leases.claim(store, "rob", "p", at_once=99):
        rows[lease.dialogue] = store.read(
            lambda t, task=lease.task: t.run(tasks.tasks.select().where(tasks.tasks.c.id == task)).one()
        )
    return rows


@pytest.mark.parametrize(("design", "frame"), [
    ("random", {f"d{i}" for i in range(7)}), ("risk", {f"d{i}" for i in range(6)}),
    ("uncertain", {f"d{i}" for i in range(6)}), ("stratified", {f"d{i}" for i in range(7)}),
    ("audit", {"d1", "d2", "d3", "d4", "d5"}),
])  # fmt: skip
def test_each_design_draws_from_its_frame_with_known_chances(
    scored: Store, design: Any, frame: set[str]
) -> None:
    config = sampling.SamplingConfig("p", design=design, n=3, seed=4)
    assert sampling.sample_tasks(scored, "lea", config) == 3
    rows = load_tasks(scored)
    assert len(rows) == 3
    assert set(rows) <= frame

    def by_name(weights: NDArray[np.float64]) -> dict[str, float]:
        return {f"d{i}": p for i, p in enumerate(inclusion_probabilities(weights, 3))}

    assert {row.why for row in rows.values()} == {f"{design}: 3 of {len(frame)}, seed 4"}
    expected = {
        "random": dict.fromkeys(frame, 3 / 7),
        "audit": dict.fromkeys(frame, 3 / 5),
        "risk": by_name(np.array(RISKS)),
        "uncertain": by_name(binary_entropy(1 - np.exp(-np.array(RISKS)))),
        "stratified": {name: 2 / 4 if name < "d4" else 1 / 3 for name in frame},
    }[design]
    for name, row in rows.items():
        assert row.inclusion_probability == pytest.approx(expected[name])


def test_a_second_draw_passes_over_the_first(scored: Store) -> None:
    sampling.sample_tasks(scored, "lea", sampling.SamplingConfig("p", n=4))
    sampling.sample_tasks(scored, "lea", sampling.SamplingConfig("p", n=3))
    assert set(load_tasks(scored)) == {f"d{i}" for i in range(7)}
    with pytest.raises(StoreRefused, match="no dialogue is left"):
        sampling.sample_tasks(scored, "lea", sampling.SamplingConfig("p", n=1))


def test_a_committee_that_disagrees_is_uncertain(store: Store) -> None:
    """Two releases at 0.05 and 0.95 expect 0.5 errors: .967 bits, against .281 where both say 0.05."""
    projects.create(store, "lea", Project(id="p", codes=("C1",)))
    dialogues.add(store, "lea", [make.dialogue("d0"), make.dialogue("d1")])
    for release, risks in (("r1", (0.05, 0.05)), ("r2", (0.95, 0.05))):
        dialogues.add_verdicts(
            store, "lea", [make.verdict(f"d{i}", release=release, risk=risk) for i, risk in enumerate(risks)]
        )
    sampling.sample_tasks(store, "lea", sampling.SamplingConfig("p", design="uncertain", n=1, seed=1))
    expected = inclusion_probabilities(binary_entropy(1 - np.exp(-np.array([0.5, 0.05]))), 1)
    ((name, row),) = load_tasks(store).items()
    assert row.inclusion_probability == pytest.approx(expected[int(name[1])])
    assert expected[0] == pytest.approx(0.967 / (0.967 + 0.2811), abs=1e-3)
