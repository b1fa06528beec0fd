"""The workspace of Review and Label: what the browser gets of an item, and the component that shows it.

A *book* has what stays while an item is open (the turns of the visible page, the codes, the words of the
screen); the rest is sent after each event, so an acknowledgement is small. The browser applies decisions at
once and reports them as events (`answer.py`); on a blind page nothing that it gets tells a control task from
another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from dialint.app.console.i18n import _, choose_name, show_number
from dialint.app.console.tasks.answer import Answer, Choice, list_reasons, load_reasons
from dialint.app.console.tasks.dialogue_view import find_page, load_words, translate_words, view_turns
from dialint.app.console.tasks.evidence import Evidence, describe_source, find_evidence
from dialint.app.console.tasks.items import Item
from dialint.app.console.tasks.page_session import PageSession, receive
from dialint.app.console.text import coverage_text, lookup_code, percent, safe_text
from dialint.detector.records import Dialogue, Finding
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.tool_use import tool_uses

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


Mode = Literal["review", "label"]


SCRIPTS = ("turns.js", "draft.js", "selection.js", "cards.js", "drawing.js", "workspace.js")
STYLES = ("dialogue.css", "workspace.css")
MIN_PROBABILITY = 0.01
"""Lower probabilities of the model are not sent along with the list of codes."""
N_EXPANDED = 2
"""Items for which a labeler's instructions are unfolded; later they are a click away."""


ChoiceEvidence = Mapping[str, tuple[Evidence, ...]]
"""The evidence of each finding, by the id of its choice. Derived once for each run of the page."""


def show_workspace(
    session: PageSession, mode: Mode, *, title: str, origin: str = "", summary: str = ""
) -> None:
    """Show the session's item below three lines of text; the browser's reports are applied to the session."""
    evidence = find_choice_evidence(session)
    book = make_book(session, mode, evidence)
    name = hashlib.sha256(json.dumps(book).encode()).hexdigest()[:16]
    _book()(key=f"book:{mode}", data={"name": name, "book": book})
    data = {
        **make_data(session, mode, evidence), "book": name, "title": safe_text(title),
        "origin": safe_text(origin), "summary": safe_text(summary),
    }  # fmt: skip
    key = f"workspace:{mode}"

    def on_log() -> None:
        receive(session, getattr(st.session_state.get(key), "log", None))

    _workspace()(key=key, data=data, on_log_change=on_log)


def make_book(session: PageSession, mode: Mode, evidence: ChoiceEvidence) -> dict[str, Any]:
    """Return what does not change while the page of the item's dialogue is visible."""
    item, answer = session.current
    taxonomy, words = load_taxonomy(), load_words()
    texts = words["texts"]
    turns = [
        {**turn, "pieces": [{"text": piece["text"], "name": piece["name"]} for piece in turn["pieces"]]}
        for turn in view_turns(item.dialogue, item.turn, [], session.pages[session.page])
    ]
    return {
        "turns": turns,
        **_evidence_and_context(session, item, evidence),
        "codes": [_describe_code(item, code, mode, taxonomy) for code in item.codes],
        "severities": [{"code": each.code, "name": choose_name(each.name)} for each in taxonomy.severities],
        "strings": translate_words(texts["turn"] | texts["common"] | texts[mode]),
        "fixed": {
            "instructions": safe_text(item.instructions) if mode == "label" else "",
            "expand": session.n_items <= N_EXPANDED,
            "keys": words["keys"],
            "actions": [
                {"action": action, "name": _(texts["actions"][action])}
                for action in words["keys"]
                if words["only"].get(action, mode) == mode
            ],
            "skip_reasons": [{"id": name, "name": _(text)} for name, text in texts["skip_reasons"].items()],
            **(_reasons_and_probabilities(session, item, answer) if mode == "review" else {}),
        },
    }


def _reasons_and_probabilities(session: PageSession, item: Item, answer: Answer) -> dict[str, Any]:
    """Return the reasons for a rejection by code, and the model's probabilities on the visible turns."""
    codes = {choice.proposed.code for choice in answer.choices if choice.proposed is not None}
    visible = {part.turn for part in session.pages[session.page]}
    probabilities = {} if item.verdict is None or item.blind else item.verdict.probabilities or {}
    return {
        "reasons": {safe_text(code): list_reasons(code) for code in sorted(codes)},
        "reason_names": {name: choose_name(names) for name, names in load_reasons().names.items()},
        "given": {
            turn: {
                safe_text(code): percent(probability)
                for code, probability in sorted(by_code.items(), key=lambda pair: -pair[1])
                if probability >= MIN_PROBABILITY and code in item.codes
            }
            for turn, by_code in probabilities.items()
            if turn in visible
        },
    }


def _describe_code(item: Item, code: str, mode: Mode, taxonomy: Taxonomy) -> dict[str, Any]:
    entry = lookup_code(code, taxonomy)
    covered = mode == "review" and not item.blind
    return {
        "code": safe_text(code),
        "name": safe_text(choose_name(entry.name)) if code in taxonomy.codes else "",
        "definition": safe_text(entry.definition),
        "test": safe_text(entry.test),
        "example": safe_text(entry.example),
        "counter_example": safe_text(entry.counter_example),
        "severity": entry.severity,
        "severities": list(entry.severities),
        "coverage": safe_text(coverage_text(item.verdict, code)) if covered else "",
    }


