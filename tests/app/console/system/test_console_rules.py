"""The Taxonomy and policies page: what is in use, drafts, previews, publishing, and the exported files."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dialint.app.commands.transfer import export_published
from dialint.app.console.system.rules import SAMPLES, TEMPLATE
from dialint.app.console.system.rules_preview import preview_policy, preview_taxonomy
from dialint.app.store_session import SessionConfig, StoreConfig
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.policy import load_policy, parse_policy
from dialint.detector.records import Dialogue, Finding, ToolCall, Turn, Verdict
from dialint.detector.taxonomy import PACKAGED, load_taxonomy, parse_taxonomy
from dialint.labeling.store import dialogues, documents
from dialint.labeling.store.database.transactions import Store

Open = Callable[..., Any]
TEXT = PACKAGED.read_text(encoding="utf-8")
NEXT = TEXT.replace("version: 1.0.0", "version: 1.0.1").replace("penalty: 25", "penalty: 40")


def finding(code: str, severity: str) -> Finding:
    return Finding(
        code=code, turn=1, severity=severity, probability=0.9, quote="A", start=0, end=1, reason=""  # type: ignore[arg-type]
    )  # fmt: skip


def verdict(name: str, quality: float, *findings: Finding) -> Verdict:
    return Verdict(
        dialogue_id=name, release="model-7", taxonomy="1.0.0", status="scored", quality=quality, findings=findings
    )  # fmt: skip


def test_a_preview_recomputes_quality_and_severity() -> None:
    """By hand: C1 is S2 (25 off), L1 is S3 (8 off). After: an S2 costs 40, L1 is usually S2, T1 is gone."""
    after = NEXT.replace("        severity: S3\n        severities: [S2, S3, S4]", "        severity: S2\n        severities: [S2, S3, S4]", 1)  # fmt: skip
    start, end = after.index("      - code: T1\n"), after.index("      - code: T2\n")
    new = parse_taxonomy(after[:start] + after[end:])
    stored = [
        verdict("d1", 75.0, finding("C1", "S2")),
        verdict("d2", 92.0, finding("L1", "S3")),
        verdict("d3", 96.0, finding("L1", "S4")),
        verdict("d4", 75.0, finding("T1", "S2")),
        verdict("d5", 100.0),
    ]
    preview = preview_taxonomy(load_taxonomy(), new, stored)
    assert preview.verdicts == 5
    # an S4 costs nothing and is not the usual severity, so it stays
    assert {one.dialogue: (one.before, one.after) for one in preview.dialogues} == {
        "d1": (75.0, 60.0), "d2": (92.0, 60.0), "d4": (75.0, 100.0),
    }  # fmt: skip
    assert [one.dialogue for one in preview.dialogues] == ["d2", "d4", "d1"]
    assert preview.mean == (pytest.approx(88.4), pytest.approx(84.0))
    changes = {one.code: one for one in preview.codes}
    assert (changes["L1"].findings, changes["L1"].moved, changes["L1"].points) == (2, 1, (8.0, 40.0))
    assert (changes["T1"].dropped, changes["T1"].points) == (1, (25.0, 0.0))
    assert (changes["C1"].moved, changes["C1"].words_changed) == (0, False)


def with_calls(name: str, *tools: str) -> Dialogue:
    calls = [
        turn
        for n, tool in enumerate(tools)
        for turn in (
            Turn(
                index=2 * n + 1, role="agent", text="One moment.",
                tool_calls=(ToolCall(name=tool, arguments={}),),
            ),
            Turn(index=2 * n + 2, role="tool", text='{"done": true}'),
        )
    ]  # fmt: skip
    return Dialogue(id=name, turns=(Turn(index=0, role="customer", text="Cancel it."), *calls))


def test_a_policys_preview_tells_what_each_dialogue_gains_and_loses() -> None:
    strict = parse_policy(TEMPLATE)
    loose = parse_policy(TEMPLATE.replace("on: cancel_order\n    before: get_order", "on: get_order\n    limit: {at_most: 1}"))  # fmt: skip
    read = [with_calls("d1", "cancel_order"), with_calls("d2", "get_order", "cancel_order"), with_calls("d3", "get_order", "get_order")]  # fmt: skip
    first = preview_policy(None, strict, {}, read)
    assert (first.dialogues, first.applies) == (3, (0, 3))
    assert [(one.dialogue, one.turn, one.gained) for one in first.changes] == [("d1", 1, True)]
    both = preview_policy(strict, loose, {}, read)
    assert [(one.dialogue, one.gained) for one in both.changes] == [("d1", False), ("d3", True)]
    other = load_policy(SAMPLES / "retail.yaml")
    beside = preview_policy(None, strict, {"retail": other}, read)
    assert beside.applies == (0, 3), "the policy that lists the tools that were called"


@pytest.fixture
def lead(open_page: Open) -> Any:
    return open_page("lea", at="Taxonomy and policies")


def view(page: Any, name: str) -> Any:
    page.test.button_group[0].set_value(name)
    page.test.run()
    assert not page.test.exception, page.test.exception
    return page


def edit(page: Any, text: str, why: str = "") -> Any:
    page.test.text_area[0].set_value(text)
    page.fill(Why_it_changes=why)
    page.test.run()
    assert not page.test.exception, page.test.exception
    return page


def test_a_lead_reads_every_code(lead: Any) -> None:
    assert "the packaged taxonomy, version 1" in lead.words.replace("\\", "")
    table = lead.test.table[0].value
    assert len(table) == len(load_taxonomy().codes)
    row = next(each for each in table.to_dict("records") if each["Code"] == "C1")
    assert "scan" in row["Covered by"]


def test_a_change_is_checked_previewed_published_and_exported(
    lead: Any, store: Store, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = view(lead, "taxonomy")
    edit(page, NEXT.replace("severity: S3", "severity: S9", 1))
    assert "line:" in page.test.error[0].value.replace("\\", "").lower()
    assert not page.enabled("Publish")
    edit(page, NEXT.replace("version: 1.0.1", "version: 1.0.0"))
    assert "raise its last part" in page.words
    edit(page, NEXT)
    assert not page.enabled("Save as a draft"), "without a reason"
    edit(page, NEXT, "major errors cost more")
    assert page.enabled("Save as a draft")
    assert not page.enabled("Publish"), "before the preview"
    page.press("Preview the change")
    # d1 has one S2: 75 becomes 60; d2 has two: 50 becomes 20; d3 and hostile have one each
    assert "4 verdicts read" in page.words
    by_code = {row["Code"]: row for row in page.test.table[0].value.to_dict("records")}
    assert (by_code["C1"]["Findings"], by_code["C1"]["Points before"]) == ("4", "100")
    qualities = page.test.table[1].value.to_dict("records")
    assert [(row["Quality before"], row["after"]) for row in qualities] == [("50", "20"), *[("75", "60")] * 3]
    assert "/dialogue?id=d2" in qualities[0]["Dialogue"]
    page.test.text_area[0].set_value(NEXT.replace("penalty: 40", "penalty: 60"))
    page.press("Publish")
    assert "The text has changed: it is checked now." in page.words.replace("\\", "")
    assert documents.load_published(store, "lea", "taxonomy") == {}, (
        "nobody has previewed what was typed last"
    )
    edit(page, NEXT, "major errors cost more").press("Publish")
    assert "Version 1 is published" in page.words
    assert "the team's published taxonomy" in page.words.replace("\\", "")
    session = SessionConfig(config=StoreConfig(store=place), account="lea")
    export_published(tmp_path / "out", session=session)
    written = tmp_path / "out" / "taxonomy.yaml"
    assert f"--taxonomy {written}" in capsys.readouterr().out
    assert load_taxonomy(written).version == "1.0.1"
    with pytest.raises(OutputRefused):
        export_published(tmp_path / "out", session=session)
    edit(page, NEXT.replace("penalty: 40", "penalty: 50"), "more still").press("Save as a draft")
    assert "Saved as version 2" in page.words
    assert "-    penalty: 40" in page.words
    assert "+    penalty: 50" in page.words
    # the packaged text stays comparable, and can be previewed, after a publication
    (listed,) = [each.value for each in page.test.table if "Author" in each.value]
    assert f"packaged with dialint {version('dialint')}" == listed["Version"].to_list()[-1].replace("\\", "")
    assert listed["State"].to_list() == ["not in use", "published", "not in use"]
    page.choose("From", 0).choose("To", 1)
    assert "-    penalty: 25" in page.words
    assert "+    penalty: 40" in page.words
    page.press("Put the packaged text here")
    assert page.test.text_area[0].value == TEXT
    assert "Put the packaged text here" not in page.labels
    page.press("Preview the change")
    assert "mean quality 50.0 → 68.8" in page.words.replace("\\", "")
    assert load_taxonomy(written).version in documents.load_published(store, "lea", "taxonomy")["taxonomy"]
    page.fill(Version=0).press("Publish this one")  # chosen together with the click
    assert "the packaged taxonomy" in page.words
    with pytest.raises(ConfigError, match="nothing is published"):
        export_published(tmp_path / "none", session=session)


def test_a_policy_is_made_tried_on_stored_dialogues_and_published(lead: Any, store: Store) -> None:
    dialogues.add(store, "lea", [with_calls("calls", "cancel_order")])
    page = view(lead, "policies").choose("Policy", "")
    edit(page, TEMPLATE, "our first")
    page.press("Preview the change")
    (row,) = page.test.table[1].value.to_dict("records")
    assert "calls" in row["Dialogue"]
    assert "found" in row["Change"]
    page.press("Publish")
    assert documents.load_published(store, "lea", "policy") == {"my-shop": TEMPLATE}
    page.choose("Policy", "my-shop")
    edit(page, TEMPLATE.replace("policy: my-shop", "policy: another"), "renamed")
    assert "must keep the name" in page.words
    assert not page.enabled("Publish")


def test_a_policy_that_was_published_under_other_rules_can_be_mended(
    lead: Any, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished = TEMPLATE + "  - {id: late, text: Late., on: refund, forbid: {fee: {above: '5 +'}}}\n"
    documents.save_version(store, "lea", "policy", "my-shop", unfinished, "of old", expected=0)
    with monkeypatch.context() as earlier:
        earlier.setattr(documents, "parse_policy", lambda text: SimpleNamespace(policy="my-shop"))
        documents.publish(store, "lea", "policy", "my-shop", 1)
    page = view(lead, "policies").choose("Policy", "my-shop")
    assert "(E_POLICY)" in page.words.replace("\\", "")
    edit(page, TEMPLATE, "mended")
    page.press("Preview the change")
    page.press("Publish")
    assert documents.load_published(store, "lea", "policy") == {"my-shop": TEMPLATE}


def test_somebody_elses_version_is_not_overwritten(lead: Any, store: Store) -> None:
    page = edit(view(lead, "taxonomy"), NEXT, "mine")
    documents.save_version(store, "lea", "taxonomy", "taxonomy", TEXT, "theirs", expected=0)
    page.press("Save as a draft")
    assert "was saved by lea" in page.words
    assert len(documents.list_versions(store, "lea", "taxonomy", "taxonomy")) == 1
