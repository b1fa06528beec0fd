"""Exports differ from their tools' examples: parts that are missing, pages, pictures, deleted messages, other
locales. No side may be lost or taken for the other, no note or forged line charged to an agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reading
import yaml
from tool_exports import ANSWER, EPOCHS, HELLO, NOTE, QUESTION, TIMES

from dialint.detector.ingest.preview import preview
from dialint.detector.ingest.read import Counts, ReadConfig, open_logs

EXPECTED = [("customer", QUESTION), ("agent", ANSWER)]
ROLES = ("Ann=customer", "Leo=agent")


def turns_of(path: Path, *options: str) -> tuple[list[list[tuple[str, str]]], Counts]:
    dialogues, _, counts = reading.dialogues(path, ReadConfig(max_bad=0.0, role=options))
    return [[(turn.role, turn.text) for turn in dialogue.turns] for dialogue in dialogues], counts


def _front(inbound: bool, text: str, minute: int) -> dict[str, Any]:
    related = {"related": {"conversation": "https://front.example/conversations/cnv_1"}}
    message = {"is_inbound": inbound, "text": text or None, "body": text, "created_at": EPOCHS[minute]}
    return {"_links": related, **message}


VARIANTS = Path(__file__).with_name("export_variants")
CASES = yaml.safe_load((VARIANTS / "variants.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_exports_that_differ_from_their_examples(name: str) -> None:
    case = dict(CASES[name])
    config = ReadConfig(max_bad=0.0, role=tuple(case.pop("options", ())))
    (dialogue,), _, counts = reading.dialogues(VARIANTS / name, config)
    assert [f"{turn.role}: {turn.text}" for turn in dialogue.turns] == case.pop("said")
    assert counts.warnings == case.pop("warnings", {})
    assert {field: getattr(dialogue, field) for field in case} == case


@pytest.mark.parametrize(
    "head",
    ["31/12/2025, 23:5{} - ", "12/31/25, 11:5{}\u202fPM - ", "\u200e[31.12.25, 23:5{}:05] ", "[12/31/25, 11:5{}:05\u202fPM] ",
     "2025-12-31, 23:5{} - ", "31/12/25 11:5{} p.\u00a0m. - ", "31.12.2025 klo 23.5{} - ", "31/12/2025 \u00e0 23:5{} - ", "2025/12/31 下午11:5{} - ", "2025年12月31日 下午11:5{} - ",
     "2025. 12. 31. 오후 11:5{} - ", "[2025. 12. 31. 오후 11:5{}:00] ", "2025. 12. 31. 23:5{} - ",
     "31.12.2025 г., 23:5{} - ", "٣١\u200f/١٢\u200f/٢٠٢٥، ١١:٥{} م - ", "[۲۰۲۵/۱۲/۳۱, ۲۳:۵{}:۰۰] ",
     "31/12/25, 11:5{} μ.μ. - ", "31.12.25, 23:5{} Uhr - "],
)  # fmt: skip
def test_whatsapp_in_its_styles_and_locales(head: str, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    texts = [f"Ann: {QUESTION}", 'Ann changed the subject to "Lamps: new"', f"~\u202fLeo: {ANSWER}"]
    path.write_text("\ufeff" + "\r\n".join(head.format(at) + text for at, text in enumerate(texts)))
    (dialogue,), _, _ = reading.dialogues(path, ReadConfig(role=ROLES))
    assert [(turn.role, turn.text) for turn in dialogue.turns] == EXPECTED
    times = [turn.at and turn.at.isoformat()[:16] for turn in dialogue.turns]
    assert times == ["2025-12-31T23:50", "2025-12-31T23:52"]


@pytest.mark.parametrize(
    "forged", ["[31.12.2025, 23:59:59] Leo: You fool.", "31/12/2025, 23:59 - Leo: You fool.", "12/31/25, 11:59:30 PM - Leo: No."]
)  # fmt: skip
def test_a_pasted_head_of_another_style_is_text(forged: str, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"12/31/25, 11:58 PM - Ann: {QUESTION}\n{forged}\n12/31/25, 11:59 PM - Leo: {ANSWER}\n")
    assert turns_of(path, *ROLES)[0] == [[("customer", f"{QUESTION}\n{forged}"), ("agent", ANSWER)]]


@pytest.mark.parametrize(
    "kind", [{}, {"is_inbound": False}, {"type": "comment", "is_inbound": False}, {"id": "com_1", "is_inbound": False}]
)  # fmt: skip
def test_comments_of_front_are_internal_notes(kind: dict[str, Any], tmp_path: Path) -> None:
    comment = _front(False, NOTE, 1)
    comment["posted_at"] = comment.pop("created_at")
    if kind.get("type") or kind.get("id"):
        comment["created_at"] = comment.pop("posted_at")
    del comment["is_inbound"]
    path = tmp_path / "log.json"
    path.write_text(
        json.dumps({"_results": [_front(False, ANSWER, 2), comment | kind, _front(True, QUESTION, 0)]})
    )
    dialogues, counts = turns_of(path)
    assert (dialogues, counts.warnings["W_INTERNAL_NOTE"]) == ([EXPECTED], 1)


@pytest.mark.parametrize("words", [{}, {"message.content": ""}, {"message.content": ANSWER}])
@pytest.mark.parametrize("keys", ["tool_call.function.name", "tool_call", "tool_call.function"])
def test_calls_of_phoenix_with_dotted_keys(words: dict[str, str], keys: str, tmp_path: Path) -> None:
    function = {"name": "track", "arguments": '{"lamp": 20}'}
    calls = {
        "tool_call": {"tool_call": {"id": "t1", "function": function}},
        "tool_call.function": {"tool_call.id": "t1", "tool_call.function": function},
        "tool_call.function.name": {"tool_call.id": "t1"} | {f"tool_call.function.{key}": value for key, value in function.items()},
    }[keys]  # fmt: skip
    path = tmp_path / "log.json"
    path.write_text(json.dumps({
        "context.trace_id": "c1", "start_time": TIMES[0], "end_time": TIMES[1],
        "attributes.llm.input_messages": [{"message.role": "user", "message.content": QUESTION}],
        "attributes.llm.output_messages": [{"message.role": "assistant", "message.tool_calls": [calls], **words}]}))  # fmt: skip
    (dialogue,), _, _ = reading.dialogues(path)
    turn = dialogue.turns[-1]
    assert (turn.role, turn.text) == ("bot", words.get("message.content", ""))
    calls_read = [(call.name, call.arguments, call.id) for call in turn.tool_calls]
    assert calls_read == [("track", {"lamp": 20}, "t1")]


@pytest.mark.parametrize(
    "notice", ["null", "Missed voice call", "Missed video call, Tap to call back", "image omitted", "GIF omitted",
               "You deleted this message as admin", "This message was deleted by admin Ann Lee.", "<Media omitted>",
               "\u200eVoice call, 2 min", "Verpasster Sprachanruf", "Bild weggelassen", "Пропущенный аудиозвонок"]
)  # fmt: skip
def test_what_whatsapp_writes_in_place_of_a_message_is_counted(notice: str, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    lines = [f"Ann: {QUESTION}", f"Ann: {notice}", f"Leo: {ANSWER}"]
    path.write_text("".join(f"12/31/25, 11:5{at} PM - {line}\n" for at, line in enumerate(lines)))
    dialogues, counts = turns_of(path, *ROLES)
    assert (dialogues, counts.warnings["W_EVENT_SKIPPED"]) == ([EXPECTED], 1)


@pytest.mark.parametrize(
    "mark",
    [" <This message was edited>", " <Diese Nachricht wurde bearbeitet.>", "\u200e <This message was edited>"],
)  # fmt: skip
def test_marks_of_edited_messages_are_no_words(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"12/31/25, 11:50 PM - Ann: {QUESTION}{mark}\n12/31/25, 11:51 PM - Leo: {ANSWER} <b>\n")
    assert turns_of(path, *ROLES)[0] == [[EXPECTED[0], ("agent", f"{ANSWER} <b>")]]


def test_a_time_that_falls_in_a_chat_may_be_pasted_text(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(
        f"12/31/25, 11:58 PM - Ann: {QUESTION}\n12/30/25, 9:00 AM - Leo: You fool.\n12/31/25, 11:59 PM - Leo: {ANSWER}\n"
    )
    _, (one,), _ = reading.load(path, ReadConfig(role=ROLES, max_bad=1.0))
    assert one.code == "E_TIME"
    assert "--sort-turns" not in one.expected
    assert "line 2" in one.found


@pytest.mark.parametrize("ending", [".srt", ".vtt", ".txt"])
def test_speakers_in_brackets(ending: str, tmp_path: Path) -> None:
    lines = [f"[SPEAKER_00]: {HELLO}", f"[SPEAKER_01]: {QUESTION}", f"[SPEAKER_00]: {ANSWER}"]
    if ending != ".txt":
        lines = [f"{at}\n00:00:0{at},000 --> 00:00:0{at},900\n{line}\n" for at, line in enumerate(lines, 1)]
    text = "\n".join(lines)
    path = tmp_path / f"call{ending}"
    path.write_text("WEBVTT\n\n" + text.replace(",", ".") if ending == ".vtt" else text)
    (turns,) = turns_of(path)[0]
    assert [role for role, _ in turns] == ["agent", "customer", "agent"]


def test_preview_takes_no_recipient_for_the_speaker_and_no_number_for_a_field(tmp_path: Path) -> None:
    sent = [{"thread": "t", "sentAt": TIMES[at], "from": {"id": who}, "to": {"role": other}, "words": text}
            for at, (who, other, text) in enumerate([("u", "bot", QUESTION), ("b", "user", ANSWER)] * 2)]  # fmt: skip
    articles = {str(at): {"ticket_id": 3, "sender": who, "body": text, "created_at": TIMES[at]}
                for at, (who, text) in enumerate([("Customer", QUESTION), ("Agent", ANSWER)])}  # fmt: skip
    for value in (sent, {"id": 3, "assets": {"TicketArticle": articles}}):
        path = tmp_path / "log.json"
        path.write_text(json.dumps(value))
        result = preview(open_logs([str(path)])[0], ReadConfig(), 10)
        assert result.fields.get("role") not in ("to.role", "assets.TicketArticle.0.sender")
        assert result.refused is not None or result.problems


@pytest.mark.parametrize("role", [{}, {"is_inbound": None}, {"is_inbound": ""}])
def test_a_message_without_a_speaker_names_the_option(role: dict[str, Any], tmp_path: Path) -> None:
    message = {key: value for key, value in _front(False, ANSWER, 2).items() if key != "is_inbound"}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"_results": [message | role, _front(True, QUESTION, 0)]}))
    _, (one,), _ = reading.load(path)
    assert (one.code, one.found) == ("E_ROLE", "blank")
    assert "--role blank=agent" in one.expected
    assert turns_of(path, "blank=agent")[0] == [EXPECTED]
