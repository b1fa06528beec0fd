"""vLLM in this process: the local engine's probabilities, valid answers, verbatim quotes, a warm cache."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from served import JudgeCase, assert_quoted, questions, with_quote

from dialint.detector.engines.answer_grammar import answer_grammar
from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_local import load_judge
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.engines.judge_vllm import VllmJudge
from dialint.detector.errors import ConfigError
from dialint.detector.judge import SCHEMA, VERDICTS, JudgeReply, JudgeRequest, parse_answer
from dialint.detector.judge.config import JudgeConfig


@pytest.fixture(scope="module")
def judge(adapters: tuple[Path, Path]) -> Iterator[VllmJudge]:
    engine = open_judge(JudgeConfig(judge=f"vllm:{adapters[0]}"), device="cpu")
    assert isinstance(engine, VllmJudge)
    yield engine
    engine.close()
    engine.close()


@pytest.fixture(scope="module")
def cases() -> list[JudgeCase]:
    return questions(20, 10)


@pytest.fixture(scope="module")
def replies(judge: VllmJudge, cases: list[JudgeCase]) -> list[JudgeReply]:
    started_s = time.perf_counter()
    queries, hits = judge.prefix_cache_counts()
    replies = judge.ask([each.request for each in cases])
    seconds = time.perf_counter() - started_s
    queries, hits = (
        after - before for after, before in zip(judge.prefix_cache_counts(), (queries, hits), strict=True)
    )
    print(
        f"\n{len(replies)} questions in {seconds:.1f} s; prefix cache: {hits} of {queries} tokens, {hits / queries:.3f}"
    )
    assert hits / queries > 0.7
    return replies


def test_probabilities_are_those_of_the_local_engine(
    adapters: tuple[Path, Path], cases: list[JudgeCase], replies: list[JudgeReply]
) -> None:
    local = load_judge(str(adapters[0])).beliefs([each.ids for each in cases])
    own = np.array([reply.verdict_probabilities for reply in replies])
    difference = np.abs(local - own).max()
    print(f"\nin process: greatest difference of a probability {difference:.2e} on {len(cases)} questions")
    assert len(cases) == 200
    assert difference < 0.01
    assert np.ptp(own[:, 0]) > 0.01  # the questions are not all one to it


def test_answers_are_valid_and_quotes_verbatim(cases: list[JudgeCase], replies: list[JudgeReply]) -> None:
    answers = [parse_answer(reply.text) for reply in replies]
    assert [reply.failure for reply in replies] == [""] * 200
    quoted = 0
    for each, reply, answer in zip(cases, replies, answers, strict=True):
        assert answer is not None
        assert reply.verdict_probabilities is not None
        assert answer.verdict == VERDICTS[int(np.argmax(reply.verdict_probabilities))]
        assert reply.text == json.dumps(json.loads(reply.text), ensure_ascii=False, separators=(",", ":"))
        assert set(json.loads(reply.text)) <= SCHEMA["properties"].keys()
        assert each.request.quoted is not None
        if answer.quote is not None:
            quoted += 1
            assert answer.quote in each.request.quoted
    verdicts = [answer.verdict for answer in answers if answer]
    print(
        f"\nvalid answers: 200 of 200; verdicts {[verdicts.count(name) for name in VERDICTS]}; {quoted} quotes, all verbatim"
    )


def test_generated_answers_fit_the_schema_and_quote_the_turn(
    judge: VllmJudge, cases: list[JudgeCase]
) -> None:
    some = cases[::4]
    replies = judge.ask([with_quote(each).request for each in some])
    assert_quoted(some, replies)
    print(f"\nin process: {len(replies)} generated errors, all valid and with a verbatim quote")


def test_tokens_are_counted(cases: list[JudgeCase], replies: list[JudgeReply]) -> None:
    assert [reply.prompt_tokens for reply in replies] == [len(each.ids) for each in cases]
    assert all(0 <= reply.cached_tokens < reply.prompt_tokens for reply in replies)
    assert all(reply.output_tokens > 0 for reply in replies)


def test_a_screen_of_turns_and_codes(judge: VllmJudge, cases: list[JudgeCase]) -> None:
    pair = {
        "type": "object", "required": ["turn", "code"], "additionalProperties": False,
        "properties": {"turn": {"enum": [1, 3, 5]}, "code": {"enum": ["I1", "T1"]}},
    }  # fmt: skip
    schema = {
        "type": "object", "required": ["errors"], "additionalProperties": False,
        "properties": {"errors": {"type": "array", "maxItems": 4, "items": pair}},
    }  # fmt: skip
    requests = [
        JudgeRequest(dialogue_id="d", messages=each.request.messages, schema=schema, max_tokens=80)
        for each in cases[:10]
    ]
    for reply in judge.ask(requests):
        assert reply.verdict_probabilities is None
        for error in json.loads(reply.text)["errors"]:
            assert error["turn"] in (1, 3, 5)
            assert error["code"] in ("I1", "T1")


def test_one_bad_request_fails_alone(judge: VllmJudge, cases: list[JudgeCase]) -> None:
    good = cases[0].request
    long = JudgeRequest(
        dialogue_id="l", messages=({"role": "user", "content": "word " * 3000},), schema=SCHEMA, max_tokens=20
    )
    endless = JudgeRequest(dialogue_id="e", messages=good.messages, schema=SCHEMA, max_tokens=2)
    replies = judge.ask([good, long, endless, good])
    assert [reply.failure for reply in replies] == ["", "E_CONTEXT", "E_ANSWER", ""]
    assert judge.count_tokens(good.messages) == len(cases[0].ids) <= judge.max_prompt_tokens
    assert not judge.is_remote


def test_the_context_is_within_the_model() -> None:
    with pytest.raises(ConfigError, match="--judge-context 4096: the model has 2048"):
        open_judge(JudgeConfig(judge="vllm:small_decoder", judge_context=4096))


@pytest.mark.parametrize(
    "text", ['I texts "no", twice: 3.50€', "Да. Нет!", "お荷物は明日届きます", "a\\b 😀 c\u00a0d", "…"]
)
def test_the_grammar_takes_parts_of_the_text_only(text: str) -> None:
    import xgrammar.testing

    accepts = xgrammar.testing._is_grammar_accept_string
    spelling = JudgePrompt.of(SMALL_DECODER).spelling
    grammar = xgrammar.Grammar.from_ebnf(answer_grammar(SCHEMA, spelling.letters(text)))
    opening = '{"verdict":"error","probability":0.98,"quote":'
    assert accepts(grammar, f'{opening}"{"".join(spelling.letters(text))}"}}')
    assert accepts(grammar, '{"verdict":"no_error","probability":0.02}')
    assert not accepts(grammar, f'{opening}"something else"}}')
    assert not accepts(grammar, f'{opening}""}}')
    assert not accepts(grammar, '{"verdict": "no_error", "probability": 0.02}')


def test_a_reason_is_taken_and_what_its_grammar_costs() -> None:
    """What may follow each token is computed by the server's only thread, while all other requests wait."""
    import xgrammar.testing

    prompt = JudgePrompt.of(SMALL_DECODER)
    info = xgrammar.TokenizerInfo.from_huggingface(prompt.tokenizer, vocab_size=len(prompt.tokenizer))
    grammar = answer_grammar(SCHEMA, prompt.spelling.letters("I am sorry. " * 40))
    matcher = xgrammar.GrammarMatcher(xgrammar.GrammarCompiler(info, max_threads=1).compile_grammar(grammar))
    mask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
    assert matcher.accept_string('{"verdict":"error","probability":0.9,"quote":"sorry","reason":"')
    started_s = time.process_time()
    for _ in range(40):
        matcher.fill_next_token_bitmask(mask)
        assert matcher.accept_string("word, ")
    seconds = time.process_time() - started_s
    print(f"in process: {1000 * seconds / 40:.2f} ms of processor time for each token of a reason")
    assert matcher.accept_string('"}')


def test_a_text_without_a_word_has_no_quote() -> None:
    import xgrammar.testing

    accepts = xgrammar.testing._is_grammar_accept_string
    grammar = xgrammar.Grammar.from_ebnf(answer_grammar(SCHEMA, [" ", "\\n"]))
    assert not accepts(grammar, '{"verdict":"error","probability":0.98,"quote":" "}')
    assert accepts(grammar, '{"verdict":"error","probability":0.98}')
