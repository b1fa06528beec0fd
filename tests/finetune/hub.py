"""A hub on this machine: a server that gives one model's files as huggingface.co does."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _answers(name: str, folder: Path, tag: str) -> type[BaseHTTPRequestHandler]:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}

    class Answers(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(whole=False)

        def do_GET(self) -> None:
            self._answer(whole=True)

        def _answer(self, *, whole: bool) -> None:
            path = urlsplit(self.path).path
            _, _, requested = path.partition(f"/{name}/resolve/{COMMIT}/")
            if path in (f"/api/models/{name}/revision/{revision}" for revision in ("main", tag, COMMIT)):
                self._send(json.dumps({"id": name, "sha": COMMIT, "siblings": []}).encode(), whole)
            elif path == f"/api/models/{name}/tree/{COMMIT}":
                listed = [
                    {"type": "file", "path": each, "size": file.stat().st_size, "oid": _etag(file)}
                    for each, file in files.items()
                ]
                self._send(json.dumps(listed).encode(), whole)
            elif requested in files:
                headers = {"ETag": f'"{_etag(files[requested])}"', "X-Repo-Commit": COMMIT}
                self._send(files[requested].read_bytes(), whole, **headers)
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RevisionNotFound" if name in path else "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        def _send(self, body: bytes, whole: bool, **headers: str) -> None:
            self.send_response(200)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if whole:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Answers


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


@contextmanager
def hub(name: str, folder: Path, tag: str = "v1") -> Iterator[str]:
    """The address of a hub that has `folder` as `name`, its one commit on main and as `tag`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _answers(name, folder, tag))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
