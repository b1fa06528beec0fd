"""`dialint doctor --vllm`: what a server can do, found out by asking it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hostile_values import BODIES, HOSTILE, fields, with_value

from dialint.app.commands.doctor import doctor
from dialint.app.serving.capabilities import Capability, examine_server
from dialint.app.serving.client import ServerClient
from dialint.detector.errors import ConfigError, WorldError

FakeServer = Callable[..., AbstractContextManager[tuple[str, Any]]]


@pytest.fixture
def examine(fake_server: FakeServer, home: Path) -> Callable[..., dict[str, Capability]]:
    """What is found out about a stand-in whose handler has these attributes."""

    def run(
        key: str | None = "sk-1", model: str | None = None, **attributes: object
    ) -> dict[str, Capability]:
        with fake_server({"judge": "/a"}) as (address, handler):
            for name, value in attributes.items():
                setattr(handler, name, value)
            return {each.what: each for each in examine_server(ServerClient.of(address, key), model)}

    return run


def test_a_server_as_we_start_it(examine: Callable[..., dict[str, Capability]]) -> None:
    found = examine()
    states = {name: each.state for name, each in found.items()}
    assert states == {
        "vLLM": "yes", "key": "yes", "models": "yes", "judge": "yes", "context": "yes", "form": "no",
    }  # fmt: skip
    assert found["models"].result == "small_decoder, judge"
    assert found["context"].result == "1,536 tokens of a prompt"
    assert "gives no log-probabilities" in found["form"].result


def test_what_is_missing_comes_with_what_to_do(examine: Callable[..., dict[str, Capability]]) -> None:
    assert examine(key=None)["key"].result == "wants a key"
    assert examine(key="sk-2")["key"].result == "does not take the key"
    assert "it has 'judge', 'small_decoder'" in examine(model="other")["judge"].result


ANSWERS = {
    "/version": b'{"version":"0.0.fake"}',
    "/v1/models": b'{"data":[{"id":"m","root":"m","parent":null,"max_model_len":2048}]}',
    "/v1/chat/completions": b'{"choices":[{"message":{"content":"x"},"logprobs":{"content":[{"token":"a","logprob":-1.0,'
    b'"top_logprobs":[{"token":"a","logprob":-1.0}]}]}}]}',
}


@pytest.mark.parametrize("path", ANSWERS)
def test_any_answer_of_a_server_is_something_found_out(
    fake_server: FakeServer, home: Path, path: str
) -> None:
    """Every field of it replaced by every hostile value; what is shown obeys no terminal."""
    valid = ANSWERS[path]
    content = json.loads(valid)
    bodies = [with_value(content, place, value) for place in fields(content) for value in HOSTILE]
    with fake_server({}) as (address, handler):
        client = ServerClient.of(address, "sk-1")
        for body in (*bodies, *BODIES):
            handler.mutate = staticmethod(lambda at, own, body=body: body if at == path else own)
            capabilities = list(examine_server(client))
            shown = "".join(f"{each.what}{each.result}{each.remedy}" for each in capabilities)
            assert shown.isprintable()
            assert all(each.state in ("yes", "no", "unknown") for each in capabilities)


def test_the_command_says_whether_it_can_judge(
    fake_server: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_server({}) as (address, _):
        assert doctor(vllm=f"{address}/v1") == 0
        assert "it can judge." in capsys.readouterr().out
        monkeypatch.delenv("DIALINT_JUDGE_KEY")
        assert doctor(vllm=address) == 1
        assert "it cannot judge: key" in capsys.readouterr().out
    with pytest.raises(WorldError, match="E_SERVER"):
        doctor(vllm=address)
    with pytest.raises(ConfigError, match="about the server that --vllm names"):
        doctor(model="judge")
