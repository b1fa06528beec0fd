"""The Dialogue page: one dialogue with its whole history, at an address that can be shared.

``/dialogue?id=...``. For reviewers and up. Reading it is recorded: later answers of the reader to this
dialogue count as not blind, which the page says.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import streamlit as st

from dialint.app.console.i18n import _, choose_name, ngettext, show_number, show_percent, show_time
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.tables import DialogueLink, show_table
from dialint.app.console.text import origin_text, percent, safe_markdown, safe_text
from dialint.app.console.workspace.answer import Selection
from dialint.app.console.workspace.dialogue_view import Mark, find_page, paginate, render_dialogue, view_data
from dialint.app.console.workspace.reject_reasons import load as load_reasons
from dialint.detector.errors import DialintError
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.annotation import Annotation, Rejection
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.history import DialogueHistory, LogEntry, find_similar, read_history
from dialint.labeling.store.records import Account

MAX_ENTRIES = 50


class Event(NamedTuple):
    """A line of the timeline: when, what, and lines below it, all as plain text."""

    at: datetime
    title: str
    lines: tuple[str, ...] = ()


def dialogue_page(store: Store, account: Account) -> None:
    """Show the page to `account`; the store decides what it may do."""
    name = st.query_params.get("id", "")
    if not name:
        st.subheader(_("Dialogue"), anchor=False)
        st.info(_("Open a dialogue from Explore, or by a link to it."))
        return
    try:
        history = read_history(store, account.id, name)
    except NotAllowed:
        st.info(_("There is no such dialogue, or you may not see it."))
        return
    taxonomy = load_taxonomy()
    st.subheader(safe_markdown(name), anchor=False)
    if origin := origin_text(history.dialogue):
        st.caption(safe_markdown(origin))
    st.caption(
        _("You have read what others say of this dialogue: your later answers to it count as not blind.")
    )
    left, right = st.columns([11, 9], gap="medium")
    newest = history.verdicts[-1].verdict if history.verdicts else None
    with left:
        _show_dialogue(history.dialogue, newest)
    with right:
        for event in reversed(_list_events(history, taxonomy)):
            with st.container(border=True, gap="small"):
                st.markdown(f"**{safe_markdown(event.title)}**")
                st.caption(safe_markdown(show_time(event.at)))
                for line in event.lines:
                    st.text(safe_text(line))
        if history.labels:
            with st.expander(_("Labels")):
                _show_labels(history, taxonomy)
        if history.entries:
            with st.expander(_("Audit log")):
                _show_entries(history.entries)
        with st.expander(_("Similar dialogues"), expanded=True):
            _show_similar(store, account, name)


def _show_dialogue(dialogue: Dialogue, verdict: Verdict | None) -> None:
    """The dialogue with the findings and suggestions of the newest verdict; one page of a long one."""
    findings = () if verdict is None else verdict.findings
    suggestions = () if verdict is None else verdict.suggestions
    marks = [
        Mark(
            Selection(turn=each.turn, start=each.start, end=each.end),
            safe_text(f"{number} {each.code}"),
            "open" if number <= len(findings) else "suggested",
        )
        for number, each in enumerate((*findings, *suggestions), 1)
    ]
    focus = min((mark.selection.turn for mark in marks), default=None)
    pages = paginate(dialogue)
    number = 0 if focus is None else find_page(pages, focus)
    if len(pages) > 1:
        number = st.selectbox(
            _("Page"), range(len(pages)), index=number, key=f"page:{dialogue.id}",
            format_func=lambda i: safe_text(
                _("Page {number} of {n}, from turn {turn}").format(
                    number=show_number(i + 1), n=show_number(len(pages)), turn=pages[i][0].turn
                )
            ),
        )  # fmt: skip
    data = view_data(dialogue, None, marks, focus, 0, (number, pages[number]))
    render_dialogue(data, f"dialogue page:{dialogue.id}", lambda: None)


def _list_events(history: DialogueHistory, taxonomy: Taxonomy) -> list[Event]:
    """All that happened to the dialogue, oldest first."""
    stored = Event(_to_time(history.stored_ms), _("The dialogue came to the store"))
    events = [stored]
    for dated in history.verdicts:
        verdict = dated.verdict
        title = _("Verdict of {release}").format(release=verdict.release)
        events.append(Event(_to_time(dated.at_ms), title, _describe_verdict(verdict, taxonomy)))
    events += [_describe_answer(answer, taxonomy, stored.at) for answer in history.answers]
    for objection in history.appeals:
        appeal = objection.appeal
        states = {
            "open": _("open"), "overturned": _("the finding was wrong"), "upheld": _("the finding stands"),
            "amended": _("another finding stands"),
        }  # fmt: skip
        title = _("Appeal of {name} against {code} in turn {turn}: {state}").format(
            name=appeal.account, code=appeal.code, turn=appeal.turn, state=states[appeal.state]
        )
        lines = [f"“{appeal.statement}”"]
        if appeal.decided_by is not None:
            lines.append(_("{name}: {reason}").format(name=appeal.decided_by, reason=appeal.reason or ""))
        events.append(Event(_to_time(objection.at_ms), title, tuple(lines)))
    return sorted(events, key=lambda event: event.at)


def _describe_verdict(verdict: Verdict, taxonomy: Taxonomy) -> tuple[str, ...]:
    if verdict.status == "failed":
        return (_("It failed ({failure}). That is not a clean dialogue.").format(failure=verdict.failure),)
    if verdict.status == "not_judged":
        return (_("It was not judged. That is not a clean dialogue."),)
    lines = [_("Quality {n}").format(n=show_number(round(verdict.quality or 0.0)))]
    lines += [_describe_finding(each, taxonomy) for each in verdict.findings]
    lines += [
        _("Suggestion: {finding}").format(finding=_describe_finding(each, taxonomy))
        for each in verdict.suggestions
    ]
    return tuple(lines if len(lines) > 1 else [*lines, _("No findings.")])


def _describe_answer(answer: Annotation, taxonomy: Taxonomy, unknown: datetime) -> Event:
    kinds = {
        "crowd": _("Answer of the labeler {name}"), "reviewer": _("Review by {name}"),
        "expert": _("Decision of the expert {name}"), "appeal": _("Answer to an appeal by {name}"),
        "model": _("Answer of the model {name}"),
    }  # fmt: skip
    blind = _("after seeing what others say") if answer.seen_verdict else _("blind")
    codes = (
        _("asked of {codes}").format(codes=", ".join(answer.codes))
        if len(answer.codes) <= 6
        else ngettext("asked of {n} error", "asked of {n} errors", len(answer.codes))
    )
    where = "" if answer.turn is None else _("in turn {turn}").format(turn=answer.turn)
    lines = [", ".join(filter(None, (blind, codes, where)))]
    lines += [_describe_finding(each, taxonomy, is_answer=True) for each in answer.findings] or [
        _("No error found.")
    ]
    lines += [_describe_rejection(each, taxonomy) for each in answer.rejections]
    return Event(answer.at or unknown, kinds[answer.kind].format(name=answer.labeler), tuple(lines))


def _describe_finding(finding: Finding, taxonomy: Taxonomy, *, is_answer: bool = False) -> str:
    entry = taxonomy.codes.get(finding.code)
    code = finding.code if entry is None else f"{finding.code} {choose_name(entry.name)}"
    probability = "" if is_answer else f", {percent(finding.probability)}"
    return _("turn {turn}: {code}, {severity}{probability}: “{quote}”").format(
        turn=finding.turn, code=code, severity=finding.severity, probability=probability, quote=finding.quote
    )


def _describe_rejection(rejection: Rejection, taxonomy: Taxonomy) -> str:
    entry = taxonomy.codes.get(rejection.code)
    code = rejection.code if entry is None else f"{rejection.code} {choose_name(entry.name)}"
    names = load_reasons().names.get(rejection.reason)
    return _("turn {turn}: {code}, rejected: {reason}").format(
        turn=rejection.turn, code=code, reason=rejection.reason if names is None else choose_name(names)
    )


def _to_time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _show_labels(history: DialogueHistory, taxonomy: Taxonomy) -> None:
    headings = (_("Turn"), _("Error"), _("Probability"), _("Method"), _("People"))
    rows = [
        (
            str(each.turn), each.code, percent(each.probability), each.method,
            show_number(each.n_labelers),
        )
        for each in history.labels
    ]  # fmt: skip
    show_table(headings, rows)


def _show_entries(entries: Sequence[LogEntry]) -> None:
    """The audit log about the dialogue; actions are its own words."""
    headings = (_("Time"), _("Who"), _("Action"), _("Subject"))
    newest = entries[:MAX_ENTRIES]
    show_table(
        headings,
        [(show_time(_to_time(each.at_ms)), each.account, each.action, each.subject) for each in newest],
    )
    if len(entries) > len(newest):
        st.caption(_("Older entries are in the audit log on the Admin page."))


def _show_similar(store: Store, account: Account, name: str) -> None:
    try:
        similar = find_similar(store, account.id, name)
    except DialintError as failed:
        st.caption(safe_markdown(explain_as_sentence(failed)))
        return
    if not similar:
        st.caption(_("No other dialogue shares rare phrases with this one."))
        return
    headings = (_("Dialogue"), _("Same words"), _("Agent"), _("Findings"))
    show_table(
        headings,
        [
            (
                DialogueLink(each.dialogue), show_percent(each.similarity), each.agent or "–",
                show_number(each.n_findings),
            )
            for each in similar
        ],
    )  # fmt: skip
    st.caption(_("Share of runs of three words that both have, among dialogues with the same rare phrases."))
