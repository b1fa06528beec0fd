"""Tables whose cells are inert, links between pages, periods of days, and shares with their intervals in
words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dialint.app.console.i18n import _, ngettext, paragraph, show_day, show_number, show_percent
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.statistics import Estimate, compare_shares, round_interval, wilson_interval
from dialint.labeling.reviewed_scores import ReviewedScore

T = TypeVar("T")
TILE_PX = 172


@dataclass(frozen=True)
class PageLink:
    """A cell that leads to an address of ours."""

    text: str
    address: str


Colour = Literal["red", "orange", "blue", "gray"]


@dataclass(frozen=True)
class Chips:
    """A cell of short texts on coloured grounds; no meaning may be in the colour alone."""

    chips: tuple[tuple[str, Colour], ...]


Cell = str | PageLink | Chips


def table_cell(cell: Cell) -> str:
    """Format a cell as Markdown, inert but for the link."""
    if isinstance(cell, PageLink):
        return link(cell.text, cell.address)
    if isinstance(cell, Chips):
        return " ".join(f":{colour}-badge[{safe_markdown(text)}]" for text, colour in cell.chips)
    return safe_markdown(cell)


def show_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Show a static table, lines between its rows. Headings must differ."""
    listed = list(rows)
    st.table(
        {
            safe_markdown(heading): [table_cell(row[column]) for row in listed]
            for column, heading in enumerate(headings)
        },
        border="horizontal", hide_index=True,
    )  # fmt: skip


def select(
    label: str, options: Mapping[T, str] | Collection[T], key: str | None = None,
    show: Callable[[T], str] = str, *,
    usual: T | None = None, help: str | None = None, at: DeltaGenerator | None = None,
    width: int | Literal["stretch"] = "stretch", on_change: Callable[[], None] | None = None,
) -> T:  # fmt: skip
    """Return what is chosen in a select box of `options`, at first `usual`. Their names, which are values or
    made by `show`, are inert; `label` and `help` are texts of ours."""
    names = options if isinstance(options, Mapping) else {each: show(each) for each in options}
    index = 0 if usual is None or usual not in names else list(names).index(usual)
    chosen: T = (at or st).selectbox(
        label, list(names), index, lambda each: safe_text(names[each]), key, help, on_change, width=width
    )
    return chosen


def choose_view(views: Mapping[str, str], key: str, usual: str | None = None) -> str:
    """Show the views of a page by their names, and return the one that is chosen, at first `usual`."""
    return st.segmented_control(
        _("View"), list(views), default=usual or next(iter(views)), key=key, required=True,
        format_func=lambda each: safe_markdown(views[each]), label_visibility="collapsed",
    )  # fmt: skip


def split_commas(text: str) -> tuple[str, ...]:
    """Return what stands between the commas, sorted."""
    return tuple(sorted({each.strip() for each in text.split(",") if each.strip()}))


