"""Messages of errors are in the language of the account."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from console_records import PASSWORD
from extract_texts import ERRORS
from patience import wait_for
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.testclient import TestClient

import dialint.app.console
from dialint.app.cli import main
from dialint.app.console import i18n
from dialint.app.console import sessions as access
from dialint.app.console.messages import explain, explain_as_sentence, explain_validation
from dialint.app.console.middleware import SESSION
from dialint.app.console.system import score_results as downloads
from dialint.app.output import ERROR_FILE_VARIABLE
from dialint.app.scoring.background import JOBS_VARIABLE, ScoreOptions, create_job, score_command
from dialint.detector.errors import ConfigError, Message, WorldError
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Project


@pytest.fixture
def language(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.setattr(i18n, "current_language", lambda: name)


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


CSV = "".join(
    ["dialogue_id,role,text\n", *(f"{n},customer,Where is parcel {n}?\n" for n in range(40)), "41,customer\n"]
)


def test_rejected_rows_and_failed_jobs_are_reported_in_the_language_of_the_account(
    open_page: Callable[..., Any], store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another process found it, and left it in the file of errors."""
    monkeypatch.setenv(JOBS_VARIABLE, str(tmp_path / "jobs"))
    accounts.save_preferences(store, "lea", accounts.Preferences(language="ru"))

    def words() -> str:
        cells = [str(cell) for table in page.test.table for cell in table.value.to_numpy().flatten()]
        return "\n".join([page.words, *cells]).replace("\\", "")

    page = open_page("lea").go(i18n.load_catalogue("ru").gettext("Score"))
    page.test.file_uploader[0].set_value(("log.csv", CSV.encode(), "application/octet-stream"))
    page.run()
    for text in ("ячеек: 2", "ячеек: 3, как в заголовке", "CSV, по сообщению в строке"):
        assert text in words()
    job = create_job(tmp_path / "jobs" / f"{1:016x}", "lea", "log.jsonl", b'{"id": "a", "turns": 7}\n' * 20)
    job.update(options=ScoreOptions(arguments=("--scan", "off", "--dialogue-seconds", "0")))
    monkeypatch.setenv(ERROR_FILE_VARIABLE, str(job.error))
    monkeypatch.setenv("DIALINT_DEBUG", "1")  # leaves the filters of warnings as they are
    monkeypatch.setattr(sys, "argv", ["dialint", *score_command(job)[3:]])
    with pytest.raises(SystemExit):
        main()
    page = open_page("lea").go(i18n.load_catalogue("ru").gettext("Score"))
    failed = "log.jsonl: первые записи (20) все с ошибками, чаще всего E_TYPE (20), как в строке 20, turns: "
    assert f"Сбой запуска: E_TOO_MANY_BAD: {failed}" in words()
    assert "ожидается список реплик" in words()


def test_a_failed_download_is_reported_in_the_language_of_the_account(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    def fail(*_: object) -> None:
        raise WorldError("E_EXPORT", "this file could not be made")

    accounts.save_preferences(store, "lea", accounts.Preferences(language="es"))
    monkeypatch.setattr(access, "find_lead", lambda _, session: fail() if session == "lost" else "lea")
    monkeypatch.setattr(access, "require_session", lambda store, session: store)
    monkeypatch.setattr(access, "open_store", lambda location: store)
    monkeypatch.setattr(downloads, "load_job", fail)
    client = TestClient(
        Starlette(routes=downloads.ROUTES), headers={"accept-language": "ru", SESSION: "lost"}
    )
    address = downloads.download_address("ab", "verdicts.csv")
    assert client.get(address).text == "Этот файл не удалось создать. Попробуйте позже.\n"
    client.headers[SESSION] = "known"
    answer = client.get(address)
    assert (answer.status_code, answer.text) == (
        503,
        "No se pudo crear este archivo. Inténtelo de nuevo más tarde.\n",
    )


def unfilled(source: str) -> list[str]:
    """Texts of errors with a place for which no value is given: they could not be said."""
    return [
        f"{call.lineno}: {text.value}"
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ERRORS
        if call.keywords and all(keyword.arg for keyword in call.keywords)
        for n in ERRORS[call.func.id]
        if n < len(call.args)
        for text in ast.walk(call.args[n])
        if isinstance(call.args[n], ast.Constant | ast.IfExp)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
        if {name for _, name, *_ in Formatter().parse(text.value) if name is not None}
        - {keyword.arg for keyword in call.keywords}
    ]


def test_every_place_of_an_errors_text_has_a_value() -> None:
    assert unfilled('Message("{n} of {most}", n=1)') == ["1: {n} of {most}"]
    assert unfilled('Message("{n:,} of {most!r}", n=1, most=2)') == []
    root = Path(dialint.app.console.__file__).parents[2]
    paths = [
        path
        for room in ("app", "detector", "eval", "finetune", "labeling")
        for path in (root / room).rglob("*.py")
    ]
    assert {str(path): wrong for path in paths if (wrong := unfilled(path.read_text()))} == {}


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
    """`.message` of an error is for logs and files only."""
    folder = Path(dialint.app.console.__file__).parent
    misused = []
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text())
        caught_names = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name
        }
        misused += [
            f"{path.relative_to(folder)}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr == "message"
            and isinstance(node.value, ast.Name)
            and node.value.id in caught_names
        ]
    assert not misused, "use explain"


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_click_during_a_database_outage_is_refused_and_works_afterwards(
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
        stranger.fill(Name="lea", Password=PASSWORD).press("Sign in")
        assert "does not answer, try again in a moment" in stranger.words
    assert saved() == []
    wait_for(lambda: "does not answer" not in page.act("save").words, "the page does not go on")
    assert [len(row["marks"]) for row in saved()] == [1]
    assert "Sign out" in stranger.press("Sign in").labels
