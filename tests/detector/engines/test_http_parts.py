"""Control tokens without a tokenizer, words of refusals, estimates of tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from dialint.detector.engines.chat_completions import TokenEstimate, context_limit
from dialint.detector.engines.json_escapes import escape_control_tokens
from dialint.detector.judge.reading import compact_json

CONTROL = Path(__file__).with_name("control_tokens.txt").read_text(encoding="utf-8").splitlines()


def test_every_control_token_is_escaped_and_decodes_as_before() -> None:
    line = {"agent": " ".join(CONTROL), "parts": [CONTROL, [None, True, 1]], "x\\<s>": '"[INST]\\'}
    spelled = escape_control_tokens(compact_json(line))
    assert [token for token in CONTROL if token in spelled] == []
    assert json.loads(spelled) == line
    assert escape_control_tokens('"[EMAIL_1] and [ADDRESS_12]"') == '"[EMAIL_1] and [ADDRESS_12]"'


@settings(max_examples=60)
@given(st.lists(st.text(st.sampled_from('<>[]|~\\/"{}:,sINTeAZ\n é｜'))))
def test_escaped_json_means_the_same(value: list[str]) -> None:
    assert json.loads(escape_control_tokens(compact_json([value, {}]))) == [value, {}]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("This model's maximum context length is 512 tokens. However, your request has 600 input tokens.", (512, 600)),
        ("maximum context length is 8,192 tokens. However, you requested 9,000 tokens (8,500 in the messages, 500 in the completion)", (8192, 8500)),
        ("the request exceeds the available context size, try increasing it", (None, None)),
        ("context_length_exceeded", (None, None)),
        ("prompt is too long: 210000 tokens > 200000 maximum", (None, None)),
        ("Unsupported parameter: 'max_tokens'; use 'max_completion_tokens'", None),
        ("'response_format' of type json_schema is not supported", None),
    ],
)  # fmt: skip
def test_refusals_about_length(message: str, expected: tuple[int | None, int | None] | None) -> None:
    assert context_limit(message) == expected


def test_the_estimate_is_above_what_a_small_vocabulary_needs() -> None:
    """The shipped small decoder, 8,192 tokens, is the harshest at hand; big vocabularies need fewer."""
    tokenizer = Tokenizer.from_file("finetune/small_decoder/tokenizer.json")
    for text in (
        "Hello, my order {{number}} has not arrived yet. Could you check it for me, please?",
        "ID 12-345 AB!? 3.99",
    ):
        content = compact_json({"customer": text}) * 5
        counted = len(tokenizer.encode(content, add_special_tokens=False).ids)
        assert counted <= TokenEstimate().of_chat([{"role": "user", "content": content}]) <= 2 * counted
