"""Finds the parts of a message that are not its own text: quoted replies, signatures, footers, template text.

Line by line, with the wordings of ``phrases.yaml``, linear in the text. Written here and not taken from a
library: of the maintained ones, `mail-parser-reply` 1.36 and `email-reply-parser` 0.5.12 take quadratic time
on hostile text (4,000 times ``On ``: 5.5 s and more; 2026-11-23), `quotequail` 0.5.4 knows neither
Russian nor German heads of Outlook, and none returns the positions of its parts.

In doubt a line stays: an agent's words must not get lost, and a message of which nothing would remain stays
whole. Lines marked with ``>`` are removed anywhere; a quotation that only words introduce, if it ends the
message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Literal

from dialint.detector.ingest.html_text import Mark
from dialint.detector.ingest.words import fold, introductions, phrases, starts

Kind = Literal["quote", "signature", "chrome"]

_STRONGEST: tuple[Mark, ...] = ("quote", "introduction", "signature", "blockquote")
_LABEL_IN_LINE = re.compile(r"(?<=[.!?…)\]])[^\S\n]{1,3}(\w{1,12}+)[^\S\n]?:")
_CLOCK = re.compile(r"\d[:.h]\d\d")
_DIGIT = re.compile(r"\d")
_INLINE_MARK = re.compile(r"##-[^#\n]{1,200}-##\s*+")
_RULE = re.compile(r"[-_=*–—#<>~ ]{3,}+")
_WORD = re.compile(r"\w++")
_PHONE = re.compile(r"(?<![\w#])\+?\d(?:[ ()/.-]{0,2}\d){6,18}")

LONGEST_INTRODUCTION = 300
LONGEST_HEAD = 400
HEAD_LINES = 8
SIGNATURE_LINES = 12
FOOTER_LINES = 15
CLOSING_LINES = 14
DEVICE_WORDS = 8
MIN_OVERLAP = 0.5
"""Least share of a quotation's word triples that are in earlier messages."""


