"""Dialogues with other numbers, words, results and arguments, to look for what breaks a check."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from dialint.detector.records import Dialogue, ToolCall, Turn

NUMBERS: list[str] = (
    json.loads("""["0", "00", "0.00", "0,0", "-1", "٣", "²", "½", "31", "29.02", "1e999", "99:99", "00:00", "24:00",
    "2024-02-30", "31/02/2024", "0%", "€0", "$0.00", "$0", "1/0", "100%"]""")
)
VALUES: list[Any] = json.loads(
    '[null, true, 0, 0.0, -1, 1e300, "", " ", "0", "²", [], {}, [[]], [null], {"": null}, {"a": [{"b": 0}]}]'
)
NUMBERS += ["9" * 30, "9" * 5000]


class Mutator:
    """Changes dialogues, by words and turns of others."""

    def __init__(self, chance: random.Random, dialogues: list[Dialogue]) -> None:
        self._random, self._dialogues = chance, dialogues
        self._words = [word for each in dialogues for turn in each.turns for word in turn.text.split(" ")]

    def mutate(self, one: Dialogue) -> Dialogue:
        chance = self._random
        turns = [*one.turns, *(chance.choice(self._dialogues).turns if chance.random() < 0.3 else ())]
        if chance.random() < 0.1:
            chance.shuffle(turns)
        return one.model_copy(update={"turns": tuple(self._turn(turn, i) for i, turn in enumerate(turns))})

    def _turn(self, turn: Turn, index: int) -> Turn:
        calls = [
            ToolCall(name=call.name, arguments={key: self._value(it) for key, it in call.arguments.items()})
            for call in turn.tool_calls
        ]
        try:
            text = json.dumps(self._value(json.loads(turn.text)))
        except ValueError:
            text = self._text(turn.text)
        return turn.model_copy(update={"index": index, "text": text, "tool_calls": tuple(calls), "edits": ()})

    def _value(self, value: Any) -> Any:
        if self._random.random() < 0.1:
            return self._random.choice(VALUES)
        if isinstance(value, dict):
            return {key: self._value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        chance = self._random
        text = re.sub(
            r"\d[\d.,:]*", lambda found: chance.choice(NUMBERS) if chance.random() < 0.5 else found[0], text
        )
        words = text.split(" ")
        place, change = chance.randrange(len(words)), chance.random()
        if change < 0.4:  # removed, exchanged, or one more
            words[place : place + (change < 0.3)] = [chance.choice(self._words)] * (change > 0.1)
        return " ".join(words)
