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
from dialint.detector.judge.prompt import load_words
from dialint.detector.judge.reading import compact_json, find_object, pack_schema


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
            judge = open_engine(where, own, device=device, bf16=bf16)
            judges.append(judge)
            if config.judge_cache is not None:
                judges[-1] = CachedJudge(judges[-1], config.judge_cache)
            if config.judge_pack > 1:
                judges[-1] = PackedJudge(judges[-1], config.judge_pack)
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


class PackedJudge:
    """A judge that reads up to `size` short dialogues in one question, so that the definitions of the codes
    are paid for once; dialogues of a question without a usable answer are read one by one."""

    def __init__(self, judge: JudgeEngine, size: int) -> None:
        self.judge, self.size = judge, size
        self.name, self.is_remote, self.notes = judge.name, judge.is_remote, judge.notes
        self.max_prompt_tokens = judge.max_prompt_tokens
        self.fingerprint = fingerprint([judge.fingerprint, size, load_words().pack])

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return self.judge.count_tokens(messages)

    def spell(self, text: str) -> str:
        return self.judge.spell(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Return the reply to each request, with its share of the tokens; raises as the judge does."""
        packs = self._packs(requests)
        chats = [self._chat([requests[n] for n in pack]) for pack in packs]
        replies: dict[int, JudgeReply] = {}
        alone: list[int] = []
        for pack, reply in zip(packs, self.judge.ask(chats), strict=True):
            size = len(pack)
            texts = [reply.text] if size == 1 else _split(reply.text, size)
            alone += pack if texts is None else []
            for place, n in enumerate(pack):
                prompt_tokens, cached_tokens, output_tokens = (
                    tokens * (place + 1) // size - tokens * place // size
                    for tokens in (reply.prompt_tokens, reply.cached_tokens, reply.output_tokens)
                )
                replies[n] = replace(
                    reply,
                    text=texts[place] if texts else "",
                    prompt_tokens=prompt_tokens,
                    cached_tokens=cached_tokens,
                    output_tokens=output_tokens,
                    seconds=reply.seconds / size,
                )
        again = self.judge.ask([requests[n] for n in alone]) if alone else []
        replies |= {n: reply.after(replies[n]) for n, reply in zip(alone, again, strict=True)}
        return [replies[n] for n in range(len(requests))]

    def close(self) -> None:
        self.judge.close()

    def _packs(self, requests: Sequence[JudgeRequest]) -> list[list[int]]:
        """The indices of requests that are asked together: readings with the same codes and vote."""
        packs: list[list[int]] = []
        open_packs: dict[object, tuple[list[int], int]] = {}
        for n, request in enumerate(requests):
            kind = (request.messages[0]["content"], compact_json(request.schema), request.vote)
            tokens = self.judge.count_tokens(request.messages[1:]) + request.max_tokens
            pack, room = open_packs.get(kind, ([], 0))
            if not request.messages[-1]["content"].endswith(load_words().question):  # a part, a second look
                packs.append([n])
                continue
            if not pack or len(pack) == self.size or tokens > room:
                pack, room = [], self.judge.max_prompt_tokens - self.judge.count_tokens(request.messages)
                room += tokens - request.max_tokens
                packs.append(pack)
            pack.append(n)
            open_packs[kind] = pack, room - tokens
        return packs

    def _chat(self, requests: Sequence[JudgeRequest]) -> JudgeRequest:
        """One request in place of several."""
        if len(requests) == 1:
            return requests[0]
        words, lines = load_words().pack, []
        for number, request in enumerate(requests, 1):
            lines += [compact_json({"dialogue": number}), request.messages[-1]["content"].rpartition("\n")[0]]
        content = "\n".join([*lines, words.format(n=len(requests))])

        def check(text: str) -> str:
            own = _split(text, len(requests))
            if own is None:
                return f'There is no JSON object with a list "dialogues" of {len(requests)}.'
            faults = (request.check(each) for request, each in zip(requests, own, strict=True))
            return next(filter(None, faults), "")

        return replace(
            requests[0],
            messages=(*requests[0].messages[:-1], {"role": "user", "content": content}),
            schema=pack_schema(requests[0].schema, len(requests)),
            max_tokens=sum(request.max_tokens for request in requests),
            answers=1,
            check=check,
        )


def _split(text: str, n: int) -> list[str] | None:
    """The answers about `n` dialogues, in order; None if one is missing."""
    value = find_object(text, "dialogues")
    own = [each for each in value["dialogues"] if isinstance(each, dict)] if value else []
    is_whole = [each.get("dialogue") for each in own] == list(range(1, n + 1))
    return [compact_json(each) for each in own] if is_whole else None
