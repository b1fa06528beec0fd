"""Spans of whole days (UTC) that pages compare: the last days, and as many before them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_day
from dialint.app.console.text import safe_markdown, safe_text

DAY_MS = 86_400_000
LENGTHS = (7, 30, 90)
ALL = 0
"""In place of a length: every day that has dialogues."""


@dataclass(frozen=True)
class Period:
    """The days from `first` to `last`, both included."""

    first: date
    last: date
    is_whole: bool = False
    """Every day that has dialogues."""

    @property
    def n_days(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    @property
    def since_ms(self) -> int:
        """When it begins, in ms since 1970."""
        return int(datetime(self.first.year, self.first.month, self.first.day, tzinfo=UTC).timestamp() * 1000)

    @property
    def until_ms(self) -> int:
        """The first moment after it, in ms since 1970."""
        return self.since_ms + self.n_days * DAY_MS

    @property
    def before(self) -> Period:
        """The same number of days right before it."""
        last = self.first - timedelta(days=1)
        return Period(last - timedelta(days=self.n_days - 1), last)

    @property
    def filters(self) -> dict[str, str]:
        """Its part of the address of the Explore page."""
        return {"since": self.first.isoformat(), "until": self.last.isoformat()}

    def text(self) -> str:
        """Its days in the language of the page."""
        first, last = (
            show_day(datetime(day.year, day.month, day.day, tzinfo=UTC)) for day in (self.first, self.last)
        )
        return f"{first} – {last}"

    def compared_text(self) -> str:
        """Its days and those that it is compared with, in the language of the page."""
        if self.is_whole:
            return self.text()
        return _("{days} against {earlier}").format(days=self.text(), earlier=self.before.text())


def last_days(n: int, today: date | None = None) -> Period:
    """The last `n` days, today among them."""
    today = today or datetime.now(UTC).date()
    return Period(today - timedelta(days=n - 1), today)


def choose_period(key: str, extent: tuple[date, date] | None, usual: int = 7) -> Period:
    """A control for one of `LENGTHS` or for the `extent` of all dialogues, and the period that is chosen."""
    days = st.segmented_control(
        _("Period"), (*LENGTHS, ALL), default=usual, required=True, key=key,
        format_func=lambda n: safe_text(ngettext("{n} day", "{n} days", n) if n else _("All time")),
    )  # fmt: skip
    if days == ALL and extent is not None:
        return Period(*extent, is_whole=True)
    return last_days(days or usual)


def show_outside(key: str, n_inside: int, n_all: int) -> None:
    """Say how many dialogues are outside of the period that `choose_period` showed, with a way to them."""
    n = n_all - n_inside
    if n <= 0:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text = ngettext(
            "{n} dialogue is outside of this period.", "{n} dialogues are outside of this period.", n
        )
        if n_inside:
            st.caption(safe_markdown(text), width="content")
        else:
            st.info(safe_markdown(f"{text} {_('Nothing below counts them.')}"))
        st.button(
            _("Show all dialogues"), key=f"{key} all", type="tertiary" if n_inside else "primary",
            on_click=lambda: st.session_state.update({key: ALL}),
        )  # fmt: skip
