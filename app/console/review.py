"""The Review page: what the model found, to be confirmed, rejected, changed or added to."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dialint.app.console import work
from dialint.app.console.answer import Answer, Choice, State, change, decide
from dialint.app.console.desk import Desk, leave, open_desk, pressed, save, show_dialogue, step
from dialint.app.console.ending import other_ways, save_button, undo_button
from dialint.app.console.finding_form import finding_form, remove_button
from dialint.app.console.plain import code_of, inert, named, severity_name, source_of, verdict_line, visible
from dialint.app.console.work import Clash, Item
from dialint.detector.records import Finding
from dialint.detector.taxonomy import Taxonomy, load
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account

STATE_WORDS = {"open": "Not decided", "kept": "Confirmed ✓", "rejected": "Rejected ✗"}
DECISIONS: tuple[tuple[str, State, str], ...] = (("Confirm", "kept", "Y"), ("Reject", "rejected", "N"))


def review_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    at = open_desk("review", store, account, ("review",), blind=False)
    if at.project is None:
        st.info("There is no open review project. A lead makes one.")
    elif at.item is None or at.answer is None:
        st.info("Nothing is waiting for you in this queue.")
        undo_button(at)
    elif at.clash is not None:
        _show_clash(at, at.clash)
    else:
        _show_item(at, at.item, at.answer)


def _show_item(at: Desk, item: Item, answer: Answer) -> None:
    taxonomy = load()
    current = next(iter(answer.undecided), None)
    focus = None if current is None else answer.choices[current].finding.turn
    dialogue, panel = st.columns([11, 9], gap="medium")
    with dialogue:
        st.caption(inert(_where(at, item)))
        show_dialogue(at, "review", focus)
    with panel:
        _show_findings(at, item, answer, current, taxonomy)
        with st.expander("Add a finding", expanded=at.selected is not None):
            finding_form(at, item, item.codes, taxonomy, with_model=True)
        _show_end(at, item, answer)


def _where(at: Desk, item: Item) -> str:
    if item.supersedes is not None:
        return f"Dialogue {item.dialogue.id}: you are changing your answer {item.supersedes}"
    queue = tasks.queue_counts(at.store, at.account.id, at.project or "")["main"]
    return f"Dialogue {item.dialogue.id}; {queue['open']} more in the queue"


def _show_findings(at: Desk, item: Item, answer: Answer, current: int | None, taxonomy: Taxonomy) -> None:
    n_proposed = sum(choice.proposed is not None for choice in answer.choices)
    blind = "A second review: what the model and others say of it is not shown."
    st.caption(inert(blind if item.blind else verdict_line(item.verdict, n_proposed)))
    for place, choice in enumerate(answer.choices):
        with st.container(border=True):
            _show_card(at, item, place, choice, taxonomy, is_current=place == current)


def _show_card(
    at: Desk, item: Item, place: int, choice: Choice, taxonomy: Taxonomy, *, is_current: bool
) -> None:
    finding, key = choice.finding, f"{at.n_shown}:{place}"
    pointer = "▶ " if is_current else ""
    title = f"{pointer}{place + 1}. {named(finding.code, taxonomy)}"
    st.markdown(f"**{inert(title)}** · {inert(severity_name(finding.severity, taxonomy))}")
    facts = [f"Turn {finding.turn}", source_of(choice.proposed, item.verdict), STATE_WORDS[choice.state]]
    if choice.changed and choice.proposed is not None:
        facts.append(f"changed from {choice.proposed.code} {choice.proposed.severity}")
    st.caption(inert(" · ".join(facts)))
    st.text(visible(f"“{finding.quote}”"))
    if finding.reason and (is_current or choice.state == "open"):
        st.text(visible(finding.reason))
    with st.container(horizontal=True):
        if choice.proposed is None:
            remove_button(at, item, place)
        else:
            for word, state, letter in DECISIONS:
                decided = partial(_decided, place=place, state=state, by_key=is_current)
                st.button(
                    inert(word), key=f"{state}:{key}:{is_current}", shortcut=letter if is_current else None,
                    type=pressed(choice.state == state), on_click=step, args=(at, item, decided),
                )  # fmt: skip
        with st.popover("Change"):
            _change_form(at, item, place, finding, taxonomy, key)


def _change_form(at: Desk, item: Item, place: int, finding: Finding, taxonomy: Taxonomy, key: str) -> None:
    at_first = item.codes.index(finding.code)
    code = st.selectbox(
        "Error",
        item.codes,
        index=at_first,
        format_func=lambda each: visible(named(each, taxonomy)),
        key=f"to:{key}",
    )
    known = code_of(code, taxonomy)
    usual = finding.severity if code == finding.code else known.severity
    levels = known.severities if usual in known.severities else (usual, *known.severities)
    severity = st.selectbox(
        "Severity", levels, index=levels.index(usual),
        format_func=lambda each: visible(severity_name(each, taxonomy)), key=f"level:{key}:{code}",
    )  # fmt: skip
    changed = partial(change, place=place, code=known, severity=severity)
    st.button("Confirm as changed", key=f"change:{key}", on_click=step, args=(at, item, changed))


def _decided(answer: Answer, place: int, state: State, by_key: bool) -> Answer:
    """A key speaks of the first open finding only: struck twice, before the page has followed, it must not
    turn round what was just decided."""
    settled = by_key and answer.choices[place].state != "open"
    return answer if settled else decide(answer, place, state)


def _show_end(at: Desk, item: Item, answer: Answer) -> None:
    left, n = len(answer.undecided), len(answer.findings)
    if left:
        st.caption(inert(f"Decide {left} more finding{'s' if left > 1 else ''}, then save."))
    else:
        said = "nothing wrong here" if n == 0 else f"{n} error{'s' if n > 1 else ''}"
        st.caption(inert(f"You say: {said}."))
    save_button(at, item, ready=not left)
    other_ways(at, item)


def _show_clash(at: Desk, clash: Clash) -> None:
    """Somebody else answered first: both values, and the choice."""
    taxonomy = load()
    who = clash.theirs[-1]
    st.warning("This was answered elsewhere before your answer came. Yours is not saved yet. Compare:")
    left, right = st.columns(2)
    only_theirs, only_ours = work.differing(who.findings, clash.ours)
    with left:
        _show_side(f"{who.labeler} ({_time(who)})", who.findings, only_theirs, taxonomy)
    with right:
        _show_side("You", clash.ours, only_ours, taxonomy)
    with st.container(horizontal=True):
        st.button("Keep theirs", key="clash:theirs", on_click=leave, args=(at, clash.item))
        st.button(
            "Save mine as well", key="clash:ours", type="primary", on_click=save,
            args=(at, clash.item, lambda: work.insist(at.store, at.account.id, clash)),
        )  # fmt: skip


def _time(annotation: Annotation) -> str:
    return "time unknown" if annotation.at is None else f"{annotation.at:%Y-%m-%d %H:%M} UTC"


def _show_side(who: str, found: tuple[Finding, ...], only: list[Finding], taxonomy: Taxonomy) -> None:
    st.markdown(f"**{inert(who)}**")
    if not found:
        st.text("Nothing wrong here.")
    for finding in found:
        with st.container(border=True):
            words = [
                f"Turn {finding.turn}",
                named(finding.code, taxonomy),
                severity_name(finding.severity, taxonomy),
            ]
            st.markdown(inert(" · ".join(words)))
            st.text(visible(f"“{finding.quote}”"))
            if finding in only:
                st.caption("not in the other answer")
