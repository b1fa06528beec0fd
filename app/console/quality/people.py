"""The People page: labelers and reviewers by code, how far they agree, their speed, and suspicions.

Each figure has its 95 % interval, or is left out where answers are too few. A suspicion is a reason to look;
a lead decides, with a reason that the audit log keeps.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context

import streamlit as st

from dialint.app.console.i18n import (
    _,
    ngettext,
    paragraph,
    role_name,
    show_number,
    show_percent,
    show_time,
    status_name,
)
from dialint.app.console.tables import choose_rows, link, select, show_table
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.errors import WorldError
from dialint.detector.statistics import round_interval
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.raters.anomalies import Flag, Kind
from dialint.labeling.raters.estimates import Figure, Speed
from dialint.labeling.raters.people import Labeler, People, measure_store
from dialint.labeling.store.accounts import list_accounts
from dialint.labeling.store.api import Store
from dialint.labeling.store.projects import list_projects
from dialint.labeling.store.rater_status import RaterStatus, evaluate_status
from dialint.labeling.store.records import Account

CACHE_S = 600
"""Lifetime of measured figures: measuring reads every answer."""
MEASURING = threading.Lock()
NICENESS = 10
SPANS = (30, 90, 0)
"""Days back; 0 for all time."""
EVERYTHING = ""
PER_PAGE = 25
N_CODES = 12


def people_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    st.subheader(_("People"), anchor=False)
    accounts = {each.id: each for each in list_accounts(store, account.id)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        days = st.segmented_control(
            _("Answers of"), SPANS, default=90, required=True, key="people span",
            format_func=lambda n: safe_text(ngettext("{n} day", "{n} days", n) if n else _("All time")),
        )  # fmt: skip
        names = [project.id for project, _state in list_projects(store, account.id)]
        everything = {EVERYTHING: _("All, and reviews outside of projects")}
        project = select(
            _("Project"), everything | dict(zip(names, names, strict=True)), "people project", width=310
        )
        if st.button(_("Measure again"), key="people measure", help=_("Figures are kept for ten minutes.")):
            _measure.clear()
    place = store.engine.url.render_as_string(hide_password=True)
    measured_at, people = _measure(store, place, account.id, project or None, 90 if days is None else days)
    statuses = evaluate_status(store, account.id)
    if people is None:
        st.info(_("Nobody has answered anything here yet."))
        _show_rules(statuses)
        return
    text = _("{annotations} annotations by {people} people, {gold} known answers; measured on {time}.")
    summary = text.format(
        annotations=show_number(people.quality.annotations), people=show_number(len(people.quality.labelers)),
        gold=show_number(people.quality.gold), time=show_time(measured_at),
    )  # fmt: skip
    if people.left_out:
        summary += " " + _("{n} older answers are left out; choose a project or fewer days.").format(
            n=show_number(people.left_out)
        )
    st.caption(safe_markdown(summary))
    _show_everybody(people.quality.labelers, accounts)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _show_suspicions(people.quality.flags)
    with right:
        _show_rules(statuses)
    _show_codes(people.quality.labelers)


@st.cache_data(ttl=CACHE_S, max_entries=20, show_spinner=False)
def _measure(
    _store: Store, place: str, actor: str, project: str | None, days: int
) -> tuple[datetime, People | None]:
    """Return the figures and when they were measured, for one account: the store checks its rights when it
    measures, and the caller on each run. `place` names the store.

    A process of its own measures, one at a time and of low priority: 2,000 answers take ten seconds and
    300 MB, which the server would not get back and its other people would wait for (2026-11-26).

    Raises:
        WorldError: E_MEASURE, the process came to its end before.
    """
    now = datetime.now(UTC)
    since = now - timedelta(days=days) if days else None
    location = _store.engine.url.render_as_string(hide_password=False)
    try:
        with MEASURING, ProcessPoolExecutor(1, get_context("spawn"), os.nice, (NICENESS,)) as process:
            return now, process.submit(measure_store, location, actor, project, since).result()
    except BrokenProcessPool:
        raise WorldError("E_MEASURE", "the figures could not be measured; is there memory left?") from None


def _show_everybody(people: Sequence[Labeler], accounts: dict[str, Account]) -> None:
    rows = []
    for person in choose_rows(people, "people page", PER_PAGE):
        quality, registered = person.overall, accounts.get(person.name)
        role = "–" if registered is None else role_name(registered.role)
        if registered is not None and registered.status != "active":
            role = f"{role}, {status_name(registered.status)}"
        rows.append((
            person.name,
            role,
            show_number(quality.answers),
            _format_share(quality.agreement), _format_share(quality.accuracy),
            _format_figure(
                quality.bias, lambda each: show_number(n, "+0;-0") if (n := round(100 * each)) else "0",
                2, between=" … ",
            ),
            _format_figure(person.competence, lambda each: show_number(each, "0.0;-0.0"), 1),
            _format_quartiles(person.speed), _format_quartiles(person.reading),
            show_number(len(person.flags)) if person.flags else "–",
        ))  # fmt: skip
    headings = (
        _("Name"), _("Role"), _("Answers"), _("Agreement"), _("On gold"), _("Bias, points"),
        _("Competence"), _("Seconds"), _("Words a minute"), _("Suspicions"),
    )  # fmt: skip
    show_table(headings, rows)
    with st.expander(_("What these figures mean")):
        st.markdown(paragraph("**Answers**: one for each code"))


def _format_figure(
    figure: Figure, show: Callable[[float], str], digits: int, first: Callable[[float], str] | None = None,
    between: str = "–",
) -> str:  # fmt: skip
    """Format a value, by `first` if there is one, with its interval; a dash where there is none."""
    if figure.value is None or figure.low is None or figure.high is None:
        return "–"
    low, high = map(show, round_interval(figure.low, figure.high, digits))
    return f"{(first or show)(figure.value)} ({low}{between}{high})"


def _format_share(figure: Figure) -> str:
    return _format_figure(figure, lambda each: show_number(round(100 * each)), 2, show_percent)


def _format_quartiles(speed: Speed) -> str:
    if speed.median is None or speed.first_quartile is None or speed.third_quartile is None:
        return "–"
    value, low, high = (
        show_number(each, "#,##0") for each in (speed.median, speed.first_quartile, speed.third_quartile)
    )
    return f"{value} ({low}–{high})"


def _show_suspicions(flags: Sequence[Flag]) -> None:
    st.markdown(f"**{safe_markdown(_('Suspicions'))}**")
    if not flags:
        st.caption(
            _("None: nobody answers too fast, without reading, or like somebody else by more than chance.")
        )
        return
    kinds: dict[Kind, str] = {
        "no knowledge": _("Answers do not depend on the item"), "one answer": _("Always the same answer"),
        "contrary": _("Against the others"), "too fast": _("Faster than people are here"),
        "unread": _("Faster than anybody reads"), "copying": _("Copies, or shares answers"),
        "second school": _("Reads the instructions in another way"),
    }  # fmt: skip
    rows = []
    for flag in flags:
        p_value = flag.p_value or 0.0
        certainty = "p < 0.0001" if p_value < 1e-4 else f"p {show_number(p_value, '0.0000')}"
        if flag.probability is not None:
            certainty = _("probability {p}").format(p=show_number(flag.probability, "0.000"))
        rows.append((", ".join(flag.workers), kinds[flag.kind], flag.why, certainty))
    show_table((_("Who"), _("Suspicion"), _("Why"), _("Certainty")), rows)
    st.caption(paragraph("A suspicion is a reason for"))


def _show_codes(people: Sequence[Labeler]) -> None:
    st.markdown(f"**{safe_markdown(_('By error'))}**")
    by_name = {person.name: person for person in people}
    name = select(_("Person"), list(by_name), "people person", width=320)
    taxonomy = load_taxonomy()
    codes = by_name[name].codes
    rows = [
        (
            code_title(code, taxonomy),
            show_number(quality.answers), show_number(quality.yes), _format_share(quality.agreement),
            _format_share(quality.accuracy),
        )
        for code, quality in sorted(codes.items(), key=lambda item: (-item[1].yes, item[0]))[:N_CODES]
    ]  # fmt: skip
    show_table((_("Error"), _("Answers"), _("Seen"), _("Agreement"), _("On gold")), rows)
    if len(codes) > N_CODES:
        caption = ngettext(
            "The {n} error that was seen most.", "The {n} errors that were seen most.", N_CODES
        )
        st.caption(safe_markdown(caption))


def _show_rules(statuses: Sequence[RaterStatus]) -> None:
    """Show the changes of status that the rules suggest; they are made on the Admin page."""
    st.markdown(f"**{safe_markdown(_('Change a status'))}**")
    actions = {"retrain": _("retrain"), "suspend": _("suspend"), "admit": _("reopen")}
    if due := [(each.account, actions[each.does], each.why) for each in statuses if each.does != "keep"]:
        show_table((_("Who"), _("The rules say"), _("Why")), due)
    else:
        st.caption(_("The rules ask for no change of anybody's status."))
    st.markdown(link(_("Change an account"), "/admin"))
