"""Chats of Zendesk messaging, HubSpot, Twilio Conversations and Amazon Connect.

A page of an API may hold several conversations: messages are grouped by id, and sorted by time where the tool
promises no order. Internal comments are marked; events without a text are counted and skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.privacy import record_flag
from dialint.detector.ingest.validation import Draft, DraftTurn

ZENDESK_ROLES = {"user": "customer", "agent": "agent", "business": "agent", "bot": "bot"}
HUBSPOT_ACTORS = {
    "A-": "agent",
    "B-": "bot",
    "L-": "bot",
    "I-": "bot",
    "S-": "system",
    "V-": "customer",
    "E-": "agent",
}
CONNECT_ROLES = {
    "CUSTOMER": "customer", "AGENT": "agent", "SUPERVISOR": "agent", "SYSTEM": "bot", "CUSTOM_BOT": "bot",
}  # fmt: skip
ADDRESSES = ("+", "whatsapp:", "messenger:", "sms:")


def matches_zendesk(record: Any) -> bool:
    """A conversation log (`events`) or a page of Sunshine messages."""
    for key in ("events", "messages"):
        first = fields.first(record, key)
        author = first.get("author")
        kind = author.get("type") if isinstance(author, dict) else None
        if isinstance(kind, str) and kind in ZENDESK_ROLES and "content" in first:
            return True
    return False


def drafts_zendesk(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One conversation. A `business` author that is not marked as AI counts as an agent."""
    name = fields.name(record.get("conversation_id")) or fields.name(record.get("id")) or fallback_id
    key = "events" if "events" in record else "messages"
    warnings: Counter[str] = Counter()
    turns = []
    for index, message in enumerate(fields.items(record, key, name)):
        content, author = fields.mapping(message, "content"), fields.mapping(message, "author")
        path = f"{key}[{index}].content"
        plain = fields.text(content, "text", path, name)
        text = plain or fields.text(content, "htmlText", path, name)
        if not text and message.get("type") not in (None, "Comment", "Messaging::ConversationMessage"):
            warnings["W_EVENT_SKIPPED"] += 1
            continue
        role = fields.map_role(author.get("type"), ZENDESK_ROLES)
        subtypes = author.get("subtypes")
        if isinstance(subtypes, list) and "AI" in subtypes:
            role = "bot"
        at = message.get("received", message.get("created_at"))
        internal = record_flag(message, "public", f"{key}[{index}]", public=True)
        turns.append(DraftTurn(role, text, at, fields.name(author.get("userId", author.get("id"))), internal))
    yield Draft(name, turns, warnings=warnings, path=key)


def matches_hubspot(record: Any) -> bool:
    """A page of thread messages."""
    return "conversationsThreadId" in fields.first(record, "results")


def drafts_hubspot(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """Each thread of the page, by time of creation."""
    for name, messages in _group_by_id(record, "results", "conversationsThreadId", fallback_id):
        warnings: Counter[str] = Counter()
        turns = []
        for message in _by_time(messages, "createdAt"):
            kind = message.get("type")
            if kind not in ("MESSAGE", "COMMENT", "WELCOME_MESSAGE"):
                warnings["W_EVENT_SKIPPED"] += 1
                continue
            if message.get("truncationStatus") not in (None, "NOT_TRUNCATED"):
                warnings["W_INCOMPLETE"] += 1
            plain = fields.text(message, "text", "results", name)
            text, html = plain or fields.text(message, "richText", "results", name), None if plain else True
            at, internal = message.get("createdAt"), kind == "COMMENT"
            turns.append(DraftTurn(_hubspot_role(message), text, at, _actor(message) or None, internal, html))
        yield Draft(name, turns, warnings=warnings, path="results")


def _actor(message: dict[str, Any]) -> str:
    actor = fields.first(message, "senders").get("actorId", message.get("createdBy"))
    return actor if isinstance(actor, str) else ""


def _hubspot_role(message: dict[str, Any]) -> object:
    if message.get("type") == "WELCOME_MESSAGE":
        return "bot"
    if message.get("direction") == "INCOMING":
        return "customer"
    actor = _actor(message)
    return HUBSPOT_ACTORS.get(actor[:2], actor)


def matches_twilio(record: Any) -> bool:
    """A page of conversation messages."""
    return "conversation_sid" in fields.first(record, "messages")


def drafts_twilio(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """Each conversation of the page. A phone number or messaging address, or a participant with a
    `messaging_binding`, is the customer; other authors need ``--role IDENTITY=agent``."""
    bound = {
        fields.name(participant.get("sid"))
        for participant in fields.items(record, "participants")
        if participant.get("messaging_binding")
    }
    for name, messages in _group_by_id(record, "messages", "conversation_sid", fallback_id):
        if all(isinstance(message.get("index"), int) for message in messages):
            messages.sort(key=lambda message: message["index"])
        turns = []
        for index, message in enumerate(messages):
            author = message.get("author", "system")
            role: object = author
            if isinstance(author, str) and (
                author.startswith(ADDRESSES) or fields.name(message.get("participant_sid")) in bound - {None}
            ):
                role = "customer"
            elif author == "system":
                role = "bot"
            text = fields.text(message, "body", f"messages[{index}]", name)
            turns.append(DraftTurn(role, text, message.get("date_created"), fields.name(author)))
        yield Draft(name, turns, path="messages")


def matches_connect(record: Any) -> bool:
    """A transcript, analysed by Contact Lens or not."""
    return isinstance(record, dict) and isinstance(record.get("Transcript"), list)


def drafts_connect(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One contact. Voice transcripts have offsets instead of times, which are left out."""
    metadata = fields.mapping(record, "CustomerMetadata")
    name = (
        fields.name(metadata.get("ContactId"))
        or fields.name(record.get("ContactId") or record.get("InitialContactId"))
        or fallback_id
    )
    roles = {
        fields.name(participant.get("ParticipantId")): participant.get("ParticipantRole")
        for participant in fields.items(record, "Participants", name)
    }
    warnings: Counter[str] = Counter()
    turns = []
    for index, item in enumerate(_by_time(fields.items(record, "Transcript", name), "AbsoluteTime")):
        if item.get("Type") == "EVENT" and item.get("Content") is None:
            warnings["W_EVENT_SKIPPED"] += 1
            continue
        who = fields.name(item.get("ParticipantId"))
        role = item.get("ParticipantRole") or roles.get(who) or who
        text = fields.text(item, "Content", f"Transcript[{index}]", name)
        turns.append(DraftTurn(fields.map_role(role, CONNECT_ROLES), text, item.get("AbsoluteTime"), who))
    language, channel = record.get("LanguageCode"), record.get("Channel")
    extra = {
        "language": language if isinstance(language, str) else None,
        "channel": channel.lower() if isinstance(channel, str) else None,
    }
    yield Draft(name, turns, extra, warnings, path="Transcript")


def _group_by_id(
    record: dict[str, Any], key: str, id_key: str, fallback_id: str
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for item in fields.items(record, key):
        groups.setdefault(fields.name(item.get(id_key)) or fallback_id, []).append(item)
    yield from groups.items()


def _by_time(items: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Sort by time if every item has one as text (these tools write one form only), else keep the order."""
    times = [item.get(key) for item in items]
    if all(isinstance(time, str) for time in times):
        return [item for _, item in sorted(zip(times, items, strict=True), key=lambda pair: str(pair[0]))]
    return items
