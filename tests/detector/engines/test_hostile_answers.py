"""Every field of an answer replaced by every hostile value, through a real socket: a reply is an answer or a
counted failure, never an exception."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fake_llm import FakeLLM
from hostile_values import BODIES, HOSTILE, fields, with_value
from judge_requests import RUDE, opened, request
from patience import WAIT_S

from dialint.detector.engines.judge_http import HttpJudge
from dialint.detector.errors import DialintError
from dialint.detector.judge.engine import JudgeReply, JudgeRequest

CHAT, MODELS = "/v1/chat/completions", "/v1/models"


def replaced(
    path: str, body: bytes | None, field: Any = (), hostile: bytes = b""
) -> Callable[[str, Any], Any]:
    """Answers at `path` become `body`, or have a hostile value at `field`."""

    def mutate(at: str, data: Any) -> Any:
        if at != path:
            return data
        return with_value(data, field, hostile) if body is None else body

    return mutate


def check(reply: JudgeReply, question: JudgeRequest) -> None:
    assert bool(reply.text) != bool(reply.failure)
    counts = (reply.prompt_tokens, reply.cached_tokens, reply.output_tokens)
    assert all(type(n) is int and 0 <= n < 10**6 for n in counts)
    assert not reply.text or question.check(reply.text) == ""


def answer_fields(llm: FakeLLM, judge: HttpJudge, question: JudgeRequest) -> list[Any]:
    """The fields of the answers to a question."""
    seen: dict[Any, None] = {}

    def watch(at: str, data: Any) -> Any:
        if at == CHAT:
            seen.update(dict.fromkeys(fields(data)))
        return data

    llm.mutate = watch
    judge.ask([question])
    return list(seen)


def test_every_field_of_an_answer_may_be_anything(llm: FakeLLM, url: str) -> None:
    question = request(RUDE)
    judge = opened(url, judge_outage_s=4)
    places = answer_fields(llm, judge, question)
    assert len(places) >= 3
    for place in (*places, None):
        values = itertools.cycle(BODIES if place is None else HOSTILE)
        llm.mutate = lambda at, data, place=place, values=values: replaced(
            CHAT, next(values) if place is None else None, place, next(values)
        )(at, data)
        for reply in judge.ask([question] * len(HOSTILE)):
            check(reply, question)
    llm.mutate = None
    assert judge.ask([question])[0].failure == ""  # and it goes on as before
    judge.close()


@pytest.mark.parametrize("path", [pytest.param(MODELS, marks=pytest.mark.slow), CHAT])
def test_a_server_that_answers_anything_is_opened_or_refused_in_one_line(
    llm: FakeLLM, url: str, path: str
) -> None:
    card = {"id": "fake-4b", "root": "r", "parent": "p", "max_model_len": 8192}
    valid = {"object": "list", "data": [card]}
    hostile = [
        replaced(path, with_value(valid, place, value))
        for place in (fields(valid) if path == MODELS else ())
        for value in HOSTILE
    ]
    for mutate in (*hostile, *(replaced(path, body) for body in BODIES)):
        llm.mutate = mutate
        try:
            judge = opened(url)
        except DialintError as refused:
            assert "\n" not in refused.message
            assert "\x1b" not in refused.message
        else:
            assert judge.max_prompt_tokens < 10**9
            judge.close()


@pytest.mark.parametrize("status", [400, 404, 422])
def test_the_words_of_a_refusal_may_be_anything(llm: FakeLLM, url: str, status: int) -> None:
    question = request(RUDE)
    judge = opened(url)
    errors = [b'{"error":' + value + b"}" for value in HOSTILE if value != b"absent"]
    errors += [
        b'{"error":{"message":' + value + b',"code":' + value + b"}}"
        for value in HOSTILE
        if value != b"absent"
    ]
    for body in (*errors, *BODIES, b'{"detail":"context length 99999999999999 tokens"}'):
        llm.mutate = lambda at, data, body=body: body if "error" in data else data
        llm.statuses = [(status, {})]
        (reply,) = judge.ask([question])
        check(reply, question)
    judge.close()


@pytest.mark.parametrize(
    "text", ["", "-5", "²", "1e309", "nan", "9" * 400, "86400", "Wed, 21 Oct 99999 07:28:00 GMT", "Mon"]
)
def test_a_wait_that_cannot_be_read_is_short(llm: FakeLLM, url: str, text: str) -> None:
    judge = opened(url)
    llm.statuses = [(429, {"Retry-After": text.encode().decode("latin-1")})]
    started_s = time.monotonic()
    (reply,) = judge.ask([request(RUDE)])
    assert (reply.failure, time.monotonic() - started_s < WAIT_S) == ("", True)
    judge.close()


@contextmanager
def raw_server(head: bytes, piece: bytes) -> Iterator[str]:
    """A server that answers a POST by `head` and then `piece` without an end; a GET as it should."""
    models = json.dumps({"data": [{"id": "m"}]}).encode()
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection:
            received = connection.recv(65536)
            if received.startswith(b"GET"):
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(models), models)
                )
                return
            try:
                connection.sendall(head)
                while not stop.is_set():
                    connection.sendall(piece)
                    stop.wait(0 if len(piece) > 100 else 0.02)
            except OSError:
                pass

    def accept() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize(
    ("head", "piece", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", b" " * 65536, "its response has no end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", "no answer in time"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"zz\r\n", "the connection was cut"),
        (b"HTTP/1.1 999999 \xff\r\n", b"\x00", "the connection was cut"),
        (b"", b"\xff", "the connection was cut"),
    ],
)
def test_a_response_without_an_end_is_an_error(head: bytes, piece: bytes, words: str) -> None:
    with raw_server(head, piece) as url, pytest.raises(DialintError) as refused:
        opened(url, judge_timeout_s=0.2)
    assert refused.value.code == "E_SERVER"
    assert words in refused.value.message or "no answer in time" in refused.value.message
