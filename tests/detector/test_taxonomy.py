from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from own_taxonomy import CODES, write_taxonomy

from dialint.detector.errors import ConfigError
from dialint.detector.records import Finding, Severity
from dialint.detector.taxonomy import (
    PACKAGED,
    Category,
    Code,
    SeverityLevel,
    Taxonomy,
    load_taxonomy,
    parse_taxonomy,
)

OWN = Path(__file__).with_name("small_taxonomy.yaml").read_text(encoding="utf-8")


def own_file(folder: Path, old: str = "", new: str = "") -> Path:
    """The small taxonomy with one passage changed; the passage must be there."""
    assert old in OWN
    path = folder / "own.yaml"
    path.write_text(OWN.replace(old, new, 1) if old else OWN, encoding="utf-8")
    return path


def finding(severity: Severity) -> Finding:
    return Finding(
        code="K1", turn=0, severity=severity, probability=0.9, quote="cold", start=0, end=4, reason="cold"
    )


def test_names_are_written_in_their_own_language() -> None:
    taxonomy = load_taxonomy()
    entries: list[Category | Code | SeverityLevel] = [*taxonomy.categories, *taxonomy.severities]
    for entry in (*entries, *taxonomy.codes.values()):
        assert re.fullmatch(r"[А-Яа-яЁё ,-]+", entry.name.ru), entry.code
        assert not re.search(r"[А-Яа-яЁё]", entry.name.en + entry.name.es), entry.code
        assert entry.name.en != entry.name.es, entry.code


def test_references_between_definitions_lead_to_codes_of_the_file() -> None:
    taxonomy = load_taxonomy()
    existing = {*taxonomy.codes, *(level.code for level in taxonomy.severities)}
    for code in taxonomy.codes.values():
        mentioned = set(re.findall(r"\b[A-Z][0-9]\b", code.definition)) - {code.code}
        assert mentioned <= existing, code.code
        graver = {name for name in mentioned if name in {"S1", "S2", "S3", "S4"}}
        assert graver <= set(code.severities), code.code


def test_penalties_fall_with_the_severity() -> None:
    levels = load_taxonomy().severities
    assert [level.code for level in levels] == ["S1", "S2", "S3", "S4"]
    assert [level.auto_fail for level in levels] == [True, False, False, False]
    penalties = [level.penalty for level in levels]
    assert penalties == sorted(set(penalties), reverse=True)


@pytest.mark.parametrize(
    ("severities", "quality"),
    [("", 100.0), ("S4", 100.0), ("S3", 90.0), ("S2 S3", 59.5), ("S2 S2 S2 S2", 0.0), ("S4 S1", 0.0)],
)
def test_quality_by_hand(tmp_path: Path, severities: str, quality: float) -> None:
    levels: list[Any] = severities.split()
    assert load_taxonomy(own_file(tmp_path)).quality(tuple(map(finding, levels)), None) == quality


def test_a_team_has_a_scorecard_of_its_own(tmp_path: Path) -> None:
    """A code comes before its severity, both before the usual penalty (S2 30.5); other teams have that."""
    added = "scorecards: {night: {S2: 5, S1: 40, K1: 60}, day: {S2: auto_fail}}\ncategories:"
    taxonomy = load_taxonomy(own_file(tmp_path, "categories:", added))
    errors = [("K1", "S2"), ("X9", "S2")]
    qualities = {team: taxonomy.quality_of(errors, team) for team in ("night", "day", None)}
    assert qualities == {"night": 35.0, "day": 0.0, None: taxonomy.quality_of(errors, "other")}
    assert taxonomy.quality_of([("X9", "S1")], "night") == 60.0
    with pytest.raises(ConfigError, match="night: K9 is neither"):
        parse_taxonomy(OWN.replace("categories:", added.replace("K1", "K9")))


def test_another_file_brings_its_own_codes(tmp_path: Path) -> None:
    taxonomy = load_taxonomy(own_file(tmp_path))
    assert (taxonomy.version, list(taxonomy.codes)) == ("shop-3", ["K1"])
    assert taxonomy.codes["K1"].name.ru == "Холодная чашка"
    assert (taxonomy.codes["K1"].fault, taxonomy.codes["K1"].needs) == ("agent", ())


def test_words_that_yaml_takes_for_values_stay_words(tmp_path: Path) -> None:
    taxonomy = load_taxonomy(own_file(tmp_path, "{en: Cold cup, es: Taza fría", "{en: No, es: 1.10"))
    assert (taxonomy.codes["K1"].name.en, taxonomy.codes["K1"].name.es) == ("No", "1.10")


