"""Exports of other tools, as they come: roles, texts, times, notes and calls; each is of one format only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from linear_time import growth
from reading import load
from tool_exports import ANSWER, EXPORTS, FOLDER, HELLO, QUESTION, THANKS, Export

from dialint.detector.ingest.preview import preview
from dialint.detector.ingest.read import ReadConfig, open_logs
from dialint.detector.ingest.readers.format_detection import log_formats, text_formats
from dialint.detector.ingest.tree_mapping import shipped_names
from dialint.detector.ingest.validation import validate_all

FORMATS = list(log_formats(ReadConfig()))
TEXT_FORMATS = text_formats(ReadConfig())
GENERIC = {shape.name for shape in FORMATS if shape.is_common}
"""Chat forms stand in the records of other tools, too, and are tried last."""


@pytest.mark.parametrize("export", EXPORTS, ids=lambda one: one.path.name)
def test_exports_are_read_as_they_come(export: Export) -> None:
    config = ReadConfig(max_bad=1.0, role=tuple(export.options))
    loaded, rejects, counts = load(export.path, config)
    assert [reject.as_json() for reject in rejects] == []
    dialogue = loaded[-1].dialogue
    greeting = [("agent", HELLO)] if export.greeted else []
    turns = [(turn.role, turn.text.strip()) for turn in dialogue.turns if turn.text and turn.role != "tool"]
    assert turns == [*greeting, ("customer", QUESTION), (export.agent, ANSWER), ("customer", THANKS)]
    if export.id is not None:
        assert dialogue.id == export.id
    assert {call.name for turn in dialogue.turns for call in turn.tool_calls} == set(export.calls)
    times = [turn.at for turn in dialogue.turns if turn.role == "customer"]
    assert all(time is not None and time.date().isoformat() == "2026-03-02" for time in times) == export.timed
    assert counts.warnings["W_INTERNAL_NOTE"] == export.notes
    assert counts.warnings["W_EVENT_SKIPPED"] == export.events
    result = preview(open_logs([str(export.path)])[0], config, 10)
    assert result.is_readable
    assert export.format in result.format


def test_every_mapping_has_an_example_and_recognises_nothing_else() -> None:
    assert {export.format for export in EXPORTS} >= set(shipped_names())
    assert {export.path for export in EXPORTS} == set(FOLDER.iterdir()) - {FOLDER / "exports.yaml"}
    for export in EXPORTS:
        value = export.record
        if isinstance(value, str):
            assert [shape.name for shape in TEXT_FORMATS if shape.matches(value)] == [export.format]
            continue
        records = [value, *(value if isinstance(value, list) else [])]
        members = [
            value[key]
            for shape in FORMATS
            for key in shape.members
            if isinstance(value, dict) and key in value
        ]
        records += [one for listed in members if isinstance(listed, list) for one in listed[:1]]
        names = {shape.name for shape in FORMATS for record in records if shape.matches(record)}
        assert export.format in names
        assert names - GENERIC == {export.format} - GENERIC


def test_whatsapp_asks_for_the_order_of_day_and_month(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("02/03/2026, 09:14 - Ann: Where is it?\n02/03/2026, 09:15 - Leo: Here.\n")
    (reject,) = load(path, ReadConfig(max_bad=1.0, role=("Leo=agent",)))[1]
    assert (reject.code, "--time-format month-first" in reject.expected) == ("E_TIME", True)
    loaded, _, _ = load(path, ReadConfig(role=("Leo=agent",), time_format="month-first"))
    assert [turn.at.month for turn in loaded[0].dialogue.turns if turn.at] == [2, 2]
    path.write_text(
        "2/3/26, 9:14 pm - Ann: Where is it?\n3/1/26, 9:15 pm - Leo: Here.\n"
    )  # in order one way only
    loaded, _, _ = load(path, ReadConfig(role=("Leo=agent",)))
    assert [turn.at.month for turn in loaded[0].dialogue.turns if turn.at] == [2, 3]


@pytest.mark.parametrize(
    ("turns", "options", "roles"),
    [
        ([("A", HELLO), ("B", QUESTION)], (), ["agent", "customer"]),
        ([("A", QUESTION), ("B", HELLO)], (), ["customer", "agent"]),
        ([("A", QUESTION), ("B", ANSWER)], ("B=agent",), ["customer", "agent"]),
        ([("A", QUESTION), ("B", ANSWER)], ("A=customer",), ["customer", "agent"]),
        ([("Ann", QUESTION), ("Leo (Support)", ANSWER)], (), ["customer", "agent"]),
        ([("A", QUESTION), ("B", ANSWER)], (), None),
        ([("A", HELLO), ("B", HELLO)], (), None),
        ([("A", HELLO), ("B", QUESTION), ("C", ANSWER)], (), None),
    ],
)
def test_speakers_get_their_roles_by_option_name_or_greeting(
    turns: list[tuple[str, str]], options: tuple[str, ...], roles: list[str] | None, tmp_path: Path
) -> None:
    path = tmp_path / "call.json"
    path.write_text(
        json.dumps({"id": "c1", "utterances": [{"speaker": who, "text": words} for who, words in turns]})
    )
    loaded, rejects, counts = load(path, ReadConfig(max_bad=1.0, role=options))
    if roles is None:
        assert [(reject.code, "--role" in reject.expected) for reject in rejects] == [("E_ROLE", True)]
    else:
        assert [turn.role for turn in loaded[0].dialogue.turns] == roles
        assert counts.warnings["W_ROLE_GUESSED"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        lambda n: "WEBVTT\n\n" + "00:01.000 --> 00:02.000\n<v A>word\n\n" * n,
        lambda n: "WEBVTT\n\n" + "<v." * 10 * n,
        lambda n: "1/2/26, 9:14 - A: x\n" + "more\n" * 10 * n,
        lambda n: "1/2/26, 9:14 - A: x" + "\u200e " * 10 * n,
        lambda n: "".join(f"1/2/26, 9:14 - A{i}: x\n" for i in range(n)),
        lambda n: "A: x\nB: x\n" + "more\n" * 10 * n,
        lambda n: "A: x\nB: x\n" + "( " * 10 * n,
    ],
    ids=["cues", "tags", "lines", "marks", "speakers", "script", "offsets"],
)
def test_transcripts_take_linear_time(text: Callable[[int], str]) -> None:
    config = ReadConfig(time_format="day-first")

    def make(n: int) -> Callable[[], object]:
        whole = text(n)
        shapes = [shape for shape in TEXT_FORMATS if shape.matches(whole)]
        return lambda: [
            list(validate_all(shape.dialogues(whole, "log", config), 1, 0, config, Counter()))
            for shape in shapes
        ]

    assert growth(make, 4_000) < 10
