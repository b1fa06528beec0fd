"""``dialint ingest preview LOG``: previews how a log is read; ``dialint convert LOG --out FILE.jsonl``:
writes its dialogues as JSON lines.

The preview prints three dialogues with personal data masked, the recognised and the unread fields, and writes
a mapping file for `dialint score --mapping`. Exit codes: 0 dialogues can be read, 1 none can, or a speaker, a
side or the dialogues would be lost, 2 the file or an option is wrong.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from dialint.app.output import print_line
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.ingest.config import ReadConfig

if TYPE_CHECKING:
    from dialint.detector.ingest.preview import Preview
    from dialint.detector.records import Dialogue

READ = ReadConfig()
N_FILES = 10
"""Most files of a folder or an archive that are previewed."""
N_TURNS, WIDTH = 8, 96
N_REJECTS = 10


def preview_log(
    log: str,
    *,
    write: Path | None = None,
    records: int = 1000,
    read: Annotated[ReadConfig, Parameter(name="*")] = READ,
) -> int:
    """Show how a log would be read, and write a mapping for `--mapping` if it is of an unknown shape.

    Parameters
    ----------
    log
        One log, of any format that is read, plain or compressed.
    write
        File (.yaml) for the mapping, to be corrected; must not exist.
    records
        Records that are read for the counts.
    """
    from dialint.detector.artifacts import atomic_file
    from dialint.detector.ingest.preview import as_yaml, preview
    from dialint.detector.ingest.sources import open_logs

    if write is not None and (write.exists() or write.is_symlink()):
        raise OutputRefused("E_OUTPUT_EXISTS", f"{write}: is there already; name another file")
    if records < 1:
        raise ConfigError("E_OPTION", "--records: expected at least 1")
    sources = open_logs([log])
    if write is not None and len(sources) > 1:
        raise ConfigError("E_OPTION", f"{log}: {len(sources)} files; name one of them")
    results = [preview(source, read, records) for source in sources[:N_FILES]]
    for result in results:
        _show(result)
    if len(sources) > N_FILES:
        print_line(f"... and {len(sources) - N_FILES} more files")
    result = results[0]
    if write is not None and result.native and not result.fields:
        print_line(f"{write}: not written, for this format needs no mapping")
    elif write is not None:
        with atomic_file(write) as file:
            file.write(as_yaml(result).encode())
        print_line(f"{write}: written; correct it, then: dialint ingest preview {log} --mapping {write}")
    elif not result.native and result.fields and read.mapping is None:
        print_line("--write map.yaml writes this as a mapping, to be corrected")
    return 0 if all(one.is_readable and not one.problems for one in results) else 1


def _show(result: Preview) -> None:
    from dialint.detector.ingest.words import format_word

    print_line(f"{result.file}: {result.format}{'; needs no mapping' if result.native else ''}")
    if result.facts:
        print_line(f"  {', '.join(result.facts)}")
    for meaning, path in result.fields.items():
        guess = "   (guessed by what it holds)" if meaning in result.by_content else ""
        print_line(f"  {meaning:9} {path}{guess}")
    if result.words:
        speakers = [f"{format_word(word)} = {role or '?'}" for word, role in result.words.items()]
        print_line(f"  speakers  {', '.join(speakers)}")
    if result.privacy:
        print_line(f"  unknown words of privacy: {', '.join(map(format_word, result.privacy))}")
    if result.unread:
        more = f" and {len(result.unread) - 20} more" if len(result.unread) > 20 else ""
        print_line(f"  not read  {', '.join(result.unread[:20])}{more}")
    for dialogue in result.dialogues:
        _show_dialogue(dialogue)
    print_line("")
    if result.refused:
        code = "" if result.code is None else f"{result.code}: "
        print_line(f"the log would be refused: {code}{result.refused}")
        return
    for problem in result.problems:
        print_line(f"  lost: {problem}")
    counts = result.counts
    good = counts.read - counts.rejected
    share = f"all {counts.read:,}" if result.is_complete else f"the first {counts.read:,}"
    print_line(f"{share} records: {good:,} read, {counts.rejected:,} rejected")
    for code, n in counts.codes.most_common():
        print_line(f"  {code} {n:,}")
    for reject in result.rejects:
        expectation = f"found {reject.found}, expected {reject.expected}"
        print_line(f"  line {reject.line}, {reject.path or 'record'}: {reject.code}, {expectation}")
    for name, n in sorted(counts.warnings.items()):
        print_line(f"  {name} {n:,}")


def _show_dialogue(dialogue: Dialogue) -> None:
    from dialint.detector.masking.dialogue import mask_dialogue
    from dialint.detector.tool_use import format_call

    masked, _ = mask_dialogue(dialogue)
    metadata = {name: getattr(dialogue, name) for name in ("language", "channel", "agent", "team")}
    notes = ", ".join(f"{name} {value}" for name, value in metadata.items() if value)
    print_line("")
    print_line(f"dialogue {dialogue.id!r}, {len(dialogue.turns)} turns{', ' + notes if notes else ''}")
    for turn in masked.turns[:N_TURNS]:
        at = turn.at.isoformat(sep=" ", timespec="minutes") if turn.at else ""
        text = " ".join([*turn.text.split(), *(f"→ {format_call(call)}" for call in turn.tool_calls)])
        print_line(f"  {turn.role:8} {at:16} {text if len(text) <= WIDTH else text[: WIDTH - 1] + '…'}")
    if len(dialogue.turns) > N_TURNS:
        print_line(f"  ... and {len(dialogue.turns) - N_TURNS} more turns")


def convert(*logs: str, out: Path, read: Annotated[ReadConfig, Parameter(name="*")] = READ) -> int:
    """Write logs of any format that is read as JSON lines, which hold all that was read of them.

    Texts stay as they are in the log (--strip does not count here) and personal data are not masked; internal
    notes are left out.

    Parameters
    ----------
    logs
        Logs, or patterns.
    out
        File to write (.jsonl), for you only (mode 0600); must not exist.
    """
    from dialint.detector.artifacts import (
        atomic_file,
        file_entry,
        making_files,
        package_versions,
        write_manifest,
    )
    from dialint.detector.ingest.formats.canonical import as_record
    from dialint.detector.ingest.outcomes import Counts, Loaded, Reject
    from dialint.detector.ingest.read import inspect, open_logs
    from dialint.detector.ingest.read import read as read_logs
    from dialint.detector.verdict_files import manifest_path

    if out.suffix != ".jsonl":
        raise ConfigError("E_OPTION", f"--out {out}: expected the ending .jsonl")
    if not out.parent.is_dir():
        raise ConfigError("E_OPTION", f"--out: {out.parent}: no such folder")
    config, counts = replace(read, strip=False), Counts()
    sources = open_logs(logs)
    inputs = [{"name": source.name, "sha256": inspect(source, config)} for source in sources]
    rejects: list[Reject] = []
    n = 0
    with making_files(out, manifest_path(out)):
        with atomic_file(out) as file:
            for item in read_logs(sources, config, counts):
                if isinstance(item, Loaded):
                    file.write(json.dumps(as_record(item.dialogue), ensure_ascii=False).encode() + b"\n")
                    n += 1
                elif len(rejects) < N_REJECTS:
                    rejects.append(item)
        manifest = {
            "kind": "log",
            "files": [file_entry(out, n)],
            "inputs": inputs,
            "reading": config.describe(),
            "rejected": dict(counts.codes),
            "versions": package_versions("dialint"),
        }
        write_manifest(manifest_path(out), json.loads(json.dumps(manifest, default=str)))
    notes = counts.warnings["W_INTERNAL_NOTE"]
    print_line(
        f"{out}: {n:,} dialogues; rejected {counts.rejected:,}, repeated {counts.duplicates:,}"
        + (f", internal notes left out {notes:,}" if notes else "")
    )
    for reject in rejects:
        where = f"{reject.file}, line {reject.line}, {reject.path or 'record'}"
        print_line(f"  {where}: {reject.code}, found {reject.found}, expected {reject.expected}")
    return 0
