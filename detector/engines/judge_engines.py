"""Opens the engine that ``--judge NAME:ARGUMENT`` names: one of dialint's own or of an installed package.

A package offers one by an entry point of the group ``dialint.judges``, a function that returns a
`JudgeEngine`; it is called with what stands behind the colon, all options of the judge, and where and in
which arithmetic a model in this process runs (None: bf16 on CUDA only):

    [project.entry-points."dialint.judges"]
    oracle = "acme_dialint.judges:open_judge"

    def open_judge(where: str, config: JudgeConfig, *, device: str, bf16: bool | None) -> JudgeEngine: ...

With ``--judge-cache`` answers are stored by the hash of the request: a repeated one costs nothing, in a rerun
or on another machine that shares a Redis server. Only usable answers are stored, and checked again when they
are read. They quote masked dialogues: a file is for its owner only, Redis forgets after `KEEP_S`, and either
may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dialint.detector.artifacts import create_private, fingerprint
from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge.config import JudgeConfig, judge_plugin, parse_judge
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest
from dialint.detector.judge.reading import compact_json

PREFIX = "dialint:judge:"
KEEP_S = 90 * 86_400
"""Seconds after which Redis forgets an answer that was not read."""
PASSWORD_VARIABLE = "DIALINT_REDIS_PASSWORD"
REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
TIMEOUT_S = 10.0

T = TypeVar("T")


def open_judge(config: JudgeConfig, *, device: str = "auto", bf16: bool | None = None) -> JudgeEngine:
    """Opens the engine of ``config.judge``; of several models of a server all, as one.

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
        """Returns the reply to each request, from the judge whose vote it is; raises as its judges do."""
        replies: dict[int, JudgeReply] = {}
        for number, judge in enumerate(self.judges):
            own = [n for n, request in enumerate(requests) if request.vote % len(self.judges) == number]
            votes = [replace(requests[n], vote=requests[n].vote // len(self.judges)) for n in own]
            replies.update(zip(own, judge.ask(votes) if votes else (), strict=True))
        return [replies[n] for n in range(len(requests))]

    def close(self) -> None:
        for judge in self.judges:
            judge.close()


class _SqliteAnswers:
    """Texts by the hash of their question; `failures` are the exceptions of a store that is gone."""

    failures: tuple[type[Exception], ...] = (sqlite3.OperationalError, OSError)

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> None:
        os.close(create_private(self._path, os.O_CREAT | os.O_RDWR))
        with ExitStack() as failed:
            self._connection = sqlite3.connect(
                self._path, timeout=60.0, isolation_level=None, check_same_thread=False
            )
            failed.callback(self._connection.close)
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS judge_answers (question TEXT PRIMARY KEY, answer TEXT NOT NULL)"
            )
            failed.pop_all()

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        query = "SELECT question, answer FROM judge_answers WHERE question = ?"
        return dict(row for key in keys for row in self._connection.execute(query, (key,)))

    def write(self, texts: Mapping[str, str]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        query = "INSERT OR REPLACE INTO judge_answers VALUES (?, ?)"
        self._connection.executemany(query, texts.items())
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


class _RedisAnswers:
    """Texts by the hash of their question, on a Redis server."""

    def __init__(self, url: str) -> None:
        require_library("redis", "--judge-cache redis:")
        import redis

        self.failures: tuple[type[Exception], ...] = (redis.RedisError, OSError)
        password = os.environ.get(PASSWORD_VARIABLE)
        try:
            self._client = redis.Redis.from_url(
                url, socket_timeout=TIMEOUT_S, decode_responses=True, password=password
            )
        except ValueError as error:
            raise ConfigError("E_OPTION", "--judge-cache: {why}", why=str(error)) from None

    def open(self) -> None:
        try:
            self._client.ping()
        except BaseException:
            self._client.close()
            raise

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.getex(PREFIX + key, ex=KEEP_S)
        return {key: text for key, text in zip(keys, pipeline.execute(), strict=True) if text is not None}

    def write(self, texts: Mapping[str, str]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for key, text in texts.items():
            pipeline.set(PREFIX + key, text, ex=KEEP_S)
        pipeline.execute()

    def close(self) -> None:
        self._client.close()


class CachedJudge:
    """A judge whose usable answers are stored at `where`, a file of SQLite or the URL of a Redis server. A
    stored answer has no tokens and no seconds."""

    def __init__(self, judge: JudgeEngine, where: str) -> None:
        """
        Raises:
            ConfigError: E_OPTION, `where` is a file of something else, or a URL that Redis does not take or
                that holds a password; E_EXTRA, its library is not installed.
            WorldError: E_JUDGE_CACHE, it cannot be reached.
        """
        self.judge, self._where = judge, where
        self.name, self.fingerprint, self.is_remote = judge.name, judge.fingerprint, judge.is_remote
        self.notes = judge.notes
        is_url = where.startswith(REDIS_SCHEMES)
        if is_url and "@" in where:
            raise ConfigError("E_OPTION", f"--judge-cache: the password belongs into {PASSWORD_VARIABLE}")
        self._answers: _SqliteAnswers | _RedisAnswers = (
            _RedisAnswers(where) if is_url else _SqliteAnswers(Path(where))
        )
        self._try(self._answers.open)

    @property
    def max_prompt_tokens(self) -> int:
        return self.judge.max_prompt_tokens

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return self.judge.count_tokens(messages)

    def spell(self, text: str) -> str:
        return self.judge.spell(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Returns the stored or the judge's reply to each request; raises as the judge does, and WorldError
        (E_JUDGE_CACHE) if the cache is gone."""
        keys = [self._key(request) for request in requests]
        stored = self._try(lambda: self._answers.read(keys))
        usable = {
            key: JudgeReply(text=stored[key])
            for key, request in zip(keys, requests, strict=True)
            if key in stored and not request.check(stored[key])
        }
        left = [n for n, key in enumerate(keys) if key not in usable]
        replies = dict(zip(left, self.judge.ask([requests[n] for n in left]) if left else (), strict=True))
        new = {keys[n]: reply.text for n, reply in replies.items() if reply.text}
        if new:
            self._try(lambda: self._answers.write(new))
        return [replies[n] if n in replies else usable[key] for n, key in enumerate(keys)]

    def close(self) -> None:
        with closing(self._answers):
            self.judge.close()

    def _key(self, request: JudgeRequest) -> str:
        parts = [self.fingerprint, list(request.messages), request.schema, request.max_tokens, request.vote]
        return hashlib.sha256(compact_json(parts).encode("utf-8", "replace")).hexdigest()

    def _try(self, step: Callable[[], T]) -> T:
        """Runs a step on the cache; raises as the class says."""
        try:
            return step()
        except self._answers.failures as error:
            why = type(error).__name__
            raise WorldError("E_JUDGE_CACHE", f"--judge-cache {self._where}: not reached ({why})") from None
        except sqlite3.DatabaseError:
            raise ConfigError("E_OPTION", f"--judge-cache {self._where}: a file of something else") from None
