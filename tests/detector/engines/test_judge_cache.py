"""Answers that are kept: in a file, and on a real Redis server where one is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_llm import FakeLLM
from judge_requests import RUDE, opened, request

from dialint.detector.engines.judge_engines import CachedJudge, open_judge
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge.config import JudgeConfig

REDIS = shutil.which("redis-server")


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    if REDIS is None:
        pytest.skip("redis-server is not installed: the cache on Redis is not tested")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [REDIS, "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        for _ in range(100):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0", server
        server.terminate()


@pytest.fixture(params=["file", "redis"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        return str(request.getfixturevalue("redis_server")[0])
    return str(tmp_path / "answers.sqlite")


def test_a_stored_answer_is_not_requested_again(llm: FakeLLM, url: str, where: str) -> None:
    config = JudgeConfig(judge=f"http:{url}", judge_cache=where)
    requests = [request(RUDE), request("Good morning."), replace(request(RUDE), vote=1)]
    judge = open_judge(config)
    first = judge.ask(requests)
    judge.close()
    judge, n_requests = open_judge(config), len(llm.log)
    second = judge.ask([*requests, request("Good evening.")])
    assert [reply.text for reply in second[:3]] == [reply.text for reply in first]
    assert all(reply.prompt_tokens == 0 for reply in second[:3])
    assert second[3].text
    assert len(llm.log) == n_requests + 1
    llm.models = ("another",)
    other = open_judge(config)
    assert other.fingerprint != judge.fingerprint
    n_requests = len(llm.log)
    other.ask([request(RUDE)])
    assert len(llm.log) == n_requests + 1
    other.close()
    judge.close()


def test_only_usable_answers_are_stored_and_used(url: str, where: str) -> None:
    judge = CachedJudge(opened(url), where)
    unusable = replace(request(RUDE), check=lambda text: "no")
    assert judge.ask([unusable])[0].failure == "E_ANSWER"
    paid = judge.ask([request(RUDE)])[0]  # the same question
    assert paid.text
    assert paid.prompt_tokens > 0
    assert judge.ask([unusable])[0].failure == "E_ANSWER"
    judge.close()


def test_a_file_is_for_its_owner(url: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    judge = CachedJudge(opened(url), str(path))
    judge.ask([request(RUDE)])
    judge.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert RUDE.encode() not in path.read_bytes()
    other = tmp_path / "notes.txt"
    other.write_text("These are my notes, which nobody may write over." * 40)
    with pytest.raises(ConfigError, match="a file of something else"):
        open_judge(JudgeConfig(judge=f"http:{url}", judge_cache=str(other)))
    assert other.read_text().startswith("These are my notes")


def test_a_password_in_the_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="DIALINT_REDIS_PASSWORD"):
        open_judge(JudgeConfig(judge=f"http:{url}", judge_cache="redis://:secret@127.0.0.1:6379/0"))


def test_a_server_that_is_gone_stops_the_job(
    url: str, redis_server: tuple[str, subprocess.Popen[bytes]]
) -> None:
    address, server = redis_server
    judge = CachedJudge(opened(url), address)
    server.kill()
    server.wait()
    with pytest.raises(WorldError, match="not reached"):
        judge.ask([request(RUDE)])
    judge.close()
    with pytest.raises(WorldError, match="not reached"):
        open_judge(JudgeConfig(judge=f"http:{url}", judge_cache=address))
