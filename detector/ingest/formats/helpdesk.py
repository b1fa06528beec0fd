"""Tickets of Zendesk (comments), Intercom and Freshdesk: e-mail threads with internal notes.

Notes that the customer never saw are marked as internal. Custom actions of Intercom's workflows are calls of
the bot; other events without a text are counted (`W_EVENT_SKIPPED`) and skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.formats.tool_turns import tool_call
from dialint.detector.ingest.privacy import is_note_type, record_flag
from dialint.detector.ingest.validation import Draft, DraftTurn

ZENDESK_ROLES = {"end-user": "customer", "agent": "agent", "admin": "agent"}
GENERATED = 4
"""Flag of a Zendesk comment that was generated automatically."""

INTERCOM_ROLES = {
    "user": "customer",
    "lead": "customer",
    "contact": "customer",
    "admin": "agent",
    "bot": "bot",
}


def matches_zendesk(record: Any) -> bool:
    """A ticket with its comments."""
    return "author_id" in fields.first(record, "comments")


def drafts_zendesk(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One ticket. The customer is known from `users`, else from the ticket's `requester_id`."""
    ticket = fields.mapping(record, "ticket") or record
    name = fields.name(record.get("ticket_id")) or fields.name(ticket.get("id")) or fallback_id
    users = {fields.name(user.get("id")): user for user in fields.items(record, "users", name)}
    turns = []
    for index, comment in enumerate(fields.items(record, "comments", name)):
        path, author = f"comments[{index}]", fields.name(comment.get("author_id"))
        role = _zendesk_role(comment, users.get(author), ticket.get("requester_id"))
        text, html = _body(comment, ("plain_body", "body"), "html_body", path, name)
        internal = record_flag(comment, "public", path, public=True)
        turns.append(DraftTurn(role, text, comment.get("created_at"), author, internal, html))
    channel = fields.mapping(fields.first(record, "comments"), "via").get("channel")
    yield Draft(name, turns, {"channel": channel if isinstance(channel, str) else None}, path="comments")


def _zendesk_role(comment: dict[str, Any], user: dict[str, Any] | None, requester: object) -> object:
    flags = fields.mapping(comment, "metadata").get("flags")
    generated = isinstance(flags, list) and GENERATED in flags
    if generated or fields.mapping(comment, "via").get("channel") == "rule":
        return "bot"
    if user is not None:
        return fields.map_role(user.get("role"), ZENDESK_ROLES)
    if requester is not None:
        return "customer" if comment.get("author_id") == requester else "agent"
    return "author without a role: no user list"


def _body(
    item: dict[str, Any], plain: tuple[str, ...], html: str, path: str, name: str | None
) -> tuple[str, bool | None]:
    """The text of the first field that has a value, and whether the field's name says that it is HTML."""
    for key in plain:
        if item.get(key) is not None:
            return fields.text(item, key, path, name), None
    return fields.text(item, html, path, name), True


def matches_intercom(record: Any) -> bool:
    """A conversation with its parts."""
    return isinstance(record, dict) and "conversation_parts" in record


def drafts_intercom(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One conversation: its source is the first message, then come the parts that carry a body."""
    name = fields.name(record.get("id")) or fallback_id
    warnings: Counter[str] = Counter()
    source = fields.mapping(record, "source")
    turns = []
    if source:
        turns.append(_intercom_turn(source, "source", record.get("created_at"), name))
    holder = fields.mapping(record, "conversation_parts")
    parts = fields.items(holder, "conversation_parts", name)
    if isinstance(holder.get("total_count"), int) and holder["total_count"] > len(parts):
        warnings["W_INCOMPLETE"] += 1
    for index, part in enumerate(parts):
        action = _intercom_action(part)
        if action is not None:
            turns.append(action)
            continue
        turn = _intercom_turn(part, f"conversation_parts[{index}]", part.get("created_at"), name)
        if turn.text or part.get("part_type") == "comment":
            turns.append(turn)
        else:
            warnings["W_EVENT_SKIPPED"] += 1
    channel = source.get("type")
    yield Draft(name, turns, {"channel": channel if isinstance(channel, str) else None}, warnings)


def _intercom_action(part: dict[str, Any]) -> DraftTurn | None:
    """The start of a workflow's custom action as a bot's call, its end as the call's result; None for any
    other part. Intercom tells the action's name and whether it succeeded.

    Source: https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations
    """
    kind, at = part.get("part_type"), part.get("created_at")
    details = fields.mapping(part, "event_details")
    action = fields.mapping(details, "action")
    name, result = action.get("name"), action.get("result")
    if kind == "custom_action_started" and isinstance(name, str) and name.strip():
        return DraftTurn("bot", "", at, tool_calls=(tool_call(name),))
    if kind == "custom_action_finished" and isinstance(result, str):
        return DraftTurn("tool", result, at, tool_error=result == "failed")
    return None


def _intercom_turn(item: dict[str, Any], path: str, at: object, name: str) -> DraftTurn:
    author = fields.mapping(item, "author")
    role = fields.map_role(author.get("type"), INTERCOM_ROLES)
    if author.get("from_ai_agent") is True:
        role = "bot"
    elif role == "team":
        role = "agent"
    return DraftTurn(
        role,
        fields.text(item, "body", path, name),
        at,
        fields.name(author.get("id")),
        is_note_type(item.get("part_type")),
        html=True,
    )


def matches_freshdesk(record: Any) -> bool:
    """The bare list of a ticket's conversations, or a ticket that includes them."""
    items = record.get("conversations") if isinstance(record, dict) else record
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, dict) and "incoming" in first and ("body_text" in first or "body" in first)


def drafts_freshdesk(record: Any, fallback_id: str) -> Iterator[Draft]:
    """Each ticket of the list, in order of first appearance. A ticket's own description is its first
    message; a bare list does not hold it."""
    if isinstance(record, dict):
        name = fields.name(record.get("id")) or fallback_id
        text, html = _body(record, ("description_text",), "description", "ticket", name)
        requester = fields.name(record.get("requester_id"))
        first = DraftTurn("customer", text, record.get("created_at"), requester, html=html)
        turns = [first] if first.text else []
        conversations = fields.items(record, "conversations", name)
        yield Draft(name, turns + _freshdesk(conversations, "conversations", name), path="conversations")
        return
    tickets: dict[str, list[dict[str, Any]]] = {}
    for item in fields.items({"list": record}, "list"):
        tickets.setdefault(fields.name(item.get("ticket_id")) or fallback_id, []).append(item)
    for name, items in tickets.items():
        yield Draft(name, _freshdesk(items, "", name), path="")


def _freshdesk(items: list[dict[str, Any]], path: str, name: str) -> list[DraftTurn]:
    turns = []
    for index, item in enumerate(items):
        incoming = item.get("incoming")
        role: object = (
            {True: "customer", False: "agent"}.get(incoming) if isinstance(incoming, bool) else incoming
        )
        position = f"{path}[{index}]"
        text, html = _body(item, ("body_text",), "body", position, name)
        internal = record_flag(item, "private", position, public=False)
        author = fields.name(item.get("user_id"))
        turns.append(DraftTurn(role, text, item.get("created_at"), author, internal, html))
    return turns
