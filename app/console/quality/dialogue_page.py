"""The Dialogue page: one dialogue with its whole history, at an address that can be shared.

``/dialogue?id=...``. For reviewers and up. Reading it is recorded: later answers of the reader to this
dialogue count as not blind, which the page says.
"""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from dialint.app.console.i18n import _, choose_name, from_ms, ngettext, show_number, show_percent, show_time
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.quality.explore import read_place, show_steps
from dialint.app.console.tables import dialogue_cell, go_to, select, show_table
from dialint.app.console.tasks.answer import Selection, load_reasons
from dialint.app.console.tasks.dialogue_view import Mark, finding_marks, show_marked_dialogue
from dialint.app.console.tasks.items import claim_dialogue
from dialint.app.console.tasks.page_session import find_session, list_open
from dialint.app.console.text import (
    code_title,
    coverage_lists,
    no_findings_text,
    origin_text,
    percent,
    quality_text,
    safe_markdown,
    safe_text,
)
from dialint.detector.errors import DialintError
from dialint.detector.records import Dialogue, Finding
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.tool_use import call_lines
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.api import Store
from dialint.labeling.store.history import DialogueHistory, find_similar, read_history
from dialint.labeling.store.records import Account, NotAllowed

_SELECTED = "selected in:"
"""Beginning of a key in session state: the words that are selected in a dialogue."""
MAX_ENTRIES = 50
MAX_QUOTE = 120
LAST = "dialogue address"
"""Key in session state: the address of the dialogue that was opened on Review. A switch of pages takes it out
of the browser's history."""


def dialogue_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    if "id" not in st.query_params and LAST in st.session_state:  # the browser's way back from Review
        st.query_params.from_dict(st.session_state[LAST])
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
    title, steps = st.columns([1, 1], vertical_alignment="center")
    with title:
        st.subheader(safe_markdown(name), anchor=False)
    with steps, st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        show_steps(store, account, name)
    newest = history.verdicts[-1].verdict if history.verdicts else None
    if history.reviewed_quality is not None:
        by_model = _("no model has judged it")
        if newest is not None:
            quality = "–" if newest.quality is None else show_number(round(newest.quality))
            by_model = _("the model's: {quality}").format(quality=quality)
        text = _("Reviewed score {n}, by what people decided; {model}.")
        text = text.format(n=show_number(round(history.reviewed_quality)), model=by_model)
        if history.rating is not None:
            text += " " + _("Rating in the log: {n}.").format(n=show_number(history.rating))
        st.markdown(f"**{safe_markdown(text)}**")
    if origin := origin_text(history.dialogue):
        st.caption(safe_markdown(origin))
    st.caption(
        _("You have read what others say of this dialogue: your later answers to it count as not blind.")
    )
    _show_actions(store, account, history.dialogue)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        marks = list_marks(history)
        focus = min((mark.selection.turn for mark in marks), default=None)
        show_marked_dialogue(
            history.dialogue, marks, focus, name,
            on_selection=lambda selection: st.session_state.update({_SELECTED + name: selection}),
        )  # fmt: skip
    with right:
        for at, title_text, lines in reversed(_list_events(history, taxonomy)):
            with st.container(border=True, gap="small"):
                st.markdown(f"**{safe_markdown(title_text)}**")
                st.caption(safe_markdown(show_time(at)))
                for line in lines:
                    st.text(safe_text(line))
        if history.labels:
            with st.expander(_("Labels")):
                show_table(
                    (_("Turn"), _("Error"), _("Probability"), _("Method"), _("People")),
                    [
                        (
                            str(each.turn), each.code, percent(each.probability), each.method,
                            show_number(each.n_labelers),
                        )
                        for each in history.labels
                    ],
                )  # fmt: skip
        if history.entries:
            with st.expander(_("Audit log")):
                rows = [
                    (show_time(from_ms(each.at_ms)), each.account, each.action, each.subject)
                    for each in history.entries[:MAX_ENTRIES]
                ]
                show_table((_("Time"), _("Who"), _("Action"), _("Subject")), rows)
                if len(history.entries) > len(rows):
                    st.caption(_("Older entries are in the audit log on the Admin page."))
        with st.expander(_("Similar dialogues"), expanded=True):
            try:
                similar = find_similar(store, account.id, name)
            except DialintError as failed:
                st.caption(safe_markdown(explain_as_sentence(failed)))
                return
            if similar:
                show_table(
                    (_("Dialogue"), _("Same words"), _("Agent"), _("Findings")),
                    [
                        (
                            dialogue_cell(each.dialogue), show_percent(each.similarity), each.agent or "–",
                            show_number(each.n_findings),
                        )
                        for each in similar
                    ],
                )  # fmt: skip
            st.caption(
                _("Share of runs of three words that both have, among dialogues with the same rare phrases.")
                if similar
                else _("No other dialogue shares rare phrases with this one.")
            )


