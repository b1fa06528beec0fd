"""Prompts about whole dialogues: which errors did the support side make?

Training, scoring and serving use the same two messages. The system message holds the task, the codes that
apply with their definitions, and the rules that choose between them; it is the same for all dialogues with
the same kinds of evidence, so that servers cache it. The user message holds what is known beside the words
(channel, waits, whether acts are logged), clauses and sources, then the turns, each a JSON value on a line of
its own: no text of a dialogue can imitate a line, a turn or an instruction. A dialogue that does not fit is
read in overlapping parts; a model without room for all codes is asked about `FAMILIES` of them. The words are
in ``prompt.yaml``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dialint.detector.artifacts import fingerprint
from dialint.detector.checks.waits import find_waits
from dialint.detector.judge.reading import Clause, Question, ReadError, Spell, clip, compact_json
from dialint.detector.records import JUDGED_ROLES, Dialogue, Record, Turn
from dialint.detector.taxonomy import Code, Detail, Need, Taxonomy, Text
from dialint.detector.yaml_document import read_packaged

FAMILIES = ("CUMRE", "V", "TX", "IP", "L", "W")
"""Categories that share a question where not all fit: their codes are confused with each other."""
WAIT = 1
"""Minutes of a wait before a turn of the support side from which it is listed."""
CALL, RESULT = "tool_call", "tool_result"


class Words(Record):
    """The words of ``prompt.yaml``."""

    version: Text
    task: Text
    codes: Text
    rules: Text
    severities: Text
    answer: Text
    rewrite: Text
    exclusive: Text
    question: Text
    question_part: Text
    second_look: Text

    @property
    def fingerprint(self) -> str:
        """Changes with any word."""
        return fingerprint(self.model_dump(mode="json"))


@cache
def load_words() -> Words:
    return Words.model_validate(read_packaged("judge/prompt.yaml"), strict=False)


PROMPT_VERSION = load_words().version


_ACT = re.compile(r"\A\s*+[A-Za-z_][\w.]*+\(.*\)")
"""A system turn that logs a call of a tool."""
_RESULT = re.compile(r"\)\s*(?:->|=>|→)")
_SOURCE_NAME = re.compile(r"\A\s*+([A-Za-z0-9][\w./-]{0,40}): ")


def name_sources(texts: Sequence[str]) -> tuple[Clause, ...]:
    """Sources with texts, by the name that they begin with ("fees-2025: ..."), else by their number. An id
    without a blank is no text."""
    sources = []
    for number, text in enumerate((text for text in texts if " " in text.strip()), 1):
        match = _SOURCE_NAME.match(text)
        sources.append(Clause(id=match[1] if match else f"source {number}", text=text))
    return tuple(sources)


def _is_act(turn: Turn) -> bool:
    """Returns whether the turn logs a call of a tool."""
    return bool(turn.tool_calls) or (turn.role == "system" and _ACT.match(turn.text) is not None)


def _is_result(turn: Turn) -> bool:
    """Returns whether the turn logs the result of a tool."""
    return turn.role == "tool" or (_is_act(turn) and _RESULT.search(turn.text) is not None)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Evidence on a masked dialogue beside its turns. `logs_tools`: whether calls of tools are in the log,
    here or elsewhere; None if unknown."""

    clauses: tuple[Clause, ...] = ()
    sources: tuple[Clause, ...] = ()
    logs_tools: bool | None = None

    def kinds(self, dialogue: Dialogue) -> frozenset[Need]:
        """The kinds of evidence that codes may need. Facts in clauses and tools' results are sources too."""
        present: dict[Need, bool] = {
            "sources": bool(self.sources or self.clauses) or any(map(_is_result, dialogue.turns)),
            "policy": bool(self.clauses or self.sources),
            "actions": any(map(_is_act, dialogue.turns)),
            "timestamps": sum(turn.at is not None for turn in dialogue.turns) > 1,
        }
        return frozenset(kind for kind, is_there in present.items() if is_there)