BROKEN = {
    "unknown severity": ("    severity: S2\n", "    severity: S9\n", r":17: .*codes\.0\.severity.*'S1'.*, found 'S9'$"),
    "missing field": ("    test: Was it cold?\n", "", r":11: .*codes\.0\.test: this field is missing"),
    "unknown field": (
        "    scope: turn",
        "    scpe: turn",
        r":19: .*codes\.0\.scpe: there is no such field, found 'turn' \(and 1 more\)$",
    ),
    "blank text": ("It was cold.", "''", r":13: .*definition: must not be blank"),
    "steers the terminal": ("It was cold.", '"\\e[2J"', r":13: .*definition: must not hold control characters"),
    "no list": ("[S2, S3]", "S2", r":18: .*severities: should be a list, found 'S2'"),
    "empty list": ("[S2, S3]", "[]", r":18: .*severities: the list must not be empty"),
    "usual not allowed": ("[S2, S3]", "[S3]", r"K1: its usual severity is not among"),
    "penalty not a number": ("30.5", "much", r":4: severities\.1\.penalty: .*number.*'much'"),
    "penalty infinite": ("30.5", ".inf", r":4: severities\.1\.penalty"),
    "penalty negative": ("30.5", "-1", r":4: severities\.1\.penalty: .*greater than or equal to 0"),
    "level missing": ("code: S4", "code: S3", r"each of S1, S2, S3, S4 must stand there once"),
    "other category's code": ("code: K1", "code: L1", r"L1 does not belong to category K"),
    "code in small letters": ("code: K1", "code: k1", r":11: .*code: .*'k1'"),
    "version with a blank": ("shop-3", "shop 3", r":1: version: .*'shop 3'"),
    "no mapping": (OWN, "- a\n- b\n", r"should be a mapping of fields"),
    "no codes": (OWN[OWN.index("  codes:\n") :], "  codes: []\n", r":10: categories\.0\.codes: the list must not be empty$"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_file_gives_one_line_that_says_where(tmp_path: Path, case: str) -> None:
    old, new, expected = BROKEN[case]
    path = own_file(tmp_path, old, new)
    with pytest.raises(ConfigError) as caught:
        load_taxonomy(path)
    message = str(caught.value)
    assert message.startswith(f"E_TAXONOMY: {path}")
    assert re.search(expected, message), message
    assert "\n" not in message
    assert caught.value.exit_code == 2


def test_code_or_category_that_stands_twice(tmp_path: Path) -> None:
    block = OWN[OWN.index("- code: K\n") :]
    for old, name in ((block, "category K"), (block[block.index("  - code: K1") :], "code K1")):
        with pytest.raises(ConfigError, match=f"{name} stands twice"):
            load_taxonomy(own_file(tmp_path, old, old + old))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file"):
        load_taxonomy(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_taxonomy(tmp_path)


@settings(max_examples=80)
@given(cut=st.integers(0, len(OWN)), length=st.integers(0, 60), put=st.text(max_size=6))
def test_any_damage_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int, length: int, put: str
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "own.yaml"
    path.write_bytes((OWN[:cut] + put + OWN[cut + length :]).encode("utf-8", "surrogatepass"))
    line = ""
    try:
        taxonomy = load_taxonomy(path)
    except ConfigError as error:
        line = str(error)
    if line:
        assert line.startswith("E_TAXONOMY: ")
        assert len(line.splitlines()) == 1
    else:
        assert isinstance(taxonomy, Taxonomy)
        assert taxonomy.codes


def test_a_code_or_its_category_is_selected_in_any_case() -> None:
    taxonomy = load_taxonomy()
    assert [code.code for code in taxonomy.select("u2")] == ["U2"]
    assert [code.code for code in taxonomy.select(" v ")] == ["V1", "V2", "V3"]
    assert taxonomy.select_codes(["u2, v", "V1"]) == ("U2", "V1", "V2", "V3")
    assert taxonomy.select_codes([]) == ()


@pytest.mark.parametrize(
    ("name", "near"), [("C9", "C3"), ("speling", "L1"), ("орфографя", "L1"), ("empatía", "T2"), ("C11", "C1")]
)
def test_unknown_code_names_its_neighbours(name: str, near: str) -> None:
    with pytest.raises(ConfigError, match=rf"did you mean .*{near} \(") as caught:
        load_taxonomy().select(name)
    assert caught.value.code == "E_CODE"


@pytest.mark.parametrize("name", ["", "zzzzzz", "q" * 5000, "\x1b[2J"])
def test_unlike_anything_is_refused_without_a_guess(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_taxonomy().select(name)
    assert "did you mean" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


def test_file_says_the_same_to_other_yaml_readers() -> None:
    raw = yaml.safe_load(PACKAGED.read_text(encoding="utf-8"))
    assert Taxonomy.model_validate(raw, strict=False) == load_taxonomy()


def test_codes_of_an_exclusive_category_are_rivals(tmp_path: Path) -> None:
    taxonomy = load_taxonomy(write_taxonomy(tmp_path))
    assert taxonomy.rivals("K2") == CODES
    assert taxonomy.rivals("Z9") == ()
    assert load_taxonomy().rivals("T1") == ()


def test_of_a_dialogue_no_code_excludes_another(tmp_path: Path) -> None:
    path = own_file(tmp_path, "scope: turn", "scope: dialogue")
    assert load_taxonomy(path).codes["K1"].scope == "dialogue"
    path.write_text(path.read_text().replace("  codes:", "  exclusive: true\n  codes:", 1))
    load_taxonomy.cache_clear()
    with pytest.raises(ConfigError, match="exclusive codes are of turns"):
        load_taxonomy(path)
