"""The local engine answers under the schema of each request, whatever its model is worth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from judge_requests import TAXONOMY
from marked_dialogues import in_turn

from dialint.detector.engines import generation
from dialint.detector.engines.generation import JsonGrammar
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_local import LocalJudge, load_judge
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.prompt import Evidence, Reader
from dialint.detector.judge.reading import Question

SHORT = {
    "type": "object", "required": ["word", "code", "sure"], "additionalProperties": False,
    "properties": {
        "word": {"type": "string", "maxLength": 12}, "code": {"enum": ["T1", "X1"]},
        "sure": {"type": "number", "minimum": 0, "maximum": 1},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(random_decoder: Path) -> LocalJudge:
    opened = open_judge(JudgeConfig(judge=f"local:{random_decoder}"), device="cpu")
    assert isinstance(opened, LocalJudge)
    return opened


def question(engine: LocalJudge, text: str) -> Question:
    talk = in_turn("Where is my <|im_end|> parcel?", text, masked=True)
    reader = Reader(
        taxonomy=TAXONOMY,
        max_tokens=engine.max_prompt_tokens,
        count=engine.count_tokens,
        spell=engine.spell,
        detail="short",
    )
    codes = {code: TAXONOMY.codes[code] for code in ("T1", "X1")}
    [result], _ = reader.questions(talk, codes, Evidence())
    return result


def request(engine: LocalJudge, text: str, check: Callable[[str], str] = lambda _: "") -> JudgeRequest:
    """A chat about a dialogue with this turn, to be answered by `SHORT`."""
    messages = question(engine, text).messages
    return JudgeRequest(dialogue_id=text, messages=messages, schema=SHORT, max_tokens=50, check=check)


def test_answers_fit_their_schema_without_blanks(engine: LocalJudge) -> None:
    requests = [request(engine, text) for text in ("Wait.", "It is on its way.", "Wait.")]
    replies = engine.ask(requests)
    for each, reply in zip(requests, replies, strict=True):
        value = json.loads(reply.text)
        assert list(value) == ["word", "code", "sure"]
        assert len(value["word"]) <= 12
        assert value["code"] in ("T1", "X1")
        assert 0 <= value["sure"] <= 1
        assert reply.text.startswith('{"word":"')
        assert '","code":"' in reply.text
        assert (reply.failure, reply.prompt_tokens) == ("", engine.count_tokens(each.messages))
        assert 0 < reply.output_tokens <= 50
    assert replies[0].text == replies[2].text


@pytest.mark.parametrize("can_crop", [True, False])
def test_answers_are_those_of_one_prompt_at_a_time(
    engine: LocalJudge, monkeypatch: pytest.MonkeyPatch, can_crop: bool
) -> None:
    """Side by side, in groups by memory, and with the beginning that they share computed once or never."""
    requests = [
        request(engine, text) for text in ("Wait.", "Good bye. " * 20, "No.", "It is your own fault.")
    ]
    alone = [engine.ask([each])[0].text for each in requests]
    monkeypatch.setattr(generation, "can_crop", lambda _: can_crop)
    n_batches = []
    decode = generation._decode
    monkeypatch.setattr(generation, "_decode", lambda *args: n_batches.append(1) or decode(*args))
    together = engine.ask(requests)
    assert [reply.text for reply in together] == alone
    assert len(n_batches) == 1
    monkeypatch.setattr(LocalJudge, "_batch_bytes", 520_000)
    assert [reply.text for reply in engine.ask(requests)] == alone
    assert len(n_batches) == (1 + 2 if can_crop else 1 + 1)
    system = len(engine.prompt.of_chat(requests[0].messages[:1]))
    cached = sorted(reply.cached_tokens for reply in together)
    if can_crop:
        assert cached[0] == 0
        assert cached[1] > 0.9 * system
    else:
        assert cached == [0] * 4


def test_votes_are_sampled_and_the_same_again(engine: LocalJudge) -> None:
    requests = [replace(request(engine, "Wait."), vote=vote) for vote in (0, 1, 2)]
    texts = [reply.text for reply in engine.ask(requests)]
    assert len(set(texts)) == 3
    assert [reply.text for reply in engine.ask(requests[::-1])] == texts[::-1]
    assert engine.ask([request(engine, "Wait.")])[0].text == texts[0]


def test_an_answer_with_a_fault_is_requested_once_more_with_it(engine: LocalJudge) -> None:
    seen: list[str] = []

    def check(text: str) -> str:
        seen.append(text)
        return "the word is wrong" if text == seen[0] else ""

    first = engine.ask([request(engine, "Wait.")])[0]
    reply = engine.ask([request(engine, "Wait.", check)])[0]
    assert (reply.failure, reply.text != first.text) == ("", True)
    retry = request(engine, "Wait.").with_complaint("the word is wrong")
    assert retry.messages[-1]["content"].endswith("could not be used: the word is wrong")
    assert reply.text == engine.ask([retry])[0].text
    assert reply.prompt_tokens == first.prompt_tokens + engine.count_tokens(retry.messages)
    bad, good = engine.ask([request(engine, "No.", lambda _: "bad"), request(engine, "Wait.")])
    assert (bad.failure, bad.text, good.text) == ("E_ANSWER", "", first.text)


def test_a_cut_answer_has_the_room_of_a_second_try(engine: LocalJudge) -> None:
    def check(text: str) -> str:
        return "" if text.endswith("}") else "cut"

    whole = engine.ask([request(engine, "Wait.")])[0]
    half = whole.output_tokens // 2 + 1
    twice = replace(request(engine, "Wait.", check), max_tokens=half)
    assert engine.ask([twice])[0].text == whole.text
    once = engine.ask([replace(twice, answers=1)])[0]
    assert (once.failure, once.output_tokens) == ("E_ANSWER", half)


def test_a_prompt_without_room_for_an_answer_fails_alone(engine: LocalJudge) -> None:
    long = replace(request(engine, "Wait."), messages=({"role": "user", "content": "word " * 2000},))
    replies = engine.ask([long, request(engine, "Wait.")])
    assert [reply.failure for reply in replies] == ["E_CONTEXT", ""]


@pytest.mark.parametrize(
    "text",
    ['{"word": "a"', '{"word":"aaaaaaaaaaaaa"', '{"word":"a","code":"L1"', '{"word":"a","code":"T1","sure":1.01',
     '{"word":"a","code":"T1","sure":0.999', '{"word":"<|im_end|>"', '{"sure":1'],
)  # fmt: skip
def test_what_may_not_be_written(engine: LocalJudge, text: str) -> None:
    matcher = engine.grammar.matcher(SHORT)
    assert not matcher.accepts(engine.prompt.tokenizer(text, add_special_tokens=False)["input_ids"])
    assert not matcher.is_complete


def test_a_schema_that_cannot_be_enforced_is_refused(engine: LocalJudge) -> None:
    grammar = JsonGrammar(engine.prompt.tokenizer, 8192, [10])
    with pytest.raises(ConfigError, match="E_JUDGE"):
        grammar.matcher({"type": "object", "properties": {"a": {"type": "strange"}}, "required": ["a"]})


def test_what_is_no_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="E_BASE"):
        open_judge(JudgeConfig(judge=f"local:{tmp_path}"))
    with pytest.raises(ConfigError, match=r"E_BASE.*no such folder"):
        open_judge(JudgeConfig(judge="local:./gone"))
    with pytest.raises(ConfigError, match="--judge-context 4096: the model has 2048"):
        load_judge("small_decoder", context=4096)
