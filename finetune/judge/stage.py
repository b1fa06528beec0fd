"""Steps that all stages of the judge share, before and after training: validate, resolve the base, plan its
memory, read data, save the model folder with its card. `detector.engines.judge_local` loads that folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dialint.detector.artifacts import (
    MANIFEST,
    data_fingerprint,
    require_new,
    write_json,
)
from dialint.detector.engines.base_models import ModelSource, resolve_source, tokenizer_folder
from dialint.detector.environment import sharding
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import require_set
from dialint.detector.judge.config import PROMPT_FILE, TrainedPrompt
from dialint.detector.judge.prompt import PROMPT_VERSION
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import (
    LabelledQuestion,
    SelectionConfig,
    ask_about,
    read_labelled,
    requested_codes,
)
from dialint.finetune.rewards.reward_function import reward_fingerprint, reward_folder
from dialint.finetune.train import adapters, checkpoint, lineage
from dialint.finetune.train.memory import TrainingSetup, count_weights, print_plan

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.rewards.pairs import PreferencePair

T = TypeVar("T")
TaskType = Literal["CAUSAL_LM", "SEQ_CLS"]
"""peft's task types: a judge, or a reward model."""
CARD = Path(__file__).with_name("MODEL_CARD.md.jinja")
TARGET_TOKENS = 400
"""Tokens of a target answer, for the plan of memory: some six errors."""


@dataclass(frozen=True)
class StageContext:
    """A stage with validated inputs: its config, its dialogues and codes, the base with its adapter, the
    prompt, the fingerprint of each input, and the job of its checkpoints."""

    config: Any
    selection: SelectionConfig
    source: ModelSource
    prompt: JudgePrompt
    inputs: dict[str, str]
    job: str
    task_type: TaskType

    def read_questions(self, split: str) -> list[LabelledQuestion]:
        """Reads the questions of a split.

        Raises:
            ConfigError: E_EXAMPLE, there are none; E_OPTION, codes do not fit into a prompt.
        """
        labelled = read_labelled(self.config.dataset, split, self.selection, self.config.running.seed)
        questions = ask_about(labelled, self.prompt.reader(load_taxonomy(self.selection.taxonomy)))
        codes = {code for item in questions for code in item.question.codes}
        if lacking := sorted({code for item in labelled for code in item.codes} - codes):
            raise ConfigError(
                "E_OPTION",
                f"prompts of {self.prompt.max_tokens} tokens have no room for {' '.join(lacking)}: name "
                "other codes with --codes, or a base with a longer context and more --prompt-tokens",
            )
        return self._require(questions, "question", split)

    def read_pairs(self, split: str) -> list[PreferencePair]:
        """Reads the preference pairs of a split.

        Raises:
            ConfigError: E_EXAMPLE, there are none.
        """
        from dialint.finetune.rewards.pairs import read_pairs

        reader = self.prompt.reader(load_taxonomy(self.selection.taxonomy))
        pairs = read_pairs(self.config.dataset, split, self.selection, reader, self.config.running.seed)
        return self._require(pairs, "pair", split)

    def _require(self, items: list[T], noun: str, split: str) -> list[T]:
        if not items:
            raise ConfigError("E_EXAMPLE", f"{self.config.dataset}: holds no {noun} in {split}")
        return items

    def load_model(self) -> Any:
        """Loads the model for training; the seed determines its new weights."""
        import torch

        running = self.config.running
        torch.manual_seed(running.seed)
        return adapters.load_model(
            self.source,
            self.config.adapters,
            kind=self.task_type,
            device="cpu" if sharding() else running.resolve_device(),
            bf16=running.uses_bf16(),
        )

    def save(self, kind: str, model: Any, figures: dict[str, Any]) -> dict[str, Any]:
        """Saves and seals the result, and returns its manifest."""
        return save_judge(self.config, kind, model, self.prompt, self.source, self.inputs, figures)