def _evidence_and_context(session: PageSession, item: Item, evidence: ChoiceEvidence) -> dict[str, Any]:
    """Return the evidence by its id, and the part that is folded above the first turn: documents and the
    policy's name."""
    dialogue = item.dialogue
    context = [describe_source(number, source) for number, source in enumerate(dialogue.sources, 1)]
    if dialogue.policy:
        context.insert(0, Evidence("policy", _("Policy"), ((dialogue.policy, False),)))
    displayed = list(context) if session.page == 0 else []
    for of_choice in evidence.values():
        displayed += of_choice
    return {
        "evidence": {each.id: each.to_json() for each in displayed},
        "context": [each.id for each in context] if session.page == 0 else [],
    }


def find_choice_evidence(session: PageSession) -> ChoiceEvidence:
    """Return the evidence of each finding under its present code, by the id of its choice."""
    item, answer = session.current
    evidence = {}
    for choice in answer.choices:
        finding = choice.finding
        if choice.proposed is not None and choice.proposed.code == finding.code:
            finding = choice.proposed
        evidence[choice.id] = () if item.blind else find_evidence(item.dialogue, finding, item.policies)
    return evidence


def make_data(session: PageSession, mode: Mode, evidence: ChoiceEvidence) -> dict[str, Any]:
    """Return what changes with each event."""
    item, answer = session.current
    turns = {choice.finding.turn for choice in answer.choices}
    n_pages, here, page_text = len(session.pages), session.pages[session.page], ""
    if n_pages > 1:
        page_text = _("Page {page} of {pages}: turns {first} to {last}").format(
            page=show_number(session.page + 1), pages=show_number(n_pages), first=here[0].turn,
            last=here[-1].turn,
        )  # fmt: skip
    own = ""
    if done := session.durations:
        text = _(
            "Only you see this: {n} done in this sitting, the last in {last} s, {mean} s each on average."
        )
        last, mean = (show_number(round(seconds)) for seconds in (done[-1], fmean(done)))
        own = text.format(n=show_number(len(done)), last=last, mean=mean)
    return {
        "mode": mode,
        "draft": answer.key,
        "applied": answer.applied,
        "blind": item.blind,
        "supersedes": item.supersedes is not None,
        "choices": [_describe_choice(item, choice, evidence[choice.id]) for choice in answer.choices],
        "said": {safe_text(code): present for code, present in answer.said.items()},
        "page": session.page,
        "pages": n_pages,
        "page_of": {turn: find_page(session.pages, turn) for turn in turns},
        "page_text": page_text,
        "question_turn": item.turn,
        "adding": session.adding,
        "selected": session.selected and session.selected.model_dump(),
        "notices": [[kind, safe_text(text)] for kind, text in session.notices],
        "own": own,
        "auto_save": session.preferences.auto_save,
    }


def _describe_choice(item: Item, choice: Choice, evidence: tuple[Evidence, ...]) -> dict[str, Any]:
    finding, proposed = choice.finding, choice.proposed
    # the words as displayed: the quote has placeholders also for those who may read the original
    text = next((turn.text for turn in item.dialogue.turns if turn.index == finding.turn), "")
    described: dict[str, Any] = {
        "id": choice.id,
        "turn": finding.turn,
        "start": finding.start,
        "end": finding.end,
        "code": safe_text(finding.code),
        "severity": finding.severity,
        "state": choice.state,
        "suggested": choice.suggested,
        "own": proposed is None,
        "why": choice.why,
        "quote": safe_text(text[finding.start : finding.end] or finding.quote),
        "reason": safe_text(finding.reason if proposed is None else proposed.reason),
        "proof": sorted(find_proof(item.dialogue, finding)),
        "evidence": [each.id for each in evidence],
    }
    if proposed is not None and item.verdict is not None:
        described |= {
            "p": round(proposed.probability, 3),
            "p_text": percent(proposed.probability),
            "source": safe_text(item.verdict.release),
            "was": [safe_text(proposed.code), proposed.severity],
        }
    return described


def find_proof(dialogue: Dialogue, finding: Finding) -> set[int]:
    """Return the turns of the tool calls that the reason names and of their results, the last ones before the
    finding."""
    turns = {}
    for use in tool_uses(dialogue) if finding.reason else ():
        if use.turn <= finding.turn and use.call.name in finding.reason:
            turns[use.call.name] = {use.turn, use.turn if use.result_turn is None else use.result_turn}
    return set().union(*turns.values())


@cache
def _workspace() -> ComponentRenderer:
    folder = Path(__file__).parent
    return st.components.v2.component(
        "dialint.workspace",
        html=(folder / "workspace.html").read_text(encoding="utf-8"),
        css="\n".join((folder / name).read_text(encoding="utf-8") for name in STYLES),
        js="\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS),
        isolate_styles=False,  # browsers do not report selections inside a shadow root
    )


@cache
def _book() -> ComponentRenderer:
    """Send the book to the workspace: Streamlit sends an element that did not change as a reference only."""
    script = Path(__file__).with_name("book.js").read_text(encoding="utf-8")
    return st.components.v2.component("dialint.book", html="<span></span>", js=script, isolate_styles=False)
