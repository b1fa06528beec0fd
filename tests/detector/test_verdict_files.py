"""Verdicts come back from JSONL, CSV and Parquet as they went in."""

import csv
import json
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outputs import finished

from dialint.detector import verdict_files
from dialint.detector.errors import OutputRefused
from dialint.detector.records import Finding, NotJudged, Verdict
from dialint.detector.verdict_files import FileFormat, escape_cell, read_verdicts, unescape_cell, verdict_line

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
starts = st.sampled_from(["", "=", "+", "-", "@", "\t", "\r", "\n", "'", "''", '"', ",", "＝"])
cells = st.builds(str.__add__, starts, texts)
shares = st.floats(0, 1)
findings = st.builds(
    Finding,
    code=st.sampled_from(["C1", "L2"]),
    turn=st.integers(0, 2**40),
    severity=st.sampled_from(["S1", "S4"]),
    fault=st.sampled_from(["agent", "knowledge base"]),
    probability=shares,
    quote=cells.filter(bool),
    start=st.integers(0, 50),
    end=st.integers(51, 99),
    reason=cells,
    rewrite=st.none() | cells,
)
gaps = st.builds(
    NotJudged,
    language=st.sampled_from(["de", "zh"]),
    turns=st.lists(st.integers(0, 9), max_size=2).map(tuple),
    codes=st.lists(st.sampled_from(["C1", "L2"]), max_size=2).map(tuple),
)
times = st.datetimes(timezones=st.none() | st.just(UTC))
probabilities = st.none() | st.dictionaries(
    st.integers(0, 5), st.dictionaries(st.sampled_from(["C1", "L2"]), shares, max_size=2), max_size=3
)


@st.composite
def verdict_lists(draw: st.DrawFn) -> list[Verdict]:
    verdicts = []
    for number in range(draw(st.integers(0, 4))):
        about = {"dialogue_id": f"{draw(cells)}{number}", "release": draw(cells), "taxonomy": "1.0.0"}
        about |= {name: draw(st.none() | cells) for name in ("agent", "team", "channel")}
        about |= {"started_at": draw(st.none() | times), "agent_turns": draw(st.none() | st.integers(0, 9))}
        status = draw(st.sampled_from(["failed", "not_judged", "scored"]))
        if status == "failed":
            verdicts.append(Verdict(**about, status="failed", failure=draw(cells)))
            continue
        judged = status == "scored"
        not_judged = tuple(draw(st.lists(gaps, min_size=not judged, max_size=2)))
        verdicts.append(
            Verdict(
                **about,
                status=status,
                quality=draw(st.floats(0, 100)) if judged and not not_judged else None,
                judged_share=draw(st.none() | shares) if judged else None,
                not_judged=not_judged,
                findings=tuple(draw(st.lists(findings, max_size=3))),
                suggestions=tuple(draw(st.lists(findings, max_size=2))),
                probabilities=draw(probabilities),
            )
        )
    return verdicts


@pytest.mark.parametrize("file_format", ["jsonl", "csv", "parquet"])
@settings(max_examples=20)
@given(verdicts=verdict_lists())
def test_round_trip(tmp_path: Path, file_format: FileFormat, verdicts: list[Verdict]) -> None:
    assert list(read_verdicts(finished(tmp_path, verdicts, file_format))) == verdicts


def test_round_trip_over_many_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_files, "ROW_GROUP_BYTES", 300)
    verdicts = [
        Verdict(dialogue_id=f"d{number}", release="r", taxonomy="1", status="scored", quality=1.0)
        for number in range(20)
    ]
    assert list(read_verdicts(finished(tmp_path, verdicts, "parquet"))) == verdicts


def test_line_has_the_promised_keys_in_the_promised_order() -> None:
    finding = Finding(
        code="C1", turn=5, severity="S2", probability=0.91, quote="Anything else?", start=0, end=14, reason="r",
    )  # fmt: skip
    verdict = Verdict(
        dialogue_id="d1", release="e", taxonomy="1.0.0", status="scored", quality=72.0, findings=(finding,)
    )
    record = json.loads(verdict_line(verdict))
    assert not {"policy", "overrides"} & verdict.model_dump(mode="json").keys(), "older hashes stay"
    assert record == verdict.model_dump(mode="json"), "the command line and Python give the same"
    assert list(record) == [
        "dialogue_id", "release", "taxonomy", "status", "quality", "findings", "suggestions",
    ]  # fmt: skip
    assert list(record["findings"][0]) == [
        *("code", "turn", "severity", "fault", "probability", "quote", "start", "end", "reason", "rewrite")
    ]
    failed = json.loads(
        verdict_line(Verdict(dialogue_id="d", release="e", taxonomy="1", status="failed", failure="E"))
    )
    assert failed == {
        "dialogue_id": "d", "release": "e", "taxonomy": "1", "status": "failed", "failure": "E",
        "quality": None, "findings": [], "suggestions": [],
    }  # fmt: skip


@given(cells | st.none())
def test_cells_are_escaped_reversibly(text: str | None) -> None:
    assert unescape_cell(escape_cell(text)) == text


def test_csv_has_a_row_for_each_finding_and_suggestion_and_one_for_a_clean_dialogue(tmp_path: Path) -> None:
    finding = Finding(
        code="C1", turn=0, severity="S2", probability=0.5, quote="q", start=0, end=1, reason="r"
    )
    about = {"release": "r", "taxonomy": "1", "status": "scored", "quality": 90.0}
    verdicts = [
        Verdict(dialogue_id="two", findings=(finding, finding), **about),
        Verdict(dialogue_id="both", findings=(finding,), suggestions=(finding,), **about),
        Verdict(dialogue_id="suggested", suggestions=(finding,), **about),
        Verdict(dialogue_id="clean", **about),
    ]
    with open(finished(tmp_path, verdicts, "csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["dialogue_id"], row["kind"], row["code"], row["probability"]) for row in rows] == [
        ("two", "finding", "C1", "0.5"), ("two", "finding", "C1", "0.5"), ("both", "finding", "C1", "0.5"),
        ("both", "suggestion", "C1", "0.5"), ("suggested", "suggestion", "C1", "0.5"), ("clean", "", "", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("file_format", ["jsonl", "csv", "parquet"])
def test_reading_trusts_the_manifest_alone(tmp_path: Path, file_format: FileFormat) -> None:
    verdict = Verdict(dialogue_id="d", release="r", taxonomy="1", status="scored", quality=1.0)
    out = finished(tmp_path, [verdict], file_format)
    whole = out.read_bytes()
    out.write_bytes(whole[:-1])
    with pytest.raises(OutputRefused, match="E_CHECKSUM"):
        read_verdicts(out)
    out.write_bytes(whole)
    verdict_files.manifest_path(out).unlink()
    with pytest.raises(OutputRefused, match="not complete"):
        read_verdicts(out)
