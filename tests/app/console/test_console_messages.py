"""What an error says is said in the language of the account."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import wait_for
from pydantic import ValidationError

import dialint.app.console
from dialint.app.console import i18n
from dialint.app.console.messages import explain, explain_as_sentence, explain_validation
from dialint.detector.errors import ConfigError, DialintError, Message
from dialint.detector.policy import parse_policy
from dialint.labeling.store.records import Project

PASSWORD = "a long enough one"
CYRILLIC = re.compile("[а-яё]")


@pytest.fixture
def language(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.setattr(i18n, "current_language", lambda: name)


def caught(work: Callable[[], object]) -> DialintError:
    with pytest.raises(DialintError) as refused:
        work()
    return refused.value


def test_an_error_is_explained_with_its_values_and_with_the_errors_in_it(
    language: Callable[[str], None],
) -> None:
    error = ConfigError("E_X", "a document has 1 to {most:,} characters", most=200_000)
    assert (error.message, str(error)) == (
        "a document has 1 to 200,000 characters",
        "E_X: a document has 1 to 200,000 characters",
    )
    assert explain_as_sentence(error) == "A document has 1 to 200,000 characters (E_X)."
    language("ru")
    assert explain(error) == "в документе от 1 до 200\xa0000 символов"
    inner = Message("there is no such account")
    outer = ConfigError("E_X", "version {version} cannot be published: {reason}", version=3, reason=inner)
    assert explain(outer) == "версию 3 нельзя опубликовать: такой учётной записи нет"
    assert outer.message == "version 3 cannot be published: there is no such account"


def test_a_policy_that_is_no_policy_is_explained(language: Callable[[str], None]) -> None:
    text = "policy: p\ntitle: t\nclauses: []\n"
    error = caught(lambda: parse_policy(text, "line"))
    language("ru")
    assert error.message.startswith("line:")
    assert explain(error).startswith("line:")
    assert CYRILLIC.search(explain(error)), explain(error)


@pytest.mark.parametrize(
    ("values", "english", "spanish"),
    [
        ({"codes": ()}, "Tuple should have at least 1 item after validation, not 0", "número mínimo"),
        ({"id": ""}, "String should have at least 1 character", "número mínimo de caracteres: 1"),
        ({"overlap": 0}, "Input should be greater than or equal to 1", "debe ser al menos 1"),
        ({"overlap": 9}, "most must not be less than overlap", "el máximo de respuestas no puede ser menor"),
        ({"purpose": "x"}, "Input should be 'label', 'review'", "debe ser uno de estos valores"),
        ({"more": 1}, "Extra inputs are not permitted", "no se admiten campos de más"),
    ],
)
def test_values_that_a_form_refuses_are_explained(
    language: Callable[[str], None], values: dict[str, Any], english: str, spanish: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        Project.model_validate({"id": "p", "codes": ("C1",), **values})
    assert english in explain_validation(refused.value)
    language("es")
    assert spanish in explain_validation(refused.value)


def test_no_page_shows_the_english_message_of_an_error() -> None:
    """Where `.message` of an error is read, it is kept, in a log or a file, and not shown."""
    kept = {"system/release_change.py"}
    folder = Path(dialint.app.console.__file__).parent
    shown = []
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text())
        caught_names = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name
        }
        shown += [
            f"{path.relative_to(folder)}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr == "message"
            and isinstance(node.value, ast.Name)
            and node.value.id in caught_names
            and str(path.relative_to(folder)) not in kept
        ]
    assert not shown, "use explain"


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_click_while_the_database_is_away_says_so_and_works_when_it_is_back(
    open_page: Any, saved: Any, postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: no answer in 60 s."""
    monkeypatch.setattr("dialint.app.console.sessions.CLICK_PATIENCE_S", 0.5)
    monkeypatch.setattr("dialint.labeling.store.database.postgres.SILENT_S", 0.3)
    monkeypatch.setattr("dialint.labeling.store.database.postgres.PING_S", 2)
    page = open_page("rob").start().decide("kept", "rejected")
    with postgres.stopped():
        page.act("save")
        assert "does not answer, try again in a moment" in page.words
        stranger = open_page()
        stranger.fill(Name="lea", Password="a long enough one").press("Sign in")
        assert "does not answer, try again in a moment" in stranger.words
    assert saved() == []
    wait_for(lambda: "does not answer" not in page.act("save").words, "the page does not go on")
    assert [len(row["said"]) for row in saved()] == [1]
    assert "Sign out" in stranger.press("Sign in").labels
