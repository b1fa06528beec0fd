"""M2 by the syntax of placeholders, M3 by comparison with what the agent wrote before."""

# ruff: noqa: E501  patterns are read best on one line
from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from dialint.eval.baselines.rules.view import Hit, Spoken, View, whole

PLACEHOLDERS: tuple[tuple[str, float], ...] = (
    (r"\{\{[^{}\n]{1,60}\}\}|\{%[^%\n]{1,60}%\}|\$\{[^{}\n]{1,60}\}", 0.97),
    (r"\{[A-Za-z_][\w .|:-]{0,50}\}", 0.95),
    (r"<<[^<>\n]{1,60}>>|<(?!br|b>|i>|p>|a |/|div|span|http)[A-Za-z][\w .'-]{1,40}>", 0.9),
    (r"\[\[[^\[\]\n]{1,60}\]\]", 0.95),
    (r"\[(?![A-Z]+_\d+\])[A-Za-z][A-Za-z_ '/-]{2,40}\]", 0.8),
    (r"%%?[A-Za-z][\w. ]{1,40}%%?|(?<!\w)%\([a-z_]+\)[sd]|(?<!\w)%s\b", 0.9),
    (r"(?<![\w$])\$[a-zA-Z_]\w*(?:\.\w+)*|(?<!\w)@@?[a-z]+_[a-z_]+\b|(?<!\w)#[a-z]+_[a-z_]+#?|##[A-Za-z _]+##", 0.8),
    (r"\b[A-Z]{2,}_[A-Z_]{2,}\b|\b(?:XX+|X{3,}|xxx+|XXXX)\b", 0.7),
    (r"_{3,}|\.{6,}", 0.3),
    (r"(?i)\b(?:insert|enter|add|put) (?:your |the |customer |client )?(?:\w+ ){0,3}here\b|\blorem ipsum\b|\b(?:TBD|TBC|TODO|FIXME)\b", 0.85),
    (r"(?i)\b(?:dear|hi|hello) (?:customer name|first ?name|last ?name|client name|name|user ?name|null|none|undefined|nan|valued \[)\b", 0.85),
    (r"\b(?:null|undefined|NaN|None|nil)\b(?= |[.,!?]|$)|\bobject Object\b", 0.45),
    (r"(?i)\((?:customer'?s? |your |agent'?s? )?(?:name|date|time|amount|order number|order id|address|company|city|reason|product|number)(?: here)?\)", 0.7),
)  # fmt: skip
_PLACEHOLDERS = [(re.compile(pattern), confidence) for pattern, confidence in PLACEHOLDERS]
_REDACTED = re.compile(r"\[\s*(?:[A-Z]+_\d+|name|email|phone|number|address|date|url|link)\s*\]")
_ROUTINE = re.compile(
    r"\b(?:anything|something) else\b|\b(?:further|more|additional) (?:help|assistance|questions)\b"
    r"|\b(?:have a|enjoy|thank|thanks|welcome|goodbye|bye|you too)\b|^(?:ok|okay|sure|yes|no|hello|hi)\b[^?]{0,40}$"
)
MIN_WORDS = 5


def unfilled(view: View) -> Iterator[Hit]:
    """A slot of a template; not what a redacted log holds, nor what the customer wrote himself."""
    said = " ".join(turn.text for turn in view.turns if turn.side == "customer")
    for _, turn in view.agent():
        for pattern, confidence in _PLACEHOLDERS:
            for match in pattern.finditer(turn.text):
                if not _REDACTED.fullmatch(match.group()) and match.group() not in said:
                    yield Hit("M2", turn.index, match.start(), match.end(), confidence, "an unfilled slot")


def same_again(view: View) -> Iterator[Hit]:
    """The same words, or nearly, as an earlier agent turn, with a customer's turn in between."""
    earlier: list[tuple[int, Spoken]] = []
    for place, turn in view.agent():
        best = max((_alike(turn, old) for at, old in earlier if _spoke_between(view, at, place)), default=0.0)
        if len(turn.words) >= MIN_WORDS and best >= 0.6:
            sure = 0.9 if best > 0.97 else 0.7 if best > 0.85 else 0.45 if best > 0.72 else 0.2
            sure = sure / 3 if _ROUTINE.search(turn.low) else sure
            yield whole("M3", turn, sure, "nearly the words of an earlier turn")
        earlier.append((place, turn))


def _spoke_between(view: View, first: int, last: int) -> bool:
    return any(turn.side == "customer" for turn in view.turns[first + 1 : last])


def _alike(turn: Spoken, old: Spoken) -> float:
    """Similarity of two turns' words, in [0, 1]; of the longer whole in the shorter, too."""
    if len(old.words) < MIN_WORDS:
        return 0.0
    shared = len(set(turn.words) & set(old.words))
    if shared / min(len(set(turn.words)), len(set(old.words)) or 1) < 0.6:
        return 0.0
    if " ".join(old.words) in " ".join(turn.words):
        return max(0.8, len(old.words) / len(turn.words))
    return SequenceMatcher(None, turn.words, old.words, autojunk=False).ratio()
