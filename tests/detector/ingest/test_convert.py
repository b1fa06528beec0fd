"""Logs written in other formats, and read again. All dialogues are made up."""

from __future__ import annotations

import json
import stat
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import reading
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.app.cli import app as command_line
from dialint.app.commands.ingest import OutputFormat as Named
from dialint.app.commands.verify import verify_path
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.ingest.convert import (
    AGENTS,
    ENDINGS,
    MARKED,
    RETAINED_FIELDS,
    OutputFormat,
    write_log,
)
from dialint.detector.ingest.log_format import FIELDS
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, open_logs, read
from dialint.detector.records import Dialogue, Turn
from dialint.detector.verdict_files import needs_escape

AS_IS = ReadConfig(strip=False)
START = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


def load(path: Path) -> list[Dialogue]:
    dialogues, rejects, _ = reading.dialogues(path, AS_IS)
    assert not rejects
    return dialogues


def written(path: Path, dialogues: list[Dialogue], to: OutputFormat) -> Counter[str]:
    with open(path, "wb") as file:
        n, lost = write_log(dialogues, file, to)
    assert n == len(dialogues)
    return lost


letters = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Co", "Cn"], max_codepoint=0x2FFF)
texts = st.text(letters, min_size=1, max_size=12).filter(str.strip)
said = st.one_of(
    texts,
    st.sampled_from(
        ["a\nb", 'say "hi", ok; | \t x', "=1+1", "<p>a</p>", "> quoted", "", "a\r\nb", "-- \nAnn"]
    ),
)
turns = st.lists(
    st.tuples(st.sampled_from(["customer", "agent", "bot", "system"]), said, st.booleans(), st.none() | texts), min_size=1, max_size=5
).filter(lambda some: any(role != "system" for role, *_ in some) and any(text.strip() for _, text, *_ in some))  # fmt: skip


@st.composite
def dialogues(draw: st.DrawFn) -> list[Dialogue]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        rows = draw(turns)
        fields: dict[str, Any] = draw(
            st.fixed_dictionaries({}, optional={
                "language": st.just("de"), "channel": texts, "agent": texts, "team": texts, "policy": texts,
                "sources": st.lists(texts, min_size=1, max_size=2).map(tuple),
                "metadata": st.dictionaries(st.sampled_from(["source", "split", "x"]), texts, max_size=3),
            })
        )  # fmt: skip
        made.append(
            Dialogue(
                id=f"d{number}",
                turns=tuple(
                    Turn(
                        index=k,
                        role=role,
                        text=text,
                        at=START + timedelta(minutes=k) if timed else None,
                        author=author,
                    )  # type: ignore[arg-type]
                    for k, (role, text, timed, author) in enumerate(rows)
                ),
                **fields,
            )
        )
    return made


def as_kept(dialogue: Dialogue, to: OutputFormat) -> Dialogue:
    """What is left of a dialogue in a format, by its own table."""
    kept = RETAINED_FIELDS[to]
    no_agents = {} if AGENTS in kept else {"agent": "bot"}
    gone = {name: None for name in ("at", "author") if name not in kept}
    turns = tuple(
        turn.model_copy(update={"role": no_agents.get(turn.role, turn.role), **gone})
        for turn in dialogue.turns
    )
    empty = Dialogue(id="d", turns=())
    names = ("language", "channel", "agent", "team", "policy", "sources", "metadata", "masked")
    changes: dict[str, Any] = {name: getattr(empty, name) for name in names if name not in kept}
    if to == "parquet":
        metadata = dialogue.metadata
        changes["metadata"] = {name: metadata[name] for name in ("source", "split") if name in metadata}
    return dialogue.model_copy(update={"turns": turns, **changes})


@pytest.mark.parametrize("to", ENDINGS)
@settings(max_examples=25)
@given(made=dialogues())
def test_what_a_format_holds_comes_back_and_the_rest_is_counted(
    tmp_path: Path, to: OutputFormat, made: list[Dialogue]
) -> None:
    path = tmp_path / f"log{ENDINGS[to][0]}"
    lost = written(path, made, to)
    expected = [as_kept(one, to) for one in made]
    if to == "csv":
        cells = [cell for one in made for turn in one.turns
                 for cell in (turn.text, turn.author, *(getattr(one, name) for name in FIELDS)) if cell]  # fmt: skip
        marked = sum(map(needs_escape, cells))
        assert lost[MARKED] == marked
        if marked:
            return
    assert [one.model_dump() for one in load(path)] == [one.model_dump() for one in expected]
    assert bool(lost - Counter({MARKED: 10**9})) == (expected != made)


def run(*arguments: str) -> int:
    return int(command_line(["convert", *arguments], exit_on_error=False, result_action="return_value"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    turns = [
        {"role": "customer", "text": "<p>Hi</p>", "at": "2026-03-02T09:14:05Z"},
        {"role": "agent", "text": "=Hello"},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"d{n}", "turns": turns, "policy": "p"}) + "\n" for n in range(60)) + "{}\n"
    )
    return path


def test_the_command_converts_there_and_back_and_says_what_is_lost(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [
        item.dialogue for item in read(open_logs([str(log)]), AS_IS, Counts()) if isinstance(item, Loaded)
    ]
    assert run(str(log), "--to", "parquet", "--out", str(tmp_path / "a.parquet")) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path / 'a.parquet'}: 60 dialogues; rejected 1, repeated 0",
        f"  {log}, line 61, turns: E_TYPE, found nothing, expected a list of turns",
    ]
    assert run(str(tmp_path / "a.parquet"), "--to", "dialint", "--out", str(tmp_path / "b.jsonl")) == 0
    assert load(tmp_path / "b.jsonl") == before
    assert run(str(tmp_path / "b.jsonl"), "--to", "csv", "--out", str(tmp_path / "c.csv")) == 0
    assert "not kept: policy 60, cell marked with ' for spreadsheets 60" in capsys.readouterr().out
    assert run(str(tmp_path / "b.jsonl"), "--to", "openai", "--out", str(tmp_path / "d.jsonl")) == 0
    assert "not kept: policy 60, at 60, agents, read again as bots 60" in capsys.readouterr().out
    for name in ("a.parquet", "b.jsonl", "c.csv", "d.jsonl"):
        assert verify_path(tmp_path / name) == 1
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_mistakes_are_told_and_leave_nothing(tmp_path: Path, log: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected an ending of .csv for csv"):
        run(str(log), "--to", "csv", "--out", str(tmp_path / "a.jsonl"))
    with pytest.raises(OutputRefused, match="exists already"):
        run(str(log), "--to", "dialint", "--out", str(log))
    log.write_text("{}\n" * 5)
    with pytest.raises(Exception, match="the first 5 records are all bad"):
        run(str(log), "--to", "csv", "--out", str(tmp_path / "a.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_the_formats_of_the_command_are_those_that_are_written() -> None:
    assert Named == OutputFormat
