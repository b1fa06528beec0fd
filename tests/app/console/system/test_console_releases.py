"""The Releases page: reports, comparison, thresholds, spot checks, promotion and rollback."""

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import yaml
from console_records import make_finding, make_verdict

from dialint.app.console.system import release_registry
from dialint.app.console.system.release_registry import promote, roll_back
from dialint.app.console.system.spot_checks import list_spot_checks
from dialint.app.console.system.threshold import apply_threshold
from dialint.detector.artifacts import write_manifest
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.overrides import Judged, NaturalPrecision, ReadTurns, read_overrides, update_overrides
from dialint.detector.registry import Gate, Registry, verify_folder
from dialint.detector.release import EMBEDDED
from dialint.eval.judgements import read_sheet
from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NotAllowed
from dialint.labeling.store.release_verdicts import CodeTurns, ScannedTurn, list_changes

REASON = "fewer false accusations"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without releases."""
    path = tmp_path / "home"
    monkeypatch.setenv("DIALINT_HOME", str(path))
    return path


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the operator opened, with one release in it and one that is damaged."""
    root = tmp_path / "opened"
    shutil.copytree(EMBEDDED, root / "good", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(EMBEDDED, root / "bad", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "bad" / "config.json").write_text("{}")
    monkeypatch.setenv(release_registry.RELEASES_VARIABLE, str(root))
    return root


def test_a_release_is_promoted_and_taken_back_with_reasons(store: Store, opened: Path) -> None:
    assert release_registry.list_candidates() == ["bad", "good"]
    with pytest.raises(NotAllowed):
        promote(store, "rob", "good", REASON)
    assert Registry("scan").current() is None
    promote(store, "lea", "good", REASON)
    first = Registry("scan").current()
    assert first is not None
    assert first.id.startswith("embedded-")
    with pytest.raises(DialintError, match="E_CHECKSUM"):
        promote(store, "lea", "bad", REASON)
    with pytest.raises(ConfigError, match="no such release"):
        promote(store, "lea", "../opened/good", REASON)
    assert Registry("scan").current() == first
    with pytest.raises(ConfigError, match="no scan before"):
        roll_back(store, "lea", "scan", REASON)
    changes = [(each.action, each.account, each.release) for each in list_changes(store, "lea")]
    assert changes == [
        ("refused", "lea", "scan/-"), ("rollback", "lea", "scan/-"),
        ("refused", "lea", "../opened/good"), ("promote", "lea", "../opened/good"),
        ("refused", "lea", "bad"), ("promote", "lea", "bad"), ("promote", "lea", "good"),
    ]  # fmt: skip
    (embedded, promoted), problems = release_registry.list_releases()
    assert (embedded.in_use, promoted.in_use, promoted.name, problems) == (False, True, first.id, [])


def test_a_roll_out_is_taken_back_and_only_it_is_promoted(store: Store, opened: Path) -> None:
    """Before: the audit log and the form named another release than the one that was taken back, and what had once
    passed the gates and was taken back could be promoted."""
    promote(store, "lea", "good", REASON)
    registry = Registry("scan")
    first = registry.current()
    assert first is not None
    other = verify_folder(tiny.write_release(opened / "other"))
    registry.promote(other, share=5, gates=(Gate(name="x", passed=True, detail=""),))
    assert release_registry._rollback_steps("scan") == (other.id, first.id)
    roll_back(store, "lea", "scan", REASON)
    assert list_changes(store, "lea")[0].release == f"scan/{first.id}"
    assert registry.rollout() is None
    line = registry.history()[-1]
    assert (line.before, line.id) == (other.id, first.id)
    with pytest.raises(ConfigError, match="no gates"):
        promote(store, "lea", f"scan/{other.id}", REASON)
    registry.promote(other, share=5, gates=(Gate(name="x", passed=True, detail=""),))
    promote(store, "lea", f"scan/{other.id}", REASON)
    assert registry.history()[-1].gates[0].name == "x"


def test_the_page_shows_reports_and_promotes_after_a_reason(
    open_page: Callable[..., Any], store: Store, opened: Path
) -> None:
    page = open_page("lea", at="Releases")
    assert page.test.metric[0].label == "Codes covered"
    cells = [
        str(cell).replace("\\", "") for table in page.test.table for cell in table.value.to_numpy().flatten()
    ]
    assert any(cell.startswith("100% (34%–100%)") for cell in cells), "what two of two can say"
    assert not [cell for cell in cells if "100%–100%" in cell or "0%–0%" in cell]
    page.test.segmented_control[0].set_value("change")
    page.run()
    page.press("Promote")
    assert "Say why" in page.words
    page.test.text_input(key="promote reason").set_value(REASON)
    page.press("Promote")
    assert "Tick the box" in page.words
    page.test.selectbox(key="promote release").set_value("good")
    page.test.text_input(key="promote reason").set_value(REASON)
    page.test.checkbox[0].check()
    page.press("Promote")
    assert "is current now" in page.words, page.words
    assert Registry("scan").current() is not None
    assert list_changes(store, "lea")[0].reason == REASON
    # Nothing is left in the form that a second click would promote again.
    assert page.test.text_input(key="promote reason").value == ""
    assert not page.test.checkbox(key="promote sure").value
    page.press("Promote")
    assert "Say why" in page.words
    assert len(list_changes(store, "lea")) == 1


def test_a_roll_back_goes_back_from_what_was_shown(
    open_page: Callable[..., Any], store: Store, opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: of two clicks, or two leads, the second went back by one release more than either had seen."""
    pointer = SimpleNamespace(id="third", earlier=["first", "second"])
    done: list[str] = []

    def rollback(registry: Registry, **_: object) -> SimpleNamespace:
        pointer.id, pointer.earlier = pointer.earlier[-1], pointer.earlier[:-1]
        done.append(pointer.id)
        return pointer

    monkeypatch.setattr(Registry, "current", lambda self: pointer if self.kind == "scan" else None)
    monkeypatch.setattr(Registry, "rollback", rollback)
    pages = [view(open_page, "change") for _ in range(2)]
    for page in pages:
        page.test.text_input(key="rollback reason").set_value(REASON)
        page.test.checkbox(key="rollback sure").check()
    for page in pages:
        page.press("Roll back")
    assert done == ["second"]
    assert "second → first" in str(pages[1].test.selectbox(key="rollback kind").options)


def view(open_page: Callable[..., Any], name: str) -> Any:
    """The page at one of its views."""
    page = open_page("lea", at="Releases")
    page.test.segmented_control[0].set_value(name)
    return page.run()


def turns(*rows: tuple[str, float, bool, bool | None]) -> CodeTurns:
    scanned = tuple(ScannedTurn(*row) for row in rows)
    return CodeTurns(scanned, n_dialogues=4, n_weeks=2.0, n_unscanned=1, seconds=(30.0, 60.0, 90.0))


def test_thresholds_by_hand() -> None:
    """Today 0.8: `b` was lowered by another rule and stays so; below today every turn counts."""
    some = turns(
        ("a", 0.9, True, True), ("b", 0.85, False, True), ("c", 0.8, True, False), ("c", 0.6, False, True),
        ("d", 0.5, False, None), ("d", 0.1, False, False),
    )  # fmt: skip
    today = apply_threshold(some, 0.8, 0.8)
    assert (today.per_week, today.dialogues_per_week) == (1.0, 1.0)
    assert (today.confirmed, today.decided, today.errors, today.clean) == (1, 2, 4, 2)
    assert today.minutes(some.seconds) == 1.0
    assert today.minutes(()) is None
    lower = apply_threshold(some, 0.5, 0.8)
    assert (lower.per_week, lower.dialogues_per_week) == (2.0, 1.5)
    assert (lower.confirmed, lower.decided) == (2, 3)
    higher = apply_threshold(some, 0.95, 0.8)
    assert (higher.per_week, higher.confirmed, higher.decided) == (0.0, 0, 0)


def test_a_chosen_threshold_is_given_as_a_file_and_changes_nothing(
    open_page: Callable[..., Any], store: Store
) -> None:
    page = view(open_page, "threshold")
    assert not page.test.code
    code = page.test.selectbox(key="threshold code").options[0].split()[0]
    before = [each.value for each in page.test.metric]
    page.test.slider[0].set_value(0.97).run()
    assert [each.value for each in page.test.metric] != before
    overrides = yaml.safe_load(page.test.code[0].value)
    assert overrides == {"kind": "overrides", "release": "model-7", "thresholds": {code: 0.97}}


def test_two_releases_are_compared_on_the_dialogues_of_both(
    open_page: Callable[..., Any], store: Store
) -> None:
    hostile = "**other** <img src=x>"
    said = [make_verdict(name, make_finding("T1", 3, "We"), release=hostile) for name in ("d1", "d2")]
    dialogues.add_verdicts(store, "lea", said)
    page = view(open_page, "compare")
    page.choose("Release", "model-7").choose("Compared with", hostile)
    assert "2 dialogues" in page.words
    assert "0% of them" in page.text
    table = page.test.table[-1].value
    assert "/dialogue?id=d1" in str(table.iloc[0, 0]) or "/dialogue?id=d2" in str(table.iloc[0, 0])
    assert all("<img" not in each.replace("\\<", "") for each in table.columns)


def test_a_spot_check_is_drawn_read_judged_and_evaluated_in_the_console(
    open_page: Callable[..., Any], store: Store, home: Path
) -> None:
    """Before: the page named two commands. The sheet is the command's own, and the result what scoring takes."""
    page = view(open_page, "spot checks")
    assert "dialint eval" not in page.words
    page.press("Draw")
    (folder,) = (home / "spot_checks").iterdir()
    assert "rows were drawn" in page.words
    assert "Anything else?" in page.words
    sheet = read_sheet(folder / "sheet.csv")
    n_findings = sum(row["kind"] != "turn" for row in sheet)
    assert n_findings == 5
    for label in ("Right", "Wrong", "Arguable", "Right", "Right"):
        page.press(label)
    page.press("Take back the last answer")
    page.press("Wrong")
    page.press("No error")
    page.test.multiselect[0].set_value(["T1"]).run()
    page.press("These errors")
    answers = [(row["judgement"], row["missed"]) for row in read_sheet(folder / "sheet.csv")]
    assert answers[: n_findings + 2] == [
        ("right", ""), ("wrong", ""), ("arguable", ""), ("right", ""), ("wrong", ""), ("", "none"), ("", "T1"),
    ]  # fmt: skip
    page.press("Evaluate")
    assert "Evaluated, with all that is judged" in page.words
    natural = read_overrides(folder / "overrides.yaml").spot_check
    assert natural is not None
    assert sum(each.right for each in natural.findings.values()) == 2
    assert (natural.turns.read, natural.turns.missed) == (2, {"T1": 1})
    assert not page.enabled("Evaluate"), "nothing new"
    again = view(open_page, "spot checks")
    assert f"7 of {len(sheet)} rows judged" in str(again.test.get("progress")[0].proto.text)


def test_a_spot_check_that_is_damaged_or_was_judged_elsewhere(
    open_page: Callable[..., Any], home: Path
) -> None:
    assert list_spot_checks() == []
    for name in ("damaged", "judged", "other"):
        (home / "spot_checks" / name).mkdir(parents=True)
        write_manifest(home / "spot_checks" / name / "manifest.json", {"kind": "dataset"})
    (home / "spot_checks" / "damaged" / "sheet.csv").write_text("x")
    result = NaturalPrecision(
        release="r", taxonomy="1", log="x", judged_on=date(2026, 11, 1),
        findings={"C1": Judged(reported=2, right=1, arguable=0, wrong=1, stated=1.5)}, suggestions={},
        turns=ReadTurns(unflagged=5, read=2, with_errors=1, missed={"T1": 1}),
    )  # fmt: skip
    update_overrides(home / "spot_checks" / "judged" / "overrides.yaml", "r", spot_check=result)
    assert list_spot_checks() == ["judged", "damaged"]
    page = view(open_page, "spot checks")
    words = page.text
    assert "Of 2 turns without a finding that were read, 1 had an error: T1 × 1" in words
    page.choose("Spot check", "damaged")
    assert "(E_" in page.text
