"""The Explore page: searches all dialogues, by words, findings, people, time and what was decided, and the
steps from one result to the next on the page of a dialogue.

The search is in the address, which can be shared: ``/explore?q=refund&code=C1``. Reviewers and up see it;
leads can send what they found to a review project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import streamlit as st

from dialint.app.console.i18n import N_, _, choose_name, from_ms, ngettext, show_number
from dialint.app.console.messages import report_refusals, set_notice, show_notice
from dialint.app.console.tables import Cell, Chips, Colour, dialogue_cell, go_to, select, show_table
from dialint.app.console.text import percent, safe_markdown, safe_text
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.store import projects, tasks
from dialint.labeling.store.api import Search, Store
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, NewTask
from dialint.labeling.store.search import Choices, HitFinding, SearchHit, count, list_choices, search

COLOURS: dict[str, Colour] = {"S1": "red", "S2": "orange", "S3": "blue"}
MARKS = {"confirmed": "✓", "rejected": "✗", "changed": "✎", "added": "+"}
"""The mark beside a code for people's decision on the finding."""
MAX_CHIPS = 6
NOTICE = "explore"


def explore_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    show_notice(NOTICE)
    chosen = read_address()
    title, actions = st.columns([1, 3], vertical_alignment="center")
    with title:
        st.subheader(_("Explore"), anchor=False)
    show_controls(chosen, list_choices(store, account.id), load_taxonomy())
    wanted = make_search(chosen)
    after = st.query_params.get("after") or None
    results = search(store, account.id, wanted, after)
    if has_permission(account, "plan"):
        with actions:
            _show_sending(store, account, results.hits)
    total = count(store, account.id, wanted)
    n = ngettext("{n} dialogue", "{n} dialogues", total.n)
    more = _("more than {n} dialogues").format(n=show_number(total.n))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(safe_markdown(n if total.exact else more), width="content")
        if chosen:
            st.button(_("Clear all filters"), type="tertiary", on_click=open_address, args=({},))
    if results.hits:
        _show_hits(results.hits, make_place(chosen, after), with_text=bool(wanted.text))
    else:
        st.info(_("No dialogue passes all filters."))
    with st.container(horizontal=True):
        st.button(
            _("◀ First page"), disabled=after is None, on_click=open_address, args=(chosen,), key="first page"
        )
        st.button(
            _("Next page ▶"), disabled=results.after is None, on_click=open_address,
            args=(chosen, results.after), key="next page",
        )  # fmt: skip


def _show_hits(hits: Sequence[SearchHit], place: dict[str, str], *, with_text: bool) -> None:
    headings = [_("Time"), _("Dialogue"), _("Agent, team, channel"), _("Findings"), _("Status")]
    headings += [_("Quality"), _("Reviewed score")]
    rows: list[list[Cell]] = []
    usual = {("status", "scored"), ("review", "none")}
    for hit in hits:
        origin = " · ".join(filter(None, (hit.agent, hit.team, hit.channel))) or "–"
        scores = [
            "–" if each is None else show_number(round(each)) for each in (hit.quality, hit.reviewed_quality)
        ]
        at = f"{from_ms(hit.at_ms):%Y-%m-%d %H:%M}"
        states = {("status", hit.status), ("review", hit.review), ("appeal", hit.appeal)} - usual
        titles = [_(title) for field, value, title in STATUSES.values() if (field, value) in states]
        row: list[Cell] = [at, dialogue_cell(hit.dialogue, **place), origin, _make_chips(hit.findings)]
        rows.append([*row, ", ".join(titles) or "–", *scores])
        if with_text:
            rows[-1].insert(4, "" if hit.snippet is None else hit.snippet.text)
    with st.container(key="explore hits"):
        show_table([*headings[:4], *([_("Text")] if with_text else []), *headings[4:]], rows)
    st.caption(_("Times in UTC. ✓ confirmed, ✗ rejected, ✎ changed, + added by a person, ? suggestion."))