def prepare(
    config: Any, *splits: str, rows: int, sampled: int = 0, task_type: TaskType = "CAUSAL_LM"
) -> StageContext:
    """Validates the options and the `splits` that the stage reads, resolves the base and fingerprints the
    inputs before any work is done; in a dry run prints the memory, for `rows` questions with their answers in
    a forward pass and `sampled` answers at once. A config with `detail` determines the prompt; otherwise
    prompt and, by default, codes are those that the judge was trained with. A reward model (SEQ_CLS) is
    trained from the judge's base without its adapter.

    Raises:
        OutputRefused: E_EXISTS, `out` has a finished model.
        ConfigError: E_OPTION; E_EXAMPLE, the data set lacks something; E_BASE, E_ADAPTER or E_JUDGE, nothing
            that loads, or trained with another prompt version; E_CODE, unknown codes or none.
        SystemExit: 0, after the memory was printed in a dry run.
    """
    for split in splits:
        require_set(config.dataset, split)
    require_new(config.out, MANIFEST, "a finished model")
    config.adapters.validate()
    config.running.validate()
    import torch

    from dialint.detector.engines.judge_prompt import JudgePrompt, base_room, load_prompt, resolve_judge

    torch.set_num_threads(config.running.threads)
    fingerprints = {"dataset": data_fingerprint(config.dataset)}
    if getattr(config, "reward", None) is not None:
        fingerprints["reward"] = reward_fingerprint(config.reward)
    is_reward = task_type == "SEQ_CLS"
    source = resolve_source(config.base).alone() if is_reward else resolve_judge(config.base)
    if source.adapter is not None:
        fingerprints["judge"] = data_fingerprint(source.adapter)
    if hasattr(config, "detail"):
        prompt = JudgePrompt.of(tokenizer_folder(source), config.detail, config.prompt_tokens)
    else:
        prompt = load_prompt(source)
    prompt = replace(prompt, max_tokens=base_room(source, prompt.max_tokens))
    if config.running.dry_run:
        _print_memory(config, source, prompt, task_type, rows, sampled)
        sys.exit(0)
    codes = requested_codes(config.dataset, "train", config.selection)
    if prompt.codes and not config.selection.codes:
        codes = tuple(code for code in codes if code in prompt.codes)
        if not codes:
            raise ConfigError("E_CODE", f"{config.dataset}: labels none of the codes of {config.base}")
    selection = replace(config.selection, codes=codes)
    prompt = replace(prompt, codes=prompt.codes or codes)
    job = lineage.job_of_config(config, fingerprints, source)
    return StageContext(config, selection, source, prompt, fingerprints, job, task_type)


def _print_memory(
    config: Any, source: ModelSource, prompt: JudgePrompt, task_type: TaskType, rows: int, sampled: int
) -> None:
    answer_tokens = getattr(getattr(config, "options", config), "answer_tokens", TARGET_TOKENS)
    setup = TrainingSetup(
        source.base.folder,
        task_type,
        config.adapters,
        config.running,
        rows,
        prompt.max_tokens + answer_tokens,
        rows * (answer_tokens if task_type == "CAUSAL_LM" else 1),
        sampled,
    )
    reward = reward_folder(getattr(config, "reward", None))
    if reward is not None:
        folder = resolve_source(str(reward)).base.folder
        weights = count_weights(replace(setup, folder=folder, kind="SEQ_CLS"))
        setup = replace(setup, extra=4 * weights.n_trained + weights.frozen_bytes)
    print_plan(setup)


def save_judge(
    config: Any,
    kind: str,
    model: Any,
    prompt: JudgePrompt,
    source: ModelSource,
    inputs: dict[str, str],
    figures: dict[str, Any],
) -> dict[str, Any]:
    """Writes model, tokenizer, prompt settings, card and last the manifest, removes the checkpoints, and
    returns the manifest. Of several processes the first one writes, and the others get an empty manifest."""
    from accelerate import PartialState

    from dialint.finetune.train.distributed import gather_weights
    from dialint.finetune.train.metrics_log import flatten

    weights = gather_weights(model)
    if not PartialState().is_main_process:
        return {}
    out: Path = config.out
    with checkpoint.write_errors(out):
        adapters.save_model(model, out, source, weights)
        prompt.tokenizer.save_pretrained(out)
        trained = TrainedPrompt(
            prompt=PROMPT_VERSION,
            detail=prompt.detail,
            prompt_tokens=prompt.max_tokens,
            codes=prompt.codes,
        )
        write_json(out / PROMPT_FILE, trained.model_dump(mode="json"))
        content = lineage.manifest_content(kind, config, source, inputs, figures)
        public = {name: value for name, value in figures.items() if name != "private"}
        flat = {name.replace("/", " "): f"{round(value, 4):.10g}" for name, value in flatten(public)}
        card = lineage.render_template(CARD, name=out.name, flat_figures=flat, **content)
        (out / "README.md").write_text(card)
    manifest = lineage.seal_folder(out, content)
    checkpoint.remove_except(out)
    return manifest
