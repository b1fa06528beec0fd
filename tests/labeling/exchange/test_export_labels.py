"""The export stage: masked tasks for labelers, a model's findings only where asked, answers for others."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dialint.detector.artifacts import file_entry, read_manifest, verify_files, write_manifest
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.verdict_files import manifest_path
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange.export_labels import ExportConfig, run
from dialint.labeling.exchange.import_labels import ImportConfig
from dialint.labeling.exchange.import_labels import run as run_import

EMAIL = "ann.smith@example.org"
TEXTS = ["Where is it?", f"=We wrote to {EMAIL}, teh parcel is lost 😀", "When?", "Soon."]
START = TEXTS[1].index("teh")
TURNS = [{"role": ("customer", "agent")[n % 2], "text": text} for n, text in enumerate(TEXTS)]
FINDING = {"code": "L1", "turn": 1, "start": START, "end": START + 3, "severity": "S3", "probability": 0.8, "quote": "teh", "reason": f"spelling, see {EMAIL}"}  # fmt: skip
SHAPES = {"label-studio": "json", "toloka": "tsv", "prodigy": "jsonl", "doccano": "jsonl", "argilla": "jsonl", "crowd": "csv"}  # fmt: skip


def house(folder: Path, **over: Any) -> ExportConfig:
    record = {"dialogue_id": "d", "turns": TURNS, "masked": over.pop("claimed", False)}
    (folder / "log.jsonl").write_text(json.dumps(record) + "\n")
    head = {"dialogue_id": "d", "release": "r1", "taxonomy": "1.0.0", "status": "scored", "quality": 90.0}
    verdicts = folder / "verdicts.jsonl"
    verdicts.write_text(json.dumps({**head, "findings": [FINDING]}) + "\n")
    manifest = {"kind": "verdicts", "format": "jsonl", "files": [file_entry(verdicts, 1)]}
    write_manifest(folder / "verdicts.manifest.json", manifest)
    row = {"id": "a", "dialogue_id": "d", "labeler": "w", "kind": "crowd", "codes": ["L1", "R1"]}
    (folder / "annotations.jsonl").write_text(json.dumps({**row, "findings": [FINDING]}) + "\n")
    options: dict[str, Any] = {"dialogues": (str(folder / "log.jsonl"),), "out": folder / "out", "format": "crowd", "codes": ("L1", "R1")}  # fmt: skip
    return ExportConfig(**{**options, **over})


@pytest.mark.parametrize(("name", "ending"), SHAPES.items())
def test_personal_data_leave_in_no_shape_and_the_blind_see_no_verdict(
    tmp_path: Path, name: str, ending: str
) -> None:
    """Whatever the log says about its masking."""
    claimed = name in ("crowd", "doccano")
    out = tmp_path / f"tasks.{ending}"
    manifest = run(house(tmp_path, out=out, format=name, claimed=claimed))
    text = out.read_text()
    assert EMAIL not in text
    assert "spelling" not in text
    assert "0.8" not in text
    verify_files(tmp_path, read_manifest(manifest_path(out))["files"])
    # L1 of both agent turns and R1 once: three questions, two turns, one dialogue
    expected = {"toloka": 3, "crowd": 3, "label-studio": 1}.get(name, 2)
    assert manifest["files"][0]["rows"] == expected
    with pytest.raises(OutputRefused):
        run(house(tmp_path, out=out, format=name))


def test_label_studio_gets_predictions_and_their_interface(tmp_path: Path) -> None:
    out = tmp_path / "tasks.json"
    run(house(tmp_path, out=out, format="label-studio", verdicts=tmp_path / "verdicts.jsonl"))
    (task,) = json.loads(out.read_text())
    (prediction,) = task["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("r1", 0.8)
    value = prediction["result"][0]["value"]
    view = task["data"]["dialogue"][1]["text"]
    assert view[value["startOffset"] : value["endOffset"]] == "teh"
    assert EMAIL not in out.read_text()
    (reason,) = [r["value"]["text"] for r in prediction["result"] if r["type"] == "textarea"]
    assert reason == ["spelling, see [EMAIL_1]"]
    root = ElementTree.parse(tmp_path / "tasks.xml").getroot()
    assert [label.get("value") for label in root.iter("Label")] == ["L1", "R1"]
    (tags,) = {(r["from_name"], r["to_name"]) for r in prediction["result"] if r["type"] == "paragraphlabels"}
    assert tags == (root.find("ParagraphLabels").get("name"), root.find("Paragraphs").get("name"))  # type: ignore[union-attr]


def test_no_cell_is_a_formula_and_every_quote_is_doubled(tmp_path: Path) -> None:
    out = tmp_path / "tasks.tsv"
    run(house(tmp_path, out=out, format="toloka"))
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [(row["INPUT:turn"], row["INPUT:code"]) for row in rows] == [("1", "L1"), ("3", "L1"), ("3", "R1")]
    assert rows[0]["INPUT:reply"].startswith("'=We wrote to [EMAIL_1]")


def test_answers_go_out_and_come_in_by_the_stages(tmp_path: Path) -> None:
    annotations = (str(tmp_path / "annotations.jsonl"),)
    config = house(tmp_path, out=tmp_path / "out.jsonl", format="doccano", annotations=annotations)
    run(config)
    back = ImportConfig(labels=(str(config.out),), dialogues=config.dialogues, out=tmp_path / "back.jsonl")
    assert run_import(back)["counts"]["rejected"] == 0
    lines = (tmp_path / "back.jsonl").read_text().splitlines()
    imported = [Annotation.model_validate_json(line) for line in lines]
    findings = [finding for annotation in imported for finding in annotation.findings]
    (only,) = findings
    assert (only.code, only.turn, only.start, only.end, only.quote) == ("L1", 1, START, START + 3, "teh")
    requested = {(annotation.turn, code) for annotation in imported for code in annotation.codes}
    assert requested == {(1, "L1"), (3, "L1"), (3, "R1")}


def test_wrong_inputs_are_refused(tmp_path: Path) -> None:
    bad = {"id": "a", "dialogue_id": "gone", "labeler": "w", "kind": "crowd", "codes": ["L1"]}
    config = house(tmp_path, annotations=(str(tmp_path / "annotations.jsonl"),))
    (tmp_path / "annotations.jsonl").write_text(json.dumps(bad) + "\n")
    with pytest.raises(InputRefused, match="line 1"):
        run(config)
    assert not config.out.exists()
    for over in ({"format": "excel"}, {"format": "dialint"}, {"codes": ()}):
        with pytest.raises(ConfigError):
            house(tmp_path, **over)
