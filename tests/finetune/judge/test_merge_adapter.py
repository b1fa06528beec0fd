"""A judge with its adapter merged answers the same; in fewer bits nearly."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from judge_fixtures import RUNNING

from dialint.detector.engines.judge_local import load_judge
from dialint.detector.judge.reading import format_reading
from dialint.detector.judge.stage import StageOptions
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.judge_measure import count_unlike_base
from dialint.eval.labelled import SelectionConfig, ask_about, read_labelled, select_examples, target_reading
from dialint.finetune.judge import merge_adapter, sft
from dialint.finetune.rl.answers import compute_logprobs
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import ScheduleOptions


@pytest.fixture(scope="module")
def judge(tiny: Path, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("judges") / "trained"
    sft.run(
        sft.SftJudgeConfig(
            dataset=dataset, base=str(tiny), out=out, questions=2, learning_rate=3e-2, dev_questions=1, dev_answers=0,
            learning=ScheduleOptions(steps=3, eval_steps=3), adapters=AdapterOptions(rank=4), running=RUNNING,
        )
    )  # fmt: skip
    return out


@pytest.mark.parametrize(("weights", "most"), [("fp32", 1e-5), ("bf16", 0.05), ("nf4", 0.5), ("int8", 0.2)])
def test_a_merged_judge_answers_the_same(
    judge: Path, dataset: Path, tmp_path: Path, weights: merge_adapter.StoredWeights, most: float
) -> None:
    merged = tmp_path / "merged"
    manifest = merge_adapter.run(merge_adapter.MergeConfig(model=str(judge), out=merged, weights=weights))
    assert manifest["figures"]["steps"] == 3
    assert "What it is not for" in (merged / "README.md").read_text()
    one, other = (load_judge(str(folder)) for folder in (judge, merged))
    assert other.prompt.codes == one.prompt.codes == ("T1",)
    labelled = read_labelled(dataset, "test", SelectionConfig(), 1)[:2]
    items = ask_about(labelled, one.prompt.reader(load_taxonomy()))
    prompts = [one.prompt.of_chat(item.question.messages) for item in items]
    answers = [one.prompt.answer_ids(format_reading(target_reading(item))) for item in items]
    with torch.no_grad():
        first, second = (
            compute_logprobs(each.model, prompts, answers).logprobs.exp() for each in (one, other)
        )
    assert float((first - second).abs().max()) <= most


def test_a_trained_adapter_acts_and_an_empty_one_does_not(judge: Path, dataset: Path) -> None:
    """As `dialint release promote` asks for; a merged judge has no base beside it."""
    engine, taxonomy = load_judge(str(judge)), load_taxonomy()
    examples = select_examples(dataset, "test", SelectionConfig(), 1)[:2]
    options = StageOptions(codes=frozenset({"T1"}))
    changed, n = count_unlike_base(engine, taxonomy, options, examples) or (0, 0)
    assert 0 < changed <= n == 2
    with torch.no_grad():
        for name, weights in engine.model.named_parameters():
            if "lora_B" in name:
                weights.zero_()
    assert count_unlike_base(engine, taxonomy, options, examples) == (0, 2)
    engine.model = engine.model.unload()
    assert count_unlike_base(engine, taxonomy, options, examples) is None
