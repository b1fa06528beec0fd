"""Labelers see personal data as placeholders; the store keeps the original's offsets; both ways agree."""

from datetime import UTC, datetime
from typing import Any

import make
import pytest
from answering import claim
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.detector.masking import MaskedText
from dialint.detector.records import Dialogue, Finding, ToolCall, Turn
from dialint.labeling.store import annotations, dialogues, masked_view, projects, task_view, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.masked_view import MaskedView
from dialint.labeling.store.records import Conflict, Lease, NewTask, Project, StoreRefused

CUSTOMER = "Hi, I am Anna Kowalska, my mail is anna.k@example.com."
ORIGINAL = "Thanks Anna! I have written to anna.k@example.com. Anything else?"
MASKED = "Thanks [NAME_1]! I have written to [EMAIL_1]. Anything else?"
SECRETS = ("anna", "kowalska", "anna.k", "example.com")
TURNS = (Turn(index=0, role="customer", text=CUSTOMER), Turn(index=3, role="agent", text=ORIGINAL))
DIALOGUE = Dialogue(id="d1", turns=TURNS, agent="a1", sources=("Anna Kowalska ordered a lamp.",))


def finding(start: int, end: int, quote: str, **more: Any) -> Finding:
    fields = {"code": "C1", "turn": 3, "severity": "S2", "probability": 1.0, "reason": ""} | more
    return Finding(start=start, end=end, quote=quote, **fields)


CLOSING, CLOSING_STORED = finding(46, 60, "Anything else?"), finding(51, 65, "Anything else?")
MAIL, MAIL_STORED = finding(35, 44, "[EMAIL_1]"), finding(31, 49, "[EMAIL_1]")


def held(store: Store, actor: str = "ann", **options: Any) -> Lease:
    projects.create(store, "lea", Project(id="p", codes=("C1",), overlap=3, **options))
    dialogues.add(store, "lea", [DIALOGUE])
    more = {"reason": "So Anna has [EMAIL_1]", "rewrite": "Hi, I am Anna Kowalska."}
    own = finding(31, 49, "[EMAIL_1]", probability=0.8, **more)
    outside = (finding(60, 66, "else??"), finding(0, 6, "Thanks", turn=1))
    dialogues.add_verdicts(store, "lea", [make.verdict("d1", own, *outside)])
    tasks.add(store, "lea", "p", [NewTask(dialogue="d1")])
    return claim(store, actor, "p")


def stored_findings(store: Store) -> list[tuple[Finding, ...]]:
    """The stored findings, oldest first."""
    return [answer.findings for answer in annotations.list_annotations(store, "rob", "d1")]


def test_views_mask_the_calls_of_tools(store: Store) -> None:
    call = ToolCall(name="find", arguments={"email": "anna.k@example.com", "name": "Anna Kowalska"})
    turns = (
        TURNS[0],
        Turn(index=1, role="agent", text="", tool_calls=(call,)),
        Turn(index=2, role="tool", text='{"name": "Anna Kowalska"}'),
        TURNS[1],
    )
    projects.create(store, "lea", Project(id="p", codes=("C1",), overlap=3))
    dialogues.add(store, "lea", [DIALOGUE.model_copy(update={"turns": turns})])
    view = store.read(lambda transaction: masked_view.load_view(transaction, "d1"))
    assert view.stored.turns[1].tool_calls == (call,)
    assert view.dialogue.turns[1].tool_calls[0].arguments == {"email": "[EMAIL_1]", "name": "[NAME_1]"}
    assert view.dialogue == MaskedView.of(view.stored).dialogue
    tasks.add(store, "lea", "p", [NewTask(dialogue="d1")])
    lease = claim(store, "ann", "p")
    seen = task_view.view_task(store, "ann", lease.task).dialogue
    assert [len(turn.tool_calls) for turn in seen.turns] == [0, 1, 0, 0]
    assert not [each for each in SECRETS if each in seen.model_dump_json().lower()]


