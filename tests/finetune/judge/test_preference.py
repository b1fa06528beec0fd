"""DPO: the preferred answer becomes more probable against the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.detector.engines import base_models
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.eval.questions import QuestionConfig, read_questions
from dialint.finetune.judge import grpo, preference
from dialint.finetune.judge.preference import PreferConfig, run
from dialint.finetune.rewards.pairs import read_pairs
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions


@pytest.mark.slow
def test_what_is_preferred_becomes_more_probable(
    tiny: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = PreferConfig(
        dataset=dataset,
        model=str(tiny),
        out=tmp_path,
        steps=10,
        pairs=4,
        learning_rate=1e-2,
        question_config=QuestionConfig(random_questions=1, limit=12),
        adapters=AdapterOptions(rank=4),
        running=RunOptions(threads=1, precision="fp32", device="cpu"),
    )
    manifest = run(config)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    margins = [row["rewards/margins"] for row in rows if "rewards/margins" in row]
    assert abs(margins[0]) < 0.05  # nothing learnt, nothing preferred
    assert sum(margins[-3:]) / 3 > 0.1
    assert manifest["kind"] == "judge"


HYBRID = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['role'] == 'assistant' and loop.last %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{{ m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""As hybrid Qwen3 models write: a finished answer gets a block of thoughts, also where there are none."""
ENDS_WITH_A_LINE = (
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + eos_token + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
FORGETS_THE_LAST_MARK = (
    "{% for m in messages %}{{ m['role'] + ':' + m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:\n' }}{% endif %}"
)


@pytest.mark.parametrize("template", [HYBRID, ENDS_WITH_A_LINE, FORGETS_THE_LAST_MARK])
def test_what_is_learnt_is_what_is_asked_and_scored(
    tiny: Path, dataset: Path, tmp_path: Path, template: str
) -> None:
    """The token ids that reach the model, whatever the chat template makes of a finished answer."""
    question_config = QuestionConfig(random_questions=1)
    config = PreferConfig(
        dataset=dataset, model=str(tiny), out=tmp_path, pairs=2, question_config=question_config,
        running=RunOptions(threads=1, precision="fp32", device="cpu"),
    )  # fmt: skip
    prompt = JudgePrompt.of(tiny)
    prompt.tokenizer.chat_template = template
    pairs = read_pairs(dataset, "train", question_config, 1)[:3]
    model = load_model(base_models.resolve_source(str(tiny)), AdapterOptions(rank=4))
    trainer = preference._build_trainer(config, model, prompt, pairs)
    asked = [prompt.ids(pair.question, pair.code) for pair in pairs for _ in "12"]
    answers = [prompt.answer_ids(text) for pair in pairs for text in (pair.chosen, pair.rejected)]
    rows = [trainer.train_dataset[place] for place in range(len(trainer.train_dataset))]
    batch = trainer.data_collator(rows)
    order = [0, 2, 4, 1, 3, 5]
    ids, mask, wanted = batch["input_ids"], batch["attention_mask"].bool(), batch["completion_mask"].bool()
    for row, place in enumerate(order):
        assert ids[row][mask[row]].tolist() == [*asked[place], *answers[place]]
        assert ids[row][wanted[row]].tolist() == answers[place]


def test_questions_of_rewarded_groups_are_those_of_the_judge(
    tiny: Path, dataset: Path, tmp_path: Path
) -> None:
    config = grpo.GrpoConfig(
        dataset=dataset, model=str(tiny), out=tmp_path, questions=2, answers=2,
        running=RunOptions(threads=1, precision="fp32", device="cpu"),
    )  # fmt: skip
    prompt = JudgePrompt.of(tiny)
    prompt.tokenizer.chat_template = HYBRID
    asked = read_questions(dataset, "train", QuestionConfig(random_questions=1), 1)[:3]
    model = load_model(base_models.resolve_source(str(tiny)), AdapterOptions(rank=4))
    trainer = grpo._build_trainer(config, model, prompt, asked, reward_function=None)  # type: ignore[arg-type]
    found = trainer._tokenize_prompts([row["prompt"] for row in trainer.train_dataset])[0]
    assert found == [prompt.ids(item.question, item.code) for item in asked]


def test_pairs_that_cannot_be_divided_are_refused(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--accumulate must divide --pairs"):
        PreferConfig(
            dataset=dataset,
            model=str(tiny),
            out=tmp_path / "judge",
            pairs=4,
            accumulate=3,
        )