def _make_chips(findings: Sequence[HitFinding]) -> Chips:
    ordered = sorted(findings, key=lambda each: each.suggestion)
    chips: list[tuple[str, Colour]] = []
    for each in ordered[:MAX_CHIPS]:
        mark = MARKS.get(each.decision, "?" if each.suggestion else "")
        probability = "" if each.decision == "added" else percent(each.probability)
        text = " ".join(filter(None, (mark, each.code, each.severity, probability)))
        chips.append((text, "gray" if each.suggestion else COLOURS.get(each.severity, "gray")))
    if len(ordered) > MAX_CHIPS:
        chips.append((f"+{show_number(len(ordered) - MAX_CHIPS)}", "gray"))
    return Chips(tuple(chips))


def _show_sending(store: Store, account: Account, hits: Sequence[SearchHit]) -> None:
    """Send the dialogues of this page to a review project, by one click where there is one."""
    listed = projects.list_projects(store, account.id)
    suited = [each for each, state in listed if each.purpose == "review" and state == "open"]
    names = [each.id for each in sorted(suited, key=lambda each: not each.prelabelled)]
    ids = [hit.dialogue for hit in hits]
    label = ngettext("Send {n} dialogue to review", "Send {n} dialogues to review", len(ids))
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="bottom"):
        project = next(iter(names), "")
        if len(names) > 1:
            project = select(_("Project"), names, "send to", width=220)

        def send() -> None:
            with report_refusals(NOTICE):
                new = [NewTask(dialogue=each, why="chosen in Explore") for each in ids]
                n = tasks.add(store, account.id, project, new)
                set_notice(NOTICE, "success", f"{ngettext('{n} new task', '{n} new tasks', n)}: {project}")

        st.button(
            safe_markdown(label), icon=":material/send:", key="send all", disabled=not ids or not names,
            help=None if names else _("There is no open review project. A lead makes one."),
            on_click=send,
        )  # fmt: skip


STATUSES: dict[str, tuple[str, str, str]] = {
    "unreviewed": ("review", "none", N_("Nobody has answered")),
    "labeled": ("review", "labeled", N_("Labeled only")),
    "reviewed": ("review", "reviewed", N_("Reviewed")),
    "open": ("decision", "open", N_("Finding open")),
    "confirmed": ("decision", "confirmed", N_("Finding confirmed")),
    "rejected": ("decision", "rejected", N_("Finding rejected")),
    "changed": ("decision", "changed", N_("Finding changed")),
    "added": ("decision", "added", N_("Error added by a person")),
    "appealed": ("appeal", "open", N_("Appeal open")),
    "overturned": ("appeal", "overturned", N_("Overturned by an appeal")),
    "upheld": ("appeal", "upheld", N_("Upheld in an appeal")),
    "amended": ("appeal", "amended", N_("Amended in an appeal")),
    "scored": ("status", "scored", N_("Scored")),
    "unscored": ("status", "unscored", N_("Not scored yet")),
    "not_judged": ("status", "not_judged", N_("Not judged")),
    "failed": ("status", "failed", N_("Failed")),
}
"""Values of the status filter: the field of a search, its value, and the name."""
NAMES = (
    "q", "code", "status", "kind", "severity", "agent", "team", "channel", "release", "since", "until",
    "least", "most", "sort",
)  # fmt: skip
"""Names in the address; ``after`` is the page."""
FOLDED = frozenset(NAMES) - {"q", "code", "status", "since", "until"}
"""Filters that are folded below the others unless one is chosen."""
PREFIX = "explore "
SEEN = "explore address"
"""Key in session state: the address that the controls show."""
WIDTH_PX = 168


def read_address() -> dict[str, str]:
    """Return the filters in the page's address, by `NAMES`."""
    return {name: value for name in NAMES if (value := st.query_params.get(name, ""))}


def make_search(chosen: Mapping[str, str]) -> Search:
    """Return the search of an address; invalid values are left out."""
    fields: dict[str, Any] = {"text": chosen.get("q", "")[:1000]}
    for name in ("code", "agent", "team", "channel", "release"):
        fields[name] = chosen.get(name, "")[:1000] or None
    fields["severity"] = chosen["severity"] if chosen.get("severity") in ("S1", "S2", "S3", "S4") else None
    fields["kind"] = chosen["kind"] if chosen.get("kind") in ("finding", "suggestion") else None
    if (status := STATUSES.get(chosen.get("status", ""))) is not None:
        fields[status[0]] = status[1]
    for name, days in (("since", 0), ("until", 1)):
        day = _parse_day(chosen.get(name))
        if day is not None:
            start = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=days)
            fields[f"{name}_ms"] = round(start.timestamp() * 1000)
    low, high = sorted((_parse_share(chosen.get("least"), 0), _parse_share(chosen.get("most"), 100)))
    fields["least"] = low / 100 if low > 0 else None
    fields["most"] = high / 100 if high < 100 else None
    fields["sort"] = "likely" if chosen.get("sort") == "likely" else "newest"
    return Search(**fields)


