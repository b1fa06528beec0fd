"""The E step in blocks, and rows that are alike, against what they replace written plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from answer_tables import CrowdPlan, simulate_crowd
from numpy.typing import NDArray

from dialint.labeling.aggregation.joint_items import distinct_rows
from dialint.labeling.aggregation.posterior import softmax, worker_label_pairs


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("block", [1, 100, 1 << 19])
def test_the_e_step_in_blocks_is_the_plain_one(
    block: int, precision: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task without answers stays at its base; blocks of one task, of some, and of all."""
    monkeypatch.setattr("dialint.labeling.aggregation.posterior.CELLS", block)
    crowd = simulate_crowd(CrowdPlan(n_tasks=60, n_workers=9, n_labels=3, per_task=3, seed=1)).answers
    crowd = crowd.where(crowd.task != 7)
    table, random = worker_label_pairs(crowd), np.random.default_rng(0)
    logs = np.log(random.uniform(0.01, 1, (len(table.worker), 5)))
    base, start = random.normal(0, 2, (60, 5)), random.dirichlet(np.ones(5), 60)
    responsibilities: NDArray[Any] = start.astype(precision)
    counts, likelihood, change = table.expectation(logs, base, responsibilities)
    key = {(w, x): n for n, (w, x) in enumerate(zip(table.worker, table.label, strict=True))}
    total = base.copy()
    for t, w, x in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        total[t] += logs[key[w, x]]
    expected, sums = softmax(total)
    expected_counts = np.zeros_like(logs)
    for t, w, x in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        expected_counts[key[w, x]] += expected[t]
    near = 1e-12 if precision is np.float64 else 2e-6
    assert responsibilities.dtype == precision
    assert responsibilities == pytest.approx(expected, abs=near)
    assert expected[7] == pytest.approx(softmax(base[7:8])[0][0], abs=1e-12)
    assert counts == pytest.approx(expected_counts, abs=10 * near)
    assert likelihood == pytest.approx(sums.sum(), abs=100 * near)
    assert change == pytest.approx(np.abs(expected - start).max(), abs=near)


@pytest.mark.parametrize("columns", [3, 40])
def test_rows_that_are_alike(columns: int) -> None:
    """Forty columns are too many for one number a row."""
    table = np.random.default_rng(0).integers(-1, 3, (200, columns)).astype(float)
    table[100:] = table[:100]
    first, place = distinct_rows(table)
    rows, begin, kind = np.unique(table, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == begin.tolist()
    assert place.tolist() == kind.reshape(-1).tolist()
    assert (table[first][place] == table).all()
    assert len(rows) == len(first) < 200
