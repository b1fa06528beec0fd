"""The judge learns by example: the loss, its weights, resuming, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy

from dialint.detector.engines import adapter_files, base_models, packed
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.judge import answer_json, parse_answer
from dialint.eval.questions import QuestionConfig, read_questions, target_answer
from dialint.finetune.judge.sft import run
from dialint.finetune.judge.sft_options import SftJudgeConfig
from dialint.finetune.judge.sft_trainer import WeightedCollator, tokenize_questions
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions, ScheduleOptions


def config(tiny: Path, dataset: Path, out: Path, **more: object) -> SftJudgeConfig:
    given = {"steps": 6, "eval_steps": 3}
    given |= {name: more.pop(name) for name in ("steps", "eval_steps", "epochs") if name in more}  # type: ignore[misc]
    options = {
        "questions": 4, "learning_rate": 1e-2, "question_config": QuestionConfig(random_questions=0.5),
        "learning": ScheduleOptions(**given),
        "running": RunOptions(threads=1, precision="fp32", device="cpu"), **more,
    }  # fmt: skip
    return SftJudgeConfig(dataset=dataset, model=str(tiny), out=out, **options)  # type: ignore[arg-type]


def losses(out: Path) -> list[tuple[int, float]]:
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [(row["step"], row["loss"]) for row in rows if "loss" in row]


def test_questions_know_their_answers(dataset: Path) -> None:
    asked = read_questions(dataset, "train", QuestionConfig(random_questions=0), 1)
    assert len(asked) == 16
    answers = [target_answer(item) for item in asked]
    assert {answer.verdict for answer in answers} == {"error"}
    assert {answer.probability for answer in answers} == {0.6, 0.98}
    assert {answer.quote for answer in answers} == {"That is your own fault, yo"}
    assert all(parse_answer(answer_json(answer)) == answer for answer in answers)
    assert sorted({round(item.weight, 6) for item in asked}) == [0.2, 1.0]


def test_the_loss_is_the_weighted_mean_over_answers(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    """Packed, padded, and by hand, on the first batch."""
    packed = run(config(tiny, dataset, tmp_path / "packed", steps=1))
    padded = run(config(tiny, dataset, tmp_path / "padded", steps=1, packed=False))
    assert packed["figures"]["steps"] == padded["figures"]["steps"] == 1
    first, other = losses(tmp_path / "packed")[0][1], losses(tmp_path / "padded")[0][1]
    assert first == pytest.approx(other, abs=1e-5)


def test_weights_count(tiny: Path, dataset: Path) -> None:
    prompt = JudgePrompt.of(tiny)
    rows = tokenize_questions(
        read_questions(dataset, "train", QuestionConfig(random_questions=0), 1)[:4], prompt
    )
    batch = WeightedCollator(pad_token_id=0, padding_free=True)(rows)
    model = load_model(base_models.resolve_source(str(tiny)), AdapterOptions(adapter="none")).requires_grad_(
        False
    )
    by_hand, count = 0.0, 0
    for row in rows:
        ids, labels = torch.tensor([row["input_ids"]]), torch.tensor(row["labels"][1:])
        each = cross_entropy(model(input_ids=ids).logits[0, :-1], labels, reduction="none")
        by_hand += row["weight"] * float(each.sum())
        count += int((labels != -100).sum())
    assert len({row["weight"] for row in rows}) == 2
    labels, weights = batch["labels"][0, 1:], batch["token_weights"][0, 1:]
    model.set_attn_implementation(packed.NAME)
    places = (labels != -100).nonzero()[:, 0]
    logits = model(
        input_ids=batch["input_ids"], position_ids=batch["position_ids"], cu_seq_lens_q=batch["cu_seq_lens_q"],
        logits_to_keep=places, use_cache=False,
    ).logits[0]  # fmt: skip
    each = cross_entropy(logits, labels[places], reduction="none")
    assert float((each * weights[places]).sum()) == pytest.approx(by_hand, rel=1e-5)
    assert len(places) == count


def test_it_learns_and_says_where_it_comes_from(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    run(
        config(
            tiny, dataset, tmp_path / "full", steps=30, eval_steps=30, adapters=AdapterOptions(adapter="none")
        )
    )
    told = losses(tmp_path / "full")
    assert np.mean([loss for _, loss in told[-5:]]) < 0.5 * told[0][1]
    assert base_models.resolve_source(str(tmp_path / "full")).adapter is None
    out = tmp_path / "judge"
    manifest = run(config(tiny, dataset, out, adapters=AdapterOptions(rank=8)))
    assert manifest["base"]["sha256"] == base_models.weights_sha256(tiny)
    assert manifest["data"]["dataset"]
    assert manifest["config"]["seed"] == 1
    assert not list(out.glob("checkpoint-*"))
    source = base_models.resolve_source(str(out))
    assert source.base.folder == tiny
    assert load_model(source, AdapterOptions(), trainable=False).peft_config["default"].r == 8
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run(config(tiny, dataset, out))


def test_a_stopped_run_goes_on_bit_for_bit(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    """Stopped by an error in the middle of an epoch, taken up from the checkpoint before it."""
    running = RunOptions(threads=1, precision="fp32", device="cpu", checkpoint_steps=2)
    whole = config(tiny, dataset, tmp_path / "whole", steps=9, running=running)
    run(whole)
    from dialint.finetune.train import hf_trainer

    stopped = config(tiny, dataset, tmp_path / "stopped", steps=9, running=running)
    ended = hf_trainer.TrainingCallback.on_step_end

    def breaks(
        self: hf_trainer.TrainingCallback, args: object, state: object, control: object, **kw: object
    ) -> object:
        if state.global_step == 5:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return ended(self, args, state, control, **kw)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hf_trainer.TrainingCallback, "on_step_end", breaks)
        with pytest.raises(KeyboardInterrupt):
            run(stopped)
    assert (tmp_path / "stopped" / "checkpoint-4").exists()
    run(stopped)
    assert losses(tmp_path / "stopped") == losses(tmp_path / "whole")
    ours, theirs = (load_file(tmp_path / name / adapter_files.ADAPTER) for name in ("stopped", "whole"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("more", [{"epochs": 0.0}, {"adapters": {"rank": 0}}, {"prompt_tokens": 3}])
def test_what_cannot_be_is_refused(tiny: Path, dataset: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    def start() -> None:
        options = {"adapters": AdapterOptions(**more["adapters"])} if "adapters" in more else more
        run(config(tiny, dataset, tmp_path, **options))

    with pytest.raises(ConfigError, match="E_OPTION"):
        start()
