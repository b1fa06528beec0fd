"""Drafts, marks and words, by hand and by property: what the person says is what is kept."""

import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialint.app.console.tasks import dialogue_view
from dialint.app.console.tasks.answer import (
    MAX_TABS,
    Act,
    Answer,
    Say,
    Selection,
    acknowledge,
    add_finding,
    apply_edit,
    change,
    decide,
    make_finding,
    parse_batch,
    parse_selection,
    reopen_answer,
    seal,
    set_present,
    start_answer,
    unanswered_codes,
)
from dialint.app.console.tasks.dialogue_view import UNSEEN, Mark, find_page, paginate, view_turns
from dialint.app.console.tasks.workspace import find_proof
from dialint.app.console.text import HIDDEN_PATTERN, coverage_text, safe_markdown, safe_text, verdict_text
from dialint.detector.records import Dialogue, Finding, NotJudged, ToolCall, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation

CODES = load_taxonomy().codes
SCRIPT_SIGNS = {*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}
SCRIPT_SIGNS |= {*range(0x13430, 0x13456), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)}
"""Of category Cf, but seen, or signs of shorthand, hieroglyphs and music that nothing else uses."""


def dialogue(text: str = "😀 Anything else?", role: Any = "agent") -> Dialogue:
    turns = (Turn(index=0, role="customer", text="Where is it?"), Turn(index=4, role=role, text=text))
    return Dialogue(id="d", turns=turns)


def turns_of(whole: Dialogue, marks: Sequence[Mark] = ()) -> list[dict[str, Any]]:
    (page,) = paginate(whole)
    return view_turns(whole, None, marks, page)


def finding(code: str = "C1", start: int = 0, end: int = 5) -> Finding:
    return Finding(
        code=code, turn=4, severity="S2", probability=0.8, quote="quote", start=start, end=end, reason="why"
    )  # fmt: skip


def verdict(*findings: Finding, **more: Any) -> Verdict:
    return Verdict(
        dialogue_id="d", release="r1", taxonomy="1.0.0", status="scored", quality=50.0, findings=findings, **more
    )  # fmt: skip


def test_a_suggestion_needs_no_decision_and_becomes_a_finding_if_confirmed() -> None:
    scored = verdict(finding(), suggestions=(finding("T1", 6, 9), finding("C1", 10, 12), finding("L1")))
    codes = ("C1", "T1")
    answer = start_answer(scored, codes, None, "key")
    assert [(choice.finding.code, choice.suggested) for choice in answer.choices] == [
        ("C1", False), ("T1", True), ("C1", True),
    ]  # fmt: skip
    assert answer.undecided == (0,)
    answer = decide(answer, 0, "rejected")
    assert (answer.undecided, answer.findings) == ((), ())
    answer = decide(decide(answer, 1, "kept"), 2, "rejected")
    assert answer.findings == (finding("T1", 6, 9).model_copy(update={"probability": 1.0}),)
    annotation = Annotation(
        id="7", dialogue_id="d", labeler="rob", kind="reviewer", codes=codes, findings=answer.findings, seconds=1
    )  # fmt: skip
    again = reopen_answer(annotation, scored)
    assert [choice.state for choice in again.choices] == ["rejected", "kept", "open"]
    assert again.findings == answer.findings
    assert verdict_text(scored, 1, 2) == "r1: 1 finding; 2 suggestions below, not counted."
    present = set_present(start_answer(scored, codes, None, "key"), "T1", True)
    assert present.findings == ()


def test_an_own_finding_does_not_match_a_suggestion_of_its_code() -> None:
    scored = verdict(suggestions=(finding("T1", 6, 9),))
    annotation = Annotation(
        id="7", dialogue_id="d", labeler="rob", kind="reviewer", codes=("T1",), findings=(finding("T1", 0, 3),),
        seconds=1,
    )  # fmt: skip
    assert [choice.state for choice in reopen_answer(annotation, scored).choices] == ["open", "kept"]


def test_a_changed_code_loses_the_reason_of_the_other() -> None:
    answer = decide(start_answer(verdict(finding()), ["C1", "T1"], None, "key"), 0, "kept")
    answer = change(answer, 0, CODES["T1"], "S1")
    (only,) = answer.findings
    assert (only.code, only.severity, only.reason, only.start, only.end) == ("T1", "S1", "", 0, 5)
    assert change(answer, 0, CODES["C1"], "S2").findings[0].reason == "why"


