"""What each page is for, done by clicks in a real browser, and what the store holds afterwards.

One server, one store and one sign-in of each person for all tests, of which none needs another.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tiny
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from dialint.app.console.system.job_files import JOBS_VARIABLE
from dialint.app.console.system.release_change import RELEASES_VARIABLE
from dialint.detector.records import Dialogue, Finding, Turn
from dialint.detector.registry import Registry
from dialint.detector.taxonomy import PACKAGED, parse_taxonomy
from dialint.labeling.store import (
    accounts,
    annotations,
    authentication,
    dialogues,
    documents,
    erasure,
    gold,
    leases,
    projects,
)
from dialint.labeling.store.calibration_sessions import list_sessions
from dialint.labeling.store.coaching import list_notes
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import Account, NotAllowed
from dialint.labeling.store.release_verdicts import list_changes

GIVEN, PASSWORD = "once-for the first time", "a long enough one"
TEXT = PACKAGED.read_text(encoding="utf-8")
N_CALIBRATION = 8
"""Dialogues of the session: with fewer there are no intervals."""
pytestmark = pytest.mark.slow


def add_people(store: Store) -> None:
    """Beside those of every store: an expert, the agent of its dialogues, and two labelers with no work."""
    new = (
        Account(id="eve", role="expert"), Account(id="agnes", role="labeler", agent="a1"),
        Account(id="cleo", role="labeler"), Account(id="dan", role="labeler"),
    )  # fmt: skip
    for account in new:
        accounts.create(store, "ada", account, GIVEN)
    for name in ("ada", "eve", "agnes", "cleo", "dan"):
        authentication.choose_password(store, name, GIVEN, PASSWORD)


def add_work(store: Store) -> None:
    """Ann and ben disagree on d3, and both see an error in d5; more dialogues, of no agent."""
    marked = Finding(
        code="C1", turn=1, severity="S2", probability=1.0, quote="Anything", start=0, end=8, reason=""
    )
    for who in ("ann", "ben"):
        while lease := leases.claim(store, who, "to label"):
            found = [marked] if lease.dialogue == "d5" or (who == "ann" and lease.dialogue == "d3") else []
            annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task}", found)
    projects.set_state(store, "lea", "to label", "closed")
    texts = ("The parcel never came.", "Please wait for number {n}.")
    more = [
        Dialogue(
            id=f"c{n}",
            turns=(
                Turn(index=0, role="customer", text=texts[0]),
                Turn(index=1, role="agent", text=texts[1].format(n=n)),
            ),
        )
        for n in range(N_CALIBRATION)
    ]
    gone = Dialogue(id="gone", turns=(Turn(index=0, role="customer", text="I am Ms Forgettable."),))
    dialogues.add(store, "lea", [*more, gone])


@pytest.fixture(scope="module")
def place(template: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("clicks") / "store.sqlite"
    path.write_bytes(template.read_bytes())
    with Store.open(str(path)) as store:
        add_people(store)
        add_work(store)
    return str(path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def at(
    place: str, home: Path, start_server: Callable[[str], Any], people: Callable[[Any], Any]
) -> Iterator[Any]:
    """Everybody, each at a browser; two small releases are offered for promotion."""
    for name in ("first", "second"):
        tiny.write_release(home / name, info=tiny.release_info(id=f"tiny-{name}"))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DIALINT_HOME", str(home))
        environment.setenv(RELEASES_VARIABLE, str(home))
        environment.setenv(JOBS_VARIABLE, str(home / "jobs"))
        server = start_server(place)
        yield people(server)


def press(page: Any, label: str, key: str = "") -> None:
    """Click a button; a `key` that it shows is part of its name."""
    page.get_by_role("button", name=f"{label} {key}".strip(), exact=True).first.click()


def field(page: Any, label: str) -> Any:
    """A field for text: a label's own button for help has its name, too."""
    return page.get_by_label(label).and_(page.locator("input, textarea"))


def choose(page: Any, label: str, option: str) -> None:
    """Choose an option of a box by a part of its text."""
    box = page.get_by_role("combobox", name=label)
    box.last.click()
    page.keyboard.type(option)
    page.get_by_role("option", name=option).first.click()
    page.keyboard.press("Tab")  # a box for several stays open


def view(page: Any, name: str) -> None:
    """Choose a view of a page."""
    page.get_by_role("radio", name=name).click()


