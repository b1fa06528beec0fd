"""How much personal data masking finds, and how often it masks what is none.

    python runs/studies/masking_recall.py [tests/detector/masking_lines.jsonl] [--half test] [--author other]
    [--misses]

Reads labelled lines: ``{"text", "kind": plain|obfuscated|clean, "half": development|test, "entities":
[{"start", "end", "type"}]}``, and a
"language" and an "author" where lines are of several. An entity is found when every letter and digit of it
lies under a
placeholder of any type; a leaked half counts as a miss. A false mask is a placeholder that covers no
entity. Writes nothing. `--misses` names lines by number and type, never by text.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialint.detector.errors import ConfigError, DialintError, InputRefused
from dialint.detector.masking import MaskedText, mask_text
from dialint.detector.offsets import Edit

DEFAULT_LINES = Path("tests/detector/masking_lines.jsonl")
KINDS = ("plain", "obfuscated", "clean")


@dataclass(frozen=True)
class Entity:
    """Personal data at ``[start, end)`` of a line's text."""

    start: int
    end: int
    type: str


@dataclass(frozen=True)
class Line:
    """One labelled line; `number` counts from 1 in its file."""

    number: int
    text: str
    kind: str
    half: str
    entities: tuple[Entity, ...]
    language: str = "en"
    author: str = ""


