"""Notices of what was done survive a newer click that ends the run that did or showed it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import StopException

from dialint.app.console import i18n
from dialint.app.console import messages as notices
from dialint.app.console.messages import (
    ADMIN,
    SECRET,
    STAYS_S,
    attempt,
    current_notice,
    report_refusals,
    set_notice,
    set_secret,
)
from dialint.app.console.system import retention
from dialint.labeling.store import accounts, erasure
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, StoreRefused

Open = Callable[..., Any]


class ReplacedRun(dict[str, Any]):
    """Session state of a run: once a newer click has come, each call of it ends the run."""

    is_replaced = False

    def _call(self) -> dict[str, Any]:
        if self.is_replaced:
            raise StopException
        return self

    def get(self, key: str, default: Any = None) -> Any:
        return dict.get(self._call(), key, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        return dict.setdefault(self._call(), key, default)

    def pop(self, key: str, default: Any = None) -> Any:  # type: ignore[override]
        return dict.pop(self._call(), key, default)

    def __getitem__(self, key: str) -> Any:
        return dict.__getitem__(self._call(), key)

    def __setitem__(self, key: str, value: Any) -> None:
        dict.__setitem__(self._call(), key, value)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> ReplacedRun:
    """The session state of a run in Spanish."""
    state = ReplacedRun(language="es")
    monkeypatch.setattr(i18n, "get_script_run_ctx", lambda suppress_warning: object())
    monkeypatch.setattr(notices.st, "session_state", state)
    monkeypatch.setattr(notices.st, "rerun", lambda: None)
    return state


def read_notice(run: ReplacedRun, page: str) -> tuple[str, str]:
    run.is_replaced = False
    notice = current_notice(page)
    assert notice is not None, "it was lost"
    return notice.kind, notice.text


def test_a_newer_click_loses_no_message_of_what_was_done(run: ReplacedRun) -> None:
    with attempt("a page") as done:
        run.is_replaced = True
        done(i18n._("Saved."))
    assert read_notice(run, "a page") == ("success", "Guardado.")
    with report_refusals("another"):
        run.is_replaced = True
        raise StoreRefused("E_X", "no such appeal")
    assert read_notice(run, "another")[0] == "error"


def test_a_newer_click_loses_no_one_time_password(run: ReplacedRun) -> None:
    with attempt(ADMIN) as done:
        run.is_replaced = True
        set_secret("new  once-1")
        done("")
    run.is_replaced = False
    with attempt(ADMIN) as done:
        done("the second click")
    assert read_notice(run, SECRET) == ("info", "new  once-1")


def test_a_newer_click_comes_not_between_an_erasure_and_its_proof(
    run: ReplacedRun, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def erase(*arguments: Any) -> erasure.Proof:
        run.is_replaced = True
        return erasure_of(*arguments)

    erasure_of = erasure.erase
    monkeypatch.setattr(retention.erasure, "erase", erase)
    monkeypatch.setattr(retention.erasure, "scrub", lambda store, actor: "VACUUM")
    admin = Account(id="ada", role="admin")
    with attempt(ADMIN) as done:
        done(retention._erase(store, admin, ["d1"], "ticket 7", True, True))
    assert read_notice(run, ADMIN)[0] == "success"
    current = retention.Erasure.current()
    assert current.proof is not None
    assert (current.proof.scrubbed, current.matches) == ("VACUUM", [])


def test_a_notice_is_repeated_by_the_run_that_replaces_the_first(
    run: ReplacedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(notices, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    set_notice("a page", "success", "done")
    clock[0] += 900.0  # until somebody looks
    assert read_notice(run, "a page") == read_notice(run, "a page") == ("success", "done")
    clock[0] += STAYS_S + 1
    assert current_notice("a page") is None
    set_notice("a page", "success", "done")
    with report_refusals("a page"):
        pass
    assert current_notice("a page") is None, "something else was done since"


def test_pages_do_not_undo_each_others_preferences(open_page: Open, store: Store) -> None:
    """Before: Review wrote all preferences as they were when it was opened."""
    page = open_page("rob").start()
    chosen = accounts.load_preferences(store, "rob")
    accounts.save_preferences(store, "rob", chosen.model_copy(update={"language": "es"}))
    page.act("auto_save", on=True)
    now = accounts.load_preferences(store, "rob")
    assert (now.language, now.auto_save) == ("es", True)
