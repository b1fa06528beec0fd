"""The whole way in miniature: people answer, and what they said becomes an aligned judge that sits its exam."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rude_dialogues import example

from dialint.detector.engines import base_models
from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import load_prompt
from dialint.detector.interface import PlainDetector
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.judge import reward_model_figures
from dialint.eval.judge_metrics import run_judge, summarize_judge
from dialint.eval.questions import QuestionConfig, read_questions
from dialint.finetune.judge import grpo, reward, sft, sft_options
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions, ScheduleOptions
from dialint.labeling.aggregation.store_labels import StoreLabelsConfig, aggregate_store
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.exchange.store_export import export_dataset
from dialint.labeling.simulation.crowd import AnnotationPlan, simulate_annotations
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade

RUNNING = RunOptions(threads=1, precision="fp32", device="cpu")
ADAPTERS = AdapterOptions(rank=4)
ASKING = QuestionConfig(random_questions=0.5)


class Suspicious(PlainDetector):
    """A detector that accuses every last turn of T1."""

    release, fingerprint, taxonomy, codes = "simulated-0", "f", load_taxonomy(), ("T1",)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        finding = Finding(
            code="T1", turn=3, severity="S2", probability=0.8, quote="That is", start=0, end=7, reason="r"
        )
        return [
            Verdict(
                dialogue_id=one.id, release=self.release, taxonomy="1.0.0", status="scored", quality=72.0,
                findings=(finding,), probabilities={1: {"T1": 0.1}, 3: {"T1": 0.8}},
            )
            for one in dialogues
        ]  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set of a store that simulated people have worked on."""
    folder = tmp_path_factory.mktemp("store")
    place = str(folder / "store.sqlite")
    upgrade(place)
    made = [example(f"d{place}", "train", place % 2 == 0) for place in range(32)]
    with Store.open(place) as store:
        accounts.create_first(store, "ada", "correct horse battery")
        simulate_annotations(
            store, "ada", made, Suspicious(), AnnotationPlan(labelers=4, overlap=3, reviewed=1.0)
        )
        aggregate_store(store, "ada", StoreLabelsConfig(), load_taxonomy())
        config = DatasetConfig(out=folder / "dataset", key="k", shares=(0.5, 0.25, 0.0, 0.25), near=0.0)
        manifest = export_dataset(store, "ada", config, None)
    assert manifest["outcomes"]["overturned"] > 5
    return folder / "dataset"


@pytest.mark.slow
def test_from_answers_to_an_aligned_judge(
    said: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, model, aligned = (tmp_path / name for name in ("sft", "reward", "grpo"))
    shared: dict[str, Any] = {
        "dataset": said,
        "question_config": ASKING,
        "adapters": ADAPTERS,
        "running": RUNNING,
    }
    learning = ScheduleOptions(steps=4, eval_steps=4)
    sft.run(sft_options.SftJudgeConfig(model=str(tiny), out=judge, questions=4, learning=learning, **shared))
    told = reward.run(reward.RewardConfig(model=str(judge), out=model, pairs=4, learning=learning, **shared))
    assert {"reviewer", "label"} <= set(told["figures"]["held_out"])
    few: dict[str, Any] = {"steps": 2, "questions": 2, "answers": 4, "answer_tokens": 6}
    made = grpo.run(grpo.GrpoConfig(model=str(judge), reward=str(model), out=aligned, **few, **shared))
    assert set(made["data"]) == {"dataset", "judge", "reward"}
    assert reward_model_figures(aligned)["reward_model"] == told["figures"]["held_out"]
    assert made["figures"]["reward_model"]["label"]["answer_only"]["accuracy"] >= 0
    assert reward_model_figures(judge) == reward_model_figures(tiny) == {}
    source = base_models.resolve_source(str(aligned))  # every byte vouched for
    assert source.base.folder == tiny
    model = load_model(source, AdapterOptions(adapter="none"), trainable=False).eval()
    asked = read_questions(said, "test", ASKING, 1)
    rulings = run_judge(LocalJudge(model, load_prompt(source)), asked)
    figures = summarize_judge(rulings, {item.question.dialogue.id: 2 for item in asked}, 20)
    assert figures["questions"] == len(asked) > figures["errors"] > 0
    assert 0 < figures["token_brier"] < 1
