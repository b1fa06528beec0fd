"""`runs/simulated_crowd.py`: simulated people answer through the store, and labels and preferences follow."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import make
import pytest

from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.interface import PlainDetector
from dialint.detector.records import Dialogue, Example, Label, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.aggregation.question_posteriors import StoreLabelsConfig, aggregate_store
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.exchange.store_transfer import export_dataset
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.stored_annotations import iterate_counted

N = 40
AGENT_TEXTS = ("That is your own fault, you know.", "Your order leaves us on Monday.")


@pytest.fixture(scope="module")
def crowd() -> Any:
    spec = spec_from_file_location("simulated_crowd", Path(__file__).parents[2] / "runs/simulated_crowd.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examples(n: int) -> list[Example]:
    """Every second one has an error, T1 in turn 1; words of their own keep the dialogues apart."""
    made = []
    for number in range(n):
        own = " ".join(f"{word}{number}" for word in ("alpha", "beta", "gamma", "delta", "epsilon"))
        turns = (
            Turn(index=0, role="customer", text=f"Where is {own}?"),
            Turn(index=1, role="agent", text=AGENT_TEXTS[number % 2]),
            Turn(index=2, role="agent", text=f"{own}, then. Goodbye."),
        )
        name = f"d{number}"
        error = Label(dialogue_id=name, turn=1, code="T1", probability=1.0, method="made", start=0, end=23)
        dialogue = Dialogue(id=name, turns=turns, metadata={"error": "T1"})
        made.append(Example(dialogue=dialogue, labels=() if number % 2 else (error,), split="train"))
    return made


class Suspicious(PlainDetector):
    """A detector that accuses every first agent turn of T1."""

    release, fingerprint, taxonomy, codes = "simulated-0", "f", load_taxonomy(), ("T1",)

    def __init__(self) -> None:
        self._finding = make.finding("T1", quote="That", end=4)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        assert all_probabilities
        return [
            Verdict(
                dialogue_id=one.id, release=self.release, taxonomy="1.0.0", status="scored", quality=72.0,
                findings=(self._finding,), probabilities={1: {"T1": 0.9}, 2: {"T1": 0.1}},
            )
            for one in dialogues
        ]  # fmt: skip


def test_answers_become_labels_and_preferences(
    crowd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in examples(N)))
    monkeypatch.setattr(crowd, "load_detector", lambda config: Suspicious())
    answers = []
    for out in (tmp_path / "crowd", tmp_path / "again"):
        out.mkdir()
        (out / "store.sqlite").write_bytes(b"half")  # of a run that was stopped
        config = crowd.CrowdConfig(out=out, examples=tmp_path, labelers=5, seed=7)
        crowd.make_crowd(config)
        with Store.open(str(out / "store.sqlite")) as store:
            counted = list(iterate_counted(store, crowd.ADMIN))
        answers.append({(one.dialogue_id, one.labeler): (one.findings, one.seconds) for one in counted})
    assert answers[0] == answers[1], "the same seed gives the same answers"
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        crowd.make_crowd(config)
    kinds = Counter((one.kind, one.seen_verdict) for one in counted)
    assert kinds == {("crowd", False): 3 * N, ("reviewer", True): N // 2}
    assert all("simulated" in one.labeler for one in counted)
    manifest = json.loads((out / "manifest.json").read_text())
    assert {one["name"]: one["answers"] for one in manifest["people"]} == Counter(
        one.labeler for one in counted
    )
    with Store.open(str(out / "store.sqlite")) as store:
        aggregate_store(store, crowd.ADMIN, StoreLabelsConfig(), load_taxonomy())
        dataset = DatasetConfig(out=tmp_path / "dataset", key="k", shares=(1.0, 0.0, 0.0, 0.0))
        outcomes = export_dataset(store, crowd.ADMIN, dataset, None)["outcomes"]
    rows = [json.loads(line) for line in (tmp_path / "dataset/train.jsonl").read_text().splitlines()]
    labelled = {
        row["dialogue"]["id"]
        for row in rows
        for label in row.get("labels", ())
        if label["turn"] == 1 and label["probability"] > 0.5
    }
    right = {f"d{number}" for number in range(0, N, 2)}
    assert (len(rows), len(labelled & right) >= 0.4 * N, len(labelled - right) <= 1) == (N, True, True)
    assert outcomes["overturned"] > N / 6
    assert outcomes["amended"] > 0


def test_findings_follow_the_true_labels_and_the_skill(crowd: Any) -> None:
    """Of a perfect person they are the true errors, with evidence at their span or a word beside it; of a blind
    one there are none."""
    codes = tuple(load_taxonomy().codes[name] for name in ("T1", "C1"))
    quotes = set()
    for example in examples(N)[::2]:
        labels = {(label.turn, label.code): label for label in example.labels}
        (finding,) = crowd.Person("p", 1.0, 1.0).annotate(example.dialogue, labels, codes, seed=1)
        assert (finding.turn, finding.code) == (1, "T1")
        assert finding.quote == AGENT_TEXTS[0][finding.start : finding.end]
        quotes.add(finding.quote)
        assert crowd.Person("p", 0.0, 1.0).annotate(example.dialogue, labels, codes, seed=1) == ()
        assert len(crowd.Person("p", 1.0, 0.0).annotate(example.dialogue, labels, codes, seed=1)) == 4
    assert AGENT_TEXTS[0][:23] in quotes
    assert len(quotes) > 1


def test_bad_options_and_files_are_refused(crowd: Any, tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    log = {"dialogues": path, "labels": path}
    for wrong in ({}, {"examples": path, **log}, {"labels": path}, {**log, "labelers": 2, "overlap": 3}):
        with pytest.raises(ConfigError, match="E_OPTION"):
            crowd.CrowdConfig(out=tmp_path, **wrong)
    path.write_text(examples(1)[0].model_dump_json() + "\n{}\n")
    with pytest.raises(InputRefused, match="line 2"):
        crowd.sample_examples(crowd.CrowdConfig(out=tmp_path, examples=path))
    path.write_text("")
    with pytest.raises(ConfigError, match="E_EXAMPLE"):
        crowd.sample_examples(crowd.CrowdConfig(out=tmp_path, examples=path))
