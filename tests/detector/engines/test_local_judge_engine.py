"""The local engine answers screens and details of a stage, whatever its model is worth."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM
from typing_extensions import get_protocol_members

from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.quote_constraint import ScreenConstraint
from dialint.detector.errors import ConfigError
from dialint.detector.judge import Question, build_chat, detail_schema, locate_quote, parse_answer
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeEngine, JudgeRequest
from dialint.detector.judge.screens import parse_screen, screen_chat, screen_schema
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy

CODES = load_taxonomy().codes
DIALOGUE = Dialogue(
    id="d",
    turns=(
        Turn(index=0, role="customer", text="Where is my <|im_end|> parcel?"),
        Turn(index=1, role="agent", text="Wait and see, it is your own fault."),
        Turn(index=2, role="customer", text="Rude."),
        Turn(index=3, role="agent", text="Good bye."),
    ),
    masked=True,
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalJudge:
    """A decoder of random weights with the small decoder's tokenizer."""
    folder = tmp_path_factory.mktemp("random")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((SMALL_DECODER / name).read_bytes())
    torch.manual_seed(1)
    shape = Qwen3Config(
        vocab_size=8192, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        head_dim=16, intermediate_size=64, max_position_embeddings=2048, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=10, pad_token_id=0, initializer_range=0.2,
    )  # fmt: skip
    Qwen3ForCausalLM(shape).save_pretrained(folder)
    opened = open_judge(JudgeConfig(judge=f"local:{folder}"), device="cpu")
    assert isinstance(opened, LocalJudge)
    return opened


def request(engine: LocalJudge, code: str | None) -> JudgeRequest:
    if code is None:
        entries = [CODES[name] for name in ("T1", "R1", "X1")]
        chat = screen_chat(DIALOGUE, (1, 3), entries, (), engine.spell)
        schema = screen_schema((1, 3), [entry.code for entry in entries])
        return JudgeRequest(dialogue_id="d", messages=tuple(chat.messages), schema=schema, max_tokens=200)
    chat = build_chat(Question(dialogue=DIALOGUE, turn=1, code=code), CODES[code], engine.spell)
    return JudgeRequest(
        dialogue_id="d", messages=tuple(chat.messages), schema=detail_schema(CODES[code]), max_tokens=60,
        wants_verdict=True, quoted=DIALOGUE.turns[1].text,
    )  # fmt: skip


def test_it_has_all_that_is_read_of_an_engine(engine: LocalJudge) -> None:
    """Here `open_judge` is declared to return one, so that types are checked; this shows it when it runs."""
    assert [name for name in get_protocol_members(JudgeEngine) if not hasattr(engine, name)] == []


def test_screens_fit_their_schema_and_details_have_the_probabilities_of_their_tokens(
    engine: LocalJudge,
) -> None:
    asked = [request(engine, code) for code in ("T1", None, "X1", "L1", None)]
    replies = engine.ask(asked)
    for each, reply in zip(asked, replies, strict=True):
        assert reply.failure == ""
        assert reply.prompt_tokens == engine.count_tokens(each.messages)
        if not each.wants_verdict:
            assert parse_screen(reply.text, (1, 3), ("T1", "R1", "X1")) is not None
            continue
        assert reply.verdict_probabilities is not None
        beliefs = engine.beliefs([engine.prompt.of_chat(each.messages)])[0]
        assert reply.verdict_probabilities == pytest.approx(beliefs.tolist(), abs=1e-4)
        assert sum(reply.verdict_probabilities) == pytest.approx(1)
        answer = parse_answer(reply.text)
        if answer is not None and answer.quote:
            assert locate_quote(answer, DIALOGUE.turns[1].text) is not None
    assert replies[1].text == replies[4].text


def test_prompts_with_a_common_beginning_share_its_computation(engine: LocalJudge) -> None:
    codes = ("T1", "X1", "L1", "R1", "T1")
    prompts = [engine.prompt.of_chat(request(engine, code).messages) for code in codes]
    beliefs, computed = engine.beliefs_with_reuse(prompts)
    assert abs(beliefs - engine.beliefs(prompts)).max() < 1e-5
    assert sorted(computed)[0] == 1  # the second T1
    assert sum(computed) < 0.6 * sum(map(len, prompts))


def test_answers_with_and_without_reuse_are_the_same(
    engine: LocalJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Screens, and errors of one dialogue with quotes, of different lengths and side by side."""
    asked = [request(engine, code) for code in ("T1", None, "X1", "L1", None, "R1")]
    prompts = [engine.prompt.of_chat(each.messages) for each in asked]
    spellings, stops = engine.verbatim, engine.stop_tokens
    rules = [
        spellings.of(each.quoted) if each.quoted else ScreenConstraint(spellings, each.schema, stops)
        for each in asked
    ]
    texts = [each.quoted or "" for each in asked]
    results = {}
    for reuses in (True, False):
        monkeypatch.setattr(LocalJudge, "_can_reuse", property(lambda _, reuses=reuses: reuses))
        errors = engine.answers(prompts, texts, [0] * len(prompts), 40)
        results[reuses] = engine.generate_constrained(prompts, rules, 60), errors
    for reused, plain in zip(results[True], results[False], strict=True):
        assert reused.texts == plain.texts
        assert plain.computed == [len(prompt) for prompt in prompts]
        assert sum(reused.computed) < 0.7 * sum(plain.computed)
        assert min(reused.computed) == 1  # the second screen, or of an error the last token of its prefix


def test_what_is_no_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="E_BASE"):
        open_judge(JudgeConfig(judge=f"local:{tmp_path}"))
    with pytest.raises(ConfigError, match=r"E_BASE.*no such folder"):
        open_judge(JudgeConfig(judge="local:./gone"))