def test_an_answer_is_reopened_unchanged() -> None:
    scored = verdict(finding(), finding("T1", 6, 9), finding("U2", 10, 12))
    codes = ("C1", "T1", "U2", "C2")
    first = start_answer(scored, codes, None, "key")
    first = decide(change(decide(first, 0, "kept"), 1, CODES["C2"], "S3"), 1, "kept")
    first = decide(first, 2, "rejected", "too_small")
    own = make_finding(dialogue(), Selection(turn=4, start=2, end=10), CODES["T1"], "S2")
    first = add_finding(first, own, "own-1")
    annotation = Annotation(
        id="7", dialogue_id="d", labeler="ann", kind="reviewer", codes=codes, findings=first.findings, seconds=61
    )  # fmt: skip
    again = reopen_answer(annotation, scored)
    assert again.findings == first.findings
    assert again.said == {"C1": True, "T1": True, "U2": False, "C2": True}
    assert again.seconds == 61.0
    assert [choice.state for choice in again.choices] == ["kept", "kept", "rejected", "kept"]
    assert again.key != first.key


def test_yes_needs_a_place_and_no_takes_it_away() -> None:
    answer = Answer(key="k")
    assert unanswered_codes(answer, ["C1", "T1"]) == ("C1", "T1")
    answer = set_present(set_present(answer, "T1", False), "C1", True)
    assert unanswered_codes(answer, ["C1", "T1"]) == ("C1",)
    answer = add_finding(answer, finding(), "own-1")
    assert add_finding(answer, finding("T1"), "own-1") == answer, "a name is given once"
    assert unanswered_codes(answer, ["C1", "T1"]) == ()
    assert set_present(answer, "C1", False).findings == ()


def test_what_is_sent_again_is_equal() -> None:
    once = seal(Answer(key="k", seconds=3.0))
    later = seal(once.model_copy(update={"seconds": 9.0}))
    assert later.sent == once.sent
    changed = seal(add_finding(later, finding(), "own-1"))
    assert changed.sent is not None
    assert changed.sent.seconds == 9.0


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"turn": 4, "start": 0, "end": 3}, (4, 0, 3)),
        ({"turn": 4, "start": 1, "end": 11}, (4, 2, 10)),  # outer blanks go
        ({"turn": 4, "start": 1, "end": 2}, None),  # only a blank
        ({"turn": 0, "start": 0, "end": 3}, None),  # the customer's
        ({"turn": 4, "start": 0, "end": 17}, None),  # one too far: the emoji is one code point
        ({"turn": 4, "start": -1, "end": 3}, None),
        ({"turn": 4, "start": True, "end": 3}, None),
        ({"turn": "4", "start": 0, "end": 3}, None),
        ("nonsense", None),
        (None, None),
    ],
)
def test_the_browser_is_not_trusted(raw: Any, expected: tuple[int, int, int] | None) -> None:
    assert len(dialogue().turns[1].text) == 16
    place = parse_selection(dialogue("😀 Anything else"), None, raw)
    assert (None if place is None else (place.turn, place.start, place.end)) == expected


@pytest.mark.parametrize(
    ("text", "start", "end", "whole"),
    [
        ("Write to anna.meyer@example.com please", 6, 12, (6, 31)),  # no personal data in the quote
        ("Write to [EMAIL_1] please", 6, 12, (6, 18)),  # as a labeler sees it
    ],
)
def test_part_of_what_is_masked_marks_all_of_it(
    text: str, start: int, end: int, whole: tuple[int, int]
) -> None:
    masked = make_finding(dialogue(text), Selection(turn=4, start=start, end=end), CODES["V3"], "S1")
    assert (masked.start, masked.end, masked.quote) == (*whole, "to [EMAIL_1]")


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip),
    cuts=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=4),
)
def test_marks_keep_the_text_and_their_places(text: str, cuts: list[tuple[int, int]]) -> None:
    places = [(min(a, b), max(a, b)) for a, b in cuts if min(a, b) < max(a, b) <= len(text)]
    marks = [Mark(Selection(turn=4, start=a, end=b), str(n), "kept") for n, (a, b) in enumerate(places)]
    turn = turns_of(dialogue(text), marks)[1]
    displayed = "".join(piece["text"] for piece in turn["pieces"])
    assert len(displayed) == len(text)  # one code point for one
    assert all(
        a == b or ord(a) < 32 or ord(a) == 127 or b == UNSEEN for a, b in zip(text, displayed, strict=True)
    )
    assert not HIDDEN_PATTERN.search(displayed)
    assert not any(ord(char) < 32 and char not in "\n\t\r" for char in displayed)
    at = 0
    ends: dict[str, int] = {}
    for piece in turn["pieces"]:
        inside = any(a <= at < b for a, b in places)
        assert bool(piece["states"]) is inside
        at += len(piece["text"])
        ends |= {end["label"]: at for end in piece["ends"]}
    assert ends == {str(n): b for n, (_, b) in enumerate(places)}


