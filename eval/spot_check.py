"""Draws findings, suggestions and turns without a finding for a person to judge.

    dialint eval spot-check verdicts.jsonl --log log.jsonl --out check

`check/sheet.csv` holds dialogue text (personal data as placeholders) and `check/instructions.md` the codes:
they are for the reader, not for a repository. `check/manifest.json` holds the sample, by ids, so that a
spreadsheet may mangle all but the columns number, code, judgement and missed, which `eval/judgements.py`
reads. No model judges findings here.
"""

from __future__ import annotations

import csv
import hashlib
import heapq
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    fingerprint,
    making_folder,
    read_manifest,
    require_new,
    write_manifest,
)
from dialint.detector.calibration import format_probability
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, inspect, open_logs, read
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import command_options
from dialint.detector.records import JUDGED_ROLES, Dialogue, Finding, Probability, Record, Turn, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.verdict_files import VerdictManifest, escape_cell, manifest_path, read_verdicts

Reported = Literal["finding", "suggestion"]
Kind = Literal[Reported, "turn"]
JUDGEMENTS = ("right", "wrong", "arguable")
NOTHING = "none"
"""Word of the reader in `missed` for a turn without error."""
COLUMNS = (
    "number", "kind", "code", "question", "context", "text", "quote", "reason", "judgement", "missed", "note",
    "dialogue", "turn", "probability", "weight",
)  # fmt: skip
SHEET = "sheet.csv"
INSTRUCTIONS = Path(__file__).with_name("instructions.md.jinja")
SECONDS_A_ROW = 30
"""Reading time, for the estimate."""
CONTEXT_CHARACTERS = 4000
"""Maximum characters of the turns before the judged one, the nearest first; a cell of a spreadsheet holds
32,767."""
TOOL_CHARACTERS = 500
"""Maximum characters of a tool's result or call."""
AFTER = 2
"""Number of turns after the judged one."""


@dataclass(frozen=True, kw_only=True)
class DrawSize:
    """The size of the sample."""

    findings: Annotated[int, Field(ge=1)] = 60
    """Findings and suggestions to draw; two thirds are findings where there are enough."""
    turns: Annotated[int, Field(ge=0)] = 60
    """Agents' turns without a finding to draw."""
    seed: int = 0
    """The same seed draws the same."""


@command_options
class SpotCheckConfig(DrawSize):
    """Options of `dialint eval spot-check`."""

    log: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """The log that was scored."""
    out: Path
    """A new folder for the sheet."""
    taxonomy: Path | None = None
    """The taxonomy file that the log was scored with, if it was not the packaged one."""


class SheetRow(Record):
    """One row of the sheet. `weight`: the number of its kind and code in the verdicts that it represents."""

    number: int
    kind: Kind
    code: str
    dialogue: str
    turn: int
    probability: Probability | None
    weight: float


class SpotCheck(Record):
    """The sample, as ``manifest.json`` holds it. `reported` counts all findings and suggestions of the
    verdicts by kind and code, `unflagged` the agents' turns without a finding."""

    release: str
    taxonomy: str
    log: str
    seed: int
    codes: tuple[str, ...]
    reported: dict[Reported, dict[str, int]]
    unflagged: int
    rows: tuple[SheetRow, ...]