def second_look(question: Question, errors: Sequence[ReadError], language: str) -> tuple[dict[str, str], ...]:
    """The messages that ask about `errors` of an answer again, behind the same dialogue."""
    head = question.messages[-1]["content"].rpartition("\n")[0]
    listed = [
        {
            "number": number,
            "turn": error.turn,
            "quote": error.quote,
            "codes": [code for code in (error.code, error.second_code) if code],
        }
        for number, error in enumerate(errors, 1)
    ]
    lines = [head, compact_json({"uncertain": listed})]
    lines.append(load_words().second_look.format(language=language))
    return (*question.messages[:-1], {"role": "user", "content": "\n".join(lines)})


def split_families(taxonomy: Taxonomy, codes: Mapping[str, Code]) -> list[dict[str, Code]]:
    """`codes` in groups that are not divided further: those of `FAMILIES`, else of a category."""
    groups: dict[str, dict[str, Code]] = {}
    for category in taxonomy.categories:
        family = next((each for each in FAMILIES if category.code in each), category.code)
        for code in category.codes:
            if code.code in codes:
                groups.setdefault(family, {})[code.code] = code
    return list(groups.values())


def system_message(
    taxonomy: Taxonomy,
    codes: Mapping[str, Code],
    language: str,
    *,
    is_short: bool = False,
    has_rewrites: bool = False,
) -> str:
    """The system message about `codes`; a short one has each code's test in place of its definition and
    examples."""
    words = load_words()
    parts = [words.task, words.codes]
    for category in taxonomy.categories:
        own = [code for code in category.codes if code.code in codes]
        if own:
            parts.append(
                "\n".join([f"{category.code} {category.name.en}", *(_entry(code, is_short) for code in own)])
            )
        if category.exclusive and own:
            parts.append(words.exclusive.format(codes=", ".join(code.code for code in own)))
    rules = [
        f"{number}. {rule}"
        for number, rule in enumerate(taxonomy.decision_rules, 1)
        if not (codes_in_rule := set(_CODE.findall(rule))) or codes_in_rule & codes.keys()
    ]
    if rules:
        parts.append("\n".join([words.rules, *rules]))
    levels = [f"{level.code} {level.name.en}: {level.meaning}" for level in taxonomy.severities]
    parts.append("\n".join([words.severities, *levels]))
    answer = f"{words.answer} {words.rewrite}" if has_rewrites else words.answer
    parts.append(answer.format(language=language))
    return "\n\n".join(parts)


_CODE = re.compile(r"\b[A-Z][0-9]+\b")


def _entry(code: Code, is_short: bool) -> str:
    severities = [code.severity, *(each for each in code.severities if each != code.severity)]
    head = f"{code.code} {code.name.en} ({', '.join(severities)})"
    if is_short:
        return f"{head}: {code.test}"
    return f"{head}: {code.definition} Example: {code.example} Not: {code.counter_example}"


def applicable_codes(
    taxonomy: Taxonomy, wanted: Sequence[str] | frozenset[str], kinds: frozenset[Need]
) -> tuple[dict[str, Code], tuple[str, ...]]:
    """The codes of `wanted` whose needs `kinds` meet, in the taxonomy's order; and those that are not."""
    codes = {name: code for name, code in taxonomy.codes.items() if name in wanted}
    met = {name: code for name, code in codes.items() if set(code.needs) <= kinds}
    return met, tuple(name for name in codes if name not in met)


@dataclass(frozen=True)
class _Line:
    """A line of a dialogue. `number` is the index of a turn with words; `is_judged`: of the support side."""

    key: str
    text: str
    number: int | None = None
    is_judged: bool = False

    def render(self, chars: int) -> str:
        """The JSON of the line, with at most `chars` characters of its text."""
        head = {} if self.number is None else {"turn": self.number}
        return compact_json({**head, self.key: clip(self.text, chars)})


def _lines(turns: Sequence[Turn]) -> Iterator[_Line]:
    for turn in turns:
        for call in turn.tool_calls:
            yield _Line(CALL, f"{call.name} {compact_json(call.arguments)}")
        if not turn.is_unseen:
            is_judged = turn.role in JUDGED_ROLES and bool(turn.text.strip())
            yield _Line(turn.role, turn.text, turn.index, is_judged)
        elif turn.role == "tool":
            yield _Line(f"{RESULT}_error" if turn.tool_error else RESULT, turn.text)


