"""`local:`, the LLM judge in this process with transformers: answers under the JSON schema of each request.

What prompts have in common, as the system message of thousands of tokens, is computed once (`generation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from dialint.detector.artifacts import MANIFEST, fingerprint, package_versions, read_manifest
from dialint.detector.engines.base_models import load_adapter, load_base_model
from dialint.detector.engines.generation import JsonGrammar, JsonMatcher, write_answers
from dialint.detector.engines.judge_prompt import (
    MAX_PROMPT_TOKENS,
    JudgePrompt,
    load_prompt,
    prompt_room,
    resolve_judge,
)
from dialint.detector.engines.local import resolve_device
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import (
    MIN_ANSWER_TOKENS,
    JudgeEngine,
    JudgeReply,
    JudgeRequest,
    answer_twice,
)

CUDA_PROMPT_TOKENS = 32_768
"""Most tokens of a prompt on a GPU; on a processor `MAX_PROMPT_TOKENS`, as longer ones take too long."""
CPU_BYTES, CUDA_SHARE = 2**30, 0.4
"""Memory for the keys and values of prompts that are answered side by side: bytes, and a share of what is
free on a GPU."""


@dataclass(eq=False)
class LocalJudge:
    """A causal language model (with or without adapters) that answers questions; a `JudgeEngine`. `weights`
    is the fingerprint of its files."""

    model: Any
    prompt: JudgePrompt
    _: KW_ONLY
    bf16: bool = False
    name: str = ""
    weights: str = ""
    max_prompt_tokens: int = MAX_PROMPT_TOKENS
    is_remote = False
    notes = ()

    @property
    def fingerprint(self) -> str:
        """Hash of weights, chat template, precision and libraries."""
        versions = package_versions("torch", "transformers", "llguidance")
        return fingerprint([self.weights, str(self.prompt.tokenizer.chat_template), versions, self.bf16])

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return self.prompt.count_tokens(messages)

    def spell(self, text: str) -> str:
        return self.prompt.spelling(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """See `JudgeEngine.ask`; E_CONTEXT, one that does not fit; E_ANSWER, one without a usable answer."""
        return answer_twice(requests, self._answer)

    def _answer(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        prompts = [self.prompt.of_chat(request.messages) for request in requests]
        room = [self._context - len(prompt) for prompt in prompts]
        fitting = [index for index in range(len(prompts)) if room[index] >= MIN_ANSWER_TOKENS]
        replies = [JudgeReply(failure="E_CONTEXT") for _ in requests]
        with self._reading():
            written, computed = write_answers(
                self.model,
                [prompts[index] for index in fitting],
                [self._matcher(requests[index]) for index in fitting],
                [min(requests[index].max_tokens, room[index]) for index in fitting],
                self.device,
                pad=self.prompt.tokenizer.pad_token_id,
                batch_bytes=self._batch_bytes,
            )
        for index, ids, n in zip(fitting, written, computed, strict=True):
            text = str(self.prompt.tokenizer.decode(ids, skip_special_tokens=True))
            replies[index] = JudgeReply(
                text=text,
                failure="" if text else "E_ANSWER",
                prompt_tokens=len(prompts[index]),
                cached_tokens=len(prompts[index]) - n,
                output_tokens=len(ids),
            )
        return replies

    def _matcher(self, request: JudgeRequest) -> JsonMatcher:
        seed = f"{request.vote} {request.dialogue_id}" if request.vote else ""
        return self.grammar.matcher(request.schema, seed)

    def close(self) -> None:
        """Does nothing: only memory is held."""

    @property
    def has_adapter(self) -> bool:
        return hasattr(self.model, "disable_adapter")

    @property
    def _bare(self) -> Any:
        """The language model inside adapters, or the model itself."""
        return self.model.get_base_model() if self.has_adapter else self.model

    @property
    def device(self) -> torch.device:
        device: torch.device = next(iter(self.model.parameters())).device
        return device

    @property
    def _context(self) -> int:
        """Tokens of a prompt and its answer."""
        config = self._bare.config.get_text_config()
        return int(getattr(config, "max_position_embeddings", None) or 10**9)

    @property
    def _batch_bytes(self) -> int:
        if self.device.type != "cuda":
            return CPU_BYTES
        free_bytes, _ = torch.cuda.mem_get_info(self.device)
        return int(CUDA_SHARE * free_bytes)

    @cached_property
    def grammar(self) -> JsonGrammar:
        """The grammar of answers, which end with any end token of the base."""
        ends = self.model.generation_config.eos_token_id
        stops = {self.prompt.tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
        n_logits = self._bare.config.get_text_config().vocab_size
        return JsonGrammar(self.prompt.tokenizer, n_logits, sorted(stops))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Sets evaluation mode without gradients, and attention that reads caches; restores both."""
        bare = self._bare
        training, before = self.model.training, bare.config._attn_implementation
        self.model.eval()
        bare.set_attn_implementation("sdpa" if bare._supports_sdpa else "eager")
        try:
            with torch.no_grad(), torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
                yield
        finally:
            bare.set_attn_implementation(before)
            self.model.train(training)


def load_judge(
    model: str, *, device: str = "cpu", bf16: bool = False, context: int | None = None
) -> LocalJudge:
    """Loads the judge in a model folder, or a base by its name. `context` is the model's, answers included;
    without it that of a judge's training, or a base's own within limits.

    Raises:
        ConfigError: E_BASE, E_ADAPTER or E_JUDGE; E_OPTION, a context that the model does not have.
    """
    source = resolve_judge(model)
    prompt = load_prompt(source)
    most = CUDA_PROMPT_TOKENS if device.startswith("cuda") else MAX_PROMPT_TOKENS
    room = prompt_room(source, context, most)
    network: Any = load_base_model(source, device=device, bf16=bf16)
    if source.adapter is not None:
        network = load_adapter(network, source.adapter)
    manifest = source.folder / MANIFEST
    has_manifest = source.adapter is not None and manifest.exists()
    return LocalJudge(
        network.eval(),
        prompt,
        bf16=bf16,
        name=Path(model).name,
        weights=fingerprint([source.sha256, read_manifest(manifest) if has_manifest else None]),
        max_prompt_tokens=room,
    )


def open_judge(where: str, config: JudgeConfig, *, device: str, bf16: bool | None) -> JudgeEngine:
    """The engine of ``--judge local:FOLDER``; raises as `load_judge`."""
    device = resolve_device(device)
    is_bf16 = device != "cpu" if bf16 is None else bf16
    return load_judge(where, device=device, bf16=is_bf16, context=config.judge_context)
