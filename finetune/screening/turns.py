"""Examples as one table of judged turns with a label for each code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialint.detector.records import Example
from dialint.eval.baselines.scored import judged_turns
from dialint.eval.metrics import Floats, Truth
from dialint.eval.truth import Places, probes_of


@dataclass(frozen=True)
class Turns:
    """Judged turns in order of the examples, arrays of n rows.

    `example` numbers the examples, `turn` is the turn's index in the input, `labels` of shape (n, codes) the
    probability that the turn holds the error, `probe` says that it was made to look like an error.
    """

    codes: tuple[str, ...]
    example: Places
    turn: Places
    labels: Floats
    probe: Truth

    @classmethod
    def of(cls, examples: Sequence[Example], codes: Sequence[str]) -> Turns:
        """The judged turns of `examples`; labels of other turns and of other codes are left out."""
        column = {code: place for place, code in enumerate(codes)}
        rows = [
            (number, example.dialogue.turns[place].index)
            for number, example in enumerate(examples)
            for place in judged_turns(example.dialogue)
        ]
        place_of = {key: place for place, key in enumerate(rows)}
        labels, probe = np.zeros((len(rows), len(column)), np.float32), np.zeros(len(rows), bool)
        for number, example in enumerate(examples):
            for label in example.labels:
                place = place_of.get((number, label.turn))
                if place is not None and label.code in column:
                    labels[place, column[label.code]] = label.probability
            probed = (place_of.get((number, turn)) for turn, _ in probes_of(example))
            probe[[place for place in probed if place is not None]] = True
        keys = np.array(rows, np.int64).reshape(-1, 2)
        return cls(tuple(codes), keys[:, 0], keys[:, 1], labels, probe)

    def whole(self, values: Floats) -> Floats:
        """The highest value of each dialogue, of shape (examples, ...); 0 for one without a judged turn."""
        found = np.zeros((int(self.example.max(initial=-1)) + 1, *values.shape[1:]), values.dtype)
        np.maximum.at(found, self.example, values)
        return found
