"""The Review page: what the model found, to be confirmed, rejected, changed or added to."""

from __future__ import annotations

import streamlit as st

from app.console import work
from app.console.answer import Choice, change, decide, remove
from app.console.desk import (
    Desk,
    acted,
    choose_project,
    desk,
    leave,
    open_next,
    pressed,
    refusals,
    save,
    say_notices,
    show_dialogue,
    skip_button,
)
from app.console.finding_form import finding_form
from app.console.plain import inert, named, severity_name, source_of, verdict_line
from app.console.work import Clash, Item
from detector.records import Finding, Severity
from detector.taxonomy import Taxonomy, load
from labeling.annotation import Annotation
from labeling.store import projects, tasks
from labeling.store.database.transactions import Store
from labeling.store.records import Account

STATE_WORDS = {"open": "Not decided", "kept": "Confirmed ✓", "rejected": "Rejected ✗"}


def review_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    at = desk("review", store, account)
    known = projects.listed(store, account.id)
    choose_project(at, [each for each, state in known if each.purpose == "review" and state == "open"])
    open_next(at, blind=False)
    say_notices(at)
    if at.project is None:
        st.info("There is no open review project. A lead makes one.")
    elif at.item is None or at.answer is None:
        st.info("Nothing is waiting for you in this queue.")
        _undo_button(at)
    elif at.clash is not None:
        _show_clash(at, at.clash)
    else:
        _show_item(at, at.item)


def _show_item(at: Desk, item: Item) -> None:
    taxonomy = load()
    dialogue, panel = st.columns([11, 9], gap="medium")
    with dialogue:
        st.caption(inert(_where(at, item)))
        show_dialogue(at, "review")
    with panel:
        _show_findings(at, item, taxonomy)
        with st.expander("Add a finding", expanded=at.selected is not None):
            finding_form(at, item, item.codes, taxonomy, with_model=True)
        _show_end(at, item)


def _where(at: Desk, item: Item) -> str:
    if item.supersedes is not None:
        return f"Dialogue {item.dialogue.id}: you are changing your answer {item.supersedes}"
    queue = tasks.queue_counts(at.store, at.account.id, at.project or "")["main"]
    return f"Dialogue {item.dialogue.id}; {queue['open']} more in the queue"


def _show_findings(at: Desk, item: Item, taxonomy: Taxonomy) -> None:
    answer = at.answer
    assert answer is not None
    n_proposed = sum(choice.proposed is not None for choice in answer.choices)
    st.caption(inert(verdict_line(item.verdict, n_proposed)))
    current = next(iter(answer.undecided), None)
    at.focus = None if current is None else answer.choices[current].finding.turn
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
    st.text(f"“{finding.quote}”")
    if finding.reason and (is_current or choice.state == "open"):
        st.text(finding.reason)
    with st.container(horizontal=True):
        if choice.proposed is None:
            st.button("Remove", key=f"remove:{key}", on_click=_remove, args=(at, item, place))
        else:
            keys: tuple[str | None, str | None] = ("Y", "N") if is_current else (None, None)
            st.button(
                "Confirm", key=f"keep:{key}:{is_current}", shortcut=keys[0],
                type=pressed(choice.state == "kept"),
                on_click=_decide, args=(at, item, place, "kept", is_current),
            )  # fmt: skip
            st.button(
                "Reject", key=f"reject:{key}:{is_current}", shortcut=keys[1],
                type=pressed(choice.state == "rejected"),
                on_click=_decide, args=(at, item, place, "rejected", is_current),
            )  # fmt: skip
        with st.popover("Change"):
            _change_form(at, item, place, finding, taxonomy, key)


def _change_form(at: Desk, item: Item, place: int, finding: Finding, taxonomy: Taxonomy, key: str) -> None:
    at_first = item.codes.index(finding.code)
    code = st.selectbox(
        "Error", item.codes, index=at_first, format_func=lambda each: named(each, taxonomy), key=f"to:{key}"
    )
    known = taxonomy.codes[code]
    usual = finding.severity if code == finding.code else known.severity
    levels = known.severities if usual in known.severities else (usual, *known.severities)
    severity = st.selectbox(
        "Severity", levels, index=levels.index(usual), format_func=lambda each: severity_name(each, taxonomy),
        key=f"level:{key}:{code}",
    )  # fmt: skip
    st.button(
        "Confirm as changed", key=f"change:{key}", on_click=_change, args=(at, item, place, code, severity)
    )


def _decide(at: Desk, item: Item, place: int, state: str, by_key: bool) -> None:
    """A key speaks of the first open finding only: struck twice, before the page has followed, it must not
    turn round what was just decided."""
    if at.answer is not None and at.item is item:
        if by_key and at.answer.choices[place].state != "open":
            return
        acted(at, decide(at.answer, place, "kept" if state == "kept" else "rejected"), item)


def _change(at: Desk, item: Item, place: int, code: str, severity: Severity) -> None:
    if at.answer is not None and at.item is item:
        acted(at, change(at.answer, place, load().codes[code], severity), item)


def _remove(at: Desk, item: Item, place: int) -> None:
    if at.answer is not None and at.item is item:
        acted(at, remove(at.answer, place), item)


def _show_end(at: Desk, item: Item) -> None:
    """Save, skip, undo."""
    answer = at.answer
    assert answer is not None
    left = len(answer.undecided)
    if left:
        st.caption(f"Decide {left} more finding{'s' if left > 1 else ''}, then save.")
    else:
        n = len(answer.findings)
        st.caption("You say: nothing wrong here." if n == 0 else f"You say: {n} error{'s' if n > 1 else ''}.")
    st.button(
        "Save and next", key=f"save:{at.n_shown}", type="primary", shortcut="S",
        disabled=left > 0, width="stretch", on_click=save, args=(at, item),
    )  # fmt: skip
    if item.supersedes is not None:
        st.button("Leave my answer as it was", key=f"leave:{at.n_shown}", on_click=leave, args=(at, item))
        return
    skip_button(at, item, f"{at.n_shown}")
    _undo_button(at)


def _undo_button(at: Desk) -> None:
    st.button(
        "Undo my last answer",
        key="undo:review",
        shortcut="U",
        width="stretch",
        on_click=_undo,
        args=(at,),
    )


def _undo(at: Desk) -> None:
    """Take one's last answer up again; the task on the desk stays one's own and comes back after."""
    with refusals(at):
        taken = work.take_back(at.store, at.account.id)
        if taken is None:
            at.note("info", "You have no answer here to undo.")
        else:
            at.lay(taken)


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
            st.text(f"“{finding.quote}”")
            if finding in only:
                st.caption("not in the other answer")
