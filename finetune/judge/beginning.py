"""How every stage of the judge begins and ends: what it starts from, how it asks, whose job it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from detector.artifacts import read_manifest
from detector.errors import ConfigError, OutputRefused
from finetune.base_models import bases
from finetune.training import lineage

if TYPE_CHECKING:
    from detector.engines.judge_prompt import JudgePrompt
    from eval.questions import Asked
    from finetune.judge.rewarding.pairs import Pair

Kind = Literal["CAUSAL_LM", "SEQ_CLS"]
REWARD_MODEL = "reward_model"
"""Under which name the figures of a judge have those of the reward model that aligned it."""


@dataclass(frozen=True)
class Begun:
    """A stage that may go on: its config, the base with its adapter, how questions are written, the hash of
    each input, and what checkpoints belong to."""

    config: Any
    source: bases.Source
    prompt: JudgePrompt
    data: dict[str, str]
    job: str
    kind: Kind

    def asked(self, split: str) -> list[Asked]:
        """The questions of a split.

        Raises:
            ConfigError: E_EXAMPLE, it holds none.
        """
        from eval.questions import read_asked

        return self._some(read_asked, "question", split)

    def pairs(self, split: str) -> list[Pair]:
        """Its pairs of answers.

        Raises:
            ConfigError: E_EXAMPLE, it holds none.
        """
        from finetune.judge.rewarding.pairs import read_pairs

        return self._some(read_pairs, "pair", split)

    def _some(self, read: Callable[..., list[Any]], what: str, split: str) -> list[Any]:
        config = self.config
        found = read(config.dataset, split, config.asking, config.running.seed)
        if not found:
            raise ConfigError("E_EXAMPLE", f"{config.dataset}: holds no {what} in {split}")
        return found

    def model(self) -> Any:
        """The model, ready to learn; new weights of it follow from the seed."""
        import torch

        from finetune.training.arguments import loading_device

        torch.manual_seed(self.config.running.seed)
        device = loading_device(self.config.running)
        return bases.load(self.source, self.config.adapters, kind=self.kind, device=device)

    def save(
        self, kind: str, model: Any, figures: dict[str, Any], weights: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Seal what came of it; the manifest. `weights` as `bases.save` takes them. Where a reward model had
        a say, what it gets right stands there too, beside what the answers alone tell."""
        from finetune.judge.result import save

        reward = getattr(self.config, "reward", None)
        if reward is not None:
            told = read_manifest(reward / bases.MANIFEST)["figures"]
            figures = {**figures, REWARD_MODEL: told.get("held_out", {})}
        return save(self.config, kind, model, self.prompt, self.source, self.data, figures, weights)


def begin(config: Any, kind: Kind = "CAUSAL_LM", **inputs: Path | None) -> Begun:
    """Look at base and inputs before any work is done. A config that has `detail` says how it asks; others
    ask as the judge was taught. A reward model (SEQ_CLS) builds on the judge's base, not on its adapter.

    Raises:
        ConfigError: E_BASE, E_ADAPTER or E_JUDGE: nothing that loads, or taught in other words.
    """
    import torch

    from detector.engines.judge_prompt import JudgePrompt
    from finetune.judge.result import judge_of, prompt_of

    torch.set_num_threads(config.running.threads)
    named = {"dataset": config.dataset, **inputs}
    data = {name: lineage.data_id(path) for name, path in named.items() if path is not None}
    source = bases.source_of(config.model).alone() if kind == "SEQ_CLS" else judge_of(config.model)
    if source.adapter is not None:
        data["judge"] = lineage.data_id(source.adapter)
    if hasattr(config, "detail"):
        prompt = JudgePrompt.of(bases.tokenizer_folder(source), config.detail, config.prompt_tokens)
    else:
        prompt = prompt_of(source)
    return Begun(config, source, prompt, data, lineage.job_of(config, data, source), kind)


def refuse_begun(config: Any) -> None:
    """What no stage can be.

    Raises:
        OutputRefused: `out` holds a finished model.
        ConfigError: E_OPTION.
    """
    if (config.out / bases.MANIFEST).exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a finished model already; name another folder")
    config.adapters.refuse()
    config.running.refuse()
    if not config.asking.random_questions >= 0:
        raise ConfigError("E_OPTION", "--random-questions must not be negative")
