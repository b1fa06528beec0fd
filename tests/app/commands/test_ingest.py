"""`dialint ingest preview`: what is recognised, what is said, what is written. All logs are made up."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from dialint.app.cli import app as command_line
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.preview import as_yaml, preview
from dialint.detector.ingest.read import inspect
from dialint.detector.ingest.sources import open_logs

GERMAN = [("KD", "Guten Tag, wo bleibt mein Paket? Meine Mail ist ann@example.org"), ("SB", "Ich prüfe das gleich für Sie."),
          ("KD", "Danke schön, bis später."), ("SB", "Es kommt morgen, schöne Grüße.")]  # fmt: skip
ENGLISH = [("consumer", "Where is my order 4471? It never came."), ("staff", "Let me look into that for you."),
           ("consumer", "Thanks a lot."), ("staff", "It will arrive tomorrow.")]  # fmt: skip


def german_table(path: Path) -> None:
    rows = [["Vorgang-Nr.", "Zeit", "Sprecherin?", "Was", "Farbe"]]
    for n in range(30):
        rows += [
            [f"V{n}", f"{n % 28 + 1:02}/11/2025 15:{10 + k}", who, text, "rot"]
            for k, (who, text) in enumerate(GERMAN)
        ]
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    path.write_text(out.getvalue(), encoding="cp1252")


def odd_json(path: Path) -> None:
    records = [
        {"meta": {"caseRef": f"C-{n}", "src": "web"},
         "thread": {"entries": [{"ts": 1764000000 + 60 * k, "party": {"kind": who}, "payload": text} for k, (who, text) in enumerate(ENGLISH)]}}
        for n in range(20)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, records)))


def run(*arguments: str) -> int:
    return int(
        command_line(["ingest", "preview", *arguments], exit_on_error=False, result_action="return_value")
    )


def test_a_german_table_of_unknown_columns_is_guessed_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "map.yaml"
    german_table(log)
    assert run(str(log), "--write", str(out)) == 0
    output = capsys.readouterr().out
    assert "encoding cp1252, guessed, delimiter ';', dates day-first" in output
    assert "id        Vorgang-Nr.   (guessed by what it holds)" in output
    assert "speakers  KD = customer, SB = agent" in output
    assert "not read  Farbe" in output
    assert "agent    2025-11-01 15:11 Ich prüfe das gleich für Sie." in output
    assert "[EMAIL_1]" in output
    assert "ann@" not in output
    assert "all 30 records: 30 read, 0 rejected" in output
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    mapped = ReadConfig(mapping=out).mapped
    assert mapped.fields == {"id": "Vorgang-Nr.", "role": "Sprecherin?", "text": "Was", "time": "Zeit"}
    assert mapped.roles == {"KD": "customer", "SB": "agent"}
    assert (mapped.encoding, mapped.delimiter, mapped.time_format) == ("cp1252", ";", "day-first")
    assert run(str(log), "--mapping", str(out)) == 0
    assert "read by the mapping that was given" in capsys.readouterr().out


def test_the_users_columns_replace_the_guess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "map.yaml"
    german_table(log)
    run(str(log), "--column", "id=Farbe+Vorgang-Nr.", "--column", "team=Zeit", "--write", str(out))
    output = capsys.readouterr().out
    assert "id        Farbe+Vorgang-Nr.\n" in output
    assert "not read" not in output
    assert ReadConfig(mapping=out).mapped.fields == {
        "id": "Farbe+Vorgang-Nr.", "role": "Sprecherin?", "text": "Was", "team": "Zeit",
    }  # fmt: skip


def test_odd_json_is_guessed_and_its_mapping_reads_it(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "map.yaml"
    odd_json(log)
    made = preview(open_logs([str(log)])[0], ReadConfig(), 5)
    assert made.fields == {
        "id": "meta.caseRef", "role": "thread.entries[].party.kind", "text": "thread.entries[].payload", "time": "thread.entries[].ts",
    }  # fmt: skip
    assert made.words == {"consumer": "customer", "staff": "agent"}
    assert made.unread == ["meta.src"]
    assert (len(made.dialogues), made.counts.read, made.is_complete) == (3, 5, False)
    out.write_text(as_yaml(made))
    again = preview(open_logs([str(log)])[0], ReadConfig(mapping=out), 5)
    assert again.dialogues == made.dialogues
    assert [turn.role for turn in again.dialogues[0].turns] == ["customer", "agent", "customer", "agent"]


def test_parquet_of_an_unknown_shape_is_guessed(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = tmp_path / "log.parquet"
    rows = [{"key": f"k{n}", "log": [{"w": who, "t": text} for who, text in ENGLISH]} for n in range(12)]
    pq.write_table(pa.Table.from_pylist(rows), log)
    made = preview(open_logs([str(log)])[0], ReadConfig(), 100)
    assert (made.fields["role"], made.fields["text"], made.counts.read) == ("log[].w", "log[].t", 12)
    assert made.is_readable


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("log.jsonl", '{"id": "d", "turns": [{"role": "agent", "text": "Hi"}]}', "canonical, one JSON record a line"),
        ("log.json", '[{"id": "d", "conversations": [{"from": "human", "value": "Hi"}]}]', "sharegpt, a JSON document"),
        ("log.csv", "Ticketnummer;Rolle;Nachricht\nt;Kunde;Hallo\n", "CSV, one message a row"),
    ],
)  # fmt: skip
def test_supported_formats_need_no_mapping(
    tmp_path: Path, name: str, data: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(data)
    assert run(str(tmp_path / name), "--write", str(tmp_path / "map.yaml")) == 0
    assert f"{format}; needs no mapping" in capsys.readouterr().out
    assert (tmp_path / "map.yaml").exists() == (name == "log.csv")


def test_an_unreadable_log_is_explained_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("a;b;c\n" + "1;2;3\n" * 20)
    assert run(str(log)) == 1
    output = capsys.readouterr().out
    assert "no column or path was recognised for: id, role, text; name it under 'fields:'" in output
    assert "not read  a, b, c" in output
    log.write_text("Ticketnummer,Rolle,Nachricht,Datum\nt,Kunde,Hallo,03/04/2026\n")
    assert run(str(log)) == 1
    assert "--time-format day-first or --time-format month-first" in capsys.readouterr().out
    log.write_text("Ticketnummer,Rolle,Nachricht\nt,Frau X,Hallo\n")
    assert run(str(log)) == 1
    assert "line 2, turns[0].role: E_ROLE, found Frau X" in capsys.readouterr().out


def test_nothing_in_a_log_moves_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "ticket_id,role,text,\x1b[31m\u202e\nt\u202e1,user,\x1b]8;;http://e.example\x07x,y\nt2,user,a\u202eb,y\n"
    )
    run(str(log))
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "\u202e" not in output


def test_invalid_options_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    german_table(log)
    (tmp_path / "other.csv").write_text("x")
    (tmp_path / "there.yaml").write_text("mine")
    with pytest.raises(OutputRefused, match=r"there.yaml: is there already"):
        run(str(log), "--write", str(tmp_path / "there.yaml"))
    with pytest.raises(ConfigError, match="2 files; name one of them"):
        run(str(tmp_path / "*.csv"), "--write", str(tmp_path / "map.yaml"))
    with pytest.raises(ConfigError, match="--records: expected at least 1"):
        run(str(log), "--records", "0")
    (tmp_path / "log.zip").write_bytes(b"PK\x03\x04" + b"x" * 50)
    with pytest.raises(InputRefused, match="the zip data are damaged"):
        run(str(tmp_path / "log.zip"))


def table(header: str, *rows: str) -> str:
    return "\n".join((header, *rows)) + "\n"


def items(*messages: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, messages)) + "\n"


ONE_CASE = [
    {"case": "c1", "poster": who, "words": text, "n": n}
    for n, (who, text) in enumerate([("consumer", "Where is my order? It never came."), ("staff", "Let me look into that.")] * 3)
]  # fmt: skip
LOST = {
    "an unknown speaker": ("log.csv", table("ticket_id,role,text", "t,Concierge,Good day", "t,customer,Hello"),
                           "no role for 'Concierge': say who that is with --role 'Concierge=agent'"),
    "two words of one side": ("log.csv", table("ticket_id,role,text", "t,visitor,Hello", "t,client,Good day"),
                              "the words for speakers 'client', 'visitor' mean the same side"),
    "one side only": ("log.csv", table("ticket_id,role,text", "t,customer,Hello", "t,system,joined"), "no turn of an agent or bot"),
    "the id is the speaker's": ("log.csv", table("ticket_id,role,text", "1,customer,Hello", "2,agent,Hi", "1,customer,Bye", "2,agent,Bye"),
                                "no dialogue has two sides: say what names it with --column id=COLUMN"),
    "one side of every dialogue of a known format": (
        "log.jsonl", items(*({"messages": [{"role": "user", "content": text} for text in ("Hello", "Anybody?")]} for _ in range(2))),
        "no turn of an agent or bot"),
    "two sides in no dialogue of a known format": (
        "log.jsonl", items(*({"id": who, "turns": [{"role": who, "text": "Hello"}, {"role": who, "text": "Bye"}]} for who in ("customer", "agent"))),
        "no dialogue has two sides"),
    "only ids of senders": ("log.jsonl", items(*({**one, "case": one["poster"]} for one in ONE_CASE)),
                            "no column or path was recognised for: id"),
    "only ids of messages": ("log.jsonl", items(*({**one, "case": f"m{n}"} for n, one in enumerate(ONE_CASE))),
                             "no column or path was recognised for: id"),
}  # fmt: skip


@pytest.mark.parametrize("what", LOST)
def test_a_guess_that_loses_a_speaker_a_side_or_the_dialogue_ends_with_1(
    tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, data, problem = LOST[what]
    (tmp_path / name).write_text(data)
    assert run(str(tmp_path / name)) == 1
    output = capsys.readouterr().out
    assert problem in output
    assert "ingest preview" not in output


@pytest.mark.parametrize("key", ["conversation_id", "thread.id", "caseRef"])
def test_a_log_of_one_conversation_keeps_its_constant_id(tmp_path: Path, key: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        items(*({key: "c1", "sender_id": one["poster"], **one, "case": n} for n, one in enumerate(ONE_CASE)))
    )
    made = preview(open_logs([str(log)])[0], ReadConfig(), 100)
    if key == "caseRef":  # says nothing by its name
        assert "id" not in made.fields
        assert made.refused
        return
    assert made.fields["id"] == key
    assert [len(dialogue.turns) for dialogue in made.dialogues] == [6]


CHATWOOT = [
    {"conversation_id": 4, "sender_type": "Contact", "content": "Where is my lamp?", "private": False},
    {"conversation_id": 4, "sender_type": None, "content": "Assigned to Ada", "private": False},
    {"conversation_id": 4, "sender_type": "AgentBot", "content": "Somebody will join you.", "private": False},
    {"conversation_id": 4, "sender_type": "User", "content": "It left on Monday.", "private": False},
]


def test_a_user_is_the_agent_where_there_are_contacts(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"payload": CHATWOOT}))
    made = preview(open_logs([str(log)])[0], ReadConfig(), 100)
    assert [turn.role for turn in made.dialogues[0].turns] == ["customer", "system", "bot", "agent"]
    assert not made.problems


def test_words_of_one_side_are_reported_before_scoring(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(table("ticket_id,role,text", "t,visitor,Hello", "t,client,Good day"))
    source = open_logs([str(log)])[0]
    with pytest.raises(InputRefused, match="--role 'visitor=agent'") as refused:
        inspect(source, ReadConfig())
    assert refused.value.code == "E_ROLE"
    inspect(source, ReadConfig(role=("client=agent",)))
    inspect(source, ReadConfig(role=("*=customer",)))
    log.write_text(table("ticket_id,role,text", "t,visitor,Hello", "t,client,Good day", "t,agent,Hi"))
    inspect(open_logs([str(log)])[0], ReadConfig())


def test_ids_that_are_no_numbers_give_no_order(tmp_path: Path) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "map.yaml"
    for ids, order in ((("f3b0", "27ae"), None), (("2", "10"), "message_id")):
        rows = [f"t,{ids[0]},customer,Hello", f"t,{ids[1]},agent,Hi"]
        log.write_text(table("ticket_id,message_id,role,text", *rows))
        made = preview(open_logs([str(log)])[0], ReadConfig(), 100)
        assert made.fields.get("order") == order
        out.write_text(as_yaml(made))
        again = preview(open_logs([str(log)])[0], ReadConfig(mapping=out), 100)
        assert [turn.text for turn in again.dialogues[0].turns] == ["Hello", "Hi"]


def test_texts_of_guidelines_name_no_team(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        items(*({"conversation_id": f"c{n}", "guidelines": {"team": "Be kind", "service": "Greet the customer by name."},
                 "messages": [{"who": who, "text": text} for who, text in ENGLISH]} for n in range(5)))
    )  # fmt: skip
    made = preview(open_logs([str(log)])[0], ReadConfig(), 100)
    assert made.fields.keys() == {"id", "role", "text"}
    assert made.dialogues[0].team is None
