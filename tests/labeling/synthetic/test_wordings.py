"""The files of wordings: what is read from them, and what an editor of them is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.detector.errors import ConfigError
from dialint.labeling.synthetic.wordings import Wordings

GOOD = """
calm: [no, "1.0", 'Hm: (well|so)']
grammar:
  say: ["@b", "x"]
  b: []
pairs:
- wrong: "a"
  right: "b"
records:
- ask: "a"
  answers: ["b", "c"]
groups: [[a, b], [c]]
"""


def file(folder: Path, text: str) -> Wordings:
    (folder / "made.yaml").write_text(text)
    return Wordings("made", folder)


def test_tables_are_texts_in_the_order_of_the_file(tmp_path: Path) -> None:
    made = file(tmp_path, GOOD)
    assert made.texts("calm") == ("no", "1.0", "Hm: (well|so)")
    assert list(made.grammar("grammar").items()) == [("say", ("@b", "x")), ("b", ())]
    assert made.pairs("pairs") == (("a", "b"),)
    assert made.records("records", "answers", "ask") == ((("b", "c"), "a"),)
    assert made.groups("groups") == (("a", "b"), ("c",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("calm:\n- fine\n- Note: this\n", r"made.yaml:3: calm.1: expected a text; put it in quotes"),
        ("calm: fine\n", r"made.yaml:1: calm: expected a list"),
        ("angry: []\n", r"made.yaml: no table 'calm'"),
        ("", r"no table 'calm'"),
        ("calm: [a\n", r"made.yaml:\d: not YAML"),
        ("calm: &a [b]\n", r"anchors and aliases"),
    ],
)
def test_a_malformed_table_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        file(tmp_path, text).texts("calm")
    assert refused.value.code == "E_WORDINGS"
