"""Every format of logs: what a good file gives, and the same bad inputs in each of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reading import ANY_SHARE, load

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, Reject, inspect, open_logs, read
from dialint.detector.records import ToolCall
from dialint.detector.tool_use import tool_uses

RoleTexts = list[tuple[str, Any]]
Log = list[tuple[str, RoleTexts]]
TIME = "2026-03-02T09:14:05Z"


def role_texts(item: Loaded) -> RoleTexts:
    return [(turn.role, turn.text) for turn in item.dialogue.turns]


# One writer for each format: dialogues of customer and agent turns to a file's bytes.


def lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def canonical(log: Log) -> bytes:
    return lines([{"id": n, "turns": [{"role": r, "text": t} for r, t in s]} for n, s in log])


def sharegpt(log: Log) -> bytes:
    names = {"customer": "human", "agent": "gpt"}
    return json.dumps(
        [{"id": n, "conversations": [{"from": names[r], "value": t} for r, t in s]} for n, s in log]
    ).encode()


def csv_table(log: Log) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["conversation_id", "author_role", "body"])
    writer.writerows([[n, r, t] for n, s in log for r, t in s])
    return out.getvalue().encode()


def freshdesk(log: Log) -> bytes:
    items = [
        {"id": i, "ticket_id": n, "user_id": 5, "incoming": r == "customer", "private": False, "source": 0,
         "body": "<p>x</p>", "body_text": t, "created_at": TIME}
        for n, s in log for i, (r, t) in enumerate(s)
    ]  # fmt: skip
    return json.dumps(items, indent=1).encode()


def abcd(log: Log) -> bytes:
    return json.dumps(
        {"train": [{"convo_id": n, "original": [list(pair) for pair in s]} for n, s in log]}
    ).encode()


def multiwoz(log: Log) -> bytes:
    return json.dumps(
        {n: {"goal": {}, "log": [{"text": t, "metadata": {}} for _, t in s]} for n, s in log}
    ).encode()


WRITERS: dict[str, tuple[str, Callable[[Log], bytes]]] = {
    "canonical": (".jsonl", canonical),
    "sharegpt": (".json", sharegpt),
    "csv": (".csv", csv_table),
    "freshdesk": (".json", freshdesk),
    "abcd": (".json", abcd),
    "multiwoz": (".json", multiwoz),
}
JSON_FORMATS = [name for name in WRITERS if name != "csv"]
ROLES = ReadConfig(max_bad=1.0, role=("leo=agent",))
FIRST, SECOND = (
    [("customer", "Where is 4471?"), ("agent", "It left.")],
    [("customer", "Hello"), ("agent", "Hi")],
)
GOOD: Log = [("A1", FIRST), ("A2", SECOND)]


def write(tmp_path: Path, format: str, log: Log, data: bytes | None = None) -> Path:
    ending, writer = WRITERS[format]
    path = tmp_path / f"log{ending}"
    path.write_bytes(writer(log) if data is None else data)
    return path


@pytest.mark.parametrize("ending", [True, False])
@pytest.mark.parametrize("format", WRITERS)
def test_format_is_recognised_by_content(tmp_path: Path, format: str, ending: bool) -> None:
    path = write(tmp_path, format, GOOD)
    if not ending:
        path = path.rename(tmp_path / "log")
    loaded, rejects, counts = load(path, ROLES)
    assert not rejects
    assert counts.read == 2
    assert [item.dialogue.id for item in loaded] == ["A1", "A2"]
    spoken = {"agent": "bot"} if format == "sharegpt" else {}
    expected = [[(spoken.get(role, role), text) for role, text in turns] for turns in (FIRST, SECOND)]
    assert [role_texts(item) for item in loaded] == expected
    assert [[turn.index for turn in item.dialogue.turns] for item in loaded] == [[0, 1], [0, 1]]


PER_DOCUMENT = ("freshdesk",)
"""One JSON value holds all dialogues: a fault of its JSON is a fault of all."""


@pytest.mark.parametrize("format", JSON_FORMATS)
def test_document_cut_off_keeps_what_came_before(tmp_path: Path, format: str) -> None:
    data = WRITERS[format][1]([*GOOD, ("A3", SECOND)])
    path = write(tmp_path, format, GOOD, data[: data.rindex(b"Hello") + 2])
    loaded, rejects, _ = load(path, ROLES)
    assert [reject.code for reject in rejects] == ["E_TRUNCATED"]
    expected = [] if format in PER_DOCUMENT else ["A1", "A2"]
    assert [item.dialogue.id for item in loaded] == expected


@pytest.mark.parametrize("format", [name for name, (ending, _) in WRITERS.items() if ending == ".json"])
def test_text_after_a_document_is_detected(tmp_path: Path, format: str) -> None:
    path = write(tmp_path, format, GOOD, WRITERS[format][1](GOOD) + b"\n and more")
    _, rejects, _ = load(path, ROLES)
    assert [reject.code for reject in rejects] == ["E_TRAILING"]


@pytest.mark.parametrize("format", ["sharegpt", "abcd", "multiwoz"])
def test_large_documents_stream(tmp_path: Path, format: str) -> None:
    log = [
        (f"d{i}", [("customer", 'A "quoted", [bracketed] {text} \\ ' + "x" * 400), ("agent", "ok")])
        for i in range(800)
    ]
    path = write(tmp_path, format, log)
    config = ReadConfig(max_bad=1.0, max_document_bytes=30_000, max_record_bytes=10_000)
    loaded, rejects, _ = load(path, config)
    assert not rejects
    assert [item.dialogue.id for item in loaded] == [name for name, _ in log]
    config = ReadConfig(max_bad=1.0, max_record_bytes=300)
    loaded, rejects, _ = load(path, config)
    assert not loaded
    assert {reject.code for reject in rejects} == {"E_LINE_SIZE"}
    assert len(rejects) == 800


@pytest.mark.parametrize("format", PER_DOCUMENT)
def test_documents_that_must_be_held_whole_have_a_limit(tmp_path: Path, format: str) -> None:
    path = write(tmp_path, format, [(f"d{i}", FIRST) for i in range(50)])
    with pytest.raises(InputRefused) as caught:
        load(path, ReadConfig(max_document_bytes=1000))
    assert caught.value.code == "E_LINE_SIZE"


# What single formats do beside


def records(
    tmp_path: Path, *items: Any, name: str = "log.jsonl", config: ReadConfig = ANY_SHARE
) -> list[Loaded]:
    path = tmp_path / name
    path.write_bytes(lines(list(items)))
    loaded, rejects, _ = load(path, config)
    assert not rejects
    return loaded


def test_openai_parts_tools_and_ids(tmp_path: Path) -> None:
    chat = {"messages": [
        {"role": "developer", "content": [{"type": "text", "text": "Shop support."}]},
        {"role": "user", "content": [{"type": "text", "text": "Where"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "track", "arguments": '{"n": 4471}'}}]},
        {"role": "tool", "content": "left", "tool_call_id": "c1"},
        {"role": "assistant", "content": "It left.", "weight": 1},
    ]}  # fmt: skip
    preference = {"input": {"messages": chat["messages"][:2]}, "preferred_output": chat["messages"][4:]}
    loaded = records(tmp_path, chat, preference)
    assert role_texts(loaded[0]) == [
        ("system", "Shop support."), ("customer", "Where"), ("bot", ""), ("tool", "left"), ("bot", "It left."),
    ]  # fmt: skip
    (use,) = tool_uses(loaded[0].dialogue)
    assert (use.call, use.result) == (ToolCall(name="track", arguments={"n": 4471}, id="c1"), "left")
    assert role_texts(loaded[1]) == [("system", "Shop support."), ("customer", "Where"), ("bot", "It left.")]
    assert [item.dialogue.id for item in loaded] == ["log.jsonl:1", "log.jsonl:2"]


def test_ids_from_file_names_differ_between_folders(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "chat.jsonl.gz").write_bytes(gzip.compress(lines([chat])))
    outcomes = list(read(open_logs([str(tmp_path / "*" / "chat.jsonl.gz")]), ANY_SHARE, Counts()))
    assert [item.dialogue.id for item in outcomes if isinstance(item, Loaded)] == [
        "one/chat.jsonl:1", "two/chat.jsonl:1"]  # fmt: skip


def test_zendesk_without_any_role_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines([{"comments": [{"author_id": 7, "public": True, "plain_body": "a"}]}]))
    assert [reject.code for reject in load(path)[1]] == ["E_ROLE"]


@pytest.mark.parametrize("style", ["tau", "parquet"])
def test_agents_that_think_aloud_are_read_as_the_customer_saw_them(tmp_path: Path, style: str) -> None:
    thoughts = [
        ("user", "Where is 4471?", "customer", "Where is 4471?"),
        ("assistant", 'Thought: look.\nAction:\n{"name": "track", "arguments": {"n": 4471}}', "bot", ""),
        ("user", "API output: in transit", "tool", "in transit"),
        ("assistant", 'Thought: say.\nAction:\n{"name": "respond", "arguments": {"content": "On its way."}}', "bot", "On its way."),
        ("user", "And?", "customer", "And?"),
        ("assistant", 'Action: {"name": "respond", "arguments": {"content": "Say \\"yes\\"\\n\\ud83d\\ude00 ok"}}', "bot", 'Say "yes"\n😀 ok'),
        ("user", "Yes.", "customer", "Yes."),
        ("assistant", 'Action: {"name": "track", "arguments": {}}', "bot", '{"name": "track", "arguments": {}}'),
        ("user", "Pardon?", "customer", "Pardon?"),
        ("assistant", 'Thought: cut Action: {"na', "bot", '{"na'),
        ("user", "What?", "customer", "What?"),
        ("assistant", "Thought: I should", "bot", "Thought: I should"),
    ]  # fmt: skip
    if style == "tau":
        row = {"task_id": 3, "trial": 1, "traj": [{"role": r, "content": t} for r, t, _, _ in thoughts]}
        path = tmp_path / "log.json"
        path.write_text(json.dumps([row]))
    else:
        roles = {"user": "customer", "assistant": "agent"}
        turns = [
            {"role": "system", "text": t, "action": "tool_result"}
            if t.startswith("API")
            else {"role": roles[r], "text": t, "action": ""}
            for r, t, _, _ in thoughts
        ]
        path = parquet(tmp_path, [{"dialogue_id": "3-1", "source": "tau_bench/retail", "turns": turns}])
    loaded, rejects, _ = load(path)
    assert not rejects
    assert loaded[0].dialogue.id == "3-1"
    agent = "agent" if style == "parquet" else "bot"
    expected = [
        (agent if role == "bot" else role, text if seen is None else seen) for _, text, role, seen in thoughts
    ]
    assert role_texts(loaded[0]) == expected
    turns = loaded[0].dialogue.turns
    assert turns[1].tool_calls == (ToolCall(name="track", arguments={"n": 4471}),)
    assert not any(turn.tool_calls for turn in turns[2:])
    for turn, (_, text, _, _) in zip(turns, thoughts, strict=True):
        for position, char in enumerate(turn.text):
            start, end = turn.to_log(position, position + 1)
            assert text[start:end] in (char, json.dumps(char)[1:-1])
    assert [(use.turn, use.result) for use in tool_uses(loaded[0].dialogue)] == [(1, "in transit")]


# CSV


def table(
    tmp_path: Path, text: str, config: ReadConfig = ANY_SHARE
) -> tuple[list[Loaded], list[Reject], Counts]:
    path = tmp_path / "log.csv"
    path.write_text(text, newline="")
    return load(path, config)


def test_csv_columns_roles_privacy_and_times(tmp_path: Path) -> None:
    loaded, rejects, _ = table(
        tmp_path,
        "Ticket-ID,Sender Type,Message,Created At,is_public,author\n"
        'd1,End-User,"=1+1, ""quoted""\nsecond line",2026-03-02T09:14:05Z,true,ann\n'
        "d1,Operator,+49 is ours,1772442846,true,leo\n"
        "d1,operator,note,Mon 02 Mar 2026 09:15:00 +0000,true,leo\n",
    )
    assert not rejects
    assert role_texts(loaded[0]) == [
        ("customer", '=1+1, "quoted"\nsecond line'), ("agent", "+49 is ours"), ("agent", "note"),
    ]  # fmt: skip
    assert loaded[0].dialogue.turns[1].author == "leo"
    _, rejects, _ = table(tmp_path, "id_x,who,what\nd1,leo,hi\n", ReadConfig(
        max_bad=1.0, column=("id=id_x", "role=who", "text=what")))  # fmt: skip
    assert [reject.code for reject in rejects] == ["E_ROLE"]
    loaded, _, _ = table(tmp_path, "id_x,who,what\nd1,leo,hi\n", ReadConfig(
        max_bad=1.0, column=("id=id_x", "role=who", "text=what"), role=("leo=agent",)))  # fmt: skip
    assert role_texts(loaded[0]) == [("agent", "hi")]


ROWS_OF_SIDES = """ticket_id,role,text,agent_name,team,channel,lang
t,customer,Hola,Ann,customers,form,es
t,bot,Hello,Robo,bots,chat,en
t,agent,Hi,Leo,second line,mail,en
t,agent,Bye,Leo,second line,mail,en
t,agent,Hi,Mia,first line,mail,en
"""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (ROWS_OF_SIDES, ("Leo", "second line", "mail", None)),  # sides of two languages: found by turn
        (ROWS_OF_SIDES.replace("es\n", "en\n"), ("Leo", "second line", "mail", "en")),
        (ROWS_OF_SIDES.replace("agent_name", "author"), ("Leo", "second line", "mail", None)),
        ("ticket_id,role,text,agent,team\nt,customer,Hola,Leo,first line\nt,agent,Hi,,\n", ("Leo", "first line", None, None)),
        ("ticket_id,role,text,author\nt,customer,Hola,Ann\nt,bot,Hi,Robo\n", (None, None, None, None)),
    ],
)  # fmt: skip
def test_agent_team_and_channel_are_those_of_the_agents_rows(
    tmp_path: Path, rows: str, expected: tuple[str | None, ...]
) -> None:
    (tmp_path / "log.csv").write_text(rows)
    (item,), _, _ = load(tmp_path / "log.csv")
    dialogue = item.dialogue
    assert (dialogue.agent, dialogue.team, dialogue.channel, dialogue.language) == expected


def test_of_csv_columns_with_one_name_the_first_counts(tmp_path: Path) -> None:
    loaded, rejects, _ = table(tmp_path, "case_id,role,text,text,,\nd1,user,hi,no,,\nd1,agent,ok,no,,\n")
    assert (rejects, role_texts(loaded[0])) == ([], [("customer", "hi"), ("agent", "ok")])


def test_csv_dialogues_may_be_interleaved(tmp_path: Path) -> None:
    rows = [f"d{i % 7},{'agent' if i >= 7 and i // 7 % 2 else 'user'},text {i}" for i in range(70)]
    loaded, rejects, counts = table(tmp_path, "case_id,role,text\n" + "\n".join(rows) + "\n")
    assert not rejects
    assert [item.dialogue.id for item in loaded] == [f"d{i}" for i in range(7)]
    assert [turn.text for turn in loaded[3].dialogue.turns] == [f"text {i}" for i in range(3, 70, 7)]
    assert (loaded[3].line, counts.read) == (5, 7)


def test_csv_ragged_rows_spoil_their_dialogue_only(tmp_path: Path) -> None:
    text = "case_id,role,text\nd1,user,hi\nd1,agent\nd1,user,there\nd2,user,hi\nd2,agent,a,b\nd3,user,ok\n"
    loaded, rejects, _ = table(tmp_path, text)
    assert [item.dialogue.id for item in loaded] == ["d3"]
    assert [(reject.code, reject.line, reject.dialogue_id) for reject in rejects] == [
        ("E_CSV", 3, "d1"), ("E_CSV", 6, "d2")]  # fmt: skip
    assert rejects[0].byte_offset == text.index("d1,agent")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("case_id;whom;text\nd1;user;hi\n", "no column for role"),
        ("a,b,c\nd1,user,hi\n", "--column"),
        ('case_id,role,text\nd1,user,hi\nd2,user,"never closed\nd3,user,hi\n', "line 3"),
        ('case_id,role,text\nd1,user,"a"b\n', "line 2"),
        ("case_id,role,text\nd1,user," + "a" * 140_000 + "\n", "line 2"),
    ],
)
def test_csv_that_cannot_be_read_is_refused_before_scoring(tmp_path: Path, text: str, hint: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(InputRefused) as caught:
        inspect(open_logs([str(path)])[0], ANY_SHARE)
    assert caught.value.code == "E_CSV"
    assert hint in caught.value.message


# Parquet


def parquet(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "log.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


MAPPED = ("id=conversation", "role=role", "text=text")
NESTED = [
    {"dialogue_id": n, "source": "made", "language": "en", "split": "train", "meta": "{}", "labels": [],
     "turns": [{"turn_id": i, "role": r, "text": t, "action": None} for i, (r, t) in enumerate(s)]}
    for n, s in GOOD
]  # fmt: skip


def test_parquet_of_dialogues(tmp_path: Path) -> None:
    loaded, rejects, _ = load(parquet(tmp_path, NESTED, compression="zstd"))
    assert not rejects
    assert [role_texts(item) for item in loaded] == [FIRST, SECOND]
    first = loaded[0].dialogue
    assert (first.id, first.language, first.metadata) == ("A1", "en", {"source": "made", "split": "train"})
    assert [item.line for item in loaded] == [1, 2]


def test_parquet_id_of_several_columns(tmp_path: Path) -> None:
    rows = [{**NESTED[0], "split": "train"}, {**NESTED[1], "dialogue_id": "A1", "split": "dev"}]
    path = parquet(tmp_path, rows)
    assert [reject.code for reject in load(path)[1]] == ["E_DUP_ID"]
    loaded, _, _ = load(path, ReadConfig(max_bad=1.0, column=("id=split+dialogue_id",)))
    assert [item.dialogue.id for item in loaded] == ["train/A1", "dev/A1"]


def test_parquet_of_messages(tmp_path: Path) -> None:
    rows = [
        {"session_id": n, "inbound": r == "customer", "msg": t, "time": datetime(2026, 3, 2, tzinfo=UTC)}
        for pair in zip(*(turns for _, turns in GOOD), strict=True)
        for n, (r, t) in zip(("A1", "A2"), pair, strict=True)
    ]
    loaded, rejects, _ = load(parquet(tmp_path, rows))
    assert not rejects
    assert [(item.dialogue.id, role_texts(item)) for item in loaded] == GOOD


@pytest.mark.parametrize(
    ("column", "ids", "codes"),
    [
        ("dialogue_id", [b"A1", b"A2"], []),  # as Impala and older Spark write texts
        ("dialogue_id", [uuid.UUID(int=1), uuid.UUID(int=2)], []),
        ("dialogue_id", [Decimal(1), Decimal(2)], ["E_ID", "E_ID"]),  # as Snowflake writes whole numbers
        ("dialogue_id", [b"A\xff", b"A\xfe"], ["E_SURROGATE", "E_SURROGATE"]),
        ("conversation", [Decimal(1), Decimal(2)], []),
        ("text", [b"A1", b"A2"], []),
        ("text", [timedelta(1), timedelta(2)], []),
    ],
)
def test_values_of_any_type_are_never_mistaken_for_one_another(
    tmp_path: Path, column: str, ids: list[object], codes: list[str]
) -> None:
    """Rows of dialogues in turn go through a database: a type's name in place of its values made one dialogue
    of all."""
    config = ReadConfig(max_bad=1.0, column=MAPPED if column == "conversation" else ())
    rows = [
        {"dialogue_id": f"d{at}", "role": role, "text": "Where is it?", column: value}
        for role in ("customer", "agent") for at, value in enumerate(ids)
    ]  # fmt: skip
    loaded, rejects, _ = load(parquet(tmp_path, rows), config)
    assert [reject.code for reject in rejects] == codes
    values = {
        turn.text if column == "text" else item.dialogue.id for item in loaded for turn in item.dialogue.turns
    }
    assert len(loaded) == len(values) == 2 - len(codes)


def test_a_far_year_as_spark_writes_it_is_no_year_of_today(tmp_path: Path) -> None:
    """Times of 96 bits count nanoseconds, of which 64 bits last until 2262: 2600 was read as 2015."""
    rows = [{"dialogue_id": "A1", "role": "agent", "text": "Hello", "time": datetime(2600, 1, 1)}]
    _, (reject,), _ = load(parquet(tmp_path, rows, use_deprecated_int96_timestamps=True))
    assert reject.code == "E_TIME"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"dialogue_id": None}, "E_ID"),
        ({"turns": None}, "E_EMPTY"),
        ({"turns": [{"turn_id": 0, "role": "agent", "text": None, "action": None}]}, "E_TYPE"),
        ({"turns": [None]}, "E_TYPE"),
        ({"turns": [{"turn_id": 0, "role": "agent", "text": "a" * 100_001, "action": None}]}, "E_TURN_SIZE"),
        ({"turns": NESTED[0]["turns"] * 2501}, "E_TURNS"),
    ],
)
def test_parquet_bad_rows_are_quarantined(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    loaded, rejects, _ = load(
        parquet(tmp_path, [NESTED[0], {**NESTED[1], **change}, {**NESTED[1], "dialogue_id": "A3"}])
    )
    assert [item.dialogue.id for item in loaded] == ["A1", "A3"]
    assert [(reject.code, reject.line) for reject in rejects] == [(code, 2)]


def test_parquet_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    whole = parquet(tmp_path, NESTED).read_bytes()
    wrong = parquet(tmp_path, [{"a": 1}]).read_bytes()
    numbers = parquet(tmp_path, [{"dialogue_id": "a", "turns": [1, 2]}]).read_bytes()
    cases = [(whole[:-20], "E_PARQUET"), (whole[:-4], "E_PARQUET"), (whole[:40], "E_PARQUET"), (wrong, "E_PARQUET"),
             (numbers, "E_PARQUET"), (b"PAR1" + b"\xff" * 60 + b"PAR1", "E_PARQUET")]  # fmt: skip
    for data, code in cases:
        path = tmp_path / "case.parquet"
        path.write_bytes(data)
        with pytest.raises(InputRefused) as caught:
            inspect(open_logs([str(path)])[0], ANY_SHARE)
        assert caught.value.code == code
    with pytest.raises(InputRefused) as caught:
        load(parquet(tmp_path, NESTED), ReadConfig(max_row_group_bytes=10))
    assert "row group" in caught.value.message
    with pytest.raises(InputRefused) as caught:
        load(parquet(tmp_path, NESTED), ReadConfig(format="csv"))
    assert caught.value.code == "E_FORMAT"


def test_parquet_damage_inside_is_refused_while_reading(tmp_path: Path) -> None:
    path = parquet(tmp_path, NESTED, compression="zstd", use_dictionary=False)
    data = bytearray(path.read_bytes())
    for position in range(4, len(data) // 3):
        data[position] = 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InputRefused) as caught:
        load(path)
    assert caught.value.code == "E_PARQUET"
