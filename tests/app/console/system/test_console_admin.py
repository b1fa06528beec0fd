"""The Admin page by its widgets: accounts, projects, gold, retention with proof, audit log."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from console_records import PASSWORD

from dialint.app.console import messages as notices
from dialint.app.console.system.admin import VIEWS
from dialint.labeling.store import (
    accounts,
    authentication,
    dialogues,
    erasure,
    gold,
    projects,
)
from dialint.labeling.store.authentication import Identity
from dialint.labeling.store.database.schema import audit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.dialogues import compute_sha256
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, Gold, NotAllowed

HOSTILE = "<b>**x**</b> [link](https://evil.example) \u202e"
Open = Callable[..., Any]


@pytest.fixture
def view(open_page: Open) -> Open:
    """The Admin page as `name` sees it, at one of its views."""

    def opened(which: str, name: str = "ada") -> Any:
        return open_page(name, at="Admin", tab=which)

    return opened


WIDGETS = (
    "text_input", "text_area", "selectbox", "number_input", "checkbox", "multiselect", "radio", "date_input",
)  # fmt: skip


def fill(page: Any, **values: Any) -> Any:
    """Fill widgets by key."""
    widgets = {each.key: each for kind in WIDGETS for each in page.test.get(kind)}
    for key, value in values.items():
        widgets[key.replace("_", " ")].set_value(value)
    return page


@pytest.mark.parametrize("which", VIEWS)
def test_each_view_opens_for_who_may(view: Open, store: Store, which: str) -> None:
    for name in ("ada", "lea"):
        account = next(each for each in accounts.list_accounts(store, "ada") if each.id == name)
        page = view(which, name)
        assert page.test.query_params["tab"] in (
            [expected := which if has_permission(account, VIEWS[which][1]) else "users"],
            expected,
        )
        assert not page.test.error


def test_an_account_is_created_changed_and_closed(
    view: Open, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = view("users")
    fill(
        page,
        users_new_name="new",
        users_role_of_new="reviewer",
        users_new_skills="es, ru",
        users_new_agent="a7",
    )
    page.press("Create account")
    made = next(each for each in accounts.list_accounts(store, "ada") if each.id == "new")
    assert (made.role, made.skills, made.agent, made.status) == ("reviewer", ("es", "ru"), "a7", "active")
    assert "new  once-" in page.text
    password = page.text.split("new  ")[1].split()[0]
    authentication.choose_password(store, "new", password, PASSWORD)
    with monkeypatch.context() as later:
        later.setattr(notices, "STAYS_S", -1.0)
        page.run()
    assert "once-" not in page.text, "shown once"
    fill(page, users_account="new")
    page.run()
    changes = {"users status:new": "suspended", "users new role:new": "expert", "users skills:new": "es"}
    changes["users agent:new"] = ""
    fill(page, **changes).press("Save changes")
    assert "A change of status needs a reason" in page.text
    fill(page, **changes, **{"users reason:new": "Answers without reading."}).press("Save changes")
    query = audit.select().where(audit.c.action == "account.status")
    (entry,) = store.read(lambda transaction: transaction.run(query).all())
    assert (entry.account, entry.subject) == ("ada", "new")
    assert "Answers without reading." in entry.content
    changed = next(each for each in accounts.list_accounts(store, "ada") if each.id == "new")
    assert changed == Account(id="new", role="expert", status="suspended", skills=("es",))
    page.press("New one-time password")
    assert "new  once-" in page.text
    with pytest.raises(NotAllowed):
        authentication.sign_in(store, "new", PASSWORD)


def test_a_form_that_is_refused_stays_filled_and_is_empty_after_success(view: Open) -> None:
    def values(page: Any) -> list[Any]:
        fields = [page.test.text_input(key=f"users new {name}") for name in ("name", "skills", "agent")]
        return [each.value for each in (*fields, page.test.checkbox(key="users training"))]

    page = fill(view("users"), users_new_name="ben", users_new_skills="es", users_training=True)
    assert values(page.press("Create account")) == ["ben", "es", "", True]
    fill(page, users_new_name="bea").press("Create account")
    assert "bea was created" in page.text
    assert values(page) == ["", "", "", False]


def test_a_project_is_created_filled_and_closed(view: Open, store: Store) -> None:
    accounts.set_skills(store, "lea", "ben", ("es",))
    page = view("projects", "lea")
    fill(page, project_name="new one", project_codes=["C1", "T1"], project_overlap=3, project_fair=40)
    fill(page, project_skills="es").press("Create project")
    project = next(project for project, _ in projects.list_projects(store, "lea") if project.id == "new one")
    assert (project.overlap, project.most, project.fair_share, project.skills) == (3, 5, 0.4, ("es",))
    fill(page, project_chosen="new one")
    page.run()
    fill(page, sample_number=2).press("Add tasks")
    assert "2 tasks were added." in page.text
    page.press("Close the project")
    assert {p.id: state for p, state in projects.list_projects(store, "lea")}["new one"] == "closed"
    page.press("Open the project again")
    assert {p.id: state for p, state in projects.list_projects(store, "lea")}["new one"] == "open"
    fill(page, project_name="no codes", project_codes=[]).press("Create project")
    assert "Codes: " in page.text
    fill(page, project_name="controlled", project_codes=["C1"], project_control=10).press("Create project")
    assert "There is no gold" in page.text


def test_changing_one_limit_keeps_the_exact_value_of_rounded_ones(view: Open, store: Store) -> None:
    def limits() -> Any:
        return next(each for each, _ in projects.list_projects(store, "lea") if each.id == "to review")

    deadline = datetime(2099, 1, 2, 12, 0, tzinfo=UTC)
    exact = {"fair_share": 0.004, "control_share": 0.125, "deadline": deadline}
    projects.change_limits(store, "lea", "to review", overlap=1, most=5, **exact)
    page = fill(view("projects", "lea"), project_chosen="to review").run()
    fill(page, **{"limits most:to review": 6}).press("Save limits")
    assert (limits().fair_share, limits().control_share, limits().most) == (0.004, 0.125, 6)
    assert limits().deadline == deadline
    fill(page, **{"limits overlap:to review": 4, "limits fair:to review": 30}).press("Save limits")
    assert (limits().overlap, limits().fair_share) == (4, 0.3)
    fill(page, **{"limits overlap:to review": 9}).press("Save limits")
    assert "Most must not be less than overlap" in page.text


def test_gold_is_retired_restored_and_used_in_tasks(view: Open, store: Store) -> None:
    row = Gold(dialogue="d3", turn=1, code="C1", present=True, source="expert", reason=HOSTILE)
    gold.import_gold(store, "lea", [row])
    page = view("gold", "lea").press("Show the known answers")
    page.press("Retire it")
    assert gold.list_gold(store, "lea", retired=True)[0].retired
    page.press("Use it again")
    assert not gold.list_gold(store, "lea", retired=True)[0].retired
    fill(page, gold_project="to label").press("Make tasks")
    assert gold.list_gold(store, "lea") == (row,)


def test_erasing_needs_a_reason_and_the_words(view: Open, store: Store) -> None:
    page = view("retention")
    fill(page, erase_ids="d1\nd2\nnot there").press("Find")
    assert "2 dialogues were found. 1 does not fit" in page.text
    assert "2 dialogues would be erased" in page.text
    fill(page, erase_reason="ticket 7", erase_confirmation="erase 3").press("Erase")
    assert "nothing was erased" in page.text
    fill(page, erase_reason=" ", erase_confirmation="erase 2").press("Erase")
    assert "A reason of 1 to" in page.text
    assert dialogues.read(store, "lea", "d1")
    fill(page, erase_reason="ticket 7", erase_confirmation="erase 2").press("Erase")
    proof = erasure.Proof.model_validate_json(page.test.code[0].value)
    assert proof.counts["dialogues"] == 2
    assert proof.scrubbed is not None
    assert {each.dialogue_sha256 for each in proof.erased} == {compute_sha256("d1"), compute_sha256("d2")}
    with pytest.raises(NotAllowed):
        dialogues.read(store, "lea", "d1")
    verify(store)


def test_the_log_is_paged_and_filtered(view: Open, store: Store) -> None:
    for number in range(60):
        projects.set_state(store, "lea", "to label", "closed" if number % 2 else "open")
    page = view("audit")
    page.press("Older ▶")
    newest = page.test.table[0].value["Entry"].to_list()
    fill(page, audit_who="lea", audit_action="project.state")
    page.run()
    assert set(page.test.table[0].value["Action"]) == {"project\\.state"}
    assert page.test.table[0].value["Entry"].to_list() != newest, "from the newest again"


def test_identities_are_linked_and_unlinked(view: Open, store: Store) -> None:
    page = view("sign-in")
    assert "No provider is configured" in page.text
    new = {"identity_issuer": "https://id.example", "identity_subject": "s 1"}
    fill(page, **new, identity_account="rob").press("Link")
    who = Identity(issuer="https://id.example", subject="s 1")
    assert authentication.sign_in_identity(store, who).id == "rob"
    fill(page, **new, identity_account="ria").press("Link")
    assert "linked to rob" in page.text
    page.press("Unlink")
    with pytest.raises(NotAllowed):
        authentication.sign_in_identity(store, who)
    assert authentication.find_signed_in(store, "rob", who) is None


def test_an_address_that_the_provider_verified_is_linked_once(store: Store) -> None:
    first, second, elsewhere = (
        Identity(issuer=f"https://{host}.example", subject=name)
        for host, name in (("id", "1"), ("id", "2"), ("other", "1"))
    )
    for name in ("rob", "ria", "root"):
        role = "admin" if name == "root" else "reviewer"
        accounts.create(store, "ada", Account(id=f"{name}@a.example", role=role))  # type: ignore[arg-type]
    assert authentication.sign_in_identity(store, first, "rob@a.example").id == "rob@a.example"
    assert authentication.sign_in_identity(store, first, "ria@a.example").id == "rob@a.example", (
        "the link counts"
    )
    assert authentication.sign_in_identity(store, elsewhere, "rob@a.example").id == "rob@a.example"
    for refused in (
        "nobody@a.example", "rob", "ada", "root@a.example", "", "rob@a.example\n", "@a.example", "rob@a@a.example",
        "rob\0@a.example", "ROB@a.example", "\ud800@a.example",
        "rob@a.example",  # which has an identity of this issuer
    ):  # fmt: skip
        with pytest.raises(NotAllowed):
            authentication.sign_in_identity(store, second, refused)
    accounts.set_status(store, "ada", "rob@a.example", "suspended")
    with pytest.raises(NotAllowed):
        authentication.sign_in_identity(store, first)
    assert authentication.find_signed_in(store, "rob@a.example", first) is None
