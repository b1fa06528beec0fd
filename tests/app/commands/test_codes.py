from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dialint.app.commands import codes as codes_module
from dialint.app.commands.codes import CodesConfig, codes, covered_codes
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.taxonomy import PACKAGED, load_taxonomy

ROOT = Path(__file__).resolve().parents[3]


def shown(capsys: pytest.CaptureFixture[str], code: str | None = None, **options: object) -> str:
    codes(code, config=CodesConfig(**options))  # type: ignore[arg-type]
    return capsys.readouterr().out


def dialint(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dialint", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(autouse=True)
def no_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No embedded release, whatever the checkout holds; the path where a test may put one."""
    release = tmp_path / "release.json"
    monkeypatch.setattr(codes_module, "EMBEDDED", release)
    return release


def test_table_has_a_row_for_every_category_and_code(capsys: pytest.CaptureFixture[str]) -> None:
    taxonomy = load_taxonomy()
    firsts = [line.split()[0] for line in shown(capsys).splitlines() if line]
    expected = [
        name for each in taxonomy.categories for name in (each.code, *(code.code for code in each.codes))
    ]
    assert firsts == ["code", *expected, "Taxonomy"]


def test_table_row_says_severity_scope_and_needs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {line.split()[0]: line.split() for line in shown(capsys).splitlines() if line}
    assert rows["W2"][-4:] == ["S3", "(S2)", "turn", "timestamps"]
    assert rows["V2"][-2:] == ["S1", "span"]


def test_nothing_about_coverage_without_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cover" not in shown(capsys)
    assert "cover" not in shown(capsys, as_json=True)


def test_coverage_of_the_embedded_release(capsys: pytest.CaptureFixture[str], no_release: Path) -> None:
    no_release.write_text(json.dumps({"codes": {"L1": {}, "V2": {}, "gone": {}}}))
    rows = {line.split()[0]: line.split() for line in shown(capsys).splitlines() if line}
    assert [name for name, row in rows.items() if row[-1] == "yes"] == ["L1", "V2"]
    assert [row[-1] for name, row in rows.items() if name in load_taxonomy().codes].count("no") == len(
        load_taxonomy().codes
    ) - 2
    assert "2 covered by the embedded release" in shown(capsys)
    assert "by the embedded release" in shown(capsys, "L1")
    assert "not by this release" in shown(capsys, "L2")
    document = json.loads(shown(capsys, "L", as_json=True))
    assert [code["covered"] for code in document["categories"][0]["codes"]] == [True, False, False, False]


def test_release_for_another_taxonomy_covers_nothing(no_release: Path) -> None:
    no_release.write_text(json.dumps({"codes": {"L1": {}}, "taxonomy": "0.9.0"}))
    assert covered_codes(no_release, load_taxonomy()) == {}
    no_release.write_text(json.dumps({"codes": {"L1": {}}, "taxonomy": load_taxonomy().version}))
    assert covered_codes(no_release, load_taxonomy()) == {"L1": ()}


def test_languages_of_what_is_covered(capsys: pytest.CaptureFixture[str], no_release: Path) -> None:
    """M2 has an exact check alone; a scan from before there was the field is of English."""
    codes = {
        "L1": {"scan": {"slope": 1.0}},
        "T1": {"scan": {"languages": ["de", "en"]}},
        "M2": {"check": {}, "scan": None},
    }
    no_release.write_text(json.dumps({"codes": codes}))
    rows = {line.split()[0]: line.split() for line in shown(capsys).splitlines() if line}
    assert (rows["L1"][-1], rows["T1"][-2:], rows["M2"][-1]) == ("en", ["de", "en"], "yes")
    assert "3 covered by the embedded release in German and English" in shown(capsys)
    assert "German, English; in others only exact checks that cover them" in " ".join(
        shown(capsys, "T1").split()
    )
    (language,) = json.loads(shown(capsys, "L", as_json=True))["categories"]
    assert [code["languages"] for code in language["codes"]] == [["en"], [], [], []]


@pytest.mark.parametrize("content", ["", "[]", "{}", "7", '{"codes": 7}', "null"])
def test_damaged_release_is_refused(no_release: Path, content: str) -> None:
    no_release.write_text(content)
    with pytest.raises(ReleaseRefused, match="not a release's description"):
        covered_codes(no_release, load_taxonomy())


@pytest.mark.parametrize("name", load_taxonomy().codes)
def test_details_hold_every_field(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code = load_taxonomy().codes[name]
    flat = " ".join(shown(capsys, name).split())
    for text in (code.definition, code.test, code.example, code.counter_example, code.name.en):
        assert " ".join(text.split()) in flat
    assert f"scope {code.scope}" in flat
    assert f"usual fault {code.fault}" in flat


def test_category_shows_its_codes_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    titles = [line for line in shown(capsys, "c").splitlines() if line.endswith("[C Completeness]")]
    assert [title.split()[0] for title in titles] == ["C1", "C2", "C3"]


def test_names_follow_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Pregunta ignorada  [C Integridad]" in shown(capsys, "C1", language="es")
    assert "Орфография" in shown(capsys, language="ru")


def test_json_has_one_shape_and_can_be_given_back_as_a_taxonomy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one = json.loads(shown(capsys, "U5", as_json=True))
    assert [code["code"] for category in one["categories"] for code in category["codes"]] == ["U5"]
    again = tmp_path / "taxonomy.json"
    again.write_text(shown(capsys, as_json=True))
    assert load_taxonomy(again) == load_taxonomy()


def test_output_for_a_pipe_is_plain_and_not_too_wide(capsys: pytest.CaptureFixture[str]) -> None:
    output = shown(capsys, "P") + shown(capsys, language="ru")
    assert "\x1b" not in output
    assert max(map(len, output.splitlines())) <= 100
    assert not any(line.endswith(" ") for line in output.splitlines())


def test_own_taxonomy_with_brackets_and_other_letters(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    own = tmp_path / "own.yaml"
    text = PACKAGED.read_text(encoding="utf-8").replace("version: 1.0.0", "version: own-1")
    own.write_text(text.replace("{en: Spelling,", '{en: "[red]Typos[/red] :smile:",'))
    table = shown(capsys, taxonomy=own)
    assert "[red]Typos[/red] :smile:" in table
    assert "Taxonomy own-1" in table


def test_unknown_code_is_an_error_even_if_empty() -> None:
    for name in ("C9", "", "nonsense"):
        with pytest.raises(ConfigError, match="no code or category"):
            codes(name)


def test_command_line_answers_an_error_with_one_line_and_exit_2(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("version: 1.0.0\nseverities: []\ncategories:\n- code: AA\n")
    for arguments, expected in (
        (("codes", "C9"), "did you mean"),
        (("codes", "--taxonomy", str(broken)), f"{broken}:4: categories.0.code"),
        (("codes", "--taxonomy", str(tmp_path / "none.yaml")), "No such file"),
    ):
        done = dialint(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
        assert expected in done.stderr


def test_screen_that_cannot_show_the_letters_is_no_defect() -> None:
    done = dialint("codes", "L1", "--language", "ru", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("L1  \\u041e")
    assert json.loads(dialint("codes", "L1", "--json", PYTHONIOENCODING="ascii").stdout)["version"]
