"""Every field of every format's record, and every key, replaced by values that nobody thought of: each mutant
ends as a dialogue or as a reject with a code of its own, never as a traceback."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tool_exports import EXPORTS

from dialint.detector.ingest.log_format import LogFormat, RawDialogue, RawTurn
from dialint.detector.ingest.outcomes import BadRecord, record_boundary
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, inspect, open_logs, read
from dialint.detector.ingest.readers.format_detection import log_formats
from dialint.detector.ingest.tree_mapping import shipped_names
from dialint.detector.ingest.validation import validate_all

CONFIG = ReadConfig(max_bad=1.0)
AT = "2026-03-02T09:14:05Z"
FOLDER = Path(__file__).parent
RECORDS: dict[str, Any] = json.loads((FOLDER / "records.json").read_text(encoding="utf-8"))
"""A record of each format that has no export beside this file."""
FORMS = json.loads((FOLDER / "chat_forms.json").read_text(encoding="utf-8"))
CHATS = [
    {"id": "d", **FORMS[name]} for name in ("anthropic", "bedrock", "gemini, snake case", "responses, a call")
]
DEEP: Any = "x"
for _ in range(30):
    DEEP = [DEEP]
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**64, 10**4000, 1e308, float("nan"), float("inf"), "", " ", "NaN", "9" * 5000,
    "²", "٣", "a" * 300, "<" * 2000, "\x00", "\ud800", "\ufeff", "../x", "{", '{"name": 1}', "9999-99-99", "0001-01-01T00:00:00+23:59",
    [], {}, [None], {"": None}, {"role": []}, [[]], {"text": {"text": {}}}, DEEP,
)  # fmt: skip
KEYS = ("", "\ud800", "²", "role", "llm.input_messages.²", "a" * 5000)


def mutants(value: Any) -> Iterator[Any]:
    """Copies of a record of which one value, at any depth, is another, and of which one key is another."""
    yield from HOSTILE
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in mutants(inner))
            rest = {name: item for name, item in value.items() if name != key}
            yield rest
            yield from ({**rest, other: inner} for other in KEYS)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in mutants(inner))
        yield value * 2


def read_one(shape: LogFormat, record: Any) -> list[Any]:
    """The outcomes of one decoded record, as the readers make them."""
    warnings: Counter[str] = Counter()
    if shape.parts is None:
        return [one.outcome for one in validate_all(shape.dialogues(record, "log:1"), 1, 0, CONFIG, warnings)]
    groups: dict[str, list[Any]] = {}
    try:
        with record_boundary():
            for name, part in shape.parts(record, "log:1"):
                groups.setdefault(name, []).append(json.loads(json.dumps(part)))
    except BadRecord as bad:
        return [bad]
    drafts = (draft for name, parts in groups.items() for draft in shape.read(parts, name))
    return [one.outcome for one in validate_all(drafts, 1, 0, CONFIG, warnings)]


LOG_FORMATS = tuple(log_formats(ReadConfig()))
for export in EXPORTS:
    if not isinstance(export.record, str):
        RECORDS.setdefault(export.format, export.record)
CASES = [pytest.param(shape, RECORDS[shape.name], id=shape.name) for shape in LOG_FORMATS]
CASES += [
    pytest.param(shape, record, id=f"chat {n}")
    for shape in LOG_FORMATS
    for n, record in enumerate(CHATS)
    if shape.name == "openai"
]


@pytest.mark.parametrize(("shape", "record"), CASES)
def test_a_hostile_value_costs_its_record_alone(shape: LogFormat, record: Any) -> None:
    """Formats that are mappings share their code: of them every fifth, some in each field."""
    codes: Counter[str] = Counter()
    for mutant in islice(mutants(record), 0, None, 5 if shape.name in shipped_names() else 1):
        outcomes = read_one(shape, mutant)
        codes.update(bad.code for bad in outcomes if isinstance(bad, BadRecord))
    assert codes.total() > 9
    assert "E_RECORD" not in codes, "a value ended in the boundary: the format should say what is wrong"


MAPPED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "rows": ({"c": "good", "r": "customer", "t": "Hello", "at": AT, "n": 1, "a": "ann", "k": "x"},
             ("id=c", "role=r", "text=t", "time=at", "order=n", "author=a", "type=k")),
    "nested": ({"id": "good", "m": [{"r": "customer", "t": "Hi", "at": 1772442845}, {"r": "agent", "t": "Ho"}]},
               ("id=id", "role=m[].r", "text=m[].t", "time=m[].at")),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPPED)
def test_hostile_values_in_a_mapped_log_end_as_rejects(tmp_path: Path, name: str) -> None:
    record, columns = MAPPED[name]
    path, config = tmp_path / "log.jsonl", ReadConfig(max_bad=1.0, column=columns)
    others = [json.dumps(one).replace('"good"', f'"d{n}"') for n, one in enumerate(mutants(record))]
    path.write_text("\n".join([json.dumps(record), *others]) + "\n")
    (source,) = open_logs([str(path)])
    inspect(source, config)
    counts = Counts()
    outcomes = list(read([source], config, counts))
    assert any(isinstance(one, Loaded) and one.dialogue.id == "good" for one in outcomes)
    assert counts.rejected > 50
    assert counts.codes["E_RECORD"] == 0


@pytest.mark.parametrize("index", ["9" * 5000, "²", "٣", "-1", "1e3", "0x1", " 1"])
def test_a_number_that_is_none_is_no_message(index: str) -> None:
    (shape,) = (shape for shape in LOG_FORMATS if shape.name == "openinference")
    record = copy.deepcopy(RECORDS["openinference"])
    record["attributes"][f"llm.input_messages.{index}.message.role"] = "user"
    (dialogue,) = read_one(shape, record)
    assert [turn.text for turn in dialogue.turns if turn.role == "customer"] == ["Hello"]


@pytest.mark.parametrize(
    "error", [ValueError, TypeError, KeyError, IndexError, OverflowError, ZeroDivisionError, RecursionError,
              AttributeError, UnicodeError],
)  # fmt: skip
def test_an_error_of_a_formats_code_is_a_reject_of_its_own_code(error: type[Exception]) -> None:
    def drafts() -> Iterator[RawDialogue]:
        yield RawDialogue("d", [RawTurn("customer", "Hello")])
        raise error("a name and a number that nobody may see")

    good, bad = (one.outcome for one in validate_all(drafts(), 1, 0, CONFIG, Counter()))
    assert not isinstance(good, BadRecord)
    assert isinstance(bad, BadRecord)
    assert (bad.code, bad.found) == ("E_RECORD", error.__name__)


def test_every_format_matches_mutants_of_every_other_without_an_error() -> None:
    for record in (*RECORDS.values(), *CHATS):
        for mutant in islice(mutants(record), 0, None, 37):
            assert {shape.matches(mutant) for shape in LOG_FORMATS} <= {True, False}
