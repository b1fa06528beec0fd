"""Training data of a scanner: windows of token ids with a target for every slot.

Personal data are masked and windows rendered by the same code as in inference.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dialint.detector.errors import DialogueFailed
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example, Label
from dialint.detector.render import Rendered, Renderer
from dialint.detector.scanner import Array


@dataclass(frozen=True)
class Target:
    """A window and the targets of its heads: `turns` of shape (slots, codes), `spans` of shape
    (tokens, codes). NaN: unknown."""

    window: Rendered
    turns: Array
    spans: Array


def build_targets(examples: Iterable[Example], renderer: Renderer, codes: Sequence[str]) -> Iterator[Target]:
    """Yields the windows of all examples; one without an agent's turn has none."""
    column = {code: index for index, code in enumerate(codes)}
    for example in examples:
        dialogue, texts = mask_dialogue(example.dialogue)
        labels = [_mask_label(label, dialogue, texts) for label in example.labels if label.code in column]
        try:
            windows = renderer.render(dialogue)
        except DialogueFailed:
            continue
        unknown = [column[code] for code in example.unlabelled if code in column]
        for window in windows:
            target = _build_target(window, labels, column)
            for array in (target.turns, target.spans):
                array[:, unknown] = np.nan
            yield target


def build_targets_with_prefixes(
    examples: Iterable[Example], share: float, seed: int, renderer: Renderer, codes: Sequence[str]
) -> Iterator[Target]:
    """Yields the windows of every example, and of a share of them also truncated after a random judged
    turn."""
    for example in examples:
        yield from build_targets([example], renderer, codes)
        rng = random.Random(f"{seed}/{example.pair or example.dialogue.id}")
        judged = [turn.index for turn in example.dialogue.turns if turn.role in JUDGED_ROLES]
        if judged and rng.random() < share:
            yield from build_targets([truncate_example(example, rng.choice(judged))], renderer, codes)


def truncate_example(example: Example, turn: int) -> Example:
    """Truncates the example after `turn`, for training on unfinished dialogues."""
    turns = tuple(item for item in example.dialogue.turns if item.index <= turn)
    return example.model_copy(
        update={
            "dialogue": example.dialogue.model_copy(update={"turns": turns}),
            "labels": tuple(label for label in example.labels if label.turn <= turn),
        }
    )


def _mask_label(label: Label, dialogue: Dialogue, texts: Sequence[MaskedText]) -> Label:
    """Maps the label's span to the masked text; without a span, the whole turn."""
    index = next(index for index, turn in enumerate(dialogue.turns) if turn.index == label.turn)
    if label.start is None or label.end is None:
        return label.model_copy(update={"start": 0, "end": max(1, len(texts[index].text))})
    start, end = texts[index].from_original(label.start, label.end)
    return label.model_copy(update={"start": start, "end": end})


def _build_target(window: Rendered, labels: Sequence[Label], column: dict[str, int]) -> Target:
    turns = np.zeros((len(window.slots), len(column)), np.float32)
    spans = []
    for index, slot in enumerate(window.slots):
        tokens = np.zeros((len(slot.offsets), len(column)), np.float32)
        for label in labels:
            if label.turn != slot.turn:
                continue
            touched = [start < (label.end or 0) and end > (label.start or 0) for start, end in slot.offsets]
            is_silent = not any(end for _, end in slot.offsets)  # only calls, which have no offsets in words
            tokens[touched, column[label.code]] = label.probability
            if any(touched) or is_silent:
                turns[index, column[label.code]] = label.probability
        spans.append(tokens)
    return Target(window, turns, np.vstack(spans) if spans else np.zeros((0, len(column)), np.float32))
