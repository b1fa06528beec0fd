"""Codes that exclude one another: figures worked out by hand, and soft labels where only yes and no count."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from own_taxonomy import CODES, write_taxonomy

from dialint.detector.interface import PlainDetector
from dialint.detector.records import Dialogue, Example, Label, Turn, Verdict
from dialint.detector.statistics import bootstrap_counts
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.eval.breakdowns import class_shares, multiclass_figures
from dialint.eval.contract import distinct_units, fit_contract, fit_platt
from dialint.eval.metrics import divergence
from dialint.eval.results import code_results, score_examples
from dialint.eval.run import evaluate

Row = tuple[float, float, float]


@pytest.fixture(scope="module")
def taxonomy(tmp_path_factory: pytest.TempPathFactory) -> Taxonomy:
    return load_taxonomy(write_taxonomy(tmp_path_factory.mktemp("own")))


def example(name: str, *rows: Row, people: int = 10) -> Example:
    """A dialogue whose bot turns 1, 3, ... are labelled with `rows`."""
    turns = tuple(
        Turn(index=i, role="bot" if i % 2 else "customer", text=f"words {i}") for i in range(2 * len(rows))
    )
    labels = tuple(
        Label(dialogue_id=name, turn=2 * n + 1, code=code, probability=p, method="m", n_labelers=people)
        for n, row in enumerate(rows)
        for code, p in zip(CODES, row, strict=True)
        if p
    )
    return Example(dialogue=Dialogue(id=name, turns=turns), labels=labels, split="test")


class Scripted(PlainDetector):
    """A detector whose probabilities of a dialogue's turns stand in a table."""

    release, fingerprint, codes = "scripted.1", "0", CODES

    def __init__(self, taxonomy: Taxonomy, table: dict[str, list[Row]]) -> None:
        self.taxonomy, self.table = taxonomy, table

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [
            Verdict(
                dialogue_id=each.id, release=self.release, taxonomy="own", status="scored", quality=100.0,
                probabilities={
                    2 * n + 1: dict(zip(CODES, row, strict=True)) for n, row in enumerate(self.table[each.id])
                },
            )
            for each in dialogues
        ]  # fmt: skip


def test_divergence_by_hand() -> None:
    one = np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    other = np.array([[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    third = 0.5 * math.log2(4 / 3) + 0.5 * (0.5 * math.log2(2 / 3) + 0.5)
    assert divergence(one, other) == pytest.approx([1.0, 0.0, third])


def test_every_figure_by_hand(taxonomy: Taxonomy) -> None:
    """Four turns: K1 right, K2 taken for K3, a tie of K1 and K2 of which K2 is said, nothing said at all."""
    examples = [example("a", (1, 0, 0), (0.2, 0.7, 0.1)), example("b", (0.5, 0.5, 0), (0, 0, 1))]
    said = {"a": [(0.9, 0.3, 0.3), (0.1, 0.1, 0.6)], "b": [(0.0, 0.4, 0.1), (0.0, 0.0, 0.0)]}
    detector = Scripted(taxonomy, {name: list(rows) for name, rows in said.items()})
    report = evaluate(detector, score_examples(detector, examples), rounds=20)["exclusive"]
    row = report["K"]
    assert row["turns"] == 4
    assert row["accuracy"] == 0.5
    # said: K1, K3, K2, K1 (the first of equals); true: K1, K2, K2, K3
    assert [row[f"f1_{code}"] for code in CODES] == pytest.approx([2 / 3, 2 / 3, 0.0], abs=1e-4)
    labelled = np.array([[1, 0, 0], [0.2, 0.7, 0.1], [0.5, 0.5, 0], [0, 0, 1]])
    predicted = np.array([[0.6, 0.2, 0.2], [0.125, 0.125, 0.75], [0, 0.8, 0.2], [1 / 3, 1 / 3, 1 / 3]])
    assert row["divergence"] == pytest.approx(float(divergence(labelled, predicted).mean()), abs=1e-4)
    low, high = row["accuracy_95"]
    assert 0.0 <= low <= 0.5 <= high <= 1.0


def test_turns_without_a_label_and_categories_of_yes_and_no_have_no_row(taxonomy: Taxonomy) -> None:
    detector = Scripted(taxonomy, {"a": [(1, 0, 0), (1, 0, 0)]})
    results = score_examples(detector, [example("a", (0, 1, 0), (0, 0, 0))])
    assert class_shares(results, CODES).labelled.tolist() == [[0.0, 1.0, 0.0]]
    assert set(multiclass_figures(taxonomy, results, bootstrap_counts(1, 0))) == {"K"}
    assert multiclass_figures(load_taxonomy(), results, bootstrap_counts(1, 0)) == {}


def test_of_a_soft_label_only_what_is_more_likely_than_not_is_an_error(taxonomy: Taxonomy) -> None:
    detector = Scripted(taxonomy, {"a": [(0, 0, 0)] * 3})
    rows = code_results(
        score_examples(detector, [example("a", (0.6, 0.4, 0), (0.5, 0.5, 0), (0, 1, 0))]),
        "K1",
        whole_dialogue=False,
    )
    assert rows.truth.tolist() == [True, False, False]


def test_calibration_learns_the_probability_that_labels_tell() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=20_000)
    chance = 1 / (1 + np.exp(-(1.5 * scores - 1)))
    assert fit_platt(chance, scores) == pytest.approx((1.5, -1.0), abs=0.01)
    scan = fit_contract(chance, scores, per_100=5.0)
    assert scan.contract is not None
    assert scan.contract.n_errors == int((chance > 0.5).sum())


def test_units_of_different_labels_are_not_copies_of_one_another() -> None:
    soft = example("a", (0.3, 0.7, 0), (0.3, 0.7, 0), (0.6, 0.4, 0))
    said = soft.dialogue.model_copy(
        update={"turns": tuple(turn.model_copy(update={"text": "again"}) for turn in soft.dialogue.turns)}
    )
    truth, scores, _ = distinct_units(
        [{1: 1.0, 3: 2.0, 5: 3.0}], [soft.model_copy(update={"dialogue": said})], "K1", whole_dialogue=False
    )
    assert sorted(zip(truth.tolist(), scores.tolist(), strict=True)) == [(0.3, 2.0), (0.6, 3.0)]
