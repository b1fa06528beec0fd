"""The Taxonomy and policies page: what is in use, drafts, previews, publishing, and the exported files."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from console_records import make_finding, make_verdict

from dialint.app.commands.transfer import export_published
from dialint.app.console.system.rules import SAMPLES, TEMPLATE
from dialint.app.console.system.rules_editor import dump_taxonomy, edit_taxonomy, merge_categories
from dialint.app.store_session import SessionConfig, StoreConfig
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.policy import load_policy, parse_policy
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.detector.taxonomy import Taxonomy, load_taxonomy, parse_taxonomy
from dialint.eval.rules import CodeChange, NewRules, preview_policy, preview_rules
from dialint.labeling.store import dialogues, documents
from dialint.labeling.store.database.transactions import Store

Open = Callable[..., Any]


def tables(taxonomy: Taxonomy) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The rows of both tables, by code, as the page fills them."""
    rows = {
        code.code: {
            "on": True, "code": code.code, "severity": code.severity, "severities": list(code.severities),
            "definition": code.definition,
        }
        for code in taxonomy.codes.values()
    }  # fmt: skip
    points = {
        level.code: {"code": level.code, "penalty": level.penalty, "fails": level.auto_fail}
        for level in taxonomy.severities
    }
    return rows, points


def test_a_preview_recomputes_quality_and_severity() -> None:
    """By hand: C1 is S2 (25 off), L1 is S3 (8 off). After: an S2 costs 40, L1 is usually S2, T1 is gone."""
    rows, points = tables(load_taxonomy())
    rows["L1"]["severity"], rows["T1"]["on"], points["S2"]["penalty"] = "S2", False, 40.0
    new = edit_taxonomy(load_taxonomy(), list(rows.values()), list(points.values()), [])
    stored = [
        make_verdict("d1", make_finding("C1"), quality=75.0),
        make_verdict("d2", make_finding("L1", severity="S3"), quality=92.0),
        make_verdict("d3", make_finding("L1", severity="S4"), quality=96.0),
        make_verdict("d4", make_finding("T1"), quality=75.0),
        make_verdict("d5", quality=100.0),
    ]
    preview = preview_rules(load_taxonomy(), NewRules(new), stored)
    # by hand: 75, 92, 100 (an S4 costs nothing and is not the usual severity, so it stays), 75, 100; then
    # 60, 60, 100, 100, 100
    assert (preview.verdicts, preview.changed) == (5, 3)
    assert preview.mean == (pytest.approx(88.4), pytest.approx(84.0))
    changes = {code: each for code, each in preview.codes.items() if each.is_change}
    assert changes == {"L1": CodeChange([2, 2], moved=1), "T1": CodeChange([1, 0])}


def test_an_edited_taxonomy_raises_the_last_part_of_its_version() -> None:
    packaged = load_taxonomy()
    rows, points = tables(packaged)
    assert edit_taxonomy(packaged, list(rows.values()), list(points.values()), []) == packaged
    rows["C1"]["definition"], rows["L1"]["on"] = "Something else.", False
    after = edit_taxonomy(packaged, list(rows.values()), list(points.values()), [])
    assert (after.version, after.codes["C1"].definition) == ("1.2.1", "Something else.")
    assert after.codes.keys() == packaged.codes.keys() - {"L1"}
    assert parse_taxonomy(dump_taxonomy(after)) == after
    assert "L1" in {code.code for category in merge_categories(after) for code in category.codes}
    cards = [
        {"team": "night", "error": "S2", "points": 40.0, "fails": False},
        {"team": "night", "error": "V2", "points": 0.0, "fails": True},
    ]
    carded = edit_taxonomy(packaged, *(list(tables(packaged)[i].values()) for i in (0, 1)), cards)
    assert carded.scorecards == {"night": {"S2": 40.0, "V2": "auto_fail"}}
    assert parse_taxonomy(dump_taxonomy(carded)) == carded
    rows["C1"]["severity"], rows["C1"]["severities"] = "S1", ["S2"]
    with pytest.raises(ConfigError, match="usual severity"):
        edit_taxonomy(packaged, list(rows.values()), list(points.values()), [])


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
    page.run()
    return page