class EarlierMessages:
    """The words of a dialogue's messages, to recognise quotations of earlier ones."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._first: dict[tuple[str, ...], int] | None = None

    def before(self, position: int, quotation: str) -> bool:
        """Returns whether at least `MIN_OVERLAP` of a quotation is in messages before the one at
        `position`."""
        if self._first is None:
            self._first = {}
            for index, text in enumerate(self._texts):
                for triple in _triples(text):
                    self._first.setdefault(triple, index)
        requested = set(_triples(quotation))
        n_earlier = sum(self._first.get(triple, position) < position for triple in requested)
        return bool(requested) and n_earlier >= MIN_OVERLAP * len(requested)


def _triples(text: str) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return list(zip(words, words[1:], words[2:], strict=False)) or ([tuple(words)] if words else [])


def find_quoted_text(
    text: str, marks: Sequence[tuple[int, int, Mark]] | None, was_written_before: Callable[[str], bool]
) -> tuple[list[tuple[int, int]], set[Kind]]:
    """Returns the ranges of `text` that are not part of its message, in order and disjoint, and their kinds.

    `marks` are those of HTML, None for a text that was none; `was_written_before` is whether words are in an
    earlier message. No range is returned if nothing would remain.
    """
    if "\n" in text or marks is not None:
        return _Message(text, marks or (), was_written_before).ranges()
    if "##-" in text and _WORD.search(_INLINE_MARK.sub("", text)):
        results = [match.span() for match in _INLINE_MARK.finditer(text)]
        return results, {"chrome"} if results else set()
    return [], set()


class _Message:
    """A message by lines. `kinds` is the kind of each line, None for the message's own lines."""

    def __init__(
        self, text: str, marks: Sequence[tuple[int, int, Mark]], was_written_before: Callable[[str], bool]
    ) -> None:
        self.text = text
        ends = accumulate(len(line) + 1 for line in text.split("\n"))
        self.starts = sorted({0, *ends, *_inline_heads(text)})
        self.raw = [text[start : end - 1] if end > len(text) or text[end - 1] == "\n" else text[start:end]
                    for start, end in pairwise(self.starts)]  # fmt: skip
        self.low = [fold(line) for line in self.raw]
        self.kinds: list[Kind | None] = [None] * len(self.raw)
        self._was_written_before = was_written_before
        self.following = list(range(len(self.raw)))  # the next line with words, from each line on
        for index in range(len(self.raw) - 2, -1, -1):
            if not self.low[index]:
                self.following[index] = self.following[index + 1]
        self.marked = self._line_marks(marks)
        self._first_own = 0
        self._apart: set[int] = set()

    def ranges(self) -> tuple[list[tuple[int, int]], set[Kind]]:
        self._quotations()
        if not self._own():
            self.kinds = [None] * len(self.raw)
        before = list(self.kinds)
        self._chrome()
        self._signature()
        if not self._own():
            self.kinds = before
        return self._merge_ranges(), {kind for kind in self.kinds if kind is not None}

    def _line_marks(self, marks: Sequence[tuple[int, int, Mark]]) -> list[Mark | None]:
        """The mark of each line, of HTML or ``>``."""
        results: list[Mark | None] = [None] * len(self.raw)
        for index, line in enumerate(self.raw):
            head = line.lstrip()
            if head.startswith(">") and (len(head) < 2 or head[1] in "> \t" or head[1].isalpha()):
                results[index] = "blockquote"
        reach: dict[Mark, int] = {}
        coming = iter(sorted(marks))
        mark = next(coming, None)
        for index, start in enumerate(self.starts[:-1]):
            while mark is not None and mark[0] <= start:
                reach[mark[2]] = max(mark[1], reach.get(mark[2], 0))
                mark = next(coming, None)
            if self.low[index]:
                inside: list[Mark] = [kind for kind in _STRONGEST if reach.get(kind, 0) > start]
                results[index] = inside[0] if inside else results[index]
        return results

    def _quotations(self) -> None:
        position, introduced = 0, -1
        while position < len(self.raw):
            last = self._introduction(position)
            if self.marked[position] in ("quote", "blockquote"):
                position = self._marked_run(position, introduced)
            elif self.marked[position] == "introduction":
                position = introduced = self._marked_introduction(position)
            elif last is not None:
                position = introduced = self._introduction_of(position, last)
            elif self._ends_the_message(position):
                if self._has_own(position):
                    self._append(position, len(self.raw), "quote")
                    return
                position = self._set_apart(position)
            else:
                position += 1

    def _set_apart(self, position: int) -> int:
        """Excludes the head of a forwarded message from the message's own lines. Returns the next
        position."""
        end = position + 1
        while end < min(position + HEAD_LINES, len(self.raw)) and _field(self.low[end]):
            end += 1
        self._apart.update(range(position, end))
        return end

    def _introduction(self, position: int) -> int | None:
        """The last line of a quotation's introduction that begins at `position`, such as ``On ...
        wrote:``."""
        if not self.low[position] or self.marked[position] is not None:
            return None
        lines = self.low[position : position + 3]
        last = next((n for n, low in enumerate(lines) if low.endswith(":")), None)
        if last is None or "" in lines[:last]:
            return None
        begins = (begin for begin, _, _ in introductions() if begin)
        if last and not (_CLOCK.search(lines[0]) or any(map(lines[0].startswith, begins))):
            return None
        whole = " ".join(lines[: last + 1])
        return position + last if len(whole) <= LONGEST_INTRODUCTION and _announces(whole) else None

    def _introduction_of(self, position: int, last: int) -> int:
        """Marks an introduction and, if its quotation is not marked line by line, the quotation. Returns the
        next position."""
        following = self._next_text_line(last)
        if following is None:
            return last + 1
        whole = " ".join(self.low[position : last + 1])
        speaks = "@" not in whole and bool(phrases("you") & set(_WORD.findall(whole)))
        if self.marked[following] in ("quote", "blockquote"):
            if not speaks:
                self._append(position, last + 1, "quote")
            return following
        if speaks or not ("@" in whole or _CLOCK.search(whole)):
            return last + 1
        if self._has_own(position):
            self._append(position, len(self.raw), "quote")
            return len(self.raw)
        quoted = following
        while quoted < len(self.raw) and (not self.low[quoted] or self._was_written_before(self.low[quoted])):
            quoted += 1
        if quoted > following:
            self._append(position, quoted, "quote")
        return max(quoted, last + 1)

    def _marked_introduction(self, position: int) -> int:
        """Marks an introduction that HTML marks, and what follows if nothing marks the quotation. Returns the
        next position."""
        end = position
        while end < len(self.raw) and (self.marked[end] == "introduction" or not self.low[end]):
            end += 1
        is_marked = end < len(self.raw) and self.marked[end] in ("quote", "blockquote")
        self._append(position, end if is_marked or not self._has_own(position) else len(self.raw), "quote")
        return end if is_marked else len(self.raw)

    def _marked_run(self, position: int, introduced: int) -> int:
        """Marks lines that are a quotation by more than a single ``>``. Returns the next position."""
        end = position
        while end < len(self.raw) and (
            self.marked[end] in ("quote", "blockquote") or self._blank_within(end)
        ):
            end += 1
        lines = [each for each in range(position, end) if self.low[each]]
        angled = [each for each in lines if self.raw[each].lstrip().startswith(">")]
        sure = position == introduced or any(self.marked[each] == "quote" for each in lines)
        sure = sure or not (angled or self._is_own_quotation(position, end))
        words = "\n".join(self.raw[each].lstrip("> \t") for each in lines)
        if sure or len(angled) > 1 or self._was_written_before(words):
            self._append(position, end, "quote")
        return end

    def _is_own_quotation(self, position: int, end: int) -> bool:
        """Returns whether a quotation marked by HTML, and by no mail program, is the message's own, such as
        that of a rule: words before it announce it with a colon."""
        before = next((self.low[each] for each in range(position - 1, -1, -1) if self.low[each]), "")
        return before.endswith((":", "：", "…", "...")) or (not before and end == len(self.raw))

    def _blank_within(self, position: int) -> bool:
        """Returns whether a line is blank and the next line with words is marked as a quotation."""
        return not self.low[position] and self.marked[self.following[position]] in ("quote", "blockquote")

    def _next_text_line(self, position: int) -> int | None:
        """The next line with words below `position`."""
        following = self.following[position + 1] if position + 1 < len(self.raw) else position
        return following if following > position and self.low[following] else None

    def _ends_the_message(self, position: int) -> bool:
        """Returns whether the earlier messages that mail programs and help desks append begin at a line."""
        low = self.low[position]
        if _is_reply_mark(low):
            return True
        if low.startswith(("-", "_", "*", "=", "–", "—", "begin forwarded message")):
            inner = low.strip("-_*=–—~: ")
            if inner in phrases("separators") or inner == "begin forwarded message":
                return True
            if not inner and _RULE.fullmatch(low):
                following = self._next_text_line(position)
                return following is not None and self._is_head(following)
        return self._is_head(position)

    def _is_head(self, position: int) -> bool:
        """Returns whether the head of a quoted message begins here: sender, date or recipient, and subject,
        with a date or an address; or sender and the time of sending, also in one line."""
        if _field(self.low[position]) not in phrases("from"):
            return False
        if _is_terse_head(self.low[position]):
            return True
        below = self._next_text_line(position)
        if below is not None and _field(self.low[below]) in _sent_words() and _DIGIT.search(self.low[below]):
            return True
        head = [low for low in self.low[position : position + 2 * HEAD_LINES] if low][:HEAD_LINES]
        fields = {_field(low): low for low in reversed(head)}
        dated = phrases("from") | phrases("sent") | phrases("to")
        return (
            not phrases("subject").isdisjoint(fields)
            and not (phrases("sent") | phrases("to")).isdisjoint(fields)
            and any("@" in low or _DIGIT.search(low) for name, low in fields.items() if name in dated)
        )

    def _chrome(self) -> None:
        for index, low in enumerate(self.low):
            if self.kinds[index] is None and low:
                bare = low.strip("#-*_=[]()|>< ")
                if bare in phrases("chrome_lines") or bare in phrases("reply_marks"):
                    self.kinds[index] = "chrome"

    def _signature(self) -> None:
        for index, mark in enumerate(self.marked):
            if mark == "signature" and self.kinds[index] is None:
                self.kinds[index] = "signature"
        self._footers()
        for index in self._own()[-3:]:
            low = self.low[index]
            is_device = low.startswith(starts("devices")) and len(low.split()) <= DEVICE_WORDS
            if is_device and any(word in low for word in phrases("device_words")):
                self.kinds[index] = "signature"
        own = self._own()
        for index, line in enumerate(self.raw):
            delimits = self.kinds[index] is None and line.rstrip() == "--" and own and own[0] < index
            if delimits and len(own) - bisect_right(own, index) <= SIGNATURE_LINES:
                self._append(index, len(self.raw), "signature")
                return
        self._contact_data(own)

    def _footers(self) -> None:
        own = self._own()
        for nth, position in enumerate(own):
            if nth and len(own) - nth <= FOOTER_LINES and self.low[position].startswith(starts("footers")):
                self._append(position, len(self.raw), "signature")
                return
        for position in own[1:][-5:]:
            bare = self.low[position].partition("http")[0].strip("|[](){}<>:*_-. ")
            if bare in phrases("footer_lines"):
                self.kinds[position] = "signature"
                below = self._next_text_line(position)
                if below is not None and self.low[below].startswith("http"):
                    self.kinds[below] = "signature"

    def _contact_data(self, own: Sequence[int]) -> None:
        """Marks contact data below a closing and a name."""
        for nth in range(max(1, len(own) - CLOSING_LINES), len(own) - 2):
            if self.low[own[nth]].rstrip(",!; ") not in phrases("closings"):
                continue
            below = [self.low[position] for position in own[nth + 2 :]]
            spoken = any(len(low) > 90 or low.startswith(("p.s", "ps:", "ps ")) for low in below)
            if not spoken and any(map(_is_contact, below)):
                self._append(own[nth + 2], len(self.raw), "signature")
            return

    def _own(self) -> list[int]:
        """The lines with words that are the message's own."""
        return [index for index in range(len(self.raw)) if self._is_own(index)]

    def _is_own(self, position: int) -> bool:
        low = self.low[position]
        spoken = self.kinds[position] is None and position not in self._apart
        return spoken and _WORD.search(low) is not None and not _is_reply_mark(low)

    def _has_own(self, end: int) -> bool:
        """Returns whether the message has words of its own before line `end`; all lines before it must be
        classified."""
        while self._first_own < end:
            if self._is_own(self._first_own):
                return True
            self._first_own += 1
        return False

    def _append(self, start: int, end: int, kind: Kind) -> None:
        for index in range(start, end):
            if self.kinds[index] is None:
                self.kinds[index] = kind

    def _merge_ranges(self) -> list[tuple[int, int]]:
        """The ranges to remove, with the blank lines below each; at the message's end with those above it
        too."""
        results: list[tuple[int, int]] = []
        position, n_lines = 0, len(self.raw)
        while position < n_lines:
            end = position + 1
            if self.kinds[position] is not None:
                while end < n_lines and (self.kinds[end] is not None or not self.low[end]):
                    end += 1
                results.append((self.starts[position], min(self.starts[end], len(self.text))))
            position = end
        if results and results[-1][1] == len(self.text):
            start = len(self.text[: results[-1][0]].rstrip())
            results[-1] = (start, len(self.text))
        return results


