"""The prompt of the LLM judge and its answer: is this turn an error of this code, and what is the evidence?

Training, scoring and serving use the same messages, the dialogue first and the question last, so that all
questions of a turn share the computation of the prefix. The text of a dialogue is in JSON strings, one line a
turn, between two marks that no text can contain: it can imitate neither another turn nor an instruction, and
different dialogues never have the same prompt. Omissions are marked. Calls of tools and their results have
lines of their own, whose keys say that the customer did not see them. Evidence beside the dialogue (sources,
clauses of a policy, times) stands after it, for codes that need it. The words are in ``prompts.yaml``; the
question about many codes at once is in `screens`. The model that answers is up to the engine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from dialint.detector.errors import ConfigError
from dialint.detector.judge.json_lines import Spell, clip, compact_json
from dialint.detector.judge.prompts import PromptLanguage, load_prompts
from dialint.detector.records import Dialogue, Probability, Record, Severity, Turn
from dialint.detector.taxonomy import Code

PROMPT_VERSION = load_prompts().version
"""Changes with any word of the prompt: an adapter works only with the prompt that it was trained on."""
JudgeVerdict = Literal["error", "no_error", "not_applicable"]
VERDICTS: tuple[JudgeVerdict, ...] = ("error", "no_error", "not_applicable")
Detail = Literal["short", "full"]

BEGIN, END = "<dialogue>", "</dialogue>"
"""The lines around a dialogue."""
SYSTEM = load_prompts().languages["en"].detail.system
"""The system message of a question about one turn and one code, in English."""
OPENING = '{"verdict":"'
"""The beginning of every answer; the verdict follows."""
GRID = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""The probabilities of training answers: few tokens, none of them certain."""


class FewShotExample(Record):
    """A turn of another dialogue that people decided, with the customer's turn before it; `quote` is the
    evidence of an error. Masked."""

    customer: str | None = None
    agent: str
    verdict: Literal["error", "no_error"]
    quote: str | None = None


class PromptClause(Record):
    """A clause of a policy, as a question shows it."""

    id: str
    text: str


class Question(Record):
    """One agent turn and one code. `dialogue` is masked; turns after `turn` are not in the prompt. `clauses`
    are those of the policy that can apply, `examples` what people decided elsewhere about the same code."""

    dialogue: Dialogue
    turn: Annotated[int, Field(ge=0)]
    code: str
    clauses: tuple[PromptClause, ...] = Field(default=(), exclude_if=lambda clauses: not clauses)
    examples: tuple[FewShotExample, ...] = Field(default=(), exclude_if=lambda examples: not examples)


class Answer(Record):
    """The judge's answer: its verdict, the probability of an error, and the evidence of one. `cut` is set by
    the prompt: a part of the dialogue did not fit."""

    verdict: JudgeVerdict
    probability: Probability
    quote: str | None = None
    severity: Severity | None = None
    reason: str = ""
    rewrite: str | None = None
    cut: bool = False


QUOTE_CHARS, REASON_CHARS, REWRITE_CHARS = 400, 300, 800
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"enum": list(VERDICTS)},
        "probability": {"enum": list(GRID)},
        "quote": {"type": "string", "maxLength": QUOTE_CHARS},
        "severity": {"enum": ["S1", "S2", "S3", "S4"]},
        "reason": {"type": "string", "maxLength": REASON_CHARS},
        "rewrite": {"type": "string", "maxLength": REWRITE_CHARS},
    },
    "required": ["verdict", "probability"],
    "additionalProperties": False,
}
"""The JSON schema of an answer, for engines with constrained decoding; training answers fit it
(`fit_answer`)."""


def fit_answer(answer: Answer) -> Answer:
    """Fit `answer` into `SCHEMA`: the nearest probability of `GRID`; a quote and a reason that are too long
    are cut at a word, a rewrite that is too long is dropped."""
    long_rewrite = answer.rewrite is not None and len(answer.rewrite) > REWRITE_CHARS
    return answer.model_copy(
        update={
            "probability": round_to_grid(answer.probability),
            "quote": _clip(answer.quote, QUOTE_CHARS) if answer.quote is not None else None,
            "reason": _clip(answer.reason, REASON_CHARS),
            "rewrite": None if long_rewrite else answer.rewrite,
        }
    )


