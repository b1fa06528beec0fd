"""Files of examples by their ending: what labeling writes is what training reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.example_files import find_set, read_examples, require_set
from dialint.detector.records import Dialogue, Example, Label, Turn


def test_errors_are_the_labels_more_likely_than_not() -> None:
    labels = tuple(
        Label(dialogue_id="d", turn=0, code=code, probability=p, method="m")
        for code, p in {"C1": 0.51, "C2": 0.5, "C3": 1.0}.items()
    )
    dialogue = Dialogue(id="d", turns=(Turn(index=0, role="agent", text="a"),))
    example = Example(dialogue=dialogue, labels=labels, split="test")
    assert [label.code for label in example.errors] == ["C1", "C3"]


def test_a_set_is_found_in_either_form(tmp_path: Path) -> None:
    assert find_set(tmp_path, "dev") is None
    with pytest.raises(ConfigError, match="holds no set dev"):
        require_set(tmp_path, "dev")
    (tmp_path / "dev.parquet").touch()
    assert require_set(tmp_path, "dev") == tmp_path / "dev.parquet"


def test_a_bad_file_is_refused_by_its_line(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / "a.jsonl").write_text('{"dialogue": 1}\n')
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    parquet.write_table(pa.table({"labels": [[], []]}), tmp_path / "b.parquet")
    told = {
        "a.jsonl": "line 1", "a.parquet": "no readable|not a readable", "b.parquet": "row 1", "c.jsonl": "No such",
    }  # fmt: skip
    for name, words in told.items():
        with pytest.raises(InputRefused, match=words):
            list(read_examples(tmp_path / name))
