"""What is recognised of a log that was brought, in a process of its own:

    python -m dialint.app.console.scoring.preview JOB_FOLDER

Reads the log, and ``mapping.yaml`` if there is one; writes ``preview.json`` in the same folder: format,
columns, counts, a few masked dialogues and rejects, or in one sentence why the log cannot be read. In a
process of its own, because a bad log may take time and memory, and the console has other people to serve.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from dialint.app.console.scoring.files import JobFolder, worker_environment
from dialint.detector.errors import DialintError, Message, WorldError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.preview import Preview, as_yaml, preview
from dialint.detector.ingest.sources import open_logs
from dialint.detector.ingest.words import format_word
from dialint.detector.masking.dialogue import mask_dialogue

N_RECORDS = 5000
N_TURNS, WIDTH = 12, 400
"""Of each dialogue: the first turns, and their first characters."""
TIMEOUT_S = 60.0
MEMORY_BYTES = 4 << 30
"""Address space of the process, much of it code; a log takes under 512 MB."""


def preview_log(folder: JobFolder) -> dict[str, Any]:
    """Look at the log of a job in a process of its own, and return what is in ``preview.json`` then.

    Raises:
        WorldError: E_PREVIEW, the process did not end well; the message is for a person.
    """
    folder.preview.unlink(missing_ok=True)
    command = [sys.executable, "-m", "dialint.app.console.scoring.preview", str(folder.path)]
    try:
        subprocess.run(
            command, env=worker_environment(), check=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise WorldError(
            "E_PREVIEW", "looking at the log took more than {seconds:.0f} seconds", seconds=TIMEOUT_S
        ) from None
    except subprocess.CalledProcessError:
        raise WorldError("E_PREVIEW", "the log could not be looked at") from None
    content = folder.read_preview()
    assert content is not None
    return content


def describe_log(folder: JobFolder) -> dict[str, Any]:
    """The content of ``preview.json``; ``refused`` is none if at least one dialogue can be read. Texts of
    ours are messages, so that a page shows them in the language of who looks."""
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


def main() -> None:
    """Look at the log of the folder that the command line names."""
    folder = JobFolder(Path(sys.argv[1]))
    with suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        content = describe_log(folder)
    except MemoryError:
        content = {"refused": Message("the log takes too much memory to be looked at")}
    folder.write_preview(content)


if __name__ == "__main__":
    main()
