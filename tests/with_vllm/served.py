"""Readings to be asked for, and a real vLLM server."""

from __future__ import annotations

import json
import os
import re
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
from dialint.detector.engines.judge_folder import STRUCTURED
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.judge.engine import JudgeReply, JudgeRequest
from dialint.detector.judge.prompt import Evidence
from dialint.detector.judge.reading import Question, Reading, parse_reading
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

READY_S = 240.0
CODES = ("T1", "X1")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def requests(n: int, max_tokens: int = 300) -> list[JudgeRequest]:
    """Readings of so many dialogues of six turns."""
    taxonomy = load_taxonomy(None)
    reader = JudgePrompt.of(SMALL_DECODER, "short", 1536).reader(taxonomy)
    asked = []
    for number in range(n):
        texts = (
            "Good morning, my parcel never came and I would like to know where it is now.",
            f"{SORRY} I have opened case {number * 7} for you.",
            f"It is order {number}, and I am still waiting.",
            RUDE if number % 3 == 1 else SORRY,
            "So when will it come?",
            RUDE if number % 2 else "It will be there tomorrow.",
        )
        turns = tuple(
            Turn(index=index, role=("customer", "agent")[index % 2], text=text)
            for index, text in enumerate(texts)
        )
        dialogue = Dialogue(id=f"dialogue{number}", turns=turns, masked=True)
        [question], _ = reader.questions(dialogue, {code: taxonomy.codes[code] for code in CODES}, Evidence())

        def check(text: str, question: Question = question) -> str:
            result = parse_reading(text, question)
            return "" if isinstance(result, Reading) else result

        about = {"dialogue_id": dialogue.id, "messages": question.messages, "schema": question.schema}
        asked.append(JudgeRequest(**about, max_tokens=max_tokens, check=check))
    return asked


def must_list(request: JudgeRequest) -> JudgeRequest:
    """The same question, of which the answer must list an error, and in few words."""
    schema = json.loads(json.dumps(request.schema))
    schema["properties"]["errors"] |= {"minItems": 1, "maxItems": 1}
    item = schema["properties"]["errors"]["items"]["properties"]
    item["turn"] = {"enum": [1, 3, 5]}
    for part in (schema["properties"]["notes"], item["quote"], item["reason"], item["clause"]):
        part["maxLength"] = 40
    return replace(request, schema=schema)


def count_valid(asked: Sequence[JudgeRequest], replies: Sequence[JudgeReply]) -> int:
    """Replies that are readings, without blanks as in training."""
    return sum(
        not reply.failure and not request.check(reply.text) and not re.search(r"\s", TEXT.sub("", reply.text))
        for request, reply in zip(asked, replies, strict=True)
    )


def count_equal(one: Sequence[JudgeReply], other: Sequence[JudgeReply]) -> int:
    """Replies of the same text."""
    return sum(a.text == b.text != "" for a, b in zip(one, other, strict=True))


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
            "--structured-outputs-config", json.dumps(STRUCTURED), "--enable-prompt-tokens-details",
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
