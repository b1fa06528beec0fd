"""A click on Save and the run of the page after it: how often the database is asked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

WRITES, STATEMENTS = 2, 30
"""At most, for the click and the page that follows, with the next task open."""


@dataclass
class Traffic:
    """The statements, and the transactions that write; BEGIN and COMMIT are none."""

    statements: list[str] = field(default_factory=list)
    n_writes: int = 0
    writes: bool = False

    def on_begin(self, _connection: Any) -> None:
        self.writes = False

    def on_statement(self, _connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        self.statements.append(statement)
        self.writes |= statement.split()[0] in ("INSERT", "UPDATE", "DELETE")

    def on_commit(self, _connection: Any) -> None:
        self.n_writes += self.writes


@pytest.fixture
def traffic() -> Iterator[Traffic]:
    traffic = Traffic()
    listeners = {
        "begin": traffic.on_begin, "before_cursor_execute": traffic.on_statement, "commit": traffic.on_commit,
    }  # fmt: skip
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    yield traffic
    for name, listener in listeners.items():
        event.remove(Engine, name, listener)


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize(("actor", "name"), [("rob", "Review"), ("ann", "Label")])
def test_a_save_takes_few_transactions_and_statements(
    open_page: Callable[..., Any], traffic: Traffic, actor: str, name: str
) -> None:
    page = open_page(actor, at=name).start()
    if name == "Review":
        page.decide("kept", "rejected")
    else:
        page.say("T1", False).add("label", 1, "C1")
    before = page.session(name.lower()).item.task
    traffic.statements, traffic.n_writes = [], 0
    page.act("save", name.lower())
    assert page.session(name.lower()).item.task not in (None, before), "the next one is open"
    assert traffic.n_writes <= WRITES
    assert len(traffic.statements) <= STATEMENTS, "\n".join(traffic.statements)
