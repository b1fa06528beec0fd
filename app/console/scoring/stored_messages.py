"""Messages in the files of a job, which a process writes and a page shows in the language of who looks.

They are kept with template and values; files that were written before have their text in English.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from dialint.detector.errors import Message

StoredMessage = Annotated[Message, PlainValidator(Message.from_json), PlainSerializer(Message.as_json)]
"""A message as a field of a record."""


def store_messages(value: Any) -> Any:
    """A value as JSON has it, with the template and the values of each message in it."""
    if isinstance(value, Message):
        return value.as_json()
    if isinstance(value, dict):
        return {key: store_messages(each) for key, each in value.items()}
    return [store_messages(each) for each in value] if isinstance(value, list) else value


def load_message(content: dict[str, Any]) -> Any:
    """The message that an object of JSON holds, or the object itself: an ``object_hook`` for `json.loads`."""
    return Message.from_json(content) if content.keys() == {"template", "values"} else content
