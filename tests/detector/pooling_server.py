"""A stand-in for vLLM's pooling of an exported scan: the same model by transformers, and ways to fail."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertForTokenClassification


@dataclass
class PoolingServer:
    """`statuses` are given to the next requests of ``/pooling``; `added` is added to every logit."""

    folder: Path
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    cuts: int = 0
    added: float = 0.0
    max_model_len: int = 512
    models: tuple[str, ...] = ("scan",)
    mutate: Callable[[str, Any], bytes] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.model = BertForTokenClassification.from_pretrained(self.folder).eval()

    def pool(self, body: dict[str, Any]) -> dict[str, Any]:
        assert body["task"] == "token_classify"
        assert body["use_activation"] is False
        data = []
        for index, ids in enumerate(body["input"]):
            with torch.inference_mode():
                logits = self.model(input_ids=torch.tensor([ids])).logits[0].numpy() + self.added
            raw = base64.b64encode(logits.astype(np.float32).tobytes()).decode()
            data.append({"index": index, "object": "pooling", "data": raw})
        return {"object": "list", "model": body["model"], "data": data[::-1]}


@contextmanager
def serving_pooling(state: PoolingServer) -> Iterator[str]:
    """The URL of a server on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *ignored: object) -> None:
            pass

        def answer(self, status: int, content: dict[str, Any], headers: dict[str, str] | None = None) -> None:
            body = json.dumps(content).encode()
            if state.mutate is not None and status == 200:
                body = state.mutate(self.path, content)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            entries = [{"id": name, "max_model_len": state.max_model_len} for name in state.models]
            self.answer(200 if self.path == "/v1/models" else 404, {"data": entries})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                state.requests.append(body)
                status, headers = state.statuses.pop(0) if state.statuses else (200, {})
                is_cut = state.cuts > 0 and status == 200
                state.cuts -= is_cut
                if is_cut:
                    self.close_connection = True
                    return
                if self.path != "/pooling" or status != 200:
                    self.answer(404 if status == 200 else status, {}, headers)
                    return
                self.answer(200, state.pool(body))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
