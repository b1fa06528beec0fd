"""Findings sampled at random for a person to check, and the count of the judgements.

    dialint eval sample verdicts.jsonl --log log.jsonl --n 50 --seed 0 --out judged.csv
    dialint eval tally judged.csv

The file holds dialogue text (personal data as placeholders): it is for the reader, not for a repository.
The column `judgement` is filled in by hand with right, wrong or arguable.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import atomic_file
from dialint.detector.calibration import format_probability
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.ingest.validation import BIDI
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.verdict_files import escape_cell, read_verdicts

Kind = Literal["finding", "suggestion"]
JUDGEMENTS = ("right", "wrong", "arguable")
TOTALS = {"all": "findings", "all, suggested": "suggestions"}
COLUMNS = (
    "number",
    "dialogue",
    "turn",
    "code",
    "kind",
    "probability",
    "context",
    "text",
    "quote",
    "judgement",
    "note",
)
_MARKUP = re.compile(r"[!-/:-@\[-`{-~]")
"""All ASCII punctuation: the characters that CommonMark allows to escape."""
_ESCAPED = re.compile(rf"\\({_MARKUP.pattern})")
HIDDEN = 0xF0000
"""Escaped marks are mapped to this private area while a table is parsed."""
_HIDDEN = re.compile(f"[{chr(HIDDEN)}-{chr(HIDDEN + 0x7F)}]")
BEFORE = 4
"""Turns shown before the one with the finding."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """Options of `dialint eval sample`."""

    log: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """The log that was scored."""
    out: Path
    """A .csv or .md file; must not exist."""
    n: Annotated[int, Field(ge=1)] = 50
    """Findings to sample."""
    kind: Literal["finding", "suggestion", "both"] = "finding"
    """Sample findings, suggestions, or both as if they were one."""
    seed: int = 0
    """The same seed samples the same findings."""

    def __post_init__(self) -> None:
        check_ranges(self)


def sample(
    verdicts: Path,
    /,
    *,
    config: Annotated[SampleConfig, Parameter(name="*")],
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> None:
    """Sample findings at random, with the turns before them, for a person to check."""
    if config.out.suffix not in (".csv", ".md") or config.out.exists() or not config.out.parent.is_dir():
        raise ConfigError(
            "E_OPTION", f"--out {config.out}: name a new .csv or .md file in a folder that exists"
        )
    kinds: tuple[Kind, ...] = get_args(Kind) if config.kind == "both" else (config.kind,)
    sampled = sample_findings(read_verdicts(verdicts), config.n, config.seed, kinds)
    if not sampled:
        raise InputRefused(
            "E_EMPTY", f"{verdicts}: holds no {' or '.join(kinds)}, so there is nothing to read"
        )
    wanted = {name for name, _, _ in sampled}
    dialogues = {
        item.dialogue.id: item.dialogue
        for item in read(open_logs(list(config.log)), reading or ReadConfig(), Counts())
        if isinstance(item, Loaded) and item.dialogue.id in wanted
    }
    missing = len(wanted - dialogues.keys())
    if missing:
        raise ConfigError("E_OPTION", f"--log: {missing} of the dialogues drawn are not in it")
    rows = [
        _row(number, dialogues[name], kind, finding)
        for number, (name, kind, finding) in enumerate(sampled, 1)
    ]
    with atomic_file(config.out) as file:
        file.write((_csv(rows) if config.out.suffix == ".csv" else _markdown(rows)).encode())
    what = " and ".join(f"{kind}s" for kind in kinds)
    print(f"{len(rows)} {what} in {config.out}; fill in {', '.join(JUDGEMENTS)}, then: dialint eval tally")


def sample_findings(
    verdicts: Iterable[Verdict], n: int, seed: int, kinds: tuple[Kind, ...] = ("finding",)
) -> list[tuple[str, Kind, Finding]]:
    """At most `n` findings or suggestions with their dialogue's id, each as likely, in a random order."""
    everything = [
        (verdict.dialogue_id, kind, finding)
        for verdict in verdicts
        for kind in kinds
        for finding in (verdict.findings if kind == "finding" else verdict.suggestions)
    ]
    return Random(seed).sample(everything, min(n, len(everything)))


