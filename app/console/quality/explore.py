"""The Explore page: searches all dialogues, by words, findings, people, time and what was decided.

The search is in the address, which can be shared. Reviewers and up see it; leads can send what they found to
a review project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.i18n import _, from_ms, ngettext, show_number, show_time
from dialint.app.console.messages import explain_as_sentence, hold_notices, set_notice, show_notice
from dialint.app.console.quality.explore_filters import (
    make_place,
    make_search,
    open_address,
    read_address,
    show_controls,
    status_words,
)
from dialint.app.console.tables import Cell, Chips, Colour, DialogueLink, show_table
from dialint.app.console.text import percent, safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store import projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, NewTask
from dialint.labeling.store.search import Count, Hit, HitFinding, count, list_choices, search

COLOURS: dict[str, Colour] = {"S1": "red", "S2": "orange", "S3": "blue"}
MARKS = {"confirmed": "✓", "rejected": "✗", "changed": "✎", "added": "+"}
"""Beside a code, what people decided on the finding."""
MAX_CHIPS = 6
NOTICE = "explore"


def explore_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    show_notice(NOTICE)
    chosen = read_address()
    taxonomy = load_taxonomy()
    title, actions = st.columns([1, 3], vertical_alignment="center")
    with title:
        st.subheader(_("Explore"), anchor=False)
    show_controls(chosen, list_choices(store, account.id), taxonomy)
    wanted = make_search(chosen)
    after = st.query_params.get("after") or None
    results = search(store, account.id, wanted, after)
    if has_permission(account, "plan"):
        with actions, st.container(horizontal=True, horizontal_alignment="right"):
            _show_sending(store, account, results.hits)
    total = count(store, account.id, wanted)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(safe_markdown(_describe_total(total)), width="content")
        if chosen:
            st.button(_("Clear all filters"), type="tertiary", on_click=open_address, args=({},))
    if results.hits:
        _show_hits(results.hits, make_place(chosen, after), with_text=bool(wanted.text))
    elif results.complete:
        st.info(_("No dialogue passes all filters."))
    if not results.complete:
        st.caption(
            _("The search stopped after many dialogues that do not pass; there may be more further on.")
            if results.after
            else _("The words are in very many dialogues; the newest of them were sorted.")
        )
    with st.container(horizontal=True):
        st.button(
            _("◀ First page"), disabled=after is None, on_click=open_address, args=(chosen,), key="first page"
        )
        st.button(
            _("Next page ▶"), disabled=results.after is None, on_click=open_address,
            args=(chosen, results.after), key="next page",
        )  # fmt: skip


def _describe_total(total: Count) -> str:
    if total.exact:
        return ngettext("{n} dialogue", "{n} dialogues", total.n)
    return _("more than {n} dialogues").format(n=show_number(total.n))


def _show_hits(hits: Sequence[Hit], place: dict[str, str], *, with_text: bool) -> None:
    headings = [_("Time"), _("Dialogue"), _("Agent, team, channel"), _("Findings"), _("Status")]
    headings += [_("Quality"), _("Reviewed score")]
    rows: list[list[Cell]] = []
    for hit in hits:
        origin = " · ".join(filter(None, (hit.agent, hit.team, hit.channel))) or "–"
        scores = [
            "–" if each is None else show_number(round(each)) for each in (hit.quality, hit.reviewed_quality)
        ]
        at = show_time(from_ms(hit.at_ms)).removesuffix(" UTC")
        row: list[Cell] = [at, DialogueLink(hit.dialogue, place), origin, _chips(hit.findings)]
        rows.append([*row, _describe_status(hit), *scores])
        if with_text:
            rows[-1].insert(4, "" if hit.snippet is None else hit.snippet.text)
    show_table([*headings[:4], *([_("Text")] if with_text else []), *headings[4:]], rows)
    st.caption(_("Times in UTC. ✓ confirmed, ✗ rejected, ✎ changed, + added by a person, ? suggestion."))


def _chips(findings: Sequence[HitFinding]) -> Chips:
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


def _describe_status(hit: Hit) -> str:
    words = status_words()
    parts = [words[hit.status]] if hit.status != "scored" else []
    parts += [words[hit.review]] if hit.review != "none" else []
    appeal = {"open": "appealed"}.get(hit.appeal, hit.appeal)
    parts += [words[appeal]] if appeal != "none" else []
    return ", ".join(parts) or "–"


def _show_sending(store: Store, account: Account, hits: Sequence[Hit]) -> None:
    """Send dialogues of this page to a review project: all by one click, or some by a form."""
    listed = projects.list_projects(store, account.id)
    found = [each for each, state in listed if each.purpose == "review" and state == "open"]
    found.sort(key=lambda each: not each.prelabelled)
    names = [each.id for each in found]
    usual = names if len(names) == 1 else [each.id for each in found if each.prelabelled]
    ids = [hit.dialogue for hit in hits]
    label = ngettext("Send {n} dialogue to review", "Send {n} dialogues to review", len(ids))
    if not ids or not names or len(usual) == 1:
        st.button(
            safe_markdown(label), icon=":material/send:", key="send all", disabled=not ids or not names,
            help=None if names else _("There is no open review project. A lead makes one."),
            on_click=_send, args=(store, account, ids, *usual),
        )  # fmt: skip
    if not ids or not names:
        return
    popover = st.popover(_("Send some…") if len(usual) == 1 else safe_markdown(label), icon=":material/send:")
    with popover, st.form("send to review", border=False):
        # a key by the page: another page begins with all of its own
        page_key = hashlib.sha256("\n".join(ids).encode("utf-8", "replace")).hexdigest()[:16]
        chosen = st.multiselect(
            _("Dialogues of this page"), ids, default=ids, key=f"sent:{page_key}",
            format_func=lambda each: safe_text(each),
        )  # fmt: skip
        project = st.selectbox(_("Project"), names, format_func=lambda each: safe_text(each))
        if st.form_submit_button(_("Send"), type="primary") and chosen and project is not None:
            _send(store, account, chosen, project)
            st.rerun()


def _send(store: Store, account: Account, chosen: Sequence[str], project: str) -> None:
    with _report() as report:
        new = [NewTask(dialogue=each, why="chosen in Explore") for each in chosen]
        n = tasks.add(store, account.id, project, new)
        report.append(f"{ngettext('{n} new task', '{n} new tasks', n)}: {project}")


@contextmanager
def _report(done: str = "") -> Iterator[list[str]]:
    texts = [done] if done else []
    with hold_notices(NOTICE):
        try:
            yield texts
            set_notice(NOTICE, "success", " ".join(texts))
        except ValidationError:
            set_notice(NOTICE, "error", _("A name has 1 to 100 characters."))
        except DialintError as refused:
            set_notice(NOTICE, "error", explain_as_sentence(refused))