def test_a_lead_sends_a_disagreement_and_an_expert_decides_it(
    at: Any, store: Store, settle: Callable[[Any], None]
) -> None:
    page = at.open("lea", "Adjudicate")
    page.get_by_role("combobox", name="Answers of").first.click()
    page.get_by_role("option", name="to label").click()
    settle(page)
    press(page, "Send open questions")
    page.get_by_text("have open questions").wait_for()

    page = at.open("eve", "Adjudicate")
    press(page, "Decide the next case", "Shortcut N")
    page.get_by_text("Turn 1 of d3").wait_for()
    assert page.get_by_text("ann", exact=True).count() == 0, "who said what is hidden"
    assert page.get_by_role("button", name="Decide and next").is_disabled()
    press(page, "Yes, an error", "Shortcut Y")
    field(page, "Reason, which is kept with the decision").fill("She asked, and no answer came.")
    press(page, "Decide and next", "Shortcut S")
    page.get_by_text("The case is decided.").wait_for()
    (known,) = [each for each in gold.list_gold(store, "eve") if (each.dialogue, each.code) == ("d3", "C1")]
    assert (known.turn, known.present, known.reason) == (1, True, "She asked, and no answer came.")


def test_a_lead_accepts_in_bulk_what_all_agree_on(
    at: Any, store: Store, settle: Callable[[Any], None]
) -> None:
    page = at.open("lea", "Adjudicate")
    page.get_by_role("combobox", name="Answers of").last.click()
    page.get_by_role("option", name="to label").click()
    settle(page)
    press(page, "Preview")
    page.get_by_text("A random sample of them").wait_for()
    assert dialogues.list_labels(store, "rob", "d5") == ()
    press(page, "Accept them")
    page.get_by_text("1 label was written.").wait_for()
    (written,) = dialogues.list_labels(store, "rob", "d5")
    assert (written.turn, written.code, written.probability, written.method) == (1, "C1", 1.0, "agreed")


def test_a_calibration_session_from_its_start_to_who_is_strict(at: Any, store: Store) -> None:
    names = [f"c{n}" for n in range(N_CALIBRATION)]
    page = at.open("lea", "Calibration")
    press(page, "New session")
    field(page, "Name").fill("winter")
    for label, option in (("Who", "cleo"), ("Who", "dan"), ("Codes", "C1")):
        choose(page, label, option)
    field(page, "Or the ids of the dialogues, one a line").fill("\n".join(names))
    press(page, "Start the session")
    page.get_by_text(f"The session is started, with {N_CALIBRATION} items").wait_for()

    for name in ("cleo", "dan"):
        page = at.open(name, "Label")
        page.get_by_role("button", name="Start").first.click()
        for n in range(N_CALIBRATION):
            page.get_by_text(f"Please wait for number {n}.").first.wait_for()
            assert page.get_by_text("cleo").count() == (name == "cleo"), "blind: nobody but oneself is named"
            if name == "cleo":  # always an error
                page.keyboard.press("y")
                page.get_by_text("Selected in turn 1:").wait_for()
                page.keyboard.press("Enter")
                page.get_by_text("1 of 1 answered").first.wait_for()
                page.keyboard.press("s")
            else:
                page.keyboard.press("0")
        page.get_by_text("Nothing is waiting for you").wait_for()

    page = at.open("lea", "Calibration")
    table = page.get_by_role("table").filter(has_text="Leans")
    table.wait_for()
    cells = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert [(row[:4], row[-1]) for row in cells] == [
        (["cleo", "C1", "100%", "0%"], "strict"), (["dan", "C1", "0%", "100%"], "lenient"),
    ]  # fmt: skip
    (session,) = [each for each in list_sessions(store, "lea") if each.project.id == "winter"]
    assert [(each.name, each.answered) for each in session.members] == [("cleo", 8), ("dan", 8)]


def test_the_taxonomy_is_edited_previewed_published_and_compared(at: Any, store: Store) -> None:
    text = TEXT.replace("version: 1.0.0", "version: 1.0.1").replace("penalty: 25", "penalty: 40")
    page = at.open("lea", "Taxonomy and policies")
    view(page, "Edit the taxonomy")
    field(page, "Text in YAML.").fill(text)
    field(page, "Why it changes").fill("major errors cost more")
    page.keyboard.press("Tab")
    page.get_by_text("Valid: version 1.0.1").wait_for()
    press(page, "Save as a draft")
    page.get_by_text("Saved as version 1, a draft.").wait_for()
    diff = page.get_by_test_id("stCode").inner_text()
    assert "-    penalty: 25" in diff
    assert "+    penalty: 40" in diff
    assert page.get_by_role("button", name="Publish", exact=True).is_disabled(), "before the preview"
    press(page, "Preview the change")
    page.get_by_text("verdicts read").wait_for()
    press(page, "Publish")
    page.get_by_text("Version 1 is published.").wait_for()
    published = documents.load_published(store, "lea", "taxonomy")
    assert parse_taxonomy(published["taxonomy"]).version == "1.0.1"


def test_a_lead_suspends_a_labeler_with_a_reason(at: Any, store: Store) -> None:
    page = at.open("ben", "Label")
    lead = at.open("lea", "People")
    choose(lead, "Account", "ben")
    press(lead, "Change the status")
    lead.get_by_text("needs a reason").wait_for()
    choose(lead, "Account", "ben")
    field(lead, "Reason, which the audit log keeps").fill("Answers without reading.")
    press(lead, "Change the status")
    lead.get_by_text("ben: the status was changed.").wait_for()
    (status,) = [each.status for each in accounts.list_accounts(store, "lea") if each.id == "ben"]
    assert status == "suspended"
    page.get_by_role("link", name="Calibration", exact=True).click()
    page.get_by_text("You were signed out.").wait_for()