def _show_actions(store: Store, account: Account, dialogue: Dialogue) -> None:
    names = [each.id for each in list_open(store, account, ("review",)) if each.prelabelled]
    selection: Selection | None = st.session_state.get(_SELECTED + dialogue.id)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        review = st.button(
            _("Review this"), key="review this", type="primary", disabled=not names,
            help=None if names else _("There is no open review project. A lead makes one."),
            icon=":material/rate_review:",
        )  # fmt: skip
        add = st.button(
            _("Add an error"), key="add an error", disabled=not names, icon=":material/add:",
            help=_("Select its words in the dialogue first, or on Review."),
        )  # fmt: skip
        project = names[0] if names else None
        if len(names) > 1:
            project = select(_("Project"), names, "review in", width=240)
        if selection is not None:
            turn = next(turn for turn in dialogue.turns if turn.index == selection.turn)
            words = "".join((call_lines(turn) or turn.text)[selection.start : selection.end])
            quote = " ".join(words.split())
            selected = _("Selected in turn {n}: “{quote}”").format(n=selection.turn, quote=quote[:MAX_QUOTE])
            st.caption(safe_markdown(selected), width="content")
    if project is None or not (review or add):
        return
    back = {"id": dialogue.id, **read_place()}
    try:
        session = find_session("review", store, account, blind=False)
        with session.lock:  # a task that was in hand stays so
            claimed = claim_dialogue(store, account.id, project, dialogue.id)
            session.notices = []
            session.project, session.started, session.waiting = project, False, None
            session.open_item(claimed)
            session.adding, session.selected, session.back = add, selection if add else None, back
    except DialintError as refused:
        st.error(safe_markdown(explain_as_sentence(refused)))
        return
    st.session_state[LAST] = back
    go_to("review")


def list_marks(history: DialogueHistory) -> list[Mark]:
    """Return the marks of the newest verdict's findings and suggestions, and of the words in which reviewers
    and experts see an error where it has none."""
    newest = history.verdicts[-1].verdict if history.verdicts else None
    marks = [] if newest is None else finding_marks(newest.findings, newest.suggestions)
    proposed = set() if newest is None else {*map(_place, (*newest.findings, *newest.suggestions))}
    by_people = {
        _place(finding): finding
        for answer in history.answers
        if int(answer.id) in history.current and answer.kind in ("reviewer", "expert", "appeal")
        for finding in answer.findings
    }
    added = [finding for place, finding in by_people.items() if place not in proposed]
    return marks + [Mark.of(each, f"+ {each.code}", "kept") for each in added]


def _place(finding: Finding) -> tuple[int, str, int, int]:
    return finding.turn, finding.code, finding.start, finding.end


Event = tuple[datetime, str, tuple[str, ...]]
"""An event of the timeline: time, title, and lines below it, all as plain text."""


