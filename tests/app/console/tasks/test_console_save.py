"""A click on Save and the run of the page after it: how often the database is asked."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

WRITES, STATEMENTS = 2, 30
"""At most, for the click and the page that follows, with the next task open."""


@pytest.fixture
def traffic() -> Iterator[list[list[str]]]:
    """The statements of each transaction; the last one is not committed yet."""
    sent: list[list[str]] = [[]]

    def on_statement(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        sent[-1].append(statement)

    def on_commit(_connection: Any) -> None:
        sent.append([])

    event.listen(Engine, "before_cursor_execute", on_statement)
    event.listen(Engine, "commit", on_commit)
    yield sent
    event.remove(Engine, "before_cursor_execute", on_statement)
    event.remove(Engine, "commit", on_commit)


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize(("actor", "name"), [("rob", "Review"), ("ann", "Label")])
def test_a_save_takes_few_transactions_and_statements(
    open_page: Callable[..., Any], traffic: list[list[str]], actor: str, name: str
) -> None:
    page = open_page(actor, at=name).start()
    if name == "Review":
        page.decide("kept", "rejected")
    else:
        page.say("T1", False).add("label", 1, "C1")
    before = page.session(name.lower()).item.task
    traffic[:] = [[]]
    page.act("save", name.lower())
    assert page.session(name.lower()).item.task not in (None, before), "the next one is open"
    writes = ("INSERT", "UPDATE", "DELETE")
    assert sum(any(one.startswith(writes) for one in each) for each in traffic[:-1]) <= WRITES
    statements = [one for each in traffic for one in each]
    assert len(statements) <= STATEMENTS, "\n".join(statements)
