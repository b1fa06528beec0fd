"""What an error says, in the language of the page.

An error keeps its text in English with places for values (`dialint.detector.errors.Message`). The text is
found in the catalogues, as `dialint.app.console.catalogue` collects the texts of all errors that can reach a
screen. Values are shown as they are: names, numbers, codes. A word of the store, such as a role, is shown in
the words of the screens. A text that is in no catalogue, such as a masked excerpt of a log, is shown as it
is.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from pydantic import ValidationError

from dialint.app.console.account_names import ROLE_NAMES, STATUS_NAMES
from dialint.app.console.i18n import N_, _, show_number
from dialint.detector.errors import DialintError, Message, invalid_value

_WORDS: Mapping[str, Mapping[Any, str]] = {
    "role": ROLE_NAMES,
    "status": STATUS_NAMES,
    "right": {
        "label": N_("label"), "review": N_("review"), "decide": N_("decide"), "plan": N_("plan"),
        "discipline": N_("change a person's status"), "administer": N_("administer"),
    },
    "state": {
        "closed": N_("closed"), "overturned": N_("overturned"), "upheld": N_("upheld"),
        "amended": N_("amended"),
    },
}  # fmt: skip
"""By the name of a value: what its words are called."""


class _Localized(Formatter):
    """Formats numbers with the separators of the language, and messages among the values in it."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, Message):
            return _translate(value)
        if format_spec == ",":
            return show_number(value)
        return super().format_field(value, format_spec)


def explain(error: DialintError) -> str:
    """The message of an error: a clause, without a capital letter and without a full stop."""
    return _translate(error.text)


def explain_as_sentence(error: DialintError) -> str:
    """As `explain`, with a capital letter, the error's code and a full stop."""
    text = explain(error).rstrip(".")
    return f"{text[:1].upper()}{text[1:]} ({error.code})."


def explain_text(text: str) -> str:
    """A message that is not an error's own, such as one that a process left in a file."""
    return _translate(Message(text))


def explain_validation(error: ValidationError) -> str:
    """What is wrong with the first value that a form's record refuses."""
    first = error.errors(include_url=False, include_input=False)[0]
    problem = _translate(invalid_value(first))
    field = ".".join(map(str, first["loc"]))
    if not field:
        return problem
    return f"{_(_FIELDS[field]) if field in _FIELDS else field}: {problem}"


def _translate(message: Message) -> str:
    template = _(message.template) if message.template else ""  # of "", a catalogue gives its header
    if not message.values:
        return template
    values = {
        name: _(_WORDS[name][value]) if value in _WORDS.get(name, ()) else value
        for name, value in message.values.items()
    }
    return _Localized().vformat(template, (), values)


_FIELDS = {
    "id": N_("Name"), "codes": N_("Codes"), "overlap": N_("Answers per task"), "most": N_("At most"),
    "skills": N_("Skills that are needed, by commas"), "agent": N_("Agent id"), "issuer": N_("Issuer"),
    "subject": N_("Subject"),
}  # fmt: skip
"""The labels of the fields whose values a form does not check itself."""
