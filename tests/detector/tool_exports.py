"""The exports in `ingest/exports`: a file of every tool whose exports are read as they come, made up, each with the
same dialogue."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

QUESTION, NOTE, ANSWER, THANKS = (
    "Where is my lamp?", "She is rude again.", "It ships on Friday.", "Thank you.",
)  # fmt: skip
HELLO = "Lamp House, how can I help you?"
START = 1772442845
TIMES = [f"2026-03-02T09:{14 + minute}:05Z" for minute in range(4)]
EPOCHS = [START + 60 * minute for minute in range(4)]
FOLDER = Path(__file__).with_name("ingest") / "exports"


@dataclass(frozen=True)
class Export:
    """A file of one tool and how it differs; its fields are those of `exports.yaml`."""

    path: Path
    agent: str = "agent"
    notes: int = 0
    events: int = 0
    timed: bool = True
    greeted: bool = False
    calls: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    id: str | None = "c1"

    @property
    def format(self) -> str:
        return self.path.name.partition(".")[0]

    @property
    def record(self) -> Any:
        """What formats look at: a document, the first row of a table, the first line, or a text as it is."""
        text = self.path.read_text(encoding="utf-8")
        if self.path.suffix == ".csv":
            return next(csv.DictReader(text.splitlines()))
        if self.path.suffix == ".jsonl":
            text = text.partition("\n")[0]
        return json.loads(text) if self.path.suffix.startswith(".json") else text


EXPORTS = [
    Export(FOLDER / name, **about)
    for name, about in yaml.safe_load((FOLDER / "exports.yaml").read_text(encoding="utf-8")).items()
]
