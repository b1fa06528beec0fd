"""JSON on one line for prompts, without invisible characters."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dialint.detector.render import HIDDEN

Spell = Callable[[str], str]
"""Rewrites compact JSON so that it contains no control token, without changing its meaning."""


def compact_json(value: Any) -> str:
    """JSON on one line without blanks. Invisible characters are escaped: control and format characters, all
    white space but the space, private and unassigned ones."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable() and not HIDDEN.search(text):
        return text
    return "".join(c if c.isprintable() and not HIDDEN.match(c) else json.dumps(c)[1:-1] for c in text)


def clip(text: str, chars: int) -> str | list[Any]:
    """`text`, or its beginning and its end if it has more than `chars` characters."""
    if len(text) <= chars:
        return text
    end = chars // 2
    start = chars - end
    return [text[:start], {"left_out": len(text) - chars}, text[len(text) - end :]]
