"""A real vLLM server: the judge over HTTP, adapters swapped while it runs, and the server killed and started again."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from served import Asked, Server, questions

from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_local import load_judge
from dialint.detector.judge import JudgeEngine, JudgeReply, parse_answer
from dialint.detector.judge.config import JudgeConfig


@pytest.fixture
def judge(server: Server) -> Iterator[JudgeEngine]:
    engine = open_judge(JudgeConfig(judge=f"http:{server.url}", judge_model="judge"))
    yield engine
    engine.close()


def errors(replies: list[JudgeReply]) -> np.ndarray:
    """The probability of an error in each reply."""
    return np.array(
        [reply.verdict_probabilities[0] if reply.verdict_probabilities else np.nan for reply in replies]
    )


def local(adapter: Path, asked: list[Asked]) -> np.ndarray:
    return load_judge(str(adapter)).beliefs([each.ids for each in asked])[:, 0]


def test_the_judge_over_http(server: Server, judge: JudgeEngine, adapters: tuple[Path, Path]) -> None:
    asked = questions(20, 10)
    queries, hits = (
        server.metric("vllm:prefix_cache_queries_total"),
        server.metric("vllm:prefix_cache_hits_total"),
    )
    replies = judge.ask([each.request for each in asked])
    queries = server.metric("vllm:prefix_cache_queries_total") - queries
    hits = server.metric("vllm:prefix_cache_hits_total") - hits
    difference = np.abs(errors(replies) - local(adapters[0], asked))
    valid = [parse_answer(reply.text) is not None for reply in replies if not reply.failure]
    print(
        f"\nover HTTP: greatest difference of a probability {difference.max():.2e}, {len(valid)} answers, {sum(valid)} valid"
    )
    print(f"prefix cache: {hits:.0f} of {queries:.0f} tokens, {hits / queries:.3f}")
    assert sum(valid) == 200
    assert difference.max() < 0.01
    assert hits / queries > 0.7


def test_adapters_are_swapped_while_the_server_runs(
    server: Server, judge: JudgeEngine, adapters: tuple[Path, Path]
) -> None:
    """The first one's answers are in the prefix cache when the second one comes under its name."""
    asked = questions(6, 5)
    requests = [each.request for each in asked]
    expected = [local(adapter, asked) for adapter in adapters]
    print(f"\nthe adapters differ by {np.abs(expected[0] - expected[1]).max():.3f} at most")
    assert np.abs(expected[0] - expected[1]).min() > 0.02
    for which in (0, 1, 0, 1):
        body = {"lora_name": "judge", "lora_path": str(adapters[which]), "load_inplace": True}
        assert server.post("/load_lora_adapter", body)[0] == 200
        difference = np.abs(errors(judge.ask(requests)) - expected[which]).max()
        print(f"adapter {which + 1}: greatest difference {difference:.2e} on {len(asked)} questions")
        assert difference < 0.01
    assert server.post("/load_lora_adapter", {"lora_name": "judge", "lora_path": str(adapters[0])})[0] == 400
    body = {"lora_name": "judge", "lora_path": str(adapters[0]), "load_inplace": True}
    assert server.post("/load_lora_adapter", body)[0] == 200


def test_a_killed_server_that_comes_back(server: Server, judge: JudgeEngine) -> None:
    """SIGKILL in the middle of 1,000 requests."""
    requests = [each.request for each in questions(100, 10, max_tokens=48)]
    finished = server.metric("vllm:request_success_total")
    seen: list[float] = []

    def kill() -> None:
        while True:
            done = server.metric("vllm:request_success_total") - finished
            if done >= 300:
                break
            stop.wait(0.2)
        seen.append(done)
        server.kill()
        server.start()

    stop = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    replies = judge.ask(requests)
    killer.join()
    again = server.metric("vllm:request_success_total")
    print(f"\nkilled after {seen[0]:.0f} of 1,000 requests; {again:.0f} answered by the new server")
    failures = [reply.failure for reply in replies if reply.failure]
    print(f"replies: {len(replies)}, failures: {Counter(failures)}")
    assert len(replies) == 1000
    assert set(failures) <= {"E_ANSWER"}  # an answer that the limit of tokens cut
    assert all(bool(reply.text) != bool(reply.failure) for reply in replies)
    sample = judge.ask(requests[::100])
    assert np.nanmax(np.abs(errors(sample) - errors(replies[::100]))) < 1e-3
    assert json.loads(sample[0].text or "{}") is not None
