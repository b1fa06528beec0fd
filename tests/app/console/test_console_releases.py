"""The Releases page: reports, comparison, thresholds, spot checks, promotion and rollback."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialint.app.console.releases import folders as release_folders
from dialint.app.console.releases.change import promote, roll_back
from dialint.app.console.releases.spot_checks import SPOT_CHECKS_VARIABLE, list_spot_checks
from dialint.app.console.releases.threshold import apply_threshold
from dialint.detector.artifacts import write_manifest
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.records import Finding, Verdict
from dialint.detector.registry import Registry
from dialint.detector.release import EMBEDDED
from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed
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
    monkeypatch.setenv(release_folders.RELEASES_VARIABLE, str(root))
    return root


def test_a_release_is_promoted_and_taken_back_with_reasons(store: Store, opened: Path) -> None:
    assert release_folders.list_candidates() == ["bad", "good"]
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
    (embedded, promoted), problem = release_folders.list_releases()
    assert (embedded.in_use, promoted.in_use, promoted.name, problem) == (False, True, first.id, "")


def test_the_page_shows_reports_and_promotes_after_a_reason(
    open_page: Callable[..., Any], store: Store, opened: Path
) -> None:
    page = open_page("lea").go("Releases")
    assert page.test.metric[0].label == "Codes covered"
    page.test.segmented_control[0].set_value("change").run()
    assert not page.test.exception
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


def test_other_roles_do_not_see_it(open_page: Callable[..., Any]) -> None:
    assert "not open to your role" in open_page("rob").go("Releases").words


def turns(*rows: tuple[str, float, bool, bool | None]) -> CodeTurns:
    scanned = tuple(ScannedTurn(*row) for row in rows)
    return CodeTurns(scanned, n_dialogues=4, n_weeks=2.0, n_unscanned=1, seconds=(30.0, 60.0, 90.0))


def test_thresholds_by_hand() -> None:
    """Today 0.8: `b` was dropped by a gate and stays so; below today every turn counts."""
    some = turns(
        ("a", 0.9, True, True), ("b", 0.85, False, True), ("c", 0.8, True, False), ("c", 0.6, False, True),
        ("d", 0.5, False, None), ("d", 0.1, False, False),
    )  # fmt: skip
    today = apply_threshold(some, 0.8, 0.8)
    assert (today.per_week, today.dialogues_per_week) == (1.0, 1.0)
    assert (today.confirmed, today.decided, today.kept, today.known) == (1, 2, 1, 4)
    assert (today.clean_flagged, today.clean) == (1, 2)
    assert today.minutes(some.seconds) == 1.0
    assert today.minutes(()) is None
    lower = apply_threshold(some, 0.5, 0.8)
    assert (lower.per_week, lower.dialogues_per_week) == (2.0, 1.5)
    assert (lower.confirmed, lower.decided, lower.kept) == (2, 3, 2)
    higher = apply_threshold(some, 0.95, 0.8)
    assert (higher.per_week, higher.confirmed, higher.decided) == (0.0, 0, 0)


def test_the_slider_shows_the_store_and_changes_nothing(open_page: Callable[..., Any], store: Store) -> None:
    page = open_page("lea").go("Releases")
    page.test.segmented_control[0].set_value("threshold").run()
    assert not page.test.exception
    assert page.test.slider[0].label == "Threshold"
    before = [each.value for each in page.test.metric]
    page.test.slider[0].set_value(1.0).run()
    assert not page.test.exception
    assert [each.value for each in page.test.metric] != before
    assert page.test.metric[0].value == "0\\.0"


def test_two_releases_are_compared_on_the_dialogues_of_both(
    open_page: Callable[..., Any], store: Store
) -> None:
    hostile = "**other** <img src=x>"
    found = Finding(
        code="T1", turn=3, severity="S2", probability=0.9, quote="We", start=0, end=2, reason="why"
    )
    said = [
        Verdict(dialogue_id=name, release=hostile, taxonomy="1.0.0", status="scored", quality=90.0, findings=(found,))
        for name in ("d1", "d2")
    ]  # fmt: skip
    dialogues.add_verdicts(store, "lea", said)
    page = open_page("lea").go("Releases")
    page.test.segmented_control[0].set_value("compare").run()
    assert not page.test.exception
    page.choose("Release", "model-7").choose("Compared with", hostile)
    assert "2 dialogues" in page.words
    assert "0% of them" in page.words.replace("\\", "")
    table = page.test.table[-1].value
    assert "/dialogue?id=d1" in str(table.iloc[0, 0]) or "/dialogue?id=d2" in str(table.iloc[0, 0])
    assert all("<img" not in each.replace("\\<", "") for each in table.columns)


def test_spot_checks_are_listed_with_what_is_wrong_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list_spot_checks() == []
    root = tmp_path / "checks"
    for name in ("drawn", "judged", "damaged", "other"):
        (root / name).mkdir(parents=True)
    drawn = {
        "kind": "spot check", "release": "r", "taxonomy": "1", "log": "x", "seed": 0, "codes": ["C1"],
        "reported": {"finding": {"C1": 2}, "suggestion": {}}, "unflagged": 5, "rows": [],
    }  # fmt: skip
    for name in ("drawn", "judged"):
        write_manifest(root / name / "manifest.json", drawn)
    counts = {"reported": 2, "right": 1, "arguable": 0, "wrong": 1, "stated": 1.5}
    write_manifest(root / "judged" / "natural.json", {
        "kind": "natural precision", "release": "r", "taxonomy": "1", "log": "x", "judged_on": "2026-11-01",
        "findings": {"C1": counts}, "suggestions": {},
        "turns": {"unflagged": 5, "read": 2, "with_errors": 1, "missed": {"T1": 1}},
    })  # fmt: skip
    (root / "damaged" / "manifest.json").write_text("{}")
    write_manifest(root / "other" / "manifest.json", {"kind": "dataset"})
    monkeypatch.setenv(SPOT_CHECKS_VARIABLE, str(root))
    found = {each.name: each for each in list_spot_checks()}
    assert found.keys() == {"damaged", "drawn", "judged"}
    assert found["damaged"].problem == "E_MANIFEST"
    assert found["drawn"].result is None
    assert found["judged"].result is not None
    assert found["judged"].result.findings["C1"].right == 1