def _parse_day(text: str | None) -> date | None:
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        return None
    return day if 1971 <= day.year <= 2100 else None


def _parse_share(text: str | None, usual: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and int(text) <= 100 else usual


def open_address(chosen: Mapping[str, str], after: str | None = None) -> None:
    """Put a search into the page's address; the controls follow on the next run."""
    page = {} if after is None else {"after": after}
    st.query_params.from_dict({**chosen, **page})


def _follow_address(chosen: dict[str, str]) -> None:
    """Set the controls to what the address has chosen, if it did not come from them."""
    if st.session_state.get(SEEN) == chosen:
        return
    st.session_state[SEEN] = chosen
    for name in NAMES:
        value: Any = chosen.get(name)
        if name in ("since", "until"):
            value = _parse_day(value)
        elif name == "sort":
            value = value or "newest"
        st.session_state[PREFIX + name] = value or "" if name == "q" else value
    shares = (_parse_share(chosen.get("least"), 0), _parse_share(chosen.get("most"), 100))
    st.session_state[f"{PREFIX}shares"] = tuple(sorted(shares))


def _on_change() -> None:
    chosen = {}
    for name in NAMES:
        value = st.session_state.get(PREFIX + name)
        if value:
            chosen[name] = value.isoformat() if isinstance(value, date) else str(value)
    low, high = st.session_state[f"{PREFIX}shares"]
    chosen |= {name: str(n) for name, n, usual in (("least", low, 0), ("most", high, 100)) if n != usual}
    if chosen.get("sort") == "newest":
        del chosen["sort"]
    st.session_state[SEEN] = chosen
    open_address(chosen)


def show_controls(chosen: dict[str, str], choices: Choices, taxonomy: Taxonomy) -> None:
    """Show the controls for all filters; a change of one opens another address."""
    _follow_address(chosen)
    st.text_input(
        _("Search the words of dialogues"), key=f"{PREFIX}q", type="search", max_chars=1000,
        on_change=_on_change, placeholder=_("words, \"a phrase\", begin*"),
        help=_("All words must be in the dialogue; a phrase in quotes word by word; * ends a beginning."),
    )  # fmt: skip
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="explore filters"):
        codes = {code: f"{code} {choose_name(entry.name)}" for code, entry in taxonomy.codes.items()}
        _select("code", _("Error"), dict.fromkeys(choices.codes, "") | codes, 230)
        _select("status", _("Status"), {each: _(title) for each, (*_of, title) in STATUSES.items()}, 200)
        for name, label in (("since", _("From day")), ("until", _("To day"))):
            st.date_input(
                safe_text(label), key=PREFIX + name, value=None, format="YYYY-MM-DD", on_change=_on_change,
                width=WIDTH_PX,
            )  # fmt: skip
    n_folded = len(chosen.keys() & FOLDED)
    more = _("More filters") if not n_folded else _("More filters: {n}").format(n=show_number(n_folded))
    with (
        st.expander(safe_text(more), expanded=bool(n_folded)),
        st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="explore more filters"),
    ):
        kinds = {"finding": _("Finding"), "suggestion": _("Suggestion")}
        _select("kind", _("Finding or suggestion"), kinds)
        severities: dict[str, str] = {
            each.code: f"{each.code} {choose_name(each.name)}" for each in taxonomy.severities
        }
        _select("severity", _("Severity"), severities)
        _select("agent", _("Agent"), dict.fromkeys(choices.agents, ""))
        _select("team", _("Team"), dict.fromkeys(choices.teams, ""))
        _select("channel", _("Channel"), dict.fromkeys(choices.channels, ""))
        _select("release", _("Release"), dict.fromkeys(choices.releases, ""))
        st.slider(
            _("Probability, %"), 0, 100, key=f"{PREFIX}shares", on_change=_on_change, width=WIDTH_PX,
            help=_("Of a finding or suggestion that meets the other filters."),
        )  # fmt: skip
        sorts = {"newest": _("Newest first"), "likely": _("Most likely first")}
        select(_("Order"), sorts, f"{PREFIX}sort", width=WIDTH_PX, on_change=_on_change)


