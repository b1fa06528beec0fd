"""A stand-in for an OpenAI-compatible server with a strong model: right readings from labels, with stated error
rates, and every way to fail that servers have. Deterministic: an answer depends on the seed, the code and the
turn only. It simulates; no figure that is taken with it says anything about a real model.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Labels = Mapping[str, Mapping[str, str]]
"""Code, text of the agent turn as the prompt shows it, quote."""
CODE = re.compile(r"^(\w+) [^\n]*?\((S\d)", re.MULTILINE)
"""A code in the system message, and its usual severity."""
PART = re.compile(r"^List .* turns (\d+) to (\d+);", re.MULTILINE)


@dataclass
class FakeLLM:
    """The model and the moods of its server. `recall` and `false_positives` are shares, by code or for all
    (``""``). Moods may be changed while it runs; `log` has every request's time, path, headers and body."""

    labels: Labels = field(default_factory=dict)
    recall: Mapping[str, float] = field(default_factory=lambda: {"": 1.0})
    false_positives: Mapping[str, float] = field(default_factory=lambda: {"": 0.0})
    seed: int = 0
    models: tuple[str, ...] = ("fake-4b",)
    context: int = 32_768
    key: str | None = None
    obeys: bool = False  # answers what the dialogue's text tells it to
    takes: tuple[str, ...] = ("strict", "json_schema", "json_object", "max_tokens", "temperature")
    answer: str | None = None  # said to every question that holds a dialogue
    bad_answers: int = 0  # so many questions get `answer`, then it is forgotten
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)  # for the next requests
    slow_s: float = 0.0
    most_at_a_time: int | None = None  # beyond it: 429
    cuts: int = 0  # so many answers end in the middle
    mutate: Callable[[str, Any], Any] | None = None  # of path and body; bytes are sent as they are
    content_type: str = "application/json"
    poison: str | None = None  # what kills the server, or hangs it
    poison_does: str = "die"
    down: bool = False
    dies_after: int | None = None  # requests
    back_after_s: float | None = None
    log: list[dict[str, Any]] = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)
    busy: int = 0
    busiest: int = 0
    deaths: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    # --- the model ------------------------------------------------------------------------------------

    def uniform(self, *parts: object) -> float:
        """A number in [0, 1) that depends on the parts alone."""
        digest = hashlib.sha256(repr((self.seed, *parts)).encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64

    def finds(self, code: str, text: str) -> str | None:
        """The quote of the error that the model sees in a turn; None if it sees none."""
        labelled = self.labels.get(code, {}).get(text)
        rates = self.recall if labelled is not None else self.false_positives
        if self.uniform(code, text) >= rates.get(code, rates.get("", 0.0)):
            return None
        return labelled if labelled is not None else text[:40]

    def probability(self, code: str, text: str) -> float:
        """Of an error that it lists: a second look is worth it at less than .8."""
        return round(0.75 + 0.24 * self.uniform("sure", code, text), 2)

    def reply_to(self, messages: list[dict[str, str]]) -> str:
        """The reading of a dialogue, or the second look at errors in it."""
        question = messages[-1]["content"]
        lines = [json.loads(line) for line in question.splitlines() if line.startswith("{")]
        turns = {
            line["turn"]: spoken(line.get("agent", line.get("bot")))
            for line in lines
            if "turn" in line and ("agent" in line or "bot" in line)
        }
        if self.obeys and (injected := re.search(r"answer (\{.*\})", " ".join(turns.values()))):
            return injected[1]
        severities = dict(CODE.findall(messages[0]["content"]))
        uncertain = next((line["uncertain"] for line in lines if "uncertain" in line), None)
        if uncertain is not None:
            decisions = []
            for each in uncertain:
                text = turns[each["turn"]]
                code = next((code for code in each["codes"] if self.finds(code, text) is not None), "none")
                sure = 0.0 if code == "none" else self.probability(code, text)
                decisions.append(
                    {"number": each["number"], "code": code, "probability": sure,
                     "severity": severities.get(code, "S3"), "reason": f"simulated second look at {code}"}
                )  # fmt: skip
            return json.dumps({"notes": "simulated", "decisions": decisions})
        part = PART.search(question)
        first, last = (int(part[1]), int(part[2])) if part else (0, 10**9)
        errors = [
            {"turn": turn, "quote": quote, "code": code, "second_code": "none",
             "probability": self.probability(code, text), "severity": severity,
             "reason": f"simulated reason for {code}", "clause": "none"}
            for turn, text in turns.items() if first <= turn <= last and text.strip()
            for code, severity in severities.items() if (quote := self.finds(code, text)) is not None
        ]  # fmt: skip
        return json.dumps({"notes": "simulated", "errors": errors}, ensure_ascii=False)

    # --- its server -----------------------------------------------------------------------------------

    def refusal(self, path: str, headers: Mapping[str, str], body: Any) -> tuple[int, str] | None:
        """The status and the words of a refusal of the request as such."""
        if self.key is not None and headers.get("Authorization") != f"Bearer {self.key}":
            return 401, "Incorrect API key provided"
        if not path.endswith("/chat/completions"):
            return None
        if body.get("model") not in self.models:
            return 404, f"The model `{body.get('model')}` does not exist."
        form = body.get("response_format", {})
        kind = "strict" if form.get("json_schema", {}).get("strict") else form.get("type")
        for name, word in ((kind, "response_format"), *((name, name) for name in body)):
            supported = {"strict", "json_schema", "json_object", "max_tokens", "temperature"}
            if name in supported and name not in self.takes:
                instead = "; use max_completion_tokens" if name == "max_tokens" else ""
                return 400, f"Unsupported parameter: '{word}' ({kind or name}){instead}"
        count = prompt_tokens(body)
        if count > self.context:
            return 400, (
                f"This model's maximum context length is {self.context} tokens. However, your request has {count} "
                "input tokens. Please reduce the length of the input messages."
            )
        return None

    def completion(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a successful response."""
        answer = self.reply_to(body["messages"])
        if self.answer is not None and '{"turn":' in body["messages"][-1]["content"]:
            answer = self.answer
            with self.lock:
                self.bad_answers -= 1
                if self.bad_answers == 0:
                    self.answer = None
        most = body.get("max_tokens", body.get("max_completion_tokens", 10**6))
        is_cut = len(answer) > 8 * most
        answer = answer[: 8 * most]
        return {
            "id": "fake", "object": "chat.completion", "model": body["model"],
            "choices": [{
                "index": 0, "finish_reason": "length" if is_cut else "stop",
                "message": {"role": "assistant", "content": answer},
            }],
            "usage": {
                "prompt_tokens": prompt_tokens(body), "completion_tokens": len(answer) // 4 + 1,
                "prompt_tokens_details": {"cached_tokens": 16},
            },
        }  # fmt: skip


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """A token for each three characters."""
    return sum(len(message["content"]) for message in body["messages"]) // 3


def spoken(text: Any) -> str:
    """A turn's text, also where its middle was left out."""
    return text if isinstance(text, str) else "".join(part for part in text if isinstance(part, str))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    llm: FakeLLM

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.handle_one(None)

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        raw = self.rfile.read(size)
        if len(raw) < size:  # the client is gone
            self.close_connection = True
            return
        self.llm.received += raw
        self.handle_one(json.loads(raw))

    def handle_one(self, body: Any) -> None:
        llm = self.llm
        llm.received += f"{self.path}\n{self.headers}".encode()
        with llm.lock:
            llm.log.append(
                {"path": self.path, "headers": dict(self.headers), "body": body, "at": time.monotonic()}
            )
            llm.busy += body is not None
            llm.busiest = max(llm.busiest, llm.busy)
            crowded = body is not None and llm.most_at_a_time is not None and llm.busy > llm.most_at_a_time
            if body is not None and llm.dies_after is not None:
                llm.dies_after -= 1
                if llm.dies_after < 0:
                    llm.down, llm.dies_after = True, None
                    if llm.back_after_s is not None:
                        threading.Timer(llm.back_after_s, setattr, (llm, "down", False)).start()
        try:
            self.respond(body, crowded)
        except OSError:  # the client is gone
            self.close_connection = True
        finally:
            with llm.lock:
                llm.busy -= body is not None

    def respond(self, body: Any, crowded: bool) -> None:
        llm = self.llm
        if body is not None and llm.poison and llm.poison in json.dumps(body, ensure_ascii=False):
            if llm.poison_does == "hang":
                time.sleep(llm.slow_s + 0.5)
                raise OSError
            if llm.poison_does == "500":
                self.send(500, {"error": {"message": "CUDA error"}})
                return
            with llm.lock:
                llm.deaths += 1
                llm.down = True
            threading.Timer(0.05, setattr, (llm, "down", False)).start()
            raise OSError
        deaths = llm.deaths
        if body is not None and llm.slow_s:
            time.sleep(llm.slow_s)
        if llm.down or llm.deaths != deaths:
            raise OSError
        if crowded:
            self.send(429, {"error": {"message": "Too many requests"}}, {"Retry-After": "0.02"})
            return
        if refused := llm.refusal(self.path, self.headers, body):
            self.send(refused[0], {"error": {"message": refused[1]}})
        elif self.path == "/health":
            self.send(200, {})
        elif self.path.endswith("/models"):
            entries = [
                {"id": name, "root": name, "max_model_len": llm.context, "owned_by": "somebody"}
                for name in llm.models
            ]
            self.send(200, {"object": "list", "data": entries})
        elif self.path != "/v1/chat/completions":
            self.send(404, {"detail": "Not Found"})
        elif llm.statuses:
            status, headers = llm.statuses.pop(0)
            self.send(status, {"error": {"message": "later"}}, headers)
        else:
            with llm.lock:
                llm.cuts -= 1
                is_cut = llm.cuts >= 0
            self.send(200, llm.completion(body), is_cut=is_cut)

    def send(
        self, status: int, data: Any, headers: Mapping[str, str] | None = None, *, is_cut: bool = False
    ) -> None:
        if self.llm.mutate is not None:
            data = self.llm.mutate(self.path, data)
        sent = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Type": self.llm.content_type, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent[: len(sent) // 2] if is_cut else sent)
        self.close_connection = is_cut


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


@contextmanager
def serving(llm: FakeLLM, port: int = 0) -> Iterator[str]:
    """Serves a model on loopback; the value for ``--judge``."""
    server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"llm": llm}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
