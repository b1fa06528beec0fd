"""`dialint db`: the four commands, as a person types them, on both databases."""

import re
from pathlib import Path
from typing import Any

import pytest

from dialint.app import store_session
from dialint.app.commands import db
from dialint.app.commands.verify import verify_path
from dialint.detector.errors import ConfigError
from dialint.labeling.store.database.schema import VERSION


def test_make_verify_backup_restore(
    nowhere: str, tmp_path: Path, request: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    here = store_session.StoreConfig(store=nowhere)
    with pytest.raises(ConfigError, match="dialint db upgrade"):
        db.verify(config=here)
    assert db.upgrade(config=here) == db.verify(config=here) == db.backup(tmp_path / "b", config=here) == 0
    said = capsys.readouterr().out.splitlines()
    head = said[-1]
    assert re.fullmatch("head: 1:[0-9a-f]{64}", head)
    assert said == [
        f"the store was made, is at version {VERSION} now",
        "whole: 1 audit entries, 0 annotations, 0 dialogues, 0 verdicts",
        head,
        f"backup: {tmp_path / 'b'}",
        head,
    ]
    with pytest.raises(ConfigError, match="E_RESTORE"):
        db.restore(tmp_path / "b", config=here)
    new = str(tmp_path / "new.sqlite")
    if "://" in nowhere:
        new = request.getfixturevalue("postgres").new()
    assert db.restore(tmp_path / "b", config=store_session.StoreConfig(store=new)) == 0
    assert db.verify(config=store_session.StoreConfig(store=new)) == 0
    assert verify_path(tmp_path / "b") == len(list((tmp_path / "b").iterdir())) - 1


@pytest.mark.parametrize(
    "place", ["mysql://u:secret@h/d", "postgresql://", "://", "postgresql://u:secret@127.0.0.1:1/x"]
)
def test_a_place_that_cannot_be(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dialint.detector.errors import DialintError
    from dialint.labeling.store.database import transactions

    monkeypatch.setattr(transactions, "PATIENCE_S", 0.0)
    with pytest.raises(DialintError) as refused:
        transactions.Store.open(place)
    assert "secret" not in str(refused.value)
