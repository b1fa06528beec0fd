"""Crowd tables: three file forms, one meaning; a bad row is named by its line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from answer_tables import from_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from dialint.detector.errors import InputRefused
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.crowd_tables import read_answers, read_model_answers

ROWS = [("t2", "a", "yes"), ("t1", "b", "no"), ("t1", "a", "yes"), ("t3", "c", "maybe")]


def written(folder: Path, suffix: str, rows: list[tuple[str, ...]], names: tuple[str, ...]) -> Path:
    path = folder / f"table{suffix}"
    if suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    elif suffix == ".parquet":
        parquet.write_table(pa.table({name: [row[n] for row in rows] for n, name in enumerate(names)}), path)
    else:
        path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    return path


def as_rows(answers: Answers) -> set[tuple[str, str, str]]:
    return {
        (answers.tasks[t], answers.workers[w], answers.labels[x])
        for t, w, x in zip(answers.task, answers.worker, answers.label, strict=True)
    }


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_three_forms_hold_the_same_answers(tmp_path: Path, suffix: str) -> None:
    tables = read_answers(written(tmp_path, suffix, ROWS, ("task", "worker", "label")))
    assert list(tables) == [""]
    answers = tables[""]
    assert as_rows(answers) == set(ROWS)
    assert answers.labels == ("maybe", "no", "yes")
    assert answers.votes()[answers.tasks.index("t1")].tolist() == [0, 1, 1]
    assert dict(zip(answers.tasks, answers.n_labelers, strict=True)) == {"t1": 2, "t2": 1, "t3": 1}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_codes_are_problems_of_their_own_and_share_workers(tmp_path: Path, suffix: str) -> None:
    rows = [("t", "a", "yes", "C1"), ("t", "a", "no", "L1"), ("t", "b", "yes", "C1")]
    tables = read_answers(written(tmp_path, suffix, rows, ("task", "worker", "label", "code")))
    assert list(tables) == ["C1", "L1"]
    assert as_rows(tables["C1"]) == {("t", "a", "yes"), ("t", "b", "yes")}
    assert as_rows(tables["L1"]) == {("t", "a", "no")}
    assert tables["C1"].workers == tables["L1"].workers == ("a", "b")


@pytest.mark.parametrize("twin", ["a ", "\u00a0a", "\ta"])
def test_a_worker_with_a_blank_at_the_end_votes_once(tmp_path: Path, twin: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"task,worker,label\nt,a,yes\nt,{twin},yes\nt,b,no\n")
    with pytest.raises(InputRefused, match="line 3: this worker answered"):
        read_answers(path)


def test_the_second_answer_of_a_worker_is_refused_with_its_line_or_wins(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('task,worker,label\nt1,a,yes\n"t\n2",a,no\nt1,b,no\nt1,a,no\n')
    with pytest.raises(InputRefused, match=r"E_LABEL: .*t\.csv, line 6: this worker answered"):
        read_answers(path)
    assert as_rows(read_answers(path, last_wins=True)[""]) == {
        ("t1", "a", "no"),
        ("t1", "b", "no"),
        ("t\n2", "a", "no"),
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "task,worker,label\nt1,a,yes\nt1,,no\n", r"line 3: worker is missing"),
        ("t.csv", "task,worker,label\nt1,a,yes\nt1,b\n", r"line 3: 2 cells; expected 3"),
        ("t.csv", "task,worker\nt1,a\n", r"no column label"),
        ("t.csv", "task,worker,label,label\nt1,a,x,x\n", r"twice"),
        ("t.csv", "task,worker,label,seconds\nt1,a,x,soon\n", r"line 2: seconds is not a number"),
        ("t.csv", "task,worker,label\n" + "t" * 300 + ",a,x\n", r"line 2: task is .* over 256 bytes"),
        ("t.csv", "task,worker,label\n", r"E_NO_RECORDS"),
        ("t.csv", "", r"E_NO_RECORDS"),
        ("t.jsonl", '{"task": "t", "worker": "a", "label": "x"}\n\n[1]\n', r"E_TYPE: .*line 3"),
        ("t.jsonl", '{"task": "t", "worker": "a", "label": 1}\n{"task": "u", "worker": "a", "label": "1"}\n', r"line 2: label is not of the same"),
        ("t.jsonl", '{"task": "t", "worker": "a", "label": ["x"]}\n', r"line 1: label is not text"),
        ("t.jsonl", '{"task": "t", "worker": "a"}\n', r"E_NO_RECORDS"),
        ("t.csv", "task,worker,label\nt1,a,NA\nt1,b,\n", r"E_NO_RECORDS"),
        ("t.csv", "task;worker;label;seconds\nt1;a;yes;1.234,5\n", r"line 2: seconds is not a number"),
        ("t.parquet", "task", r"E_FORMAT"),
    ],
)  # fmt: skip
def test_a_bad_table_is_refused_with_the_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputRefused, match=message):
        read_answers(path)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("task,worker,label\nt,a,yes\nt,b,Yes\nt,c, yes \nu,a,No  way\n", {("t", "a", "yes"), ("t", "b", "yes"), ("t", "c", "yes"), ("u", "a", "No way")}),
        ("task,worker,label\nt,a,L2\nt,b,l2\nu,a,L2\n", {("t", "a", "L2"), ("t", "b", "L2"), ("u", "a", "L2")}),
        ("task,worker,label\nt,a,да\nt,b,nan\nt,c,\nt,d,NA\nt,e,N/A\nt,f,ДА\n", {("t", "a", "да"), ("t", "f", "да")}),
        ("\ufefftask;worker;label\nt;a;yes\nt;b;no\n", {("t", "a", "yes"), ("t", "b", "no")}),
        ("task\tworker\tlabel\nt\ta,b\tyes\n", {("t", "a,b", "yes")}),
        ("task,worker,label\nt,a,\nt,a,yes\n", {("t", "a", "yes")}),
        ("task,worker,label\nt,a,ja\u0308\nt ,b,j\xe4\n t,c,J\xc4\n", {("t", "a", "j\xe4"), ("t", "b", "j\xe4"), ("t", "c", "j\xe4")}),
    ],
)  # fmt: skip
def test_labels_as_people_and_spreadsheets_write_them(
    tmp_path: Path, text: str, rows: set[tuple[str, str, str]]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    assert as_rows(read_answers(path)[""]) == rows


def test_a_semicolon_file_has_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\ufefftask;worker;label;seconds\r\nt;a;yes;12,5\r\nt;b;no;\r\n", encoding="utf-8")
    answers = read_answers(path)[""]
    assert answers.seconds is not None
    assert answers.seconds.tolist() == pytest.approx([12.5, float("nan")], nan_ok=True)
    model = tmp_path / "m.csv"
    model.write_text("task;label;probability\nt;YES;0,75\n", encoding="utf-8")
    assert read_model_answers(model, {"": answers})[1][""].tolist() == [[0.25, 0.75]]


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5).filter(
    lambda name: name == name.strip()
)


@given(
    st.dictionaries(
        st.tuples(NAMES, NAMES), st.sampled_from(["x", "ÿ", "=1", "a,b", '"']), min_size=1, max_size=12
    )
)
@settings(max_examples=50)
def test_any_names_survive_jsonl(rows: dict[tuple[str, str], str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        expected = [(task, worker, label) for (task, worker), label in rows.items()]
        path = written(Path(folder), ".jsonl", expected, ("task", "worker", "label"))
        assert as_rows(read_answers(path)[""]) == set(expected)


def test_seconds_come_along(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,worker,task,seconds\nx,a,t1,2.5\nx,b,t1,\n")
    answers = read_answers(path)[""]
    assert answers.seconds is not None
    assert answers.seconds[0] == 2.5
    assert np.isnan(answers.seconds[1])


def test_what_labels_leave_to_one_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("task,label,probability\nt2,yes,0.7\nt9,yes,0.1\nt1,no,0.5\nt1,yes,0.5\n")
    answers = from_rows([(task, "a", "no") for task in ("t1", "t2", "t3")], labels=("no", "yes"))
    probabilities = read_model_answers(path, {"": answers})[1][""]
    assert probabilities[:2].tolist() == pytest.approx(np.array([[0.5, 0.5], [0.3, 0.7]]))
    assert np.isnan(probabilities[2]).all()


@pytest.mark.parametrize(
    "rows", ["t1,yes,1.5", "t1,yes,0.5\nt1,yes,0.5", "t1,yes,0.9\nt1,no,0.9", "t1,yes,nan"]
)
def test_a_models_file_that_is_no_distribution_is_refused(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"task,label,probability\n{rows}\n")
    with pytest.raises(InputRefused):
        read_model_answers(path, {"": from_rows([("t1", "a", "no")], labels=("no", "yes"))})


def test_a_model_may_name_a_label_that_nobody_has_given(tmp_path: Path) -> None:
    """A rare code with nothing but "no" so far: the model's file tells the other label."""
    answers = from_rows([("t1", "a", "no"), ("t2", "a", "no")])
    path = tmp_path / "m.csv"
    path.write_text("task,label,probability\nt1,yes,0.2\nt2,yes,0.9\nt2,maybe,0.1\n")
    tables, models = read_model_answers(path, {"": answers})
    wider, probabilities = tables[""], models[""]
    assert wider.labels == ("maybe", "no", "yes")
    assert [wider.labels[x] for x in wider.label] == ["no", "no"]
    assert probabilities[0] == pytest.approx([0.4, 0.4, 0.2])
    assert probabilities[1] == pytest.approx([0.1, 0.0, 0.9])
    assert answers.with_labels(["no"]) is answers
    path.write_text("task,label,probability,code\nt1,yes,0.2,C1\nt1,oh,0.2,C2\n")
    assert read_model_answers(path, {"C1": answers})[0]["C1"].labels == ("no", "yes")


def test_rounded_probabilities_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "model.csv"
    path.write_text("task,label,probability\nt1,a,0.333\nt1,b,0.333\nt1,c,0.333\n")
    answers = from_rows([("t1", "w", "a")], labels=("a", "b", "c"))
    assert read_model_answers(path, {"": answers})[1][""] == pytest.approx(1 / 3)
