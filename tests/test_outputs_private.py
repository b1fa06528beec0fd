"""Outputs of the package and its studies: no file or folder is readable by others, no CSV cell is a formula,
no name is markup in a terminal."""

from __future__ import annotations

import ast
import csv
import io
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from dialint.app.output import print_error, print_line, print_table
from dialint.detector.errors import ConfigError
from dialint.detector.records import Finding, Verdict
from dialint.detector.verdict_files import (
    convert_verdicts,
    escape_cell,
    needs_escape,
    unescape_cell,
    verdict_line,
)
from dialint.eval import spot_check
from dialint.labeling.aggregation import aggregate
from dialint.labeling.exchange.export_labels import write_rows

ROOT = Path(__file__).parents[1]
ROOMS = ("detector", "labeling", "finetune", "eval", "app", "runs/studies")


MAKES = ("mkdir", "makedirs", "write_text", "write_bytes", "touch", "copyfile", "copy", "copytree")
NAMES = {*MAKES, "open", "DictWriter", "write_csv", "to_csv", "writer", "Console"}


@cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Calls of the package that are looked at: the file, and the name that is called."""
    result = []
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = node.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if name in NAMES:
                    result.append((str(path.relative_to(ROOT)), name, node))
    return result


def writes(name: str, call: ast.Call) -> bool:
    """Returns whether a call makes a file or folder with the mode of the umask."""
    if name in MAKES:
        module = call.func.value if isinstance(call.func, ast.Attribute) else None
        of_shutil = isinstance(module, ast.Name) and module.id == "shutil"
        return of_shutil or name not in ("copy", "copytree", "copyfile")
    if name != "open":
        return False
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    modes = [text for text in texts if text and set(text) <= set("rwxabt+")]
    private = any(each.arg == "opener" for each in call.keywords)
    private |= any("create_private" in ast.unparse(arg) for arg in call.args)
    by_flags = any("O_CREAT" in ast.unparse(arg) for arg in call.args)
    return by_flags or (not private and any(set(mode) & set("wxa+") for mode in modes))


LET = {
    "detector/artifacts.py": "where it is done right",
    "detector/watchdog.py": "a setting of the kernel",
    "app/console/demo.py": "verdicts of the sample, with their mode",
    "app/scoring/job.py": "mode 0700, and a file by create_private",
    "finetune/scanner/trained.py": "a tokenizer, in a folder by make_folder",
    "finetune/decoder/pretrain.py": "a tokenizer and a model card, in a folder by make_folder",
    "finetune/scanner/pack.py": "a model card, in a folder by make_folder",
    "finetune/judge/stage.py": "a model card, in a folder by make_folder",
    "runs/studies/console_screenshots.py": "pictures of the demo",
}


def test_nothing_is_written_with_the_mode_that_the_umask_leaves() -> None:
    files = {file for file, name, call in calls() if writes(name, call)}
    assert files - LET.keys() == set(), "make folders by make_folder, files by atomic_file or create_private"
    assert LET.keys() - files <= {"detector/artifacts.py"}, "no longer needed"


HOSTILE = [
    before + sign + "cmd|' /C calc'!A1"
    for before in ("", "\t", "\r", "\n", " ", "\ufeff", "\u200b", "\u00a0", "\u202e", "\x1c", " \ufeff\r")
    for sign in "=+-@＝＋－＠﹦﹢﹣﹫"
]


def test_formulas_are_escaped_and_restored() -> None:
    for text in (*HOSTILE, "'", "'x", "", "\tx", "\rx"):
        assert needs_escape(text)
        assert unescape_cell(escape_cell(text)) == text
    for text in ("x", "1-2", "a=b", "Ünë", " plain", "…", "(=1)", "¿qué?", "\U0001f600"):
        assert escape_cell(text) == text


def is_formula(cell: str) -> bool:
    """As a careful spreadsheet would have it, written anew for this test."""
    seen = [one for one in cell if not one.isspace() and unicodedata.category(one) not in ("Cc", "Cf", "Zs")]
    return cell[:1] in ("\t", "\r", "\n") or (
        bool(seen) and unicodedata.normalize("NFKC", seen[0])[0] in ("=", "+", "-", "@")
    )


def by_verdicts(text: str) -> bytes:
    finding = Finding(
        code="C1", turn=1, severity="S2", probability=0.5, quote=text, start=0, end=len(text), reason=text,
        rewrite=text,
    )  # fmt: skip
    fields = {"release": text, "taxonomy": "1", "status": "scored", "quality": 1.0, "findings": (finding,)}
    out = io.BytesIO()
    convert_verdicts([verdict_line(Verdict(dialogue_id=text, **fields))], out, "csv")
    return out.getvalue()


def by_platforms(text: str) -> bytes:
    out = io.BytesIO()
    write_rows(out, [{"task": text, text: text}], "csv", ("task", text))
    return out.getvalue()


def by_aggregation(text: str) -> bytes:
    out = io.BytesIO()
    aggregate._write(".csv", {"task": [text], "label": [text], text: [0.5]}, out)
    return out.getvalue()


def by_sample(text: str) -> bytes:
    row = {**dict.fromkeys(spot_check.COLUMNS, text), "turn": 1}
    return spot_check._csv([row]).encode()


WRITERS: dict[str, Callable[..., bytes]] = {
    "detector/verdict_files.py": by_verdicts,
    "labeling/exchange/export_labels.py": by_platforms,
    "labeling/aggregation/aggregate.py": by_aggregation,
    "eval/spot_check.py": by_sample,
    "detector/ingest/archives.py": lambda text: b"",  # a sheet on its way to the reader of tables
}


def test_every_writer_of_csv_is_tried() -> None:
    files = {file for file, name, call in calls() if name in ("DictWriter", "write_csv", "to_csv")}
    files |= {file for file, name, call in calls() if ast.unparse(call.func) == "csv.writer"}
    assert files == WRITERS.keys()


@pytest.mark.parametrize("file", WRITERS)
def test_no_cell_is_a_formula(file: str) -> None:
    for text in HOSTILE:
        written = io.StringIO(WRITERS[file](text).decode(), newline="")
        assert [cell for row in csv.reader(written) for cell in row if is_formula(cell)] == []


def test_no_name_is_markup_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A team `[link=http://...]` would be a link, one with a mark of direction would turn its line round."""
    silent = {"detector/progress.py": "its text is no markup"}
    loud = {
        file for file, name, call in calls() if name == "Console" and "markup=False" not in ast.unparse(call)
    }
    assert loud - silent.keys() == set()
    print_line("a\u202eb\x1b]8;;http://e.example\x1b\\c")
    print_table(["\x41"], [["[link=http://e.example]x[/link]\u202e :smile:"]])
    print_error(ConfigError("E_PATH", "{path}: is none", path=Path("a\x1b[2J\n::stop-commands::x")))
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    output = captured.out + captured.err
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert "[link=http://e.example]x[/link]" in output
    assert ":smile:" in output
