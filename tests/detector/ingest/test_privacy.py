"""Internal notes never are turns: columns of any language, message types, and the first words of a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import reading

from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.read import Counts, ReadConfig, Reject
from dialint.detector.ingest.words import has_note_prefix, is_internal

ROWS = [("d1", "customer", "Where is it?"), ("d1", "agent", "he is a pain"), ("d1", "agent", "On its way.")]


def load(
    path: Path, config: ReadConfig = reading.ANY_SHARE
) -> tuple[list[list[tuple[int, str]]], list[Reject], Counts]:
    """The turns of each dialogue as index and text, what was rejected, and what was counted."""
    dialogues, rejects, counts = reading.dialogues(path, config)
    return [[(turn.index, turn.text) for turn in one.turns] for one in dialogues], rejects, counts


def written(folder: Path, kind: str, column: str, values: list[Any]) -> Path:
    """A table of `ROWS` with one more column, as CSV or Parquet."""
    path = folder / f"log.{kind}"
    if kind == "csv":
        lines = [f"ticket_id,role,body,{column}"]
        lines += [
            ",".join((*row, "" if value is None else str(value)))
            for row, value in zip(ROWS, values, strict=True)
        ]
        path.write_text("\n".join(lines) + "\n")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        names = ("ticket_id", "role", "body")
        columns: dict[str, Any] = {name: [row[at] for row in ROWS] for at, name in enumerate(names)}
        parquet.write_table(pa.table({**columns, column: values}), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "note", "public_word"),
    [
        ("is_internal", "Ja", "Nein"), ("is_internal", "да", "нет"), ("private", "sí", "no"),
        ("private", "TRUE", "False"), ("internal", "oui", "non"), ("is_private", "1", "0"),
        ("is_private", "tak", "nie"), ("internal", "sim", "não"), ("is_internal", "wahr", "falsch"),
        ("public", "nein", "ja"), ("is_public", "0", "1"), ("öffentlich", "Nein", "Ja"), ("public", "нет", "да"),
        ("visibility", "internal", "public"), ("visibility", "intern", "öffentlich"), ("public", "private", "public"),
        ("private", "Внутренняя", "публичная"), ("public_comment", "n", "y"), ("comment_type", "internal_note", "email"),
        ("message_type", "whisper", "reply"),
    ],
)  # fmt: skip
def test_truth_words_of_many_languages(
    tmp_path: Path, kind: str, column: str, note: str, public_word: str
) -> None:
    good, rejects, counts = load(written(tmp_path, kind, column, [public_word, note, public_word]))
    assert (good, rejects) == ([[(0, "Where is it?"), (2, "On its way.")]], [])
    assert counts.warnings == {"W_INTERNAL_NOTE": 1}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "note", "public_word"),
    [("type", "note", "comment"), ("kind", "Internal note", "reply"), ("channel", "Notiz", "Antwort"), ("note", "notatka", "odpowiedź"),
     ("activity_type", "nota interna", "respuesta"), ("category", "заметка", "ответ"), ("comment_type", "note interne", ""),
     ("entry_class", "whisper", "chat"), ("Art", "Notiz", "Antwort"), ("тип", "заметка", "ответ")],
)  # fmt: skip
def test_a_column_of_mixed_words_marks_notes_whatever_its_name(
    tmp_path: Path, kind: str, column: str, note: str, public_word: str
) -> None:
    good, rejects, counts = load(written(tmp_path, kind, column, [public_word, note, public_word or None]))
    assert (good, rejects) == ([[(0, "Where is it?"), (2, "On its way.")]], [])
    assert counts.warnings["W_INTERNAL_NOTE"] == 1


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("type", ["private"] * 3),  # a private customer: of the whole dialogue
        ("category", ["note"] * 3),
        ("kind", ["note", "comment", "comment"]),  # a customer writes no internal notes
        ("type", ["email", "chat", None]),
        ("kind", ["comment", "a note on this", "comment"]),
    ],
)
def test_a_word_of_the_whole_dialogue_or_of_the_customer_hides_nothing(
    tmp_path: Path, kind: str, column: str, values: list[str | None]
) -> None:
    good, rejects, counts = load(written(tmp_path, kind, column, values))
    assert [index for index, _ in good[0]] == [0, 1, 2]
    assert not rejects
    assert counts.warnings["W_INTERNAL_NOTE"] == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_notes_of_interleaved_dialogues(tmp_path: Path, kind: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = [(f"d{n}", role, text, word) for role, text, word in (
        ("customer", "Hello", "comment"), ("agent", "He is a pain", "note"), ("agent", "Hi", "comment"),
    ) for n in range(3)]  # fmt: skip
    names, path = ("ticket_id", "role", "body", "kind"), tmp_path / f"l.{kind}"
    if kind == "csv":
        path.write_text("\n".join(map(",".join, [names, *rows])) + "\n")
    else:
        parquet.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path)
    good, _, counts = load(path)
    assert good == [[(0, "Hello"), (2, "Hi")]] * 3
    assert counts.warnings["W_INTERNAL_NOTE"] == 3


def mapped(folder: Path, *options: str) -> tuple[Path, ReadConfig]:
    """A log of one list, read by a mapping that names no type."""
    path, items = folder / "log.json", [
        {"session": "d1", "from": "user", "type": "text", "content": "Where is it?"},
        {"session": "d1", "from": "operator", "type": "note", "content": "he is a pain"},
        {"session": "d1", "from": "operator", "type": "text", "content": "On its way."},
    ]  # fmt: skip
    path.write_text(json.dumps({"data": items}))
    columns = ("id=data[].session", "role=data[].from", "text=data[].content")
    privacy = tuple(one for one in options if one.endswith("=public"))
    return path, ReadConfig(column=(*columns, *(set(options) - set(privacy))), privacy=privacy)


def test_a_mapping_that_passes_over_notes_is_refused(tmp_path: Path) -> None:
    path, config = mapped(tmp_path)
    with pytest.raises(
        InputRefused, match=r"'data\[\].type' holds 'note'.*--column type=data\[\].type"
    ) as refused:
        load(path, config)
    assert refused.value.code == "E_PRIVACY"
    assert load(*mapped(tmp_path, "type=data[].type"))[0] == [[(0, "Where is it?"), (2, "On its way.")]]
    public = load(*mapped(tmp_path, "private=data[].type", "note=public", "text=public"))[0]
    assert [index for index, _ in public[0]] == [0, 1, 2]


def test_a_note_among_canonical_turns_is_no_turn(tmp_path: Path) -> None:
    turns = [{"role": "customer", "text": "Hi"}, {"role": "agent", "text": "a pain", "type": "note"},
             {"role": "agent", "text": "Hello", "type": "reply"}]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"id": "d", "turns": turns}) + "\n")
    good, _, counts = load(path)
    assert good == [[(0, "Hi"), (2, "Hello")]]
    assert counts.warnings["W_INTERNAL_NOTE"] == 1


def test_flags_of_a_typed_table(tmp_path: Path) -> None:
    good, _, _ = load(written(tmp_path, "parquet", "is_internal", [False, True, None]))
    assert good == [[(0, "Where is it?"), (2, "On its way.")]]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_unknown_word_refuses_the_file(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, "is_internal", ["no", "vielleicht", "no"])
    with pytest.raises(InputRefused) as refused:
        load(path)
    line = 3 if kind == "csv" else 2
    assert refused.value.code == "E_PRIVACY"
    for part in (f"line {line}: column 'is_internal' holds 'vielleicht'", "--privacy 'vielleicht=internal'"):
        assert part in refused.value.message
    good, _, _ = load(path, ReadConfig(privacy=("vielleicht=internal",)))
    assert good == [[(0, "Where is it?"), (2, "On its way.")]]


def test_a_blank_cell_does_not_mean_public(tmp_path: Path) -> None:
    path = written(tmp_path, "csv", "public", ["", "no", ""])
    with pytest.raises(InputRefused, match="line 4: column 'public' holds 'blank'"):
        load(path)
    assert load(path, ReadConfig(privacy=("blank=public",)))[0] == [[(0, "Where is it?"), (2, "On its way.")]]
    assert load(written(tmp_path, "csv", "private", ["", "yes", ""]))[0] == [
        [(0, "Where is it?"), (2, "On its way.")]
    ]


def test_the_meaning_can_be_turned_round(tmp_path: Path) -> None:
    path = written(tmp_path, "csv", "is_internal", ["true", "false", "true"])
    given = ReadConfig(privacy=("True=public", "FALSE=internal"))
    assert load(path, given)[0] == [[(0, "Where is it?"), (2, "On its way.")]]
    for wrong in ("true", "true=secret", "=public"):
        with pytest.raises(ConfigError):
            ReadConfig(privacy=(wrong,))


def test_what_is_refused_shows_nobodys_data(tmp_path: Path) -> None:
    for value in ("4111 1111 1111 1111", "anna@example.org", "a sentence of some length about somebody"):
        with pytest.raises(InputRefused) as refused:
            load(written(tmp_path, "csv", "private", ["no", value, "no"]))
        assert value not in refused.value.message


@pytest.mark.parametrize(
    ("flag", "index"), [("nein", [0, 2]), ("false", [0, 2]), (0, [0, 2]), ("yes", [0, 1, 2]), (None, [0, 1, 2])]
)  # fmt: skip
def test_flags_in_json_may_be_words(tmp_path: Path, flag: object, index: list[int]) -> None:
    good, rejects, _ = load(zendesk(tmp_path, flag))
    assert [place for place, _ in good[0]] == index
    assert not rejects


def test_an_unknown_flag_in_json_rejects_the_record(tmp_path: Path) -> None:
    good, rejects, _ = load(zendesk(tmp_path, "maybe"))
    assert (good, [(each.code, each.path) for each in rejects]) == ([], [("E_PRIVACY", "comments[1].public")])


def zendesk(folder: Path, flag: object) -> Path:
    users = [{"id": 1, "role": "end-user"}, {"id": 2, "role": "agent"}]
    comments = [
        {"author_id": 1 if role == "customer" else 2, "plain_body": text, "public": True}
        for _, role, text in ROWS
    ]
    comments[1]["public"] = flag
    path = folder / "log.jsonl"
    path.write_text(json.dumps({"ticket_id": 1, "users": users, "comments": comments}) + "\n")
    return path


NOTES = (
    "[Internal note] he calls daily", "INTERNAL: he calls daily", "Interne Notiz: ruft täglich an",
    "Nota interna: llama cada día", "Внутренняя заметка: звонит каждый день", "(internal only) no refund",
    "**Interner Kommentar:** ruft an", "  [NOTE INTERNE] il appelle", "Do not send to customer: he lies",
)  # fmt: skip
ANSWERS = (
    "Internal transfers take two days.", "I made a note: you are in.", "[Customer Name], hello",
    "International: 3 days", "[internal", "Note that the internal review is over: it is fine.", "",
    "A note for you: internal parts are sold out.",
)  # fmt: skip


@pytest.mark.parametrize("text", ANSWERS)
def test_first_words_of_an_answer(text: str) -> None:
    assert not has_note_prefix(text)


@pytest.mark.parametrize("note", NOTES)
def test_first_words_of_a_note(tmp_path: Path, note: str) -> None:
    turns = [
        {"role": "customer", "text": note}, {"role": "agent", "text": note}, {"role": "agent", "text": "On its way."}
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"id": "d1", "turns": turns}) + "\n")
    good, _, counts = load(path)
    assert good == [[(0, note), (2, "On its way.")]]
    assert counts.warnings["W_INTERNAL_NOTE"] == 1


def test_a_message_that_the_customer_saw_is_judged_whatever_it_begins_with(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("ticket_id,role,body,public\nd1,customer,hi,1\nd1,agent,INTERNAL: he is a pain,1\n")
    assert load(path)[0] == [[(0, "hi"), (1, "INTERNAL: he is a pain")]]


def test_a_dialogue_of_notes_alone_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("ticket_id,role,body,private\nd1,agent,a,1\nd1,agent,b,1\nd2,agent,c,0\n")
    good, rejects, counts = load(path)
    assert [(each.code, each.found) for each in rejects] == [("E_EMPTY", "only internal notes")]
    assert good == [[(0, "c")]]
    assert not counts.warnings


@pytest.mark.parametrize(
    ("value", "public", "internal"),
    [(True, False, True), (True, True, False), ("", False, False), ("", True, None), ("Public", True, False),
     ("PRIVATE ", True, True), (" not  public", False, True), ("perhaps", False, None), (2, False, None)],
)  # fmt: skip
def test_a_cell(value: object, public: bool, internal: bool | None) -> None:
    assert is_internal(value, public=public, user_words={}) is internal
