"""Questions, and a real vLLM server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rude_dialogues import RUDE, SORRY

from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.judge import SCHEMA, JudgeReply, JudgeRequest, Question, parse_answer
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

READY_S = 240.0
CODES = load_taxonomy(None).codes


@dataclass(frozen=True)
class JudgeCase:
    """The same question as each engine gets it."""

    request: JudgeRequest
    ids: list[int]


def questions(dialogues: int, codes: int, max_tokens: int = 200) -> list[JudgeCase]:
    """So many dialogues of twelve turns, each asked for so many codes; grouped by dialogue."""
    prompt = JudgePrompt.of(SMALL_DECODER)
    cases = []
    for number in range(dialogues):
        texts = ["Good morning, my parcel never came and I would like to know where it is now."]
        for part in range(5):
            texts.append(f"{SORRY} I have opened case {number * 7 + part} for you.")
            texts.append(f"It is order {number}, the {part + 1}. time that I ask, and I am still waiting.")
        texts.append(RUDE if number % 2 else SORRY)
        turns = tuple(
            Turn(index=index, role=("customer", "agent")[index % 2], text=text)
            for index, text in enumerate(texts)
        )
        dialogue = Dialogue(id=f"dialogue{number}", turns=turns)
        for code in list(CODES.values())[:codes]:
            question = Question(dialogue=dialogue, turn=len(turns) - 1, code=code.code)
            built = prompt.build(question, code)
            request = JudgeRequest(
                dialogue_id=dialogue.id,
                messages=tuple(built.messages),
                schema=SCHEMA,
                max_tokens=max_tokens,
                wants_verdict=True,
                quoted=texts[-1],
            )
            cases.append(JudgeCase(request, built.ids))
    return cases


def with_quote(case: JudgeCase) -> JudgeCase:
    """The same question with an answer that is generated from its first letter to its last, and must name an error
    and quote it."""
    parts = ("verdict", "probability", "quote")
    properties = {name: SCHEMA["properties"][name] for name in parts} | {"verdict": {"enum": ["error"]}}
    schema = {**SCHEMA, "properties": properties, "required": parts}
    return replace(case, request=replace(case.request, schema=schema, wants_verdict=False))


def assert_quoted(cases: Sequence[JudgeCase], replies: Sequence[JudgeReply]) -> None:
    """All answers have the form of training answers, with a quote of the turn."""
    for each, reply in zip(cases, replies, strict=True):
        answer = parse_answer(reply.text)
        assert answer is not None, reply.failure
        assert answer.verdict == "error"
        assert reply.text == json.dumps(json.loads(reply.text), ensure_ascii=False, separators=(",", ":"))
        assert answer.quote
        assert each.request.quoted is not None
        assert answer.quote in each.request.quoted


@dataclass
class Server:
    """A vLLM server of our own on a free port, with the adapter ``judge``; `kill` and `start` at will."""

    adapter: Path
    log: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self, *, wait: bool = True) -> None:
        if not self.port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        command = [
            sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(SMALL_DECODER), "--served-model-name",
            "base", "--host", "127.0.0.1", "--port", str(self.port), "--dtype", "float32", "--max-model-len", "2048",
            "--enable-lora", "--max-loras", "2", "--max-lora-rank", "32", "--lora-modules", f"judge={self.adapter}",
            "--enable-prefix-caching", "--block-size", "32", "--enforce-eager", "--gpu-memory-utilization", "0.25",
            "--logprobs-mode", "processed_logprobs", "--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}',
        ]  # fmt: skip
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"},
            )  # fmt: skip
        if wait:
            self.wait()

    def wait(self) -> None:
        give_up_s = time.monotonic() + READY_S
        while time.monotonic() < give_up_s:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            try:
                with urllib.request.urlopen(self.url[:-3] + "/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.5)
        raise AssertionError("the server did not get ready: " + self.log.read_text()[-3000:])

    def kill(self) -> None:
        """SIGKILL to the server and the processes that it started."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(30)
            self.process = None

    def post(self, path: str, body: Mapping[str, Any]) -> tuple[int, str]:
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def load_adapter(self, adapter: Path) -> None:
        """Puts these weights in the place of the adapter ``judge``."""
        body = {"lora_name": "judge", "lora_path": str(adapter), "load_inplace": True}
        status, text = self.post("/load_lora_adapter", body)
        assert status == 200, text[:300]

    def prefix_cache(self) -> tuple[float, float]:
        """Tokens of prompts that were looked up in the prefix cache, and of these those that were there."""
        return self.metric("vllm:prefix_cache_queries_total"), self.metric("vllm:prefix_cache_hits_total")

    def metric(self, name: str) -> float:
        """The sum of one of the server's metrics."""
        with urllib.request.urlopen(self.url[:-3] + "/metrics", timeout=30) as response:
            lines = response.read().decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{"))
