"""The stage: from a table to labels, in all forms, with a manifest that vouches for them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dialint.app.cli import app as command_line
from dialint.app.commands.verify import verify_path
from dialint.detector.errors import ConfigError, DialintError, InputRefused, OutputRefused
from dialint.detector.verdict_files import manifest_path
from dialint.labeling.aggregation.aggregate import AggregateConfig, aggregate, run

TABLE = "task,worker,label\n=t1,a,yes\n=t1,b,yes\n=t1,c,no\nt2,a,no\nt2,b,no\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "crowd.csv"
    path.write_text(TABLE)
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of labels in any of the three forms."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".csv":
        return list(csv.DictReader(path.read_text().splitlines()))
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_three_forms_tell_the_same(table: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / "deep" / f"labels{suffix}"
    run(AggregateConfig(table, out, method="majority"))
    assert verify_path(out) == 1
    first, *rest = read_rows(out)
    if suffix == ".jsonl":
        assert first["probabilities"] == {"no": pytest.approx(1 / 3), "yes": pytest.approx(2 / 3)}
    else:
        assert float(first["probability:no"]) == pytest.approx(1 / 3)
    assert first["task"] == ("'=t1" if suffix == ".csv" else "=t1")
    assert first["label"] == "yes"
    assert float(first["probability"]) == pytest.approx(2 / 3)
    assert int(first["n_labelers"]) == 3
    assert len(rest) == 1


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_one_label_alone_gives_no_certainty(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "t.csv", tmp_path / f"labels{suffix}"
    table.write_text("task,worker,label,code\nt1,a,no,C1\nt1,b,No,C1\nt1,a,yes,C2\nt2,a,no,C2\n")
    aggregate(AggregateConfig(table, out))
    assert "code C1: every answer is 'no': without another label" in " ".join(capsys.readouterr().err.split())
    rows = read_rows(out)
    assert rows[0]["label"] == "no"
    assert rows[0]["probability"] in (None, "")
    assert rows[1]["probability"] not in (None, "")


def test_the_manifest_names_inputs_and_refuses_a_second_run(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    manifest = run(AggregateConfig(table, out))
    assert manifest["files"][0]["rows"] == 2
    chosen = manifest["assumptions"][""]
    assert chosen["weights"].keys() == chosen["uses"].keys()
    written = json.loads(manifest_path(out).read_text())["assumptions"][""]
    assert written == chosen
    assert manifest["inputs"][0]["name"] == "crowd.csv"
    assert (manifest["answers"], manifest["labelers"]) == (5, 3)
    before = out.read_bytes()
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run(AggregateConfig(table, out))
    assert out.read_bytes() == before


def test_a_bad_table_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "crowd.csv"
    path.write_text(TABLE + "t2,a,no\n")
    out = tmp_path / "labels.csv"
    with pytest.raises(InputRefused, match="line 7"):
        run(AggregateConfig(path, out))
    assert not out.exists()
    assert not manifest_path(out).exists()
    assert run(AggregateConfig(path, out, last_wins=True))["answers"] == 5


def test_a_models_opinion_breaks_a_tie(tmp_path: Path) -> None:
    rows = "".join(f"t{n},{who},{'yes' if n % 2 else 'no'}\n" for n in range(40) for who in "ab")
    (tmp_path / "crowd.csv").write_text(f"task,worker,label\n{rows}tie,a,yes\ntie,b,no\n")
    predicted = "".join(f"t{n},yes,{0.9 if n % 2 else 0.1}\n" for n in range(40))
    for value, expected in ((0.9, "yes"), (0.1, "no")):
        model, out = tmp_path / f"model{value}.csv", tmp_path / f"labels{value}.jsonl"
        model.write_text(f"task,label,probability\n{predicted}tie,yes,{value}\n")
        run(AggregateConfig(tmp_path / "crowd.csv", out, model=model))
        assert {row["task"]: row["label"] for row in read_rows(out)}["tie"] == expected


def test_gold_stands_and_says_what_people_are_like(tmp_path: Path) -> None:
    """Ann and ben contradict each other throughout; gold of some tasks says that ann is right, and names a
    label that nobody gave. A task that nobody answered is passed over."""
    rows = "".join(
        f"t{n},ann,{'yes' if n % 2 else 'no'}\nt{n},ben,{'no' if n % 2 else 'yes'}\n" for n in range(60)
    )
    (tmp_path / "crowd.csv").write_text(f"task,worker,label\n{rows}")
    gold_rows = "".join(f"t{n},{'yes' if n % 2 else 'no'}\n" for n in range(30))
    (tmp_path / "gold.csv").write_text(f"task,label\n{gold_rows}t58,perhaps\nother,yes\n")
    out = tmp_path / "labels.jsonl"
    manifest = run(AggregateConfig(tmp_path / "crowd.csv", out, gold=tmp_path / "gold.csv"))
    labels = read_rows(out)
    expected = ["perhaps" if n == 58 else "yes" if n % 2 else "no" for n in range(60)]
    assert [row["label"] for row in labels] == expected
    assert {row["probability"] for row in (*labels[:30], labels[58])} == {1.0}
    assert min(row["probability"] for row in labels[30:]) > 0.6
    assert [one["name"] for one in manifest["inputs"]] == ["crowd.csv", "gold.csv"]
    run(AggregateConfig(tmp_path / "crowd.csv", tmp_path / "without.jsonl"))
    assert max(row["probability"] for row in read_rows(tmp_path / "without.jsonl")) < 0.6


def test_gold_is_of_a_code(tmp_path: Path) -> None:
    path, gold, out = (tmp_path / name for name in ("crowd.csv", "gold.csv", "labels.jsonl"))
    path.write_text("task,worker,label,code\nt,a,yes,C1\nt,b,yes,C1\nt,a,yes,L1\nt,b,yes,L1\n")
    gold.write_text("task,label,code\nt,no,L1\n")
    run(AggregateConfig(path, out, gold=gold))
    rows = read_rows(out)
    assert [(row["code"], row["label"]) for row in rows] == [("C1", "yes"), ("L1", "no")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,label\n=t1,yes\n=t1,no\n", "line 3.*twice"),
        ("task,label\n=t1,\n", "label is missing"),
        ("task\n=t1\n", "label"),
    ],
)
def test_bad_gold_is_refused(table: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "gold.csv").write_text(text)
    with pytest.raises(InputRefused, match=message):
        run(AggregateConfig(table, tmp_path / "x.csv", gold=tmp_path / "gold.csv"))


def test_a_model_decides_what_nobody_answered(tmp_path: Path) -> None:
    rows = "".join(f"t{n},{who},{'yes' if n % 3 else 'no'}\n" for n in range(12) for who in "abc")
    (tmp_path / "crowd.csv").write_text(f"task,worker,label\n{rows}")
    (tmp_path / "model.csv").write_text(
        "task,label,probability\n" + "".join(f"t{n},yes,{0.9 if n % 3 else 0.2}\n" for n in range(11))
    )
    out = tmp_path / "labels.jsonl"
    run(AggregateConfig(tmp_path / "crowd.csv", out, model=tmp_path / "model.csv"))
    labels = [row["label"] for row in read_rows(out)]
    assert labels == ["yes" if n % 3 else "no" for n in range(12)]


def test_codes_have_rows_and_labels_of_their_own(tmp_path: Path) -> None:
    path, out = tmp_path / "crowd.csv", tmp_path / "labels.jsonl"
    path.write_text("task,worker,label,code\nt,a,yes,C1\nt,b,yes,C1\nu,b,no,C1\nt,a,high,L1\nu,a,low,L1\n")
    run(AggregateConfig(path, out, method="majority"))
    rows = read_rows(out)
    labels = [(row["code"], row["label"], row["n_labelers"]) for row in rows]
    assert labels == [("C1", "yes", 2), ("C1", "no", 1), ("L1", "high", 1), ("L1", "low", 1)]
    assert set(rows[2]["probabilities"]) == {"high", "low"}


def test_soft_labels_may_tell_answers_in_place_of_truth(table: Path, tmp_path: Path) -> None:
    truth = run(AggregateConfig(table, tmp_path / "a.jsonl"))["mean_probability"]
    answers = run(AggregateConfig(table, tmp_path / "b.jsonl", soft="answers"))["mean_probability"]
    assert answers < truth


@pytest.mark.parametrize("options", [{"out": Path("x.txt")}, {"gold": Path("g"), "method": "majority"}])
def test_options_that_cannot_be_are_refused(table: Path, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        AggregateConfig(**{"annotations": table, "out": Path("x.csv"), **options})  # type: ignore[arg-type]


def test_the_command_line_from_table_to_labels(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "labels.csv"
    options = ["--annotations", str(table), "--method", "dawid-skene", "--out"]
    command = ["label", "aggregate", *options, str(out)]
    assert not command_line(command, result_action="return_value")
    assert "2 labels from 5 answers of 3 people" in " ".join(capsys.readouterr().err.split())
    assert out.exists()
    table.write_text(TABLE + "t9,a\n")
    with pytest.raises(DialintError, match="line 7: 2 cells") as refused:
        command_line([*command[:-1], str(tmp_path / "y.csv")], result_action="return_value")
    assert refused.value.code == "E_CSV"
