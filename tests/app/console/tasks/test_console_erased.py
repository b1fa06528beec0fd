"""Pages that were left open while an admin erased the dialogue on them: nothing of it is stored again."""

from collections.abc import Callable
from typing import Any

import pytest
from console_records import add_account
from sqlalchemy import select

from dialint.labeling.store import annotations, erasure, leases, projects, task_view, tasks
from dialint.labeling.store.database.schema import drafts as draft_rows
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import NewTask, Project

DELETED = "This dialogue was deleted from the store meanwhile. Nothing of it was saved."
Open = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


def list_drafts(store: Store) -> list[str]:
    query = select(draft_rows.c.item)
    return store.read(lambda transaction: list(transaction.run(query).scalars()))


CLICKS: dict[str, Callable[[Any], Any]] = {
    "edit": lambda page: page.decide("rejected"), "add": lambda page: page.add("review", 3, "C1"),
    "save": lambda page: page.act("save"), "skip": lambda page: page.act("skip", reason="undecided"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("click", "place"), [("edit", "postgresql"), *((click, "sqlite") for click in CLICKS)], indirect=["place"]
)
def test_a_review_in_hand_is_closed(open_page: Open, store: Store, saved: Saved, click: str) -> None:
    page = open_page("rob").start()
    item = page.session("review").item
    page.decide("kept", "rejected")
    erasure.erase(store, "ada", [item.dialogue.id], "asked for")
    CLICKS[click](page)
    assert DELETED in page.words
    assert (saved(), [name for name in list_drafts(store) if name == item.name]) == ([], [])
    now = page.session("review").item
    assert now is None or now.dialogue.id != item.dialogue.id
    verify(store)


def test_a_blind_answer_is_closed(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("ann", at="Label").start()
    item = page.session("label").item
    erasure.erase(store, "ada", [item.stored], "asked for")
    page.add("label", 1, "C1")
    assert DELETED in page.words
    assert (saved(), item.name in list_drafts(store)) == ([], False)


def test_a_correction_whose_number_another_answer_got_is_closed(
    open_page: Open, store: Store, saved: Saved
) -> None:
    """SQLite gives the numbers of erased tasks and answers again: the page has those of the old ones."""
    page = open_page("rob").start().decide("kept", "rejected").act("save").act("reopen")
    old = page.session("review").item
    erasure.erase(store, "ada", [old.dialogue.id], "asked for")
    again = annotations.review(store, "rob", "d5", "other", ["C1"], [], expected=None)
    assert int(again.id) == old.supersedes
    page.decide("rejected")
    assert DELETED in page.words
    assert [(row["dialogue"], row["supersedes"]) for row in saved()] == [("d5", None)]
    assert old.name not in list_drafts(store)


def test_an_experts_case_is_closed_with_its_draft(open_page: Open, store: Store) -> None:
    add_account(store, "eve", "expert")
    projects.create(store, "lea", Project(id="adjudication", codes=("C1", "T1"), purpose="adjudication"))
    tasks.add(store, "lea", "adjudication", [NewTask(dialogue="d3", turn=1)])
    page = open_page("eve", at="Adjudicate").press("Decide the next case").press("Not applicable")
    held = leases.find_held(store, "eve", "adjudication")
    assert held is not None
    assert task_view.load_draft(store, "eve", f"case:{held.task}", "d3") is not None
    erasure.erase(store, "ada", ["d3"], "asked for")
    assert list_drafts(store) == [], "the draft of a case goes with its dialogue"
    page.press("Not applicable")
    assert DELETED in page.text
    assert list_drafts(store) == []
