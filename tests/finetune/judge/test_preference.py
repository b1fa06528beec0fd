"""DPO: the preferred answer becomes more probable against the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from judge_fixtures import RUNNING
from resuming import figures

from dialint.detector.engines import base_models
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import SelectionConfig
from dialint.finetune.judge import preference
from dialint.finetune.judge.preference import PreferConfig, run
from dialint.finetune.rewards.pairs import read_pairs
from dialint.finetune.train.adapters import AdapterOptions, load_model


@pytest.mark.slow
def test_what_is_preferred_becomes_more_probable(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    config = PreferConfig(
        dataset=dataset, base=str(tiny), out=tmp_path, steps=4, pairs=6, learning_rate=1e-2,
        selection=SelectionConfig(limit=3), adapters=AdapterOptions(rank=4), running=RUNNING,
    )  # fmt: skip
    manifest = run(config)
    margins = figures(tmp_path, "rewards/margins")  # of all six pairs: other pairs prefer other answers
    assert abs(margins[0]) < 0.05  # nothing learnt, nothing preferred
    assert margins == sorted(margins)
    assert margins[-1] > 0.5
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
def test_prompts_and_answers_are_those_of_scoring(
    tiny: Path, dataset: Path, tmp_path: Path, template: str
) -> None:
    """The token ids that reach the model, whatever the chat template makes of a finished answer."""
    config = PreferConfig(dataset=dataset, base=str(tiny), out=tmp_path, pairs=2, running=RUNNING)
    prompt = JudgePrompt.of(tiny, "short", 2048)
    prompt.tokenizer.chat_template = template
    reader = prompt.reader(load_taxonomy())
    pairs = read_pairs(dataset, "train", SelectionConfig(limit=6), reader, 1)[:3]
    model = load_model(base_models.resolve_source(str(tiny)), AdapterOptions(rank=4))
    trainer = preference._build_trainer(config, model, prompt, pairs)
    prompts = [prompt.of_chat(pair.item.question.messages) for pair in pairs for _ in "12"]
    answers = [prompt.answer_ids(text) for pair in pairs for text in (pair.chosen, pair.rejected)]
    rows = [trainer.train_dataset[place] for place in range(len(trainer.train_dataset))]
    batch = trainer.data_collator(rows)
    order = [0, 2, 4, 1, 3, 5]
    ids, mask, wanted = batch["input_ids"], batch["attention_mask"].bool(), batch["completion_mask"].bool()
    for row, place in enumerate(order):
        assert ids[row][mask[row]].tolist() == [*prompts[place], *answers[place]]
        assert ids[row][wanted[row]].tolist() == answers[place]


def test_pairs_that_cannot_be_divided_are_refused(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--accumulate must divide --pairs"):
        PreferConfig(dataset=dataset, base=str(tiny), out=tmp_path / "judge", pairs=4, accumulate=3)
