"""Opens the engine that ``--judge NAME:ARGUMENT`` names: one of dialint's own or of an installed package.

A package offers one by an entry point of the group ``dialint.judges``, a function that returns a
`JudgeEngine`; it is called with what stands behind the colon, all options of the judge, and where and in
which arithmetic a model in this process runs (None: bf16 on CUDA only):

    [project.entry-points."dialint.judges"]
    oracle = "acme_dialint.judges:open_judge"

    def open_judge(where: str, config: JudgeConfig, *, device: str, bf16: bool | None) -> JudgeEngine: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dialint.detector.artifacts import fingerprint
from dialint.detector.engines.judge_cache import CachedJudge
from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig, judge_plugin, parse_judge
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest


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
        for name in config.judge_model or ("",):
            own = replace(config, judge_model=(name,) if name else ())
            judges.append(open_engine(where, own, device=device, bf16=bf16))
            if config.judge_cache is not None:
                judges[-1] = CachedJudge(judges[-1], config.judge_cache)
    except BaseException:
        for judge in judges:
            judge.close()
        raise
    return JudgePanel(judges) if len(judges) > 1 else judges[0]


class JudgePanel:
    """Several judges as one: the votes on a question go to them in turn, a second look to the first.

    A judge that is gone stops the job, as a single one does.
    """

    def __init__(self, judges: Sequence[JudgeEngine]) -> None:
        self.judges = tuple(judges)
        self.name = "+".join(judge.name for judge in judges)
        self.fingerprint = fingerprint([judge.fingerprint for judge in judges])
        self.is_remote = any(judge.is_remote for judge in judges)
        self.max_prompt_tokens = min(judge.max_prompt_tokens for judge in judges)
        self.notes = tuple(dict.fromkeys(note for judge in judges for note in judge.notes))

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return max(judge.count_tokens(messages) for judge in self.judges)

    def spell(self, text: str) -> str:
        for judge in self.judges:
            text = judge.spell(text)
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Return the reply to each request of the judge whose vote it is; raises as its judges do."""
        replies: dict[int, JudgeReply] = {}
        for number, judge in enumerate(self.judges):
            own = [n for n, request in enumerate(requests) if request.vote % len(self.judges) == number]
            votes = [replace(requests[n], vote=requests[n].vote // len(self.judges)) for n in own]
            replies.update(zip(own, judge.ask(votes) if votes else (), strict=True))
        return [replies[n] for n in range(len(requests))]

    def close(self) -> None:
        for judge in self.judges:
            judge.close()
