"""The language of the screens: gettext catalogues in `locales/`, chosen by each account.

Texts are written in English in the code, inside of `_` or `ngettext`; `locales/LANGUAGE.po` has their
translations. Text of dialogues, names and identifiers are never translated; names of codes are in the
taxonomy.

"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Literal, get_args

import streamlit as st
import yaml
from babel.core import Locale
from babel.dates import format_date, format_time
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dialint.detector.taxonomy import Names
from dialint.labeling.store.records import AccountRole, Status

Language = Literal["en", "es", "ru"]
LANGUAGES: dict[Language, str] = {"en": "English", "es": "Español", "ru": "Русский"}
assert set(LANGUAGES) == set(get_args(Language))
LOCALES = Path(__file__).with_name("locales")
PARAGRAPHS = Path(__file__).with_name("paragraphs.yaml")
STATE = "language"
"""Key in session state; `main` sets it from the account's preferences."""

_HELD: ContextVar[Language | None] = ContextVar("held language", default=None)


def current_language() -> Language:
    """Return the language of this page: the account's choice, else that of the browser."""
    if (held := _HELD.get()) is not None:
        return held
    if get_script_run_ctx(suppress_warning=True) is None:
        return "en"
    chosen = st.session_state.get(STATE)
    if chosen is None:
        chosen = (st.context.locale or "en")[:2].lower()
    return chosen if chosen in LANGUAGES else "en"


@contextmanager
def _hold(language: Language) -> Iterator[None]:
    token = _HELD.set(language)
    try:
        yield
    finally:
        _HELD.reset(token)


def use_language(wanted: str) -> AbstractContextManager[None]:
    """Answer a request outside of a page in the language that its ``Accept-Language`` prefers."""
    return _hold(next((each for each in LANGUAGES if wanted[:2].lower() == each), "en"))


def hold_language() -> AbstractContextManager[None]:
    """Read the language once: to read it is a call of Streamlit, at which a newer click may end the run."""
    return _hold(current_language())


@cache
def load_catalogue(language: Language) -> NullTranslations:
    """Return the translations into a language; English needs none."""
    if language == "en":
        return NullTranslations()
    with (LOCALES / f"{language}.po").open("rb") as file:
        catalogue = read_po(file, locale=language, abort_invalid=True)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return GNUTranslations(compiled)


def _(message: str) -> str:
    """Return `message` in the language of this page."""
    return load_catalogue(current_language()).gettext(message)


@cache
def load_paragraphs() -> tuple[str, ...]:
    """Return the paragraphs of the screens, in English."""
    return tuple(yaml.safe_load(PARAGRAPHS.read_text(encoding="utf-8")))


def paragraph(start: str) -> str:
    """Return the paragraph of `paragraphs.yaml` that begins with `start`, in the language of this page."""
    return _(next(each for each in load_paragraphs() if each.startswith(start)))


def N_(message: str) -> str:
    """Return `message` itself: marks a text that `_` translates later."""
    return message


def ngettext(singular: str, plural: str, n: int) -> str:
    """Return the form of a text for the number `n` in the language of this page, ``{n}`` filled in."""
    return load_catalogue(current_language()).ngettext(singular, plural, n).format(n=show_number(n))


def choose_name(names: Names) -> str:
    """Return the name of a code, category or severity in the language of this page."""
    return str(getattr(names, current_language()))


def show_number(number: float, pattern: str | None = None) -> str:
    """Format a number with the separators of the language; `pattern` is CLDR's, such as ``0.0``."""
    return format_decimal(number, format=pattern, locale=_locale())


def show_percent(share: float, pattern: str = "#,##0") -> str:
    """Format a share in [0, 1] as a percentage, as ``59 %``, its number by `pattern`."""
    return format_percent(share, format=f"{pattern}\N{NO-BREAK SPACE}%", locale=_locale())


def from_ms(at_ms: int) -> datetime:
    """Return the time of milliseconds since 1970."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def show_day(at: datetime) -> str:
    """Format the day of a time, in UTC."""
    return format_date(at.astimezone(UTC), format="medium", locale=_locale())


def show_time(at: datetime) -> str:
    """Format day and minute of a time, in UTC, which the text says."""
    minute = format_time(at.astimezone(UTC), format="short", locale=_locale())
    return f"{show_day(at)}, {minute} UTC"


def _locale() -> Locale:
    return Locale.parse(current_language())  # which Babel caches


ROLE_NAMES: dict[AccountRole, str] = {
    "labeler": N_("labeler"), "reviewer": N_("reviewer"), "expert": N_("expert"), "lead": N_("lead"),
    "admin": N_("administrator"),
}  # fmt: skip
STATUS_NAMES: dict[Status, str] = {
    "active": N_("active"), "training": N_("in training"), "suspended": N_("suspended"),
    "banned": N_("banned"),
}  # fmt: skip


def role_name(role: AccountRole) -> str:
    """Return a role in the language of this page."""
    return _(ROLE_NAMES[role])


def status_name(status: Status) -> str:
    """Return a status in the language of this page."""
    return _(STATUS_NAMES[status])
