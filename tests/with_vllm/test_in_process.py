"""vLLM in this process: the local engine's readings, valid answers, a warm cache."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from served import count_equal, count_valid, must_list, requests

from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_local import load_judge
from dialint.detector.engines.judge_vllm import VllmJudge
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeReply

ASKED = requests(200)


@pytest.fixture(scope="module")
def judge(adapters: tuple[Path, Path]) -> Iterator[VllmJudge]:
    engine = open_judge(JudgeConfig(judge=f"vllm:{adapters[0]}"), device="cpu")
    assert isinstance(engine, VllmJudge)
    yield engine
    engine.close()
    engine.close()


def prefix_cache_counts(judge: VllmJudge) -> tuple[int, int]:
    """Tokens of prompts since the start that were looked up in the prefix cache, and those found."""
    counts = {metric.name: metric.value for metric in judge.llm.get_metrics() if hasattr(metric, "value")}
    return counts["vllm:prefix_cache_queries"], counts["vllm:prefix_cache_hits"]


@pytest.fixture(scope="module")
def replies(judge: VllmJudge) -> list[JudgeReply]:
    started_s = time.perf_counter()
    before = prefix_cache_counts(judge)
    replies = judge.ask(ASKED)
    seconds = time.perf_counter() - started_s
    queries, hits = (
        after - earlier for after, earlier in zip(prefix_cache_counts(judge), before, strict=True)
    )
    print(
        f"\n{len(replies)} readings in {seconds:.1f} s; prefix cache: {hits} of {queries} tokens, "
        f"{hits / queries:.3f}"
    )
    assert hits / queries > 0.5
    return replies


def test_answers_are_valid(replies: list[JudgeReply]) -> None:
    valid = count_valid(ASKED, replies)
    errors = [len(json.loads(reply.text)["errors"]) for reply in replies if reply.text]
    print(f"\nin process: valid readings: {valid} of {len(ASKED)}; {sum(errors)} errors listed")
    assert valid == len(ASKED) == 200


def test_readings_are_those_of_the_local_engine(
    judge: VllmJudge, adapters: tuple[Path, Path], replies: list[JudgeReply]
) -> None:
    local = load_judge(str(adapters[0]))
    expected = local.ask(ASKED)
    equal = count_equal(replies, expected)
    some = [must_list(each) for each in ASKED[:40]]
    forced = judge.ask(some)
    same = count_equal(forced, local.ask(some))
    print(
        f"\nin process: readings equal to the local engine's: {equal} of {len(ASKED)}, and {same} of "
        f"{len(some)} that must list an error, {count_valid(some, forced)} of them valid"
    )
    assert equal >= 0.95 * len(ASKED)
    assert same >= 0.9 * len(some)
    assert count_valid(some, forced) == len(some)
    assert count_valid(ASKED, expected) == len(ASKED)


def test_tokens_are_counted(judge: VllmJudge, replies: list[JudgeReply]) -> None:
    assert [reply.prompt_tokens for reply in replies] == [judge.count_tokens(each.messages) for each in ASKED]
    assert all(0 <= reply.cached_tokens < reply.prompt_tokens for reply in replies)
    assert all(reply.output_tokens > 0 for reply in replies)


def test_votes_are_sampled(judge: VllmJudge) -> None:
    asked = [replace(must_list(ASKED[0]), vote=vote) for vote in range(5)]
    replies = judge.ask(asked)
    assert count_valid(asked, replies) == 5
    assert len({reply.text for reply in replies}) > 1


def test_one_bad_request_fails_alone(judge: VllmJudge) -> None:
    good = ASKED[0]
    long = replace(good, messages=({"role": "user", "content": "word " * 3000},))
    endless = replace(good, max_tokens=2)
    replies = judge.ask([good, long, endless, good])
    assert [reply.failure for reply in replies] == ["", "E_CONTEXT", "E_ANSWER", ""]
    assert judge.count_tokens(good.messages) <= judge.max_prompt_tokens
    assert not judge.is_remote


def test_the_context_is_within_the_model() -> None:
    with pytest.raises(ConfigError, match="--judge-context 4096: the model has 2048"):
        open_judge(JudgeConfig(judge="vllm:small_decoder", judge_context=4096))
