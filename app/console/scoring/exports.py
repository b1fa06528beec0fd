"""Other forms of a finished job's verdicts, each made when it is first asked for:

    python -m dialint.app.console.scoring.exports JOB_FOLDER NAME

in a process of low priority, as a conversion may take minutes and the console has other people to serve.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from dialint.app.console.i18n import N_
from dialint.app.console.scoring.files import JobFolder, worker_environment
from dialint.app.scoring.reports import LocatedVerdict, write_junit, write_sarif
from dialint.detector.artifacts import atomic_file, disk_errors, package_versions, verify_files
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.extras import missing_modules
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import FileFormat, convert_verdicts, parse_verdicts

FILES = {
    "verdicts.jsonl": "JSON Lines",
    "verdicts.parquet": "Parquet",
    "verdicts.csv": "CSV",
    "verdicts.xml": "JUnit",
    "verdicts.sarif": "SARIF",
    "report.html": N_("HTML report"),
    "report.xlsx": N_("Excel workbook"),
    "verdicts.rejects.jsonl": N_("Rejected records"),
}
"""What may be downloaded, and its format's name in English."""
EXAMPLES = "examples.json"
"""The findings of each code, the most probable first, for the page."""
N_EXAMPLES = 50
TIMEOUT_S = 1800.0
NICE = 10


def available_files() -> list[str]:
    """The names in `FILES` that can be made here: a workbook needs XlsxWriter."""
    without = {"report.xlsx"} if missing_modules("report") else set()
    return [name for name in FILES if name not in without]


def make_file(folder: JobFolder, name: str) -> Path:
    """The file of this name of a finished job; made now if it is not there. Blocks until then.

    Raises:
        ConfigError: E_JOB, there is no such file, or the job is not done.
        OutputRefused: the verdicts are not what was written.
        WorldError: E_EXPORT, it could not be made.
    """
    manifest = folder.manifest
    if name not in (*available_files(), EXAMPLES) or manifest is None:
        raise ConfigError("E_JOB", "there is no such file")
    target = folder.out.with_name(name)
    if target in (folder.out, folder.rejects):
        verify_files(folder.out.parent, manifest["files"])
        return target
    if target.exists():
        return target
    if name.startswith("report."):
        part = folder.out.with_name(f".{secrets.token_hex(8)}.{name}")
        option = f"--{name.rpartition('.')[2]}"
        command = [sys.executable, "-m", "dialint", "report", str(folder.out), option, str(part)]
    else:
        part = None
        command = [sys.executable, "-m", "dialint.app.console.scoring.exports", str(folder.path), name]
    try:
        subprocess.run(
            ["nice", "-n", str(NICE), *command], env=worker_environment(), check=True, timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (subprocess.SubprocessError, OSError):
        raise WorldError("E_EXPORT", "this file could not be made") from None
    if part is not None:
        with disk_errors(target):
            part.replace(target)
    return target


def convert(folder: JobFolder, name: str) -> None:
    """Write one form of the verdicts, complete or not at all."""
    with folder.out.open("rb") as lines, atomic_file(folder.out.with_name(name)) as out:
        if name in ("verdicts.csv", "verdicts.parquet"):
            convert_verdicts(lines, out, cast(FileFormat, name.rpartition(".")[2]))
        elif name == EXAMPLES:
            out.write(json.dumps(_list_examples(lines), ensure_ascii=False).encode())
        else:
            _write_located(folder, lines, out, name)


def _list_examples(lines: BinaryIO) -> dict[str, Any]:
    """By code: how many findings and in how many dialogues, and the most probable of them."""
    examples: dict[str, list[dict[str, Any]]] = {}
    counts, dialogues = Counter[str](), Counter[str]()
    for verdict in parse_verdicts(lines):
        dialogues.update({finding.code for finding in verdict.findings})
        for finding in verdict.findings:
            counts[finding.code] += 1
            of_code = examples.setdefault(finding.code, [])
            fields = ("turn", "severity", "probability", "quote", "reason")
            of_code.append(
                {"dialogue": verdict.dialogue_id, **{each: getattr(finding, each) for each in fields}}
            )
            if len(of_code) > 4 * N_EXAMPLES:
                of_code.sort(key=_by_probability)
                del of_code[N_EXAMPLES:]
    return {
        code: {
            "findings": n,
            "dialogues": dialogues[code],
            "examples": sorted(examples[code], key=_by_probability)[:N_EXAMPLES],
        }
        for code, n in counts.most_common()
    }


def _by_probability(example: dict[str, Any]) -> tuple[float, str, int]:
    return -example["probability"], example["dialogue"], example["turn"]


def _write_located(folder: JobFolder, lines: BinaryIO, out: BinaryIO, name: str) -> None:
    """The reports that name the line of each dialogue in the log, which is read again for them."""
    log = folder.log
    if log is None:
        raise ConfigError("E_PATH", "the log is gone")
    config = ReadConfig(mapping=folder.mapping if folder.mapping.exists() else None)
    sources = open_logs([str(log)])
    loaded = (item for item in read(sources, config, Counts()) if isinstance(item, Loaded))
    located = _locate(lines, loaded, log.name)
    taxonomy = load_taxonomy()
    with folder.rejects.open("rb") as reject_lines, tempfile.TemporaryFile(dir=folder.out.parent) as spool:
        rejects = ({**json.loads(line), "file": log.name} for line in reject_lines)
        if name == "verdicts.xml":
            write_junit(located, rejects, out, taxonomy, None, [log.name], spool)
        else:
            version = package_versions("dialint").get("dialint", "0")
            write_sarif(located, rejects, out, taxonomy, version, spool)


def _locate(lines: BinaryIO, loaded: Iterator[Loaded], log: str) -> Iterator[LocatedVerdict]:
    for verdict, item in zip(parse_verdicts(lines), loaded, strict=True):
        if verdict.dialogue_id != item.dialogue.id:
            raise ConfigError("E_CHANGED", "the log is not the one that was scored")
        yield LocatedVerdict(verdict, log, item.line)


def main() -> None:
    """Make the file that the command line names."""
    convert(JobFolder(Path(sys.argv[1])), sys.argv[2])


if __name__ == "__main__":
    main()