def test_a_note_of_coaching_is_written_and_acknowledged(at: Any, store: Store) -> None:
    page = at.open("lea", "Coaching")
    field(page, "Write a note that the agent reads").fill("Please answer the question first.")
    press(page, "Send the note")
    page.get_by_text("The note was sent.").wait_for()
    page = at.open("agnes", "Coaching")
    page.get_by_text("Please answer the question first.").wait_for()
    press(page, "I have read it")
    page.get_by_text("✓ Acknowledged on").wait_for()
    (note,) = list_notes(store, "agnes", "a1")
    assert (note.author, note.acknowledged_by) == ("lea", "agnes")


def test_a_release_is_promoted_and_rolled_back(at: Any, store: Store, home: Path) -> None:
    page = at.open("lea", "Releases")
    view(page, "Promote and roll back")
    for name in ("first", "second"):
        choose(page, "Release", name)
        field(page, "Reason").first.fill(f"{name} is better")
        if not page.get_by_role("checkbox").first.is_checked():  # it stays as it was
            page.get_by_text("From now on this release scores").click()
        press(page, "Promote")
        page.get_by_text(f"tiny-{name}").filter(has_text="is current now").wait_for()
    field(page, "Reason").last.fill("worse on our own log")
    page.get_by_text("I want the earlier release back.").click()
    press(page, "Roll back")
    page.get_by_text("is current again.").wait_for()
    current = Registry("scan", home).current()
    assert current is not None
    assert current.id.startswith("tiny-first")
    changes = [(each.action, each.reason) for each in list_changes(store, "lea")]
    assert changes == [
        ("rollback", "worse on our own log"), ("promote", "second is better"), ("promote", "first is better"),
    ]  # fmt: skip


def test_an_admin_creates_an_account_and_changes_its_role(at: Any, store: Store) -> None:
    page = at.open("ada", "Admin")
    form = page.get_by_test_id("stForm").filter(has_text="New account")
    field(form, "Name").fill("nora")
    press(page, "Create account")
    page.get_by_text("nora was created.").wait_for()
    one_time = page.get_by_test_id("stCode").filter(has_text="nora").inner_text().split()[-1]
    choose(page, "Account", "nora")
    form = page.get_by_test_id("stForm").filter(has_text="Save changes")
    box = form.get_by_role("combobox", name="Role")
    for _ in range(5):  # a run of the page that ends late closes the open list
        box.click()
        with suppress(PlaywrightTimeoutError):
            page.get_by_role("option", name="reviewer").click(timeout=30_000)
            break
    press(page, "Save changes")
    page.get_by_text("nora was changed.").wait_for()
    (role,) = [each.role for each in accounts.list_accounts(store, "ada") if each.id == "nora"]
    assert role == "reviewer"
    assert authentication.choose_password(store, "nora", one_time, PASSWORD).account.id == "nora"


def test_an_admin_erases_a_dialogue_and_gets_a_proof(at: Any, store: Store) -> None:
    page = at.open("ada", "Admin")
    view(page, "Retention")
    field(page, "Or text that is in them").fill("Forgettable")
    press(page, "Find")
    page.get_by_text("1 dialogue would be erased").wait_for()
    form = page.get_by_test_id("stForm").filter(has_text="Erase them for good")
    field(form, "Reason").fill("ticket 7")
    field(form, "To confirm, type: erase 1").fill("erase 1")
    press(page, "Erase")
    page.get_by_text("1 dialogue was erased.").wait_for()
    text = page.get_by_test_id("stCode").filter(has_text="dialogue_sha256").inner_text()
    proof = erasure.Proof.model_validate_json(text)
    assert (proof.counts["dialogues"], proof.scrubbed is not None) == (1, True)
    assert [each.dialogue_sha256 for each in proof.erased] == [erasure.hash_id("gone")]
    with pytest.raises(NotAllowed):
        dialogues.read(store, "lea", "gone")
    verify(store)


def test_a_search_leads_to_a_dialogue_by_its_address(at: Any) -> None:
    page = at.open("rob", "Explore")
    field(page, "Search the words of dialogues").fill("parcel")
    page.keyboard.press("Enter")
    page.wait_for_url("**/explore?q=parcel")
    choose(page, "Error", "T1")
    page.get_by_role("link", name="d2", exact=True).wait_for()
    address = page.get_by_role("link", name="d2", exact=True).get_attribute("href")
    other = at.page("ria")
    other.goto(f"http://127.0.0.1:{at.port}{address}")
    other.get_by_text("The dialogue came to the store").wait_for()
    other.get_by_text("Verdict of model-7").wait_for()
    other.locator("[data-turn='3']", has_text="We will look into it.").wait_for()
