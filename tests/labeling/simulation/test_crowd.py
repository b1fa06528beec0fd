"""A store that simulated people have annotated: their answers, and the labels and preferences from them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.interface import PlainDetector
from dialint.detector.records import Dialogue, Example, Label, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.aggregation.store_labels import StoreLabelsConfig, aggregate_store
from dialint.labeling.annotation import Annotation
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.exchange.store_export import export_dataset
from dialint.labeling.simulation import crowd as simulated_crowd
from dialint.labeling.simulation.crowd import (
    LABELS,
    REVIEWS,
    AnnotationPlan,
    CrowdConfig,
    Person,
    sample_examples,
    simulate_annotations,
)
from dialint.labeling.store.counted_annotations import iterate_counted
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import StoreRefused

AGENT_TEXTS = ("That is your own fault, you know.", "Your order leaves us on Monday.")
PLAN = AnnotationPlan(labelers=5, overlap=3, reviewers=2, reviewed=0.5, seed=7)


def examples(n: int) -> list[Example]:
    """Every second one has an error, T1 in turn 1; words of their own keep the dialogues apart."""
    found = []
    for number in range(n):
        own = " ".join(f"{word}{number}" for word in ("alpha", "beta", "gamma", "delta", "epsilon"))
        turns = (
            Turn(index=0, role="customer", text=f"Where is {own}?"),
            Turn(index=1, role="agent", text=AGENT_TEXTS[number % 2]),
            Turn(index=2, role="agent", text=f"{own}, then. Goodbye."),
        )
        name = f"d{number}"
        error = Label(dialogue_id=name, turn=1, code="T1", probability=1.0, method="made", start=0, end=23)
        labels = () if number % 2 else (error,)
        dialogue = Dialogue(id=name, turns=turns, metadata={"error": "T1"})
        found.append(Example(dialogue=dialogue, labels=labels, split="train"))
    return found


class Suspicious(PlainDetector):
    """A detector that accuses every first agent turn of T1."""

    release, fingerprint, taxonomy, codes = "simulated-0", "f", load_taxonomy(), ("T1",)

    def __init__(self, made: Any) -> None:
        self._finding = made.finding("T1").model_copy(update={"quote": "That", "end": 4})

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        assert all_probabilities
        return [
            Verdict(
                dialogue_id=one.id, release=self.release, taxonomy="1.0.0", status="scored", quality=72.0,
                findings=(self._finding,), probabilities={1: {"T1": 0.9}, 2: {"T1": 0.1}},
            )
            for one in dialogues
        ]  # fmt: skip


def answers(store: Store, project: str) -> list[Annotation]:
    return list(iterate_counted(store, "ada", project))


def answers_by_person(found: Sequence[Annotation]) -> dict[tuple[str, str], tuple[Any, ...]]:
    return {(one.dialogue_id, one.labeler): (one.findings, one.seconds) for one in found}


def test_everybody_answers_through_the_store(store: Store, made: Any) -> None:
    crowd = simulate_annotations(store, "ada", examples(12), Suspicious(made), PLAN)
    blind, reviews = answers(store, LABELS), answers(store, REVIEWS)
    assert set(Counter(one.dialogue_id for one in blind).values()) == {3}
    assert len({(one.dialogue_id, one.labeler) for one in blind}) == len(blind) == 36
    assert len(reviews) == len({one.dialogue_id for one in reviews}) == 6
    assert {(one.kind, one.seen_verdict) for one in blind} == {("crowd", False)}
    assert {(one.kind, one.seen_verdict) for one in reviews} == {("reviewer", True)}
    assert all("simulated" in one.labeler for one in (*blind, *reviews))
    assert {one.codes for one in (*blind, *reviews)} == {("T1",)}
    by_person = Counter(one.labeler for one in (*blind, *reviews))
    assert {one["name"]: one["answers"] for one in crowd["people"]} == by_person
    with pytest.raises(StoreRefused, match="E_ACCOUNT"):
        simulate_annotations(store, "ada", examples(2), Suspicious(made), PLAN)


def test_answers_become_labels_and_preferences(store: Store, made: Any, tmp_path: Path) -> None:
    simulate_annotations(store, "ada", examples(60), Suspicious(made), PLAN)
    aggregate_store(store, "ada", StoreLabelsConfig(), load_taxonomy())
    out = tmp_path / "dataset"
    config = DatasetConfig(out=out, key="k", shares=(1.0, 0.0, 0.0, 0.0))
    manifest = export_dataset(store, "ada", config, None)
    rows = [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]
    found = {
        row["dialogue"]["id"]
        for row in rows
        for label in row.get("labels", ())
        if label["turn"] == 1 and label["probability"] > 0.5
    }
    right = {f"d{number}" for number in range(0, 60, 2)}
    assert len(rows) == 60
    assert len(found & right) >= 24
    assert len(found - right) <= 1
    assert manifest["outcomes"]["overturned"] > 10
    assert manifest["outcomes"]["amended"] > 0
    pairs = [json.loads(line) for line in (out / "preferences.jsonl").read_text().splitlines()]
    assert {pair["release"] for pair in pairs} == {"simulated-0"}


def test_the_same_seed_gives_the_same_store(store: Store, made: Any, tmp_path: Path) -> None:
    from dialint.labeling.store import accounts
    from dialint.labeling.store.database.upgrade import upgrade

    simulate_annotations(store, "ada", examples(8), Suspicious(made), PLAN)
    again = str(tmp_path / "again.sqlite")
    upgrade(again)
    with Store.open(again) as other:
        accounts.create_first(other, "ada", "correct horse battery")
        simulate_annotations(other, "ada", examples(8), Suspicious(made), PLAN)
        for project in (LABELS, REVIEWS):
            assert answers_by_person(answers(store, project)) == answers_by_person(answers(other, project))


def test_findings_follow_the_true_labels_and_the_skill() -> None:
    """Of a perfect person they are the true errors, with evidence at their span or a word beside it; of a blind
    one there are none."""
    codes = tuple(load_taxonomy().codes[name] for name in ("T1", "C1"))
    quotes = set()
    for number in range(0, 60, 2):
        example = examples(number + 1)[-1]
        labels = {(label.turn, label.code): label for label in example.labels}
        (finding,) = Person("p", 1.0, 1.0).annotate(example.dialogue, labels, codes, seed=1)
        assert (finding.turn, finding.code) == (1, "T1")
        assert finding.quote == AGENT_TEXTS[0][finding.start : finding.end]
        quotes.add(finding.quote)
        assert Person("p", 0.0, 1.0).annotate(example.dialogue, labels, codes, seed=1) == ()
        assert len(Person("p", 1.0, 0.0).annotate(example.dialogue, labels, codes, seed=1)) == 4
    assert AGENT_TEXTS[0][:23] in quotes
    assert len(quotes) > 1


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(found: Sequence[Example], name: str = "train.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(one.model_dump_json() + "\n" for one in found))
        return path

    return write


def test_all_examples_of_a_dialogue_are_sampled_together_without_metadata(
    tmp_path: Path, file: Callable[..., Path]
) -> None:
    made = examples(6)
    twin = made[0].model_copy(update={"dialogue": made[0].dialogue.model_copy(update={"id": "d0~twin"})})
    file([*made, twin])
    sample = sample_examples(CrowdConfig(out=tmp_path, examples=tmp_path, limit=3, plan=PLAN))
    names = {one.dialogue.id for one in sample}
    assert len(names) == 3
    assert ("d0" in names) == ("d0~twin" in names)
    assert all(one.dialogue.metadata == {} for one in sample)
    assert len(sample_examples(CrowdConfig(out=tmp_path, examples=tmp_path / "train.jsonl"))) == 7


def test_an_unfinished_store_is_replaced_and_a_finished_one_refused(
    tmp_path: Path, file: Callable[..., Path], made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file(examples(4))
    out = tmp_path / "crowd"
    out.mkdir()
    (out / "store.sqlite").write_bytes(b"half")
    monkeypatch.setattr("dialint.detector.pipeline.load_detector", lambda config: Suspicious(made))
    manifest = simulated_crowd.run(CrowdConfig(out=out, examples=tmp_path, plan=PLAN))
    assert manifest["kind"] == "simulated-crowd"
    assert json.loads((out / "manifest.json").read_text())["dialogues"] == 4
    with Store.open(str(out / "store.sqlite")) as store:
        assert len(list(iterate_counted(store, simulated_crowd.ADMIN))) == 4 * 3 + 2
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        simulated_crowd.run(CrowdConfig(out=out, examples=tmp_path, plan=PLAN))


def test_invalid_options_and_files_are_refused(tmp_path: Path, file: Callable[..., Path]) -> None:
    for wrong in (
        {},
        {"examples": tmp_path, "dialogues": tmp_path, "labels": tmp_path},
        {"labels": tmp_path},
    ):
        with pytest.raises(ConfigError, match="E_OPTION"):
            CrowdConfig(out=tmp_path, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="E_OPTION"):
        AnnotationPlan(labelers=2, overlap=3)
    path = file(examples(1))
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(InputRefused, match="line 2"):
        sample_examples(CrowdConfig(out=tmp_path, examples=path))
    with pytest.raises(ConfigError, match="E_EXAMPLE"):
        sample_examples(CrowdConfig(out=tmp_path, examples=file([])))
