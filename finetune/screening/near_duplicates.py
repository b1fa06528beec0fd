"""Near-copies: of what judges, which must not be learned from, and of one another with other labels.

What a near-copy is says `dialint.detector.likeness`; as in datasets, copies of copies count. An error and
its clean twin, and all that was made of one source, are alike on purpose and contradict nobody.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from dialint.detector.near_duplicates import (
    NEAR_DUPLICATE,
    RELATED,
    Shingles,
    batch_shingles,
    group_names,
    linking_pairs,
    words,
)
from dialint.detector.records import Example
from dialint.eval.baselines.scored import judged_positions
from dialint.eval.results import source_of
from dialint.finetune.screening.dataset import Suspect

CONTRADICTS = 0.5
"""A label contradicts its copies if it is further than this from their mean."""


class LabeledSpot(NamedTuple):
    """A turn, or a whole dialogue (none), with its labels by code. Spots of one origin are one voice."""

    dialogue_id: str
    origin: str
    turn: int | None
    labels: Mapping[str, float]


def shingle_examples(examples: Iterable[Example]) -> list[Shingles]:
    """The shingles of each example's dialogue."""
    return batch_shingles(["\n".join(turn.text for turn in example.dialogue.turns) for example in examples])


def find_held_out_copies(
    examples: Sequence[Example], sets: Sequence[Shingles], judging: Sequence[Example]
) -> tuple[list[Suspect], list[str]]:
    """The examples that are near-copies of one that judges; and the group of each, in which are all
    near-copies of it and all that was made of its source."""
    pairs = list(linking_pairs([*sets, *shingle_examples(judging)], RELATED))
    names = [(str(number),) for number in range(len(examples) + len(judging))]
    alike = group_names(names, pairs)
    exam = {
        group: example.dialogue.id for group, example in zip(alike[len(examples) :], judging, strict=True)
    }
    copies = [
        Suspect(dialogue_id=example.dialogue.id, why="exam-copy", like=exam[group])
        for group, example in zip(alike, examples, strict=False)
        if group in exam
    ]
    keys = [(group, f"source {source_of(example)}") for group, example in zip(alike, examples, strict=False)]
    return copies, group_names(keys, ())


def find_contradictions(
    examples: Sequence[Example], sets: Sequence[Shingles], whole: Set[str], made: bool
) -> Iterator[Suspect]:
    """Labels that near-copies contradict where the same is said after the same words.

    `whole` are the codes of dialogue scope: those only a dialogue of the same words can contradict. `made`
    says that `dialint data inject` made the examples.
    """
    alike = group_names(
        [(str(number),) for number in range(len(examples))], linking_pairs(sets, NEAR_DUPLICATE)
    )
    size = Counter(alike)
    spots: dict[object, list[LabeledSpot]] = defaultdict(list)
    for number, (group, example) in enumerate(zip(alike, examples, strict=True)):
        if size[group] > 1:
            origin = source_of(example) if made else str(number)
            for words_said, turn, labels in _said(example, whole):
                spots[group, words_said].append(LabeledSpot(example.dialogue.id, origin, turn, labels))
    for same in spots.values():
        yield from _contradicted(same)


def _said(example: Example, whole: Set[str]) -> Iterator[tuple[object, int | None, dict[str, float]]]:
    """For each judged turn its words, those before it and how often they came so before, the turn's index and
    its labels; last, for the whole dialogue, the same."""
    texts = [" ".join(words(turn.text)) for turn in example.dialogue.turns]
    of_turn: dict[int | None, dict[str, float]] = defaultdict(dict)
    for label in example.labels:
        where = of_turn[None if label.code in whole else label.turn]
        where[label.code] = max(label.probability, where.get(label.code, 0.0))
    times: Counter[tuple[str, str]] = Counter()
    for place in judged_positions(example.dialogue):
        key = (texts[place - 1] if place else "", texts[place])
        times[key] += 1
        turn = example.dialogue.turns[place].index
        yield (key, times[key]), turn, of_turn.get(turn, {})
    yield tuple(texts), None, of_turn.get(None, {})


def _contradicted(same: Sequence[LabeledSpot]) -> Iterator[Suspect]:
    """Whose labels are far from the mean of the others', each origin with one voice."""
    for code in sorted(set().union(*(spot.labels for spot in same))):
        voices: dict[str, list[float]] = defaultdict(list)
        for spot in same:
            voices[spot.origin].append(spot.labels.get(code, 0.0))
        means = {origin: sum(said) / len(said) for origin, said in voices.items()}
        total = sum(means.values())
        for spot in same if len(means) > 1 else ():
            others = (total - means[spot.origin]) / (len(means) - 1)
            given = spot.labels.get(code, 0.0)
            if abs(given - others) > CONTRADICTS:
                yield Suspect(
                    dialogue_id=spot.dialogue_id,
                    why="contradiction",
                    turn=spot.turn,
                    code=code,
                    given=given,
                    probability=min(1.0, max(0.0, others)),
                )
