"""Appeals: an agent objects to a finding, a second reviewer is asked blind, an expert decides."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from console_records import add_account, make_finding

from dialint.labeling.store import annotations, appeals, dialogues, projects
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Project

Open = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def people(store: Store) -> Store:
    """Agnes, who is the agent of the dialogues, and the expert eve."""
    add_account(store, "agnes", "labeler", agent="a1")
    add_account(store, "eve", "expert")
    return store


def send_to_second_review(store: Store) -> None:
    projects.create(store, "lea", Project(id="second", codes=("C1", "T1"), purpose="review"))
    appeals.open_second_reviews(store, "lea", "second")
    projects.set_state(store, "lea", "to review", "closed")


def test_an_agent_objects_a_second_review_is_blind_and_an_expert_decides(
    open_page: Open, people: Store, saved: Saved
) -> None:
    page = open_page("agnes", at="My findings")
    box = next(each for each in page.test.selectbox if each.label != "Language")
    assert [option.split(":")[0] for option in box.options] == ["hostile", "d3", "d2", "d1"]
    page.choose("Your dialogues with findings, newest first", "d1")
    page.press("Send the appeal")
    assert "A statement has 1 to 4000 characters" in page.text
    page.test.text_area[0].set_value("I had *answered* that.")
    page.press("Send the appeal")
    assert "Your appeal was sent." in page.text
    assert "Appeal is open" in page.words
    assert page.labels.count("Send the appeal") == 0, "one objection to one finding"

    page = open_page("eve", at="Appeals")
    assert "The blind second review comes first" in page.words
    assert "Decide" not in page.labels
    send_to_second_review(people)
    dialogues.read(people, "rob", "d1")  # with what the model says
    words = open_page("rob").start().text
    assert "Waiting here for a second review, but not for you: 1" in words
    page = open_page("ria").start()
    assert "A second review" in page.words
    assert "model-7" not in json.dumps(page.workspace())
    page.act("save")
    (row,) = saved()
    assert (row["dialogue"], row["labeler"], row["seen_verdict"]) == ("d1", "ria", False)

    page = open_page("eve", at="Appeals")
    assert "Reviewer 1 sees no such error" in page.words
    assert "ria" not in page.words
    assert not page.enabled("Decide"), "neither outcome nor reason"
    page.test.radio[0].set_value("upheld")
    page.test.text_area[0].set_value("She asked.")
    page.run()
    page.test.radio[0].set_value("amended")
    page.press("Decide")
    assert "Choose the error that stands" in page.words
    page.test.radio[0].set_value("upheld")
    page.run()
    # together with the click: the callback comes before the run of the page that draws the choice
    page.test.radio[0].set_value("overturned")
    page.test.text_area[0].set_value("She asked what else was wanted, and answered in the next turn.")
    page.press("Decide")
    assert "No appeal is open." in page.words
    page = open_page("agnes", at="My findings")
    page.choose("Your dialogues with findings, newest first", "d1")
    assert "Appeal accepted: the finding was wrong" in page.text
    assert "The expert: She asked what else was wanted" in page.words


def test_one_person_is_one_reviewer_with_one_answer(open_page: Open, people: Store) -> None:
    """Whoever corrects an answer has one, and keeps the number from the earlier answers to the second review."""
    review = annotations.review(people, "rob", "d1", "rob", ["C1"], [], expected=None)
    appeals.open_appeal(people, "agnes", "d1", 1, "C1", "I had answered that")
    annotations.correct(people, "rob", int(review.id), "again", [make_finding()])
    page = open_page("eve", at="Appeals")
    assert "Reviewer 1 sees this error" in page.words
    assert "sees no such error" not in page.words
    send_to_second_review(people)
    open_page("ria").start().act("save")
    annotations.correct(people, "ria", int(annotations.list_own(people, "ria")[0].id), "ria again")
    words = open_page("eve", at="Appeals").words
    assert words.count("Reviewer 1 sees this error") == words.count("Reviewer 2 sees no such error") == 1


def test_an_agent_sees_what_people_rejected(open_page: Open, people: Store) -> None:
    annotations.review(people, "rob", "d1", "rob", ["C1"], [], expected=None)
    page = open_page("agnes", at="My findings")
    page.choose("Your dialogues with findings, newest first", "d1")
    assert "A reviewer rejected this finding" in page.words
    assert "Send the appeal" not in page.labels


def test_a_lead_sends_appeals_to_a_second_review_by_a_button(open_page: Open, people: Store) -> None:
    appeals.open_appeal(people, "agnes", "d1", 1, "C1", "I had answered that")
    page = open_page("lea", at="Appeals").press("Send 1 open appeal to a second review")
    assert "1 task was added. (appeals-1)" in page.text
    assert "It waits for a reviewer in appeals-1." in page.text
    page.choose("Language", "es")
    assert "1 task was added" not in page.words, "a message in the language of before"


def test_an_appeal_that_nobody_may_review_is_reported(open_page: Open, people: Store) -> None:
    appeals.open_appeal(people, "agnes", "d1", 1, "C1", "I had answered that")
    newest = None
    for name in ("rob", "ria", "lea", "ada", "eve"):
        newest = annotations.review(people, name, "d1", name, ["C1"], [], expected=newest).id
    page = open_page("lea", at="Appeals").press("Send 1 open appeal to a second review")
    assert "Nobody is left to review appeal 1" in page.words


def test_an_expert_puts_another_finding_in_its_place(open_page: Open, people: Store) -> None:
    appeals.open_appeal(people, "agnes", "d1", 1, "C1", "I had answered that")
    send_to_second_review(people)
    open_page("ria").start().act("save")
    page = open_page("eve", at="Appeals")
    page.test.radio[0].set_value("amended")
    page.run()
    page.choose("Error that stands", "T1")
    page.test.text_area[0].set_value("Curt.")
    for words, message in (("no such words", "Turn 1 has no such words"), ("Anything else?", "is decided")):
        page.fill(**{"Its words in the turn; empty: the whole turn": words})
        page.run()
        page.press("Decide")
        assert message in page.text
    (decided,) = appeals.list_own(people, "agnes")
    assert (decided.state, decided.reason) == ("amended", "Curt.")
