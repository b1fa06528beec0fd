"""A log for jobs on a cluster, and the processes of its actors."""

from __future__ import annotations

import json
from pathlib import Path

from dialint.detector.artifacts import atomic_file

SAMPLE = Path(__file__).parents[1] / "app/sample/dialogues.jsonl"
N_TURNS = 2


def write_log(path: Path, n: int) -> None:
    """`n` dialogues of the first turns of the sample's."""
    rows = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
    with atomic_file(path) as file:
        for number in range(n):
            row = rows[number % len(rows)]
            turns = [dict(turn) for turn in row["turns"][:N_TURNS]]
            turns[0]["text"] = f"{turns[0]['text']} ({number})"
            line = {**row, "dialogue_id": f"{row['dialogue_id']}-{number}", "turns": turns}
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def find_actors(driver: int) -> list[int]:
    """Processes of actors that `driver` is an ancestor of."""
    parents: dict[int, int] = {}
    actors = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            pid = int(folder.name)
            parents[pid] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_bytes().startswith(b"ray::Scorer"):
                actors.append(pid)
        except OSError:
            continue

    def is_below(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == driver:
                return True
        return False

    return sorted(filter(is_below, actors))
