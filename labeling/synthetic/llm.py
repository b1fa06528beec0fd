"""Errors that an LLM makes: it rewrites one turn, and answers that cannot be verified are dropped.

It sees the masked dialogue, as a judge does. Placeholders in its text become the dialogue's own words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dialint.detector.judge.engine import JudgeEngine, JudgeRequest
from dialint.detector.judge.guidelines import collect_evidence
from dialint.detector.judge.reading import compact_json, find_object
from dialint.detector.masking import mask_dialogue
from dialint.detector.masking.spans import PLACEHOLDER
from dialint.detector.records import Dialogue
from dialint.detector.taxonomy import Code, Taxonomy
from dialint.labeling.synthetic.rules import InjectedError, agent_positions, wordings

ANSWER_TOKENS = 600
_FIELDS = {"turn": {"type": "integer"}, "text": {"type": "string"}, "quote": {"type": "string"}}
_TURN = {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False}
_TURNS = {"turns": {"type": "array", "items": _TURN, "maxItems": 1}}
SCHEMA = {"type": "object", "properties": _TURNS, "required": ["turns"], "additionalProperties": False}


def possible_codes(dialogue: Dialogue, taxonomy: Taxonomy) -> set[str]:
    """Return the codes whose errors words can make in this dialogue: the log has what they need, and they
    are no matter of time."""
    kinds = collect_evidence(mask_dialogue(dialogue)[0], {})[0].kinds(dialogue) - {"timestamps"}
    return {name for name, code in taxonomy.codes.items() if set(code.needs) <= kinds}


@dataclass
class ErrorWriter:
    """An LLM that makes errors. `dropped` counts requests without a usable answer, by the reason."""

    engine: JudgeEngine
    taxonomy: Taxonomy
    dropped: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)

    def make_errors(self, wanted: Sequence[tuple[Dialogue, str]]) -> list[InjectedError | None]:
        """Return an error of the code in each dialogue, None without a usable answer; raises as the engine
        does."""
        results: list[InjectedError | None] = [None] * len(wanted)
        requests = [self._request(dialogue, self.taxonomy.codes[code]) for dialogue, code in wanted]
        room = self.engine.max_prompt_tokens
        fits = [n for n, each in enumerate(requests) if self.engine.count_tokens(each.messages) <= room]
        self.dropped.update(["too_long"] * (len(requests) - len(fits)))
        for n, reply in zip(fits, self.engine.ask([requests[n] for n in fits]) if fits else (), strict=True):
            self.tokens.update(prompt_tokens=reply.prompt_tokens, output_tokens=reply.output_tokens)
            outcome = reply.failure or read_answer(reply.text, wanted[n][0])
            if isinstance(outcome, str):
                self.dropped[outcome] += 1
            else:
                results[n] = outcome
        return results

    def _request(self, dialogue: Dialogue, code: Code) -> JudgeRequest:
        words, (masked, _) = wordings("judge"), mask_dialogue(dialogue)
        entry = f"{code.code} {code.name.en}: {code.definition} Example: {code.example}"
        lines: list[dict[str, object]] = [{"source": text} for text in masked.sources if " " in text]
        for turn in masked.turns:
            lines += [{"tool_call": each.name, "arguments": each.arguments} for each in turn.tool_calls]
            if turn.text.strip():
                lines.append({"turn": turn.index, turn.role: turn.text})
        system = "\n\n".join((words["task"], f"{entry} Not: {code.counter_example}", words["answer"]))
        content = "\n".join(self.engine.spell(compact_json(line)) for line in lines)
        return JudgeRequest(
            dialogue_id=dialogue.id,
            messages=({"role": "system", "content": system}, {"role": "user", "content": content}),
            schema=SCHEMA,
            max_tokens=ANSWER_TOKENS,
            check=lambda text: "It is no such JSON object." if _rewritten(text) is None else "",
        )


def _rewritten(text: str) -> list[tuple[int, str, str]] | None:
    """Return turn, new text and quote of each turn of an answer; None if it cannot be read."""
    try:
        turns = (find_object(text, "turns") or {})["turns"]
        rows = [(each["turn"], each["text"], each["quote"]) for each in turns]
    except (TypeError, KeyError):
        return None
    return rows if all(all(map(isinstance, row, (int, str, str))) for row in rows) else None


def read_answer(text: str, dialogue: Dialogue) -> InjectedError | str:
    """Return the error of an answer about a dialogue, or why it is none: ``unreadable``, ``not_made``,
    ``other_turn`` (none of the support side), ``unquoted`` (the quote is not in the new text word for word),
    ``unchanged``, ``placeholder`` (one that the dialogue does not have, or half of one)."""
    rows = _rewritten(text)
    if not rows:
        return "unreadable" if rows is None else "not_made"
    index, new, quote = rows[0]
    position = next((n for n in agent_positions(dialogue) if dialogue.turns[n].index == index), None)
    if position is None:
        return "other_turn"
    start, end = new.find(quote), new.find(quote) + len(quote)
    if not quote.strip() or start < 0:
        return "unquoted"
    _, texts = mask_dialogue(dialogue)
    if new.split() == texts[position].text.split():
        return "unchanged"
    originals: dict[str, str] = {}
    for n in (position, *range(len(texts))):
        for span in texts[n].spans:
            own = dialogue.turns[n].text[span.original_start : span.original_end]
            originals.setdefault(texts[n].text[span.start : span.end], own)
    for mark in PLACEHOLDER.finditer(new):
        if mark[0] not in originals or mark.start() < start < mark.end() or mark.start() < end < mark.end():
            return "placeholder"
    before, words, after = (
        PLACEHOLDER.sub(lambda mark: originals[mark[0]], part) for part in (new[:start], quote, new[end:])
    )
    return InjectedError(position, before + words + after, len(before), len(before + words))
