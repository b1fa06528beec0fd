"""Logs of any shape, read by a mapping. All dialogues are made up."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import reading
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import role_texts

from dialint.detector.errors import ConfigError, InputRefused, UserError
from dialint.detector.ingest.mapping import MEANINGS, load_mapping
from dialint.detector.ingest.preview import as_yaml, preview
from dialint.detector.ingest.read import ReadConfig
from dialint.detector.ingest.sources import open_logs

NESTED = """
fields:
  id: ticket.nr
  role: ticket.verlauf[].von.art
  text: ticket.verlauf[].inhalt
  time: ticket.verlauf[].am
  author: ticket.verlauf[].von.name
  private: ticket.verlauf[].sichtbar
  agent: ticket.bearbeiter
  team: ticket.gruppe.name
  channel: ticket.kanal
  language: sprache
roles: {K: customer, M: agent}
privacy: {alle: public, team: internal}
time_format: day-first
time_zone: Europe/Berlin
"""


def odd_record(number: int) -> dict[str, Any]:
    """An export as no tool of ours knows it."""
    rows = [
        ("K", "Wo bleibt mein Paket?", "alle"), ("M", "Kunde wirkt verärgert.", "team"), ("M", "Ich prüfe das.", "alle"),
    ]  # fmt: skip
    return {
        "sprache": "de",
        "ticket": {
            "nr": 4000 + number,
            "kanal": "chat",
            "bearbeiter": "leo",
            "gruppe": {"name": "Versand"},
            "verlauf": [
                {"von": {"art": who, "name": f"n{who}"}, "inhalt": text, "am": f"24.11.2025 15:1{k}", "sichtbar": seen}
                for k, (who, text, seen) in enumerate(rows)
            ],
        },
    }  # fmt: skip


def mapping(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "map.yaml"
    path.write_text(text)
    return path


def refusal(path: Path, config: ReadConfig) -> str:
    return str(reading.refused(path, config))


WRITERS = {
    "log.jsonl": lambda records: "\n".join(map(json.dumps, records)).encode(),
    "log.jsonl.gz": lambda records: gzip.compress("\n".join(map(json.dumps, records)).encode()),
    "log.json": lambda records: json.dumps(records).encode(),
    "spread.json": lambda records: json.dumps(records, indent=1).encode(),
}


@pytest.mark.parametrize("name", WRITERS)
def test_an_odd_nested_log_is_read_by_its_mapping(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(WRITERS[name]([odd_record(n) for n in range(3)]))
    dialogues, rejects, counts = reading.dialogues(path, ReadConfig(mapping=mapping(tmp_path, NESTED)))
    assert not rejects
    first = dialogues[0]
    assert [one.id for one in dialogues] == ["4000", "4001", "4002"]
    assert role_texts(first) == [("customer", "Wo bleibt mein Paket?"), ("agent", "Ich prüfe das.")]
    assert (first.agent, first.team, first.channel, first.language) == ("leo", "Versand", "chat", "de")
    assert first.turns[1].at == datetime(2025, 11, 24, 14, 12, tzinfo=UTC)
    assert first.turns[0].author == "nK"
    assert first.started_at == datetime(2025, 11, 24, 14, 10, tzinfo=UTC)
    assert counts.warnings["W_INTERNAL_NOTE"] == 3


def test_a_list_of_dialogues_in_a_member_is_read_one_by_one(tmp_path: Path) -> None:
    text = "fields: {id: 'all[].no', role: 'all[].log[].who', text: 'all[].log[].says'}\n"
    turns = [{"who": "Kunde", "says": "Hallo"}, {"who": "Agent", "says": "Guten Tag"}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"made": "x", "all": [{"no": f"d{n}", "log": turns} for n in range(9)]}))
    small = ReadConfig(mapping=mapping(tmp_path, text), max_document_bytes=10)  # it is not read as a whole
    dialogues, rejects, _ = reading.dialogues(path, small)
    assert ([one.id for one in dialogues], rejects) == ([f"d{n}" for n in range(9)], [])
    assert role_texts(dialogues[8]) == [("customer", "Hallo"), ("agent", "Guten Tag")]


FLAT = "fields: {id: conv, role: who, text: msg.body, order: no, team: 'meta.team'}\nroles: {'*': agent, Ann: customer}\n"


@pytest.mark.parametrize("name", WRITERS)
def test_one_message_a_record_is_grouped_and_sorted(tmp_path: Path, name: str) -> None:
    rows = [{"conv": n % 4, "no": n // 4, "who": "Ann" if n // 4 % 2 == 0 else f"Leo {n}", "msg": {"body": f"t{n}"},
             "meta.team": "north"} for n in range(16)]  # fmt: skip
    path = tmp_path / name
    path.write_bytes(WRITERS[name](list(reversed(rows))))
    dialogues, rejects, _ = reading.dialogues(path, ReadConfig(mapping=mapping(tmp_path, FLAT)))
    assert not rejects
    assert {one.id for one in dialogues} == {"0", "1", "2", "3"}
    first = next(one for one in dialogues if one.id == "1")
    assert role_texts(first) == [("customer", "t1"), ("agent", "t5"), ("customer", "t9"), ("agent", "t13")]
    assert first.team == "north"


def test_rows_inside_a_member_that_name_their_dialogue(tmp_path: Path) -> None:
    rows = [{"c": f"d{n % 3}", "r": ("user", "agent")[n // 3], "t": f"x{n}"} for n in range(6)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"data": {"rows": rows}}))
    text = "fields: {id: 'data.rows[].c', role: 'data.rows[].r', text: 'data.rows[].t'}\n"
    dialogues, _, _ = reading.dialogues(path, ReadConfig(mapping=mapping(tmp_path, text)))
    assert [role_texts(one) for one in dialogues] == [
        [("customer", f"x{n}"), ("agent", f"x{n + 3}")] for n in range(3)
    ]


def test_a_german_table_needs_no_mapping_and_an_odd_one_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [
        ["T1", "24.11.2025 15:17", "Kunde", "Wo ist es?"],
        ["T1", "24.11.2025 15:19", "Mitarbeiter", "Ich prüfe, einen Moment."],
    ]
    out = io.StringIO()
    csv.writer(out, delimiter=";").writerows([["Ticketnummer", "Zeitstempel", "Rolle", "Nachricht"], *rows])
    path.write_text(out.getvalue(), encoding="cp1252")
    config = ReadConfig(encoding="cp1252")
    (dialogue,), _, _ = reading.dialogues(path, config)
    assert role_texts(dialogue) == [("customer", "Wo ist es?"), ("agent", "Ich prüfe, einen Moment.")]
    assert dialogue.turns[1].at == datetime(2025, 11, 24, 15, 19)
    path.write_text(
        out.getvalue().replace("Rolle", "Wer spricht?").replace("Kunde", "Anfragende Person"),
        encoding="cp1252",
    )
    text = (
        "fields: {id: Ticketnummer, role: 'Wer spricht?', text: Nachricht, time: Zeitstempel}\n"
        "roles: {Anfragende Person: customer}\nencoding: cp1252\ndelimiter: ;\n"
    )
    (other,), _, _ = reading.dialogues(path, ReadConfig(mapping=mapping(tmp_path, text)))
    assert role_texts(other) == role_texts(dialogue)


@pytest.mark.parametrize(
    "header",
    [
        "Ticket ID,Sender Type,Message,Created At,Agent Name,Team",
        "Número de ticket,Remitente,Mensaje,Fecha,Agente,Equipo",
    ],
)
def test_tab_separated_tables_with_english_and_spanish_headers(tmp_path: Path, header: str) -> None:
    path = tmp_path / "log.tsv"
    lines = [
        header.split(","),
        ["t1", "Cliente", "¿Dónde está?", "24/11/2025 15:17", "Leo", "Norte"],
        ["t1", "Agente", "Un momento.", "24/11/2025 15:18", "Leo", "Norte"],
    ]
    path.write_text("\n".join("\t".join(line) for line in lines))
    (dialogue,), _, counts = reading.dialogues(path, ReadConfig())
    assert role_texts(dialogue) == [("customer", "¿Dónde está?"), ("agent", "Un momento.")]
    assert (dialogue.agent, dialogue.team) == ("Leo", "Norte")
    assert counts.facts[str(path)] == ["delimiter tab", "dates day-first"]


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        ("Date,Time", ("24/11/2025", "15:17"), "Date+Time"),
        ("time,date", ("3:17 pm", "11/24/2025"), "date+time"),
        ("Datum,Uhrzeit", ("24.11.2025", "15:17:00"), "Datum+Uhrzeit"),
        ("Created Date,Created Time", ("24.11.2025", "15:17:00"), "Created Date+Created Time"),
        ("Date,Hour,time", ("Nov 24, 2025", "x", "3:17 PM"), "Date+time"),
        ("Date,Time", ("2025-11-24T00:00:00", "15:17:00"), "Date+Time"),  # of a workbook
        ("created_at,time", ("2025-11-24 15:17", "09:00"), "created_at"),
        ("sent,date,time", ("24/11/2025", "24/12/2025", "15:17"), "time"),  # of which day is not known
    ],
)  # fmt: skip
def test_a_day_and_its_clock_may_stand_in_two_columns(
    tmp_path: Path, header: str, cells: tuple[str, ...], expected: str
) -> None:
    path = tmp_path / "log.csv"
    head = ["ticket", "part", "role", "text", *header.split(",")]
    rows = [["t", "1", who, "It is on its way to you.", *cells] for who in ("customer", "agent")]
    config = ReadConfig(column=("id=ticket+part",))
    unknown = ["ticket", "part", "Wer?", "what_was_written", *head[4:]]
    for names in (head, unknown) if expected != "time" else (head,):
        csv.writer(out := io.StringIO()).writerows([names, *rows])
        path.write_text(out.getvalue())
        result = preview(open_logs([str(path)])[0], config, 10)
        times = [turn.at for one in result.dialogues for turn in one.turns]
        assert result.fields["time"] == expected
        assert times == ([] if expected == "time" else [datetime(2025, 11, 24, 15, 17)] * 2)
        written = ReadConfig(mapping=mapping(tmp_path, as_yaml(result)), max_bad=1.0)
        assert reading.dialogues(path, written)[0] == result.dialogues


def test_blanks_around_an_id_and_blank_rows_make_no_dialogue(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [
        "7,customer,Leo,Hi",
        '"7 ",agent, Ana,Hello',
        ",,,",
        "7,agent,Ana ,Bye",
        " , ,,",
        "8,customer,,Hi",
    ]
    path.write_text("\n".join(["Ticket #,role,agent,text", *rows, ""]))
    dialogues, rejects, _ = reading.dialogues(path, ReadConfig())
    assert [(one.id, one.agent, len(one.turns)) for one in dialogues] == [("7", "Ana", 3), ("8", None, 1)]
    assert not rejects


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"role": ("agent=bot",)}, "--role 'agent', which no row holds"),
        ({"role": ("Agent=bot", "*=customer", "blank=agent")}, None),
        ({"privacy": ("Geheim=internal",)}, "--privacy 'Geheim', which no row holds"),
        ({"privacy": ("nein=public",)}, None),
    ],
)
def test_words_of_the_options_that_a_log_lacks_are_named(
    tmp_path: Path, options: dict[str, tuple[str, ...]], fact: str | None
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("ticket_id,role,text,intern\n1,Kunde,Hallo,Nein\n1,Agent,Guten Tag,Nein\n")
    counts = reading.dialogues(path, ReadConfig(**options))[2]
    assert counts.facts[str(path)] == ([fact] if fact else [])


@pytest.mark.parametrize("time", ["Day+Until", "Clock+Day"])
def test_columns_that_are_no_day_and_clock_are_refused_by_name(tmp_path: Path, time: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text("ticket,role,text,Day,Until,Clock\n1,agent,Hi,2025-11-24,2025-11-25,15:17\n")
    with pytest.raises(
        InputRefused, match=re.escape(f"--column time={time}: expected a column of days + one")
    ):
        reading.dialogues(path, ReadConfig(column=(f"time={time}",)))


def test_parquet_with_its_own_days_and_clocks_is_joined(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    at = datetime(2025, 11, 24, 15, 17)
    rows = [{"ticket_id": name, "role": role, "text": "x", "time": at.time(), "date": at.date()}
            for role in ("customer", "agent") for name in ("1", "2")]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    dialogues, _, _ = reading.dialogues(tmp_path / "log.parquet", ReadConfig())
    assert [turn.at for one in dialogues for turn in one.turns] == [at] * 4


@pytest.mark.parametrize("at", ["24 Nov 15:17", "11/24 15:17", "24.11.", "Mon 24 Nov, 3:17 pm", "15:17"])
def test_a_time_without_a_year_is_refused_by_what_it_lacks(tmp_path: Path, at: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f't,role,text,time\n1,customer,"Hi",2025-11-24\n2,agent,Hi,"{at}"\n')
    (good,), (reject,), _ = reading.dialogues(path, ReadConfig(max_bad=1.0, column=("id=t",)))
    assert (good.id, reject.code, reject.line) == ("1", "E_TIME", 3)
    assert str(reject.expected).startswith("a time with its year")


def test_parquet_with_structs_and_lists_is_read_by_a_mapping(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "log.parquet"
    pq.write_table(pa.Table.from_pylist([{**odd_record(n), "unread": "x" * 100} for n in range(300)]), path)
    config = ReadConfig(mapping=mapping(tmp_path, NESTED))
    dialogues, rejects, _ = reading.dialogues(path, config)
    as_json = tmp_path / "log.jsonl"
    as_json.write_bytes(WRITERS["log.jsonl"]([odd_record(n) for n in range(300)]))
    assert (dialogues, rejects) == (reading.dialogues(as_json, config)[0], [])
    row, flat = {"who": "Ann", "msg": {"body": "hi"}, "meta.team": "a"}, tmp_path / "flat.parquet"
    pq.write_table(
        pa.Table.from_pylist([row | {"conv": n % 2, "no": n} for n in range(4)]),
        flat,
    )
    dialogues, rejects, _ = reading.dialogues(flat, ReadConfig(mapping=mapping(tmp_path, FLAT)))
    assert [(one.id, len(one.turns)) for one in dialogues] == [("0", 2), ("1", 2)]


def test_options_stand_above_the_file(tmp_path: Path) -> None:
    path = mapping(tmp_path, NESTED)
    config = ReadConfig(
        mapping=path, column=("text=other[].x",), role=("K=bot",), time_zone="UTC", encoding="cp1251"
    )
    assert config.mapped.fields["text"] == "other[].x"
    assert config.mapped.fields["role"] == "ticket.verlauf[].von.art"
    assert (config.mapped.roles, config.mapped.time_zone) == ({"K": "bot", "M": "agent"}, "UTC")
    assert (config.mapped.encoding, config.mapped.time_format) == ("cp1251", "day-first")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fields: {role: 'a[].r', txt: 'a[].t'}", "map.yaml:1: fields.txt: unknown; did you mean 'text'? Expected one of id, role"),
        ("feilds: {role: a}", "map.yaml:1: feilds: unknown; did you mean 'fields'? Expected one of fields, roles"),
        ("fields: {id: i, text: t}", "map.yaml:1: fields: no role: say under 'fields:' which column or path says who speaks"),
        ("fields: {id: i, role: r, text: 'm[0].t'}", "'m[0].t': a list is written name[], without a number"),
        ("fields: {id: i, role: r, text: 'm[]t'}", "a dot stands between a list and what is in it"),
        ("fields: {role: r, text: t}", "no id: say which column or path names the dialogue of a message"),
        ("fields: {role: 'a[].r', text: 'b[].t'}", "fields.role: 'a[].r' leads into another list than fields.text, 'b[].t'"),
        ("fields: {id: i, role: r, text: t}\nroles: {Kunde: custmer}", "map.yaml:2: roles.Kunde: 'custmer' is no role; did you mean 'customer'?"),
        ("fields: {id: i, role: r, text: t}\nprivacy: {ja: intern}", "map.yaml:2: privacy.ja: expected internal or public"),
        ("fields: {id: i, role: r, text: t}\nencoding: cp12511", "map.yaml: --encoding 'cp12511': not known"),
        ("fields: {id: i, role: r, text: t}\ntext: markdown", "map.yaml:2: text: expected one of auto, html, plain"),
        ("fields: [a, b]", "map.yaml:1: fields: expected lines of the form 'name: value'"),
        ("fields: {id: i, role: r, text: [t]}", "map.yaml:1: fields.text: expected one word or path"),
        ("- a", "map.yaml: expected fields such as"),
        ("fields: {id: &x i}", "anchors and aliases"),
    ],
)  # fmt: skip
def test_mistakes_in_a_mapping_are_reported_with_the_correction(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        ReadConfig(mapping=mapping(tmp_path, text))
    assert caught.value.code == "E_MAPPING"
    assert message in caught.value.message


def test_a_path_without_a_value_lists_the_paths_that_exist(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(WRITERS["log.jsonl"]([odd_record(0)] * 3))
    wrong = mapping(tmp_path, NESTED.replace("verlauf[].inhalt", "verlauf[].inhlt"))
    message = refusal(path, ReadConfig(mapping=wrong))
    assert message.startswith(
        f"E_MAPPING: {wrong}:5: fields.text: 'ticket.verlauf[].inhlt' is in none of the first 3 records"
    )
    assert "did you mean 'ticket.verlauf[].inhalt'? there are ticket.verlauf[].von.art, " in message
    table = tmp_path / "log.csv"
    table.write_text("conv,who,msg_body\na,b,c\n")
    assert "no column 'msg.body'; did you mean 'msg_body'? there are conv, who, msg_body" in refusal(
        table, ReadConfig(mapping=mapping(tmp_path, FLAT))
    )


def test_an_unknown_word_of_privacy_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(WRITERS["log.jsonl"]([odd_record(0)]))
    message = refusal(path, ReadConfig(mapping=mapping(tmp_path, NESTED.replace("alle: public, ", ""))))
    assert message.startswith("E_PRIVACY: ")
    assert "--privacy 'alle=internal' or --privacy 'alle=public'" in message


# properties

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "c", "id"]), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip
paths = st.lists(st.sampled_from(["a", "b", "a[]", "b[]", "a.b", "c"]), min_size=1, max_size=3).map(".".join)


@settings(max_examples=50)
@given(st.lists(values, max_size=4), paths, paths, paths, st.booleans())
def test_no_mapping_breaks_on_any_json(
    tmp_path: Path, records: list[Any], name: str, role: str, text: str, one_a_line: bool
) -> None:
    path = tmp_path / ("log.jsonl" if one_a_line else "log.json")
    path.write_bytes(WRITERS["log.jsonl" if one_a_line else "log.json"](records))
    try:
        config = ReadConfig(
            max_bad=1.0,
            role=("*=agent",),
            column=(f"id={name}", f"role={role}", f"text={text}", f"time={role}", f"order={name}"),
        )
        reading.dialogues(path, config)
    except UserError as error:
        assert error.code.startswith("E_")


@given(
    st.dictionaries(st.sampled_from([*MEANINGS, "x"]), st.text(max_size=8), max_size=6), st.text(max_size=30)
)
@settings(max_examples=30)
def test_no_file_breaks_the_reading_of_mappings(tmp_path: Path, fields: dict[str, str], rest: str) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(json.dumps({"fields": fields}) + rest, errors="replace")
    try:
        load_mapping(path)
    except ConfigError as error:
        assert error.code == "E_MAPPING"
