"""Renders HTML as text, each character with its position in the source, and detects which texts are HTML.

Written here and not taken from a library: none of the maintained ones (lxml, selectolax, html5lib,
inscriptis) reports source positions of characters, and `html.parser` of the standard library takes quadratic
time on hostile text. One pass, linear in the text.

Only elements of HTML are markup. ``<name>`` or ``a < b > c`` stay: in a message they are text, for instance a
template's unfilled slot.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from typing import Literal, NamedTuple

from dialint.detector.errors import Message
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.offsets import Piece
from dialint.detector.yaml_document import read_packaged

_NAMES = read_packaged("ingest/html.yaml")
_BLOCKS, _CELLS = frozenset(_NAMES["blocks"]), frozenset(_NAMES["cells"])
_SILENT = {name: re.compile(rf"</{name}(?=[\s>])", re.IGNORECASE) for name in _NAMES["silent"]}
_ELEMENTS = _BLOCKS.union(_CELLS, _NAMES["inline"], _SILENT)

_MARKUP = re.compile(r"<(?:(!--)|([!?][a-zA-Z\[])|(/?)([a-zA-Z][a-zA-Z0-9:_-]{0,40}+)(?=[\s/>]))")
_ENTITY = re.compile(r"&(?:#\d{1,7}+|#[xX][0-9a-fA-F]{1,6}+|[a-zA-Z][a-zA-Z0-9]{1,31}+);?")
_TOKEN = re.compile(rf"\s+|{_ENTITY.pattern}|[^\s&]+|&")
_ATTRIBUTE = re.compile(r"""=\s*+("[^"]*+"?|'[^']*+'?)""")
_LINKIFIED = re.compile(
    r"""<a\s[^<>]{0,200}?href=["']?(?:mailto:|https?://)?([^"'<>\s]{1,200})["'][^<>]*>([^<]{1,200})</a>""",
    re.I,
)
_BREAK = re.compile(r"[^\s\"'`(<]<br\s?/?>(?=[^ \t\"'`)]|$)|<br\s?/?><br\s?/?>", re.IGNORECASE)

MAX_QUOTED = 2_000
"""Characters within which the closing quote of an attribute must follow if the value contains ``<`` or
``>``."""
MAX_TAGS = 100_000
"""Tags of one message; a long newsletter has some thousands."""
MAX_ATTRIBUTES = 400
"""Characters at the head of a tag that are searched for its class."""

Mark = Literal["quote", "blockquote", "introduction", "reply", "signature"]
"""A `reply` contains introduction and quotation of an earlier message, and maybe own words among them."""
_MARKS: dict[str, Mark] = {sign: mark for mark, signs in _NAMES["marks"].items() for sign in signs}


class Markup(NamedTuple):
    """The pieces of an HTML text, and the ranges of the text that its tags mark."""

    pieces: list[Piece]
    marks: list[tuple[int, int, Mark]]


def is_html(text: str) -> bool:
    """Returns whether a text of unknown type is HTML as a whole.

    True if it begins and ends with a tag and has a pair of tags, if a line ends with ``<br>``, or if it has
    links as programs make them. A text that only mentions tags is not HTML.
    """
    if "<" not in text or ">" not in text:
        return False
    body = text.strip()
    if body.startswith("<") and body.endswith(">") and _has_pair(body):
        first = _MARKUP.match(body)
        return first is not None and (first[4] is None or first[4].lower() in _ELEMENTS)
    if _BREAK.search(body):
        return True
    return any(match[1].rstrip("/") in match[2] for match in _LINKIFIED.finditer(body))


def may_be_html(text: str) -> bool:
    """Returns whether a text is HTML, given that another one of its dialogue is: it has a pair of tags, a
    line break or an entity."""
    if "<" not in text:
        return any(_entity(match[0]) != match[0] for match in _ENTITY.finditer(text))
    return _has_pair(text) or _BREAK.search(text) is not None


def _has_pair(text: str) -> bool:
    """Returns whether a closing tag follows an opening one of the same name."""
    opened = set()
    for match in _MARKUP.finditer(text):
        name = (match[4] or "").lower()
        if name in opened and match[3]:
            return True
        if name in _ELEMENTS:
            opened.add(name)
    return False


def read_html(html: str) -> Markup:
    """Render an HTML fragment as text: blocks on their own lines, other white space as one blank.

    The content of unclosed tags stays visible, so that broken markup hides no words.

    Raises:
        BadRecord: E_TURN_SIZE, over `MAX_TAGS` tags.
    """
    return _Reader(html).read()


