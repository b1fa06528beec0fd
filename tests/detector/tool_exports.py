"""A file of every tool whose exports are read as they come, made up: the same dialogue in each of them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

ASKED, NOTE, ANSWERED, THANKED = (
    "Where is my lamp?", "She is rude again.", "It ships on Friday.", "Thank you.",
)  # fmt: skip
HELLO = "Lamp House, how can I help you?"
START = 1772442845
TIMES = [f"2026-03-02T09:{14 + minute}:05Z" for minute in range(4)]
EPOCHS = [START + 60 * minute for minute in range(4)]
USER, BOT = {"type": "human", "content": ASKED}, {"type": "ai", "content": ANSWERED}


@dataclass(frozen=True)
class Export:
    """A file of one tool. `agent` is the role of who answers, `calls` are names of tools."""

    name: str
    value: Any
    agent: str = "agent"
    notes: int = 0
    events: int = 0
    timed: bool = True
    greeted: bool = False
    """The call begins with the agent's greeting."""
    calls: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    ending: str = ".json"
    id: str | None = "c1"


def rows(*records: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def messages(customer: dict[str, Any], agent: dict[str, Any], note: dict[str, Any] | None, text: str, *times: str,
             clock: list[Any] = TIMES) -> list[dict[str, Any]]:  # fmt: skip
    """A question, a note, an answer and thanks."""
    said = [
        (customer, ASKED, 0), *([(note, NOTE, 1)] if note else []), (agent, ANSWERED, 2), (customer, THANKED, 3),
    ]  # fmt: skip
    return [{**who, text: words, **dict.fromkeys(times, clock[at])} for who, words, at in said]


def chat(
    customer: str = "user", agent: str = "assistant", role: str = "role", text: str = "content"
) -> list[dict[str, Any]]:
    return messages({role: customer}, {role: agent}, None, text)


CALL = [("A", HELLO), ("B", ASKED), ("A", ANSWERED), ("B", THANKED)]
LEFT = {"type": "system", "text": "Leo left"}
EXPORTS = [
    Export("abcd", {"convo_id": "c1", "original": [["customer", ASKED], ["agent", ANSWERED], ["customer", THANKED]]}, timed=False),
    Export("alpaca", {"id": "c1", "instruction": THANKED, "output": "", "history": [[ASKED, ANSWERED]]}, "bot", timed=False),
    Export("assemblyai", {"id": "c1", "utterances": [{"speaker": who, "text": words, "start": 9} for who, words in CALL]},
           timed=False, greeted=True),
    Export("botframework", [
        {"type": "conversationUpdate", "channelId": "web", "conversation": {"id": "c1"}, "from": {"role": "user"}},
        *messages({"type": "message", "channelId": "web", "conversation": {"id": "c1"}, "from": {"role": "user"}},
                  {"type": "message", "channelId": "web", "conversation": {"id": "c1"}, "from": {"role": "bot"}},
                  None, "text", "timestamp")], "bot", events=1),
    Export("chatwoot", {"meta": {}, "payload": [
        {"conversation_id": "c1", "message_type": 2, "content": "Assigned to Leo", "content_type": "text", "private": False, "created_at": START},
        *messages({"conversation_id": "c1", "message_type": 0, "content_type": "text", "private": False, "sender_type": "Contact"},
                  {"conversation_id": "c1", "message_type": 1, "content_type": "text", "private": False, "sender_type": "User"},
                  {"conversation_id": "c1", "message_type": 1, "content_type": "text", "private": True, "sender_type": "User"},
                  "content", "created_at", clock=EPOCHS)]}, notes=1, events=1),
    Export("chatwoot", rows(*messages(
        {"id": 1, "conversation_id": "c1", "message_type": 0, "content_type": 0, "private": "f", "sender_type": "Contact"},
        {"id": 2, "conversation_id": "c1", "message_type": 1, "content_type": 0, "private": "f", "sender_type": "User"},
        {"id": 3, "conversation_id": "c1", "message_type": 1, "content_type": 0, "private": "t", "sender_type": "User"},
        "content", "created_at")), notes=1, ending=".csv"),
    Export("connect", {"ContactId": "c1", "Participants": [{"ParticipantId": "p", "ParticipantRole": "CUSTOMER"}], "Transcript": [
        {"Type": "EVENT", "AbsoluteTime": TIMES[0]},
        *messages({"Type": "MESSAGE", "ParticipantId": "p"}, {"Type": "MESSAGE", "ParticipantRole": "AGENT"}, None, "Content", "AbsoluteTime")]},
        events=1),
    Export("crisp", {"error": False, "data": [
        *messages({"session_id": "c1", "type": "text", "from": "user", "fingerprint": 1}, {"session_id": "c1", "type": "text", "from": "operator", "fingerprint": 2},
                  {"session_id": "c1", "type": "note", "from": "operator", "fingerprint": 3}, "content", "timestamp", clock=[1000 * at for at in EPOCHS]),
        {"session_id": "c1", "type": "event", "from": "user", "fingerprint": 4, "content": {"namespace": "state:resolved"}, "timestamp": 1000 * EPOCHS[3]}]},
        notes=1, events=1),
    Export("openai", [{"id": "c1", "turns": [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": ANSWERED, "tools_called": [{"name": "track", "input_parameters": {"lamp": 20}}]},
        {"role": "user", "content": THANKED}]}], "bot", timed=False, calls=("track",)),
    Export("deepgram", {"metadata": {"request_id": "c1"}, "results": {"utterances": [
        {"speaker": "AB".index(who), "transcript": words, "start": 9.5} for who, words in CALL]}}, timed=False, greeted=True),
    Export("dialogflow-cx", {"conversations": [{"name": "c1", "languageCode": "en", "interactions": [
        {"request": {"queryInput": {"text": {"text": ASKED}}}, "createTime": TIMES[0], "response": {"queryResult": {
            "responseMessages": [{"text": {"text": [ANSWERED]}}, {"payload": {}}]}}},
        {"request": {"queryInput": {"text": {"text": THANKED}}}, "createTime": TIMES[3], "response": {"queryResult": {}}}]}]}, "bot"),
    Export("five9", rows(*messages({"CALL ID": "c1", "MESSAGE FROM": "Customer"}, {"CALL ID": "c1", "MESSAGE FROM": "Agent"}, None, "MESSAGE", "TIMESTAMP")),
           ending=".csv"),
    Export("freshdesk", {"id": "c1", "description_text": ASKED, "created_at": TIMES[0], "conversations": messages(
        {"incoming": True, "private": False}, {"incoming": False, "private": False}, {"incoming": False, "private": True},
        "body_text", "created_at")[1:]}, notes=1),
    Export("freshdesk", messages({"ticket_id": "c1", "incoming": True, "private": False}, {"ticket_id": "c1", "incoming": False, "private": False},
                                 {"ticket_id": "c1", "incoming": False, "private": True}, "body_text", "created_at"), notes=1),
    Export("front", {"_pagination": {}, "_results": [
        {"is_inbound": False, "is_draft": True, "body": "Not sent", "created_at": EPOCHS[3]},
        *reversed(messages({"is_inbound": True, "_links": {"related": {"conversation": "c1"}}}, {"is_inbound": False}, None, "body", "created_at", clock=EPOCHS))]},
        events=1),
    Export("genesys", {"conversationId": "c1", "mediaType": "CHAT", "transcripts": [{"phrases": messages(
        {"participantPurpose": "external"}, {"participantPurpose": "internal"}, None, "text", "startTimeMs", clock=[1000 * at for at in EPOCHS])}]}),
    Export("gorgias", {"object": "list", "data": messages(
        {"ticket_id": "c1", "from_agent": False, "public": True, "channel": "email"}, {"ticket_id": "c1", "from_agent": True, "public": True, "channel": "email"},
        {"ticket_id": "c1", "from_agent": True, "public": False, "channel": "internal-note"}, "body_text", "sent_datetime")}, notes=1),
    Export("helpscout", {"id": "c1", "_embedded": {"threads": [
        {"type": "lineitem", "createdBy": {"type": "user"}, "createdAt": TIMES[3]},
        *reversed(messages({"type": "customer", "createdBy": {"type": "customer"}}, {"type": "message", "createdBy": {"type": "user"}},
                           {"type": "note", "createdBy": {"type": "user"}}, "body", "createdAt"))]}}, notes=1, events=1),
    Export("hubspot", {"results": [
        {"type": "ASSIGNMENT", "conversationsThreadId": "c1", "createdAt": TIMES[3]},
        *reversed(messages({"type": "MESSAGE", "conversationsThreadId": "c1", "direction": "INCOMING"},
                           {"type": "MESSAGE", "conversationsThreadId": "c1", "direction": "OUTGOING", "senders": [{"actorId": "A-9"}]},
                           {"type": "COMMENT", "conversationsThreadId": "c1", "createdBy": "A-9"}, "text", "createdAt"))]}, notes=1, events=1),
    Export("intercom", {"type": "conversation.list", "conversations": [{
        "type": "conversation", "id": "c1", "created_at": START, "source": {"type": "conversation", "body": f"<p>{ASKED}</p>", "author": {"type": "user"}},
        "conversation_parts": {"total_count": 6, "conversation_parts": [
            {"part_type": "assignment", "body": None, "author": {"type": "admin"}},
            {"part_type": "custom_action_started", "event_details": {"action": {"name": "track"}}, "created_at": EPOCHS[1]},
            {"part_type": "custom_action_finished", "event_details": {"action": {"name": "track", "result": "success"}}, "created_at": EPOCHS[1]},
            *messages({"part_type": "comment", "author": {"type": "user"}}, {"part_type": "comment", "author": {"type": "admin"}},
                      {"part_type": "note", "author": {"type": "admin"}}, "body", "created_at", clock=EPOCHS)[1:]]}}]},
        notes=1, events=1, calls=("track",)),
    Export("openai", {"thread_id": "c1", "messages": [
        USER, {"type": "ai", "content": "", "tool_calls": [{"name": "track", "args": {"lamp": 20}, "id": "t1"}]},
        {"type": "tool", "content": "packed", "tool_call_id": "t1"}, BOT, {"type": "human", "content": THANKED}]}, "bot", timed=False, calls=("track",)),
    Export("langfuse", [
        {"id": "t1", "sessionId": "c1", "timestamp": TIMES[0], "input": {"messages": chat()[:1]}, "output": {"role": "assistant", "content": ANSWERED}},
        {"id": "t2", "sessionId": "c1", "timestamp": TIMES[3], "input": {"messages": chat()}, "output": None}], "bot"),
    Export("langfuse", rows(
        {"id": "t1", "timestamp": TIMES[0], "sessionId": "c1", "userId": "u", "input": json.dumps(chat()[:1]), "output": json.dumps({"role": "assistant", "content": ANSWERED})},
        {"id": "t2", "timestamp": TIMES[3], "sessionId": "c1", "userId": "u", "input": json.dumps(chat()), "output": ""}), "bot", ending=".csv"),
    Export("langfuse", [
        {"id": "t1", "sessionId": "c1", "userId": "u", "timestamp": f"{TIMES[0][:11]}17:14:05+08:00", "input": ASKED, "output": ANSWERED},
        {"id": "t2", "sessionId": "c1", "userId": "u", "timestamp": TIMES[3], "input": {"question": THANKED}, "output": None}], "bot"),
    Export("langsmith", [
        {"id": "r1", "run_type": "llm", "trace_id": "t", "start_time": TIMES[0], "extra": {"metadata": {"thread_id": "c1"}},
         "inputs": {"messages": [[{"id": ["langchain", "HumanMessage"], "kwargs": USER}]]},
         "outputs": {"generations": [[{"message": {"kwargs": BOT}}]]}},
        {"id": "r2", "run_type": "llm", "trace_id": "t2", "start_time": TIMES[3], "extra": {"metadata": {"thread_id": "c1"}},
         "inputs": {"messages": [USER, BOT, {"role": "user", "content": THANKED}]}, "outputs": None}], "bot"),
    Export("lex", "\n".join(json.dumps(one) for one in (
        {"sessionId": "c1", "botId": "B", "timestamp": TIMES[0], "inputTranscript": ASKED, "messages": [{"content": ANSWERED, "contentType": "PlainText"}]},
        {"sessionId": "c1", "botId": "B", "timestamp": TIMES[3], "inputTranscript": THANKED})), "bot", ending=".jsonl"),
    Export("livechat", {"chats": [{"id": "x", "users": [{"id": "7", "type": "customer"}, {"id": "leo", "type": "agent"}], "thread": {"id": "c1", "events": [
        *messages({"type": "message", "author_id": "7", "visibility": "all"}, {"type": "message", "author_id": "leo", "visibility": "all"},
                  {"type": "message", "author_id": "leo", "visibility": "agents"}, "text", "created_at"),
        {"type": "system_message", "text": "Leo left", "created_at": TIMES[3]}]}}]}, notes=1, events=1),
    Export("phoenix", {
        "context.trace_id": "c1", "start_time": TIMES[0], "end_time": TIMES[3],
        "attributes.llm.input_messages": [{"message.role": who, "message.content": words} for who, words in
                                          (("user", ASKED), ("assistant", ANSWERED), ("user", THANKED))]}, "bot"),
    Export("openai", {"id": "c1", "user_input": [USER, BOT, {"type": "human", "content": THANKED}]}, "bot", timed=False),
    Export("rasa", {"sender_id": "c1", "events": [
        {"event": "action", "name": "action_session_start", "timestamp": START},
        *messages({"event": "user"}, {"event": "bot"}, None, "text", "timestamp", clock=EPOCHS)]}, "bot", events=1),
    Export("retell", {"call_id": "c1", "transcript_object": [], "transcript_with_tool_calls": [
        {"role": "user", "content": ASKED},
        {"role": "tool_call_invocation", "tool_call_id": "t1", "name": "track", "arguments": '{"lamp": 20}'},
        {"role": "tool_call_result", "tool_call_id": "t1", "content": "packed"},
        {"role": "agent", "content": ANSWERED}, {"role": "user", "content": THANKED}]} | {
            "transcript_object": [{"role": "user", "content": ASKED}]}, "bot", timed=False, calls=("track",)),
    Export("salesforce", rows({"Id": "c1", "ChatKey": "k", "StartTime": TIMES[0], "Body":
        '<p align="center">Chat Started: Monday</p><p align="center">Agent Leo</p>'
        f"( 5s ) Ann: {ASKED}<br>( 1m 19s ) Leo: {ANSWERED}<br>( 1h 2m 3s ) Ann: {THANKED}<br>"}), ending=".csv"),
    Export("sgd", [{"dialogue_id": "c1", "turns": [{"speaker": who, "utterance": words} for who, words in
                                                  (("USER", ASKED), ("SYSTEM", ANSWERED), ("USER", THANKED))]}], "bot", timed=False),
    Export("sharegpt", {"id": "c1", "items": [{"from": who, "value": words} for who, words in
                                                    (("human", ASKED), ("gpt", ANSWERED), ("human", THANKED))]}, "bot", timed=False),
    Export("slack", [{"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1772442800.000100", "text": "joined"},
                     *messages({"type": "message", "user": "U1", "thread_ts": "c1"}, {"type": "message", "user": "U2", "thread_ts": "c1"}, None,
                               "text", "ts", clock=[f"{at}.000100" for at in EPOCHS])],
           options=("U2=agent",), id=None),
    Export("telegram", {"name": "Ann", "type": "personal_chat", "id": "c1", "messages": [
        {"type": "service", "from_id": "user1", "date": "2026-03-02T09:00:00", "text": ""},
        *[{**one, "type": "message", "date": "2026-03-02T09:14:05", "text": [one["text"][:3], {"type": "bold", "text": one["text"][3:]}]} for one in messages(
            {"from": "Ann", "from_id": "user1"}, {"from": "Lamp House", "from_id": "user2"}, None, "text", "date_unixtime", clock=[str(at) for at in EPOCHS])]]},
        events=1, options=("Lamp House=agent", "Ann=customer")),
    Export("twilio", {"messages": messages({"conversation_sid": "c1", "author": "+15550100"}, {"conversation_sid": "c1", "author": "leo"}, None, "body", "date_created")},
           options=("leo=agent",)),
    Export("vapi", {"id": "c1", "artifact": {"messages": [
        {"role": "user", "message": ASKED, "time": 1000 * EPOCHS[0]},
        {"role": "tool_calls", "message": "", "toolCalls": [{"id": "t1", "function": {"name": "track", "arguments": "{}"}}], "time": 1000 * EPOCHS[1]},
        {"role": "tool_call_result", "toolCallId": "t1", "result": "packed", "time": 1000 * EPOCHS[1]},
        {"role": "bot", "message": ANSWERED, "time": 1000 * EPOCHS[2]}, {"role": "user", "message": THANKED, "time": 1000 * EPOCHS[3]}]}}, "bot", calls=("track",)),
    Export("whisperx", {"language": "en", "segments": [{"speaker": f"SPEAKER_{who}", "text": f" {words}", "start": 1.5} for who, words in CALL]},
           timed=False, greeted=True, id=None),
    Export("zammad", messages({"ticket_id": "c1", "sender": "Customer", "type": "email", "internal": False, "content_type": "text/html"},
                              {"ticket_id": "c1", "sender": "Agent", "type": "email", "internal": False, "content_type": "text/html"},
                              {"ticket_id": "c1", "sender": "Agent", "type": "note", "internal": True, "content_type": "text/html"}, "body", "created_at"), notes=1),
    Export("zendesk", {"ticket_id": "c1", "users": [{"id": 7, "role": "end-user"}, {"id": 9, "role": "agent"}], "comments": messages(
        {"author_id": 7, "public": True}, {"author_id": 9, "public": True}, {"author_id": 9, "public": False}, "plain_body", "created_at")}, notes=1),
    Export("zendesk-chat", {"chats": [{"id": "c1", "type": "chat", "history": [
        {"type": "chat.memberjoin", "nick": "visitor", "timestamp": TIMES[0]},
        *messages({"type": "chat.msg", "nick": "visitor"}, {"type": "chat.msg", "nick": "agent:9"}, None, "msg", "timestamp")]}], "count": 1}, events=1),
    Export("zendesk-messaging", {"id": "c1", "events": [
        {**one, "content": {"type": "text", "text": one["text"]}} for one in messages(
            {"type": "Messaging::ConversationMessage", "author": {"type": "user"}}, {"type": "Messaging::ConversationMessage", "author": {"type": "agent"}},
            {"type": "Comment", "public": False, "author": {"type": "agent"}}, "text", "created_at")]}, notes=1),
    # texts
    Export("webvtt", "WEBVTT - a call\n\nNOTE made up\n\n" + "\n\n".join(
        f"{n}\n00:00:{n:02}.250 --> 00:00:{n + 1:02}.000\n<v {'Leo (Agent)' if who == 'A' else 'Ann'}>{words.partition(' ')[0]}\n\n00:{n:02}.500 --> 00:{n + 1:02}.000\n{words.partition(' ')[2]}"
        for n, (who, words) in enumerate((("B", ASKED), ("A", ANSWERED), ("B", THANKED)))), timed=False, id=None, ending=".vtt"),
    Export("srt", "\n\n".join(f"{n + 1}\n00:00:{n:02},250 --> 00:00:{n + 1:02},000\n{who}: {words}"
                              for n, (who, words) in enumerate((("Customer", ASKED), ("Agent", ANSWERED), ("Customer", THANKED)))), timed=False, id=None, ending=".srt"),
    Export("transcript", f"Agent: {HELLO}\nCustomer: {ASKED}\nAgent: {ANSWERED}\nCustomer: {THANKED}\n", timed=False, greeted=True, id=None, ending=".txt"),
]  # fmt: skip
