"""Runs the LLM judge in this process with vLLM: many requests at a time, prefixes computed once, answers held
to their JSON schema.

Chats become token ids by `JudgePrompt`, as in training and in `dialint.detector.engines.judge_local`. A
server is not started here: `dialint serve vllm` does that.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import fingerprint
from dialint.detector.engines.adapter_files import ADAPTER_CONFIG
from dialint.detector.engines.base_models import ModelSource, tokenizer_folder, weights_sha256
from dialint.detector.engines.judge_folder import LORA_RANKS, STRUCTURED, context_of
from dialint.detector.engines.judge_prompt import JudgePrompt, load_prompt, prompt_room, resolve_judge
from dialint.detector.environment import is_installed, missing_extra_error
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import (
    ANSWER_TOKENS,
    MIN_ANSWER_TOKENS,
    VOTE_TEMPERATURE,
    JudgeEngine,
    JudgeReply,
    JudgeRequest,
    answer_twice,
)
from dialint.detector.judge.prompt import PROMPT_VERSION

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Set before vLLM is imported, where the user has not set them: one process, few words, no calls home."""
MAX_PROMPT_TOKENS = 32_768
"""Of a model that has more."""
GPU_MEMORY, CPU_MEMORY = 0.85, 0.25
"""Shares of memory for weights and cache: the scan's model and other work have the rest."""


@dataclass(kw_only=True, eq=False)
class VllmJudge:
    """A causal language model in vLLM, with one adapter or none."""

    llm: Any
    prompt: JudgePrompt
    lora: Any
    name: str
    fingerprint: str
    max_prompt_tokens: int
    context: int
    is_remote = False
    notes = ()

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return self.prompt.count_tokens(messages)

    def spell(self, text: str) -> str:
        return self.prompt.spelling(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """See `JudgeEngine.ask`; E_CONTEXT, one that does not fit; E_ANSWER, one without a usable answer.

        Raises:
            WorldError: E_JUDGE, vLLM's engine died.
        """
        return answer_twice(requests, self._answer)

    def _answer(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        prompts = [self.prompt.of_chat(request.messages) for request in requests]
        replies = [JudgeReply(failure="E_CONTEXT") for _ in requests]
        fitting = [index for index, ids in enumerate(prompts) if len(ids) + MIN_ANSWER_TOKENS <= self.context]
        outputs = self._generate([(prompts[index], requests[index]) for index in fitting])
        for index, output in zip(fitting, outputs, strict=True):
            replies[index] = JudgeReply(failure="E_ANSWER") if output is None else self._reply(output)
        return replies

    def _reply(self, output: Any) -> JudgeReply:
        ids = output.outputs[0].token_ids
        text = str(self.prompt.tokenizer.decode(ids, skip_special_tokens=True))
        return JudgeReply(
            text=text,
            failure="" if text else "E_ANSWER",
            prompt_tokens=len(output.prompt_token_ids),
            cached_tokens=output.num_cached_tokens or 0,
            output_tokens=len(ids),
        )

    def close(self) -> None:
        if self.llm is not None:
            self.llm.llm_engine.engine_core.shutdown()
            self.llm = None
            gc.collect()

    def _generate(self, prompts: Sequence[tuple[list[int], JudgeRequest]]) -> list[Any]:
        """vLLM's output for each prompt; None for one that vLLM refuses."""
        if not prompts:
            return []
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams
        from vllm.v1.engine.exceptions import EngineDeadError

        params = [
            SamplingParams(
                temperature=VOTE_TEMPERATURE if request.vote else 0.0,
                seed=request.vote or None,
                max_tokens=min(request.max_tokens, self.context - len(ids)),
                structured_outputs=StructuredOutputsParams(json=dict(request.schema)),
                detokenize=False,
            )
            for ids, request in prompts
        ]
        try:
            outputs: list[Any] = self.llm.generate(
                [{"prompt_token_ids": ids} for ids, _ in prompts],
                params,
                use_tqdm=False,
                lora_request=self.lora,
            )
        except ValueError:  # raised when a request is added: the others have not begun
            if len(prompts) == 1:
                return [None]
            middle = len(prompts) // 2
            return [*self._generate(prompts[:middle]), *self._generate(prompts[middle:])]
        except (EngineDeadError, RuntimeError) as error:
            raise WorldError("E_JUDGE", f"vLLM stopped ({type(error).__name__})") from None
        return outputs


def load_vllm_judge(
    source: ModelSource, *, device: str = "auto", bf16: bool | None = None, context: int | None = None
) -> VllmJudge:
    """The judge of a model folder (`dialint.detector.engines.judge_prompt.resolve_judge`) in vLLM.

    `context`: tokens of prompt and answer; see `prompt_room`.

    Raises:
        ConfigError: E_EXTRA, vLLM is not installed; E_OPTION, a device or context that it does not have;
            E_BASE, E_ADAPTER or E_JUDGE, a folder that vLLM does not load.
    """
    if not is_installed("vllm"):
        raise missing_extra_error("vllm", "--judge vllm:FOLDER", ["vllm"])
    prompt = load_prompt(source)
    room = prompt_room(source, context, MAX_PROMPT_TOKENS)
    own = context_of(str(source.base.folder)) or room
    context = context or min(own, room + 2 * ANSWER_TOKENS)
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
            structured_outputs_config=STRUCTURED,
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
        llm=llm,
        prompt=prompt,
        lora=lora,
        name=source.folder.name if Path(source.base.name).is_dir() or source.adapter else source.base.name,
        fingerprint=fingerprint(
            ["vllm", vllm.__version__, dtype, context, *weights, template, prompt.detail, PROMPT_VERSION]
        ),
        max_prompt_tokens=room,
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
