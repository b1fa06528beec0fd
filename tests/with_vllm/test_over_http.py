"""`--judge http:` on a real vLLM server: the local engine's probabilities, valid answers, adapters swapped while
it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from served import JudgeCase, Server, assert_quoted, questions, with_quote

from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_http import HttpJudge
from dialint.detector.engines.judge_local import load_judge
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge import VERDICTS, JudgeReply, parse_answer
from dialint.detector.judge.config import JudgeConfig


@pytest.fixture(scope="module")
def judge(server: Server) -> Iterator[HttpJudge]:
    engine = open_judge(JudgeConfig(judge=f"http:{server.url}", judge_model="judge"))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def cases() -> list[JudgeCase]:
    return questions(20, 10)


def difference(replies: Sequence[JudgeReply], expected: np.ndarray) -> float:
    """The greatest of a probability; all answers are checked to be valid and of the most probable verdict."""
    answers = [parse_answer(reply.text) for reply in replies]
    assert [reply.failure for reply in replies] == [""] * len(replies)
    own = np.array([reply.verdict_probabilities for reply in replies])
    assert [answer and answer.verdict for answer in answers] == [VERDICTS[row.argmax()] for row in own]
    assert not any(reply.is_approximate for reply in replies)
    return float(np.abs(own - expected).max())


def test_adapters_are_swapped_while_the_server_runs(
    server: Server, judge: HttpJudge, adapters: tuple[Path, Path], cases: list[JudgeCase]
) -> None:
    """The first one's prompts are in the prefix cache when the second one comes under its name."""
    requests = [each.request for each in cases]
    expected = [load_judge(str(adapter)).beliefs([each.ids for each in cases]) for adapter in adapters]
    assert np.abs(expected[0] - expected[1]).max(1).min() > 0.02
    for which in (0, 1, 0):
        server.load_adapter(adapters[which])
        queries, hits = server.prefix_cache()
        greatest = difference(judge.ask(requests), expected[which])
        after = server.prefix_cache()
        rate = (after[1] - hits) / (after[0] - queries)
        print(
            f"over HTTP, adapter {which + 1}: greatest difference {greatest:.2e} on {len(cases)} questions, all answers "
            f"valid; prefix cache: {after[1] - hits:.0f} of {after[0] - queries:.0f} tokens, {rate:.3f}"
        )
        assert len(cases) == 200
        assert greatest < 0.01
    body = {"lora_name": "judge", "lora_path": str(adapters[0])}
    assert server.post("/load_lora_adapter", body)[0] == 400


def test_generated_answers_fit_the_schema_and_quote_the_turn(
    judge: HttpJudge, cases: list[JudgeCase]
) -> None:
    some = cases[::4]
    replies = judge.ask([with_quote(each).request for each in some])
    assert_quoted(some, replies)
    print(f"over HTTP: {len(replies)} generated errors, all valid and with a verbatim quote")


def test_a_prompt_that_is_too_long_fails_alone(judge: HttpJudge, cases: list[JudgeCase]) -> None:
    long = replace(cases[0].request, messages=({"role": "user", "content": "word " * 3000},))
    replies = judge.ask([cases[0].request, long, cases[1].request])
    assert [reply.failure for reply in replies] == ["", "E_CONTEXT", ""]


def test_what_a_new_user_gets_wrong_is_one_line(server: Server) -> None:
    with pytest.raises(ConfigError, match=r"no model 'x' \(--judge-model\): it has 'base', 'judge'$"):
        open_judge(JudgeConfig(judge=f"http:{server.url}", judge_model="x"))
    with pytest.raises(ConfigError, match=r"name the model: --judge-model \(it has 'base', 'judge'\)$"):
        open_judge(JudgeConfig(judge=f"http:{server.url}"))
    with pytest.raises(WorldError, match=r"is the server running, and is this its address\?$"):
        open_judge(JudgeConfig(judge="http:http://127.0.0.1:9/v1"))
