"""A model server on this machine: a client for it, the exchange of its adapter, and its process.

The client asks in JSON, within a time, with a key that is shown nowhere. It follows no redirect, uses no
proxy, and repeats nothing; the engine that judges by a server is in `dialint.detector.engines`.

The process is started, waited for, and stopped with all that it started. It has a process group of its own,
so that Ctrl-C reaches it through us alone. It gets SIGTERM and time to answer what runs; what is left of its
group then is killed. If our process dies, the kernel tells the server to stop.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import httpx2

from dialint.app.output import escape_controls, print_status
from dialint.detector.artifacts import create_private, disk_errors, make_output_folder
from dialint.detector.engines.judge_folder import read_judge
from dialint.detector.engines.model_server import parse_address, parse_models
from dialint.detector.errors import ConfigError, DialintError, UserError, WorldError
from dialint.detector.judge.prompt import Evidence, Reader
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

MAX_BODY_BYTES = 16 * 2**20
POLL_S = 0.2
HEALTH_S = 5.0
"""Timeout of one look at the server's health."""
STOP_S = 30.0
"""Time between SIGTERM and SIGKILL; more than the server takes to finish what runs."""
TAIL_BYTES, TAIL_CHARS = 8192, 200
_PR_SET_PDEATHSIG = 1


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

    def ask(self, path: str, content: Mapping[str, Any] | None = None) -> ServerReply:
        """The answer to a POST of `content`, or to a GET without any, whatever its status is.

        Raises:
            WorldError: E_SERVER, nobody answers, or not within the time.
        """
        method = "GET" if content is None else "POST"
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        body = bytearray()
        try:
            with (
                httpx2.Client(timeout=self.timeout_s, trust_env=False) as client,
                client.stream(method, self.address + path, headers=headers, json=content) as response,
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


SAMPLES = (
    ("Where is my parcel?", "It is on its way and arrives tomorrow."),
    ("Can I get my money back?", "you should of read the terms, its your own fault"),
    ("My card was charged twice.", "Please restart your router, then it will work again."),
    ("When do you open?", "We open at nine. I have also cancelled your contract."),
)
"""What customers and agents say in the made-up dialogues that a server is asked about."""


def sample_request(model: str, sample: int = 0) -> dict[str, Any]:
    """A chat completion about a made-up dialogue, constrained to the schema of a judge's answer, for a server
    that has to be warmed up, or compared with another."""
    customer, agent = SAMPLES[sample]
    turns = (
        Turn(index=0, role="customer", text=customer),
        Turn(index=1, role="agent", text=agent),
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


def swap_adapter(client: ServerClient, name: str, folder: Path) -> None:
    """Make a running vLLM server answer by the adapter in `folder` when asked as `name`, and prove that it
    acts: to one of `SAMPLES` it must answer otherwise than its base. If not, the old adapter comes back.

    vLLM loads the new adapter beside the old one and exchanges them between two steps of its engine; no
    request is refused or repeated, and one that is being answered is finished by the new weights. `folder` is
    another one than the old adapter's: vLLM's prefix cache knows adapters by their paths.

    Raises:
        ConfigError: E_OPTION, E_KEY or E_ADAPTER, the server may not or cannot load it, or it does not act.
        WorldError: E_SERVER, it does not answer.
    """
    if not client.is_loopback:
        raise ConfigError("E_OPTION", f"--server {client.address}: adapters are swapped on loopback only")
    if client.key is None:
        raise ConfigError("E_KEY", "--server: the key of the server: --key-file, or DIALINT_JUDGE_KEY")
    judge = read_judge(folder)
    if judge.base is None:
        raise ConfigError(
            "E_ADAPTER",
            f"{folder}: a whole model, no adapter; start the server again with it (`dialint serve`)",
        )
    before = _served_folder(client, name)
    if before is not None and before.is_dir():
        try:
            base = read_judge(before).base_sha256
        except UserError:
            base = judge.base_sha256  # not ours; the server compares the shapes
        if base != judge.base_sha256:
            raise ConfigError("E_ADAPTER", f"{folder}: of another base than {name}, which the server runs")
    content = {"lora_name": name, "lora_path": str(judge.folder), "load_inplace": True}
    reply = client.ask("/v1/load_lora_adapter", content)
    if reply.status == 404:
        raise ConfigError(
            "E_OPTION",
            f"{client.address} loads no adapters at run time: start it by `dialint serve vllm --swap`",
        )
    if reply.status != 200:
        raise _refusal(client, reply, f"to load {judge.folder.name}; its log says why")
    try:
        if _served_folder(client, name) != judge.folder:
            raise WorldError("E_SERVER", f"{client.address}: does not show {name} with its new folder")
        cards = parse_models(client.ask("/v1/models").body)
        base_name = next((card.parent for card in cards if card.id == name and card.parent), cards[0].id)
        if all(_answer(client, name, n) == _answer(client, base_name, n) for n in range(len(SAMPLES))):
            raise ConfigError(
                "E_ADAPTER", f"{folder}: served, it answers as its base does, so it does not act"
            )
    except DialintError:
        if before is not None:
            with suppress(DialintError):
                client.ask("/v1/load_lora_adapter", {**content, "lora_path": str(before)})
        raise


def _answer(client: ServerClient, name: str, sample: int) -> str:
    reply = client.ask("/v1/chat/completions", sample_request(name, sample))
    if reply.status != 200:
        raise _refusal(client, reply, f"a question to {name}")
    return str(json.loads(reply.body)["choices"][0]["message"]["content"])


def _served_folder(client: ServerClient, name: str) -> Path | None:
    """Where the server loaded the adapter `name` from."""
    reply = client.ask("/v1/models")
    if reply.status != 200:
        raise _refusal(client, reply, "the list of its models")
    roots = (Path(card.root) for card in parse_models(reply.body) if card.id == name and card.root)
    return next(roots, None)


def _refusal(client: ServerClient, reply: ServerReply, what: str) -> ConfigError | WorldError:
    if reply.status in (401, 403):
        return ConfigError("E_KEY", f"{client.address}: does not take the key")
    return WorldError("E_SERVER", f"{client.address}: refused {what} (status {reply.status})")


class Stopped(BaseException):
    """A signal asks the server to stop. Not an `Exception`: only the owner of the process may catch it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = 130 if signum == signal.SIGINT else 0
        """130 after Ctrl-C, 0 after SIGTERM, by which a service manager stops what it started."""


def _raise_stopped(signum: int, _frame: FrameType | None) -> NoReturn:
    raise Stopped(signum)


class ServerProcess:
    """A server that runs, and the log of what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log

    def wait_ready(self, client: ServerClient, ready_s: float) -> None:
        """Wait until the server says that it is healthy.

        Raises:
            WorldError: E_SERVER, it ended, or is not ready in time.
        """
        end_s = time.monotonic() + ready_s
        health = ServerClient(address=client.address, timeout_s=HEALTH_S)
        while time.monotonic() < end_s:
            self.check_running()
            with suppress(WorldError):  # not listening yet
                if health.ask("/health").status == 200:
                    return
            time.sleep(POLL_S)
        raise WorldError("E_SERVER", f"not ready within {ready_s:g} s (--ready-s); {self._last_words()}")

    def check_running(self) -> None:
        """
        Raises:
            WorldError: E_SERVER, the server ended by itself.
        """
        if (code := self.process.poll()) is not None:
            raise WorldError("E_SERVER", f"the server ended with exit code {code}; {self._last_words()}")

    def _last_words(self) -> str:
        """The last line of the log that tells of an error, else the last one, and where the log is."""
        with open(self.log, "rb") as file:
            file.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
            lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
        telling = (
            [line for line in lines if "Error" in line and "Traceback" not in line] or lines or ["nothing"]
        )
        return f"it said: {escape_controls(telling[-1].strip())[:TAIL_CHARS]} ({self.log})"


@contextmanager
def running_server(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> Iterator[ServerProcess]:
    """Start a server, which is gone when the context ends, however that comes. Within, SIGTERM and SIGINT
    raise `Stopped`; one that comes while the server stops does not wait for it.

    Raises:
        WorldError: E_WRITE, the log cannot be written; E_SERVER, the interpreter does not start.
    """
    with disk_errors(log):
        make_output_folder(log.absolute().parent)
        handle = create_private(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    earlier = {each: signal.signal(each, _raise_stopped) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        try:
            process = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=handle,
                start_new_session=True,
                preexec_fn=_stop_with_parent,
            )
        except OSError as error:
            raise WorldError("E_SERVER", f"{command[0]}: {error.strerror}") from None
        finally:
            os.close(handle)
        try:
            yield ServerProcess(process, log)
        finally:
            try:
                if process.poll() is None:
                    print_status("stopping")
                    process.terminate()
                    process.wait(STOP_S)
            except (subprocess.TimeoutExpired, Stopped):
                pass
            finally:
                with suppress(ProcessLookupError):  # nothing of the group is left
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _stop_with_parent() -> None:
    """Run in the new process: SIGTERM when the process that started it dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
