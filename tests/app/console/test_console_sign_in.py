"""Signing in and out, and what each role opens, on a real store."""

from collections.abc import Callable
from typing import Any

from console_records import ONE_TIME, PASSWORD
from patience import WAIT_S
from streamlit.testing.v1 import AppTest

from dialint.app.console.sessions import FREE_TRIES
from dialint.labeling.store import accounts, authentication
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account

Open = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


def test_a_wrong_password_opens_nothing(open_page: Open) -> None:
    errors = set()
    for name in ("rob", "nobody"):
        page = open_page(name, "not the right one")
        errors.add(page.test.error[0].value)
        assert page.labels == ["Sign in"]
    assert errors == {"The name or the password is wrong, or the account is closed."}


def test_too_many_wrong_passwords_have_to_wait(open_page: Open) -> None:
    page = open_page()
    for _ in range(FREE_TRIES):
        page.fill(Name="lea", Password="wrong").press("Sign in")
    page.fill(Name="lea", Password=PASSWORD).press("Sign in")
    assert "Too many" in page.test.error[0].value
    assert page.labels == ["Sign in"]


def test_a_one_time_password_opens_nothing_but_the_choice_of_another(open_page: Open, store: Store) -> None:
    once, own = ONE_TIME, "my very own word"
    accounts.set_password(store, "ada", "ada", once)
    page = open_page("ada", once)
    assert "Choose your own" in page.words
    assert page.labels == ["Change password", "Back"]
    assert page.press("Back").labels == ["Sign in"]
    page.fill(Name="ada", Password=once).press("Sign in")
    for old, new, again, error in (
        (once, once, once, "Choose another password"),
        (once, "short", "short", "A password needs 12 characters, and 1000 at most"),
        (once, own, "another long one", "The two new passwords differ"),
        ("not the one", own, own, "The password now is wrong"),
    ):
        page.fill(Password_now=old, New_password=new, New_password_again=again).press("Change password")
        assert error in page.test.error[0].value
        assert page.labels == ["Change password", "Back"]
    page.fill(Password_now=once, New_password=own, New_password_again=own).press("Change password")
    assert "Your password was changed." in page.text
    assert "This page is not open to your role." not in page.go("Admin").words
    assert authentication.sign_in(store, "ada", own).account.role == "admin"


def test_another_tab_is_signed_in_and_out_with_the_first(open_page: Open, one_browser: Any) -> None:
    first = open_page("rob", PASSWORD)
    second = open_page()
    assert "Sign in" not in second.labels
    assert "rob (reviewer)" in second.text
    ended = one_browser.session
    second.press("Sign out")
    assert second.labels == ["Sign in"]
    one_browser.session = ended  # which the connection of the first tab was opened with
    first.run()
    assert first.labels == ["Sign in"]
    assert "You were signed out" in first.words


def test_a_new_password_ends_the_sessions_of_the_old_one(open_page: Open) -> None:
    stale, changed = open_page("rob"), open_page("rob")
    new = "another very long one"
    changed.go("Your account").fill(Password_now=PASSWORD, New_password=new, New_password_again=new)
    changed.press("Change password")
    stale.run()
    assert stale.labels == ["Sign in"]
    changed.run()
    assert "rob (reviewer)" in changed.text


def test_the_store_refuses_a_page_that_was_reached_all_the_same(store: Store, saved: Saved) -> None:
    def script(store, account):  # type: ignore[no-untyped-def]
        from dialint.app.console.tasks.pages import review_page

        review_page(store, account)

    test = AppTest.from_function(
        script, args=(store, Account(id="ann", role="reviewer")), default_timeout=WAIT_S
    )
    test.run()  # the screen was told a lie of the role; the store knows better
    next(each for each in test.button if each.label == "Start reviewing").click()
    test.run()
    assert "refuses" in test.error[0].value
    assert not test.get("bidi_component")
    assert saved() == []
