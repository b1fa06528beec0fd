"""Labels that a model which learned from other dialogues is sure are wrong, and whom they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dialint.detector.records import Example, Record
from dialint.eval.metrics import Floats
from dialint.finetune.screening.confident import suspected
from dialint.finetune.screening.folds import folds_of, learnable, out_of_fold
from dialint.finetune.screening.suspects import Suspect
from dialint.finetune.screening.turns import Turns


class Leaning(Record):
    """How often the dialogues that a labeler was asked of hold a code, against what a model that learned
    from other dialogues expects of them; `deviation` in standard deviations. Where several were asked, the
    label is that of all of them. The model is rough: what is far off is worth a look, no proof."""

    labeler: str
    code: str
    dialogues: int
    found: float
    expected: float
    deviation: float


@dataclass(frozen=True)
class Screened:
    """What is known of the labels: `turns` has the codes that were looked at, `probability` is of the shape
    of their labels, `whole` are those of dialogue scope."""

    turns: Turns
    probability: Floats
    whole: frozenset[str]

    def column(self, code: str) -> tuple[Floats, Floats]:
        """Labels and probabilities of a code by turn, or by example where it is of the whole dialogue."""
        place = self.turns.codes.index(code)
        given, said = self.turns.labels[:, place], self.probability[:, place]
        return (self.turns.whole(given), self.turns.whole(said)) if code in self.whole else (given, said)


def screened(
    examples: Sequence[Example], groups: Sequence[str], codes: Sequence[str], whole: Set[str], seed: int
) -> Screened:
    """Every label with what a model says that saw no example of the same group; codes with too few errors to
    learn from are left out."""
    folds = folds_of(groups, seed)
    codes = learnable(Turns.of(examples, codes), folds)
    turns = Turns.of(examples, codes)
    probability = out_of_fold(examples, turns, folds, seed) if codes else turns.labels
    return Screened(turns, probability, frozenset(whole))


def suspects(found: Screened, examples: Sequence[Example]) -> tuple[list[Suspect], dict[str, Any]]:
    """The labels that are suspected, and for each code its confident joint."""
    listed: list[Suspect] = []
    joints: dict[str, Any] = {}
    for code in found.turns.codes:
        given, probability = found.column(code)
        if given.min() == given.max():
            continue  # the same everywhere, if only by dialogue: nothing to tell apart
        wrong, joint = suspected(given, probability)
        joints[code] = {**asdict(joint), "suspected": int(wrong.sum())}
        for place in np.flatnonzero(wrong).tolist():
            number = place if code in found.whole else int(found.turns.example[place])
            listed.append(
                Suspect(
                    dialogue_id=examples[number].dialogue.id,
                    why="label",
                    turn=None if code in found.whole else int(found.turns.turn[place]),
                    code=code,
                    given=round(float(given[place]), 6),
                    probability=round(float(probability[place]), 6),
                )
            )
    return listed, joints


def leanings(
    found: Screened, examples: Sequence[Example], asked: Mapping[str, Sequence[str]]
) -> Iterator[Leaning]:
    """Each labeler's leaning in each code, the strongest first. `asked` names who was asked of a dialogue."""
    of_labeler: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        for labeler in sorted(set(asked.get(example.dialogue.id, ()))):
            of_labeler.setdefault(labeler, []).append(number)
    rows = [
        leaning
        for code in found.turns.codes
        for leaning in _leanings(code, *_sums(found, code, len(examples)), of_labeler)
    ]
    yield from sorted(rows, key=lambda row: (-abs(row.deviation), row.labeler, row.code))


def _sums(found: Screened, code: str, n: int) -> tuple[Floats, Floats]:
    """Labels of each example and expected labels, of shape (n,). Expected is scaled so that it is right in
    sum: the model learned from too few clean turns."""
    given, probability = (values.astype(float) for values in found.column(code))
    expected = np.minimum(probability * (given.sum() / max(probability.sum(), 1e-9)), 1.0)
    example = np.arange(len(given)) if code in found.whole else found.turns.example
    given, expected = (np.asarray(np.bincount(example, part, n), float) for part in (given, expected))
    return given, expected


def _leanings(
    code: str, given: Floats, expected: Floats, of_labeler: Mapping[str, list[int]]
) -> Iterator[Leaning]:
    """How far labels lie from the expected in one example is measured on all, the model being too sure."""
    spread = max(float(((given - expected) ** 2).mean()) ** 0.5, 1e-9)
    for labeler, own in of_labeler.items():
        difference = float((given[own] - expected[own]).sum())
        yield Leaning(
            labeler=labeler,
            code=code,
            dialogues=len(own),
            found=round(float(given[own].sum()), 3),
            expected=round(float(expected[own].sum()), 3),
            deviation=round(difference / (spread * len(own) ** 0.5), 2),
        )
