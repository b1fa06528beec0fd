"""Makes tables of people's answers and a model's on dbdc3 and stc3, for `dialint label agreement`.

    dialint score DATA/dbdc3/data_en.parquet --out dbdc3.jsonl --languages en
    python runs/studies/annotator_test.py DATA/dbdc3/data_en.parquet dbdc3.jsonl OUT
    dialint label agreement --annotations OUT/people.csv --model OUT/model.csv --epsilon 0.1

Yes of people: dbdc3 X (a breakdown), XT (one or perhaps one); stc3 HNaN (a helpdesk turn that is not useful)
and A, S, E (a negative quality of the dialogue). Yes of the model: a finding in that turn or dialogue, with
`--suggestions` a suggestion too.
"""

from __future__ import annotations

import csv
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from cyclopts import App

from dialint.detector.artifacts import atomic_file, make_output_folder
from dialint.detector.verdict_files import read_verdicts

app = App(help="Make tables for dialint label agreement.")


@app.default
def main(corpus: Path, verdicts: Path, out: Path, *, suggestions: bool = False) -> None:
    """Write people.csv and model.csv to the new folder OUT."""
    reported = {
        verdict.dialogue_id: {each.turn for each in verdict.findings}
        | {each.turn for each in verdict.suggestions if suggestions}
        for verdict in read_verdicts(verdicts)
        if verdict.status == "scored"
    }
    people, model = [], {}
    for dialogue in pq.read_table(corpus).to_pylist():
        name = dialogue["dialogue_id"]
        agent_turns = {turn["turn_id"] for turn in dialogue["turns"] if turn["role"] == "agent"}
        for label in dialogue["labels"] if name in reported else ():
            turn = label["turn_id"]
            for code, is_bad in _codes(label, turn in agent_turns):
                task = name if turn < 0 else f"{name}/{turn}"
                people.append((task, label["annotator"], "yes" if is_bad else "no", code))
                is_reported = bool(reported[name]) if turn < 0 else turn in reported[name]
                model[task, code] = (task, "yes", int(is_reported), code)
    make_output_folder(out)
    for file, columns, rows in (
        ("people", "worker label", people),
        ("model", "label probability", model.values()),
    ):
        with atomic_file(out / f"{file}.csv") as stream, TextIOWrapper(stream, newline="") as text:
            csv.writer(text).writerows([("task", *columns.split(), "code"), *rows])
            text.flush()
            text.detach()
    print(f"{len(people)} answers, {len(model)} of the model, {sum(row[2] for row in model.values())} yes")


def _codes(label: dict[str, Any], is_agent: bool) -> list[tuple[str, bool]]:
    """The questions that a label answers, and whether it says yes."""
    category, value = label["category"], label["value"]
    if category == "breakdown":
        return [("X", value == "X"), ("XT", value != "O")]
    if category == "nugget":
        return [("HNaN", value == "HNaN")] if is_agent else []
    return [(category[-1], int(value) < 0)]


if __name__ == "__main__":
    app()
