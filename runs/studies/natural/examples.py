"""Builds labelled examples of errors in real dialogues, for training and calibration.

    DIALINT_DATA=... python runs/studies/natural/examples.py build/natural
    dialint data mix --examples build/examples build/natural --repeat 0.3 4 --out build/mixed

`readings.jsonl` lists whole dialogues with their errors: turn, code, whether the reader was sure, and the
offsets of the evidence. It has no text, which is joined from the corpora. The reader was a large language
model with the taxonomy, the whole dialogue with its tools' results and, for tau_bench, the policies; each
dialogue was read once, and by no person. Excluded are dialogues of the natural development set
(`turns.jsonl`, `findings.jsonl`), tasks of tau_bench with a wrong gold reward, and corpora whose terms
exclude the release of weights, except SGD, which is never trained on. A sure error has probability 1, an
unsure one 0.5. Sets: ``train``, ``dev``, ``calibration`` by a hash of the dialogue's group (tau_bench: the
task, so that no task is in two), and ``test_natural_sgd``.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from cyclopts import App

from dialint.detector.artifacts import atomic_file, file_entry, make_output_folder, write_manifest
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.records import Dialogue, Example, Label

HERE = Path(__file__).parent
CORPORA = {
    "star": ("star/data.parquet", "MIT (RasaHQ/STAR)"),
    "tau_bench": ("tau_bench/data.parquet", "MIT (sierra-research/tau-bench, tau2-bench)"),
    "multiwoz": ("multiwoz_en_ru/data_en.parquet", "MIT (MultiWOZ)"),
    "taskmaster4": ("taskmaster4/data.parquet", "CC BY 4.0 (Google Taskmaster)"),
    "sgd": ("sgd/data.parquet", "CC BY-SA 4.0 (Google SGD)"),
}
SETS = {"dev": 0.08, "calibration": 0.22}
PROCESS = ("P1", "P2", "P3", "P4")
"""Labelled in tau_bench only, where the reader had the policies."""
app = App(help="Make examples of the errors read in real dialogues.")


def set_of(corpus: str, dialogue_id: str) -> str:
    """Returns the set of a dialogue."""
    if corpus == "sgd":
        return "test_natural_sgd"
    task = re.search(r"(?:airline|retail)#\d+", dialogue_id) if corpus == "tau_bench" else None
    group = task[0] if task else dialogue_id
    index = int(sha256(f"natural/{group}".encode()).hexdigest()[:8], 16) / 2**32
    for name, share in SETS.items():
        if index < share:
            return name
        index -= share
    return "train"


@app.default
def main(out: Path, *, every: int = 1) -> None:
    """Write the sets and their manifest to the new folder OUT, from one reading in `every`."""
    readings: dict[str, dict[str, Any]] = {}
    for line in (HERE / "readings.jsonl").read_text(encoding="utf-8").splitlines()[::every]:
        row = json.loads(line)
        readings[row["dialogue"]] = row
    examples: dict[str, list[Example]] = {}
    for corpus in CORPORA:
        ids = {name for name, row in readings.items() if row["corpus"] == corpus}
        unlabelled = () if corpus == "tau_bench" else PROCESS
        for dialogue in _dialogues(corpus, ids):
            name = set_of(corpus, dialogue.id)
            labels = tuple(_labels(dialogue, readings[dialogue.id]["errors"]))
            examples.setdefault(name, []).append(
                Example(
                    dialogue=dialogue.without_edits(),
                    labels=tuple(label for label in labels if label.code not in unlabelled),
                    split=name,
                    unlabelled=unlabelled,
                )
            )
    make_output_folder(out)
    files = []
    for name, rows in sorted(examples.items()):
        with atomic_file(out / f"{name}.jsonl") as file:
            for example in rows:
                file.write(example.model_dump_json(exclude_defaults=True).encode() + b"\n")
        files.append(file_entry(out / f"{name}.jsonl", len(rows)))
        counts = Counter(label.code for example in rows for label in example.errors)
        print(f"{name}: {len(rows)} dialogues, {counts.total()} sure errors: {dict(counts.most_common())}")
    counts = Counter(label.code for rows in examples.values() for row in rows for label in row.errors)
    sources = [
        {"name": f"{name}, read", "licence": licence, "trains": name != "sgd",
         "rows": sum(row["corpus"] == name for row in readings.values())}
        for name, (_, licence) in CORPORA.items()
    ]  # fmt: skip
    write_manifest(
        out / "manifest.json",
        {"kind": "natural-examples", "codes": sorted(counts), "sources": sources, "files": files},
    )


def _dialogues(corpus: str, ids: set[str]) -> Iterator[Dialogue]:
    """Yields the dialogues of a corpus with these ids, as read by `dialint`."""
    table = pq.read_table(Path(os.environ["DIALINT_DATA"]) / CORPORA[corpus][0])
    table = table.filter(pc.is_in(table["dialogue_id"], value_set=pc.cast(sorted(ids), "string")))
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{corpus}.parquet"
        pq.write_table(table, path)
        for item in read(open_logs([str(path)]), ReadConfig(max_bad=1.0), Counts()):
            if isinstance(item, Loaded):
                yield item.dialogue


def _labels(dialogue: Dialogue, errors: list[dict[str, Any]]) -> Iterator[Label]:
    """Yields a label for each turn and code; a sure one replaces an unsure one."""
    best: dict[tuple[int, str], dict[str, Any]] = {}
    for error in errors:
        key = (error["turn"], error["code"])
        if key not in best or (error["sure"] and not best[key]["sure"]):
            best[key] = error
    for (turn, code), error in sorted(best.items()):
        yield Label(
            dialogue_id=dialogue.id,
            turn=turn,
            code=code,
            probability=1.0 if error["sure"] else 0.5,
            method="read",
            n_labelers=1,
            start=error.get("start"),
            end=error.get("end"),
        )


if __name__ == "__main__":
    app()
