"""Logs as other tools write them: encodings, delimiters and times. All texts are made up."""

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import ANY_SHARE, load, refused

from dialint.detector.errors import ConfigError, InputRefused, TooManyBad
from dialint.detector.ingest.read import ReadConfig, inspect, open_logs
from dialint.detector.ingest.readers.streams import encoding_of
from dialint.detector.ingest.times import DateOrderDetector, TimeFormat

GERMAN = ["Guten Tag, wo bleibt mein Paket?", "Das tut mir leid, ich prüfe das für Sie.", "Schöne Grüße aus Köln!",
          "Natürlich, die Straße heißt Müllerweg.", "Es sollte längst hier sein."]  # fmt: skip
RUSSIAN = ["Здравствуйте, где мой заказ?", "Извините за задержку, сейчас проверю.", "Спасибо, жду ответа.",
           "Он придёт завтра, до обеда.", "Хорошо, до свидания."]  # fmt: skip
FRENCH = ["Bonjour, où est ma commande ?", "Désolé pour le délai, elle a été expédiée hier.",
          "À bientôt, très bonne journée.", "Ça ne marche pas, c’est cassé.", "Je vérifie ça tout de suite."]  # fmt: skip
POLISH = ["Dzień dobry, gdzie jest moja przesyłka?", "Przepraszam za opóźnienie, sprawdzę to.", "Dziękuję za pomoc.",
          "Źle się stało, proszę o zwrot środków.", "Czy mogę coś jeszcze zrobić?"]  # fmt: skip
JAPANESE = ["こんにちは、注文はどこですか。", "確認いたします。", "ありがとうございます。", "昨日届くはずでした。", "はい。"]  # fmt: skip


def table(texts: list[str], header: str = "ticket_id,role,text", delimiter: str = ",", n: int = 6) -> str:
    out = io.StringIO()
    out.write(header.replace(",", delimiter) + "\n")
    rows = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    for number in range(n):
        rows.writerows([f"t{number}", ("user", "agent")[k % 2], text] for k, text in enumerate(texts))
    return out.getvalue()


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize(
    ("encoding", "texts"),
    [
        ("cp1251", RUSSIAN), ("koi8_r", RUSSIAN), ("cp866", RUSSIAN), ("cp1252", GERMAN),
        ("cp1250", POLISH), ("cp932", JAPANESE), ("utf-16", RUSSIAN), ("utf-32", GERMAN),
        ("utf-8", RUSSIAN), ("utf-8-sig", GERMAN),
    ],
)  # fmt: skip
def test_a_log_in_another_encoding_is_read_and_reported(
    tmp_path: Path, encoding: str, texts: list[str], ending: str
) -> None:
    path = tmp_path / f"log.{ending}"
    data = table(texts).encode(encoding)
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    loaded, rejects, counts = load(path, ReadConfig())
    assert not rejects
    assert [[turn.text for turn in one.dialogue.turns] for one in loaded] == [texts] * 6
    facts = counts.facts[str(path)]
    mark = "" if encoding.startswith("utf") else " (guessed)"
    assert facts == ([] if encoding.startswith("utf-8") else [f"encoding {encoding}{mark}"])
    explicit = load(path, ReadConfig(encoding=encoding))[0]
    assert [one.dialogue for one in explicit] == [one.dialogue for one in loaded]


@pytest.mark.parametrize(
    "texts", [["Caf\xe9?", "Ok"], ["\xe9\xe8", "\xc0\xc1\xc2\xc3", "\xdf\xfe\xf0\xd0\xfd"], FRENCH]
)
def test_a_guess_that_is_not_safe_is_refused_with_what_to_say(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(table(texts, n=1), encoding="cp1252")
    error = refused(path, ReadConfig())
    assert error.code == "E_ENCODING"
    assert "is not UTF-8, and what else it is cannot be told safely; name it" in error.message
    assert "--encoding cp125" in error.message
    assert [turn.text for turn in load(path, ReadConfig(encoding="cp1252"))[0][0].dialogue.turns] == texts


@pytest.mark.parametrize(
    ("encoding", "texts", "byte"), [("auto", RUSSIAN, b"\xff"), ("cp1252", GERMAN, b"\x81")]
)
def test_a_few_bad_bytes_spoil_their_dialogue_and_are_no_other_encoding(
    tmp_path: Path, encoding: str, texts: list[str], byte: bytes
) -> None:
    path = tmp_path / "log.csv"
    lines = table(texts, n=40).encode("utf-8" if encoding == "auto" else encoding).split(b"\n")
    lines[77] = lines[77][:-3] + byte + lines[77][-3:]
    path.write_bytes(b"\n".join(lines))
    loaded, rejects, counts = load(path, ReadConfig(encoding=encoding))
    assert (len(loaded), [(reject.code, reject.line) for reject in rejects]) == (39, [("E_UTF8", 78)])
    assert counts.facts[str(path)] == ([] if encoding == "auto" else ["encoding cp1252"])


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=8))
def test_utf_8_is_never_detected_as_anything_else(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"ticket_id,role,text\n" + "\n".join(texts).replace("\0", "").encode())
    assert encoding_of(open_logs([str(path)])[0], ReadConfig()).name == "utf-8"


