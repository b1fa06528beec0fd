"""Research corpora: ABCD, MultiWOZ 2.0/2.1 (keyed by file name) and SGD / MultiWOZ 2.2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialint.detector.ingest.checks import Draft, DraftTurn
from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.outcomes import BadRecord

ABCD_ROLES = {"customer": "customer", "agent": "agent", "action": "system"}
SGD_ROLES = {"USER": "customer", "SYSTEM": "bot"}


def matches_abcd(record: Any) -> bool:
    """A conversation of ABCD v1.1."""
    return isinstance(record, dict) and "convo_id" in record and ("original" in record or "delexed" in record)


def drafts_abcd(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One conversation; its id is `convo_id`. The original words are read where they are there."""
    name = fields.name(record.get("convo_id")) or fallback_id
    if "original" not in record:
        items = fields.items(record, "delexed", name)
        turns = [DraftTurn(fields.known(item.get("speaker"), ABCD_ROLES), item.get("text")) for item in items]
        yield Draft(name, turns, path="delexed")
        return
    pairs = record["original"]
    if not isinstance(pairs, list):
        raise BadRecord("E_TYPE", "original", fields.kind(pairs), "a list of pairs", name)
    turns = []
    for index, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadRecord("E_TYPE", f"original[{index}]", fields.kind(pair), "[speaker, text]", name)
        turns.append(DraftTurn(fields.known(pair[0], ABCD_ROLES), pair[1]))
    yield Draft(name, turns, path="original")


def matches_multiwoz(record: Any) -> bool:
    """One value of MultiWOZ's `data.json`."""
    return isinstance(record, dict) and isinstance(record.get("log"), list)


def drafts_multiwoz(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One dialogue; its id is its key. Even turns are the customer's, odd ones the human wizard's."""
    turns = [
        DraftTurn("agent" if index % 2 else "customer", item.get("text"))
        for index, item in enumerate(fields.items(record, "log", fallback_id))
    ]
    yield Draft(fields.name(record.get("dialogue_id")) or fallback_id, turns, path="log")


def matches_sgd(record: Any) -> bool:
    """A dialogue of SGD or MultiWOZ 2.2."""
    first = fields.first(record, "turns")
    return "speaker" in first and "utterance" in first


def drafts_sgd(record: dict[str, Any], fallback_id: str) -> Iterator[Draft]:
    """One dialogue."""
    name = fields.name(record.get("dialogue_id")) or fallback_id
    turns = [
        DraftTurn(fields.known(item.get("speaker"), SGD_ROLES), item.get("utterance"))
        for item in fields.items(record, "turns", name)
    ]
    yield Draft(name, turns)
