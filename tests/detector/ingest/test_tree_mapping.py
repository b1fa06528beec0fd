"""Mapping files with `turns`: paths, conditions, roles, notes, events and calls, for a tool that nobody knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reading

from dialint.detector.errors import ConfigError
from dialint.detector.ingest.read import Counts, ReadConfig, Reject
from dialint.detector.records import Dialogue

DESK = Path(__file__).with_name("desk")
MAPPING = (DESK / "mapping.yaml").read_text(encoding="utf-8")
CASE = json.loads((DESK / "case.json").read_text(encoding="utf-8"))
"""A case of a desk that was made up, and its mapping."""


def entry(minute: int, kind: str, who: int = 0, *words: str, **more: Any) -> dict[str, Any]:
    payload = json.dumps({"words": words, "cut": False})
    return {"kind": kind, "who": who, "when": f"2026-03-02T09:{minute:02}:00Z", "payload": payload, **more}


def load(tmp_path: Path, value: Any, mapping: str = MAPPING) -> tuple[list[Dialogue], list[Reject], Counts]:
    (tmp_path / "desk.yaml").write_text(mapping)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(value))
    return reading.dialogues(path, ReadConfig(mapping=tmp_path / "desk.yaml", max_bad=1.0))


def test_a_mapping_file_describes_all_of_a_tools_export(tmp_path: Path) -> None:
    loaded, rejects, counts = load(tmp_path, {"cases": [CASE, {**CASE, "number": 8}]})
    assert (rejects, [one.id for one in loaded]) == ([], ["7", "8"])
    dialogue = loaded[0]
    assert (dialogue.channel, dialogue.agent) == ("chat", "Leo")
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [
        ("customer", "Lamp"), ("customer", "Where is it?"), ("bot", "One moment."), ("agent", ""), ("tool", "lost"), ("agent", "On Friday."),
    ]  # fmt: skip
    call, result = dialogue.turns[3].tool_calls[0], dialogue.turns[4]
    assert (call.name, call.arguments, call.id) == ("track", {"lamp": 20}, "t1")
    assert (result.tool_call_id, result.tool_error) == ("t1", True)
    assert counts.warnings == {"W_INTERNAL_NOTE": 4, "W_EVENT_SKIPPED": 2}


@pytest.mark.parametrize(
    ("old", "new", "place", "problem"),
    [
        ("  call: tool.name", "  cal: tool.name", "desk.yaml:27: turns.2.cal", "there is no such field"),
        ("tool: {kind: ran}", "boss: {kind: ran}", "turns.3.role_if.boss", "Input should be"),
        ("guest: customer", "guest: visitor", "desk.yaml:6: roles.guest", "visitor"),
        ('"/people[id=who].job"', '"/people[id].job"', "turns.1.role", "name[key=path]"),
        ("when: {summary: \"*\"}", "when: summary", "desk.yaml:9: turns.0.when", "path: word"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(
    tmp_path: Path, old: str, new: str, place: str, problem: str
) -> None:
    assert old in MAPPING
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {}, MAPPING.replace(old, new))
    assert caught.value.code == "E_MAPPING"
    assert place in caught.value.message
    assert problem in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"log": "none"}, "E_EMPTY"), ({"log": {"a": 1}}, "E_TYPE"), ({"log": [1]}, "E_TYPE"), ({"log": []}, "E_EMPTY"),
        ({"log": [entry(1, "said", 3, "a", payload={"words": {"a": 1}})]}, "E_EMPTY"),
        ({"log": [{**entry(1, "said", 9, "a"), "hidden": "perhaps"}]}, "E_PRIVACY"),
        ({"people": [], "guest_id": None}, "E_ROLE"),
    ],
)  # fmt: skip
def test_what_a_mapping_does_not_fit_is_a_reject(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    bad = {**CASE, "number": 8, "summary": "", **change}
    loaded, rejects, _ = load(tmp_path, {"cases": [CASE, bad]})
    assert ([one.id for one in loaded], [one.code for one in rejects]) == (["7"], [code])


def test_the_mapping_of_the_documentation_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/howto/add_a_log_format.md").read_text()
    mapping = page.partition("```yaml\n")[2].partition("```")[0]
    case = {**CASE, "people": [{"id": 3, "job": "guest"}, {"id": 9, "job": "staff-x"}]}
    loaded, rejects, counts = load(tmp_path, {"cases": [case]}, mapping)
    assert rejects == []
    spoken = [(turn.role, turn.text) for turn in loaded[0].turns]
    assert spoken == [
        ("customer", "Where\nis it?"), ("bot", "One moment."), ("agent", ""), ("agent", "On\nFriday.")]  # fmt: skip
    assert counts.warnings == {"W_INTERNAL_NOTE": 2, "W_EVENT_SKIPPED": 1}


@pytest.mark.parametrize(
    ("value", "rating"),
    [(4, 4.0), ("2.5", 2.5), ("good", 1.0), ("offered", None), (None, None), (True, None)],
)
def test_a_rating_of_the_log_is_a_number_or_a_word_that_stands_for_one(
    tmp_path: Path, value: Any, rating: float | None
) -> None:
    mapping = f"rating: csat.stars\nratings: {{good: 1, bad: 0}}\n{MAPPING}"
    (dialogue,), _, _ = load(tmp_path, {"cases": [{**CASE, "csat": {"stars": value}}]}, mapping)
    assert dialogue.metadata.get("rating") == rating
    lines = [
        f"d1,{role},{text},{value}" for role, text in (("user", "Where is it?"), ("agent", "On Friday."))
    ]
    table = tmp_path / "log.csv"
    table.write_text("\n".join(("conversation_id,role,text,csat", *lines)))
    (dialogue,), _, _ = reading.dialogues(table, ReadConfig())
    assert dialogue.metadata.get("rating") == (None if isinstance(value, str) and value == "good" else rating)