def _facts(dialogue: Dialogue, evidence: Evidence) -> dict[str, Any]:
    """Facts of the log beside the turns."""
    tools = {True: "logged", False: "not logged: acts outside of the text cannot be seen", None: "unknown"}
    has_calls = any(_is_act(turn) or _is_result(turn) for turn in dialogue.turns)
    turns = dialogue.turns
    waits = [
        {
            "turn": turns[wait.end].index,
            "minutes": round(wait.minutes, 1),
            "since_turn_of": turns[wait.since].role,
        }
        for wait in find_waits(dialogue)
        if wait.minutes > WAIT
    ]
    values = {
        "channel": dialogue.channel,
        "language": dialogue.language,
        "tool_calls": tools[True if has_calls else evidence.logs_tools],
        "waits": waits,
        "log_ends": f"after turn {turns[-1].index}" if turns else None,
    }
    return {name: value for name, value in values.items() if value}


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Makes questions of dialogues for a model with room for `max_tokens` of a prompt."""

    taxonomy: Taxonomy
    max_tokens: int
    count: Any
    """Tokens of a chat's messages, or an upper estimate."""
    spell: Spell = str
    language: str = "English"
    has_rewrites: bool = False
    detail: Detail = "auto"

    def questions(
        self, dialogue: Dialogue, codes: Mapping[str, Code], evidence: Evidence
    ) -> tuple[list[Question], tuple[str, ...]]:
        """The questions about a masked dialogue: one if it fits. And the codes of which nothing fits."""
        results: list[Question] = []
        without_room: list[str] = []
        for system, own in self._systems(codes):
            room = self.max_tokens - self.count([{"role": "system", "content": system}])
            parts = self._parts(dialogue, evidence, system, room) if room > MIN_ROOM else None
            if parts is None:
                without_room += own
                continue
            results += [replace(part, codes=own) for part in parts]
        return results, tuple(without_room)

    def _systems(self, codes: Mapping[str, Code]) -> list[tuple[str, Mapping[str, Code]]]:
        """System messages that leave at least half of the room, all codes in one if possible."""
        most = self.max_tokens // 2

        def build(own: Mapping[str, Code], is_short: bool) -> str:
            return system_message(
                self.taxonomy, own, self.language, is_short=is_short, has_rewrites=self.has_rewrites
            )

        def tokens(text: str) -> int:
            return int(self.count([{"role": "system", "content": text}]))

        whole = build(codes, self.detail == "short")
        if tokens(whole) <= most:
            return [(whole, codes)]
        results: list[tuple[str, Mapping[str, Code]]] = []
        for family in split_families(self.taxonomy, codes):
            text = build(family, self.detail == "short")
            if self.detail == "auto" and tokens(text) > most:
                text = build(family, True)
            results.append((text, family))
        return results

    def _parts(self, dialogue: Dialogue, evidence: Evidence, system: str, room: int) -> list[Question] | None:
        """Splits the dialogue into overlapping parts if it does not fit; None if not even one turn fits."""
        lines = list(_lines(dialogue.turns))
        chars = math.inf
        for _ in range(12):
            questions = [
                self._question(dialogue, evidence, system, lines, first, start, end, chars)
                for first, start, end in _spans(lines, chars)
            ]
            tokens = max((int(self.count([question.messages[-1]])) for question in questions), default=0)
            if tokens <= room:
                return questions
            size = max(len(question.messages[-1]["content"]) for question in questions)
            chars = int(0.92 * size * room / tokens) - (0 if math.isinf(chars) else int(0.02 * size))
            if chars < MIN_ROOM:
                return None
        return None

    def _question(
        self,
        dialogue: Dialogue,
        evidence: Evidence,
        system: str,
        lines: Sequence[_Line],
        first: int,
        start: int,
        end: int,
        chars: float,
    ) -> Question:
        """The question about the judged lines ``[start, end)``, with those from `first` on as context and
        what was before them summed up."""
        words, room = load_words(), chars
        each = len(lines) and (max(line_chars(line) for line in lines) if math.isinf(room) else int(room / 3))
        head: list[Any] = [{"known": _facts(dialogue, evidence)}]
        share = 10**9 if math.isinf(room) else int(room / EVIDENCE_SHARE)
        head += _clip_texts("clause", evidence.clauses, share)
        head += _clip_texts("source", evidence.sources, share)
        if first:
            head.append({"earlier": _summary(lines[:first], 2000 if math.isinf(room) else int(room / 8))})
        judged = [line for line in lines[start:end] if line.is_judged]
        visible = [line.render(each) for line in lines[first:end]]
        is_whole = start == 0 and end == len(lines)
        question = words.question
        if not is_whole and judged:
            question = words.question_part.format(first=judged[0].number, last=judged[-1].number)
        body = [*(compact_json(line) for line in head), *visible]
        content = "\n".join([*(self.spell(line) for line in body), question])
        return Question(
            messages=({"role": "system", "content": system}, {"role": "user", "content": content}),
            turns={line.number: line.text for line in judged if line.number is not None},
            codes={},
            clauses=frozenset(clause.id for clause in (*evidence.clauses, *evidence.sources)),
            has_rewrites=self.has_rewrites,
            is_cut=any(len(line.text) > each for line in lines[first:end]),
        )