@dataclass
class Tally:
    """Counts by (kind, type) and by kind; `misses` and `false` are (line, type)."""

    entities: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    typed: Counter[tuple[str, str]] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    false_masks: Counter[str] = field(default_factory=Counter)
    misses: list[tuple[int, str]] = field(default_factory=list)
    false: list[tuple[int, str]] = field(default_factory=list)
    by_language: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(type, language, "entities" or "found"), over all kinds of lines."""

    def recall(self, kind: str, type_: str | None = None) -> float:
        """Share of entities found, in [0, 1]; of one type, or of all; NaN where there are none."""
        keys = [key for key in self.entities if key[0] == kind and type_ in (None, key[1])]
        total = sum(self.entities[key] for key in keys)
        return sum(self.found[key] for key in keys) / total if total else float("nan")

    def false_per_thousand(self, kind: str = "clean") -> float:
        """False masks per 1,000 lines of a kind."""
        return 1000 * self.false_masks[kind] / self.lines[kind] if self.lines[kind] else float("nan")


def read_lines(path: Path) -> list[Line]:
    """The labelled lines of a file.

    Raises:
        InputRefused: the file is missing, or a line is no labelled line; the message names it.
    """
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputRefused("E_READ", f"{path}: {error.strerror}") from error
    lines: list[Line] = []
    for number, row in enumerate(rows, start=1):
        try:
            lines.append(_line(number, json.loads(row)))
        except (ValueError, KeyError, TypeError) as error:
            raise InputRefused("E_FIELD", f"{path}:{number}: no labelled line") from error
    return lines


def _line(number: int, row: dict[str, Any]) -> Line:
    entities = tuple(Entity(**entity) for entity in row["entities"])
    if row["kind"] not in KINDS or any(not 0 <= e.start < e.end <= len(row["text"]) for e in entities):
        raise ValueError("kind or offsets")
    return Line(
        number,
        row["text"],
        row["kind"],
        row["half"],
        entities,
        row.get("language", "en"),
        row.get("author", ""),
    )


def measure(lines: Iterable[Line]) -> Tally:
    """Mask every line by itself and count."""
    tally = Tally()
    for line in lines:
        _count(tally, line, mask_text(line.text))
    return tally


def _count(tally: Tally, line: Line, masked: MaskedText) -> None:
    tally.lines[line.kind] += 1
    for entity in line.entities:
        key = (line.kind, entity.type)
        tally.entities[key] += 1
        tally.by_language[entity.type, line.language, "entities"] += 1
        if _is_covered(line.text, entity, masked):
            tally.found[key] += 1
            tally.by_language[entity.type, line.language, "found"] += 1
        else:
            tally.misses.append((line.number, entity.type))
        tally.typed[key] += any(_kind(span, masked) == entity.type for span in _touching(entity, masked))
    for span in masked.spans:
        if not any(e.start < span.original_end and span.original_start < e.end for e in line.entities):
            tally.false_masks[line.kind] += 1
            tally.false.append((line.number, _kind(span, masked)))


def _kind(span: Edit, masked: MaskedText) -> str:
    return masked.text[span.start + 1 : span.end].rpartition("_")[0]


def _touching(entity: Entity, masked: MaskedText) -> list[Edit]:
    return [s for s in masked.spans if s.original_start < entity.end and entity.start < s.original_end]


def _is_covered(text: str, entity: Entity, masked: MaskedText) -> bool:
    spans = _touching(entity, masked)
    return all(
        any(span.original_start <= place < span.original_end for span in spans)
        for place in range(entity.start, entity.end)
        if text[place].isalnum()
    )


def report(tally: Tally) -> str:
    """The figures as text: recall by kind and type, then false masks by kind."""
    rows = [f"{'kind':12}{'type':10}{'entities':>9}{'recall':>9}{'right type':>12}"]
    for kind in KINDS[:2]:
        types = sorted(key[1] for key in tally.entities if key[0] == kind)
        for type_ in types:
            total = tally.entities[kind, type_]
            share = tally.typed[kind, type_] / total
            rows.append(f"{kind:12}{type_:10}{total:9}{tally.recall(kind, type_):9.3f}{share:12.3f}")
        total = sum(count for key, count in tally.entities.items() if key[0] == kind)
        rows.append(f"{kind:12}{'all':10}{total:9}{tally.recall(kind):9.3f}")
    rows += [
        f"false masks on {kind} lines: {tally.false_masks[kind]} in {tally.lines[kind]}, "
        f"{tally.false_per_thousand(kind):.1f} per 1,000"
        for kind in KINDS
    ]
    return "\n".join(rows)


def language_table(tally: Tally) -> str:
    """Found of all entities by type and language, as a table in Markdown; the last column is the share."""
    languages = sorted({key[1] for key in tally.by_language})
    rows = [f"| type | {' | '.join(languages)} | recall |", "|---" * (len(languages) + 2) + "|"]
    for type_ in (*sorted({key[0] for key in tally.by_language}), "all"):
        counts = [
            [
                sum(
                    n
                    for key, n in tally.by_language.items()
                    if key[1:] == (language, what) and type_ in (key[0], "all")
                )
                for language in languages
            ]
            for what in ("found", "entities")
        ]
        cells = [f"{found}/{total}" if total else "" for found, total in zip(*counts, strict=True)]
        rows.append(f"| {type_} | {' | '.join(cells)} | {sum(counts[0]) / sum(counts[1]):.2f} |")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; exit code 0, or 2 when the lines cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python runs/studies/masking_recall.py", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("lines", nargs="?", type=Path, default=DEFAULT_LINES)
    parser.add_argument("--half", choices=("development", "test"), help="only this half of the lines")
    parser.add_argument("--author", help="only the lines that this author wrote")
    parser.add_argument("--misses", action="store_true", help="list line numbers of misses and false masks")
    options = parser.parse_args(arguments)
    try:
        lines = [
            line
            for line in read_lines(options.lines)
            if options.half in (None, line.half) and options.author in (None, line.author)
        ]
        if not lines:
            raise ConfigError(
                "E_OPTION",
                f"{options.lines}: no lines of half {options.half!r} and author {options.author!r}",
            )
        tally = measure(lines)
    except DialintError as error:
        sys.stderr.write(f"masking_recall: {error}\n")
        return error.exit_code
    sys.stdout.write(report(tally) + "\n")
    if len({line.language for line in lines}) > 1:
        sys.stdout.write(language_table(tally) + "\n")
    if options.misses:
        sys.stdout.write(f"missed: {tally.misses}\nfalse: {tally.false}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
