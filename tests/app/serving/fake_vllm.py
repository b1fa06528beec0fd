"""Stands in for vLLM's server: the options, routes and answers that `dialint serve` and `release` rely on.

Each answer names the folder of the adapter that gave it, as it was when the request came.
"""

import json
import os
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    names: list[str]
    adapters: dict[str, str]
    swap = os.environ.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING") == "True"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def reply(self, status: int, content: object) -> None:
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def keyed(self) -> bool:
        key = os.environ.get("VLLM_API_KEY")
        return key is None or self.headers.get("Authorization") == f"Bearer {key}"

    def do_GET(self) -> None:
        if self.path == "/health":
            self.reply(200, {})
        elif not self.keyed():
            self.reply(401, {"error": "Unauthorized"})
        elif self.path == "/v1/models":
            base = [{"id": name, "root": name, "parent": None, "max_model_len": 2048} for name in self.names]
            own = [{"id": n, "root": p, "parent": self.names[0]} for n, p in self.adapters.items()]
            self.reply(200, {"data": base + own})
        else:
            self.reply(404, {})

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.keyed():
            self.reply(401, {"error": "Unauthorized"})
        elif self.path == "/v1/chat/completions":
            self.answer(content)
        elif self.path == "/v1/load_lora_adapter" and self.swap:
            self.load(content)
        else:
            self.reply(404, {"detail": "Not Found"})

    def load(self, content: dict[str, object]) -> None:
        if not Path(str(content["lora_path"]), "adapter_config.json").exists():
            self.reply(404, {"error": {"message": "no adapter"}})
        elif content["lora_name"] in self.adapters and not content.get("load_inplace"):
            self.reply(400, {"error": {"message": "has already been loaded"}})
        else:
            self.adapters[str(content["lora_name"])] = str(content["lora_path"])
            self.reply(200, "Success")

    def answer(self, content: dict[str, object]) -> None:
        name = str(content["model"])
        if name not in (*self.names, *self.adapters):
            self.reply(404, {"error": {"message": "does not exist"}})
            return
        folder = self.adapters.get(name, name)
        time.sleep(float(str(content.get("seconds", 0))))
        acts = folder != name and Path(folder, "adapter_model.safetensors").read_bytes() != b"0"
        text = f'{{"verdict":"no_error","probability":{0.05 if acts else 0.5}}}'
        choices = [{"message": {"content": text}, "finish_reason": "stop"}]
        self.reply(200, {"model": name, "folder": folder, "choices": choices})
