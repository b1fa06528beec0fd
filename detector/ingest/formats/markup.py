"""HTML bodies as the text a person read: once, before any offset into the text exists."""

from __future__ import annotations

from html.parser import HTMLParser

_BLOCKS = {"p", "div", "br", "li", "tr", "ul", "ol", "table", "blockquote", "h1", "h2", "h3", "h4", "pre"}
_SILENT = {"script", "style", "head", "title"}
FAR = 10_000
MAX_FAR = 50
"""Tags longer than `FAR` characters, such as pictures within the text; what comes after so many is text."""


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0

    def parse_html_declaration(self, i: int) -> int:
        """As in the library, which raises on some of ``<![...``: browsers take those for comments."""
        try:
            return super().parse_html_declaration(i)
        except AssertionError:
            return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in _BLOCKS and tag != "br":
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)


def html_text(html: str) -> str:
    """The visible text of an HTML fragment, blocks on their own lines, other white space as one blank."""
    if "<" not in html and "&" not in html:
        return html
    parser = _Text()
    parser.feed(_bounded(html))
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)


def _bounded(html: str) -> str:
    """The same text with each ``<`` that begins no tag written as ``&lt;``: the parser looks for the end of
    one in all that follows, so that many of them take time by the square."""
    pieces: list[str] = []
    done = n_far = close = 0
    start = html.find("<")
    while start >= 0:
        if 0 <= close < start:
            close = html.find(">", start)
        far = close - start > FAR
        n_far += far
        if close < 0 or (far and n_far > MAX_FAR):
            pieces += (html[done:start], "&lt;")
            done = start + 1
        start = html.find("<", start + 1)
    return "".join((*pieces, html[done:]))
