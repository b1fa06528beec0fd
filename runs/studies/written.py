"""Makes the written corpus of what authors wrote and readers found: labelled examples in four sets.

    python runs/studies/written.py disputes FOLDER DISPUTES.jsonl    # what a third reader settles
    python runs/studies/written.py build FOLDER OUT

FOLDER/written/AUTHOR.jsonl has dialogues as their author wrote them, with the errors put in; FOLDER/read/ the
errors that a second reader listed who did not know them; FOLDER/settled.jsonl the third reader's answers
to the disputes; FOLDER/authors.tsv author, language, trade and set. An error that two of the three list is a
label of probability 1; one that two don't is none; where the third names another code or turn, the codes in
dispute are unlabelled in that dialogue. Near-copies of a dialogue in another set are left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import zstandard
from cyclopts import App

from dialint.detector.artifacts import atomic_file, file_entry, make_output_folder, write_manifest
from dialint.detector.near_duplicates import linking_pairs, shingles
from dialint.detector.records import Dialogue, Example, Label, Role, ToolCall, Turn

SETS = ("train", "dev", "calibration", "test")
SURE = 0.5
"""Probability from which a reader's error counts as listed."""
NEAR = 0.5
"""Similarity of word triples from which two dialogues are near-copies."""
ROLES: dict[str, Role] = {"C:": "customer", "S:": "system", "T:": "tool"}
"""Roles by the prefix of a turn; ``A:`` and ``A!``, a call, are the agent's or the bot's."""
_DOMAIN = re.compile(
    r"(@(?!example\.)[\w-]+(?:\.[\w-]+)*?)(?:\.(?!example\b)[a-z]{2,6})+(?![\w.-]*\.example\b)\b"
)
Row = dict[str, Any]
Place = tuple[int, str]
"""Turn and code."""
app = App(help="Make the written corpus.")


def _rows(path: Path) -> dict[str, Row]:
    text = path.read_text("utf-8") if path.exists() else ""
    lines = _DOMAIN.sub(r"\1.example", text).splitlines()  # which nobody can own
    return {row["id"]: row for row in map(json.loads, lines)}


def _listed(row: Row | None) -> dict[Place, str]:
    """The places of the errors that an author or a reader lists, with their quotes."""
    errors = row["errors"] if row else []
    return {(error[0], error[1]): error[2] for error in errors if len(error) < 4 or error[3] >= SURE}


def _aligned(row: Row, read: Row) -> tuple[dict[Place, str], dict[Place, str]]:
    """What the author and what the reader lists; of a call that one of them lists at the next words of the
    agent, both at the call."""
    one, other = _listed(row), _listed(read)
    for places, others in ((one, other), (other, one)):
        for turn, code in sorted(set(places) - set(others)):
            before = turn - 1
            while (
                before > 0
                and row["turns"][before].startswith(("T: ", "A! "))
                and (before, code) not in others
            ):
                before -= 1
            if (
                row["turns"][before].startswith("A! ")
                and (before, code) in others
                and (before, code) not in places
            ):
                places[before, code] = others[before, code]
                del places[turn, code]
    return one, other


def _authors(folder: Path) -> Iterator[tuple[str, str, str, str, dict[str, Row], dict[str, Row]]]:
    for line in (folder / "authors.tsv").read_text("utf-8").splitlines():
        author, language, trade, name = line.split("\t")
        written = _rows(folder / "written" / f"{author}.jsonl")
        yield author, language, trade, name, written, _rows(folder / "read" / f"{author}.jsonl")


@app.command
def disputes(folder: Path, out: Path) -> None:
    """Write what the author or the second reader lists and the other does not, without saying who."""
    with atomic_file(out) as file:
        for *_, written, read in _authors(folder):
            for name, row in written.items():
                if name not in read:
                    continue
                one, other = _aligned(row, read[name])
                places = sorted(set(one) ^ set(other))
                if places:
                    quotes = one | other
                    asked = [[turn, code, quotes[turn, code]] for turn, code in places]
                    file.write(
                        json.dumps({"id": name, "disputed": asked}, ensure_ascii=False).encode() + b"\n"
                    )


