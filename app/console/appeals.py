"""The pages of appeals: an agent reads the findings in own dialogues and objects; an expert decides.

The agent sees the findings of the newest verdict with their evidence, and never suggestions. The expert sees
the statement, the finding, the blind second review and what everybody said, and decides with a reason that
the agent reads. The store checks rights, and that the second review came first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import get_args

import streamlit as st

from dialint.app.console.answer import Selection
from dialint.app.console.dialogue_view import Mark, find_page, paginate, render_dialogue, view_data
from dialint.app.console.text import (
    code_title,
    explain_code,
    lookup_code,
    percent,
    safe_markdown,
    safe_text,
    severity_title,
)
from dialint.detector.errors import DialintError
from dialint.detector.records import Dialogue, Finding
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.annotation import Annotation, quoted_finding
from dialint.labeling.store import appeals
from dialint.labeling.store.appeals import MAX_CHARACTERS, Dispute, OwnDialogue
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import read
from dialint.labeling.store.records import Account, Appeal, Outcome

PER_PAGE = 20
STATES = {
    "open": "Appeal is open",
    "upheld": "Appeal rejected: the finding stands",
    "overturned": "Appeal accepted: the finding was wrong",
    "amended": "Appeal accepted in part: another finding stands",
}
OUTCOMES: dict[Outcome, str] = {
    "upheld": "The finding stands",
    "overturned": "The finding is wrong",
    "amended": "Another error stands in its place",
}
assert set(OUTCOMES) == set(get_args(Outcome))


def own_findings_page(store: Store, account: Account) -> None:
    """Show an agent the findings in own dialogues, with a way to object to each."""
    _show_notice()
    pages: list[OwnDialogue] = st.session_state.setdefault(f"own pages:{account.id}", [])
    listed = appeals.list_own_dialogues(store, account.id, pages[-1] if pages else None, PER_PAGE)
    by_id = {one.dialogue: one for one in listed if one.n_findings}
    if not by_id:
        st.info("No finding in your dialogues here.")
    else:
        chosen = st.selectbox(
            "Your dialogues with findings, newest first", list(by_id), key=f"own:{len(pages)}",
            format_func=lambda name: safe_text(_title(by_id[name])),
        )  # fmt: skip
        _show_own(store, account, chosen)
    with st.container(horizontal=True):
        st.button("◀ Newest", disabled=not pages, on_click=pages.clear)
        st.button("Older ▶", disabled=len(listed) < PER_PAGE, on_click=lambda: pages.append(listed[-1]))


def _title(one: OwnDialogue) -> str:
    day = datetime.fromtimestamp(one.created_ms / 1000, UTC)
    findings = f"{one.n_findings} finding{'s' * (one.n_findings != 1)}"
    return f"{one.dialogue}: {findings}, in the store since {day:%Y-%m-%d}"


def _show_own(store: Store, account: Account, name: str) -> None:
    taxonomy = load_taxonomy()
    dialogue, verdict = read(store, account.id, name)
    findings = verdict.findings if verdict is not None else ()
    own = {(one.turn, one.code): one for one in appeals.list_own(store, account.id) if one.dialogue == name}
    left, right = st.columns([11, 9], gap="medium")
    with left:
        _show_dialogue(dialogue, findings, None, f"own:{name}")
    with right:
        if not findings:
            st.info("The newest verdict has no finding in this dialogue.")
        for number, finding in enumerate(findings, 1):
            with st.container(border=True):
                _show_finding(number, finding, taxonomy)
                appeal = own.get((finding.turn, finding.code))
                if appeal is not None:
                    _show_state(appeal)
                    continue
                with st.expander("What does this error mean?"):
                    st.markdown(explain_code(lookup_code(finding.code, taxonomy)))
                with st.popover("Object"), st.form(f"object:{name}:{finding.turn}:{finding.code}"):
                    statement = st.text_area(
                        "Why is the finding wrong? A second reviewer, who does not read this, judges the "
                        "turn anew; then an expert decides.",
                        max_chars=MAX_CHARACTERS,
                    )
                    if st.form_submit_button("Send the appeal", type="primary"):
                        with _report("Your appeal was sent."):
                            appeals.open_appeal(
                                store, account.id, name, finding.turn, finding.code, statement
                            )
                        st.rerun()


def _show_finding(number: int, finding: Finding, taxonomy: Taxonomy) -> None:
    title = f"{number}. {code_title(finding.code, taxonomy)}"
    st.markdown(f"**{safe_markdown(title)}** · {safe_markdown(severity_title(finding.severity, taxonomy))}")
    st.caption(safe_markdown(f"Turn {finding.turn} · {percent(finding.probability)}"))
    st.text(safe_text(f"“{finding.quote}”"))
    if finding.reason:
        st.text(safe_text(finding.reason))


def _show_state(appeal: Appeal) -> None:
    st.markdown(f"**{safe_markdown(STATES[appeal.state])}**")
    st.text(safe_text(f"You: {appeal.statement}"))
    if appeal.reason:
        st.text(safe_text(f"The expert: {appeal.reason}"))


def decide_page(store: Store, account: Account) -> None:
    """Show an expert the open appeals, each with all that was said of its turn, and take the decision."""
    _show_notice()
    listed = appeals.list_open(store, account.id)
    if not listed:
        st.info("No appeal is open.")
        return
    by_number = {one.id: one for one in listed}
    title = f"Open appeals, oldest first: {len(listed)}"
    number = st.selectbox(
        safe_text(title), list(by_number), key=f"appeal:{listed[0].id}",
        format_func=lambda each: safe_text(
            f"{each}: {by_number[each].code} in turn {by_number[each].turn} of {by_number[each].dialogue}"
        ),
    )  # fmt: skip
    dispute = appeals.load_dispute(store, account.id, number)
    taxonomy = load_taxonomy()
    disputed = [
        finding
        for finding in (dispute.verdict.findings if dispute.verdict is not None else ())
        if (finding.turn, finding.code) == (dispute.appeal.turn, dispute.appeal.code)
    ]
    left, right = st.columns([11, 9], gap="medium")
    with left:
        _show_dialogue(dispute.dialogue, disputed, dispute.appeal.turn, f"appeal:{number}")
    with right:
        for finding in disputed:
            with st.container(border=True):
                _show_finding(1, finding, taxonomy)
        if not disputed:
            st.caption("The newest verdict does not have this finding any more.")
        hides_names = st.toggle("Hide names", value=True)
        with st.container(border=True):
            st.markdown("**The agent objects**")
            st.text(safe_text(dispute.appeal.statement))
        _show_answers("Second review, blind", dispute.second, dispute.appeal.code, hides_names, taxonomy)
        second = {one.id for one in dispute.second}
        others = [
            one for one in dispute.answers if one.id not in second and one.turn in (None, dispute.appeal.turn)
        ]
        _show_answers("Earlier answers", others, dispute.appeal.code, hides_names, taxonomy)
        if dispute.second:
            _decision_form(store, account, dispute, taxonomy)
        else:
            st.info(
                "The blind second review comes first. A lead adds its task: dialint label appeals PROJECT."
            )


def _show_answers(
    title: str, answers: Sequence[Annotation], code: str, hides_names: bool, taxonomy: Taxonomy
) -> None:
    if not answers:
        return
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(title)}**")
        for number, one in enumerate(answers, 1):
            who = f"Reviewer {number}" if hides_names else one.labeler
            if code not in one.codes:
                said = "was not asked of this code"
            else:
                said = (
                    "sees this error"
                    if any(each.code == code for each in one.findings)
                    else "sees no such error"
                )
            more = [code_title(each.code, taxonomy) for each in one.findings if each.code != code]
            st.text(safe_text(f"{who} {said}" + (f"; found {', '.join(more)}" if more else "")))


def _decision_form(store: Store, account: Account, dispute: Dispute, taxonomy: Taxonomy) -> None:
    appeal = dispute.appeal
    with st.container(border=True):
        outcome = st.radio(
            "Decision", list(OUTCOMES), format_func=lambda each: safe_text(OUTCOMES[each]),
            key=f"outcome:{appeal.id}", index=None,
        )  # fmt: skip
        code = quote = None
        if outcome == "amended":
            code = st.selectbox(
                "Error that stands", list(taxonomy.codes), key=f"amended:{appeal.id}",
                format_func=lambda each: safe_text(code_title(each, taxonomy)),
            )  # fmt: skip
            quote = st.text_input("Its words in the turn; empty: the whole turn", key=f"quote:{appeal.id}")
        reason = st.text_area(
            "Reason, which the agent reads", max_chars=MAX_CHARACTERS, key=f"reason:{appeal.id}"
        )

        def decide() -> None:
            assert outcome is not None  # or the button is disabled
            with _report("The appeal is decided."):
                corrected = None
                if code is not None:
                    severity = taxonomy.codes[code].severity
                    corrected = quoted_finding(
                        dispute.dialogue, appeal.turn, code, severity, reason, quote or None
                    )
                appeals.decide_appeal(store, account.id, appeal.id, outcome, reason, corrected)

        ready = outcome is not None and bool(reason.strip())
        st.button("Decide", key=f"decide:{appeal.id}", type="primary", disabled=not ready, on_click=decide)


def _show_dialogue(dialogue: Dialogue, findings: Sequence[Finding], focus: int | None, key: str) -> None:
    """The dialogue with a mark for each finding; of a long one the page with the first of them."""
    marks = [
        Mark(
            Selection(turn=each.turn, start=each.start, end=each.end),
            safe_text(f"{number} {each.code}"),
            "open",
        )
        for number, each in enumerate(findings, 1)
    ]
    if focus is None and findings:
        focus = findings[0].turn
    pages = paginate(dialogue)
    number = find_page(pages, focus) if focus is not None else 0
    if len(pages) > 1:
        number = st.selectbox(
            "Page", range(len(pages)), index=number, key=f"page:{key}",
            format_func=lambda i: safe_text(f"Page {i + 1} of {len(pages)}: from turn {pages[i][0].turn}"),
        )  # fmt: skip
    data = view_data(dialogue, None, marks, focus, 0, (number, pages[number]))
    render_dialogue(data, f"dialogue:{key}", lambda: None)


@contextmanager
def _report(done: str) -> Iterator[None]:
    """Show on the next run that it is done, or what the store refuses."""
    try:
        yield
        st.session_state["appeals notice"] = ("success", done)
    except DialintError as refused:
        st.session_state["appeals notice"] = ("error", f"That was not saved: {refused.message}.")


def _show_notice() -> None:
    kind, text = st.session_state.pop("appeals notice", (None, ""))
    if kind is not None:
        (st.success if kind == "success" else st.error)(safe_markdown(text))
