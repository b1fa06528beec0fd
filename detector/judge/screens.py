"""The question about many codes at once: which numbered turns of a dialogue are errors of which codes?

One answer for a whole dialogue and up to `MAX_CODES` codes, without quotes and probabilities: what it names
is asked again, one turn and one code at a time (`messages`). A dialogue that does not fit is asked about in
parts, each with the turns before it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dialint.detector.judge.json_lines import Spell
from dialint.detector.judge.messages import Chat, PromptClause, assemble, evidence_lines
from dialint.detector.judge.prompts import PromptLanguage, load_prompts
from dialint.detector.records import Dialogue
from dialint.detector.taxonomy import Code, Need, Taxonomy

MAX_CODES = 12
"""Codes in one question."""
MAX_ERRORS = 12
"""Errors that one answer may name."""
ERROR_TOKENS = 24
"""Tokens of one error in an answer."""


def group_codes(codes: Sequence[str], taxonomy: Taxonomy, present: Sequence[Need]) -> list[tuple[str, ...]]:
    """The codes of each question: neighbours in the taxonomy that see the same kinds of the evidence that is
    `present` beside the dialogue, so that no prompt carries what its codes do not need."""
    prompts = load_prompts()
    by_evidence: dict[tuple[Need, ...], list[str]] = {}
    for code in taxonomy.codes.values():
        if code.code in codes:
            kinds = tuple(kind for kind in present if prompts.sees(code, kind))
            by_evidence.setdefault(kinds, []).append(code.code)
    return [
        tuple(own[start : start + MAX_CODES])
        for own in by_evidence.values()
        for start in range(0, len(own), MAX_CODES)
    ]


def screen_chat(
    dialogue: Dialogue,
    numbers: Sequence[int],
    codes: Sequence[Code],
    clauses: Sequence[PromptClause] = (),
    spell: Spell = str,
    max_chars: int = 6000,
    language: PromptLanguage = "en",
) -> Chat:
    """The chat that asks about the turns `numbers`, ascending, of a masked dialogue. Turns after the last of
    them are not shown; `Chat.turns` are those that are."""
    texts, turns = load_prompts().languages[language], dialogue.turns
    visible = [turn for turn in turns if turn.index <= numbers[-1]]
    after = evidence_lines(dialogue, visible, codes, clauses, max_chars, language)
    last = [{"code": code.code, "error": getattr(code.name, language), "test": code.test} for code in codes]
    needs_tools = any(load_prompts().sees(code, "actions") for code in codes)
    return assemble(
        texts.screen.system,
        visible,
        after,
        last,
        spell,
        max_chars,
        needs_tools=needs_tools,
        numbered=frozenset(numbers),
    )


def screen_schema(numbers: Sequence[int], codes: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of the answer: a list of turns and codes, all of them from the question."""
    item = {
        "type": "object",
        "properties": {"turn": {"enum": list(numbers)}, "code": {"enum": list(codes)}},
        "required": ["turn", "code"],
        "additionalProperties": False,
    }
    most = min(MAX_ERRORS, len(numbers) * len(codes))
    return {
        "type": "object",
        "properties": {"errors": {"type": "array", "items": item, "maxItems": most}},
        "required": ["errors"],
        "additionalProperties": False,
    }


def parse_screen(text: str, numbers: Sequence[int], codes: Sequence[str]) -> list[tuple[int, str]] | None:
    """The turns and codes that an answer names, each once, in its order; None if it does not fit the schema
    but for the number of errors."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or set(value) != {"errors"} or not isinstance(value["errors"], list):
        return None
    errors_by_place: dict[tuple[int, str], None] = {}
    for item in value["errors"]:
        if not isinstance(item, dict) or set(item) != {"turn", "code"}:
            return None
        turn, code = item["turn"], item["code"]
        if type(turn) is not int or turn not in numbers or code not in codes:
            return None
        errors_by_place[turn, code] = None
    return list(errors_by_place)
