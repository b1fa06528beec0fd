"""Constrained decoding: within a quote, only tokens that continue the turn's text are allowed, and in an
answer to a screen, only those that continue a list of the schema's turns and codes.

Why not xgrammar (0.2.8), which vLLM uses: it brings triton, 1 GB installed, where this needs nothing.

A quote begins after `MARK`, and may be closed if it is a part of the turn, word for word, and not blank.
Other tokens are unconstrained. Works on bytes, so that tokens may cut letters and escapes anywhere; the turn
is spelled as in the prompt (`dialint.detector.engines.json_escapes`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from dialint.detector.engines.json_escapes import JsonEscaper
from dialint.detector.judge import compact_json

AllowedTokens = Callable[[Sequence[int]], Sequence[int] | None]
"""The tokens that may follow those of an answer, ascending; None: any."""
MARK = b'"quote":"'
"""What no string of JSON can hold: a quotation mark in one has a backslash before it."""
_CLOSE = re.compile(rb'(?<!\\)(?:\\\\)*"')


class TokenSpellings:
    """What a tokenizer's tokens spell, looked up by bytes: `exact` all of it, `closing` what comes before a
    quotation mark that ends a string (in the second, of a string whose last backslash has yet to escape
    something), `entering` how far `MARK` must have come for a token to reach over it."""

    def __init__(self, tokenizer: Any) -> None:
        """`tokenizer` is one of transformers, with byte-level or byte-fallback tokens; control tokens spell
        nothing and stand in no quote."""
        self.spelled = _token_bytes(tokenizer)
        self.spelling = JsonEscaper(tokenizer)
        self.exact: dict[bytes, list[int]] = {}
        self.closing: tuple[dict[bytes, list[int]], dict[bytes, list[int]]] = ({}, {})
        self.entering: dict[bytes, list[int]] = {}
        for token, spelled_bytes in enumerate(self.spelled):
            if spelled_bytes:
                self.exact.setdefault(spelled_bytes, []).append(token)
            for open_escape, closing in enumerate(self.closing):
                if close := _CLOSE.search(b"\\" * open_escape + spelled_bytes):
                    closing.setdefault(spelled_bytes[: close.end() - 1 - open_escape], []).append(token)
            for size in range(1, min(len(spelled_bytes), len(MARK) + 1)):
                if spelled_bytes.startswith(MARK[-size:]):
                    self.entering.setdefault(MARK[:-size], []).append(token)
        self.longest = max(map(len, self.exact), default=0)
        self.longest_closing = max(map(len, self.closing[0] | self.closing[1]), default=0)

    def of(self, text: str) -> QuoteConstraint:
        """Quotes of this turn."""
        return QuoteConstraint(self, text)


class QuoteConstraint:
    """The tokens that may follow an answer's tokens, given the turn's text that it may quote."""

    def __init__(self, verbatim: TokenSpellings, text: str) -> None:
        letters = [letter.encode() for letter in verbatim.spelling.letters(text)]
        self._source = b"".join(letters)
        self._bounds = {0, *accumulate(map(len, letters))}
        self._verbatim = verbatim
        self._cache: dict[bytes, list[int] | None] = {}

    def __call__(self, ids: Sequence[int]) -> list[int] | None:
        """Allowed after `ids`, the answer so far; None: any, also where nothing of the turn can follow."""
        spelled = self._verbatim.spelled
        before, mark, quote = b"".join(spelled[token] for token in ids).partition(MARK)
        if _CLOSE.search(quote):
            return None
        if mark:
            if quote not in self._cache:
                self._cache[quote] = sorted(self._continuations(quote)) or None
            return self._cache[quote]
        for prefix in self._verbatim.entering:
            if before.endswith(prefix):
                if prefix not in self._cache:
                    self._cache[prefix] = self._tokens_without_foreign(prefix)
                return self._cache[prefix]
        return None

    def _ends(self, quote: bytes) -> list[int]:
        """Where in the source a quote that has come so far would go on."""
        starts = (m.start() for m in re.finditer(rb"(?=%b)" % re.escape(quote), self._source))
        return [start + len(quote) for start in starts if start in self._bounds]

    def _continuations(self, quote: bytes) -> set[int]:
        """The tokens that go on with the turn, and those that do and close."""
        results: set[int] = set()
        verbatim, source = self._verbatim, self._source
        open_escape = (len(quote) - len(quote.rstrip(b"\\"))) % 2
        for end in self._ends(quote):
            for size in range(1, min(verbatim.longest, len(source) - end) + 1):
                results.update(verbatim.exact.get(source[end : end + size], ()))
            for size in range(min(verbatim.longest_closing, len(source) - end) + 1):
                closing = verbatim.closing[open_escape].get(source[end : end + size], ())
                if closing and end + size in self._bounds and _is_visible(quote + source[end : end + size]):
                    results.update(closing)
        return results

    def _tokens_without_foreign(self, prefix: bytes) -> list[int]:
        """Every token but those that reach over the quote's mark with something that is not the turn's."""
        spelled = self._verbatim.spelled
        foreign = {
            token
            for token in self._verbatim.entering[prefix]
            if not self._may_begin(spelled[token][len(MARK) - len(prefix) :])
        }
        return [token for token in range(len(spelled)) if token not in foreign]

    def _may_begin(self, quote: bytes) -> bool:
        close = _CLOSE.search(quote)
        if close is None:
            return bool(self._ends(quote))
        whole = quote[: close.end() - 1]
        return any(end in self._bounds and _is_visible(whole) for end in self._ends(whole))


_BEGIN, _END = b'{"errors":[', b"]}"


class ScreenConstraint:
    """The tokens that may follow an answer's tokens; the answer names each turn and code at most once. A
    complete answer may only be ended, by any of `stops`."""

    def __init__(self, spellings: TokenSpellings, schema: Mapping[str, Any], stops: Sequence[int]) -> None:
        errors = schema["properties"]["errors"]
        properties = errors["items"]["properties"]
        self._items = [
            compact_json({"turn": turn, "code": code}).encode()
            for turn in properties["turn"]["enum"]
            for code in properties["code"]["enum"]
        ]
        self._most = int(errors["maxItems"])
        self._spellings = spellings
        self._stops = sorted(stops)
        self._cache: dict[bytes, list[int]] = {}

    def __call__(self, ids: Sequence[int]) -> list[int]:
        """Allowed after `ids`, the answer so far; never empty where each byte has a token."""
        written = b"".join(self._spellings.spelled[token] for token in ids)
        if written not in self._cache:
            self._cache[written] = self._continuations(written)
        return self._cache[written]

    def _continuations(self, written: bytes) -> list[int]:
        if written.endswith(_END):
            return self._stops
        results: set[int] = set()
        for rest in self._rests(written):
            for size in range(1, min(len(rest), self._spellings.longest) + 1):
                results.update(self._spellings.exact.get(rest[:size], ()))
        return sorted(results)

    def _rests(self, written: bytes) -> list[bytes]:
        """What may follow, one item ahead."""
        if len(written) < len(_BEGIN):
            begin = _BEGIN[len(written) :]
            return [begin + _END, *(begin + item for item in self._items)]
        body = written[len(_BEGIN) :]
        done = body.count(b"}")
        partial = body[body.rfind(b"}") + 1 :]
        unused = [item for item in self._items if item not in body]
        rests = []
        if body == b"" or partial == b"":
            rests.append(_END)
        if partial == b"]":
            return [b"}"]
        if done >= self._most or (body and not unused):
            return rests or [_END]
        separator = b"," if done else b""
        for item in unused:
            whole = separator + item
            if whole.startswith(partial):
                rests += [whole[len(partial) :] + end for end in (_END, b",")]
        return rests


def _is_visible(quote: bytes) -> bool:
    """Whether there is more in it than blanks."""
    return bool(json.loads(b'"' + quote + b'"').strip())


def _token_bytes(tokenizer: Any) -> list[bytes]:
    """The bytes of each token; none for control tokens."""
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    byte_level = "ByteLevel" in json.dumps([parts.get("decoder"), parts.get("pre_tokenizer")])
    control = {int(token["id"]) for token in parts.get("added_tokens") or [] if token.get("special")}
    names: list[str | None] = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    letters = {letter: byte for byte, letter in _byte_letters().items()}
    results = []
    for token, name in enumerate(names):
        if name is None or token in control:
            results.append(b"")
        elif byte_level and all(letter in letters for letter in name):
            results.append(bytes(letters[letter] for letter in name))
        elif byte := re.fullmatch(r"<0x([0-9A-F]{2})>", name):
            results.append(bytes([int(byte[1], 16)]))
        else:
            results.append((name if byte_level else name.replace("▁", " ")).encode())
    return results


def _byte_letters() -> dict[int, str]:
    """The letter that stands for each byte in a byte-level vocabulary (Radford et al. 2019, GPT-2): printable
    ones for themselves, the others from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