def spot_check(
    verdicts: Path,
    /,
    *,
    config: Annotated[SpotCheckConfig, Parameter(name="*")],
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> None:
    """Draw findings, suggestions and turns without a finding for a person to judge in an hour."""
    require_new(config.out)
    reading, taxonomy = reading or ReadConfig(), load_taxonomy(config.taxonomy)
    scored = list(read_verdicts(verdicts))
    work = read_manifest(manifest_path(verdicts), expected=VerdictManifest).get("work", {})
    if work.get("release", {}).get("overrides", {}).get("spot_check"):
        raise ConfigError("E_OPTION", f"{verdicts}: scored with a spot check; draw from verdicts without it")
    sources = open_logs(list(config.log))
    hashes = sorted(inspect(source, reading) for source in sources)
    if "inputs" in work and hashes != sorted(each["sha256"] for each in work["inputs"]):
        print(
            "dialint: --log: its files are not those that were scored (changed, or in another form); a row "
            "is right only where its dialogue is the same",
            file=sys.stderr,
        )
    missing = {verdict.dialogue_id for verdict in scored}

    def log() -> Iterator[Dialogue]:
        for item in read(sources, reading, Counts()):
            if isinstance(item, Loaded):
                missing.discard(item.dialogue.id)
                yield item.dialogue

    result, lines = draw(scored, log(), fingerprint(hashes), taxonomy, config)
    if missing:  # what is drawn from a part of the log stands for that part only
        raise ConfigError(
            "E_OPTION", f"--log: {len(missing)} of {len(scored)} dialogues of {verdicts} are not in it"
        )
    write_sheet(config.out, result, lines, taxonomy)
    n_turns = sum(row.kind == "turn" for row in result.rows)
    n_findings, minutes = len(result.rows) - n_turns, math.ceil(len(result.rows) * SECONDS_A_ROW / 60)
    print(
        f"{n_findings} findings and suggestions and {n_turns} turns without a finding in "
        f"{config.out / SHEET}: about {minutes} minutes. How to judge them: "
        f"{config.out / 'instructions.md'}; "
        f"then: dialint eval contract {verdicts} --sheet {config.out / SHEET}"
    )


def draw(
    scored: Sequence[Verdict], log: Iterable[Dialogue], log_hash: str, taxonomy: Taxonomy, size: DrawSize
) -> tuple[SpotCheck, list[dict[str, Any]]]:
    """Draws from verdicts and the dialogues of their log, which is read once, and returns the sample and the
    lines of the sheet. `log_hash` is the fingerprint of the log.

    Raises:
        InputRefused: E_EMPTY, there is nothing to judge.
        ConfigError: E_OPTION, a drawn turn is not in its dialogue.
    """
    reported = [
        (kind, finding.code, verdict.dialogue_id, finding)
        for verdict in scored
        for kind, findings in (("finding", verdict.findings), ("suggestion", verdict.suggestions))
        for finding in findings
    ]
    if not reported and not size.turns:
        raise InputRefused("E_EMPTY", "the verdicts hold no finding, so there is nothing to judge")
    sizes = {
        reported_as: dict(sorted(Counter(code for kind, code, *_ in reported if kind == reported_as).items()))
        for reported_as in get_args(Reported)
    }
    sample: list[tuple[Kind, str, str, int, Finding | None, float]] = []
    for kind, code, n in _allocate(sizes, size.findings):
        stratum = [each for each in reported if each[:2] == (kind, code)]
        chosen = heapq.nsmallest(n, stratum, key=lambda each: _order(size.seed, each[2], each[3].turn))
        sample += [(kind, code, name, f.turn, f, len(stratum) / n) for _, _, name, f in chosen]
    sample.sort(key=lambda each: _order(size.seed, "rows", each[1], each[2], each[3]))
    turns, unflagged, dialogues = _draw_turns(log, scored, {name for _, _, name, *_ in sample}, size)
    sample = [each for each in sample if each[2] in dialogues]  # the caller refuses a log that lacks any
    sample += [("turn", "", name, turn, None, unflagged / len(turns)) for name, turn in turns]
    rows = tuple(
        SheetRow(
            number=number,
            kind=kind,
            code=code,
            dialogue=name,
            turn=turn,
            probability=finding.probability if finding else None,
            weight=round(weight, 4),
        )
        for number, (kind, code, name, turn, finding, weight) in enumerate(sample, 1)
    )
    lines = [
        _row(row, dialogues[row.dialogue], finding, taxonomy)
        for row, (_, _, _, _, finding, _) in zip(rows, sample, strict=True)
    ]
    result = SpotCheck(
        release=scored[0].release if scored else "",
        taxonomy=scored[0].taxonomy if scored else "",
        log=log_hash,
        seed=size.seed,
        codes=tuple(taxonomy.codes),
        reported=sizes,
        unflagged=unflagged,
        rows=rows,
    )
    return result, lines


def write_sheet(
    folder: Path, result: SpotCheck, lines: Iterable[Mapping[str, Any]], taxonomy: Taxonomy
) -> None:
    """Writes a sample into a new folder: the sheet, the instructions with the codes, and the manifest."""
    from jinja2 import Template

    template = Template(INSTRUCTIONS.read_text(encoding="utf-8"), keep_trailing_newline=True)
    instructions = template.render(codes=taxonomy.codes, nothing=NOTHING, sheet=SHEET)
    with making_folder(folder) as part:
        for name, content in ((SHEET, _csv(lines)), ("instructions.md", instructions)):
            with atomic_file(part / name) as file:
                file.write(content.encode())
        write_manifest(part / MANIFEST, {"kind": "spot check", **result.model_dump(mode="json")})


def write_rows(sheet: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Rewrites a sheet from escaped cells, as `eval.judgements.read_sheet` returns them."""
    with atomic_file(sheet) as file:
        whole = ({name: row.get(name, "") for name in COLUMNS} for row in rows)
        file.write(_csv(whole, is_escaped=True).encode())


def _order(seed: int, *parts: object) -> bytes:
    """Returns a sort key for a random order that depends on the seed and the ids alone."""
    return hashlib.sha256("\0".join(map(str, (seed, *parts))).encode()).digest()


def _allocate(sizes: Mapping[Reported, Mapping[str, int]], total: int) -> list[tuple[Reported, str, int]]:
    """Allocates the sample to kinds and codes: two thirds of `total` are findings if there are enough, and a
    code's share is by the square root of its size, so that rare codes occur and frequent ones have a precise
    estimate.

    Source: Bankier, The American Statistician 42 (1988), power allocations with an exponent of one half.
    """
    n = {kind: sum(codes.values()) for kind, codes in sizes.items()}
    suggestions = min(n["suggestion"], max(total // 3, total - n["finding"]))
    quota = {"finding": min(n["finding"], total - suggestions), "suggestion": suggestions}
    results = []
    for kind, codes in sizes.items():
        allocated = dict.fromkeys(codes, 0)
        for _ in range(quota[kind]):
            # the next row goes where it raises the smallest share of the square root
            code = min(
                (code for code in codes if allocated[code] < codes[code]),
                key=lambda code: (allocated[code] / math.sqrt(codes[code]), -codes[code], code),
            )
            allocated[code] += 1
        results += [(kind, code, count) for code, count in allocated.items() if count]
    return results


def _draw_turns(
    log: Iterable[Dialogue], scored: Sequence[Verdict], wanted: set[str], size: DrawSize
) -> tuple[list[tuple[str, int]], int, dict[str, Dialogue]]:
    """Draws judged turns of agents without a finding at random; returns them, the number of all, and the
    dialogues of these and the `wanted` ones."""
    excluded = {
        verdict.dialogue_id: {finding.turn for finding in verdict.findings}
        | {turn for gap in verdict.not_judged for turn in gap.turns}
        for verdict in scored
        if verdict.status == "scored"
    }
    n, dialogues = 0, {}

    def candidates() -> Iterator[tuple[bytes, int, Dialogue]]:
        nonlocal n
        for dialogue in log:
            if dialogue.id in wanted:
                dialogues[dialogue.id] = dialogue
            for turn in dialogue.turns if dialogue.id in excluded else ():
                if (
                    turn.role in JUDGED_ROLES
                    and turn.text.strip()
                    and turn.index not in excluded[dialogue.id]
                ):
                    n += 1
                    yield _order(size.seed, "turn", dialogue.id, turn.index), turn.index, dialogue

    # at least one, so that the log is read to its end
    lowest = heapq.nsmallest(max(1, size.turns), candidates(), key=lambda each: each[0])[: size.turns]
    dialogues |= {dialogue.id: dialogue for _, _, dialogue in lowest}
    return [(dialogue.id, turn) for _, turn, dialogue in lowest], n, dialogues


def _row(row: SheetRow, dialogue: Dialogue, finding: Finding | None, taxonomy: Taxonomy) -> dict[str, Any]:
    masked, _ = mask_dialogue(dialogue)
    position = next((place for place, turn in enumerate(masked.turns) if turn.index == row.turn), None)
    if position is None:
        raise ConfigError(
            "E_OPTION", f"--log: dialogue {dialogue.id} has no turn {row.turn}; is it another log?"
        )
    before: list[str] = []
    for turn in reversed(masked.turns[:position]):
        line = turn_line(turn)
        if before and sum(map(len, before)) + len(line) > CONTEXT_CHARACTERS:
            before.append(f"[{position - len(before)} earlier turns left out]")
            break
        before.append(line[-CONTEXT_CHARACTERS:])
    after = [f"[after] {turn_line(turn)}" for turn in masked.turns[position + 1 : position + 1 + AFTER]]
    code = taxonomy.codes.get(row.code)
    return {
        "number": row.number,
        "kind": row.kind,
        "code": row.code,
        "question": f"{code.name.en}: {code.test}" if code else "",
        "context": "\n".join([*reversed(before), "[the turn to judge]", *after]),
        "text": turn_line(masked.turns[position]),
        "quote": finding.quote if finding else "",
        "reason": finding.reason if finding else "",
        "judgement": "",
        "missed": "",
        "note": "",
        "dialogue": row.dialogue,
        "turn": row.turn,
        "probability": format_probability(row.probability) if row.probability is not None else "",
        "weight": f"{row.weight:g}",
    }


def turn_line(turn: Turn) -> str:
    """Formats a turn with its role; tool calls and results are shortened and marked as unseen."""
    calls = [f"call {call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in turn.tool_calls]
    unseen = [f"[not seen by the customer: {call[:TOOL_CHARACTERS]}]" for call in calls]
    if turn.role == "tool":
        return f"[not seen by the customer] tool: {turn.text[:TOOL_CHARACTERS]}"
    return " ".join([f"{turn.role}: {turn.text}".rstrip(), *unseen])


def _csv(rows: Iterable[Mapping[str, Any]], *, is_escaped: bool = False) -> str:
    """Formats the sheet, with a byte order mark, by which Excel detects UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    writer.writerows(
        [str(row[name]) if is_escaped or row[name] == "" else escape_cell(str(row[name])) for name in COLUMNS]
        for row in rows
    )
    return "\ufeff" + text.getvalue()
