"""Folders, zip archives and workbooks as logs: what is in them is read, and what could do harm is refused."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
import reading

from dialint.detector.errors import InputRefused
from dialint.detector.ingest import archives
from dialint.detector.ingest.preview import preview
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, Reject, inspect, open_logs, read


def log(*ids: str) -> str:
    turns = [{"role": "customer", "text": "Where is my lamp?"}, {"role": "agent", "text": "On its way."}]
    return "".join(json.dumps({"id": name, "turns": turns}) + "\n" for name in ids)


def ids(path: Path) -> list[str]:
    return [one.id for one in reading.dialogues(path, ReadConfig())[0]]


def archive(
    members: dict[str, str | bytes],
    change: Callable[[bytes], bytes] = lambda data: data,
    method: int = zipfile.ZIP_DEFLATED,
) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return change(out.getvalue())


def zipped(path: Path, members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    path.write_bytes(archive(members, method=method))
    return path


MEMBERS: dict[str, str | bytes] = {
    "b/two.jsonl": log("d2"), "a.jsonl": log("d1"), "photo.jpg": b"\xff\xd8", "__MACOSX/a.jsonl": "x", ".hidden.json": "x",
}  # fmt: skip


def test_the_logs_of_a_folder_and_of_an_archive_are_read_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    for name, data in MEMBERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    (folder / "__MACOSX/a.jsonl").unlink()
    (folder / "verdicts.rejects.jsonl").write_text("x")
    (folder / "link.jsonl").symlink_to(folder / "a.jsonl")
    assert ids(folder) == ["d1", "d2"]
    export = zipped(tmp_path / "export.zip", MEMBERS)
    assert ids(export) == ["d1", "d2"]
    assert [(one.name, one.label) for one in open_logs([str(export)])] == [
        (f"{export}/a.jsonl", "a.jsonl"), (f"{export}/b/two.jsonl", "b/two.jsonl")]  # fmt: skip
    zipped(folder / "more.zip", {"three.jsonl": log("d3")})
    assert ids(folder) == ["d1", "d2", "d3"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputRefused, match="E_PATH"):
        open_logs([str(tmp_path / "empty")])


def link() -> bytes:
    info = zipfile.ZipInfo("a.jsonl")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (archive({"../a.jsonl": log("d")}), "E_ARCHIVE"),
        (archive({"/a.jsonl": log("d")}), "E_ARCHIVE"),
        (archive({"a/../../b.jsonl": log("d")}), "E_ARCHIVE"),
        (archive({"..\\a.jsonl": log("d")}), "E_ARCHIVE"),
        (archive({"C:a.jsonl": log("d")}), "E_ARCHIVE"),
        (link(), "E_ARCHIVE"),
        (archive({"a.zip": archive({"a.jsonl": log("d")})}), "E_ARCHIVE"),
        (archive({f"{n}.jsonl": "" for n in range(archives.MAX_MEMBERS + 1)}), "E_ARCHIVE"),
        (archive({"a.jsonl": log("d")}, lambda data: data.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")), "E_ARCHIVE"),
        (archive({"a.jsonl": log("d") * 9}, lambda data: data[:60] + bytes(8) + data[68:]), "E_ARCHIVE"),
        (archive({"a.jsonl": log("d")}, lambda data: data[:-30]), "E_ARCHIVE"),
        (archive({"a.jsonl": log("d")}) + archive({"b.jsonl": log("e")}), "E_ARCHIVE"),
        (archive({"a.jsonl": b" " * 3_000_000}), "E_EXPANSION"),
        (archive({"photo.jpg": b"\xff"}), "E_FORMAT"),
    ],
    ids=["climbs", "absolute", "climbs inside", "backslash", "drive", "link", "nested", "many", "encrypted", "damaged", "cut", "joined", "bomb", "no log"],
)  # fmt: skip
def test_an_archive_that_could_do_harm_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(data)
    with pytest.raises(InputRefused) as caught:
        ids(path)
    assert caught.value.code == code
    assert sorted(each.name for each in tmp_path.iterdir()) == ["export.zip"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_is_the_log_s_and_never_the_disk_s(tmp_path: Path, method: int) -> None:
    path = zipped(tmp_path / "export.zip", {"a.jsonl": log(*map(str, range(200)))}, method)
    data = path.read_bytes()
    changed = [data[:100] + bytes(200) + data[300:]]  # the data, then each byte of the directory
    start = data.index(b"PK\x01\x02")
    changed += [
        data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :] for place in range(start, len(data))
    ]
    for number, content in enumerate(changed):
        path.write_bytes(content)
        try:
            for _, write in archives.open_archive("export", path, "zip", []):
                write(io.BytesIO())
        except InputRefused:
            continue
        assert number, "damaged data were read"


ROWS = [
    ["ticket_id", "author_role", "body", "created_at", "internal"],
    [4471, "customer", "=1+1 is what?", datetime(2026, 3, 2, 9, 14, 5), False],
    [4471, "agent", "She is rude again.", datetime(2026, 3, 2, 9, 15, 5), True],
    [4471.0, "agent", "Two,\n\"2\".", datetime(2026, 3, 2, 9, 16, 5), None],
]  # fmt: skip


def workbook(path: Path, *sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    for number, rows in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        assert sheet is not None
        for row in rows:
            sheet.append(row)
            for cell in sheet[sheet.max_row]:
                cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type
    book.save(path)
    return path


def test_a_workbook_is_a_table(tmp_path: Path) -> None:
    path = workbook(tmp_path / "log.xlsx", ROWS, [])
    counts = Counts()
    outcomes = list(read(open_logs([str(path)]), ReadConfig(), counts))
    (dialogue,) = [one.dialogue for one in outcomes if isinstance(one, Loaded)]
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [
        ("customer", "=1+1 is what?"),
        ("agent", 'Two,\n"2".'),
    ]
    assert (dialogue.id, counts.warnings["W_INTERNAL_NOTE"]) == ("4471", 1)
    assert [turn.at.minute for turn in dialogue.turns if turn.at] == [14, 16]


def test_a_hidden_sheet_with_rows_is_listed(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(workbook(tmp_path / "log.xlsx", ROWS, ROWS))
    book.worksheets[1].sheet_state = "hidden"
    book.save(tmp_path / "log.xlsx")
    counts = Counts()
    assert len(list(read(open_logs([str(tmp_path / "log.xlsx")]), ReadConfig(), counts))) == 1
    assert counts.warnings["W_NO_LOG"] == 1
    ((fact, *_),) = counts.facts.values()
    assert "'Sheet1'" in fact


def test_cells_that_are_merged_downwards_hold_for_each_of_their_rows(tmp_path: Path) -> None:
    """As contact centres export them; those of the header and across columns have no rows below."""
    rows = [
        ["ticket_id", None, "author_role", "body"], [1, "", "customer", "Hi"], [None, "", "agent", "Hello"],
        [2, "", "customer", "Bye"], [None, "", "agent", "Good bye"],
    ]  # fmt: skip
    book = openpyxl.load_workbook(workbook(tmp_path / "plain.xlsx", rows))
    for merged in ("A1:B1", "A2:B3", "A4:A5"):
        book.active.merge_cells(merged)
    book.save(tmp_path / "merged.xlsx")
    outcomes = list(read(open_logs([str(tmp_path / "merged.xlsx")]), ReadConfig(), Counts()))
    n_turns = [(one.dialogue.id, len(one.dialogue.turns)) for one in outcomes if isinstance(one, Loaded)]
    assert n_turns == [("1", 2), ("2", 2)]


@pytest.mark.parametrize(("sheets", "code"), [([ROWS, ROWS], "E_FORMAT"), ([[]], "E_FORMAT")])
def test_a_workbook_of_several_tables_or_none_is_refused(
    tmp_path: Path, sheets: list[list[list[object]]], code: str
) -> None:
    with pytest.raises(InputRefused) as caught:
        open_logs([str(workbook(tmp_path / "log.xlsx", *sheets))])
    assert caught.value.code == code


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml"])
def test_a_damaged_workbook_is_refused(tmp_path: Path, part: str) -> None:
    whole = zipfile.ZipFile(workbook(tmp_path / "good.xlsx", ROWS))
    members = {name: whole.read(name) if name != part else b"<a>" for name in whole.namelist()}
    path = zipped(tmp_path / "log.xlsx", dict(members))
    with pytest.raises(InputRefused) as caught:
        open_logs([str(path)])
    assert caught.value.code == "E_ARCHIVE"


def test_a_cell_in_the_last_corner_of_a_sheet_costs_nothing(tmp_path: Path) -> None:
    path = workbook(tmp_path / "log.xlsx", ROWS)
    book = openpyxl.load_workbook(path)
    book.worksheets[0].cell(200_000, 1, "x")
    book.worksheets[0].cell(1, 900, " ")
    book.save(path)
    (source,) = open_logs([str(path)])
    config = ReadConfig(max_bad=1.0)
    inspect(source, config)
    first, last = read([source], config, Counts())
    assert isinstance(first, Loaded)
    assert len(first.dialogue.turns) == 2
    assert isinstance(last, Reject)
    assert last.line == 200_001  # a cell has two lines


def test_a_table_with_a_column_without_a_name_is_previewed(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(",conversation_id,role,text\nx,1,customer,Hello there\nx,1,agent,Hi\n")
    assert preview(open_logs([str(path)])[0], ReadConfig(), 10).is_readable


@pytest.mark.parametrize("as_folder", [False, True])
def test_files_that_are_no_logs_are_left_out_and_listed(tmp_path: Path, as_folder: bool) -> None:
    members: dict[str, str | bytes] = {
        "a.jsonl": log("d1"), "users.json": '[{"id": "U1"}]', "b/channels.json": '[{"id": "C1"}]', "logo.png": b"x",
        "README.txt": "The chats of March.\nAsk Ann.", "notes.md": "x", "to do.txt": "Call Ann.\nAnd Bob.", ".x": "x",
    }  # fmt: skip
    path = zipped(tmp_path / "export.zip", members)
    if as_folder:
        with zipfile.ZipFile(path) as file:
            file.extractall(path := tmp_path / "export")
        (path / "today.jsonl").symlink_to("a.jsonl")
        (path / "older").symlink_to(tmp_path)
    sources, counts = open_logs([str(path)]), Counts()
    for source in sources:
        inspect(source, ReadConfig())
    assert [one.dialogue.id for one in read(sources, ReadConfig(), counts) if isinstance(one, Loaded)] == [
        "d1"
    ]
    assert counts.warnings["W_NO_LOG"] == 6 + 2 * as_folder
    facts = " ".join(str(fact) for facts in counts.facts.values() for fact in facts)
    assert all(Path(name).name in facts for name in members if name not in ("a.jsonl", ".x"))
    results = [preview(source, ReadConfig(), 10) for source in sources]
    assert all(one.is_readable for one in results)


@pytest.mark.parametrize(
    "members",
    [{}, {"README.txt": "Hello"}, {"photo.png": b"x"}, {"a.txt": "Hello.\nYou.", "b.txt": "Bye.\nYou."}],
)
def test_an_archive_without_a_log_is_refused(tmp_path: Path, members: dict[str, str | bytes]) -> None:
    path = zipped(tmp_path / "export.zip", members)
    with pytest.raises(InputRefused, match=r"without logs|no records") as caught:
        list(read(open_logs([str(path)]), ReadConfig(), Counts()))
    assert "\n" not in str(caught.value)


def test_a_formula_without_a_stored_value_is_refused_with_its_cell(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(workbook(tmp_path / "log.xlsx", ROWS))
    book.worksheets[0].title = "Chats"
    book.worksheets[0]["C3"] = '=CONCATENATE("on", "its way")'
    book.save(tmp_path / "log.xlsx")
    with pytest.raises(InputRefused, match=r"E_CELL.*sheet 'Chats', cell C3"):
        open_logs([str(tmp_path / "log.xlsx")])


@pytest.mark.parametrize("ending", [".xlsx", ".csv"])
def test_a_title_above_the_header_is_reported(tmp_path: Path, ending: str) -> None:
    path = workbook(tmp_path / "log.xlsx", [["Chats of March"], [], *ROWS])
    if ending == ".csv":
        path = tmp_path / "log.csv"
        path.write_text("Chats of March;\n\nid;role;text\n1;customer;Hello\n")
    (source,) = open_logs([str(path)])
    with pytest.raises(InputRefused, match="delete the rows above the header"):
        inspect(source, ReadConfig())
    if ending == ".csv":
        refused = preview(source, ReadConfig(), 10).refused
        assert refused
        assert "delete the rows above the header" in refused
