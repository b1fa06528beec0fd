"""Both pages as a person uses them, on a real store: what is asked, shown, saved, refused and restored."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from dialint.app.console import i18n, sign_in
from dialint.app.console.auth import FREE_TRIES, Client
from dialint.app.console.main import PAGES
from dialint.app.console.workspace import answer, dialogue_view, items
from dialint.app.console.workspace.answer import Answer, seal
from dialint.app.console.workspace.page_session import receive, save
from dialint.detector.records import Dialogue, Finding, JudgeRecord, Turn, Verdict
from dialint.labeling.store import (
    accounts,
    annotations,
    appeals,
    dialogues,
    drafts,
    leases,
    passwords,
    projects,
    tasks,
)
from dialint.labeling.store.database.schema import leases as lease_rows
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.preferences import load_preferences
from dialint.labeling.store.records import Account, AccountRole, NewTask, Project

PASSWORD, GIVEN = "a long enough one", "once-for the first time"
Open = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


def closed_pages(role: AccountRole) -> list[str]:
    """Titles of pages that are not open to a role."""
    account = Account(id="x", role=role)
    return [title for title, entry in PAGES.items() if not has_permission(account, entry.right)]


def test_a_wrong_password_opens_nothing(open_page: Open) -> None:
    said = set()
    for name in ("rob", "nobody"):
        page = open_page(name, "not the right one")
        said.add(page.test.error[0].value)
        assert page.labels == ["Sign in"]
    assert said == {"The name or the password is wrong, or the account is closed."}


def test_too_many_wrong_passwords_have_to_wait(open_page: Open) -> None:
    page = open_page()
    for _ in range(FREE_TRIES):
        page.fill(Name="lea", Password="wrong").press("Sign in")
    page.fill(Name="lea", Password=PASSWORD).press("Sign in")
    assert "Too many" in page.test.error[0].value
    assert page.labels == ["Sign in"]


def test_a_one_time_password_opens_nothing_but_the_choice_of_another(open_page: Open, store: Store) -> None:
    once, own = GIVEN, "my very own word"
    page = open_page("ada", once)
    assert "Choose your own" in page.words
    assert page.labels == ["Change password", "Back"]
    assert page.press("Back").labels == ["Sign in"]
    page.fill(Name="ada", Password=once).press("Sign in")
    for old, new, again, said in (
        (once, once, once, "Choose another password"),
        (once, "short", "short", "A password needs 12 characters, and 1000 at most"),
        (once, own, "another long one", "The two new passwords differ"),
        ("not the one", own, own, "The password now is wrong"),
    ):
        page.fill(Password_now=old, New_password=new, New_password_again=again).press("Change password")
        assert said in page.test.error[0].value
        assert page.labels == ["Change password", "Back"]
    page.fill(Password_now=once, New_password=own, New_password_again=own).press("Change password")
    assert "Your password was changed." in page.words
    assert "This page is not open to your role." not in page.go("Admin").words
    assert passwords.sign_in(store, "ada", own).role == "admin"


def test_another_tab_is_signed_in_and_out_with_the_first(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "current_client", lambda: Client("local", "one browser"))
    first = open_page("rob")
    second = open_page()
    assert "Sign in" not in second.labels
    assert "rob (reviewer)" in second.words.replace("\\", "")
    second.press("Sign out")
    assert second.labels == ["Sign in"]
    first.test.run()
    assert first.labels == ["Sign in"]
    assert "You were signed out" in first.words


def test_a_tab_whose_session_ended_leaves_the_newer_one_alone(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a new password: its tab has a new session, the others still hold the old one."""
    monkeypatch.setattr(sign_in, "current_client", lambda: Client("local", "one browser"))
    stale, changed = open_page("rob"), open_page()
    new = "another very long one"
    changed.go("Your account").fill(Password_now=PASSWORD, New_password=new, New_password_again=new)
    changed.press("Change password")
    stale.test.run()
    for page in (stale, changed):
        page.test.run()
        assert "rob (reviewer)" in page.words.replace("\\", "")


