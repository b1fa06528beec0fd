"""`--judge http:` on a real vLLM server: the local engine's readings, valid answers, adapters swapped while it
runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from served import Server, count_equal, count_valid, must_list, requests

from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_http import HttpJudge
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge.config import JudgeConfig

ASKED = requests(200)


@pytest.fixture(scope="module")
def judge(server: Server) -> Iterator[HttpJudge]:
    engine = open_judge(JudgeConfig(judge=f"http:{server.url}", judge_model=("judge",)))
    assert isinstance(engine, HttpJudge)
    yield engine
    engine.close()


def test_answers_are_valid(server: Server, judge: HttpJudge) -> None:
    queries, hits = server.prefix_cache()
    replies = judge.ask(ASKED)
    after = server.prefix_cache()
    rate = (after[1] - hits) / (after[0] - queries)
    print(
        f"over HTTP: valid readings: {count_valid(ASKED, replies)} of {len(ASKED)}; prefix cache: "
        f"{after[1] - hits:.0f} of {after[0] - queries:.0f} tokens, {rate:.3f}"
    )
    assert count_valid(ASKED, replies) == len(ASKED) == 200
    assert rate > 0.5
    assert sum(reply.cached_tokens for reply in replies) > 0


def test_adapters_are_swapped_while_the_server_runs(
    server: Server, judge: HttpJudge, adapters: tuple[Path, Path]
) -> None:
    """The first one's prompts are in the prefix cache when the second one comes under its name."""
    asked = [must_list(each) for each in ASKED[:40]]
    replies = []
    for which in (0, 1, 0):
        server.load_adapter(adapters[which])
        replies.append(judge.ask(asked))
    same = [count_equal(replies[0], each) for each in replies[1:]]
    print(
        f"over HTTP, adapters swapped: {[count_valid(asked, each) for each in replies]} of {len(asked)} valid; "
        f"equal to the first one's: {same[0]} of the second's, {same[1]} of its own after the swap back"
    )
    assert [count_valid(asked, each) for each in replies] == [len(asked)] * 3
    assert same[0] <= 0.1 * len(asked)
    assert same[1] >= 0.9 * len(asked)
    body = {"lora_name": "judge", "lora_path": str(adapters[0])}
    assert server.post("/load_lora_adapter", body)[0] == 400


def test_a_prompt_that_is_too_long_fails_alone(judge: HttpJudge) -> None:
    long = replace(ASKED[0], messages=({"role": "user", "content": "word " * 3000},))
    replies = judge.ask([ASKED[0], long, ASKED[1]])
    assert [reply.failure for reply in replies] == ["", "E_CONTEXT", ""]


def test_what_a_new_user_gets_wrong_is_one_line(server: Server) -> None:
    with pytest.raises(ConfigError, match=r"no model 'x' \(--judge-model\): it has 'base', 'judge'$"):
        open_judge(JudgeConfig(judge=f"http:{server.url}", judge_model=("x",)))
    with pytest.raises(ConfigError, match=r"name the model: --judge-model \(it has 'base', 'judge'\)$"):
        open_judge(JudgeConfig(judge=f"http:{server.url}"))
    with pytest.raises(WorldError, match=r"is the server running, and is this its address\?$"):
        open_judge(JudgeConfig(judge="http:http://127.0.0.1:9/v1"))
