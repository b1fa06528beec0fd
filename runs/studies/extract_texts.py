"""Extracts the texts of the console for Babel (`make translations`): those of pages, and of errors that can
reach a page (the files are in `tool.babel` of ``pyproject.toml``).

Babel's own extractor works on tokens, and before Python 3.12 an f-string is one token: it misses the text of
``f"**{_('Agents')}**"``.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any

import yaml

ERRORS: Mapping[str, tuple[int, ...]] = {
    "DialintError": (1,), "UserError": (1,), "InputRefused": (1,), "ConfigError": (1,),
    "ReleaseRefused": (1,), "OutputRefused": (1,), "TooManyBad": (1,), "WorldError": (1,),
    "DialogueFailed": (1,), "file_error": (2,), "BadRecord": (2, 3), "StoreRefused": (1,),
    "NotAllowed": (1,), "MustChangePassword": (1,), "StaleLease": (1,), "DialogueMissing": (1,),
    "StoreDamaged": (1,), "Conflict": (0,), "InvalidValue": (0,), "Message": (0,),
}  # fmt: skip
"""Classes and functions with translated arguments, and the positions of these."""


def extract_calls(
    file: IO[bytes], keywords: Collection[str], _comment_tags: Collection[str], options: object
) -> Iterator[tuple[int, str, tuple[str | None, ...], list[str]]]:
    """Yields calls of the functions `keywords` in Babel's format: line, name, arguments (None if no literal
    string) and comments (none). Also the text of each error, as a call of `_`; of a conditional expression
    both texts. `options` is unused.

    Raises:
        SyntaxError: the file is no Python, or a text is an f-string, which cannot be in a catalogue; the text
            of an error must be a literal, or a name or attribute with another error's text.
    """
    for node in ast.walk(ast.parse(file.read())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        name = node.func.id
        if name in ERRORS:
            arguments = [node.args[position] for position in ERRORS[name] if position < len(node.args)]
            texts = [text for each in arguments for text in _choices(each)]
            is_text = all(
                isinstance(each, ast.Constant | ast.Name | ast.Attribute | ast.Call) for each in texts
            )
            calls = [("_", [text]) for text in texts]
        elif name in keywords:
            is_text = not any(isinstance(each, ast.JoinedStr) for each in node.args)
            calls = [(name, node.args)]
        else:
            continue
        if not is_text:
            raise SyntaxError(
                f"{getattr(file, 'name', '')}:{node.lineno}: this text cannot be found in a catalogue; write "
                "a literal with places for its values"
            )
        for keyword, values in calls:
            literals = (
                (each.value or None)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
                else None
                for each in values
            )
            yield node.lineno, keyword, tuple(literals), []


def extract_texts(
    file: IO[bytes], _keywords: Collection[str], _comment_tags: Collection[str], options: object
) -> Iterator[tuple[int, str, tuple[str, ...], list[str]]]:
    """Yields the texts of a YAML file, a list or the value of `texts`, as calls of `_`."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        else:
            for each in value.values() if isinstance(value, dict) else value:
                yield from walk(each)

    content = yaml.safe_load(file)
    for text in walk(content["texts"] if isinstance(content, dict) else content):
        yield 1, "_", (text,), []


def _choices(argument: ast.expr) -> list[ast.expr]:
    if isinstance(argument, ast.IfExp):
        return [*_choices(argument.body), *_choices(argument.orelse)]
    return [argument]