def test_languages_that_were_not_judged_are_listed() -> None:
    gap = NotJudged(language="de", turns=(1, 4), codes=("C1",), check_only=("M2",))
    about = {"dialogue_id": "d", "release": "r1", "taxonomy": "1.0.0", "not_judged": (gap,)}
    whole = Verdict(**about, status="not_judged")
    assert coverage_text(whole, "C1") == "r1 did not judge this code in: German."
    assert coverage_text(whole, "M2") == "r1 looked for this code by an exact check only in: German."
    assert (
        verdict_text(whole, 0)
        == "r1 did not judge this dialogue (not judged: German). That is not a clean dialogue."
    )
    one = make_finding(dialogue(), Selection(turn=4, start=2, end=10), CODES["T1"], "S2")
    text = verdict_text(whole.model_copy(update={"findings": (one,)}), 1, 1)
    assert text == "r1: 1 finding; 1 suggestion below, not counted (not judged: German)."
    part = Verdict(**about, status="scored", judged_share=0.5)
    assert coverage_text(part, "T1") == "It is not known whether r1 judges this code."
    assert verdict_text(part, 0) == (
        "r1: No findings. It is not known which codes were looked for (50 % judged, the rest is German)."
    )


def test_reversing_and_invisible_characters_are_replaced_by_names() -> None:
    assert safe_text("a\u202eb\u2066c\u2069\u200b\u061c\x1b") == "a⟦RLO⟧b⟦LRI⟧c⟦PDI⟧⟦ZWSP⟧⟦ALM⟧\u241b"
    assert safe_markdown("a\u202eb\u2060") == "a⟦RLO⟧b⟦WJ⟧"
    assert safe_text("pass\u200dword \U000e0041") == "pass⟦ZWJ⟧word ⟦U+E0041⟧"
    for honest in ("👨‍👩‍👧 🤷🏽‍♀️ ❤️‍🔥", "می‌خواهم", "क्‍ष", "שלום", "line\nline\ttab"):
        assert safe_text(honest) == honest
    pieces = turns_of(dialogue("a\u202eb\u200b"))[1]["pieces"]
    assert [(piece["text"], piece["name"]) for piece in pieces] == [
        ("a", None), (UNSEEN, "RLO"), ("b", None), (UNSEEN, "ZWSP"),
    ]  # fmt: skip
    many = turns_of(dialogue("\u200b" * 90_000))[1]["pieces"]
    assert len(many) < 1000


def test_every_bidirectional_control_has_a_name() -> None:
    controls = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.bidirectional(char) in controls or code in (0x061C, 0x200E, 0x200F):
            assert char not in safe_text(char)
        elif unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char not in "\n\t\r":
            assert char not in safe_text(char) or code in SCRIPT_SIGNS, hex(code)


def long(*sizes: int) -> Dialogue:
    turns = tuple(Turn(index=2 * n, role="agent", text="x" * size) for n, size in enumerate(sizes))
    return Dialogue(id="d", turns=turns)


@given(st.lists(st.integers(0, 30), max_size=30))
def test_pages_hold_all_of_a_dialogue_once_and_no_more_than_their_size(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialogue_view, "PAGE_TURNS", 4)
        patch.setattr(dialogue_view, "PAGE_CHARS", 10)
        pages = paginate(long(*sizes))
        stretches = [each for page in pages for each in page]
        for turn in long(*sizes).turns:
            own = [each for each in stretches if each.turn == turn.index]
            assert "".join(turn.text[each.start : each.end] for each in own) == turn.text
            assert own
            assert find_page(pages, turn.index) == next(n for n, page in enumerate(pages) if own[0] in page)
        assert [each.turn for each in stretches] == sorted(each.turn for each in stretches)
        for page in pages:
            assert len(page) <= 4
            assert sum(each.end - each.start for each in page) <= 10


def edited(answer: Answer, *events: dict[str, Any], only_turn: int | None = None) -> Answer:
    """The answer after what a browser reports."""
    raw = [{"seq": number, **event} for number, event in enumerate(events, 1)]
    batch = parse_batch({"tab": "one", "draft": answer.key, "events": raw})
    assert batch is not None
    for _, event in batch.parse_events():
        if event is not None:
            assert not isinstance(event, Act)
            codes = ("C1", "T1")
            answer = apply_edit(answer, event, dialogue(), codes, only_turn, load_taxonomy(), lambda _: None)
    return answer