def test_a_labeler_sees_no_personal_data_and_a_reviewer_sees_the_original(store: Store) -> None:
    lease = held(store, prelabelled=True)
    seen = task_view.view_task(store, "ann", lease.task)
    assert [turn.text for turn in seen.dialogue.turns] == ["Hi, I am [NAME_1], my mail is [EMAIL_1].", MASKED]
    assert not [each for each in SECRETS if each in seen.model_dump_json().lower()]
    assert seen.verdict is not None
    (masked,) = seen.verdict.findings
    assert (masked.start, masked.end, masked.quote) == (35, 44, "[EMAIL_1]")
    assert (masked.reason, masked.rewrite) == ("So [NAME_1] has [EMAIL_1]", "Hi, I am [NAME_1].")
    other = claim(store, "rob", "p")
    assert task_view.view_task(store, "rob", other.task).dialogue.turns == TURNS
    assert task_view.view_task(store, "ria", lease.task).verdict == dialogues.read(store, "ria", "d1")[1]


def test_labelers_get_what_their_codes_cannot_be_judged_without(store: Store) -> None:
    at = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
    turns = tuple(turn.model_copy(update={"at": at, "author": "a1"}) for turn in TURNS)
    shared = {"policy": "refunds", "language": "en", "channel": "chat", "team": "t1"}
    whole = {"turns": turns, "metadata": {"order": "7"}, **shared}
    dialogues.add(store, "lea", [DIALOGUE.model_copy(update=whole)])
    for code in ("C1", "I1", "P1", "W1"):
        projects.create(store, "lea", Project(id=code, codes=(code,)))
        tasks.add(store, "lea", code, [NewTask(dialogue="d1")])
        lease = claim(store, "ann", code)
        seen = task_view.view_task(store, "ann", lease.task).dialogue
        wanted = {
            "sources": ("[NAME_1] ordered a lamp.",) if code == "I1" else (),
            "policy": "refunds" if code == "P1" else None,
            "turns": tuple(
                Turn(index=turn.index, role=turn.role, text=turn.text, at=at if code == "W1" else None)
                for turn in seen.turns
            ),
        }
        assert seen == Dialogue(id=f"task-{lease.task}", masked=True, **wanted)


def test_what_a_labeler_sends_becomes_offsets_of_the_original(store: Store) -> None:
    lease = held(store)
    send = (store, "ann", lease.task, lease.token, "k", [CLOSING, MAIL], 12)
    saved = annotations.submit(*send)
    assert saved.findings == (CLOSING, MAIL)
    assert stored_findings(store) == [(CLOSING_STORED, MAIL_STORED)]
    assert annotations.submit(*send) == saved
    assert annotations.list_own(store, "ann") == (saved,)
    with pytest.raises(StoreRefused, match="another answer"):
        annotations.submit(store, "ann", lease.task, lease.token, "k", [CLOSING], 12)
    assert stored_findings(store) == [(CLOSING_STORED, MAIL_STORED)]


def test_a_quote_that_does_not_stand_there_saves_nothing(store: Store) -> None:
    lease = held(store)
    for bad in (
        CLOSING_STORED,  # offsets of the original
        finding(31, 49, "anna.k@example.com"),
        finding(46, 61, "Anything else?"),
        finding(46, 60, "anything else?"),
        finding(0, 6, "Thanks", turn=1),
    ):
        with pytest.raises(StoreRefused, match="E_FINDING") as refused:
            annotations.submit(store, "ann", lease.task, lease.token, "k", [CLOSING, bad])
        assert not [each for each in (*SECRETS, "nything") if each in str(refused.value)]
    assert stored_findings(store) == []
    annotations.submit(store, "ann", lease.task, lease.token, "k", [CLOSING])


def test_a_correction_and_its_conflict_speak_of_masked_text(store: Store) -> None:
    lease = held(store)
    first = annotations.submit(store, "ann", lease.task, lease.token, "k", [CLOSING])
    second = annotations.correct(store, "ann", int(first.id), "k2", [MAIL])
    assert annotations.correct(store, "ann", int(first.id), "k2", [MAIL]) == second
    assert second.findings == (MAIL,)
    assert annotations.list_own(store, "ann") == (second, first)
    with pytest.raises(Conflict) as conflict:
        annotations.correct(store, "ann", int(first.id), "k3", [CLOSING])
    assert (conflict.value.theirs, conflict.value.ours) == ((second,), (CLOSING,))
    with pytest.raises(StoreRefused, match="E_FINDING"):
        annotations.correct(store, "ann", int(second.id), "k4", [CLOSING_STORED])
    assert stored_findings(store) == [(MAIL_STORED,)]


