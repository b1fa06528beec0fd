"""What is held of a project's questions, kept up as answers come: a running posterior of each code.

Knows no store. Everything is fitted anew, from memory, whenever answers have grown by `GROWTH`:
so a fit is paid for by many answers however large a project is, and a small one is as good as always fresh.
What a fit assumes is chosen anew when a code's answers have doubled, and held in between: which answers are
hidden for a choice is a draw of lots, and where another one takes items to differ otherwise, a quarter of all
decisions change (36 simulated crowds, 2026-11-22): tasks would be ended and opened again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from dialint.labeling.annotation import Annotation
from dialint.labeling.consensus.belief import Belief, Certainties, told
from dialint.labeling.consensus.gathering import ANSWERS, ANYWHERE, Gathered, Item, Known
from dialint.labeling.truth.incremental import Running
from dialint.labeling.truth.joint.choice import chosen
from dialint.labeling.truth.joint.fit import Assumptions, fitted
from dialint.labeling.truth.overlap import expected_gains

GROWTH = 0.05
"""Share of new answers at which a fit is old. Until then the decisions on touched tasks are those of a refit
but for 4 %, of which all but 1 in 12 are within 0.05 of being sure (3 simulated crowds, 2026-11-23; tolerance
in `tests/labeling/test_consensus_opinion.py`)."""


class Opinion:
    """The joint posterior of all that was `found` so far and of what is taken in afterwards; `assumed` has
    what was chosen for each code, and from how many answers. What is `certain` takes part in every fit.
    `step` is called before each code is fitted and may raise to end it."""

    def __init__(
        self,
        found: Gathered,
        of_dialogue: frozenset[str],
        step: Callable[[], None] = lambda: None,
        certain: Certainties | None = None,
    ) -> None:
        self.found, self.certain = found, certain
        self.assumed: dict[str, tuple[Assumptions, int]] = {}
        self._of_dialogue, self._step = of_dialogue, step
        self._fit()

    def take_in(
        self, annotations: Sequence[Annotation], known: Callable[[str], Known]
    ) -> frozenset[str] | None:
        """Count answers, oldest first; the dialogues of which something else is held now, none for all: it
        was fitted anew."""
        fresh: dict[str, dict[tuple[Item, str], bool]] = {}
        for one in annotations:
            for code, item in self.found.take_in(one, known, self._of_dialogue):
                fresh.setdefault(code, {})[item, one.labeler] = self.found.codes[code].said[item][one.labeler]
        self._n_new += sum(map(len, fresh.values()))
        if self._n_new > GROWTH * self._n_fitted or not fresh.keys() <= self._running.keys():
            self._fit()
            return None
        for code, answers in fresh.items():
            self._update(code, answers)
        return frozenset(item.dialogue for answers in fresh.values() for item, _ in answers)

    def beliefs(self, dialogues: Collection[str] | None = None) -> Iterator[Belief]:
        """What is held of every question somebody answered, in all dialogues or in some."""
        for code, running in self._running.items():
            items = list(self._items(code, dialogues))
            probabilities = [float(running.probabilities(item.name)[1]) for item in items]
            gains = expected_gains(running.components([item.name for item in items]))
            yield from told(self.found, code, items, probabilities, gains, self.found.model(code, items))

    def _fit(self) -> None:
        self._running: dict[str, Running] = {}
        self._n_fitted = self._n_new = 0
        for code, table in self.found.tables().items():
            self._step()
            model = self.found.model(code)
            gold = None if self.certain is None else self.certain.labels(code, self.found.codes[code].said)
            if code not in self.assumed or len(table) >= 2 * self.assumed[code][1]:
                self.assumed[code] = chosen(table, model, gold=gold), len(table)
            self._running[code] = Running(fitted(table, model, self.assumed[code][0], gold=gold), table)
            self._n_fitted += len(table)

    def _update(self, code: str, answers: dict[tuple[Item, str], bool]) -> None:
        rows = [(item.name, who, ANSWERS[yes]) for (item, who), yes in answers.items()]
        items = list(dict.fromkeys(item for item, _ in answers))
        model = zip((item.name for item in items), self.found.model(code, items).tolist(), strict=True)
        self._running[code].update(rows, dict(model))

    def _items(self, code: str, dialogues: Collection[str] | None) -> Iterator[Item]:
        said = self.found.codes[code].said
        if dialogues is None:
            yield from said
            return
        for name in dialogues:
            asked = (Item(name, turn) for turn in (ANYWHERE, *self.found.known[name].judged))
            yield from (item for item in asked if item in said)
