"""The Coaching page: leads see any agent, an agent only themself; notes; what was rejected is no error."""

from collections.abc import Callable
from typing import Any

import pytest
from console_records import add_account, make_dialogue, make_verdict

from dialint.app.console.quality import coaching as coaching_notes
from dialint.labeling.store import annotations, dialogues
from dialint.labeling.store.coaching import list_notes, write_note
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import StoreRefused


@pytest.fixture
def coached(store: Store) -> Store:
    """Agnes is agent a1; the finding in d1 was rejected, that of C1 in d2 confirmed."""
    add_account(store, "agnes", "labeler", agent="a1")
    annotations.review(store, "rob", "d1", "d1", ["C1"], [], expected=None)
    _dialogue, verdict = dialogues.read(store, "rob", "d2")
    assert verdict is not None
    annotations.review(store, "rob", "d2", "d2", ["C1"], [verdict.findings[0]], expected=None)
    return store


def readable(page: Any) -> str:
    tables = "\n".join(each.value.to_string() for each in page.test.table)
    return f"{page.words}\n{tables}".replace("\\", "")


def test_a_lead_sees_the_confirmed_errors_and_writes_a_note(
    coached: Store, open_page: Callable[..., Any]
) -> None:
    page = open_page("lea", at="Coaching")
    words = readable(page)
    assert "/dialogue?id=d2" in words
    assert "C1 Question ignored · S2 Major · turn 1, confirmed" in words
    assert "/dialogue?id=d1" in words, "it went well: the finding was rejected"
    assert words.index("Dialogues that went well") < words.index("/dialogue?id=d1")
    page.test.text_area(key="note text:a1:0").set_value("Please answer the question first.")
    page.press("Send the note")
    (note,) = list_notes(coached, "lea", "a1")
    assert (note.content, note.author) == ("Please answer the question first.", "lea")


def test_shares_are_of_the_dialogues_that_were_judged_for_the_error(
    coached: Store, open_page: Callable[..., Any]
) -> None:
    """C1 was not looked for in one of the agent's five dialogues; before, all five were counted."""
    dialogues.add(coached, "lea", [make_dialogue("n1", "Hello", "Hi")])
    dialogues.add_verdicts(coached, "lea", [make_verdict("n1", quality=None, no_policy=("C1",))])
    page = open_page("lea", at="Coaching")
    (rows,) = (each.value for each in page.test.table if "This agent" in each.value.columns)
    assert [each.replace("\\", "") for each in rows["This agent"]] == ["25 % (5–70) of 4"]
    assert "Left out are those to which no policy" in page.words


def test_a_note_that_is_refused_stays_in_the_form_and_is_sent_once(
    coached: Store, open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: the form was emptied by the click, and what was written was lost where the store was busy."""
    clicks: dict[str, Callable[..., Any]] = {}
    real = coaching_notes.st.form_submit_button

    def button(label: str, **options: Any) -> bool:
        clicks[label] = options.get("on_click", real)
        return bool(real(label, **options))

    monkeypatch.setattr(coaching_notes.st, "form_submit_button", button)
    page = open_page("lea", at="Coaching")
    page.test.text_area(key="note text:a1:0").set_value("A long note.")
    with monkeypatch.context() as busy:
        busy.setattr(coaching_notes.coaching, "write_note", refuse)
        page.press("Send the note")
    assert "keep the database busy" in page.words
    assert page.test.text_area(key="note text:a1:0").value == "A long note."
    page.press("Send the note")
    old = clicks["Send the note"]
    page.test.text_area(key="note text:a1:1").set_value("Another.")
    page.press("Send the note")
    old()  # a second click, which the browser sent before it had the new form
    assert [each.content for each in list_notes(coached, "lea", "a1")] == ["Another.", "A long note."]


def refuse(*arguments: Any) -> None:
    raise StoreRefused("E_BUSY", "others keep the database busy")


def test_an_agent_reads_and_acknowledges(coached: Store, open_page: Callable[..., Any]) -> None:
    write_note(coached, "lea", "a1", "Well done **today**.")
    page = open_page("agnes", at="Coaching", agent="a2")
    words = readable(page)
    assert "Agent a2" not in words, "an address opens no other agent"
    assert "Well done **today**." in words, "as text"
    assert "/explore" not in words
    assert not any(each.label == "Agent" for each in page.test.selectbox), "no other agent can be chosen"
    page.press("I have read it")
    (note,) = list_notes(coached, "agnes", "a1")
    assert note.acknowledged_by == "agnes"
    assert "I have read it" not in page.labels
