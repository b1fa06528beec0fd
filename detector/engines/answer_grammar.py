"""Grammars for constrained decoding in vLLM: the answer's JSON schema, compact as in training, with a quote
that is a part of the quoted text, word for word.

xgrammar's own conversion of a schema writes a blank after each colon and 0.98 as 0.97999999999999998, which
no training answer has (0.2.8, 2026-11-23); so it is told the separators, and numbers are put in afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|[^\w\s]")
"""What a quote may begin and end with: words, signs, and the letters of scripts that put no blanks."""
_QUOTE = "@quote@"


def answer_grammar(schema: Mapping[str, Any], quoted: Sequence[str] | None = None) -> str:
    """The grammar of answers to `schema`, in xgrammar's EBNF.

    `quoted` is the text that the property ``quote`` must be a part of, one item a character, as JSON spells
    it for this tokenizer (`JsonSpelling.letters`); without a word in it there is no quote. None: any quote
    that the schema takes.
    """
    properties = schema.get("properties", {})
    if quoted is None or "quote" not in properties:
        return _schema_grammar(json.dumps(schema))
    text = "".join(part if len(part) == 1 else json.loads(f'"{part}"') for part in quoted)
    words = [match.span() for match in _WORD.finditer(text)]
    if not words:
        rest = {name: value for name, value in properties.items() if name != "quote"}
        return _schema_grammar(json.dumps({**schema, "properties": rest}))
    grammar = _schema_grammar(
        json.dumps({**schema, "properties": {**properties, "quote": {"const": _QUOTE}}})
    )
    return grammar.replace(_literal(f'"{_QUOTE}"'), "quote_0") + "\n".join(_quote_rules(quoted, words))


def _quote_rules(quoted: Sequence[str], words: Sequence[tuple[int, int]]) -> list[str]:
    """``quote_0`` begins at any word; behind each word it ends, or goes on with what follows in the text."""
    begins = " | ".join(f"quote_from_{number}" for number in range(len(words)))
    rules = [f'quote_0 ::= "\\"" ({begins})']
    for number, (start, end) in enumerate(words):
        word = _literal("".join(quoted[start:end]))
        more = ""
        if number + 1 < len(words):
            blanks = _literal("".join(quoted[end : words[number + 1][0]]))
            more = f" | {blanks} quote_from_{number + 1}" if blanks != '""' else f" | quote_from_{number + 1}"
        rules.append(f'quote_from_{number} ::= {word} ("\\""{more})')
    return rules


@lru_cache(maxsize=256)
def _schema_grammar(schema: str) -> str:
    from xgrammar import Grammar

    numbers: dict[str, str] = {}
    marked = json.dumps(_mark_numbers(json.loads(schema), numbers))
    grammar = str(Grammar.from_json_schema(marked, any_whitespace=False, separators=(",", ":")))
    for mark, number in numbers.items():
        grammar = grammar.replace(_literal(f'"{mark}"'), _literal(number))
    return grammar


def _mark_numbers(schema: Any, numbers: dict[str, str]) -> Any:
    """`schema` with strings in the place of the fractions that it lists; `numbers` gets what each means."""
    if isinstance(schema, list):
        return [_mark_numbers(part, numbers) for part in schema]
    if not isinstance(schema, dict):
        return schema
    marked = {name: _mark_numbers(part, numbers) for name, part in schema.items()}
    if "enum" in schema:
        marked["enum"] = [f"@{value!r}@" if isinstance(value, float) else value for value in schema["enum"]]
        numbers.update({f"@{value!r}@": repr(value) for value in schema["enum"] if isinstance(value, float)})
    return marked


def _literal(text: str) -> str:
    """A string of xgrammar's EBNF."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