def _clip(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    return text[:chars].rsplit(" ", 1)[0].rstrip() or text[:chars]


def detail_schema(code: Code) -> dict[str, Any]:
    """`SCHEMA` with the severities that `code` may have."""
    properties = {**SCHEMA["properties"], "severity": {"enum": list(code.severities)}}
    return {**SCHEMA, "properties": properties}


@dataclass(frozen=True)
class Chat:
    """The messages of a question. `cost` is the part of ``max_chars`` that the included turns, evidence and
    examples take; `cut`: turns are missing or shortened. `turns` are the indices of the turns that are shown
    with all of their words, and the last one."""

    messages: list[dict[str, str]]
    cost: int
    cut: bool
    turns: frozenset[int] = frozenset()


EVIDENCE_SHARE = 3
"""Evidence takes at most this part of ``max_chars``."""
EXAMPLES_SHARE = 6


def build_chat(
    question: Question,
    code: Code,
    spell: Spell = str,
    detail: Detail = "short",
    max_chars: int = 6000,
    language: PromptLanguage = "en",
) -> Chat:
    """The chat of `question`, with about `max_chars` characters of the dialogue, evidence and examples.

    The turn in question and the customer's turn that it answers are always included, long ones without their
    middle; of the others, those in the middle of the dialogue are dropped first, and before them calls and
    results of tools that the code does not need. ``{"left_out":3}`` replaces three turns,
    ``["Dear",{"left_out":900},"Ann"]`` is a text without its middle. `detail` is how much of the code's entry
    is included.
    """
    texts = load_prompts().languages[language]
    turns = [turn for turn in question.dialogue.turns if turn.index <= question.turn]
    after = evidence_lines(question.dialogue, turns, (code,), question.clauses, max_chars, language)
    if question.examples:
        room = max_chars // EXAMPLES_SHARE // len(question.examples)
        after.append({"examples": texts.examples})
        after += [_example_line(example, room) for example in question.examples]
    prompt = _code_prompt(code, detail, language)
    needs_tools = load_prompts().sees(code, "actions")
    return assemble(texts.detail.system, turns, after, [prompt], spell, max_chars, needs_tools=needs_tools)


def assemble(
    system: str,
    turns: Sequence[Turn],
    after: Sequence[Any],
    last: Sequence[Any],
    spell: Spell,
    max_chars: int,
    *,
    needs_tools: bool,
    numbered: frozenset[int] = frozenset(),
) -> Chat:
    """The chat of a dialogue's `turns`, the JSON lines `after` them, which count as part of `max_chars`, and
    the `last` ones. Turns of the indices `numbered` show these."""
    lines = [line for turn in turns for line in _lines(turn, turn.index in numbered)]
    extra = sum(len(compact_json(line)) for line in after)
    retained = _select_turns(lines, max(0, max_chars - extra), needs_tools=needs_tools)
    visible: list[Any] = []
    before = -1
    for position in (*sorted(retained), len(lines)):
        if position > before + 1:
            visible.append({"left_out": position - before - 1})
        if position < len(lines):
            line = lines[position]
            head = {} if line.number is None else {"turn": line.number}
            visible.append({**head, line.key: clip(line.text, retained[position])})
        before = position
    spelled = [spell(compact_json(line)) for line in visible]
    question = [spell(compact_json(line)) for line in (*after, *last)]
    content = "\n".join((BEGIN, *spelled, END, *question))
    whole = [position for position, chars in retained.items() if chars >= len(lines[position].text)]
    return Chat(
        messages=[{"role": "system", "content": system}, {"role": "user", "content": content}],
        cost=sum(retained.values()) + TURN_CHARS * len(retained) + extra,
        cut=len(whole) < len(lines),
        turns=frozenset(
            number
            for position in {*whole, len(lines) - 1}
            if position >= 0 and (number := lines[position].number) is not None
        ),
    )


def evidence_lines(
    dialogue: Dialogue,
    turns: Sequence[Turn],
    codes: Sequence[Code],
    clauses: Sequence[PromptClause],
    max_chars: int,
    language: PromptLanguage = "en",
) -> list[Any]:
    """What `codes` need beside the dialogue, as JSON lines of a share of `max_chars`: texts of sources,
    clauses, and seconds from the first turn to each of `turns`. Empty where they need nothing, or there is
    nothing."""
    prompts = load_prompts()
    values: list[tuple[dict[str, Any], str, str]] = []
    if any(prompts.sees(code, "sources") for code in codes):
        values += [({"source": n}, "text", text) for n, text in enumerate(source_texts(dialogue), start=1)]
    if any(prompts.sees(code, "policy") for code in codes):
        values += [({"clause": clause.id}, "text", clause.text) for clause in clauses]
    lines: list[Any] = []
    room = max_chars // EVIDENCE_SHARE
    if any(prompts.sees(code, "timestamps") for code in codes):
        times = [turn for turn in turns if turn.at is not None][-(room // TURN_CHARS // 2) or 1 :]
        if times and (start := times[0].at) is not None:
            seconds = [[turn.role, round((turn.at - start).total_seconds())] for turn in times if turn.at]
            lines.append({"seconds": seconds})
    most = max(1, room // 80)
    each = max(40, room // max(1, min(len(values), most)) - TURN_CHARS)
    lines += [{**head, key: clip(text, each)} for head, key, text in values[:most]]
    if len(values) > most:
        lines.append({"left_out": len(values) - most})
    return [{"evidence": prompts.languages[language].evidence}, *lines] if lines else []


def source_texts(dialogue: Dialogue) -> list[str]:
    """The sources that are texts; an id has no blank."""
    return [source for source in dialogue.sources if " " in source.strip()]


def _example_line(example: FewShotExample, max_chars: int) -> dict[str, Any]:
    half = max(40, max_chars // 2)
    answer = {"verdict": example.verdict, **({"quote": example.quote[:half]} if example.quote else {})}
    customer = {"customer": clip(example.customer, half)} if example.customer else {}
    return {**customer, "agent": clip(example.agent, half), "answer": answer}


def _code_prompt(code: Code, detail: Detail, language: PromptLanguage = "en") -> dict[str, Any]:
    short: dict[str, Any] = {"code": code.code, "error": getattr(code.name, language), "test": code.test}
    if detail == "short":
        return short
    return {
        **short,
        "definition": code.definition,
        "an_error": code.example,
        "no_error": code.counter_example,
        "severities": list(code.severities),
        "answer": load_prompts().languages[language].detail.answer,
    }


MIN_CHARS = 32
"""Of the dialogue, where nothing more fits."""


def fit_chat(
    build: Callable[[int], Chat],
    count: Callable[[Sequence[dict[str, str]]], int],
    max_tokens: int,
    base_tokens: Callable[[], int],
) -> tuple[Chat, int]:
    """The chat that `build` makes of so many characters that it has at most `max_tokens`, and its tokens.
    `base_tokens` are those of the chat without dialogue and evidence.

    Raises:
        ConfigError: E_OPTION, `max_tokens` does not hold the question itself.
    """
    chars, own = max_tokens * 6, 0
    while True:
        requested = build(chars)
        tokens = count(requested.messages)
        if tokens <= max_tokens:
            return requested, tokens
        if chars <= MIN_CHARS:
            raise ConfigError("E_OPTION", f"{max_tokens} tokens do not hold a question: {tokens}")
        own = own or base_tokens()
        share = max(0, max_tokens - own) / max(1, tokens - own)
        chars = max(MIN_CHARS, min(int(0.9 * chars), int(0.97 * share * min(chars, requested.cost))))


CALL, RESULT = "tool_call_not_seen_by_customer", "tool_result_not_seen_by_customer"
"""The keys of lines that the customer did not see."""


@dataclass(frozen=True)
class _Line:
    key: str
    text: str
    number: int | None = None


def _lines(turn: Turn, is_numbered: bool) -> Iterator[_Line]:
    """The lines of a turn: its calls, then what was said; the last line is never a call of the turn in
    question."""
    for call in turn.tool_calls:
        yield _Line(CALL, f"{call.name} {compact_json(call.arguments)}")
    if not turn.is_unseen:
        yield _Line(turn.role, turn.text, turn.index if is_numbered else None)
    elif turn.role == "tool":
        yield _Line(RESULT, turn.text)


TURN_CHARS = 16
"""Characters of a turn's line beside its text."""
RESULT_SHARE = 8
"""One call or result takes at most this part of a dialogue that does not fit."""


def _select_turns(turns: Sequence[_Line], max_chars: int, *, needs_tools: bool) -> dict[int, int]:
    """The indices of the included lines, each with the most characters of its text."""
    costs = [len(turn.text) + TURN_CHARS for turn in turns]
    if sum(costs) <= max_chars:
        return {index: len(turn.text) for index, turn in enumerate(turns)}
    spoken = [index for index, turn in enumerate(turns) if turn.key not in (CALL, RESULT)]
    if not needs_tools and len(spoken) < len(turns):
        among = _select_turns([turns[index] for index in spoken], max_chars, needs_tools=True)
        return {spoken[index]: chars for index, chars in among.items()}
    most_chars = [
        min(len(turn.text), max_chars // RESULT_SHARE) if turn.key in (CALL, RESULT) else len(turn.text)
        for turn in turns
    ]
    costs = [chars + TURN_CHARS for chars in most_chars]
    if sum(costs) <= max_chars:
        return dict(enumerate(most_chars))
    last = len(turns) - 1
    if last < 0:  # no turns, and evidence that takes all
        return {}
    answered = next((p for p in range(last - 1, -1, -1) if turns[p].key == "customer"), None)
    room = max_chars
    retained: dict[int, int] = {}
    for index, most in ((answered, max_chars // 3), (last, max_chars)):
        if index is not None:
            retained[index] = max(0, min(len(turns[index].text), min(most, room) - TURN_CHARS))
            room -= retained[index] + TURN_CHARS
    for positions, share in ((range(last - 1, -1, -1), 0.75), (range(last), 1.0)):
        limit = share * room
        for index in positions:
            if index in retained:
                continue
            if costs[index] > limit:
                break
            retained[index] = most_chars[index]
            limit -= costs[index]
            room -= costs[index]
    return retained


def fold_system(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """System and user in one message, for chat templates that do not show a system message."""
    return [{"role": "user", "content": "\n\n".join(message["content"] for message in messages)}]


def answer_json(answer: Answer) -> str:
    """The answer as in training: compact JSON, verdict first, without absent parts."""
    values = answer.model_dump(exclude={"cut"}).items()
    return compact_json({name: value for name, value in values if value not in (None, "")})


def verdict_json(verdict: JudgeVerdict, probability: float) -> str:
    """The answer that says no more than a verdict and the probability of an error, on `GRID`."""
    return answer_json(Answer(verdict=verdict, probability=round_to_grid(probability)))


def parse_answer(text: str, *, cut: bool = False) -> Answer | None:
    """Parse the answer that a model wrote to a prompt; None if it is not exactly one."""
    try:
        answer = Answer.model_validate_json(text.strip())
    except ValidationError:
        return None
    return answer.model_copy(update={"cut": cut}) if "cut" not in answer.model_fields_set else None


def round_to_grid(probability: float) -> float:
    """The nearest probability of `GRID`."""
    return min(GRID, key=lambda position: abs(position - probability))


def locate_quote(answer: Answer, text: str) -> tuple[int, int] | None:
    """Range of the answer's quote in the turn's `text`, first occurrence, end exclusive; None if there is no
    quote or it is not there word for word."""
    if not answer.quote or not answer.quote.strip():
        return None
    start = text.find(answer.quote)
    return None if start < 0 else (start, start + len(answer.quote))


def control_tokens(tokenizer_json: str) -> tuple[str, ...]:
    """The control tokens of a Hugging Face ``tokenizer.json``, longest first. Added tokens of white space,
    which some tokenizers have for indentation, are plain text."""
    added = json.loads(tokenizer_json).get("added_tokens") or []
    marks = {str(token["content"]) for token in added if re.search(r"\S", str(token["content"]))}
    return tuple(sorted(marks, key=lambda mark: (-len(mark), mark)))
