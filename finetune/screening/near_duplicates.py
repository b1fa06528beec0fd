"""Near-duplicates: of held-out examples, and of one another with contradictory labels.

`dialint.detector.near_duplicates` defines near-duplicates; the relation is transitive, as in data sets. An
error and its clean twin, and all that was made of one source, are similar by construction and contradict
nothing.
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
from dialint.eval.baselines import judged_positions
from dialint.eval.results import source_of
from dialint.finetune.screening.dataset import Suspect

MAX_DEVIATION = 0.5
"""Distance from the mean of its duplicates' labels from which a label contradicts them."""


class LabeledTurn(NamedTuple):
    """A turn, or a whole dialogue (`turn` is None), with its labels by code. Turns of one origin count
    once."""

    dialogue_id: str
    origin: str
    turn: int | None
    labels: Mapping[str, float]


def shingle_examples(examples: Iterable[Example]) -> list[Shingles]:
    """The shingles of each example's dialogue."""
    spoken = ([turn.text for turn in one.dialogue.turns if turn.role != "tool"] for one in examples)
    return batch_shingles(["\n".join(texts) for texts in spoken])


def find_held_out_copies(
    examples: Sequence[Example], shingles: Sequence[Shingles], held_out: Sequence[Example]
) -> tuple[list[Suspect], list[str]]:
    """The examples that are near-duplicates of a held-out one; and the group of each example, which has all
    its near-duplicates and all that was made of its source."""
    pairs = list(linking_pairs([*shingles, *shingle_examples(held_out)], RELATED))
    names = [(str(number),) for number in range(len(examples) + len(held_out))]
    groups = group_names(names, pairs)
    held_out_of = {
        group: example.dialogue.id for group, example in zip(groups[len(examples) :], held_out, strict=True)
    }
    copies = [
        Suspect(dialogue_id=example.dialogue.id, why="exam-copy", like=held_out_of[group])
        for group, example in zip(groups, examples, strict=False)
        if group in held_out_of
    ]
    keys = [(group, f"source {source_of(example)}") for group, example in zip(groups, examples, strict=False)]
    return copies, group_names(keys, ())


def find_contradictions(
    examples: Sequence[Example], shingles: Sequence[Shingles], dialogue_codes: Set[str], made: bool
) -> Iterator[Suspect]:
    """Labels that near-duplicates contradict, where the turn and the one before have the same words.

    `dialogue_codes` are the codes of dialogue scope; only a dialogue of the same words can contradict those.
    `made`: the examples are of `dialint data inject`.
    """
    groups = group_names(
        [(str(number),) for number in range(len(examples))], linking_pairs(shingles, NEAR_DUPLICATE)
    )
    size = Counter(groups)
    turns: dict[object, list[LabeledTurn]] = defaultdict(list)
    for number, (group, example) in enumerate(zip(groups, examples, strict=True)):
        if size[group] > 1:
            origin = source_of(example) if made else str(number)
            for key, turn, labels in _labeled_turns(example, dialogue_codes):
                turns[group, key].append(LabeledTurn(example.dialogue.id, origin, turn, labels))
    for same in turns.values():
        yield from _contradicting_labels(same)


def _labeled_turns(
    example: Example, dialogue_codes: Set[str]
) -> Iterator[tuple[object, int | None, dict[str, float]]]:
    """For each judged turn a key (its words, those of the turn before, and how many such turns came before
    it), its index and its labels; last, the same for the whole dialogue."""
    texts = [" ".join(words(turn.text)) for turn in example.dialogue.turns]
    labels_of: dict[int | None, dict[str, float]] = defaultdict(dict)
    for label in example.labels:
        labels = labels_of[None if label.code in dialogue_codes else label.turn]
        labels[label.code] = max(label.probability, labels.get(label.code, 0.0))
    occurrences: Counter[tuple[str, str]] = Counter()
    for position in judged_positions(example.dialogue):
        key = (texts[position - 1] if position else "", texts[position])
        occurrences[key] += 1
        turn = example.dialogue.turns[position].index
        yield (key, occurrences[key]), turn, labels_of.get(turn, {})
    yield tuple(texts), None, labels_of.get(None, {})


def _contradicting_labels(turns: Sequence[LabeledTurn]) -> Iterator[Suspect]:
    """Labels of equal turns that are far from the mean of the other origins' labels."""
    for code in sorted(set().union(*(turn.labels for turn in turns))):
        by_origin: dict[str, list[float]] = defaultdict(list)
        for turn in turns:
            by_origin[turn.origin].append(turn.labels.get(code, 0.0))
        means = {origin: sum(labels) / len(labels) for origin, labels in by_origin.items()}
        total = sum(means.values())
        for turn in turns if len(means) > 1 else ():
            others = (total - means[turn.origin]) / (len(means) - 1)
            label = turn.labels.get(code, 0.0)
            if abs(label - others) > MAX_DEVIATION:
                yield Suspect(
                    dialogue_id=turn.dialogue_id,
                    why="contradiction",
                    turn=turn.turn,
                    code=code,
                    given=label,
                    probability=min(1.0, max(0.0, others)),
                )
