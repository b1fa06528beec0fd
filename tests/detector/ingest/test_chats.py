"""One dialogue in every form of chat: the same turns, calls and results, and so the same findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reading

from dialint.detector.checks.claims import claims_undone_write
from dialint.detector.ingest.read import Counts, Reject
from dialint.detector.records import Dialogue
from dialint.detector.tool_use import tool_uses

FORMS: dict[str, Any] = json.loads(Path(__file__).with_name("chat_forms.json").read_text(encoding="utf-8"))
"""The same dialogue as the APIs of models write it."""


def load(path: Path, *records: Any) -> tuple[list[Dialogue], list[Reject], Counts]:
    return reading.dialogues(reading.write_lines(path, *records))


def without_errors(dialogue: Dialogue) -> dict[str, Any]:
    """The dialogue as JSON, without the flag of a result that not every form has."""
    record = dialogue.model_dump(mode="json")
    for turn in record["turns"]:
        turn.pop("tool_error", None)
    return record


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
@pytest.mark.parametrize("form", FORMS)
def test_a_dialogue_is_the_same_in_every_form_of_chat(tmp_path: Path, form: str, ending: str) -> None:
    ((expected,), _, _), ((dialogue,), rejects, counts) = (
        load(tmp_path / f"{n}{ending}", {"id": "d", **FORMS[name]}) for n, name in enumerate(["openai", form])
    )
    assert not rejects
    assert not counts.warnings
    assert without_errors(dialogue) == without_errors(expected)
    assert [turn.role for turn in dialogue.turns] == ["system", "customer", "bot", "tool", "bot"]
    assert [use.failed for use in tool_uses(dialogue)] == [True]
    assert list(claims_undone_write(dialogue)) == list(claims_undone_write(expected)) != []


CALL = {"name": "cancel_order", "args": {"order": "W4471"}, "id": "c1"}
INVOCATION = {"state": "result", "toolCallId": "c1", "toolName": "cancel_order", "args": {}, "result": "Boom"}
SENT = "It has been cancelled."


@pytest.mark.parametrize(
    "messages",
    [
        [
            {"type": "ai", "content": "", "tool_calls": [CALL]},
            {"type": "tool", "content": "Boom", "tool_call_id": "c1", "status": "error"},
            {"type": "AIMessageChunk", "content": SENT},
        ],
        [{"role": "assistant", "content": SENT, "toolInvocations": [INVOCATION]}],
        [
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}], "summary": []},
            {"type": "mcp_call", "id": "c1", "name": "cancel_order", "arguments": "{}", "error": "Boom"},
            {"role": "assistant", "content": SENT},
        ],
    ],
)
def test_calls_results_and_speakers_of_clients(tmp_path: Path, messages: list[Any]) -> None:
    asked = {"role": "user", "content": "Cancel order W4471."}
    ((dialogue,), rejects, counts) = load(tmp_path / "l.jsonl", {"id": "d", "messages": [asked, *messages]})
    assert not rejects
    assert not counts.warnings
    assert [turn.text for turn in dialogue.turns if turn.role == "customer"] == [asked["content"]]
    (use,) = tool_uses(dialogue)
    assert (use.call.name, use.result, dialogue.turns[-1].text) == ("cancel_order", "Boom", SENT)


@pytest.mark.parametrize("message", [{"content": "Hello"}, {"type": "TextMessage", "content": "Hello"}])
def test_a_message_that_names_no_speaker_is_not_the_customers(tmp_path: Path, message: Any) -> None:
    asked = {"role": "user", "content": "Cancel order W4471."}
    _, (reject,), _ = load(tmp_path / "l.jsonl", {"id": "d", "messages": [asked, message]})
    assert (reject.code, reject.path) == ("E_ROLE", "messages[1].role")


def test_forms_may_stand_in_one_file(tmp_path: Path) -> None:
    dialogues, rejects, _ = load(tmp_path / "l.jsonl", *({"id": name, **one} for name, one in FORMS.items()))
    assert [dialogue.id for dialogue in dialogues] == list(FORMS)
    assert not rejects


@pytest.mark.parametrize(
    ("content", "texts", "n_skipped"),
    [
        (
            [{"type": "text", "text": "This one?"}, {"type": "image_url", "image_url": {"url": "x"}}],
            ["This one?"],
            1,
        ),
        ([{"type": "image", "source": {}}], [""], 1),
        ([{"inlineData": {"mimeType": "image/png", "data": ""}}, {"text": "This one?"}], ["This one?"], 1),
        ([{"type": "thinking", "thinking": "Hm."}], [], 0),
        ([], [""], 0),
        ("", [""], 0),
        (None, [""], 0),
    ],
)
def test_parts_without_a_text_are_counted(
    tmp_path: Path, content: Any, texts: list[str], n_skipped: int
) -> None:
    chat = [{"role": "user", "content": content}, {"role": "assistant", "content": "Yes."}]
    (dialogue,), _, counts = load(tmp_path / "l.jsonl", {"messages": chat})
    assert [turn.text for turn in dialogue.turns] == [*texts, "Yes."]
    assert counts.warnings["W_EVENT_SKIPPED"] == n_skipped