def choose_rows(rows: Sequence[T], key: str, per_page: int = 50) -> Sequence[T]:
    """Return the rows of the page that is chosen above the table; a choice only where there are several."""
    n_pages = -(-len(rows) // per_page)
    if n_pages < 2:
        return rows
    page = select(_("Page"), {n: show_number(n + 1) for n in range(n_pages)}, key, width=120)
    return rows[page * per_page : (page + 1) * per_page]


def show_paging(pages: list[Any], last: Any, *, has_more: bool, key: str) -> None:
    """Show buttons to newer and older rows. `pages` has the start of each page after the first, `last` that
    of the next one."""
    if pages or has_more:
        with st.container(horizontal=True):
            st.button(_("◀ Newest"), disabled=not pages, on_click=pages.clear, key=f"{key} newest")
            st.button(
                _("Older ▶"), disabled=not has_more, key=f"{key} older", on_click=lambda: pages.append(last)
            )


def percent_bounds(low: float, high: float) -> tuple[str, str]:
    """Return the ends of an interval of a share as percentages, rounded so that they differ."""
    first, last = round_interval(low, high, 2)
    return show_percent(first), show_percent(last)


def share_text(successes: int, n: int) -> str:
    """Format a share with its Wilson interval, as ``31 % (16–51)``; a dash if `n` is 0."""
    if not n:
        return "–"
    bounds = round_interval(*wilson_interval(successes, n), 2)
    low, high = (show_number(round(100 * each)) for each in bounds)
    return f"{show_percent(successes / n)} ({low}–{high})"


def share_of_text(successes: int, n: int) -> str:
    """Format a share with its interval and denominator, as ``31 % (16–51) of 26``; a dash if `n` is 0."""
    share = share_text(successes, n)
    return _("{share} of {n}").format(share=share, n=show_number(n)) if n else share


def score_text(score: ReviewedScore) -> str:
    """Format a reviewed score with its interval, as ``91.2 (88.9 to 93.1)``, if there is evidence."""
    if score.value is None:
        return _("not enough evidence")
    return f"{mean_text(score.value)} ({score_bounds(score)})" if score.unread.n else mean_text(score.value)


def score_bounds(score: ReviewedScore) -> str:
    """Format the interval of a reviewed score, as ``88.9 to 93.1``, or say that it is exact."""
    if score.value is None or score.low is None or score.high is None:
        return _("not enough evidence")
    if not score.unread.n:
        return _("all read")
    return _("{low} to {high}").format(low=mean_text(score.low), high=mean_text(score.high))


def show_score_tile(score: ReviewedScore, address: str | None) -> None:
    """Show the tile of a reviewed score, beside that of the model."""
    show_tile(
        _("Reviewed score"), mean_text(score.value), score_bounds(score), paragraph("Mean score of all"),
        address, _("model {n}").format(n=mean_text(score.model)),
    )  # fmt: skip


def show_score_parts(score: ReviewedScore, address: str | None) -> None:
    """Show the parts of a reviewed score, and its correlation with the ratings in the log. `address` is that
    of the dialogues that people read."""
    parts = (
        (_("People decided"), score.decided, address), (_("Read as a random sample"), score.sampled, address),
        (_("Not read: the model, corrected by the sample"), score.unread, None),
    )  # fmt: skip
    rows = [
        (
            name, PageLink(show_number(part.n), to) if to and part.n else show_number(part.n),
            mean_text(part.model) + (f" (n = {part.n_judged})" if 0 < part.n_judged < part.n else ""),
            _("not enough evidence") if part.n and part.reviewed is None else mean_text(part.reviewed),
        )
        for name, part, to in parts
    ]  # fmt: skip
    show_table((_("Dialogues"), _("How many"), _("Model"), _("Reviewed")), rows)
    if score.rating is not None:
        text = _("Rating or reward in the log: {mean} in the mean, of {n} in all.")
        text = text.format(mean=show_number(round(score.rating, 2)), n=show_number(score.n_rated))
        more = _("Too few, or all alike, to compare with the scores.")
        if score.correlation is not None:
            more = _("Rank correlation with the scores: {n}.").format(n=estimate_text(score.correlation))
        st.caption(safe_markdown(f"{text} {more}"))


def mean_text(mean: float | None) -> str:
    """Format a mean score with one decimal; a dash for None."""
    return "–" if mean is None else show_number(round(mean, 1), "0.0")


def estimate_text(estimate: Estimate, *, signed: bool = False) -> str:
    """Format an estimate, as ``0.62 (0.41 … 0.80)``; a dash where it is not defined."""
    if estimate.value != estimate.value:
        return "–"
    pattern = "+0.00;−0.00" if signed else "0.00"
    value = show_number(round(estimate.value, 2) + 0.0, pattern)  # never -0.00
    if estimate.low != estimate.low:
        return value
    bounds = round_interval(estimate.low, estimate.high, 2)
    low, high = (show_number(bound + 0.0, pattern) for bound in bounds)
    return f"{value} ({low} … {high})"


def share_change(k: int, n: int, k_before: int, n_before: int) -> str:
    """Return the difference of two shares in percentage points, if its interval leaves out zero."""
    if not n or not n_before:
        return _("nothing to compare with")
    if compare_shares(k, n, k_before, n_before) not in ("more", "fewer"):
        return _("no clear change")
    points = 100 * (k / n - k_before / n_before)
    return _("{n} points").format(n=show_number(points, "+0.0;-0.0"))


def interval_text(k: int, n: int) -> str:
    """Format the interval of a share, as ``16 % to 51 %``."""
    if not n:
        return _("no data")
    low, high = percent_bounds(*wilson_interval(k, n))
    return _("{low} to {high}").format(low=low, high=high)


def show_tile(
    title: str, value: str, note: str, explanation: str, address: str | None = None, change: str | None = None
) -> None:
    """Show a figure with a `note` below it, which leads to the `address`, and its `change`."""
    with st.container(border=True, width=TILE_PX, gap="xxsmall"):
        st.metric(
            safe_markdown(title), safe_text(value), None if change is None else safe_text(change),
            delta_color="off", delta_arrow="auto" if change and change[0] in "+-" else "off",
            help=safe_markdown(explanation),
        )  # fmt: skip
        st.markdown(f":small[{safe_markdown(note) if address is None else link(note, address)}]")


def explore_address(**filters: str | None) -> str:
    """Return the address of the Explore page with these filters; None and empty ones are left out."""
    chosen = {name: value for name, value in filters.items() if value}
    return f"/explore?{urlencode(chosen)}" if chosen else "/explore"


def dialogue_address(name: str, **filters: str | None) -> str:
    """Return the address of a dialogue's page; with `filters`, as one of the results of that search."""
    chosen = {key: value for key, value in filters.items() if value}
    return f"/dialogue?{urlencode({'id': name, **chosen}, quote_via=quote, safe='')}"


def dialogue_cell(name: str, **filters: str) -> PageLink:
    """Return a cell that leads to a dialogue's page, as one of the results of the search with `filters`."""
    return PageLink(name, dialogue_address(name, **filters))


def dialogue_link(name: str, *, is_open: bool) -> str:
    """Return a link to a dialogue's page as Markdown, or the name alone for who may not open it."""
    return link(name, dialogue_address(name)) if is_open else safe_markdown(name)


def go_to(address: str, query: Mapping[str, str] | None = None) -> None:
    """Show another page of the console, by its address, in the same session and tab."""
    st.switch_page(st.Page(lambda: None, title=address, url_path=address), query_params=query)


def link(text: str, address: str) -> str:
    """Return a link as Markdown: `text` is inert, and `address` is one of ours, its parts percent-encoded."""
    return f"[{safe_markdown(text)}]({address})"


DAY_MS = 86_400_000
LENGTHS = (7, 30, 90)
ALL = 0
"""Value of the period control for every day that has dialogues."""


@dataclass(frozen=True)
class Period:
    """The days from `first` to `last`, both included."""

    first: date
    last: date
    is_whole: bool = False
    """True for all days that have dialogues."""

    @property
    def n_days(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1

    @property
    def since_ms(self) -> int:
        """The start, in ms since 1970."""
        return int(datetime(self.first.year, self.first.month, self.first.day, tzinfo=UTC).timestamp() * 1000)

    @property
    def until_ms(self) -> int:
        """The end, exclusive, in ms since 1970."""
        return self.since_ms + self.n_days * DAY_MS

    @property
    def before(self) -> Period:
        """The same number of days right before it."""
        last = self.first - timedelta(days=1)
        return Period(last - timedelta(days=self.n_days - 1), last)

    @property
    def filters(self) -> dict[str, str]:
        """The period as parameters of the Explore page."""
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


def to_ms(day: date | None) -> int | None:
    """Return the start of a day (UTC), in ms since 1970."""
    return None if day is None else Period(day, day).since_ms


def last_days(n: int, today: date | None = None) -> Period:
    """Return the last `n` days, today among them."""
    today = today or datetime.now(UTC).date()
    return Period(today - timedelta(days=n - 1), today)


def choose_period(key: str, extent: tuple[date, date] | None, usual: int = 7) -> Period:
    """Show a control for one of `LENGTHS` or the `extent` of all dialogues, and return the chosen period."""
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
