"""Opens the engine that `--judge` names."""

from __future__ import annotations

from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_library
from dialint.detector.judge.config import JudgeConfig, parse_judge
from dialint.detector.judge.engine import JudgeEngine


def open_judge(config: JudgeConfig, *, device: str = "auto", bf16: bool | None = None) -> JudgeEngine:
    """The engine of ``config.judge``, ready to be asked.

    `device` and `bf16` are for engines in this process; None takes bf16 on CUDA only.

    Raises:
        ConfigError: a folder or server that is no judge, a missing extra, a missing key.
        WorldError: the server does not answer.
    """
    if config.judge is None:
        raise ConfigError("E_OPTION", "no judge was named: --judge")
    kind, where = parse_judge(config.judge)
    if kind == "http":
        require_library("openai", "--judge http:")
        from dialint.detector.engines.judge_http import HttpJudge

        return HttpJudge(config)
    if kind == "vllm":
        from dialint.detector.engines.judge_local import resolve_judge
        from dialint.detector.engines.judge_vllm import load_vllm_judge

        return load_vllm_judge(resolve_judge(where), device=device, bf16=bf16, context=config.judge_context)
    from dialint.detector.engines.local import resolve_device
    from dialint.detector.engines.local_judge_engine import open_local_judge

    own = resolve_device(device)
    is_bf16 = own != "cpu" if bf16 is None else bf16
    return open_local_judge(where, context=config.judge_context, device=own, bf16=is_bf16)
