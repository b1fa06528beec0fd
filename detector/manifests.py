"""The fields of manifests, validated before anybody uses one: above all names, which readers join to folders.

The seal of a manifest is a checksum and no signature: it shows accidents, not who wrote it. So the content of
one that fits its seal may still be hostile, and is validated like any other input.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from dialint.detector.errors import OutputRefused

MAX_NAME = 255
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]|\A[A-Za-z]:")
"""Control characters, separators of another system, drive letters, halves of characters."""

Count = Annotated[int, Meta(ge=0, le=1 << 62)]


class FileEntry(TypedDict):
    """A file of the folder, as `artifacts.file_entry` describes it."""

    name: str
    bytes: Count
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    rows: NotRequired[Count]


class Manifest(TypedDict, total=False):
    """The fields of every manifest."""

    kind: str
    files: list[FileEntry]


class Folder(TypedDict):
    """A manifest that lists the files of its folder."""

    kind: NotRequired[str]
    files: list[FileEntry]


class _Source(TypedDict):
    """A corpus that examples were made of. `trains`: whether models may learn from it."""

    name: str
    rows: Count
    licence: str
    trains: bool


class Examples(Folder):
    """The manifest of a folder of examples."""

    codes: NotRequired[list[str]]
    sources: NotRequired[list[_Source]]
    folders: NotRequired[list[dict[str, Any]]]


class Model(Folder):
    """The manifest of a trained judge or reward model."""

    data: NotRequired[dict[str, str]]
    figures: NotRequired[dict[str, Any]]


def validate_fields(content: Mapping[str, Any], expected: Any, path: Path) -> None:
    """Check the manifest at `path`: its fields are those of the TypedDict `expected`, and every file that it
    lists is one of its folder, listed once.

    Raises:
        OutputRefused: E_MANIFEST.
    """
    try:
        msgspec.convert(content, expected)
    except msgspec.ValidationError as error:
        raise OutputRefused("E_MANIFEST", "{path}: {problem}", path=path, problem=str(error)) from None
    listed = {_same_file(path.name)}
    for entry in content.get("files", ()):
        name = entry["name"]
        if not is_plain(name):
            raise OutputRefused(
                "E_MANIFEST", "{path}: lists {name}, which is no plain name of a file in its folder",
                path=path, name=repr(name[:80]),
            )  # fmt: skip
        if _same_file(name) in listed:
            raise OutputRefused("E_MANIFEST", "{path}: lists {name} twice", path=path, name=repr(name))
        listed.add(_same_file(name))


def is_plain(name: str) -> bool:
    """Return whether a name, joined to a folder, stays in it; ``/`` separates the parts of one in a folder of
    that folder. Names that only Windows reserves (``con``) are allowed."""
    return (
        len(name.encode(errors="replace")) <= MAX_NAME
        and _UNSAFE.search(name) is None
        and all(part not in ("", ".", "..") for part in name.split("/"))
    )


def _same_file(name: str) -> str:
    """Return a key that is equal for names that some file system equates: by case or composed characters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