@settings(max_examples=30)
@given(st.binary(max_size=400), st.sampled_from(["auto", "cp1252", "utf-16", "gb18030", "utf-8"]))
def test_no_bytes_break_the_decoding(tmp_path: Path, data: bytes, encoding: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"ticket_id,role,text\n" + data)
    try:
        load(path, ReadConfig(encoding=encoding))
    except (InputRefused, TooManyBad):
        return


@pytest.mark.parametrize(("delimiter", "expected"), [(";", "';'"), ("\t", "tab"), ("|", "'|'"), (",", None)])
def test_the_delimiter_that_gives_the_columns_is_used(
    tmp_path: Path, delimiter: str, expected: str | None
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(table(["a, b", "c; d", 'e "f"', "g\th", "i | j"], delimiter=delimiter))
    loaded, _, counts = load(path)
    assert [turn.text for turn in loaded[0].dialogue.turns] == ["a, b", "c; d", 'e "f"', "g\th", "i | j"]
    assert counts.facts[str(path)] == ([f"delimiter {expected}"] if expected else [])
    with pytest.raises(InputRefused, match="the delimiter is not '/'; try --delimiter"):
        inspect(open_logs([str(path)])[0], ReadConfig(delimiter="/"))


# times


def times(tmp_path: Path, column: list[str], config: ReadConfig = ANY_SHARE) -> list[datetime | None]:
    path = tmp_path / "log.csv"
    path.write_text(
        "ticket_id;role;text;created_at\n" + "".join(f"t{k};user;hi;{at}\n" for k, at in enumerate(column))
    )
    loaded, rejects, _ = load(path, config)
    assert not rejects
    return [one.dialogue.turns[0].at for one in loaded]


AT = datetime(2025, 11, 24, 15, 17)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("24.11.2025 15:17", AT),
        ("24.11.2025, 15:17:05", AT.replace(second=5)),
        ("24.11.25 15:17", AT),
        ("24/11/2025 15:17", AT),
        ("11/24/2025 3:17 PM", AT),
        ("11/24/2025 03:17:05 p.m.", AT.replace(second=5)),
        ("24-11-2025  15:17:05.250", AT.replace(second=5, microsecond=250_000)),
        ("2025/11/24 15:17", AT),
        ("24.11.2025", AT.replace(hour=0, minute=0)),
        ("24.11.2025 15:17 +02:00", AT.replace(tzinfo=timezone(timedelta(hours=2)))),
        ("11/24/2025 12:17 AM", AT.replace(hour=0)),
        ("2025-11-24T15:17:00Z", AT.replace(tzinfo=UTC)),
        ("1764000000", datetime.fromtimestamp(1764000000, UTC)),
        ("Mon, 24 Nov 2025 15:17:00 +0000", AT.replace(tzinfo=UTC)),
    ],
)
def test_times_of_many_tools_are_read(tmp_path: Path, written: str, expected: datetime) -> None:
    assert times(tmp_path, [written]) == [expected]


def test_the_order_of_day_and_month_is_that_of_the_whole_column(tmp_path: Path) -> None:
    assert times(tmp_path, ["03/04/2026 10:00", "25/04/2026 10:00"])[0] == datetime(2026, 4, 3, 10)
    assert times(tmp_path, ["03/04/2026 10:00", "04/25/2026 10:00"])[0] == datetime(2026, 3, 4, 10)
    assert times(tmp_path, ["03.04.2026 10:00"])[0] == datetime(2026, 4, 3, 10)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (["03/04/2026 10:00", "", "05/06/2026"], "no day above 12 stands there"),
        (["03/04/2026", "25/04/2026", "04/25/2026"], "both stand there"),
    ],
)
def test_an_ambiguous_date_order_is_refused(tmp_path: Path, column: list[str], why: str) -> None:
    with pytest.raises(InputRefused) as caught:
        times(tmp_path, column)
    assert caught.value.code == "E_TIME"
    assert why in caught.value.message
    assert caught.value.message.endswith("--time-format day-first or --time-format month-first")
    assert "03/04" not in caught.value.message


