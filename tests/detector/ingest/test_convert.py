"""Logs written as JSON lines, and read again. All dialogues are made up."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import reading
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.app.cli import app as command_line
from dialint.app.commands.verify import verify_path
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.ingest.formats.canonical import as_record
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, open_logs, read
from dialint.detector.records import Dialogue, Turn

AS_IS = ReadConfig(strip=False)
START = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


def load(path: Path) -> list[Dialogue]:
    dialogues, rejects, _ = reading.dialogues(path, AS_IS)
    assert not rejects
    return dialogues


letters = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Co", "Cn"], max_codepoint=0x2FFF)
texts = st.text(letters, min_size=1, max_size=12).filter(str.strip)
spoken = st.one_of(
    texts,
    st.sampled_from(
        ["a\nb", 'say "hi", ok; | \t x', "=1+1", "<p>a</p>", "> quoted", "", "a\r\nb", "-- \nAnn"]
    ),
)
turns = st.lists(
    st.tuples(st.sampled_from(["customer", "agent", "bot", "system"]), spoken, st.booleans(), st.none() | texts), min_size=1, max_size=5
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


@settings(max_examples=25)
@given(made=dialogues())
def test_what_is_written_comes_back(tmp_path: Path, made: list[Dialogue]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(as_record(one)) + "\n" for one in made))
    assert load(path) == made


def run(*arguments: str) -> int:
    return int(command_line(["convert", *arguments], exit_on_error=False, result_action="return_value"))


def test_a_table_becomes_json_lines_and_mistakes_leave_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "b.jsonl"
    rows = (f"d{n},customer,<p>Hi</p>\nd{n},agent,=Hello\n" for n in range(60))
    log.write_text("dialogue_id,role,text\n" + "".join(rows) + "d60,nobody,x\n")
    before = [
        item.dialogue for item in read(open_logs([str(log)]), AS_IS, Counts()) if isinstance(item, Loaded)
    ]
    assert run(str(log), "--out", str(out)) == 0
    first, reject = capsys.readouterr().out.splitlines()
    assert first == f"{out}: 60 dialogues; rejected 1, repeated 0"
    assert "E_ROLE, found nobody" in reject
    assert load(out) == before
    assert verify_path(out) == 1
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    with pytest.raises(ConfigError, match=r"expected the ending \.jsonl"):
        run(str(log), "--out", str(tmp_path / "a.csv"))
    with pytest.raises(OutputRefused, match="exists already"):
        run(str(log), "--out", str(out))
    log.write_text("dialogue_id,role,text\n" + "d60,nobody,x\n" * 5)
    with pytest.raises(Exception, match="bad"):
        run(str(log), "--out", str(tmp_path / "c.jsonl"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.jsonl", "b.manifest.json", "log.csv"]