def _inline_heads(text: str) -> list[int]:
    """Positions of heads of quoted messages within a line, behind the end of a sentence."""
    return [
        match.start(1)
        for match in _LABEL_IN_LINE.finditer(text)
        if _is_terse_head(fold(text[match.start(1) : match.start(1) + LONGEST_HEAD].partition("\n")[0]))
    ]


@cache
def _sent_words() -> frozenset[str]:
    """The labels of a time of sending that label nothing else."""
    return phrases("sent") - phrases("dates")


def _is_terse_head(low: str) -> bool:
    """Returns whether one line holds the head of a quoted message: behind the sender the time of sending, or
    subject and another field."""
    name, colon, rest = low[:LONGEST_HEAD].partition(":")
    if not colon or name.strip("*_> ") not in phrases("from"):
        return False
    sent, others, subject = (
        any(part.rstrip("*_ ").endswith(tuple(f" {word}" for word in words)) for part in rest.split(":")[:-1])
        for words in (_sent_words(), phrases("to") | phrases("dates"), phrases("subject"))
    )
    return bool(_DIGIT.search(rest) or "@" in rest) and (sent or (subject and others))


def _is_reply_mark(low: str) -> bool:
    return low.strip("#-*_=~ ") in phrases("reply_marks")


def _announces(low: str) -> bool:
    """Returns whether a line introduces a quoted message as mail programs do, with a time or an address."""
    if "@" not in low and not _DIGIT.search(low):
        return False
    if "@" in low and _CLOCK.search(low) and low.endswith(">:"):
        return True
    return any(
        low.startswith(begin) and low.endswith(last) and inner in low and len(low) > len(begin) + len(last)
        for begin, inner, last in introductions()
    )


def _field(low: str) -> str:
    name, colon, _ = low.partition(":")
    return name.strip("*_> ") if colon else ""


def _is_contact(low: str) -> bool:
    words = set(low.replace(":", " ").replace(",", " ").split())
    return bool(
        "@" in low or "http" in low or "www." in low or words & phrases("contact_words") or _PHONE.search(low)
    )