@app.command
def build(folder: Path, out: Path) -> None:
    """Write the packed sets, and the manifest of the unpacked, to the new folder OUT; print the agreement by
    code."""
    settled = _rows(folder / "settled.jsonl")
    examples: dict[str, list[Example]] = {name: [] for name in SETS}
    agreement: dict[str, Counter[str]] = defaultdict(Counter)
    for author, language, trade, name, written, read in _authors(folder):
        for row in written.values():
            if row["id"] not in read:
                continue
            labels, unlabelled = _settle(row, read[row["id"]], settled.get(row["id"]), agreement)
            dialogue, shift = _dialogue(row, language, {"author": author, "trade": trade})
            made = (
                _label(dialogue, turn + shift, code, quote) for (turn, code), quote in sorted(labels.items())
            )
            examples[name].append(
                Example(
                    dialogue=dialogue, labels=tuple(made), split=name, unlabelled=tuple(sorted(unlabelled))
                )
            )
    copies = _near_copies(examples)
    make_output_folder(out)
    files = []
    for name, rows in examples.items():
        kept = [example for example in rows if example.dialogue.id not in copies]
        path = out / f"{name}.jsonl"
        with atomic_file(path) as file:
            for example in kept:
                file.write(example.model_dump_json(exclude_defaults=True).encode() + b"\n")
        files.append(file_entry(path, len(kept)))
        with open(path, "rb") as plain, atomic_file(out / f"{name}.jsonl.zst") as packed:
            zstandard.ZstdCompressor(level=19).copy_stream(plain, packed)
        path.unlink()
        clean = sum(not example.labels for example in kept)
        print(f"{name}: {len(kept)} dialogues, {clean} without an error")
    write_manifest(
        out / "manifest.json",
        {
            "kind": "written-examples",
            "codes": sorted(code for code in agreement if agreement[code]["both"]),
            "sources": [{"name": "written", "licence": "Apache-2.0 (this project)", "trains": True,
                         "rows": sum(map(len, examples.values()))}],
            "files": files,
        },
    )  # fmt: skip
    print(f"near-copies left out: {len(copies)}")
    for code, counts in sorted(agreement.items()):
        print(code, dict(counts))


def _settle(
    row: Row, read: Row, third: Row | None, agreement: dict[str, Counter[str]]
) -> tuple[dict[Place, str], set[str]]:
    """The labels with their quotes, and the codes that stay open. The third reader's answer to a place is
    true, false, or [turn, code] where the error is another."""
    one, other = _aligned(row, read)
    labels = {place: quote for place, quote in one.items() if place in other}
    for _, code in labels:
        agreement[code]["both"] += 1
    answers = {(turn, code): answer for turn, code, answer in third["answers"]} if third else {}
    disputed = {place: quote for place, quote in {**one, **other}.items() if place not in labels}
    for _, code in disputed:
        agreement[code]["disputed"] += 1
    labels |= {place: quote for place, quote in disputed.items() if answers.get(place) is True}
    unlabelled = {
        place[1]
        for place in disputed
        if (answer := answers.get(place)) not in (True, False)
        and not (answer and tuple(answer) in labels)  # else two of three list the error as that other one
    }
    return labels, unlabelled - {code for _, code in labels}


def _dialogue(row: Row, language: str, metadata: dict[str, Any]) -> tuple[Dialogue, int]:
    """The dialogue, and the number of turns before the first that was written: a policy is a system turn."""
    times = [_time(text) for text in row.get("times") or []]
    lines, shift = list(row["turns"]), 0
    if policy := row.get("policy"):
        shift = int(not lines[0].startswith("S: "))
        lines[:0] = [f"S: {policy}"] if shift else []
        lines[0] = lines[0] if shift or policy in lines[0] else f"{lines[0]}\n\n{policy}"
    turns = []
    for index, line in enumerate(lines):
        kind, text = line[:2], line[3:]
        call = re.fullmatch(r"(\S+) (\{.*\})", text, re.DOTALL) if kind == "A!" else None
        turns.append(
            Turn(
                index=index,
                role=ROLES.get(kind, row["agent"]),
                text="" if call else text,
                tool_calls=(ToolCall(name=call[1], arguments=json.loads(call[2])),) if call else (),
                at=times[index - shift] if times and index >= shift else None,
            )
        )
    contrary = [[turn + shift, code] for turn, code in row["contrary"]]
    dialogue = Dialogue(
        id=row["id"],
        turns=tuple(turns),
        language=language,
        channel=row["channel"],
        sources=tuple(row.get("sources") or ()),
        metadata={**metadata, "contrary": contrary},
    )
    return dialogue, shift


def _time(text: str) -> datetime:
    """A time of day, on a day that stands for any, or a date with a time."""
    whole = text if "-" in text else f"2026-03-02 {text}"
    return datetime.fromisoformat(whole).replace(tzinfo=UTC)


def _label(dialogue: Dialogue, index: int, code: str, quote: str) -> Label:
    turn = dialogue.turns[index]
    start, end = 0, turn.n_places
    if not turn.is_silent_act and (at := turn.text.find(quote)) >= 0:
        start, end = at, at + len(quote)
    return Label(
        dialogue_id=dialogue.id, turn=index, code=code, probability=1.0, method="written", n_labelers=2,
        start=start, end=end,
    )  # fmt: skip


def _near_copies(examples: dict[str, list[Example]]) -> set[str]:
    """Dialogues of which another set, an earlier one of test, calibration, dev and train, has a near-copy."""
    rows = [(name, row.dialogue) for name in reversed(SETS) for row in examples[name]]
    texts = ["\n".join(turn.text for turn in dialogue.turns) for _, dialogue in rows]
    pairs = linking_pairs(list(map(shingles, texts)), NEAR)
    return {rows[max(pair)][1].id for pair in pairs if rows[pair[0]][0] != rows[pair[1]][0]}


if __name__ == "__main__":
    app()
