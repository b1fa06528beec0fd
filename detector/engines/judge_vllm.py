"""Runs the LLM judge in this process with vLLM: many requests at a time, prefixes computed once, answers held
to their JSON schema.

Chats become token ids by `JudgePrompt`, as in training and in `dialint.detector.engines.judge_local`, and
verdicts are compared at the same tokens, so probabilities are those of the local engine. Only an error's
answer is generated, behind that verdict, in a second request that finds the first one's prefix in the cache.
A server is not started here: `dialint serve vllm` does that.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import fingerprint
from dialint.detector.engines.adapter_files import ADAPTER_CONFIG
from dialint.detector.engines.answer_grammar import answer_grammar, narrow_schema, verdict_softmax
from dialint.detector.engines.base_models import ModelSource, tokenizer_folder, weights_sha256
from dialint.detector.engines.judge_prompt import JudgePrompt, load_prompt, resolve_judge
from dialint.detector.environment import is_installed, missing_extra_error
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge import (
    PROMPT_VERSION,
    VERDICTS,
    JudgeEngine,
    JudgeReply,
    JudgeRequest,
    JudgeVerdict,
    verdict_json,
)
from dialint.detector.judge.config import JudgeConfig

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Set before vLLM is imported, where the user has not set them: one process, few words, no calls home."""
DEFAULT_CONTEXT = 8192
"""Tokens of context of a model that has more."""
GPU_MEMORY, CPU_MEMORY = 0.85, 0.25
"""Shares of memory for weights and cache: the scan's model and other work have the rest."""
ANSWER_TOKENS = 512
"""Of the context, what is held back for an answer."""
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM takes as the greatest rank of adapters."""


class VllmJudge:
    """A causal language model in vLLM, with one adapter or none."""

    is_remote = False
    notes: Sequence[str] = ()

    def __init__(
        self, llm: Any, prompt: JudgePrompt, lora: Any, *, name: str, fingerprint: str, context: int
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.prompt = prompt
        self._llm = llm
        self._lora = lora
        self._context = context

    @property
    def max_prompt_tokens(self) -> int:
        """Tokens that a chat may have beside its answer."""
        return self._context - ANSWER_TOKENS

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Tokens of a chat."""
        return len(self.prompt.of_chat(messages))

    def spell(self, text: str) -> str:
        """Rewrites compact JSON so that it contains no control token of the model."""
        return self.prompt.spelling(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """The reply to each request, in order; E_CONTEXT, one that does not fit; E_ANSWER, one whose answer
        has no end.

        Raises:
            WorldError: E_JUDGE, vLLM's engine died.
        """
        started_s = time.perf_counter()
        pending = [_Pending(request, self.prompt.of_chat(request.messages)) for request in requests]
        for item in pending:
            if len(item.ids) + item.request.max_tokens > self._context:
                item.failure = "E_CONTEXT"
        self._find_verdicts([item for item in pending if item.request.wants_verdict and not item.failure])
        self._write_answers([item for item in pending if not item.failure and not item.text], brief=False)
        cut = [item for item in pending if not item.failure and not item.text]
        self._write_answers(cut, brief=True)
        seconds = (time.perf_counter() - started_s) / max(1, len(pending))
        return [item.reply(seconds) for item in pending]

    def close(self) -> None:
        """Releases the model's memory."""
        if self._llm is not None:
            self._llm.llm_engine.engine_core.shutdown()
            self._llm = None
            gc.collect()

    def prefix_cache_counts(self) -> tuple[int, int]:
        """Tokens of prompts since the start that were looked up in the prefix cache, and those found."""
        counts = {metric.name: metric for metric in self._llm.get_metrics()}
        return counts["vllm:prefix_cache_queries"].value, counts["vllm:prefix_cache_hits"].value

    def _find_verdicts(self, items: Sequence[_Pending]) -> None:
        """The verdicts' probabilities: of the token at which they part, behind what they share."""
        shared, first = self.prompt.fork
        options = {"max_tokens": 1, "allowed_token_ids": list(first), "logprobs": len(first)}
        outputs = self._generate([([*item.ids, *shared], options) for item in items])
        for item, output in zip(items, outputs, strict=True):
            if output is None:
                item.failure = "E_ANSWER"
                continue
            item.count(output)
            logprobs = output.outputs[0].logprobs[0]
            item.probabilities = verdict_softmax(
                [logprobs[token].logprob if token in logprobs else float("-inf") for token in first]
            )
            if item.verdict is not None and item.verdict != "error":
                item.text = verdict_json(item.verdict, item.probabilities[0])

    def _write_answers(self, items: Sequence[_Pending], *, brief: bool) -> None:
        """The answers, each behind its verdict; `brief` as in `narrow_schema`."""
        prompts = []
        for item in items:
            quoted = item.request.quoted
            schema = narrow_schema(item.request.schema, item.verdict, brief=brief)
            letters = None if quoted is None else self.prompt.spelling.letters(quoted)
            options = {
                "max_tokens": item.request.max_tokens,
                "structured_outputs": {"grammar": answer_grammar(schema, letters)},
            }
            prompts.append((item.ids, options))
        for item, output in zip(items, self._generate(prompts), strict=True):
            if output is not None:
                item.count(output)
                completion = output.outputs[0]
                if completion.finish_reason == "stop":
                    item.text = self.prompt.tokenizer.decode(completion.token_ids, skip_special_tokens=True)
            if not item.text and (brief or output is None):
                item.failure = "E_ANSWER"

    def _generate(self, prompts: Sequence[tuple[list[int], dict[str, Any]]]) -> list[Any]:
        """vLLM's output for each prompt and its sampling options; None for one that vLLM refuses."""
        if not prompts:
            return []
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams
        from vllm.v1.engine.exceptions import EngineDeadError

        params = []
        for _, options in prompts:
            rules = options.get("structured_outputs")
            own = options | ({"structured_outputs": StructuredOutputsParams(**rules)} if rules else {})
            params.append(SamplingParams(temperature=0.0, detokenize=False, **own))
        try:
            outputs: list[Any] = self._llm.generate(
                [{"prompt_token_ids": ids} for ids, _ in prompts],
                params,
                use_tqdm=False,
                lora_request=self._lora,
            )
        except ValueError:  # raised when a request is added: the others have not begun
            if len(prompts) == 1:
                return [None]
            middle = len(prompts) // 2
            return [*self._generate(prompts[:middle]), *self._generate(prompts[middle:])]
        except (EngineDeadError, RuntimeError) as error:
            raise WorldError("E_JUDGE", f"vLLM stopped ({type(error).__name__})") from None
        return outputs


@dataclass
class _Pending:
    """A request on its way: its prompt, and what is known of its reply."""

    request: JudgeRequest
    ids: list[int]
    probabilities: tuple[float, ...] = ()
    text: str = ""
    failure: str = ""
    computed: int = field(default=0)
    output_tokens: int = 0

    @property
    def verdict(self) -> JudgeVerdict | None:
        """The most probable verdict, if there is one."""
        if not self.probabilities:
            return None
        return VERDICTS[max(range(len(VERDICTS)), key=lambda index: self.probabilities[index])]

    def count(self, output: Any) -> None:
        """Adds the tokens of one of vLLM's outputs."""
        self.computed += len(output.prompt_token_ids) - (output.num_cached_tokens or 0)
        self.output_tokens += len(output.outputs[0].token_ids)

    def reply(self, seconds: float) -> JudgeReply:
        """A prompt counts once, though it is sent twice: what the second request computes of it anew is not
        called cached."""
        error, no_error, not_applicable = self.probabilities or (0.0, 0.0, 0.0)
        size = 0 if self.failure == "E_CONTEXT" else len(self.ids)
        return JudgeReply(
            text="" if self.failure else self.text,
            failure=self.failure,
            verdict_probabilities=(error, no_error, not_applicable) if self.probabilities else None,
            prompt_tokens=size,
            cached_tokens=max(0, size - self.computed),
            output_tokens=self.output_tokens,
            seconds=seconds,
        )


def load_vllm_judge(
    source: ModelSource, *, device: str = "auto", bf16: bool | None = None, context: int | None = None
) -> VllmJudge:
    """The judge of a model folder (`dialint.detector.engines.judge_prompt.resolve_judge`) in vLLM.

    `context`: tokens of prompt and answer, else the model's, at most `DEFAULT_CONTEXT`.

    Raises:
        ConfigError: E_EXTRA, vLLM is not installed; E_OPTION, a device or context that it does not have;
            E_BASE, E_ADAPTER or E_JUDGE, a folder that vLLM does not load.
    """
    if not is_installed("vllm"):
        raise missing_extra_error("vllm", "--judge vllm:FOLDER", ["vllm"])
    prompt = load_prompt(source)
    _ = prompt.fork  # refuses a tokenizer that does not tell the verdicts apart
    config = json.loads((source.base.folder / "config.json").read_bytes())
    longest = int(config.get("max_position_embeddings", DEFAULT_CONTEXT))
    if context is not None and context > longest:
        raise ConfigError("E_OPTION", f"--judge-context {context}: the model has {longest}")
    context = context or min(longest, DEFAULT_CONTEXT)
    options: dict[str, Any] = lora_options(source.adapter) if source.adapter else {}
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    vllm = importlib.import_module("vllm")
    from vllm.lora.request import LoRARequest
    from vllm.platforms import current_platform

    if device.partition(":")[0] not in ("auto", current_platform.device_type):
        raise ConfigError("E_OPTION", f"--device {device}: this vLLM is for {current_platform.device_type}")
    if bf16 is None:
        bf16 = bool(current_platform.is_cuda_alike())
    dtype = "bfloat16" if bf16 else "float32"
    if current_platform.is_cuda_alike():
        options |= {"gpu_memory_utilization": GPU_MEMORY}
    else:  # for tests: starts in seconds, and prefixes are shared in the blocks that CUDA has
        options |= {"gpu_memory_utilization": CPU_MEMORY, "enforce_eager": True, "block_size": 32}
    try:
        llm = vllm.LLM(
            model=str(source.base.folder),
            tokenizer=str(tokenizer_folder(source)),
            dtype=dtype,
            max_model_len=context,
            seed=0,
            enable_prefix_caching=True,
            generation_config="vllm",
            logprobs_mode="processed_logprobs",
            structured_outputs_config={"backend": "xgrammar"},
            disable_log_stats=False,
            trust_remote_code=False,
            load_format="safetensors",
            **options,
        )
    except (ValueError, RuntimeError, OSError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise ConfigError(
            "E_BASE", f"{source.folder}: vLLM does not load it ({type(error).__name__}: {reason})"
        ) from None
    lora = LoRARequest("judge", 1, str(source.adapter.resolve())) if source.adapter else None
    weights = [source.sha256, weights_sha256(source.adapter) if source.adapter else None]
    template = str(prompt.tokenizer.chat_template)
    return VllmJudge(
        llm,
        prompt,
        lora,
        name=source.folder.name if Path(source.base.name).is_dir() or source.adapter else source.base.name,
        fingerprint=fingerprint(
            ["vllm", vllm.__version__, dtype, context, *weights, template, prompt.detail, PROMPT_VERSION]
        ),
        context=context,
    )


def open_judge(where: str, config: JudgeConfig, *, device: str, bf16: bool | None) -> JudgeEngine:
    """The engine of ``--judge vllm:FOLDER``; raises as `load_vllm_judge`."""
    return load_vllm_judge(resolve_judge(where), device=device, bf16=bf16, context=config.judge_context)


def lora_options(adapter: Path) -> dict[str, Any]:
    """vLLM's options for one adapter.

    Raises:
        ConfigError: E_ADAPTER, an adapter of a kind that vLLM has not.
    """
    config = json.loads((adapter / ADAPTER_CONFIG).read_bytes())
    rank = next((rank for rank in LORA_RANKS if rank >= config["r"]), None)
    unsupported = [name for name in ("use_dora", "modules_to_save") if config.get(name)]
    if rank is None or unsupported:
        what = unsupported[0] if unsupported else f"rank {config['r']}"
        raise ConfigError(
            "E_ADAPTER", f"{adapter}: vLLM serves no adapter with {what}: `dialint train merge` first"
        )
    return {"enable_lora": True, "max_loras": 1, "max_lora_rank": rank}