def _row(number: int, dialogue: Dialogue, kind: Kind, finding: Finding) -> dict[str, Any]:
    masked, _ = mask_dialogue(dialogue)
    position = next(
        (position for position, turn in enumerate(masked.turns) if turn.index == finding.turn), None
    )
    if position is None:
        raise ConfigError(
            "E_OPTION", f"--log: dialogue {dialogue.id} has no turn {finding.turn}; is it another log?"
        )
    before = masked.turns[max(0, position - BEFORE) : position]
    after = masked.turns[position + 1 : position + 2]
    context = [f"{turn.role}: {turn.text}" for turn in before] + [
        f"[after] {t.role}: {t.text}" for t in after
    ]
    return {
        "number": number,
        "dialogue": dialogue.id,
        "turn": finding.turn,
        "code": finding.code,
        "kind": kind,
        "probability": format_probability(finding.probability),
        "context": "\n".join(context),
        "text": masked.turns[position].text,
        "quote": finding.quote,
        "judgement": "",
        "note": "",
    }


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    writer.writerows(
        [escape_cell(str(row[name])) if row[name] != "" else "" for name in COLUMNS] for row in rows
    )
    return text.getvalue()


def _markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of plain text: Markdown and HTML in a cell are escaped, and direction marks are written out."""

    def cell(value: Any) -> str:
        text = BIDI.sub(lambda mark: f"[U+{ord(mark[0]):04X}]", str(value))
        return "<br>".join(_MARKUP.sub(r"\\\g<0>", line) for line in text.splitlines())

    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(cell(row[name]) for name in COLUMNS) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def tally(judged: Path, /) -> None:
    """Count the judgements on sampled findings, in all and code by code."""
    from rich.console import Console
    from rich.table import Table

    counts = count_judgements(judged)
    parts = [f"{counts[name].total()} {words}" for name, words in TOTALS.items() if name in counts]
    table = Table(title=f"{judged.name}: {' and '.join(parts)} read")
    for column in ("code", *JUDGEMENTS):
        table.add_column(column, justify="left" if column == "code" else "right")
    for code, row in counts.items():
        table.add_row(code, *(str(row[judgement]) for judgement in JUDGEMENTS))
    Console(markup=False, emoji=False).print(table)


def count_judgements(judged: Path) -> dict[str, Counter[str]]:
    """Judgements of a file that `sample` wrote and a person filled in: of `all` findings, and by code;
    suggestions apart, of ``all, suggested`` and ``C1, suggested``.

    Raises:
        InputRefused: it cannot be read, or a row is not judged; the message names the row.
    """
    try:
        text = judged.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputRefused("E_READ", f"{judged}: cannot be read") from None
    try:
        table = csv.DictReader(io.StringIO(text, newline=""))
        rows = _from_markdown(text) if judged.suffix == ".md" else list(table)
    except csv.Error:
        raise InputRefused("E_FORMAT", f"{judged}: neither CSV nor a table in Markdown") from None
    if not rows:
        raise InputRefused("E_EMPTY", f"{judged}: holds no finding")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for number, row in enumerate(rows, 1):
        judgement = (row.get("judgement") or "").strip().lower()
        if judgement not in JUDGEMENTS or not row.get("code"):
            raise InputRefused("E_FIELD", f"{judged}: finding {number} is not judged {', '.join(JUDGEMENTS)}")
        kind = ", suggested" if row.get("kind") == "suggestion" else ""
        counts[f"all{kind}"][judgement] += 1
        counts[f"{row['code']}{kind}"][judgement] += 1
    totals = [name for name in TOTALS if name in counts]
    return {name: counts[name] for name in (*totals, *sorted(counts.keys() - set(totals)))}


def _from_markdown(text: str) -> list[dict[str, str]]:
    """The rows of the table; an escaped mark in a cell is text."""
    hidden = _ESCAPED.sub(lambda mark: chr(HIDDEN + ord(mark[1])), text)
    lines = [line for line in hidden.split("\n") if line.startswith("|")]
    cells = [[_restore(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=False)) for row in cells[2:]] if cells else []


def _restore(cell: str) -> str:
    return _HIDDEN.sub(lambda mark: chr(ord(mark[0]) - HIDDEN), cell)
