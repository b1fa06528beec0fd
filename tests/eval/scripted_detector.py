"""A detector of T1 with the probabilities of a table, and examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dialint.detector.interface import PlainDetector
from dialint.detector.records import Dialogue, Example, Finding, Label, Turn, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy


class ScriptedDetector(PlainDetector):
    """The probability of T1 by dialogue and turn, 0 where none is given; `change` is done to each verdict."""

    release, fingerprint, codes = "scripted<1>", "0" * 64, ("T1",)
    taxonomy: Taxonomy = load_taxonomy()

    def __init__(
        self,
        table: Mapping[tuple[str, int], float],
        change: Callable[[Verdict], Verdict] = lambda verdict: verdict,
    ) -> None:
        self.table, self.change = table, change

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [self.change(self._verdict(dialogue)) for dialogue in dialogues]

    def _verdict(self, dialogue: Dialogue) -> Verdict:
        turns = [turn.index for turn in dialogue.turns if turn.role == "agent"]
        probabilities = {turn: self.table.get((dialogue.id, turn), 0.0) for turn in turns}
        findings = tuple(
            Finding(
                code="T1", turn=turn, severity="S2", probability=p, quote="word ", start=5, end=10, reason="x"
            )
            for turn, p in probabilities.items()
            if p >= 0.5
        )
        return Verdict(
            dialogue_id=dialogue.id, release=self.release, taxonomy="1.0.0", status="scored", quality=50.0,
            findings=findings, probabilities={turn: {"T1": p} for turn, p in probabilities.items()},
        )  # fmt: skip


def example(
    name: str, labels: Mapping[int, str], texts: Sequence[str] = ("word " * 4,) * 4, pair: str | None = None
) -> Example:
    """Turns of the customer and the agent, with an error in ten characters of some."""
    turns = tuple(Turn(index=i, role=("customer", "agent")[i % 2], text=text) for i, text in enumerate(texts))
    errors = tuple(
        Label(dialogue_id=name, turn=turn, code=code, probability=1.0, method="inject:x", start=0, end=10)
        for turn, code in labels.items()
    )
    dialogue = Dialogue(id=name, turns=turns, metadata={"source": name[0]})
    return Example(dialogue=dialogue, labels=errors, split="test", pair=pair)
