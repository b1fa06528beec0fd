"""Spans of whole days (UTC) that pages compare: the last days, and as many before them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_day
from dialint.app.console.text import safe_text

DAY_MS = 86_400_000
LENGTHS = (7, 30, 90)


@dataclass(frozen=True)
class Period:
    """The days from `first` to `last`, both included."""

    first: date
    last: date

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


def last_days(n: int, today: date | None = None) -> Period:
    """The last `n` days, today among them."""
    today = today or datetime.now(UTC).date()
    return Period(today - timedelta(days=n - 1), today)


def choose_period(key: str, usual: int = 7) -> Period:
    """A control for one of `LENGTHS`, and the period that is chosen."""
    days = st.segmented_control(
        _("Period"), LENGTHS, default=usual, required=True, key=key,
        format_func=lambda n: safe_text(ngettext("{n} day", "{n} days", n)),
    )  # fmt: skip
    return last_days(days or usual)
