"""How an account likes its screens: language, names, saving. Only its owner reads it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from sqlalchemy import select

from dialint.detector.records import Record
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import preferences
from dialint.labeling.store.database.transactions import Transaction, upsert
from dialint.labeling.store.permissions import read_operation, write_operation

Text = Annotated[str, Field(max_length=200)]


class Preferences(Record):
    """What an account chose. `reasons`: how often a reason for rejecting a code was chosen, by
    ``CODE:reason``. `auto_save`: whether Review and Label save an answer after its last decision."""

    language: Literal["en", "es", "ru"] | None = None
    reasons: Annotated[dict[Text, int], Field(max_length=1000)] = Field(default_factory=dict)
    hide_names: bool = True
    auto_save: bool = False


@read_operation("label")
def load_preferences(transaction: Transaction, actor: str) -> Preferences:
    """The actor's preferences; the usual ones if nothing was chosen."""
    query = select(preferences.c.content).where(preferences.c.account == actor)
    content = transaction.run(query).scalar_one_or_none()
    return Preferences() if content is None else Preferences.model_validate_json(content)


@write_operation("label")
def save_preferences(transaction: Transaction, actor: str, chosen: Preferences) -> None:
    """Save the actor's preferences."""
    content = canonical_json(chosen.model_dump(mode="json"))
    upsert(transaction, preferences, {"account": actor, "content": content})
    transaction.log(actor, "preferences.save", actor)
