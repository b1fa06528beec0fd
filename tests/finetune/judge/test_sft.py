"""The judge learns by example: rows and their loss, resuming, what it answers, and what is left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from resuming import assert_same_weights, figures, interrupted
from rude_dialogues import written
from torch.nn.functional import cross_entropy

from dialint.detector.engines import adapter_files, base_models
from dialint.detector.engines.judge_local import load_judge
from dialint.detector.engines.judge_prompt import JudgePrompt, load_prompt
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.judge.engine import JudgeReply
from dialint.detector.judge.reading import format_reading
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import SelectionConfig, ask_about, read_labelled, target_reading
from dialint.finetune.judge.sft import SftJudgeConfig, run
from dialint.finetune.judge.trl_trainers import evaluate_answers, tokenize_questions
from dialint.finetune.train import hf_trainer
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions, ScheduleOptions


def config(tiny: Path, dataset: Path, out: Path, **more: object) -> SftJudgeConfig:
    schedule = {"steps": 6, "eval_steps": 3}
    schedule |= {name: more.pop(name) for name in ("steps", "eval_steps", "epochs") if name in more}  # type: ignore[misc]
    options = {
        "questions": 1, "learning_rate": 1e-2, "dev_questions": 4, "dev_answers": 0,
        "learning": ScheduleOptions(**schedule),
        "running": RunOptions(threads=1, precision="fp32", device="cpu"), **more,
    }  # fmt: skip
    return SftJudgeConfig(dataset=dataset, base=str(tiny), out=out, **options)  # type: ignore[arg-type]


def test_the_loss_is_the_mean_over_the_tokens_of_answers(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    """Of the first step, whose batch is the whole split, and by hand."""
    selection = SelectionConfig(limit=4)
    run(config(tiny, dataset, tmp_path, steps=1, questions=4, selection=selection))
    prompt = JudgePrompt.of(tiny, "short", 2048)
    labelled = read_labelled(dataset, "train", selection, 1)
    questions = ask_about(labelled, prompt.reader(load_taxonomy()))
    model = load_model(base_models.resolve_source(str(tiny)), AdapterOptions(adapter="none"), trainable=False)
    total, n_tokens = 0.0, 0
    model.requires_grad_(False)
    for item, row in zip(questions, tokenize_questions(questions, prompt), strict=True):
        answer = prompt.answer_ids(format_reading(target_reading(item)))
        ids = [*prompt.of_chat(item.question.messages), *answer]
        assert row["input_ids"] == ids
        logits = model(input_ids=torch.tensor([ids])).logits[0, -len(answer) - 1 : -1]
        total += float(cross_entropy(logits, torch.tensor(answer), reduction="sum"))
        n_tokens += len(answer)
    assert figures(tmp_path, "loss") == [pytest.approx(total / n_tokens, abs=1e-4)]
    one_by_one = {"steps": 4, "questions": 1, "learning_rate": 1e-12, "selection": selection}
    run(config(tiny, dataset, tmp_path / "one", **one_by_one))
    assert np.mean(figures(tmp_path / "one", "loss")) == pytest.approx(total / n_tokens, abs=1e-4)


def test_it_learns_and_writes_its_prompt(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    full, whole = tmp_path / "full", AdapterOptions(adapter="none")
    run(config(tiny, dataset, full, steps=12, eval_steps=12, questions=2, adapters=whole))
    losses = figures(full, "loss")
    assert np.mean(losses[-3:]) < 0.7 * losses[0]
    assert len(figures(full, "eval_loss")) == 1
    assert base_models.resolve_source(str(full)).adapter is None
    out = tmp_path / "judge"
    manifest = run(config(tiny, dataset, out, steps=2, dev_answers=2, adapters=AdapterOptions(rank=8)))
    assert manifest["base"]["sha256"] == base_models.weights_sha256(tiny)
    assert manifest["data"]["dataset"]
    assert manifest["config"]["seed"] == 1
    assert manifest["figures"]["last"].keys() >= {"eval_loss", "eval_f05", "eval_readable"}
    assert not list(out.glob("checkpoint-*"))
    source = base_models.resolve_source(str(out))
    assert source.base.folder == tiny
    prompt = load_prompt(source)
    assert (prompt.detail, prompt.codes) == ("short", ("T1",))
    assert prompt.max_tokens == 1536  # of the 2048 positions, beside an answer
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run(config(tiny, dataset, out))


def test_dev_answers_are_compared_with_the_labels(
    tiny: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = load_judge(str(tiny))
    labelled = read_labelled(dataset, "test", SelectionConfig(), 1)
    questions = ask_about(labelled, judge.prompt.reader(load_taxonomy()))
    right = [format_reading(target_reading(item)) for item in questions]
    assert sum(bool(item.truths) for item in questions) == 4
    for answers, recall in ((right, 1.0), ([*right[:4], *["no JSON"] * 4], 0.5)):
        monkeypatch.setattr(judge, "ask", lambda _, own=answers: [JudgeReply(text=text) for text in own])
        figures = evaluate_answers(judge, questions)
        assert (figures["recall"], figures["readable"]) == (recall, recall)
        assert figures["precision"] == 1.0


def test_a_stopped_run_resumes_bit_for_bit(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    """Stopped by an error in the middle of an epoch, resumed from the checkpoint before it."""
    running = RunOptions(threads=1, precision="fp32", device="cpu", checkpoint_steps=2)
    whole = config(tiny, dataset, tmp_path / "whole", steps=5, running=running)
    run(whole)
    stopped = config(tiny, dataset, tmp_path / "stopped", steps=5, running=running)
    with interrupted(hf_trainer.TrainingCallback, "on_step_end", 3):
        run(stopped)
    assert (tmp_path / "stopped" / "checkpoint-2").exists()
    run(stopped)
    for name in ("loss", "eval_loss"):
        assert figures(tmp_path / "stopped", name) == figures(tmp_path / "whole", name)
    assert_same_weights(*(each.out / adapter_files.ADAPTER for each in (stopped, whole)))


@pytest.mark.parametrize("more", [{"epochs": 0.0}, {"prompt_tokens": 3}, {"prompt_tokens": 300}])
def test_impossible_options_are_refused(
    tiny: Path, dataset: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="E_OPTION"):
        run(config(tiny, dataset, tmp_path, **more))


def test_codes_without_room_are_refused(tiny: Path, tmp_path: Path) -> None:
    """A family of codes that is not divided takes more than the prompt."""
    codes = tuple(code for code in load_taxonomy().codes if code[0] in "CUMRET")
    (tmp_path / "data").mkdir()
    dataset = written(tmp_path / "data", lambda _: 1.0, codes)
    with pytest.raises(ConfigError, match=r"E_OPTION: prompts of 1400 tokens have no room for C1 .*U5:"):
        run(config(tiny, dataset, tmp_path, prompt_tokens=1400, selection=SelectionConfig(codes=codes)))