def test_the_configured_date_order_is_used(tmp_path: Path) -> None:
    column = ["03/04/2026 10:00"]
    assert times(tmp_path, column, ReadConfig(time_format="day-first")) == [datetime(2026, 4, 3, 10)]
    assert times(tmp_path, column, ReadConfig(time_format="month-first")) == [datetime(2026, 3, 4, 10)]
    assert times(tmp_path, ["2026|04|03"], ReadConfig(time_format="%Y|%m|%d")) == [datetime(2026, 4, 3)]


def test_times_without_a_zone_are_in_the_configured_one(tmp_path: Path) -> None:
    config = ReadConfig(time_zone="Europe/Berlin")
    assert times(tmp_path, ["24.11.2025 15:17"], config) == [datetime(2025, 11, 24, 14, 17, tzinfo=UTC)]
    assert times(tmp_path, ["2025-11-24T15:17:00Z"], config) == [AT.replace(tzinfo=UTC)]
    turns = [
        {"role": "agent", "text": "hi", "at": at} for at in ("2025-11-24T15:17:00", "2025-11-24T14:17:00Z")
    ]
    (tmp_path / "log.jsonl").write_text(json.dumps({"dialogue_id": "1", "turns": turns}))
    pq.write_table(
        pa.table(
            {"ticket_id": ["1", "1"], "role": ["user", "agent"], "text": ["hi", "hi"], "created_at": [AT, AT]}
        ),
        tmp_path / "log.parquet",
    )
    for name in ("log.jsonl", "log.parquet"):
        [read], _, _ = load(tmp_path / name, config)
        assert [turn.at for turn in read.dialogue.turns] == [datetime(2025, 11, 24, 14, 17, tzinfo=UTC)] * 2


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("time_format", "dd.mm.yyyy", "expected day-first, month-first, or a pattern"), ("time_format", "%H:%M", "expected"),
        ("time_zone", "Berlin", "expected a name such as Europe/Berlin"), ("time_zone", "../../etc/passwd", "expected"),
        *(("encoding", name, "not known; such as utf-8, cp1251") for name in ("cp9999", "rot13", "idna", "base64", "")),
    ],
)  # fmt: skip
def test_options_of_reading_that_cannot_be(option: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ReadConfig(**{option: value})  # type: ignore[arg-type]
    assert f"--{option.replace('_', '-')} {value!r}: {message}" in caught.value.message


@settings(max_examples=80)
@given(st.datetimes(datetime(1970, 1, 1), datetime(2099, 12, 31)), st.sampled_from("./-"), st.booleans())
def test_a_written_time_is_the_one_that_is_read(at: datetime, sign: str, day_first: bool) -> None:
    at = at.replace(microsecond=0)
    day_first = day_first or sign == "."
    written = at.strftime(f"{'%d' + sign + '%m' if day_first else '%m' + sign + '%d'}{sign}%Y %H:%M:%S")
    dates = DateOrderDetector()
    dates.add(written)
    order = "day-first" if day_first else "month-first"
    assert dates.is_ambiguous == (sign != "." and at.day <= 12 and at.day != at.month)
    assert TimeFormat.of(order).parse(written) == at
    if not dates.is_ambiguous:
        assert TimeFormat.of("auto", dates.order).parse(written) == at


@given(st.text(max_size=40))
def test_no_text_breaks_the_reading_of_times(text: str) -> None:
    TimeFormat.of("auto").parse(text)
    dates = DateOrderDetector()
    dates.add(text)


def test_a_table_of_our_own_fields_is_read_as_our_own_records_are(tmp_path: Path) -> None:
    about = {"dialogue_id": "1", "language": "en", "channel": "chat", "agent": "a", "team": "t"}
    turn = {"role": "agent", "text": "hi", "at": "2025-11-24T15:17:00Z", "author": "Leo"}
    (tmp_path / "log.jsonl").write_text(json.dumps({**about, "turns": [turn]}))
    row = {**about, **turn}
    (tmp_path / "log.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    [[own], [table]] = (load(tmp_path / name, ANY_SHARE)[0] for name in ("log.jsonl", "log.csv"))
    assert own.dialogue == table.dialogue
