"""Control tokens without a tokenizer, verdicts among tokens, schemas, words of refusals."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from dialint.detector.engines.answer_grammar import (
    answer_grammar,
    find_fork,
    narrow_schema,
    verdict_softmax,
)
from dialint.detector.engines.chat_completions import (
    Dialect,
    TokenEstimate,
    context_limit,
    simpler_dialect,
    verdict_probabilities,
)
from dialint.detector.engines.json_escapes import escape_control_tokens
from dialint.detector.engines.server_answers import ChatCompletion, fits_schema, parse
from dialint.detector.judge import compact_json

CONTROL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|user|>",
    "<|end|>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "<bos>", "<eos>", "<pad>",
    "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>", "<think>", "</think>", "<tool_call>",
    "<tool_response>", "<unused17>", "[unused9]", "[UNUSED_TOKEN_145]", "<extra_id_0>", "<reserved_106>",
    "<SPECIAL_10>", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[SYSTEM_PROMPT]", "[IMG]", "[gMASK]", "[sMASK]",
    "<sop>", "<eop>", "<｜begin▁of▁sentence｜>", "<｜User｜>", "[|user|]", "[|endofturn|]", "<image>",
    "<0x0A>", "<seed:bos>", "<end_of_utterance>", "]~b]", "]~!b[", "[e~[", "|ENDOFTEXT|", "|SPEAKER|",
    "[CLS]", "[SEP]", "[PAD]", "<dialogue>", "</dialogue>", "<|channel|>", "<|return|>",
    "<|START_OF_TURN_TOKEN|>", "<minimax:tool_call>", "<function=a>", "<0xE2>",
]  # fmt: skip


def test_every_known_control_token_is_broken_and_reads_as_before() -> None:
    line = {"agent": " ".join(CONTROL), "parts": [CONTROL, [None, True, 1]], "x\\<s>": '"[INST]\\'}
    spelled = escape_control_tokens(compact_json(line))
    assert [token for token in CONTROL if token in spelled] == []
    assert json.loads(spelled) == line
    assert escape_control_tokens('"[EMAIL_1] and [ADDRESS_12]"') == '"[EMAIL_1] and [ADDRESS_12]"'


@settings(max_examples=60)
@given(st.lists(st.text(st.sampled_from('<>[]|~\\/"{}:,sINTeAZ\n é｜'))))
def test_escaped_json_means_the_same(value: list[str]) -> None:
    assert json.loads(escape_control_tokens(compact_json([value, {}]))) == [value, {}]


def tokens(*columns: dict[str, float]) -> list[dict[str, Any]]:
    """Tokens with alternatives; the first of each column is the one that was taken."""
    return [
        {
            "token": next(iter(column)), "logprob": math.log(next(iter(column.values()))),
            "top_logprobs": [{"token": token, "logprob": math.log(share)} for token, share in column.items()],
        }
        for column in columns
    ]  # fmt: skip


def as_tokens(content: Any) -> Any:
    """``choices[0].logprobs.content`` as it is read from a response."""
    choice = {"message": {"content": "x"}, "logprobs": {"content": content}}
    completion = parse(ChatCompletion, json.dumps({"choices": [choice]}).encode())
    assert completion is not None
    return completion.choices[0].logprobs and completion.choices[0].logprobs.content


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([{'{"verdict":"': 1}, {"error": 0.6, "no": 0.3, "not": 0.1}, {'"': 1}], (0.6, 0.15 + 0, 0.25)),
        ([{'{"': 1}, {"verdict": 1}, {'": "': 1}, {"no": 0.7, "error": 0.2, "zzz": 0.1}, {"_error": 0.9, "t": 0.1}],
         (0.2, 0.63, 0.07)),
        ([{'{"verdict":': 1}, {'"error': 0.5, '"no_': 0.25, '"': 0.2, '"not': 0.05}], (0.5, 0.25, 0.05)),
        ([{'{"verdict":"n': 0.8, '{"verdict":"e': 0.2}, {"o": 1}, {"t": 0.75, "_": 0.25}], (0.2, 0.2, 0.6)),
        ([{'{"verdict":"error","': 0.9, '{"verdict":"no_error","': 0.1}], (0.9, 0.1, 0)),
        ([{'```json\n{ "verdict"': 1}, {" : ": 1}, {'"': 1}, {"er": 0.9, "n": 0.1}], (0.9, 0.05, 0.05)),
    ],
)  # fmt: skip
def test_probabilities_by_hand(columns: list[dict[str, float]], expected: tuple[float, ...]) -> None:
    if columns[1:] and "not" in columns[1]:
        expected = (0.6, 0.15, 0.25)  # "no" may begin both, "not" only the last
    total = sum(expected)
    assert verdict_probabilities(as_tokens(tokens(*columns))) == pytest.approx(
        [part / total for part in expected]
    )


@pytest.mark.parametrize(
    "content",
    [None, [], "x", [1], [{}], [{"token": "x"}], tokens({'{"verdict":"': 1}), tokens({'{"verdict":"': 1}, {"maybe": 1}),
     [{"token": '{"verdict":"error', "logprob": None}], [{"token": '{"verdict":"error', "logprob": -9999.0}],
     [{"token": "token_id:7", "logprob": 0.0}], [{"token": '{"verdict":"error', "logprob": "0", "bytes": [300]}]],
)  # fmt: skip
def test_no_probabilities(content: Any) -> None:
    assert verdict_probabilities(as_tokens(content)) is None


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


def test_refusals_about_form() -> None:
    said = simpler_dialect(Dialect(), "logprobs must be at most 5", is_probe=False)
    assert said == Dialect(top_logprobs=5)
    assert simpler_dialect(Dialect(), "bad request", is_probe=False) is None
    dialect: Dialect | None = Dialect()
    steps = []
    while dialect is not None:
        steps.append((dialect.answer_format, dialect.top_logprobs))
        dialect = simpler_dialect(dialect, "bad request", is_probe=True)
    assert steps == [("strict schema", 20), ("schema", 20), ("object", 20), ("text", 20), ("text", 0)]


SCREEN = {
    "type": "object",
    "properties": {"errors": {"type": "array", "maxItems": 2, "items": {
        "type": "object", "properties": {"turn": {"enum": [1, 3]}, "code": {"enum": ["I1"]}},
        "required": ["turn", "code"], "additionalProperties": False,
    }}},
    "required": ["errors"], "additionalProperties": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('{"errors":[]}', True), ('{"errors":[{"turn":1,"code":"I1"}]}', True), ('{"errors":[{"turn":9,"code":"I1"}]}', False),
        ('{"errors":[{"turn":1,"code":"I2"}]}', False), ('{"errors":[{"turn":"1","code":"I1"}]}', False), ("{}", False),
        ('{"errors":[{"turn":1,"code":"I1"},{"turn":1,"code":"I1"},{"turn":1,"code":"I1"}]}', False), ('{"errors":[1]}', False),
    ],
)  # fmt: skip
def test_schemas_of_lists(text: str, fits: bool) -> None:
    assert fits_schema(text, SCREEN) is fits


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


@pytest.mark.parametrize(
    ("prefixes", "expected"),
    [
        ([[1, 2, 3], [1, 2, 4, 5], [1, 2, 6]], ([1, 2], [3, 4, 6])),
        ([[1, 3], [1, 4, 5], [1, 4, 6]], None),  # two verdicts share a token
        ([[1, 2], [1, 2, 4], [1, 2, 6]], None),
        ([[3], [4], [5]], ([], [3, 4, 5])),
    ],
)
def test_verdicts_part_at_one_token(prefixes: list[list[int]], expected: Any) -> None:
    assert find_fork(prefixes) == expected


def test_probabilities_of_tokens_by_hand() -> None:
    logprobs = [math.log(0.2), math.log(0.2), -math.inf]
    assert verdict_softmax(logprobs) == pytest.approx((0.5, 0.5, 0.0))


def test_a_grammar_by_hand() -> None:
    schema = {
        "type": "object", "required": ["verdict"], "additionalProperties": False,
        "properties": {"verdict": {"enum": ["error", "no_error"]}, "quote": {"type": "string", "maxLength": 9}},
    }  # fmt: skip
    root = answer_grammar(schema).splitlines()[0]
    assert root == (
        r'root ::= "{\"verdict\":" ("\"error\"" | "\"no_error\"") (",\"quote\":" "\"" [^"\\\x00-\x1f]{0,9} "\"")? "}"'
    )
    quoting = answer_grammar(narrow_schema(schema, "error", brief=False), list("No, 3")).splitlines()
    assert quoting[0] == r'root ::= "{\"verdict\":" ("\"error\"") (",\"quote\":" quote)? "}"'
    assert quoting[1:] == [
        r'quote ::= "\"" (quote_from_0 | quote_from_1 | quote_from_2)',
        r'quote_from_0 ::= "No" ("\"" | quote_from_1)',
        r'quote_from_1 ::= "," ("\"" | " " quote_from_2)',
        r'quote_from_2 ::= "3" ("\"")',
    ]
    assert "quote" not in answer_grammar(schema, list(" \n"))
    assert "quote" not in answer_grammar(narrow_schema(schema, "no_error", brief=False))
    with pytest.raises(ValueError):
        answer_grammar({**schema, "required": []})
    with pytest.raises(ValueError):
        answer_grammar({"type": "object", "properties": {}})
