"""What is rejected on the way into the store: counted, the first told, all in a file if one is named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from dialint.detector.artifacts import atomic_file, disk_errors, make_folder
from dialint.detector.errors import TooManyBad
from dialint.detector.ingest.outcomes import Reject
from dialint.labeling.raters.reports import refuse_existing

SHOWN = 10


@dataclass
class Rejects:
    """How many by reason, and the first of them."""

    codes: Counter[str] = field(default_factory=Counter)
    first: list[Reject] = field(default_factory=list)
    file: BinaryIO | None = None

    def add(self, reject: Reject) -> None:
        """Take one in."""
        self.codes[reject.code] += 1
        if len(self.first) < SHOWN:
            self.first.append(reject)
        if self.file is not None:
            self.file.write(json.dumps(reject.as_json(), ensure_ascii=False).encode() + b"\n")


@contextmanager
def rejects_into(path: Path | None) -> Iterator[Rejects]:
    """Rejects that are in the file when all is done, and also when too many made an end of it.

    Raises:
        OutputRefused: the file is there already.
    """
    if path is None:
        yield Rejects()
        return
    refuse_existing(path)
    with disk_errors(path):
        make_folder(path.parent)
    stopped = None
    with atomic_file(path) as file:
        try:
            yield Rejects(file=file)
        except TooManyBad as error:
            stopped = error
    if stopped is not None:
        raise stopped
