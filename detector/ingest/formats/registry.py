"""All JSON shapes in the order in which they are tried, and those that are known but not read."""

from __future__ import annotations

from typing import Any

from dialint.detector.ingest.formats import corpora, helpdesk, messaging, openai, tau
from dialint.detector.ingest.shapes import CANONICAL, Shape

SHAPES: tuple[Shape, ...] = (
    CANONICAL,
    Shape("tau", tau.matches, tau.drafts),
    Shape("tau2", tau.matches_tau2, tau.drafts_tau2, members=("simulations",)),
    Shape("sgd", corpora.matches_sgd, corpora.drafts_sgd),
    Shape("abcd", corpora.matches_abcd, corpora.drafts_abcd, members=("train", "dev", "test")),
    Shape("zendesk", helpdesk.matches_zendesk, helpdesk.drafts_zendesk),
    Shape("zendesk-messaging", messaging.matches_zendesk, messaging.drafts_zendesk),
    Shape("intercom", helpdesk.matches_intercom, helpdesk.drafts_intercom, members=("conversations",)),
    Shape("freshdesk", helpdesk.matches_freshdesk, helpdesk.drafts_freshdesk, array="whole"),
    Shape("hubspot", messaging.matches_hubspot, messaging.drafts_hubspot),
    Shape("twilio", messaging.matches_twilio, messaging.drafts_twilio),
    Shape("connect", messaging.matches_connect, messaging.drafts_connect),
    Shape("multiwoz", corpora.matches_multiwoz, corpora.drafts_multiwoz, members=("*",)),
    Shape("openai", openai.matches, openai.drafts, array="refused"),
    Shape("sharegpt", openai.matches_sharegpt, openai.drafts_sharegpt),
)


def unread(record: Any) -> str | None:
    """What `record` seems to be, if it is of a tool whose shape is known only second-hand."""
    if not isinstance(record, dict):
        return None
    later = "which is not read yet; write it as canonical JSON lines"
    if isinstance(record.get("chats"), list):
        return f"looks like a Zendesk Chat or Telegram export, {later}"
    if isinstance(record.get("transcripts"), list):
        return f"looks like a Genesys transcript, {later}"
    messages = record.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    if isinstance(first, dict) and "date_unixtime" in first:
        return f"looks like a Telegram export, {later}"
    return None