MIN_ROOM = 200
"""Least tokens or characters of a question."""
EVIDENCE_SHARE = 4
"""Clauses and sources take at most one in so many of the characters each, where not all fits."""
OVERLAP = 4
"""One in so many characters of a part is of the part before it."""


def line_chars(line: _Line) -> int:
    """Characters of a line, about."""
    return len(line.text) + 24


def _spans(lines: Sequence[_Line], chars: float) -> list[tuple[int, int, int]]:
    """The parts of a dialogue for questions of `chars` characters: each the first line that is visible, and
    the range ``[start, end)`` of the lines that it is about."""
    if math.isinf(chars):
        return [(0, 0, len(lines))]
    most, each = 0.45 * chars, int(chars / 3)
    sizes = [min(line_chars(line), each) for line in lines]
    spans: list[tuple[int, int, int]] = []
    start = 0
    while start < len(lines):
        end, size = start, 0.0
        while end < len(lines) and (end == start or size + sizes[end] <= most * (1 - 1 / OVERLAP)):
            size += sizes[end]
            end += 1
        first, room = start, most / OVERLAP
        while first > 0 and sizes[first - 1] <= room:
            first -= 1
            room -= sizes[first]
        if any(line.is_judged for line in lines[start:end]):
            spans.append((first, start, end))
        start = end
    return spans


def _summary(lines: Sequence[_Line], chars: int) -> list[dict[str, Any]]:
    """Summarizes the lines before a part: the customer's questions and requests and the calls of tools, the
    latest first to stay."""
    entries: list[dict[str, Any]] = []
    for line in reversed(lines):
        if line.key == "customer":
            sentences = [each for each in _SENTENCE.findall(line.text) if "?" in each or "？" in each]
            text = " ".join(sentences) or line.text
        elif line.key == CALL:
            text = line.text
        else:
            continue
        entry = {
            **({} if line.number is None else {"turn": line.number}),
            line.key: clip(text.strip(), max(40, chars // 6)),
        }
        chars -= len(compact_json(entry))
        if chars < 0:
            break
        entries.append(entry)
    return entries[::-1]


_SENTENCE = re.compile(r"[^.!?？。]+[.!?？。]*")


def _clip_texts(key: str, clauses: Sequence[Clause], chars: int) -> list[dict[str, Any]]:
    """Clauses or sources as lines of about `chars` characters together; the last ones are left out first."""
    if not clauses:
        return []
    each = max(160, chars // len(clauses))
    lines: list[dict[str, Any]] = []
    for clause in clauses:
        line = {key: clause.id, "text": clip(clause.text, each)}
        chars -= len(compact_json(line))
        if chars < 0 and lines:
            lines.append({"left_out": len(clauses) - len(lines)})
            break
        lines.append(line)
    return lines
