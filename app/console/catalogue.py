"""Finds the texts of the screens in Python code, for `make translations`.

Babel's own reader works on tokens, and before Python 3.12 an f-string is one token: it misses the text of
``f"**{_('Agents')}**"``. This one reads the syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import IO


def extract_calls(
    file: IO[bytes], keywords: Collection[str], _comment_tags: Collection[str], options: object
) -> Iterator[tuple[int, str, tuple[str | None, ...], list[str]]]:
    """Calls of the functions named by `keywords`, as Babel wants them: line, name, arguments (None for one
    that is no literal string) and comments (none). There are no `options`.

    Raises:
        SyntaxError: The file is no Python, or a text is an f-string, whose words no catalogue can hold.
    """
    for node in ast.walk(ast.parse(file.read())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in keywords):
            continue
        if any(isinstance(each, ast.JoinedStr) for each in node.args):
            raise SyntaxError(f"{getattr(file, 'name', '')}:{node.lineno}: an f-string cannot be translated")
        texts = tuple(
            each.value if isinstance(each, ast.Constant) and isinstance(each.value, str) else None
            for each in node.args
        )
        yield node.lineno, node.func.id, texts, []
