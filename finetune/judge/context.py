"""How every stage of the judge begins and ends: what it starts from, how it asks, whose job it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import find_set, list_sets
from dialint.finetune.base_models import loading
from dialint.finetune.train import lineage
from dialint.finetune.train.memory import (
    ForwardPass,
    count_weights,
    memory_table,
    parse_gpu_memory,
    setup_from_options,
)

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.eval.questions import LabelledQuestion
    from dialint.finetune.rewards.pairs import PreferencePair

TaskType = Literal["CAUSAL_LM", "SEQ_CLS"]
REWARD_MODEL = "reward_model"
"""Under which name the figures of a judge have those of the reward model that aligned it."""


@dataclass(frozen=True)
class StageContext:
    """A stage that may go on: its config, the base with its adapter, how questions are written, the hash of
    each input, and what checkpoints belong to."""

    config: Any
    source: loading.ModelSource
    prompt: JudgePrompt
    data: dict[str, str]
    job: str
    kind: TaskType

    def asked(self, split: str, dialogues: int | None = None) -> list[LabelledQuestion]:
        """The questions of a split, of at most so many source `dialogues` where that is said.

        Raises:
            ConfigError: E_EXAMPLE, it holds none.
        """
        from dialint.eval.questions import read_questions

        return self._some(read_questions, "question", split, dialogues)

    def pairs(self, split: str) -> list[PreferencePair]:
        """Its pairs of answers.

        Raises:
            ConfigError: E_EXAMPLE, it holds none.
        """
        from dialint.finetune.rewards.pairs import read_pairs

        return self._some(read_pairs, "pair", split)

    def _some(
        self, read: Callable[..., list[Any]], what: str, split: str, dialogues: int | None = None
    ) -> list[Any]:
        config = self.config
        limits = [limit for limit in (config.asking.limit, dialogues) if limit is not None]
        asking = replace(config.asking, limit=min(limits, default=None))
        found = read(config.dataset, split, asking, config.running.seed)
        if not found:
            raise ConfigError("E_EXAMPLE", f"{config.dataset}: holds no {what} in {split}")
        return found

    def model(self) -> Any:
        """The model, ready to learn; new weights of it follow from the seed."""
        import torch

        from dialint.finetune.train.arguments import is_sharded, loading_device, uses_bf16

        running = self.config.running
        torch.manual_seed(running.seed)
        return loading.load_model(
            self.source,
            self.config.adapters,
            kind=self.kind,
            device=loading_device(running),
            bf16=uses_bf16(running) and not is_sharded(),  # FSDP wants weights of one type
        )

    def save(
        self, kind: str, model: Any, figures: dict[str, Any], weights: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Seal what came of it; the manifest. `weights` as `loading.save` takes them. Where a reward model
        had a say, what it gets right stands there too, beside what the answers alone tell."""
        from dialint.finetune.judge.model_folder import save_model as save

        reward = getattr(self.config, "reward", None)
        if reward is not None:
            told = read_manifest(reward / loading.MANIFEST)["figures"]
            figures = {**figures, REWARD_MODEL: told.get("held_out", {})}
        return save(self.config, kind, model, self.prompt, self.source, self.data, figures, weights)


def prepare(config: Any, kind: TaskType = "CAUSAL_LM", **inputs: Path | None) -> StageContext:
    """Look at base and inputs before any work is done. A config that has `detail` says how it asks; others
    ask as the judge was taught. A reward model (SEQ_CLS) builds on the judge's base, not on its adapter.

    Raises:
        ConfigError: E_BASE, E_ADAPTER or E_JUDGE: nothing that loads, or taught in other words.
        SystemExit: 0, after the plan for a GPU that is not here was printed (`gpu_plan`).
    """
    import torch

    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.judge.model_folder import judge_source, load_prompt

    torch.set_num_threads(config.running.threads)
    named = {"dataset": config.dataset, **inputs}
    data = {name: lineage.data_fingerprint(path) for name, path in named.items() if path is not None}
    source = loading.resolve_source(config.model).alone() if kind == "SEQ_CLS" else judge_source(config.model)
    if source.adapter is not None:
        data["judge"] = lineage.data_fingerprint(source.adapter)
    if hasattr(config, "detail"):
        prompt = JudgePrompt.of(loading.tokenizer_folder(source), config.detail, config.prompt_tokens)
    else:
        prompt = load_prompt(source)
    gpu = parse_gpu_memory(config.running.device)
    if gpu is not None:
        print(_gpu_plan(config, source, prompt, kind, gpu))
        sys.exit(0)
    return StageContext(config, source, prompt, data, lineage.job_of_config(config, data, source), kind)


def _gpu_plan(config: Any, source: loading.ModelSource, prompt: JudgePrompt, kind: TaskType, gpu: int) -> str:
    """What the stage would take of a GPU of `gpu` bytes."""
    from dialint.detector.engines.judge_local import MAX_ANSWER_TOKENS
    from dialint.finetune.rewards.reward_model import has_same_base

    method = getattr(config, "method", config)
    answer = getattr(method, "answer_tokens", getattr(config, "answer_tokens", MAX_ANSWER_TOKENS))
    rows, drawn = config.answers_at_once, getattr(config, "answers_drawn", 0)
    work = ForwardPass(
        rows, prompt.max_tokens + answer, rows * answer if kind == "CAUSAL_LM" else rows, drawn
    )
    copies, extra = int(drawn > 0), 0
    if getattr(config, "reward", None) is not None:
        reward = loading.resolve_source(str(config.reward))
        own = setup_from_options(reward.base.folder, "SEQ_CLS", config.adapters, config.running, work)
        sizes = count_weights(own)
        extra = 4 * sizes.n_trained
        if config.adapters.adapter == "none" or not has_same_base(source, reward):
            extra += sizes.frozen_bytes
    way = setup_from_options(source.base.folder, kind, config.adapters, config.running, work, copies, extra)
    return memory_table(way, gpu)


def validate_config(config: Any, *needed: str) -> None:
    """What no stage can be; `needed` are the sets that it reads of its data set.

    Raises:
        OutputRefused: `out` holds a finished model.
        ConfigError: E_OPTION; E_EXAMPLE, the data set lacks something.
    """
    if not config.dataset.exists():
        makers = "`dialint export dataset` or `dialint data inject` makes one"
        raise ConfigError("E_OPTION", f"--dataset {config.dataset}: no such file or folder; {makers}")
    if config.dataset.is_dir():
        missing = [name for name in needed if find_set(config.dataset, name) is None]
        missing += [] if (config.dataset / "manifest.json").is_file() else ["manifest.json"]
        if missing:
            has = ", ".join(list_sets(config.dataset)) or "no set of examples"
            raise ConfigError(
                "E_EXAMPLE",
                f"--dataset {config.dataset}: lacks {', '.join(missing)}; it has {has}. `dialint export "
                "dataset` makes one of people's labels, `dialint data inject` one of made errors",
            )
    if (config.out / loading.MANIFEST).exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a finished model already; name another folder")
    config.adapters.refuse()
    config.running.refuse()
    if not config.asking.random_questions >= 0:
        raise ConfigError("E_OPTION", "--random-questions must not be negative")