def _list_events(history: DialogueHistory, taxonomy: Taxonomy) -> list[Event]:
    stored_at = from_ms(history.stored_ms)
    events: list[Event] = [(stored_at, _("The dialogue came to the store"), ())]
    for dated in history.verdicts:
        verdict = dated.verdict
        if verdict.status == "failed":
            failed = _("It failed ({failure}). That is not a clean dialogue.")
            lines = [failed.format(failure=verdict.failure)]
        else:
            is_judged = verdict.status == "scored"
            silent = _("It was not judged. That is not a clean dialogue.")
            lines = [quality_text(verdict) if is_judged else silent]
            lines += [_describe_finding(each, taxonomy) for each in verdict.findings]
            if is_judged and not verdict.findings:
                lines.append(no_findings_text(verdict, taxonomy))
            elif (lists := coverage_lists(verdict, taxonomy)) is not None and lists[1]:
                lines.append(_("Not looked for: {codes}.").format(codes=", ".join(lists[1])))
            suggestion = _("Suggestion: {finding}")
            lines += [
                suggestion.format(finding=_describe_finding(each, taxonomy)) for each in verdict.suggestions
            ]
        title = _("Verdict of {release}").format(release=verdict.release)
        events.append((from_ms(dated.at_ms), title, tuple(lines)))
    events += [_describe_answer(answer, taxonomy, history) for answer in history.answers]
    states = {
        "open": _("open"), "overturned": _("the finding was wrong"), "upheld": _("the finding stands"),
        "amended": _("another finding stands"),
    }  # fmt: skip
    for objection in history.appeals:
        appeal = objection.appeal
        title = _("Appeal of {name} against {code} in turn {turn}: {state}").format(
            name=appeal.account, code=appeal.code, turn=appeal.turn, state=states[appeal.state]
        )
        lines = [f"“{appeal.statement}”"]
        if appeal.decided_by is not None:
            lines.append(_("{name}: {reason}").format(name=appeal.decided_by, reason=appeal.reason or ""))
        events.append((from_ms(objection.at_ms), title, tuple(lines)))
    return sorted(events, key=lambda event: event[0])


def _describe_answer(answer: Annotation, taxonomy: Taxonomy, history: DialogueHistory) -> Event:
    kinds = {
        "crowd": _("Answer of the labeler {name}"), "reviewer": _("Review by {name}"),
        "expert": _("Decision of the expert {name}"), "appeal": _("Answer to an appeal by {name}"),
        "model": _("Answer of the model {name}"),
    }  # fmt: skip
    corrected = "" if int(answer.id) in history.current else _("corrected later")
    blind = _("after seeing what others say") if answer.seen_verdict else _("blind")
    codes = (
        _("asked of {codes}").format(codes=", ".join(answer.codes))
        if len(answer.codes) <= 6
        else ngettext("asked of {n} error", "asked of {n} errors", len(answer.codes))
    )
    where = "" if answer.turn is None else _("in turn {turn}").format(turn=answer.turn)
    lines = [", ".join(filter(None, (corrected, blind, codes, where)))]
    lines += [_describe_finding(each, taxonomy, is_answer=True) for each in answer.findings] or [
        _("No error found.")
    ]
    for each in answer.rejections:
        names = load_reasons().names.get(each.reason)
        reason = each.reason if names is None else choose_name(names)
        rejected = _("turn {turn}: {code}, rejected: {reason}")
        lines.append(rejected.format(turn=each.turn, code=code_title(each.code, taxonomy), reason=reason))
    at = answer.at or from_ms(history.stored_ms)
    return at, kinds[answer.kind].format(name=answer.labeler), tuple(lines)


def _describe_finding(finding: Finding, taxonomy: Taxonomy, *, is_answer: bool = False) -> str:
    code = code_title(finding.code, taxonomy)
    probability = "" if is_answer else f", {percent(finding.probability)}"
    return _("turn {turn}: {code}, {severity}{probability}: “{quote}”").format(
        turn=finding.turn, code=code, severity=finding.severity, probability=probability, quote=finding.quote
    )
