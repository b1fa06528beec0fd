"""Measures the recall and the false masks of masking.

    python runs/studies/masking_recall.py [tests/detector/masking_lines.jsonl] [--half test] [--author other]
    [--misses]

Reads labelled lines: ``{"text", "kind": plain|obfuscated|clean, "half": development|test, "entities":
[{"start", "end", "type"}]}``, optionally with "language" and "author". An entity is found if placeholders of
any type cover all its letters and digits; partial cover is a miss. A false mask is a placeholder that covers
no entity. Writes nothing. `--misses` lists lines by number and type, never by text.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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

    def __post_init__(self) -> None:
        if self.kind not in KINDS or any(not 0 <= e.start < e.end <= len(self.text) for e in self.entities):
            raise ValueError("kind or offsets")


@dataclass
class Tally:
    """Counts by (kind, type) and by kind; `misses` and `false` are (line, type), `hits` entities found."""

    entities: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    typed: Counter[tuple[str, str]] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    false_masks: Counter[str] = field(default_factory=Counter)
    misses: list[tuple[int, str]] = field(default_factory=list)
    false: list[tuple[int, str]] = field(default_factory=list)
    by_language: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Counts by (type, language, "entities" or "hits"), over all kinds of lines."""

    def recall(self, kind: str, type_: str | None = None) -> float:
        """Returns the share of entities found, in [0, 1], of one type or of all; NaN if there are none."""
        keys = [key for key in self.entities if key[0] == kind and type_ in (None, key[1])]
        total = sum(self.entities[key] for key in keys)
        return sum(self.hits[key] for key in keys) / total if total else float("nan")

    def false_per_thousand(self, kind: str = "clean") -> float:
        """Returns the false masks per 1,000 lines of a kind."""
        return 1000 * self.false_masks[kind] / self.lines[kind] if self.lines[kind] else float("nan")


def read_lines(path: Path) -> list[Line]:
    """Reads the labelled lines of a file.

    Raises:
        InputRefused: the file cannot be read, or a line is invalid.
    """
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputRefused("E_READ", f"{path}: {error.strerror}") from error
    lines: list[Line] = []
    for number, row in enumerate(rows, start=1):
        try:
            fields = json.loads(row)
            fields["entities"] = tuple(Entity(**entity) for entity in fields["entities"])
            lines.append(Line(number, **fields))
        except (ValueError, KeyError, TypeError) as error:
            raise InputRefused("E_FIELD", f"{path}:{number}: no labelled line") from error
    return lines


def measure(lines: Iterable[Line]) -> Tally:
    """Masks every line separately and counts."""
    tally = Tally()
    for line in lines:
        masked = mask_text(line.text)
        tally.lines[line.kind] += 1
        for entity in line.entities:
            key = (line.kind, entity.type)
            spans = [span for span in masked.spans if _overlaps(span, entity)]
            tally.entities[key] += 1
            tally.by_language[entity.type, line.language, "entities"] += 1
            if all(
                any(span.original_start <= offset < span.original_end for span in spans)
                for offset in range(entity.start, entity.end)
                if line.text[offset].isalnum()
            ):
                tally.hits[key] += 1
                tally.by_language[entity.type, line.language, "hits"] += 1
            else:
                tally.misses.append((line.number, entity.type))
            tally.typed[key] += any(_type(span, masked) == entity.type for span in spans)
        for span in masked.spans:
            if not any(_overlaps(span, entity) for entity in line.entities):
                tally.false_masks[line.kind] += 1
                tally.false.append((line.number, _type(span, masked)))
    return tally


def _type(span: Edit, masked: MaskedText) -> str:
    return masked.text[span.start + 1 : span.end].rpartition("_")[0]


def _overlaps(span: Edit, entity: Entity) -> bool:
    return span.original_start < entity.end and entity.start < span.original_end


def report(tally: Tally) -> str:
    """Formats the figures: recall by kind and type, then false masks by kind."""
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
    """Formats hits / entities by type and language as a Markdown table; the last column is the recall."""
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
            for what in ("hits", "entities")
        ]
        cells = [f"{hits}/{total}" if total else "" for hits, total in zip(*counts, strict=True)]
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
