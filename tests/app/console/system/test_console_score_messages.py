"""Why a log cannot be read, why records are rejected and why a scoring job failed is said in the language of
the account that looks, also where a process of its own found it."""

import ast
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from babel.messages.extract import extract
from patience import wait_for

import dialint.detector.ingest
from dialint.app.console import i18n
from dialint.app.console.i18n import ERRORS, extract_calls
from dialint.app.console.system.job import ScoreOptions, create_job
from dialint.detector.errors import WorldError
from dialint.labeling.store.accounts import Preferences, save_preferences
from dialint.labeling.store.database.transactions import Store

INGEST = Path(dialint.detector.ingest.__file__).parent
ROOT = INGEST.parents[1]
ROWS = [f"{n},customer,Where is my parcel number {n}?\n" for n in range(40)]
CSV = "".join(["dialogue_id,role,text\n", *ROWS, "41,customer\n"]).encode()
TEXTS = {
    "es": ("celdas: 2", "celdas: 3, como en la cabecera", "CSV, un mensaje por fila"),
    "ru": ("ячеек: 2", "ячеек: 3, как в заголовке", "CSV, по сообщению в строке"),
    "en": ("2 cells", "3 cells, as in the header", "CSV, one message a row"),
}


@pytest.fixture
def score_page(open_page: Callable[..., Any], store: Store) -> Callable[[Any], Any]:
    """Opens the Score page as a lead with a language."""

    def open_in(language: Any) -> Any:
        save_preferences(store, "lea", Preferences(language=language))
        return open_page("lea").go(i18n.load_catalogue(language).gettext("Score"))

    return open_in


def plain(page: Any) -> str:
    """All that can be read on the page, its tables too, without marks of Markdown."""
    cells = [str(cell) for table in page.test.table for cell in table.value.to_numpy().flatten()]
    return "\n".join([page.words, *cells]).replace("\\", "")


# on the page


@pytest.mark.parametrize("language", TEXTS)
def test_a_rejected_row_is_explained_in_the_language_of_the_account(
    score_page: Callable[[Any], Any], language: str
) -> None:
    page = score_page(language)
    page.test.file_uploader[0].set_value(("log.csv", CSV, "application/octet-stream")).run()
    assert not page.test.exception, page.test.exception
    words = plain(page)
    for text in TEXTS[language]:
        assert text in words


def test_a_failed_job_is_explained_in_the_language_of_whoever_looks(
    score_page: Callable[[Any], Any], jobs: Path
) -> None:
    job = create_job(jobs / f"{1:016x}", "lea", "log.jsonl", b'{"id": "a", "turns": 7}\n' * 20)
    job.update(options=ScoreOptions())
    job.start()
    wait_for(lambda: job.state == "failed")
    english = (
        "log.jsonl: the first 20 records are all bad, mostly E_TYPE (20), as at line 20, turns: a number; "
        "expected a list of turns"
    )
    assert f"E_TOO_MANY_BAD: {english}." in plain(score_page("en"))
    russian = "log.jsonl: первые записи (20) все с ошибками, чаще всего E_TYPE (20), как в строке 20, turns: число; "
    assert f"Сбой запуска: E_TOO_MANY_BAD: {russian}ожидается список реплик." in plain(score_page("ru"))


def test_a_download_that_cannot_be_made_is_said_in_the_language_of_the_account(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    from dialint.app.console import sessions as access
    from dialint.app.console.middleware import SESSION
    from dialint.app.console.system import score_results as downloads

    def fail(*_: object) -> None:
        raise WorldError("E_EXPORT", "this file could not be made")

    save_preferences(store, "lea", Preferences(language="es"))
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


# rules


def known_texts() -> set[str]:
    """The texts that both catalogues translate."""
    catalogues = [i18n.load_catalogue(language)._catalog for language in ("es", "ru")]  # type: ignore[attr-defined]
    return {
        text
        for text in catalogues[0]
        if isinstance(text, str) and catalogues[0][text] and catalogues[1][text]
    }


def test_every_text_with_which_a_log_is_refused_is_in_the_catalogues() -> None:
    known = known_texts()
    found = {
        text
        for path in INGEST.rglob("*.py")
        for _line, text, *_rest in extract(extract_calls, BytesIO(path.read_bytes()), {"_": None})
    }
    assert {"the gzip data end too early", "{n} cells", "a list of turns", "encoding {name}"} <= found
    assert not found - known, "run: make translations"


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
    folders = [ROOT / room for room in ("app", "detector", "eval", "finetune", "labeling")]
    found = {
        str(path.relative_to(ROOT)): wrong
        for folder in folders
        for path in folder.rglob("*.py")
        if (wrong := unfilled(path.read_text()))
    }
    assert not found
