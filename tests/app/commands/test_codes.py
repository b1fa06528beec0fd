from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialint.app.commands import codes as codes_module
from dialint.app.commands.codes import codes, load_coverage
from dialint.detector.errors import ReleaseRefused
from dialint.detector.taxonomy import load_taxonomy


def run_codes(capsys: pytest.CaptureFixture[str], code: str | None = None, **options: object) -> str:
    codes(code, **options)  # type: ignore[arg-type]
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def no_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No embedded release, whatever the checkout holds; the path where a test may put one. Nothing says how
    wide the output is."""
    release = tmp_path / "release.json"
    monkeypatch.setattr(codes_module, "EMBEDDED", tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of xdist have one
    return release


def test_table_has_a_row_for_every_category_and_code(capsys: pytest.CaptureFixture[str]) -> None:
    taxonomy = load_taxonomy()
    firsts = [line.split()[0] for line in run_codes(capsys).splitlines() if line]
    expected = [
        name for each in taxonomy.categories for name in (each.code, *(code.code for code in each.codes))
    ]
    assert firsts[: len(expected) + 2] == ["code", *expected, "Taxonomy"]


SCAN = {
    "slope": 1.0,
    "offset": 0.0,
    "contract": {
        "threshold": 0.5, "false_accusations_per_100": 0.15, "confidence": 0.9, "recall": 0.2, "n_errors": 40,
        "n_clean": 4000,
    },
}  # fmt: skip
CHECK = {"name": "misspelt_word", "precision": 0.95}
POLICY = {"name": "policy", "precision": 0.75, "report": "suggestion"}


def test_coverage_of_the_embedded_release(capsys: pytest.CaptureFixture[str], no_release: Path) -> None:
    codes = {
        "L1": {"scan": SCAN, "checks": [CHECK]},
        "C1": {"scan": SCAN},
        "C2": {"scan": {**SCAN, "contract": None}},
        "I2": {"checks": [CHECK]},
        "P3": {"checks": [CHECK, POLICY]},
        "P4": {"checks": [POLICY]},
        "gone": {"checks": [CHECK]},
    }
    no_release.write_text(json.dumps({"codes": codes}))
    table, _, closing = run_codes(capsys).partition("\nTaxonomy ")
    ends = ("scan, check", "check, policy", "policy", "scan", "check", "needs a judge")
    covered = {
        line.split()[0]: next(end for end in ends if line.endswith(f"  {end}"))
        for line in table.splitlines()
        if line.split() and line.split()[0] in load_taxonomy().codes
    }
    assert len(covered) == len(load_taxonomy().codes)
    assert {code: means for code, means in covered.items() if means != "needs a judge"} == {
        "L1": "scan, check", "C1": "scan", "I2": "check", "P3": "check, policy", "P4": "policy",
    }  # fmt: skip
    assert "5 covered by the embedded release in English" in closing
    lines = closing.splitlines()
    first = lines.index("covered (scan): L1 C1")
    assert lines[first + 1 : first + 3] == ["covered (check): L1 I2 P3", "covered (policy): P3 P4"]
    judged = " ".join(lines[first + 3 :]).removeprefix("needs a judge: ").split()
    assert judged == [code for code in load_taxonomy().codes if code not in codes or code == "C2"]


def test_details_name_scan_and_checks_with_their_precision(
    capsys: pytest.CaptureFixture[str], no_release: Path
) -> None:
    codes: dict[str, Any] = {"L1": {"scan": SCAN, "checks": [CHECK]}, "P4": {"checks": [POLICY]}}
    codes["I2"] = {"checks": [{**CHECK, "is_measured": False}]}
    no_release.write_text(json.dumps({"codes": {**codes, "T1": {"scan": {**SCAN, "contract": None}}}}))
    spelling = " ".join(run_codes(capsys, "L1").split())
    assert "coverage covered (scan), covered (check), by the embedded release" in spelling
    assert "the model, findings from probability 0.50" in spelling
    assert "check 'misspelt_word', right in 95 % of its hits, findings" in spelling
    real = {"threshold": 0.7, "flagged": 40, "right": 31, "n_errors": 90, "n_turns": 3000}
    codes["L1"]["scan"] = {**SCAN, "natural": real}
    no_release.write_text(json.dumps({"codes": {**codes, "T1": {"scan": {**SCAN, "contract": None}}}}))
    spelling = " ".join(run_codes(capsys, "L1").split())
    assert "findings from probability 0.70; on real dialogues 31 of 40 were right there" in spelling
    policy = " ".join(run_codes(capsys, "P4").split())
    assert "'misspelt_word', not measured, findings" in run_codes(capsys, "I2")
    assert "policy 'policy', right in 75 % of its hits, suggestions; needs dialint score --policy" in policy
    assert "needs a judge: probabilities only" in " ".join(run_codes(capsys, "T1").split())
    assert "needs a judge: not covered by the embedded release" in run_codes(capsys, "L2")
    (language,) = json.loads(run_codes(capsys, "L", as_json=True))["categories"]
    first, second, *_ = language["codes"]
    assert (first["covered"], first["covered_by"]) == (True, ["scan", "check"])
    assert first["checks"] == [{**CHECK, "report": "finding"}]
    assert (second["covered"], second["covered_by"], second["checks"]) == (False, [], [])


def test_release_for_another_taxonomy_covers_nothing(no_release: Path) -> None:
    codes = {"L1": {"checks": [CHECK]}}
    no_release.write_text(json.dumps({"codes": codes, "taxonomy": "0.9.0"}))
    assert load_coverage(no_release.parent, load_taxonomy()) == {}
    no_release.write_text(json.dumps({"codes": codes, "taxonomy": load_taxonomy().version}))
    assert list(load_coverage(no_release.parent, load_taxonomy()) or ()) == ["L1"]


@pytest.mark.parametrize("content", ["", "[]", "{}", "7", '{"codes": 7}', "null"])
def test_damaged_release_is_refused(no_release: Path, content: str) -> None:
    no_release.write_text(content)
    with pytest.raises(ReleaseRefused, match="not a release's description"):
        load_coverage(no_release.parent, load_taxonomy())


def test_details_hold_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    code = load_taxonomy().codes["C1"]
    flat = " ".join(run_codes(capsys, "C1").split())
    for text in (code.definition, code.test, code.example, code.counter_example, code.name.en):
        assert " ".join(text.split()) in flat
    assert f"scope {code.scope}" in flat
    assert f"usual fault {code.fault}" in flat


def test_names_follow_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Pregunta ignorada  [C Integridad]" in run_codes(capsys, "C1", language="es")
    assert "Орфография" in run_codes(capsys, language="ru")


def test_json_has_one_shape(capsys: pytest.CaptureFixture[str]) -> None:
    one, every = (json.loads(run_codes(capsys, code, as_json=True)) for code in ("U5", None))
    assert [code["code"] for category in one["categories"] for code in category["codes"]] == ["U5"]
    assert one.keys() == every.keys()
    assert one["categories"][0]["codes"][0] in [each for c in every["categories"] for each in c["codes"]]


def test_output_for_a_pipe_is_plain_and_not_too_wide(capsys: pytest.CaptureFixture[str]) -> None:
    output = run_codes(capsys, "P") + run_codes(capsys, language="ru")
    assert "\x1b" not in output
    assert max(map(len, output.splitlines())) <= 100
    assert not any(line.endswith(" ") for line in output.splitlines())