class _Reader:
    """One pass over a text. `size` is the length of the rendered text so far."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.pieces: list[Piece] = []
        self.marks: list[tuple[int, int, Mark]] = []
        self.size = 0
        self._open: dict[str, list[tuple[int, Mark | None]]] = {name: [] for name in _NAMES["containers"]}
        self._pre = 0
        self._rest: int | None = None
        self._break: tuple[int, int] | None = None
        self._blank: tuple[int, int] | None = None
        self._next_ends: dict[str, int] = {}
        self._unclosed: set[str] = set()
        names = ((match[4] or "").lower() for match in _MARKUP.finditer(html))
        self._lines = _BLOCKS.isdisjoint(names)  # without a block, line feeds are what ends a line

    def read(self) -> Markup:
        html, position, searched, n_tags = self.html, 0, 0, 0
        while match := _MARKUP.search(html, searched):
            start = match.start()
            end = self._tag_end(match)
            if end < 0:
                searched = start + 1
                continue
            n_tags += 1
            if n_tags > MAX_TAGS:
                actual = Message("over {n} tags", n=MAX_TAGS)
                raise BadRecord("E_TURN_SIZE", "", actual, Message("at most {n} tags in a text", n=MAX_TAGS))
            self._text(position, start)
            position = searched = end
            name = (match[4] or "").lower()
            if name:
                position = searched = self._tag(name, bool(match[3]), match.end(), start, end)
        self._text(position, len(html))
        for name in _NAMES["containers"]:
            for prefix, mark in self._open[name]:
                self._mark(prefix, mark)
        self._mark(self.size if self._rest is None else self._rest, "quote")
        return Markup(self.pieces, sorted(self.marks))

    def _next(self, sign: str, start: int) -> int:
        """Position of the next `sign`, or -1. Results are cached, so that each part of the text is searched
        once."""
        if -1 < self._next_ends.setdefault(sign, 0) < max(start, 1):
            self._next_ends[sign] = self.html.find(sign, start)
        return self._next_ends[sign]

    def _tag_end(self, match: re.Match[str]) -> int:
        """End of a tag, exclusive; -1 if it is not a tag."""
        html, start = self.html, match.end()
        if match[1]:
            end = self._next("-->", start)
            return end + 3 if end >= 0 else self._next(">", start) + 1 or -1
        end = self._next(">", start)
        if match[2]:
            return end + 1 if end >= 0 else -1
        if end < 0 or (match[4].lower() not in _ELEMENTS and ":" not in match[4]):
            return -1
        inner = html.find("<", start, end)
        if inner >= 0 and (end - start > MAX_QUOTED or not _quote_open(html[start:inner])):
            return -1
        quote = _quote_open(html[start:end])
        if quote:
            close = html.find(quote, end, end + MAX_QUOTED)
            further = html.find(">", close, close + MAX_QUOTED) if close >= 0 else -1
            if further >= 0 and html.find("<", end, further) < 0:
                end = further
        return end + 1

    def _tag(self, name: str, closing: bool, inside: int, start: int, end: int) -> int:
        """Process one tag. Returns the position from which to continue."""
        if name in _BLOCKS:
            self._break = self._break or (start, end)
        elif name in _CELLS:
            self._blank = self._blank or (start, end)
        if name == "pre":
            self._pre = max(0, self._pre + (-1 if closing else 1))
        if not closing and (name in self._open or name == "hr"):
            attributes = self.html[inside : min(end, inside + MAX_ATTRIBUTES)].lower()
            attributes = attributes.replace('"', "").replace("'", "")
            if self._rest is None and any(sign in attributes for sign in _NAMES["rest"]):
                self._rest = self.size
            if name in self._open:
                self._open[name].append((self.size, _mark_of(name, attributes)))
        elif closing and self._open.get(name):
            self._mark(*self._open[name].pop())
        if name in _SILENT and not closing and name not in self._unclosed:
            close = _SILENT[name].search(self.html, end)
            if close is None:
                self._unclosed.add(name)
            else:
                return close.start()
        return end

    def _mark(self, prefix: int, mark: Mark | None) -> None:
        if mark == "reply":  # of which the parts have marks of their own, or which is one quotation
            mark = None if self.marks and self.marks[-1][0] >= prefix else "quote"
        if mark is not None and self.size > prefix:
            self.marks.append((prefix, self.size, mark))

    def _text(self, start: int, end: int) -> None:
        for match in _TOKEN.finditer(self.html, start, end):
            token = match[0]
            if token[0] == "&":
                character = _entity(token)
                if character != token:
                    if character.isspace():
                        self._blank = self._blank or match.span()
                    else:
                        self._add(Piece(match.start(), match.end(), character))
                    continue
            if not token.isspace():
                self._add(Piece(match.start(), match.end()))
            elif "\n" in token and (self._lines or self._pre):
                self._break = self._break or match.span()
            else:
                self._blank = self._blank or match.span()

    def _add(self, piece: Piece) -> None:
        """Adds a word, after the pending break or blank."""
        if self._break is not None and self.pieces:
            self._append(Piece(*self._break, "\n"))
        elif self._blank is not None and self.pieces:
            self._append(Piece(*self._blank, " "))
        self._break = self._blank = None
        self._append(piece)

    def _append(self, piece: Piece) -> None:
        if piece.text is not None and self.html[piece.start : piece.end] == piece.text:
            piece = Piece(piece.start, piece.end)
        self.size += piece.size
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.text is None and piece.text is None and last.end == piece.start:
            self.pieces[-1] = Piece(last.start, piece.end)
        else:
            self.pieces.append(piece)


def _entity(token: str) -> str:
    """The character of an entity, or the token itself if it is none. A name needs its semicolon, except the
    names that HTML accepts without."""
    if token[1:2] != "#" and token[1:] not in html5:
        return token
    return unescape(token) or token


def _quote_open(attributes: str) -> str:
    """The quote that is open at the end of `attributes`, or an empty string."""
    last = ""
    for match in _ATTRIBUTE.finditer(attributes):
        value = match[1]
        last = "" if len(value) > 1 and value[-1] == value[0] else value[0]
    return last


def _mark_of(name: str, attributes: str) -> Mark | None:
    for sign, mark in _MARKS.items():
        if sign in attributes:
            return "reply" if sign == "gmail_quote" and name == "div" else mark
    return "blockquote" if name == "blockquote" else None