SET = {"kind": "set", "id": "0", "state": "kept", "code": "C1", "severity": "S2"}


def test_an_escaped_code_is_resolved_to_the_original() -> None:
    """The browser knows codes as they are shown; one of another taxonomy may hold characters that are not."""
    raw = "X\u202e" + "y" * 80
    events = [{"seq": 1, "kind": "say", "code": safe_text(raw), "present": False}]
    batch = parse_batch({"tab": "one", "draft": "d", "events": events})
    assert batch is not None
    ((_, event),) = batch.parse_events()
    assert isinstance(event, Say)
    fresh = start_answer(None, (raw,), None, "key")
    answer = apply_edit(fresh, event, dialogue(), (raw,), None, load_taxonomy(), lambda _: None)
    assert answer.said == {raw: False}


ADD = {"kind": "add", "id": "own-a", "turn": 4, "start": 2, "end": 10, "code": "T1", "severity": "S1"}


def test_edits_say_what_is_to_be_so_one_is_undone_by_what_was() -> None:
    fresh = start_answer(verdict(finding()), ["C1", "T1"], None, "key")
    changed = edited(fresh, {**SET, "code": "T1", "severity": "S1"}, ADD)
    assert [(each.code, each.severity) for each in changed.findings] == [("T1", "S1"), ("T1", "S1")]
    assert changed.choices[1].finding.quote == "Anything"
    back = edited(changed, {"kind": "remove", "id": "own-a"}, {**SET, "state": "open"})
    assert back.choices == fresh.choices
    assert edited(changed, ADD, ADD) == changed


@pytest.mark.parametrize(
    "event",
    [
        {**SET, "id": "7"}, {**SET, "code": "L1", "severity": "S3"}, {**SET, "code": "T1", "severity": "S4"},
        {**SET, "state": "sure"}, {**SET, "more": 1}, {**ADD, "turn": 0}, {**ADD, "end": 99}, {**ADD, "id": "0"},
        {**ADD, "id": "own-<b>"}, {**ADD, "code": "L1", "severity": "S3"}, {"kind": "remove", "id": "0"},
        {"kind": "say", "code": "L1", "present": True}, {"kind": "say", "code": "C1", "present": 1}, {"kind": "x"}, {},
    ],
)  # fmt: skip
def test_an_edit_that_does_not_fit_changes_nothing(event: dict[str, Any]) -> None:
    fresh = start_answer(verdict(finding()), ["C1", "T1"], None, "key")
    assert edited(fresh, event) == fresh


@pytest.mark.parametrize(
    "raw", [None, "x", [], {}, {"tab": "", "draft": "d", "events": []}, {"tab": "a<b", "draft": "d", "events": []},
            {"tab": "a", "draft": 3, "events": []}, {"tab": "a", "draft": "d", "events": {}}],
)  # fmt: skip
def test_what_is_no_log_is_passed_over(raw: Any) -> None:
    assert parse_batch(raw) is None


def test_events_without_sense_are_acknowledged_and_those_without_a_number_are_not() -> None:
    events: list[Any] = [{"seq": 1, "kind": "?"}, {"seq": True}, 7, {"seq": 2, **SET}, {"seq": -1}]
    batch = parse_batch({"tab": "a", "draft": "d", "events": events, "message": 3})
    assert batch is not None
    assert [(number, event is None) for number, event in batch.parse_events()] == [(1, True), (2, False)]


def test_a_draft_remembers_the_newest_tabs() -> None:
    answer = Answer(key="k")
    for number in range(MAX_TABS + 5):
        answer = acknowledge(answer, f"t{number}", 3)
    answer = acknowledge(answer, "t10", 4)
    assert len(answer.applied) == MAX_TABS
    assert answer.applied["t10"] == 4
    assert "t0" not in answer.applied


def test_the_calls_of_tools_that_a_reason_names_are_its_proof() -> None:
    def call(name: str) -> ToolCall:
        return ToolCall(name=name, arguments={})

    turns = (
        Turn(index=0, role="customer", text="Where?"),
        Turn(index=1, role="bot", text="", tool_calls=(call("track"), call("refund"))),
        Turn(index=2, role="tool", text="left"),
        Turn(index=3, role="tool", text="done"),
        Turn(index=4, role="agent", text="It is here."),
        Turn(index=5, role="bot", text="", tool_calls=(call("track"),)),
    )
    seen = Dialogue(id="d", turns=turns)
    assert find_proof(seen, finding().model_copy(update={"reason": "track said: left"})) == {1, 2}
    assert find_proof(seen, finding()) == set()
