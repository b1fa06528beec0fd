"""Opens the engine that ``--judge NAME:ARGUMENT`` names: one of dialint's own or of an installed package.

A package offers one by an entry point of the group ``dialint.judges``, a function that returns a
`JudgeEngine`; it is called with what stands behind the colon, all options of the judge, and where and in
which arithmetic a model in this process runs (None: bf16 on CUDA only):

    [project.entry-points."dialint.judges"]
    oracle = "acme_dialint.judges:open_judge"

    def open_judge(where: str, config: JudgeConfig, *, device: str, bf16: bool | None) -> JudgeEngine: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dialint.detector.engines.judge_panel import JudgePanel
from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig, judge_plugin, parse_judge
from dialint.detector.judge.engine import JudgeEngine


def open_judge(config: JudgeConfig, *, device: str = "auto", bf16: bool | None = None) -> JudgeEngine:
    """The engine of ``config.judge``, ready to be asked; of several models of a server all, as one.

    Raises:
        ConfigError: a folder or server that is no judge, a missing extra, a missing key; E_PLUGIN, a package
            that cannot be imported.
        WorldError: the server does not answer.
    """
    if config.judge is None:
        raise ConfigError("E_OPTION", "no judge was named: --judge")
    plugin = judge_plugin(config.judge)
    if plugin.is_own and plugin.name == "http":
        require_library("openai", "--judge http:")
    open_engine = plugin.load(Callable)
    where, judges = parse_judge(config.judge)[1], list[JudgeEngine]()
    try:
        for models in [(name,) for name in config.judge_model] or [()]:
            own = replace(config, judge_model=models)
            judges.append(open_engine(where, own, device=device, bf16=bf16))
    except BaseException:
        for judge in judges:
            judge.close()
        raise
    return JudgePanel(judges) if len(judges) > 1 else judges[0]
