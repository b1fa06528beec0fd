"""``python runs/studies/dataset_speed.py``: how many records a second the export of a dataset takes in.

Makes a log, three annotations a dialogue and verdicts in a temporary folder and exports them in several
ways, in turn; shows the best round of each by the clock and by processor time, and both against the same
export without a search for near-copies. A record is a dialogue with all that was said of it. One process
does it all, so a second core does not help.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.near_duplicates import RELATED
from dialint.detector.verdict_files import manifest_path
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.dataset.export import run

CODES = ("L1", "L2", "T1", "T2", "M2", "M3", "C1", "U2", "U3", "U5", "P1", "P4", "V2", "R1")
TURNS = 10
LABELERS = 3
ROUNDS = 3
WAYS: tuple[dict[str, Any], ...] = (
    {"near": 0.0},
    {"near": RELATED},
    {"near": 0.0, "format": "parquet"},
    {"near": RELATED, "format": "parquet"},
)
"""Options that are measured; the first is what the others are told against."""
SYLLABLES = ("ba", "lon", "ri", "sta", "mek", "tu", "vor", "ney", "pol", "gi", "sha", "dren")


def made(folder: Path, n_dialogues: int) -> None:
    """Write ``log.jsonl``, ``annotations.jsonl`` and ``verdicts.jsonl`` with its manifest."""
    rng = Random(0)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(4000)]
    with (
        open(folder / "log.jsonl", "w") as log,
        open(folder / "annotations.jsonl", "w") as annotations,
        open(folder / "verdicts.jsonl", "w") as verdicts,
    ):
        for number in range(n_dialogues):
            name = f"d{number}"
            texts = [" ".join(rng.choices(words, k=rng.randint(6, 18))) for _ in range(TURNS)]
            turns = [{"role": ("customer", "agent")[n % 2], "text": text} for n, text in enumerate(texts)]
            log.write(json.dumps({"dialogue_id": name, "agent": f"a{number % 50}", "turns": turns}) + "\n")
            for labeler in range(LABELERS):
                given = {"id": f"{name}-{labeler}", "dialogue_id": name, "labeler": f"w{labeler}"}
                kind = "reviewer" if labeler == 0 else "crowd"
                found = [_finding(rng, texts)] if rng.random() < 0.4 else []
                row = {**given, "kind": kind, "codes": CODES, "findings": found}
                annotations.write(json.dumps(row) + "\n")
            said = [_finding(rng, texts)] if rng.random() < 0.4 else []
            head = {
                "dialogue_id": name,
                "release": "r",
                "taxonomy": "1.0.0",
                "status": "scored",
                "quality": 90.0,
            }
            verdicts.write(json.dumps({**head, "findings": said}) + "\n")
    out = folder / "verdicts.jsonl"
    entry = file_entry(out, n_dialogues)
    write_manifest(manifest_path(out), {"kind": "verdicts", "format": "jsonl", "files": [entry]})


def _finding(rng: Random, texts: list[str]) -> dict[str, Any]:
    turn = rng.randrange(1, TURNS, 2)
    start = rng.randrange(len(texts[turn]) - 5)
    told = {"code": rng.choice(CODES), "turn": turn, "severity": "S2", "probability": 1.0, "reason": ""}
    return {**told, "quote": texts[turn][start : start + 5], "start": start, "end": start + 5}


class Pace(NamedTuple):
    """Dialogues a second, by the clock and by processor time."""

    wall: float
    processor: float


def measured(folder: Path, out: Path, n_dialogues: int, **options: Any) -> Pace:
    """How fast what `made` left in `folder` is exported to `out`."""
    config = DatasetConfig(
        masked=False,  # what masking costs is measured by itself
        dialogues=(str(folder / "log.jsonl"),),
        annotations=(folder / "annotations.jsonl",),
        verdicts=folder / "verdicts.jsonl",
        out=out,
        key="k",
        by=("dialogue",),
        **options,
    )
    wall, processor = time.perf_counter(), time.process_time()
    run(config)
    return Pace(n_dialogues / (time.perf_counter() - wall), n_dialogues / (time.process_time() - processor))


def best(folder: Path, n_dialogues: int) -> list[Pace]:
    """The best pace of each of `WAYS`, in rounds, so that a busy machine slows all of them."""
    paces = [Pace(0.0, 0.0)] * len(WAYS)
    for _ in range(ROUNDS):
        for number, options in enumerate(WAYS):
            with tempfile.TemporaryDirectory(dir=folder) as out:
                pace = measured(folder, Path(out), n_dialogues, **options)
            paces[number] = Pace(*map(max, paces[number], pace))
    return paces


def main() -> None:
    """Measure with as many dialogues as the first argument says (default 20,000)."""
    n_dialogues = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder, 100)
        best(folder, 100)  # imports and caches are no part of it
        made(folder, n_dialogues)
        paces = best(folder, n_dialogues)
    for options, pace in zip(WAYS, paces, strict=True):
        ratios = [own / plain for own, plain in zip(pace, paces[0], strict=True)]
        clock, work = (f"{own:,.0f} ({ratio:.2f})" for own, ratio in zip(pace, ratios, strict=True))
        print(f"{n_dialogues} dialogues, {options}: {clock} a second, {work} a second of processor time")


if __name__ == "__main__":
    main()
