from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.detector.errors import ConfigError
from dialint.detector.yaml_document import MAX_BYTES, MAX_DEPTH, read_document

WORDS = st.text(st.characters(categories=("L", "N"), include_characters=" :#-'\""), max_size=12)
TREES = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "some.yaml"
    path.write_bytes(content)
    return path


@settings(max_examples=60)
@given(tree=TREES)
def test_reads_back_what_was_written(tmp_path_factory: pytest.TempPathFactory, tree: object) -> None:
    content = yaml.safe_dump(tree, allow_unicode=True, default_style='"').encode()
    assert read_document(written(tmp_path_factory.mktemp("tree"), content), "E_X").value == tree


def test_knows_the_line_of_every_value_and_of_what_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path, b"# first\na:\n  - b: 1\n    c: 2\n  - d\n")
    document = read_document(path, "E_X")
    assert document.value == {"a": [{"b": "1", "c": "2"}, "d"]}
    assert document.place(("a", 0, "c")) == f"{path}:4: a.0.c"
    assert document.place(("a", 1)) == f"{path}:5: a.1"
    assert document.place(("a", 0, "missing")) == f"{path}:3: a.0.missing"
    assert document.place(()) == str(path)


def test_place_never_steers_a_terminal_nor_runs_on(tmp_path: Path) -> None:
    place = read_document(written(tmp_path, b"a: 1"), "E_X").place(("\x1b[2J\n" + "k" * 900,))
    assert place.isprintable()
    assert len(place) < len(str(tmp_path)) + 120


def test_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert read_document(written(tmp_path, b"\xef\xbb\xbfa: b\n"), "E_X").value == {"a": "b"}


def test_as_deep_as_allowed(tmp_path: Path) -> None:
    path = written(tmp_path, b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert str(read_document(path, "E_X").value) == "[" * MAX_DEPTH + "]" * MAX_DEPTH


REFUSED = {
    "flow bomb": (b"[" * 200_000, "nested deeper"),
    "block bomb": (b"- " * 200_000, "nested deeper"),
    "anchor": (b"a: &x b\n", r":1: anchors and aliases"),
    "alias bomb": (b"a: &a [x]\nb: [*a, *a]\n", r":1: anchors and aliases"),
    "python object": (b"ok: 1\na: !!python/object/apply:os.system [ls]\n", r":2: tags"),
    "key twice": (b"a: 1\nb: 2\na: 3\n", r":3: field 'a' stands twice"),
    "key is a list": (b"? [a]\n: b\n", r":1: a field's name must be a word"),
    "two documents": (b"a: 1\n---\nb: 2\n", r":2: not YAML"),
    "not closed": (b"a: [1, 2\n", r"not YAML"),
    "not UTF-8": (b"a: b\nc: \xff\xfe\n", r":2: not text in UTF-8"),
    "zero byte": (b"a: \x00\n", r"not YAML"),
    "lone surrogate": (b'a: "\\ud800"\n', r":1: not YAML"),
    "too large": (b"#" * (MAX_BYTES + 1), "larger than 4,000,000 bytes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(tmp_path: Path, case: str) -> None:
    content, expected = REFUSED[case]
    with pytest.raises(ConfigError, match=expected) as caught:
        read_document(written(tmp_path, content), "E_X")
    assert caught.value.code == "E_X"
    assert len(str(caught.value).splitlines()) == 1
