"""``dialint score --cluster ray`` against one machine: 5,000 short dialogues, an actor and the driver killed.

    python runs/studies/cluster_study.py FOLDER [N]

Needs the extra ``cluster``. Makes FOLDER/log.jsonl from the first turns of the sample, each dialogue with a
number of its own in it, and scores it in one process; by two actors, one of which is killed (SIGKILL) when a
third is committed; and by two actors, the whole command killed there and started again. Prints the seconds of
each and whether the verdicts are the same bytes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dialint.detector.artifacts import atomic_file, make_output_folder

SAMPLE = Path(__file__).parents[2] / "app/sample/dialogues.jsonl"
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


def score(log: Path, out: Path, *options: str, kill: Callable[[int], None] | None = None) -> float:
    """Seconds of one command. `kill` is called with its process id when a third is committed."""
    n = log.read_bytes().count(b"\n")
    command = [
        sys.executable,
        "-m",
        "dialint",
        "score",
        str(log),
        "--out",
        str(out),
        "--threads",
        "1",
        *options,
    ]
    journal = out.with_name(f".{out.stem}.job") / "journal.jsonl"
    started_s = time.monotonic()
    with subprocess.Popen([*command, "--quiet"]) as process:
        while process.poll() is None:
            time.sleep(0.2)
            if kill is not None and journal.exists():
                rows = sum(
                    json.loads(line)["rows"]
                    for line in journal.read_text().splitlines(keepends=True)
                    if line.endswith("\n")
                )
                if rows >= n / 3:
                    print(f"  killing after {rows} committed dialogues", flush=True)
                    kill(process.pid)
                    kill = None
    return time.monotonic() - started_s


def main(folder: Path, n: int) -> None:
    make_output_folder(folder)
    log = folder / "log.jsonl"
    write_log(log, n)
    ray = ("--cluster", "ray", "--actors", "2")
    one = folder / "one.jsonl"
    print(f"one process: {score(log, one):.0f} s", flush=True)
    expected = one.read_bytes()
    out = folder / "actor.jsonl"
    seconds = score(log, out, *ray, kill=lambda pid: os.kill(find_actors(pid)[0], signal.SIGKILL))
    print(f"two actors, one killed: {seconds:.0f} s; same bytes: {out.read_bytes() == expected}", flush=True)
    out = folder / "driver.jsonl"
    first = score(log, out, *ray, kill=lambda pid: os.kill(pid, signal.SIGKILL))
    second = score(log, out, *ray)
    ids = [json.loads(line)["dialogue_id"] for line in out.read_text("utf-8").splitlines()]
    print(
        f"two actors, driver killed: {first:.0f} s, again: {second:.0f} s; same bytes: "
        f"{out.read_bytes() == expected}; {len(ids)} verdicts of {len(set(ids))} dialogues",
        flush=True,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5000)