def edit(page: Any, text: str, why: str = "") -> Any:
    page.test.text_area[0].set_value(text)
    page.fill(Why_it_changes=why)
    page.run()
    return page


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Types into the tables, which no test can reach otherwise; in a browser they are Streamlit's own."""

    def type_in(row: str, **values: object) -> None:
        def edit(rows: Any, **_: object) -> Any:
            if not isinstance(rows, list):  # the scorecards
                return rows
            return [{**each, **(values if each["code"] == row else {})} for each in rows]

        monkeypatch.setattr(st, "data_editor", edit)

    return type_in


def test_a_change_is_previewed_published_and_exported(
    lead: Any, change: Callable[..., None], store: Store, place: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    page = lead
    assert "the packaged taxonomy, version 1" in page.text
    change("S2", penalty=40.0)
    page.run()
    assert not page.enabled("Save as a draft"), "without a reason"
    page.fill(Why_it_changes="major errors cost more")
    page.run()
    assert page.enabled("Save as a draft")
    assert not page.enabled("Publish"), "before the preview"
    page.press("Preview the change")
    # d1 has one S2: 75 becomes 60; d2 has two: 50 becomes 20; d3 and hostile have one each
    assert "4 verdicts read" in page.words
    assert "the quality of 4 dialogues changes" in page.words
    change("S2", penalty=60.0)
    page.press("Publish")
    assert documents.load_published(store, "lea", "taxonomy") == {}, "nobody has previewed what came last"
    change("S2", penalty=40.0)
    page.run()
    page.press("Publish")
    assert "Version 1 is published" in page.words
    assert "the team's published taxonomy" in page.text
    session = SessionConfig(config=StoreConfig(store=place), account="lea")
    export_published(tmp_path / "out", session=session)
    written = tmp_path / "out" / "taxonomy.yaml"
    assert f"--taxonomy {written}" in capsys.readouterr().out
    assert load_taxonomy(written).version == "1.2.1"
    with pytest.raises(OutputRefused):
        export_published(tmp_path / "out", session=session)
    change("S2", penalty=50.0)
    page.fill(Why_it_changes="more still")
    page.run()
    page.press("Save as a draft")
    assert "Saved as version 2" in page.words
    assert "-  penalty: 40" in page.words
    assert "+  penalty: 50" in page.words
    # the packaged text stays comparable after a publication
    page.choose("From", 0).choose("To", 1)
    assert "-  penalty: 25" in page.words
    page.fill(Version=0).press("Publish this one")  # chosen together with the click
    assert "the packaged taxonomy" in page.words
    with pytest.raises(ConfigError, match="nothing is published"):
        export_published(tmp_path / "none", session=session)


def test_a_policy_is_made_tried_on_stored_dialogues_and_published(lead: Any, store: Store) -> None:
    dialogues.add(store, "lea", [with_calls("calls", "cancel_order")])
    page = view(lead, "policies").choose("Policy", "")
    edit(page, TEMPLATE, "our first")
    page.press("Preview the change")
    (row,) = page.test.table[-1].value.to_dict("records")
    assert "calls" in row["Dialogue"]
    assert "found" in row["Change"]
    page.press("Publish")
    assert documents.load_published(store, "lea", "policy") == {"my-shop": TEMPLATE}
    page.choose("Policy", "my-shop")
    edit(page, TEMPLATE.replace("policy: my-shop", "policy: another"), "renamed")
    assert "calls the policy otherwise than" in page.words
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
    assert "(E_POLICY)" in page.text
    edit(page, TEMPLATE, "mended")
    page.press("Preview the change")
    page.press("Publish")
    assert documents.load_published(store, "lea", "policy") == {"my-shop": TEMPLATE}