def _select(name: str, label: str, values: dict[str, str], width_px: int = WIDTH_PX) -> None:
    key = PREFIX + name
    chosen = st.session_state.get(key)
    options = list(values) if chosen is None or chosen in values else [chosen, *values]
    st.selectbox(
        safe_text(label), options, key=key, index=None, on_change=_on_change, placeholder=_("Any"),
        width=width_px, format_func=lambda each: safe_text(values.get(each) or each),
    )  # fmt: skip


FROM = "from"
"""Parameter of a dialogue's address: the dialogue is a result of Explore."""
LIST = "explore list"
"""Key in session state: the page of results that the dialogue is on."""
MAX_PAGES = 40
"""Pages read from the first one on to reach the page before."""


@dataclass(frozen=True)
class ResultPage:
    """A page of results: the dialogues, and the positions after which it and the next one begin."""

    chosen: dict[str, str]
    after: str | None
    dialogues: tuple[str, ...]
    next_after: str | None

    @classmethod
    def load(cls, store: Store, account: Account, chosen: dict[str, str], after: str | None) -> ResultPage:
        """Search for the page after the position `after`."""
        results = search(store, account.id, make_search(chosen), after)
        return cls(chosen, after, tuple(hit.dialogue for hit in results.hits), results.after)


def make_place(chosen: Mapping[str, str], after: str | None) -> dict[str, str]:
    """Return the parameters of a dialogue's address that identify the search it is a result of."""
    return {FROM: "explore", **chosen, **({"after": after} if after else {})}


def read_place() -> dict[str, str]:
    """Return `make_place` of the page's address; empty if the dialogue was not opened from Explore."""
    if st.query_params.get(FROM) != "explore":
        return {}
    return make_place(read_address(), st.query_params.get("after"))


def show_steps(store: Store, account: Account, name: str) -> None:
    """Show the ways to the previous and next result and back to the list; nothing if the address has no
    search."""
    if not read_place():
        return
    chosen, after = read_address(), st.query_params.get("after") or None
    page = st.session_state.get(LIST)
    if not isinstance(page, ResultPage) or (page.chosen, page.after) != (chosen, after):
        page = st.session_state[LIST] = ResultPage.load(store, account, chosen, after)
    at = page.dialogues.index(name) if name in page.dialogues else None
    has_previous = at is not None and (at > 0 or after is not None)
    has_next = at is not None and (at + 1 < len(page.dialogues) or page.next_after is not None)
    step = partial(_step, store, account, page, at)
    st.button(_("◀ Previous"), key="previous result", disabled=not has_previous, on_click=step, args=(-1,))
    st.button(_("Next ▶"), key="next result", disabled=not has_next, on_click=step, args=(1,))
    if st.button(_("Back to the list"), key="result list", type="tertiary"):
        go_to("explore", {**chosen, **({"after": after} if after else {})})


def _step(store: Store, account: Account, page: ResultPage, at: int | None, by: int) -> None:
    """Open the result `by` places on, if need be of the page beside; nothing if there is none any more."""
    to, beside = (at or 0) + by, page
    if to == len(page.dialogues):
        beside, to = ResultPage.load(store, account, page.chosen, page.next_after), 0
    elif to < 0:
        # the page before is found from the first one, as pages are cut by keys and lead forward only
        beside = ResultPage.load(store, account, page.chosen, None)
        for _number in range(MAX_PAGES):
            if beside.next_after in (page.after, None):
                break
            beside = ResultPage.load(store, account, page.chosen, beside.next_after)
        if beside.next_after != page.after:
            return
    if beside.dialogues:
        st.session_state[LIST] = beside
        st.query_params.from_dict({"id": beside.dialogues[to], **make_place(page.chosen, beside.after)})
