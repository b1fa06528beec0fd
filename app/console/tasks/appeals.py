"""The pages of appeals: an agent reads the findings in own dialogues and objects; an expert decides.

The agent sees the findings of the newest verdict with their evidence, and never suggestions. The expert sees
the statement, the finding, the blind second review and what everybody said, and decides with a reason that
the agent reads. The store checks rights, and that the second review came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

import streamlit as st

from dialint.app.console.i18n import _, from_ms, ngettext, paragraph, show_day, show_number
from dialint.app.console.messages import attempt, report_refusals, set_notice, show_notice
from dialint.app.console.tables import choose_view, dialogue_cell, select, share_text, show_paging, show_table
from dialint.app.console.tasks.dialogue_view import finding_marks, show_marked_dialogue
from dialint.app.console.text import (
    code_title,
    explain_code,
    lookup_code,
    percent,
    safe_markdown,
    safe_text,
    severity_title,
)
from dialint.detector.records import Finding
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.annotation import Annotation, quoted_finding
from dialint.labeling.store import appeals, projects
from dialint.labeling.store.api import Store
from dialint.labeling.store.appeals import MAX_CHARACTERS, Dispute, OwnDialogue
from dialint.labeling.store.dialogues import read
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, Appeal, Outcome, Project

PER_PAGE = 20
NEW = ""
"""Stands for a project for second reviews that does not exist yet."""


def own_findings_page(store: Store, account: Account) -> None:
    """Show an agent the findings in own dialogues, with a way to object to each."""
    show_notice("appeals")
    pages: list[OwnDialogue] = st.session_state.setdefault(f"own pages:{account.id}", [])
    listed = appeals.list_own_dialogues(store, account.id, pages[-1] if pages else None, PER_PAGE)
    titles = {}
    for one in listed:
        if one.n_findings:
            since = _("in the store since {day}").format(day=show_day(from_ms(one.created_ms)))
            findings = ngettext("{n} finding", "{n} findings", one.n_findings)
            titles[one.dialogue] = f"{one.dialogue}: {findings}, {since}"
    chosen = None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if titles:
            chosen = select(_("Your dialogues with findings, newest first"), titles, f"own:{len(pages)}")
        last = listed[-1] if listed else None
        show_paging(pages, last, has_more=len(listed) == PER_PAGE, key="own")
    if chosen is None:
        st.info(_("No finding in your dialogues here."))
    else:
        _show_own(store, account, chosen)


def _show_own(store: Store, account: Account, name: str) -> None:
    taxonomy = load_taxonomy()
    dialogue, verdict = read(store, account.id, name)
    findings = verdict.findings if verdict is not None else ()
    own = {(one.turn, one.code): one for one in appeals.list_own(store, account.id) if one.dialogue == name}
    states = {
        "open": _("Appeal is open"), "upheld": _("Appeal rejected: the finding stands"),
        "overturned": _("Appeal accepted: the finding was wrong"),
        "amended": _("Appeal accepted in part: another finding stands"),
    }  # fmt: skip
    left, right = st.columns([11, 9], gap="medium")
    with left:
        focus = findings[0].turn if findings else None
        show_marked_dialogue(dialogue, finding_marks(findings), focus, f"own:{name}")
    with right:
        if not findings:
            st.info(_("The newest verdict has no finding in this dialogue."))
        rejected = appeals.list_rejected(store, account.id, name)
        for number, finding in enumerate(findings, 1):
            with st.container(border=True, gap="small"):
                _show_finding(number, finding, taxonomy)
                if number - 1 in rejected and (finding.turn, finding.code) not in own:
                    st.markdown(
                        f"**{safe_markdown(_('A reviewer rejected this finding: it does not count'))}**"
                    )
                elif (appeal := own.get((finding.turn, finding.code))) is None:
                    _show_objection(store, account, name, finding, taxonomy)
                else:
                    st.markdown(f"**{safe_markdown(states[appeal.state])}**")
                    st.text(safe_text(_("You: {statement}").format(statement=appeal.statement)))
                    if appeal.reason:
                        st.text(safe_text(_("The expert: {reason}").format(reason=appeal.reason)))


def _show_objection(store: Store, account: Account, name: str, finding: Finding, taxonomy: Taxonomy) -> None:
    with st.container(horizontal=True):
        with st.popover(_("What it means")):
            st.markdown(explain_code(lookup_code(finding.code, taxonomy)))
        with st.popover(_("Object")), st.form(f"object:{name}:{finding.turn}:{finding.code}", border=False):
            statement = st.text_area(paragraph("Why is the finding wrong? A"), max_chars=MAX_CHARACTERS)
            if st.form_submit_button(_("Send the appeal"), type="primary"):
                with attempt("appeals") as done:
                    appeals.open_appeal(store, account.id, name, finding.turn, finding.code, statement)
                    done(_("Your appeal was sent."))


def _show_finding(number: int, finding: Finding, taxonomy: Taxonomy) -> None:
    facts = _("turn {turn}, {probability}").format(
        turn=finding.turn, probability=percent(finding.probability)
    )
    st.markdown(f"**{safe_markdown(f'{number}. {code_title(finding.code, taxonomy)}')}**")
    st.caption(safe_markdown(f"{severity_title(finding.severity, taxonomy)} · {facts}"))
    st.text(safe_text(f"“{finding.quote}”"))
    if finding.reason:
        st.caption(safe_markdown(finding.reason))


def decide_page(store: Store, account: Account) -> None:
    """Show an expert the open appeals and take decisions; the decided ones; how often appeals succeed."""
    show_notice("appeals")
    views = {"open": _("Open"), "decided": _("Decided"), "rates": _("Overturn rates")}
    view = choose_view(views, "appeals view")
    if view == "decided":
        _show_decided(store, account, load_taxonomy())
    elif view == "rates":
        _show_rates(store, account, load_taxonomy())
    else:
        _show_open(store, account, load_taxonomy())


def _show_open(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    listed = appeals.list_open(store, account.id)
    if not listed:
        st.info(_("No appeal is open."))
        return
    title = _("{number}: {code} in turn {turn} of {dialogue}")
    titles = {
        one.id: title.format(
            number=one.id, code=code_title(one.code, taxonomy), turn=one.turn, dialogue=one.dialogue
        )
        for one in listed
    }
    label = _("Open appeals, oldest first: {n}").format(n=show_number(len(listed)))
    number = select(safe_text(label), titles, f"appeal:{listed[0].id}")
    dispute = appeals.load_dispute(store, account.id, number)
    disputed = [
        finding
        for finding in (dispute.verdict.findings if dispute.verdict is not None else ())
        if (finding.turn, finding.code) == (dispute.appeal.turn, dispute.appeal.code)
    ]
    left, right = st.columns([11, 9], gap="medium")
    with left:
        show_marked_dialogue(
            dispute.dialogue, finding_marks(disputed), dispute.appeal.turn, f"appeal:{number}"
        )
    with right:
        for finding in disputed:
            with st.container(border=True, gap="small"):
                _show_finding(1, finding, taxonomy)
        if not disputed:
            st.caption(_("The newest verdict does not have this finding any more."))
        with st.container(border=True, gap="small"):
            st.markdown(f"**{safe_markdown(_('The agent objects'))}**")
            st.text(safe_text(dispute.appeal.statement))
        second, code, turn = {one.id for one in dispute.second}, dispute.appeal.code, dispute.appeal.turn
        others = [one for one in dispute.answers if one.id not in second and one.turn in (None, turn)]
        names = list(dict.fromkeys(one.labeler for one in dispute.answers))
        _show_answers(_("Second review, blind"), dispute.second, names, code, taxonomy)
        _show_answers(_("Earlier answers"), others, names, code, taxonomy)
        if dispute.second:
            _show_decision_form(store, account, dispute, taxonomy)
        else:
            _show_second_review(store, account, dispute, listed)


def _show_second_review(store: Store, account: Account, dispute: Dispute, listed: Sequence[Appeal]) -> None:
    first = _("The blind second review comes first.")
    if dispute.waits_in:
        text = _("It waits for a reviewer in {projects}.").format(projects=", ".join(dispute.waits_in))
        st.info(safe_markdown(f"{first} {text}"))
    elif not has_permission(account, "plan"):
        st.info(safe_markdown(f"{first} {_('A lead sends it to one, here on this page.')}"))
    if not has_permission(account, "plan"):
        return
    disputed = {one.code for one in listed}
    existing = projects.list_projects(store, account.id)
    suited = [
        each.id
        for each, state in existing
        if state == "open" and each.purpose == "review" and not each.prelabelled
        and disputed.issubset(each.codes)
    ]  # fmt: skip
    used = {each.id for each, _state in existing}
    new = next(name for n in range(1, len(used) + 2) if (name := f"appeals-{n}") not in used)
    names = {**{each: each for each in suited}, NEW: _("a new project, {name}").format(name=new)}
    with st.form(f"second review:{dispute.appeal.id}"):
        if not dispute.waits_in:
            st.markdown(safe_markdown(first))
        chosen = select(
            _("Project of the second review"),
            names,
            help=_("Its reviewers judge the turn without the finding, the statement and other answers."),
        )
        pressed = st.form_submit_button(
            ngettext(
                "Send {n} open appeal to a second review",
                "Send {n} open appeals to a second review",
                len(listed),
            ),
            type="secondary" if dispute.waits_in else "primary",
        )  # fmt: skip
    if pressed:
        with report_refusals("appeals"):
            name = new if chosen == NEW else chosen
            if chosen == NEW:
                project = Project(id=name, codes=tuple(load_taxonomy().codes), purpose="review")
                projects.create(store, account.id, project)
            n = appeals.open_second_reviews(store, account.id, name)
            done = f"{ngettext('{n} task was added.', '{n} tasks were added.', n)} ({name})"
            stuck = appeals.list_stuck(store, account.id, name)
            nobody = paragraph("Nobody is left to review appeal")  # fmt: skip
            texts = [done]
            texts += [nobody.format(numbers=", ".join(str(one.id) for one in stuck))] if stuck else []
            set_notice("appeals", "error" if stuck else "success", " ".join(texts))
        st.rerun()


def _show_answers(
    title: str, answers: Sequence[Annotation], names: Sequence[str], code: str, taxonomy: Taxonomy
) -> None:
    """Show the answers of people, by their numbers in `names`."""
    if not answers:
        return
    with st.container(border=True, gap="small"):
        st.markdown(f"**{safe_markdown(title)}**")
        for one in answers:
            who = _("Reviewer {n}").format(n=names.index(one.labeler) + 1)
            if code not in one.codes:
                template = _("{who} was not asked of this code")
            elif any(each.code == code for each in one.findings):
                template = _("{who} sees this error")
            else:
                template = _("{who} sees no such error")
            text = template.format(who=who)
            more = [code_title(each.code, taxonomy) for each in one.findings if each.code != code]
            if more:
                text += _("; found {codes}").format(codes=", ".join(more))
            st.text(safe_text(text))


def _show_decision_form(store: Store, account: Account, dispute: Dispute, taxonomy: Taxonomy) -> None:
    appeal = dispute.appeal
    outcomes: dict[Outcome, str] = {
        "upheld": _("The finding stands"),
        "overturned": _("The finding is wrong"),
        "amended": _("Another error stands in its place"),
    }
    assert set(outcomes) == set(get_args(Outcome))
    with st.container(border=True):
        outcome = st.radio(
            _("Decision"), list(outcomes), format_func=lambda each: safe_text(outcomes[each]),
            key=f"outcome:{appeal.id}", index=None, horizontal=True,
        )  # fmt: skip
        if outcome == "amended":
            titles = {each: code_title(each, taxonomy) for each in taxonomy.codes}
            select(_("Error that stands"), titles, f"amended:{appeal.id}")
            st.text_input(_("Its words in the turn; empty: the whole turn"), key=f"quote:{appeal.id}")
        reason = st.text_area(
            _("Reason, which the agent reads"), max_chars=MAX_CHARACTERS, key=f"reason:{appeal.id}", height=80
        )

        def decide() -> None:
            # What is chosen now: where a choice and the click came together, this run saw the old one.
            chosen = st.session_state
            outcome, reason = chosen[f"outcome:{appeal.id}"], chosen[f"reason:{appeal.id}"]
            with report_refusals("appeals"):
                corrected = None
                if outcome == "amended":
                    code, quote = chosen.get(f"amended:{appeal.id}"), chosen.get(f"quote:{appeal.id}")
                    if code is None:
                        set_notice("appeals", "info", _("Choose the error that stands, then decide."))
                        return
                    severity = taxonomy.codes[code].severity
                    corrected = quoted_finding(
                        dispute.dialogue, appeal.turn, code, severity, reason, quote or None
                    )
                appeals.decide_appeal(store, account.id, appeal.id, outcome, reason, corrected)
                set_notice("appeals", "success", _("The appeal is decided."))

        ready = outcome is not None and bool(reason.strip())
        st.button(_("Decide"), key=f"decide:{appeal.id}", type="primary", disabled=not ready, on_click=decide)


def _show_decided(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    """Show the decided appeals, newest first."""
    pages: list[int] = st.session_state.setdefault(f"decided pages:{account.id}", [])
    listed = appeals.list_decided(store, account.id, pages[-1] if pages else None, PER_PAGE)
    if not listed and not pages:
        st.info(_("No appeal is decided yet."))
        return
    states = {"overturned": _("overturned"), "upheld": _("upheld"), "amended": _("amended")}
    show_table(
        (_("Number"), _("Dialogue"), _("Turn"), _("Code"), _("Outcome"), _("The agent"), _("The expert")),
        (
            (
                str(one.id), dialogue_cell(one.dialogue), str(one.turn), code_title(one.code, taxonomy),
                states[one.state], one.statement, one.reason or "–",
            )
            for one in listed
        ),
    )  # fmt: skip
    last = listed[-1].id if listed else None
    show_paging(pages, last, has_more=len(listed) == PER_PAGE, key="decided")


def _show_rates(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    """Show the outcomes of appeals, by code and by release."""
    counted = appeals.count_outcomes(store, account.id)
    if not counted:
        st.info(_("Nobody has appealed yet."))
        return
    groups: tuple[dict[str, Counter[str]], dict[str, Counter[str]]] = ({}, {})
    for one in counted:
        title = code_title(one.code, taxonomy)
        for group, name in zip(groups, (title, one.release or "–"), strict=True):
            group.setdefault(name, Counter())[one.state] += one.n
    headings = (_("Decided"), _("Overturned"), _("Amended"), _("Found wrong"), _("Open"))
    titles = ((_("By code"), _("Code")), (_("By release"), _("Release")))
    for column, (title, first), group in zip(st.columns(2, gap="medium"), titles, groups, strict=True):
        rows = []
        wrong = {name: states["overturned"] + states["amended"] for name, states in group.items()}
        for name, states in sorted(group.items(), key=lambda item: (-wrong[item[0]], item[0])):
            n = states["upheld"] + wrong[name]
            numbers = (show_number(each) for each in (n, states["overturned"], states["amended"]))
            rows.append((name, *numbers, share_text(wrong[name], n), show_number(states["open"])))
        with column:
            st.markdown(f"**{safe_markdown(title)}**")
            show_table((first, *headings), rows)
    st.caption(paragraph("Shares with 95 % Wilson intervals."))