def test_a_new_password_from_the_command_line_puts_the_old_owner_out(open_page: Open, store: Store) -> None:
    page = open_page("rob")
    accounts.set_password(store, "ada", "rob", "once-and not before")
    page.test.run()
    assert page.labels == ["Sign in"]
    assert "You were signed out." in page.words.replace("\\", "")


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_walk_through_every_page(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", "rejected").act("save")
    page.act("reopen").decide("", "kept").act("save").act("skip", reason="broken")
    assert "hostile" in page.words

    page = open_page("ann").start().say("T1", False).add("label", 1, "C1").act("save", "label")
    page.say("C1", False).say("T1", False).act("save", "label")
    page.act("reopen", "label").say("C1", True)
    again = open_page("ann").act("reopen", "label")  # reloaded in the middle of the correction
    again.say("C1", False).act("save", "label")

    page = open_page("ada", GIVEN)
    own = {"New_password": PASSWORD, "New_password_again": PASSWORD}
    page.fill(Password_now=GIVEN, **own).press("Change password")
    page.go("Your account").fill(Password_now=PASSWORD, New_password="x", New_password_again="y")
    assert "differ" in page.press("Change password").test.error[0].value

    assert [(row["labeler"], row["supersedes"], len(row["said"])) for row in saved()] == [
        ("rob", None, 1), ("rob", 1, 2), ("ann", None, 1), ("ann", None, 0), ("ann", 4, 0),
    ]  # fmt: skip


def test_a_review_in_order_of_priority(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start()
    assert "Dialogue d2; 2 more wait for you" in page.words
    assert [choice["p_text"] for choice in page.workspace()["choices"]] == ["91 %", "over 99 %"]
    page.decide("kept").act("save")
    assert "Not saved: something is not decided yet." in page.words
    assert saved() == []
    page.decide("", "rejected").act("save")
    (row,) = saved()
    assert (row["dialogue"], row["labeler"], row["kind"], row["seen_verdict"]) == (
        "d2",
        "rob",
        "reviewer",
        True,
    )
    assert row["said"] == [(1, "C1", "S2", 0, 14)]
    assert 0 <= row["seconds"] < 60
    assert "Dialogue d1; 1 more wait for you" in page.words
    assert "Only you see this: 1 done in this sitting" in page.words
    assert drafts.load_draft(store, "rob", "task:2") is None


def test_looking_at_a_page_takes_no_task(open_page: Open, store: Store) -> None:
    def held() -> int:
        of_rob = lease_rows.select().where(lease_rows.c.account == "rob", lease_rows.c.state == "held")
        return len(store.read(lambda transaction: transaction.run(of_rob).all()))

    page = open_page("rob")
    assert "Dialogues that wait for you: 3" in page.words.replace("\\", "")
    page.go("Label").go("Review")
    assert held() == 0
    page.start()
    assert held() == 1
    assert "Dialogue d2" in open_page("rob").words, "what one holds is there again"
    page.decide("kept").act("stop")
    assert held() == 0
    assert "The task went back to the queue." in page.words.replace("\\", "")
    assert "Dialogues that wait for you: 3" in page.words.replace("\\", "")
    page.start()
    assert [choice["state"] for choice in page.workspace()["choices"]] == ["kept", "open"], (
        "the draft is kept"
    )


def test_the_queue_does_not_count_what_one_skipped(open_page: Open) -> None:
    page = open_page("rob").start().act("skip", reason="undecided")
    assert "Dialogue d1; 1 more wait for you" in page.words
    again = open_page("rob")
    assert "Dialogue d1; 1 more wait for you" in again.words


def test_a_reason_for_rejecting_is_learnt(open_page: Open, store: Store) -> None:
    page = open_page("rob").start()
    assert page.workspace()["fixed"]["reasons"]["C1"][0] == "answered"
    page.decide("rejected", "rejected", why="too_small").act("save")
    assert load_preferences(store, "rob").reasons == {"C1:too_small": 1, "T1:too_small": 1}
    assert page.workspace()["fixed"]["reasons"]["C1"][0] == "too_small"


def test_a_reason_for_rejecting_is_saved_with_the_answer(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start()
    page.decide("rejected", why="too_small").decide("", "rejected", why="<b>no reason of the list</b>")
    page.act("save")
    (row,) = saved()
    assert json.loads(row["rejections"]) == [{"code": "C1", "reason": "too_small", "turn": 1}]
    page.act("reopen")
    assert [choice["why"] for choice in page.workspace()["choices"]] == ["too_small", ""]
    page.send("review", {"kind": "set", "id": "0", "state": "kept", "code": "C1", "severity": "S2"}).act(
        "save"
    )
    assert [row["rejections"] is None for row in saved()] == [False, True]


def test_the_history_of_a_dialogue_says_why_a_finding_was_rejected(open_page: Open) -> None:
    open_page("rob").start().decide("rejected", "rejected", why="too_small").act("save")
    page = open_page("lea")
    page.test.query_params["id"] = "d2"
    page.go("Dialogue")
    assert "turn 1: C1 Question ignored, rejected: Too small to count" in page.words.replace("\\", "")


def test_keys_are_remembered(open_page: Open, store: Store) -> None:
    open_page("rob").start().act("keys", keys={"confirm": "v"})
    assert load_preferences(store, "rob").keys == {"confirm": "v"}
    assert open_page("rob").workspace()["keys"] == {"confirm": "v"}


def test_a_finding_is_changed_and_another_added(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", code="C2", severity="S2").decide("", "rejected")
    assert page.workspace()["fixed"]["given"]["3"]["C1"] == "3 %"
    page.add("review", 3, "C1").act("save")
    (row,) = saved()
    assert row["said"] == [(1, "C2", "S2", 0, 14), (3, "C1", "S2", 0, 21)]


@pytest.mark.usefixtures("suggested")
def test_suggestions_stand_apart_and_one_becomes_ones_own_finding(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start()
    assert "Dialogue careful" in page.words
    assert "model-7: 1 finding; 2 suggestions below, not counted." in page.words
    assert [choice["suggested"] for choice in page.workspace()["choices"]] == [False, True, True]
    page.decide("rejected").decide("", "kept", "rejected").act("save")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 32, 46)]
    assert json.loads(row["findings"])[0]["probability"] == 1.0
    page.act("reopen")
    assert [choice["state"] for choice in page.workspace()["choices"]] == ["rejected", "kept", "open"]


def test_what_the_model_did_not_judge_is_said(open_page: Open) -> None:
    codes = {code["code"]: code["coverage"] for code in open_page("rob").start().workspace()["codes"]}
    assert codes["C2"] == "model-7 did not judge this code."
    assert codes["T1"] == "model-7 judged this code."


def test_a_failed_verdict_is_not_clean(open_page: Open, store: Store) -> None:
    failed = Verdict(
        dialogue_id="d2", release="z-newer", taxonomy="1.0.0", status="failed", failure="E_TOO_LONG"
    )
    dialogues.add_verdicts(store, "lea", [failed])
    words = open_page("rob").start().words
    assert "z-newer failed on this dialogue (E_TOO_LONG). That is not a clean dialogue." in words


def test_a_skip_says_why(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start().act("skip", reason="no such reason")
    assert "Dialogue d2" in page.words
    page.act("skip", reason="broken", more="half of it")
    assert "Dialogue d1" in page.words
    assert saved() == []
    said = store.read(
        lambda transaction: transaction.run(lease_rows.select().where(lease_rows.c.state == "skipped")).one()
    )
    assert (said.account, said.reason) == ("rob", "The text is broken or cut off: half of it")


def test_undo_is_a_correction(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", "kept").act("save").act("reopen")
    assert "you are changing your answer 1" in page.words
    page.decide("", "rejected").act("save")
    first, second = saved()
    assert second["supersedes"] == first["id"]
    assert [len(first["said"]), len(second["said"])] == [2, 1]
    assert second["seconds"] >= first["seconds"]
    assert "Dialogue d1" in page.words  # the task that was in hand is in hand again


def test_a_second_click_counts_once(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", "kept")
    at = page.session("review")
    item, answer = at.item, seal(at.answer)
    items.submit(store, "rob", item, answer)
    again = items.submit(store, "rob", item, answer)  # the click that was sent again
    at.answer = at.answer.model_copy(update={"seconds": 50.0})
    page.act("save")  # the click on a page that does not know: a little later, and told so
    assert "stored already" in page.words
    assert page.session("review").item.task != item.task
    save(at, item)  # the click that came late: another item is on the desk
    assert [str(row["id"]) for row in saved()] == [again.id]  # type: ignore[union-attr]


def test_events_count_once_however_often_they_are_sent(open_page: Open, store: Store) -> None:
    page = open_page("rob").start()
    at = page.session("review")
    confirm = {"kind": "set", "seq": 1, "id": "0", "state": "kept", "code": "C1", "severity": "S2", "why": ""}
    own = {
        "kind": "add",
        "seq": 2,
        "id": "own-1",
        "turn": 3,
        "start": 0,
        "end": 7,
        "code": "C1",
        "severity": "S2",
    }
    log = {"tab": "one", "draft": at.answer.key, "events": [confirm, own]}
    for _ in range(3):
        receive(at, log)
    assert at.answer.applied == {"one": 2}
    assert [choice.state for choice in at.answer.choices] == ["kept", "open", "kept"]
    reopened = {**confirm, "state": "open"}  # of a second tab, whose events have numbers of their own
    receive(at, {"tab": "two", "draft": at.answer.key, "events": [reopened]})
    receive(at, log)
    assert [choice.state for choice in at.answer.choices] == ["open", "open", "kept"]
    receive(at, {"tab": "two", "draft": "of another item", "events": [{**confirm, "seq": 9}]})
    assert at.answer.choices[0].state == "open"
    stored = drafts.load_draft(store, "rob", at.item.name)
    assert stored is not None
    assert Answer.model_validate_json(stored.content).applied == {"one": 2, "two": 1}


def test_an_answer_from_elsewhere_is_shown_with_both_values(
    open_page: Open, store: Store, saved: Saved
) -> None:
    page = open_page("rob").start().decide("kept", "rejected")
    late = update(lease_rows).where(lease_rows.c.account == "rob").values(expires_ms=0)
    store.write(lambda transaction: transaction.run(late))
    lease = leases.claim(store, "ria", "to review")
    assert lease is not None
    annotations.submit(store, "ria", lease.task, lease.token, "hers", [])
    page.act("save")
    assert "Compare" in page.test.warning[0].value
    words = page.words.replace("\\", "")
    assert "ria" in words
    assert "Nothing wrong here." in words
    assert "C1 Question ignored" in words
    assert len(saved()) == 1
    page.press("Save mine as well")
    hers, mine = saved()
    assert (hers["said"], mine["said"]) == ([], [(1, "C1", "S2", 0, 14)])
    assert mine["labeler"] == "rob"


def test_a_label_is_blind_and_says_yes_and_no(open_page: Open, saved: Saved) -> None:
    page = open_page("ann").start()
    words = page.words.replace("\\", "")
    assert "Read it all first." in words
    assert "Is the customer's open question" in words
    shown = json.dumps(page.workspace())
    for trace in ("model-7", "91 %", "0.91", "d3", "task"):
        assert f'"{trace}' not in shown
    assert page.session("label").item.verdict is None
    assert page.session("label").answer.choices == ()
    page.say("T1", False).say("C1", True).act("save", "label")
    assert "Not saved" in page.words, "yes needs a place"
    page.add("label", 1, "C1").act("save", "label")
    (row,) = saved()
    assert (row["said"], row["seen_verdict"], row["kind"]) == ([(1, "C1", "S2", 0, 14)], False, "crowd")


def test_a_labeler_reads_and_marks_masked_text(open_page: Open, store: Store, saved: Saved) -> None:
    turns = (
        Turn(index=0, role="customer", text="I am Anna Kowalska."),
        Turn(index=1, role="agent", text="Anna, is anna.k@example.com right? Anything else?"),
    )
    dialogues.add(store, "lea", [Dialogue(id="private", turns=turns)])
    tasks.add(store, "lea", "to label", [NewTask(dialogue="private", priority=9.0)])
    page = open_page("ann").start()
    at = page.session("label")
    assert at.item.dialogue.turns[1].text == "[NAME_1], is [EMAIL_1] right? Anything else?"
    page.add("label", 1, "C1", 15, 29)  # half of the address
    assert page.workspace()["choices"][0]["quote"] == "[EMAIL_1] right?"
    assert "anna" not in json.dumps(page.workspace()).lower()
    again = open_page("ann")  # the draft is found again and is the same
    assert again.session("label").answer.choices == page.session("label").answer.choices
    again.say("T1", False).act("save", "label")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 9, 34)]
    assert turns[1].text[9:34] == "anna.k@example.com right?"


def test_a_card_quotes_what_the_dialogue_shows(open_page: Open, store: Store) -> None:
    turns = (Turn(index=0, role="customer", text="Hi."), Turn(index=1, role="agent", text="Anna, no."))
    dialogues.add(store, "lea", [Dialogue(id="named", turns=turns)])
    found = Finding(
        code="T1", turn=1, severity="S2", probability=0.9, quote="[NAME_1], no.", start=0, end=9, reason=""
    )
    said = Verdict(
        dialogue_id="named", release="model-7", taxonomy="1.0.0", status="scored", quality=1.0, findings=(found,)
    )  # fmt: skip
    dialogues.add_verdicts(store, "lea", [said])
    tasks.add(store, "lea", "to review", [NewTask(dialogue="named", priority=9.0)])
    assert open_page("rob").start().workspace()["choices"][0]["quote"] == "Anna, no."


def test_a_prelabelled_project_shows_what_the_model_says(open_page: Open, store: Store, saved: Saved) -> None:
    shown = Project(id="a shown one", codes=("C1", "T1"), prelabelled=True)
    projects.create(store, "lea", shown)
    tasks.add(store, "lea", "a shown one", [NewTask(dialogue="d2")])
    page = open_page("ann").choose("Project", "a shown one").start()
    first = page.workspace()["choices"][0]
    assert (first["turn"], first["p_text"], first["quote"]) == (1, "91 %", "Anything else?")
    page.say("C1", True).say("T1", False).act("save", "label")
    page.press("Reopen my last answer")
    assert [choice["state"] for choice in page.workspace()["choices"]] == ["kept", "rejected"]
    page.act("save", "label")
    assert [(row["said"], row["seen_verdict"]) for row in saved()] == [([(1, "C1", "S2", 0, 14)], True)] * 2


def test_no_error_here_answers_all_and_saves(open_page: Open, saved: Saved) -> None:
    no = [{"kind": "say", "code": code, "present": False} for code in ("C1", "T1")]
    page = open_page("ann").start().send("label", *no, {"kind": "save"})
    (row,) = saved()
    assert row["said"] == []
    assert page.session("label").item.task != row["task"]


def test_a_label_is_taken_back_blind(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("ann").press("Reopen my last answer")
    assert "You have no answer here to take back." in page.words.replace("\\", "")
    page.start().say("T1", False).add("label", 1, "C1").act("save", "label")
    other = leases.claim(store, "ben", "to label")
    assert other is not None
    annotations.submit(store, "ben", other.task, other.token, "his", [])
    in_hand = page.session("label").item.task
    page.act("reopen", "label")
    words = page.words
    assert "You are changing your last answer." in words
    assert page.workspace()["said"] == {"C1": True, "T1": False}
    assert "Read it all first." in words
    for trace in ("model-7", "91 %", "ben", "d3"):
        assert trace not in words
    again = page.session("label").item
    assert (again.verdict, again.blind, again.dialogue.agent) == (None, True, None)
    own = page.workspace()["choices"][0]["id"]
    page.send("label", {"kind": "remove", "id": own}).say("C1", False).act("save", "label")
    first, _, second = saved()
    assert (second["supersedes"], second["task"], second["labeler"]) == (first["id"], first["task"], "ann")
    assert [len(first["said"]), len(second["said"])] == [1, 0]
    assert (second["kind"], second["seen_verdict"]) == ("crowd", False)
    assert page.session("label").item.task == in_hand  # the task that was in hand is in hand again
    page.act("reopen", "label").act("leave", "label")
    assert len(saved()) == 3


def label_nothing(page: Any) -> Any:
    """Say no to every code, and save."""
    return page.say("C1", False).say("T1", False).act("save", "label")


def test_a_half_made_correction_is_found_again_after_a_reload(open_page: Open, saved: Saved) -> None:
    label_nothing(open_page("ann").start()).act("reopen", "label").say("C1", True)
    again = open_page("ann").act("reopen", "label")
    assert "Your draft was restored." in again.words
    assert again.workspace()["said"] == {"C1": True, "T1": False}
    assert len(saved()) == 1


def test_an_old_label_is_not_taken_back(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    page = label_nothing(open_page("ann").start())
    monkeypatch.setattr(items, "SITTING_S", -1.0)
    assert "You have no answer here" in page.act("reopen", "label").words


class ReplacedRun(dict[str, Any]):
    """Session state in a run of the page that a newer one replaces: Streamlit ends it at its next call."""

    def get(self, key: str, default: Any = None) -> Any:
        if self:
            raise StopException
        self["read"] = True
        return "es"


def test_a_newer_click_does_not_interrupt_a_save(
    open_page: Open, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: the action was acknowledged, and the item stayed open."""
    session = open_page("ann").start().session("label")
    events = [
        {"kind": "say", "code": "C1", "present": False, "seq": 1},
        {"kind": "say", "code": "T1", "present": False, "seq": 2}, {"kind": "save", "seq": 3},
    ]  # fmt: skip
    first = session.item
    monkeypatch.setattr(i18n, "get_script_run_ctx", lambda suppress_warning: object())
    monkeypatch.setattr(i18n.st, "session_state", ReplacedRun())
    receive(session, {"tab": "tab", "draft": session.answer.key, "events": events})
    assert session.item is not first
    assert session.notices == [("success", "Guardado.")]
    assert len(saved()) == 1


def test_a_correction_in_two_windows_is_saved_once(open_page: Open, saved: Saved) -> None:
    first = label_nothing(open_page("ann").start()).act("reopen", "label")
    second = open_page("ann").act("reopen", "label")
    first.act("save", "label")
    second.add("label", 1, "C1")
    assert "stored already" in second.act("save", "label").words
    assert [row["said"] for row in saved()] == [[], []]


def test_the_last_answer_on_the_last_item_can_be_taken_back(open_page: Open, saved: Saved) -> None:
    page = open_page("ann").start()
    for _ in range(3):
        label_nothing(page)
    assert "Nothing is waiting for you in this queue." in page.words
    page.press("Reopen my last answer").act("save", "label")
    assert [row["supersedes"] for row in saved()] == [None, None, None, 3]


def test_a_draft_is_found_again_after_a_reload(open_page: Open, saved: Saved) -> None:
    page = open_page("ann").start().say("T1", False).add("label", 3, "C1")
    before = page.session("label")
    again = open_page("ann")
    after = again.session("label")
    assert "Your draft was restored." in again.words
    assert after.item == before.item
    assert (after.answer.key, after.answer.choices, after.answer.said) == (
        before.answer.key, before.answer.choices, before.answer.said,
    )  # fmt: skip
    again.act("save", "label")
    assert len(saved()) == 1


def test_roles_decide_the_pages_and_the_store_refuses_the_rest(open_page: Open, store: Store) -> None:
    for name, role in (("ann", "labeler"), ("rob", "reviewer")):
        page = open_page(name)
        closed = closed_pages(role)  # type: ignore[arg-type]
        assert "Admin" in closed
        for title in closed:
            assert "This page is not open to your role" in page.go(title).words
    for act in (
        lambda: items.claim_next(store, "ann", "to review", blind=False),
        lambda: dialogues.read(store, "ann", "d1"),
    ):
        with pytest.raises(NotAllowed):
            act()


def test_the_store_refuses_a_page_that_was_reached_all_the_same(store: Store, saved: Saved) -> None:
    def script(store, account):  # type: ignore[no-untyped-def]
        from dialint.app.console.workspace.review import review_page

        review_page(store, account)

    test = AppTest.from_function(script, args=(store, Account(id="ann", role="reviewer")), default_timeout=30)
    test.run()  # the screen was told a lie of the role; the store knows better
    next(each for each in test.button if each.label == "Start reviewing").click()
    test.run()
    assert "refuses" in test.error[0].value
    assert not test.get("bidi_component")
    assert saved() == []


def test_signing_out_forgets_everything(open_page: Open) -> None:
    page = open_page("rob").press("Sign out")
    assert page.labels == ["Sign in"]
    assert "page_session:review" not in page.test.session_state


def test_a_closed_account_is_signed_out_by_its_next_click(
    open_page: Open, store: Store, saved: Saved
) -> None:
    page = open_page("ann").start()
    accounts.set_status(store, "lea", "ann", "suspended")
    page.say("C1", False)
    assert page.labels == ["Sign in"]
    assert saved() == []


def test_a_second_review_is_blind_and_for_who_has_no_part(
    open_page: Open, store: Store, saved: Saved
) -> None:
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))
    appeals.open_appeal(store, "agnes", "d1", 1, "C1", "I had answered that")
    projects.create(store, "lea", Project(id="second", codes=("C1", "T1"), purpose="review"))
    appeals.open_second_reviews(store, "lea", "second")
    projects.set_state(store, "lea", "to review", "closed")
    dialogues.read(store, "rob", "d1")
    page = open_page("rob").start()
    assert "Waiting here for a second review, but not for you: 1" in page.words.replace("\\", "")
    page = open_page("ria").start()
    assert "A second review" in page.words
    assert "model-7" not in json.dumps(page.workspace())
    page.act("save")
    (row,) = saved()
    assert (row["dialogue"], row["labeler"], row["seen_verdict"]) == ("d1", "ria", False)


def test_a_long_dialogue_is_shown_page_by_page(
    open_page: Open, store: Store, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogue_view, "PAGE_TURNS", 4)
    turns = tuple(
        Turn(index=n, role=("customer", "agent")[n % 2], text=f"Turn {n}: anna{n}@example.com")  # type: ignore[arg-type]
        for n in range(10)
    )
    dialogues.add(store, "lea", [Dialogue(id="long", turns=turns)])
    found = tuple(
        Finding(code="C1", turn=n, severity="S2", probability=0.9, quote="Turn", start=0, end=4, reason="")
        for n in (1, 9)
    )
    said = Verdict(
        dialogue_id="long", release="model-7", taxonomy="1.0.0", status="scored", quality=1.0, findings=found
    )
    dialogues.add_verdicts(store, "lea", [said])
    tasks.add(store, "lea", "to review", [NewTask(dialogue="long", priority=9.0)])
    page = open_page("rob").start()
    assert page.workspace()["page_text"] == "Page 1 of 3: turns 0 to 3"
    assert [turn["index"] for turn in page.act("page", page=1).workspace()["turns"]] == [4, 5, 6, 7]
    assert page.workspace()["page_of"] == {"1": 0, "9": 2}
    page.act("page", page=0).act("page", page=7)
    assert page.workspace()["page"] == 0
    page.decide("kept", "rejected")
    masked: list[str] = []
    monkeypatch.setattr(answer, "mask_dialogue", lambda each: masked.append(each.id))
    page.act("page", page=1).add("review", 5, "C2")
    assert masked == [], "a click masks nothing anew: the store keeps the view"
    page.act("save")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 0, 4), (5, "C2", row["said"][1][2], 0, 25)]
    assert "anna5" not in row["findings"]


def test_an_agent_objects_and_an_expert_decides(open_page: Open, store: Store, saved: Saved) -> None:
    for name, role, agent in (("agnes", "labeler", "a1"), ("eve", "expert", None)):
        accounts.create(store, "ada", Account(id=name, role=role, agent=agent), GIVEN)  # type: ignore[arg-type]
        passwords.choose_password(store, name, GIVEN, PASSWORD)
    closed = "This page is not open to your role"
    assert closed in open_page("ann", at="My findings").words
    assert closed in open_page("agnes", at="Appeals").words
    page = open_page("agnes", at="My findings")
    assert closed not in page.words
    box = next(each for each in page.test.selectbox if each.label != "Language")
    assert [option.split(":")[0] for option in box.options] == ["hostile", "d3", "d2", "d1"]
    page.choose("Your dialogues with findings, newest first", "d1")
    page.press("Send the appeal")
    assert "a statement has 1 to 4000 characters" in page.words.replace("\\", "")
    page.test.text_area[0].set_value("I had *answered* that.")
    page.press("Send the appeal")
    assert "Your appeal was sent." in page.words.replace("\\", "")
    assert "Appeal is open" in page.words
    assert page.labels.count("Send the appeal") == 0, "one objection to one finding"

    page = open_page("eve", at="Appeals")
    assert "The blind second review comes first" in page.words
    assert "Decide" not in page.labels
    projects.create(store, "lea", Project(id="second", codes=("C1", "T1"), purpose="review"))
    appeals.open_second_reviews(store, "lea", "second")
    projects.set_state(store, "lea", "to review", "closed")
    open_page("ria").start().act("save")
    page = open_page("eve", at="Appeals")
    assert "Reviewer 1 sees no such error" in page.words
    assert "ria" not in page.words
    assert not page.enabled("Decide"), "neither outcome nor reason"
    page.test.radio[0].set_value("upheld")
    page.test.text_area[0].set_value("She asked.")
    page.test.run()
    page.test.radio[0].set_value("amended")
    page.press("Decide")
    assert "Choose the error that stands" in page.words
    page.test.radio[0].set_value("upheld")
    page.test.run()
    # together with the click: the callback comes before the run of the page that draws the choice
    page.test.radio[0].set_value("overturned")
    page.test.text_area[0].set_value("She asked what else was wanted, and answered in the next turn.")
    page.press("Decide")
    assert "No appeal is open." in page.words
    page = open_page("agnes", at="My findings")
    page.choose("Your dialogues with findings, newest first", "d1")
    assert "Appeal accepted: the finding was wrong" in page.words.replace("\\", "")
    assert "The expert: She asked what else was wanted" in page.words


def test_an_expert_puts_another_finding_in_its_place(open_page: Open, store: Store) -> None:
    for name, role, agent in (("agnes", "labeler", "a1"), ("eve", "expert", None)):
        accounts.create(store, "ada", Account(id=name, role=role, agent=agent), GIVEN)  # type: ignore[arg-type]
        passwords.choose_password(store, name, GIVEN, PASSWORD)
    appeals.open_appeal(store, "agnes", "d1", 1, "C1", "I had answered that")
    projects.create(store, "lea", Project(id="second", codes=("C1", "T1"), purpose="review"))
    appeals.open_second_reviews(store, "lea", "second")
    projects.set_state(store, "lea", "to review", "closed")
    open_page("ria").start().act("save")
    page = open_page("eve", at="Appeals")
    page.test.radio[0].set_value("amended")
    page.test.run()
    page.choose("Error that stands", "T1")
    page.fill(**{"Its words in the turn; empty: the whole turn": "no such words"})
    page.test.text_area[0].set_value("Curt.")
    page.test.run()
    page.press("Decide")
    assert "turn 1 has no such words" in page.words.replace("\\", "")
    page.fill(**{"Its words in the turn; empty: the whole turn": "Anything else?"})
    page.test.run()
    page.press("Decide")
    (decided,) = appeals.list_own(store, "agnes")
    assert (decided.state, decided.reason) == ("amended", "Curt.")


def test_the_review_page_says_whose_dialogue_it_is_and_what_a_judge_was_asked(
    open_page: Open, store: Store
) -> None:
    said = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
    turns = (
        Turn(index=0, role="customer", text="Where is it?", at=said),
        Turn(index=1, role="agent", text="Soon."),
    )
    dialogues.add(store, "lea", [Dialogue(id="own", turns=turns, agent="a*7*", team="north", channel="chat")])
    asked = JudgeRecord(
        name="judge-1", prompt="judge-3", screens=2, details=1, unasked=("P1",), unmet=("I1",)
    )
    found = Finding(
        code="C1", turn=1, severity="S2", probability=0.9, quote="Soon", start=0, end=4, reason="judge-1 confirms."
    )  # fmt: skip
    said_of_it = Verdict(
        dialogue_id="own", release="model-7", taxonomy="1.0.0", status="scored", quality=1.0, findings=(found,),
        judge=asked,
    )  # fmt: skip
    dialogues.add_verdicts(store, "lea", [said_of_it])
    tasks.add(store, "lea", "to review", [NewTask(dialogue="own", priority=9.0)])
    words = open_page("rob").start().words
    assert "Agent a*7*, team north, chat, 2026-11-03 09:30" in words
    assert "judge-1 was asked 3 questions; it says nothing of I1, P1." in words
    assert "judge-1 confirms." in words
