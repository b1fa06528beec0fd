"""Escapes JSON for a tokenizer: no text becomes a control token, no two texts the same tokens.

A JSON string may escape any character without changing its meaning. So the first letter of every control
token in a text is escaped, and so are characters that do not survive the tokenizer's round trip: one composes
letters and accents, another has its own sign for blanks, a third lacks an emoji.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from itertools import accumulate
from typing import Any
from unicodedata import category

from dialint.detector.errors import ConfigError
from dialint.detector.judge.reading import compact_json

_LETTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
"""One character inside a string of JSON, escaped or not."""
_PROBE = compact_json([" ".join(map(chr, range(33, 127))), "Aa  Bb", {"a": 0.05}])


_FAMILIES = re.compile(
    r"<"  # <s>, <|im_start|>, <<SYS>>, <bos>, <think>, <tool_call>, <unused7>, DeepSeek's bars
    r"|\[(?![A-Z]{2,10}_[1-9][0-9]{0,17}\])(?=[/|A-Z]|gMASK|sMASK|unused|e~)"
    # [INST], [/INST], [TOOL_CALLS], [CLS], [|user|], [e~[
    r"|\](?=~)"  # MiniMax
    r"|\|(?=[A-Z]{2,20}\|)"  # Persimmon, Fuyu
)
"""The first character of every chat control token of any known family of models; placeholders of masking,
such as ``[EMAIL_1]``, stay as they are."""


def escape_control_tokens(text: str) -> str:
    """Escapes compact JSON for a model whose tokenizer is not at hand: no control token of any known family
    stands in it. None of these characters can begin so outside of a string, nor follow a backslash."""
    return _FAMILIES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class JsonEscaper:
    """Escapes JSON for a tokenizer of transformers. `control` are its control tokens."""

    def __init__(self, tokenizer: Any) -> None:
        """
        Raises:
            ConfigError: E_BASE, not even ASCII comes back from it as it was.
        """
        self._tokenizer = tokenizer
        self._parts = json.loads(tokenizer.backend_tokenizer.to_str())
        added = (str(token["content"]) for token in self._parts.get("added_tokens") or ())
        self.control = tuple(sorted({*filter(str.strip, added)}, key=lambda mark: (-len(mark), mark)))
        """Longest first. Added tokens of white space, which some tokenizers have for indentation, are plain
        text."""
        self._marks = tuple(mark for mark in self.control if len(mark) > 1)
        begins = {re.escape(mark[:2]) for mark in self._marks}
        self._begin = re.compile(f"(?={'|'.join(sorted(begins))})")
        self._preserved: dict[str, bool] = {}
        if not self.lossless and not self._round_trips(self._break(_PROBE)):
            raise ConfigError(
                "E_BASE", "the base's tokenizer changes plain text: two dialogues could be one to it"
            )

    def __call__(self, text: str) -> str:
        """Escapes compact JSON, or the beginning of some."""
        safe = self._break(text)
        if self.lossless or text.isascii() or self._round_trips(safe):
            return safe
        parts: list[str] = []
        for char in text:  # cut before every character but those that a normaliser may join to the one before
            if parts and (category(char).startswith("M") or "\u1160" <= char <= "\u11ff"):
                parts[-1] += char
            else:
                parts.append(char)
        for part in {*parts} - self._preserved.keys():
            self._preserved[part] = part.isascii() or self._round_trips(f"a{part}a")
        retained = [part if self._preserved[part] else _ascii(part) for part in parts]
        safe = self._break("".join(retained))
        return safe if self._round_trips(safe) else self._break(_ascii(text))

    @cached_property
    def lossless(self) -> bool:
        """True if every text survives the round trip: a tokenizer of bytes without normalisation."""
        kinds = json.dumps([self._parts.get("pre_tokenizer"), self._parts.get("decoder")])
        return self._parts.get("normalizer") is None and "ByteLevel" in kinds

    def _round_trips(self, text: str) -> bool:
        ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        back = self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return str(back).lstrip(" ") == text.lstrip(" ")

    def _break(self, text: str) -> str:
        """Escapes the first letter of each control token in `text`."""
        positions = [m.start() for m in self._begin.finditer(text) if text.startswith(self._marks, m.start())]
        if not positions:
            return text
        letters = _LETTER.findall(text)
        starts = {start: index for index, start in enumerate(accumulate(map(len, letters), initial=0))}
        for start in positions:
            # Inside an escape, as in the n of \nothing: the letter after it.
            index = starts.get(start, starts.get(start + 1))
            if index is not None and len(letters[index]) == 1 and letters[index] != '"':
                letters[index] = f"\\u{ord(letters[index]):04x}"
        return "".join(letters)


def _ascii(text: str) -> str:
    return "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
