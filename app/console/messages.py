"""Messages of a page: errors, and the results of actions.

An error keeps its text in English with places for values (`dialint.detector.errors.Message`), which the
catalogues translate (`dialint.app.console.i18n`).

A newer run of a page ends the one before at its next call of Streamlit, so what that drew may never reach the
browser. So a notice stays for `STAYS_S` after it was first shown, or until the next thing is done on the
page, and what is done holds the notices first (`hold_notices`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from string import Formatter
from typing import Any

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.i18n import N_, ROLE_NAMES, STATUS_NAMES, _, hold_language, show_number
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import DialintError, Message, invalid_value
from dialint.labeling.store.records import DialogueMissing

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
"""The texts of values, by the value's name."""


class _Localized(Formatter):
    """Formats numbers with the separators of the language, and messages among the values in it."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, Message):
            return _translate(value)
        if format_spec == ",":
            return show_number(value)
        return super().format_field(value, format_spec)


def explain(error: DialintError) -> str:
    """Return the message of an error: a clause, without a capital letter and without a full stop."""
    return _translate(error.text)


def explain_as_sentence(error: DialintError) -> str:
    """Return the message as `explain` does, with a capital letter, the error's code and a full stop."""
    text = explain(error).rstrip(".")
    return f"{text[:1].upper()}{text[1:]} ({error.code})."


def explain_text(text: str) -> str:
    """Translate a message that is not an error's own, such as one that a process left in a file."""
    return _translate(Message(text))


def explain_validation(error: ValidationError) -> str:
    """Describe the first value that a form's record refuses."""
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


ERASED = N_("This dialogue was deleted from the store meanwhile. Nothing of it was saved.")
STAYS_S = 10.0
NOTICES = "notices"
"""Key in session state: the messages by page, changed in place."""


@dataclass
class Notice:
    """A message: `kind` is success, info or error; `displayed_s` is when a run first showed it."""

    kind: str
    text: str
    displayed_s: float | None = None


_HELD: ContextVar[dict[str, Notice] | None] = ContextVar("held notices", default=None)


def _notices() -> dict[str, Notice]:
    if (held := _HELD.get()) is not None:
        return held
    notices: dict[str, Notice] = st.session_state.setdefault(NOTICES, {})
    return notices


@contextmanager
def hold_notices(page: str) -> Iterator[None]:
    """Drop the page's notice; within, `set_notice` and texts make no call at which a newer click could end
    the run."""
    notices = _notices()
    notices.pop(page, None)
    token = _HELD.set(notices)
    try:
        with hold_language():
            yield
    finally:
        _HELD.reset(token)


def set_notice(page: str, kind: str, text: str) -> None:
    """Show `text` on the next run of `page`; `kind` is success, info or error."""
    _notices()[page] = Notice(kind, text)


def current_notice(page: str) -> Notice | None:
    """Return the message that this run of `page` shows, if there is one."""
    notices, now_s = _notices(), time.monotonic()
    notice = notices.get(page)
    if notice is None:
        return None
    if notice.displayed_s is None:
        notice.displayed_s = now_s
    elif now_s - notice.displayed_s > STAYS_S:
        del notices[page]
        return None
    return notice


def show_notice(page: str) -> None:
    """Show the message of `page`, if there is one."""
    if (notice := current_notice(page)) is not None:
        {"success": st.success, "info": st.info, "error": st.error}[notice.kind](safe_markdown(notice.text))


EMPTY = "empty fields"
"""Key in session state: values of widgets for the next run, by the widget's key."""


@contextmanager
def report_refusals(page: str) -> Iterator[None]:
    """In the callback of a button: show on the next run of `page` what the store refuses."""
    with hold_notices(page):
        try:
            yield
        except ValidationError as error:
            set_notice(page, "error", explain_validation(error))
        except DialogueMissing:
            set_notice(page, "error", _(ERASED))
        except DialintError as refused:
            set_notice(page, "error", explain_as_sentence(refused))


@contextmanager
def attempt(page: str, empty: Mapping[str, str | bool] = {}) -> Iterator[Callable[[str], None]]:
    """Carry out a submitted form, report refusals as `report_refusals`, and run the page again. Yields a
    function that takes the notice of success, after which the fields of `empty` get the values there; a
    refusal leaves the form as it was filled."""
    fields: dict[str, str | bool] = st.session_state.setdefault(EMPTY, {})

    def done(text: str) -> None:
        set_notice(page, "success", text)
        fields.update(empty)  # in place: no newer click comes between the deed and this

    with report_refusals(page):
        yield done
    st.rerun()


def empty_fields() -> None:
    """Empty the fields of the form that the last run carried out, before the page shows them."""
    fields: dict[str, str | bool] = st.session_state.setdefault(EMPTY, {})
    st.session_state.update(fields)
    fields.clear()


ADMIN, SECRET = "admin", "one-time password"


def set_secret(text: str) -> None:
    """Show a one-time password. The next form does not drop it: a second click would take it away unread."""
    set_notice(SECRET, "info", text)


def show_admin_notices() -> None:
    """Show the result of the last form."""
    show_notice(ADMIN)
    if (secret := current_notice(SECRET)) is not None:
        st.info(_("Tell this password to its owner. It is shown once and works for one sign-in."))
        st.code(safe_text(secret.text), language=None)