@pytest.mark.parametrize(("actor", "masked"), [("ann", False), ("rob", True)])
def test_reviewers_and_who_a_project_lets_work_on_the_original(
    store: Store, actor: str, masked: bool
) -> None:
    lease = held(store, actor, masked=masked, prelabelled=True)
    seen = task_view.view_task(store, actor, lease.task)
    assert seen.dialogue.turns == TURNS
    assert seen.verdict is not None
    assert seen.verdict.findings == dialogues.read(store, "ria", "d1")[1].findings  # type: ignore[union-attr]
    saved = annotations.submit(store, actor, lease.task, lease.token, "k", [MAIL_STORED])
    assert saved.findings == annotations.list_own(store, actor)[0].findings == (MAIL_STORED,)
    assert stored_findings(store) == [(MAIL_STORED,)]


WORDS = st.sampled_from([
    "I am Anna Kowalska.", "anna.k@example.com", "+1 415 555 0142", "Thanks Anna!", "[NAME_3]", "[EMAIL_1]", "so",
    "\N{GRINNING FACE}", "4111 1111 1111 1111", "Anything else?", "\u200b", "we will see",
])  # fmt: skip
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@st.composite
def masked_dialogues(draw: st.DrawFn) -> tuple[MaskedView, Dialogue, Finding]:
    """A dialogue, its view, and a finding anywhere in a masked turn."""
    turns = tuple(Turn(index=2 * at, role="agent", text=draw(TEXTS)) for at in range(draw(st.integers(1, 3))))
    dialogue = Dialogue(id="d", turns=turns)
    view = MaskedView.of(dialogue)
    turn = draw(st.sampled_from(turns)).index
    text = view.texts[turn].text
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    return view, dialogue, finding(start, end, text[start:end], turn=turn)


def touched(masked: MaskedText, one: Finding) -> list[Any]:
    return [span for span in masked.spans if span.start < one.end and one.start < span.end]


@settings(max_examples=150)
@given(masked_dialogues())
def test_there_and_back_is_itself_grown_to_whole_placeholders(
    masked_dialogue: tuple[MaskedView, Dialogue, Finding],
) -> None:
    view, dialogue, sent = masked_dialogue
    masked = view.texts[sent.turn]
    text = next(turn.text for turn in dialogue.turns if turn.index == sent.turn)
    spans = touched(masked, sent)
    start = min([sent.start, *(span.start for span in spans)])
    end = max([sent.end, *(span.end for span in spans)])
    stored = view.unmask_finding(sent)
    (back,) = view.mask_findings([stored])
    assert back == sent.model_copy(update={"start": start, "end": end, "quote": masked.text[start:end]})
    assert stored.quote == back.quote
    assert view.unmask_finding(back) == stored
    for span in spans:
        assert stored.start <= span.original_start < span.original_end <= stored.end
    plain = text[stored.start : stored.end]
    for span in reversed(spans):
        first, last = span.original_start - stored.start, span.original_end - stored.start
        plain = plain[:first] + masked.text[span.start : span.end] + plain[last:]
    assert plain == stored.quote, "beside the placeholders it is the same text"


def test_what_is_said_of_a_call_quotes_the_masked_call() -> None:
    """Nobody puts other words, or what was masked, beside a call."""
    call = ToolCall(name="find", arguments={"mail": "ann.k@mail.example"})
    turns = (
        Turn(index=0, role="customer", text="Hi"),
        Turn(index=1, role="agent", text="", tool_calls=(call,)),
    )
    view = MaskedView.of(Dialogue(id="d", turns=turns))
    call_finding = finding(0, 1, 'find({"mail": "[EMAIL_1]"})', turn=1)
    assert view.unmask_finding(call_finding) == call_finding
    (masked,) = view.mask_findings([call_finding.model_copy(update={"quote": "ann.k@mail.example"})])
    assert masked.quote == call_finding.quote
    assert view.mask_findings([call_finding.model_copy(update={"end": 2})]) == ()
    with pytest.raises(StoreRefused, match="does not stand"):
        view.unmask_finding(call_finding.model_copy(update={"quote": "ann.k@mail.example"}))
