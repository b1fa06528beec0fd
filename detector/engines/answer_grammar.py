"""Verdicts as tokens, and grammars for constrained decoding in vLLM: the answer's JSON schema, compact as in
training, with a quote that is a part of the quoted text, word for word.

The conversions of the libraries that vLLM calls write a blank after each colon and 0.98 as
0.97999999999999998, which no training answer has (xgrammar 0.2.8, 2026-11-23); so the grammar is written
here, of the keywords that the judge's schemas use.

A text of bounded length has no escapes, so no straight quotation marks and no line breaks. xgrammar computes
the tokens that may follow within 0.1 ms then; with escapes in the repeated part it took 250 ms for each token
of a reason, with a vocabulary of 8,192, while every other request of the server waited (2026-11-26).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dialint.detector.judge import compact_json

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|[^\w\s]")
"""What a quote may begin and end with: words, signs, and the letters of scripts that put no blanks."""
_CHARACTER = r'[^"\\\x00-\x1f]'


def find_fork(prefixes: Sequence[Sequence[int]]) -> tuple[list[int], list[int]] | None:
    """The tokens with which all answers begin, and the first in which they differ, one for each of
    `VERDICTS`. `prefixes` are the tokens of the answers' beginnings, verdict included, in that order; None if
    not every two part at the same token."""
    shortest, shared = min(map(len, prefixes)), 0
    while shared < shortest and len({tuple(ids[: shared + 1]) for ids in prefixes}) == 1:
        shared += 1
    if shared == shortest:
        return None
    first = [ids[shared] for ids in prefixes]
    return (list(prefixes[0][:shared]), first) if len(set(first)) == len(prefixes) else None


def verdict_softmax(logprobs: Sequence[float]) -> tuple[float, float, float]:
    """Probabilities of `VERDICTS` from the log-probabilities of their tokens, of which one is finite."""
    most = max(logprobs)
    error, no_error, not_applicable = (math.exp(value - most) for value in logprobs)
    total = error + no_error + not_applicable
    return error / total, no_error / total, not_applicable / total


def narrow_schema(schema: Mapping[str, Any], verdict: str | None, *, brief: bool) -> dict[str, Any]:
    """`schema` of answers with this verdict. `brief`: only what the schema requires, which has an end soon;
    that is also all that there is to say of a turn without an error."""
    narrowed = dict(schema)
    if verdict is not None:
        narrowed["properties"] = {**schema["properties"], "verdict": {"enum": [verdict]}}
    if brief or verdict not in (None, "error"):
        required = schema.get("required", ())
        narrowed["properties"] = {name: narrowed["properties"][name] for name in required}
    return narrowed


def answer_grammar(schema: Mapping[str, Any], quoted: Sequence[str] | None = None) -> str:
    """The grammar of answers to `schema`, in the EBNF of xgrammar and llama.cpp.

    `quoted` is the text that the property ``quote`` must be a part of, one item a character, as JSON spells
    it for this tokenizer (`JsonEscaper.letters`); without a word in it there is no quote. None: any quote
    that the schema takes.
    """
    properties = dict(schema.get("properties", {}))
    rules = []
    if quoted is not None and "quote" in properties:
        text = "".join(part if len(part) == 1 else json.loads(f'"{part}"') for part in quoted)
        words = [match.span() for match in _WORD.finditer(text)]
        if words:
            properties["quote"] = {"rule": "quote"}
            rules = _quote_rules(quoted, words)
        else:
            del properties["quote"]
        schema = {**schema, "properties": properties}
    return "\n".join([f"root ::= {_expression(schema)}", *rules]) + "\n"


def _expression(schema: Mapping[str, Any]) -> str:
    """The EBNF of the values of `schema`; ``{"rule": NAME}`` stands for a rule of this grammar.

    Raises:
        ValueError: a schema with other keywords, or whose first property may be missing.
    """
    if "rule" in schema:
        return str(schema["rule"])
    if "enum" in schema:
        return "(" + " | ".join(_literal(compact_json(value)) for value in schema["enum"]) + ")"
    kind = schema.get("type")
    if kind == "string":
        return f'"\\"" {_CHARACTER}{{0,{schema["maxLength"]}}} "\\""'
    if kind == "array":
        item, most = _expression(schema["items"]), schema["maxItems"]
        return f'"[" ({item} ("," {item}){{0,{most - 1}}})? "]"'
    if kind != "object" or schema.get("additionalProperties") is not False:
        raise ValueError(f"no grammar for a schema of {sorted(schema)}")
    required = schema.get("required", ())
    parts: list[str] = []
    for name, value in schema["properties"].items():
        part = f"{_literal((',' if parts else '{') + compact_json(name) + ':')} {_expression(value)}"
        if name not in required and not parts:
            raise ValueError("the first property may be missing")
        parts.append(part if name in required else f"({part})?")
    return " ".join([*parts, '"}"'])


def _quote_rules(quoted: Sequence[str], words: Sequence[tuple[int, int]]) -> list[str]:
    """``quote`` begins at any word; behind each word it ends, or goes on with what follows in the text."""
    starts = " | ".join(f"quote_from_{number}" for number in range(len(words)))
    rules = [f'quote ::= "\\"" ({starts})']
    for number, (start, end) in enumerate(words):
        word = _literal("".join(quoted[start:end]))
        more = ""
        if number + 1 < len(words):
            blanks = _literal("".join(quoted[end : words[number + 1][0]]))
            more = f" | {blanks} quote_from_{number + 1}" if blanks != '""' else f" | quote_from_{number + 1}"
        rules.append(f'quote_from_{number} ::= {word} ("\\""{more})')
    return rules


def _literal(text: str) -> str:
    """A string of EBNF."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
