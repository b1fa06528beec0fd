"""A client for one model server: JSON in, JSON out, within a time, with a key that is shown nowhere.

For questions about a server and changes to it. Follows no redirect, uses no proxy, and repeats nothing; the
engine that judges by a server is in `dialint.detector.engines`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from dialint.detector.engines.model_server import parse_address
from dialint.detector.errors import WorldError
from dialint.detector.judge.prompt import Evidence, Reader
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

MAX_BODY_BYTES = 16 * 2**20


@dataclass(frozen=True)
class ServerReply:
    """The status and the body of an answer."""

    status: int
    body: bytes


@dataclass(frozen=True, kw_only=True)
class ServerClient:
    """Where a server is: `address` as ``http://host:port``, with a path before ``/v1`` if it has one."""

    address: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    is_loopback: bool = True

    @classmethod
    def of(cls, url: str, key: str | None = None, *, timeout_s: float = 30.0) -> ServerClient:
        """The client for a URL as people write it, with or without ``/v1``; raises as `parse_address`."""
        address = parse_address(url, has_key=key is not None)
        return cls(address=address.root_url, key=key, timeout_s=timeout_s, is_loopback=address.is_loopback)

    def get(self, path: str) -> ServerReply:
        """The answer to a GET of `path`, such as ``/v1/models``; raises as `post`."""
        return self._ask("GET", path)

    def post(self, path: str, content: Mapping[str, Any]) -> ServerReply:
        """The answer to `content`, whatever its status is.

        Raises:
            WorldError: E_SERVER, nobody answers, or not within the time.
        """
        return self._ask("POST", path, json=content)

    def _ask(self, method: str, path: str, **options: Any) -> ServerReply:
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        body = bytearray()
        try:
            with (
                httpx2.Client(timeout=self.timeout_s, trust_env=False) as client,
                client.stream(method, self.address + path, headers=headers, **options) as response,
            ):
                for part in response.iter_raw():
                    body += part
                    if len(body) > MAX_BODY_BYTES:
                        break
        except httpx2.TimeoutException:
            reason = f"no answer within {self.timeout_s:g} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = f"no answer ({type(error).__name__})"
        else:
            return ServerReply(response.status_code, bytes(body))
        raise WorldError("E_SERVER", f"{self.address}: {reason}")


def sample_request(model: str) -> dict[str, Any]:
    """A chat completion about a made-up dialogue, constrained to the schema of a judge's answer, for a server
    that has to be warmed up."""
    turns = (
        Turn(index=0, role="customer", text="Where is my parcel?"),
        Turn(index=1, role="agent", text="It is on its way and arrives tomorrow."),
    )
    taxonomy = load_taxonomy()
    reader = Reader(taxonomy=taxonomy, max_tokens=10**6, count=lambda messages: 1)
    dialogue, codes = Dialogue(id="sample", turns=turns), {"T1": taxonomy.codes["T1"]}
    [question], _ = reader.questions(dialogue, codes, Evidence())
    return {
        "model": model,
        "messages": list(question.messages),
        "temperature": 0,
        "max_tokens": 96,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": question.schema},
        },
    }
