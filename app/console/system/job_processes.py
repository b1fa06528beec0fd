"""What processes of low priority make for a scoring job, as they may take minutes and memory, and the console
has other people to serve:

    python -m dialint.app.console.system.job_processes FOLDER preview.json
    python -m dialint.app.console.system.job_processes FOLDER verdicts.csv

``preview.json`` is what is recognised of a log that was brought: format, columns, counts, a few masked
dialogues and rejects, or in one sentence why it cannot be read. The other files are forms of a finished
job's verdicts, each made when it is first asked for.
"""

from __future__ import annotations

import json
import resource
import secrets
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from dialint.app.console.i18n import N_
from dialint.app.console.system.job_files import JobFolder, worker_environment
from dialint.detector.artifacts import atomic_file, disk_errors, verify_files
from dialint.detector.environment import missing_modules
from dialint.detector.errors import ConfigError, DialintError, Message, WorldError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.preview import Preview, as_yaml, preview
from dialint.detector.ingest.read import open_logs
from dialint.detector.ingest.words import format_word
from dialint.detector.masking.dialogue import mask_dialogue
from dialint.detector.verdict_files import FileFormat, convert_verdicts, parse_verdicts

SELF = (sys.executable, "-m", "dialint.app.console.system.job_processes")
PREVIEW = "preview.json"
N_RECORDS = 5000
N_TURNS, WIDTH = 12, 400
"""Of each dialogue: the first turns, and their first characters."""
PREVIEW_TIMEOUT_S = 60.0
MEMORY_BYTES = 4 << 30
"""Address space of the process, much of it code; a log takes under 512 MB."""


def _options() -> dict[str, Any]:
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    return {"env": worker_environment(), "check": True, **quiet}


def preview_log(folder: JobFolder) -> dict[str, Any]:
    """Look at the log of a job in a process of its own. Returns the content of ``preview.json``."""
    folder.preview.unlink(missing_ok=True)
    command = [*SELF, str(folder.path), PREVIEW]
    try:
        subprocess.run(command, timeout=PREVIEW_TIMEOUT_S, **_options())
    except subprocess.TimeoutExpired:
        raise WorldError(
            "E_PREVIEW", "looking at the log took more than {seconds:.0f} seconds", seconds=PREVIEW_TIMEOUT_S
        ) from None
    except subprocess.CalledProcessError:
        raise WorldError("E_PREVIEW", "the log could not be looked at") from None
    content = folder.read_preview()
    assert content is not None
    return content


def describe_log(folder: JobFolder) -> dict[str, Any]:
    """Return the content of ``preview.json``; ``refused`` is none if at least one dialogue can be read."""
    log = folder.log
    if log is None:
        return {"refused": Message("the log is gone")}
    try:
        config = ReadConfig(mapping=folder.mapping if folder.mapping.exists() else None)
        source, *others = open_logs([str(log)])
        result = preview(source, config, N_RECORDS)
    except DialintError as refused:
        return {"refused": folder.for_screen(refused.text), "code": refused.code}
    n, size = result.counts.read, max(source.size, 1)
    more = [Message("and {n} more files", n=len(others))] if others else []
    refusal = result.refused
    if refusal is None and not result.is_readable:
        refusal = Message("no record of it can be read as a dialogue")
    return {
        "refused": None if refusal is None else folder.for_screen(refusal),
        "code": result.code,
        "format": result.format,
        "needs_mapping": not result.native,
        "facts": [*result.facts, *result.problems, *more],
        "fields": result.fields,
        "by_content": result.by_content,
        "words": {format_word(word): role for word, role in result.words.items()},
        "privacy": [format_word(word) for word in result.privacy],
        "unread": result.unread,
        "read": n,
        "rejected": result.counts.rejected,
        "duplicates": result.counts.duplicates,
        "codes": dict(result.counts.codes.most_common()),
        "warnings": dict(sorted(result.counts.warnings.items())),
        "is_complete": result.is_complete and not others,
        "estimated": n
        if result.is_complete and not others
        else round(n * size / max(result.counts.bytes_read, 1)),
        "rejects": [
            {
                **reject.as_json(),
                "file": log.name,
                "dialogue_id": None,
                "expected": folder.for_screen(reject.expected),
            }
            for reject in result.rejects
        ],
        "dialogues": [_describe_dialogue(result, at) for at in range(len(result.dialogues))],
        "mapping": None if result.native else as_yaml(result),
    }


def _describe_dialogue(result: Preview, at: int) -> dict[str, Any]:
    dialogue = result.dialogues[at]
    masked, _ = mask_dialogue(dialogue)
    return {
        "id": dialogue.id,
        "turns": len(dialogue.turns),
        "origin": {
            name: value
            for name in ("language", "channel", "agent", "team")
            if (value := getattr(dialogue, name)) is not None
        },
        "first": [
            {"role": turn.role, "text": " ".join(turn.text.split())[:WIDTH]}
            for turn in masked.turns[:N_TURNS]
        ],
    }


FILES = {
    "verdicts.jsonl": "JSON Lines",
    "verdicts.parquet": "Parquet",
    "verdicts.csv": "CSV",
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
    """Return the file of this name of a finished job, made now if it is not there. Raises WorldError
    (E_EXPORT)."""
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
        command = [*SELF, str(folder.path), name]
    try:
        subprocess.run(["nice", "-n", str(NICE), *command], timeout=TIMEOUT_S, **_options())
    except (subprocess.SubprocessError, OSError):
        raise WorldError("E_EXPORT", "this file could not be made") from None
    if part is not None:
        with disk_errors(target):
            part.replace(target)
    return target


def convert(folder: JobFolder, name: str) -> None:
    """Write one form of the verdicts, complete or not at all."""
    with folder.out.open("rb") as lines, atomic_file(folder.out.with_name(name)) as out:
        if name == EXAMPLES:
            out.write(json.dumps(_list_examples(lines), ensure_ascii=False).encode())
        else:
            convert_verdicts(lines, out, cast(FileFormat, name.rpartition(".")[2]))


def _list_examples(lines: BinaryIO) -> dict[str, Any]:
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


def main() -> None:
    """Make the file that the command line names, in the folder that it names."""
    folder, name = JobFolder(Path(sys.argv[1])), sys.argv[2]
    if name != PREVIEW:
        convert(folder, name)
        return
    with suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        content = describe_log(folder)
    except MemoryError:
        content = {"refused": Message("the log takes too much memory to be looked at")}
    folder.write_preview(content)


if __name__ == "__main__":
    main()
