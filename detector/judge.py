"""The judge's one question and its answer: is this turn an error of this code, and what says so?

The same messages are written for training, scoring and serving, the dialogue first and the question last, so
that all questions of a turn share the computation of what comes before. People's text cannot pose as a
template: `neutral` breaks every control token in it. Asks of the text alone; which model answers is the
engine's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from detector.records import Dialogue, Probability, Record, Severity
from detector.render import visible_text
from detector.taxonomy import Code

PROMPT_VERSION = "judge-1"
"""Changes with any word of the prompt: an adapter answers well only what it was taught with."""
Says = Literal["error", "no_error", "not_applicable"]
SAYS: tuple[Says, ...] = ("error", "no_error", "not_applicable")
Detail = Literal["short", "full"]

SYSTEM = (
    "You review one turn of a support agent for one kind of error. Answer with one JSON object and no more."
)
OPENING = '{"verdict":"'
"""How every answer begins: what comes next is the verdict."""
_NAMES = {"customer": "Customer", "agent": "Agent", "bot": "Bot", "system": "System"}
GRID = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Probabilities that are taught: few tokens, and none that claims to be certain."""


class Question(Record):
    """One agent turn and one code. `dialogue` is masked; what comes after `turn` is not shown."""

    dialogue: Dialogue
    turn: Annotated[int, Field(ge=0)]
    code: str


class Answer(Record):
    """What the judge says: its decision, how probable an error is, and for an error the evidence."""

    verdict: Says
    probability: Probability
    quote: str | None = None
    severity: Severity | None = None
    reason: str = ""
    rewrite: str | None = None


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"enum": list(SAYS)},
        "probability": {"type": "number", "minimum": 0, "maximum": 1},
        "quote": {"type": "string"},
        "severity": {"enum": ["S1", "S2", "S3", "S4"]},
        "reason": {"type": "string"},
        "rewrite": {"type": "string"},
    },
    "required": ["verdict", "probability"],
    "additionalProperties": False,
}
"""The answer as a JSON schema, for engines that can be held to one."""


def messages(
    question: Question,
    code: Code,
    control: Iterable[str] = (),
    detail: Detail = "short",
    max_chars: int = 6000,
) -> list[dict[str, str]]:
    """The chat that asks `question`; the dialogue's beginning is left out where it has over `max_chars`.

    `control` are the tokenizer's control tokens, `detail` says how much of the code's entry is told.
    """
    shown = [turn for turn in question.dialogue.turns if turn.index <= question.turn]
    lines = [f"{_NAMES[turn.role]}: {neutral(turn.text, control)}" for turn in shown]
    told = "\n".join((*_last(lines, max_chars), "", f"The agent's last turn: {_asked(code, detail)}"))
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": told}]


def _asked(code: Code, detail: Detail) -> str:
    short = f"{code.name.en}? {code.test}"
    if detail == "short":
        return short
    return f"{short}\n{code.definition}\nAn error: {code.example}\nNone: {code.counter_example}"


def _last(lines: Sequence[str], max_chars: int) -> list[str]:
    """The last lines that fit, of the very last one at least its end."""
    kept: list[str] = []
    room = max_chars
    for line in reversed(lines):
        if kept and len(line) > room:
            break
        kept.append(line[-max_chars:])
        room -= len(line)
    return kept[::-1]


def neutral(text: str, control: Iterable[str]) -> str:
    """`text` without hidden characters, and with a blank inside whatever a tokenizer takes for control."""
    shown = visible_text(text)[0]
    for mark in control:
        if len(mark) > 1:
            shown = shown.replace(mark, f"{mark[0]} {mark[1:]}")
    return shown


def written(answer: Answer) -> str:
    """The answer as it is taught: compact JSON, verdict first, absent parts left out."""
    kept = {name: value for name, value in answer.model_dump().items() if value not in (None, "")}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def parsed(text: str) -> Answer | None:
    """The answer that a model wrote; None if it is not exactly one."""
    try:
        return Answer.model_validate_json(text.strip())
    except ValidationError:
        return None


def rounded(probability: float) -> float:
    """The nearest probability of `GRID`."""
    return min(GRID, key=lambda place: abs(place - probability))


def evidence_of(answer: Answer, text: str) -> tuple[int, int] | None:
    """Where the answer's quote stands in the turn's `text`, first occurrence, end exclusive; None where it is
    not there word for word, or there is none."""
    if not answer.quote or not answer.quote.strip():
        return None
    start = text.find(answer.quote)
    return None if start < 0 else (start, start + len(answer.quote))


def control_tokens(tokenizer_json: str) -> tuple[str, ...]:
    """The strings that a Hugging Face ``tokenizer.json`` takes for control, longest first. Whitespace-like
    added tokens, which some tokenizers have for indentation, are plain text."""
    added = json.loads(tokenizer_json).get("added_tokens") or []
    marks = {str(token["content"]) for token in added if re.search(r"\S", str(token["content"]))}
    return tuple(sorted(marks, key=lambda mark: (-len(mark), mark)))
