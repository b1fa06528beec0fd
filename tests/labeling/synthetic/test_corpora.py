"""Near-copies share a group, and so a split, wherever they lie; the limit changes nobody's split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialint.labeling.synthetic.corpora import CORPORA, read_all

TALK = (
    "I want to see the old harbour with my two daughters and our dog on Saturday morning.",
    "The harbour opens at nine, dogs stay on the lead, and the girls go free before noon.",
    "Lovely, then please add the boat trip around the island with a meal for three people.",
    "The boat leaves from pier four at a quarter past ten and soup is served on the way back.",
)


def row(name: str, *texts: str) -> dict[str, Any]:
    turns = [
        {"turn_id": n, "role": "agent" if n % 2 else "customer", "text": text, "action": None}
        for n, text in enumerate(texts)
    ]
    won = [{"turn_id": -1, "annotator": "env", "category": "task_reward", "value": "1.0", "note": None}]
    return {"dialogue_id": name, "split": "Complete", "turns": turns, "labels": won, "meta": "{}"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    rows = {corpus.name: [row("plain", f"Nothing but {corpus.name} here.", "Right.")] for corpus in CORPORA}
    rows["star"] += [row("a", *TALK)]
    rows["multiwoz_en"] += [
        row("b", "Good day to you.", "Hello, what is it?", *TALK),
        row("c", *TALK[::-1], "Bye."),
    ]
    rows["taskmaster4"] += [row("other", "One flat white, large, to go.", "That will be ready at eight.")]
    rows["tau_bench"] = [
        row("tool-x_01-retail#7#0", "Where is it?", "On its way."),
        row("react-y_0129_retail#7#0", "Lost?", "No."),
    ]
    for corpus in CORPORA:
        (tmp_path / corpus.file).parent.mkdir(exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows[corpus.name]), tmp_path / corpus.file)
    return tmp_path


def test_near_copies_in_two_corpora_share_a_group_and_others_do_not(data: Path) -> None:
    groups = {clean.draft.id: clean.group for cleans in read_all(data).values() for clean in cleans}
    assert groups["star:a"] == groups["multiwoz_en:b"] == groups["multiwoz_en:c"]
    assert len(set(groups.values())) == len(groups) - 3  # and the two agents at one task
    assert groups["tau_bench:tool-x_01-retail#7#0"] == groups["tau_bench:react-y_0129_retail#7#0"]


def test_the_limit_changes_no_group(data: Path) -> None:
    every = {clean.draft.id: clean.group for cleans in read_all(data).values() for clean in cleans}
    limited = {clean.draft.id: clean.group for cleans in read_all(data, limit=2).values() for clean in cleans}
    assert set(limited) == set(every) - {"multiwoz_en:c"}
    assert all(every[name] == group for name, group in limited.items())
