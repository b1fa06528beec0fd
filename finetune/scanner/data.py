"""Training data of a scanner: windows of token ids with a target for every slot.

Personal data are masked and windows rendered by the same code that serves. Independent of how the labels were
made.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dialint.detector.errors import DialogueFailed
from dialint.detector.masking import MaskedText, mask_dialogue
from dialint.detector.records import Dialogue, Example, Label
from dialint.detector.render import Rendered, Renderer
from dialint.detector.scanner import Array


@dataclass(frozen=True)
class Target:
    """A window and the targets of its heads: `turns` of shape (slots, codes), `spans` of shape
    (tokens, codes), `dialogue` of shape (codes,) or None where the dialogue's end is not in it. NaN: unknown.

    `pair` is the id that an error and its clean twin share, "" without a twin; `rival` is then the position
    (slot, code) that must score higher in the error than in the twin, slot -1 for the dialogue's end.
    """

    window: Rendered
    turns: Array
    spans: Array
    dialogue: Array | None
    pair: str = ""
    rival: tuple[int, int] | None = None
    error: bool = False


def build_targets(
    examples: Iterable[Example], renderer: Renderer, codes: Sequence[str], dialogue_codes: Sequence[str]
) -> Iterator[Target]:
    """The windows of all examples; one without an agent's turn has none."""
    column = {code: index for index, code in enumerate(codes)}
    for example in examples:
        dialogue, texts = mask_dialogue(example.dialogue)
        labels = [_mask_label(label, dialogue, texts) for label in example.labels if label.code in column]
        try:
            windows = renderer.render(dialogue)
        except DialogueFailed:
            continue
        for window in windows:
            target = _build_target(window, labels, column, frozenset(dialogue_codes))
            target = _without(target, [column[code] for code in example.unlabelled if code in column])
            yield _add_pair(target, example, column, dialogue_codes) if example.pair else target


def build_targets_with_prefixes(
    examples: Iterable[Example],
    share: float,
    seed: int,
    renderer: Renderer,
    codes: Sequence[str],
    dialogue_codes: Sequence[str],
) -> Iterator[Target]:
    """The windows of every example, and of a share of them also truncated after one of their turns: in a pair
    after the error or its counterpart, else after a random one."""
    for example in examples:
        yield from build_targets([example], renderer, codes, dialogue_codes)
        rng = random.Random(f"{seed}/{example.pair or example.dialogue.id}")
        if rng.random() >= share:
            continue
        error_turn, _ = injected_error(example) if example.pair else (-1, "")
        judged = [
            turn.index
            for turn in example.dialogue.turns
            if turn.role in ("agent", "bot") and not turn.is_unseen
        ]
        if not judged:
            continue
        prefix = truncate_example(example, error_turn if error_turn >= 0 else rng.choice(judged))
        for target in build_targets([prefix], renderer, codes, dialogue_codes):
            pair = f"{target.pair}~cut" if target.pair and target.rival and target.rival[0] >= 0 else ""
            yield replace(target, dialogue=None, pair=pair, rival=target.rival if pair else None)


def _without(target: Target, columns: Sequence[int]) -> Target:
    """The target with the codes of `columns` unknown (NaN), which the losses leave out."""
    for array in (target.turns, target.spans, target.dialogue):
        if columns and array is not None:
            array[..., columns] = np.nan
    return target


def _add_pair(
    target: Target, example: Example, column: dict[str, int], dialogue_codes: Sequence[str]
) -> Target:
    """The target with the position at which an error and its twin differ, if it is in this window."""
    turn, code = injected_error(example)
    if code not in column:
        return target
    position = -1 if code in dialogue_codes else None
    for index, slot in enumerate(target.window.slots):
        position = index if position is None and slot.turn == turn else position
    if position is None or (position < 0 and target.dialogue is None):
        return target
    error = any(label.code == code and label.turn == turn for label in example.errors)
    return replace(target, pair=example.pair or "", rival=(position, column[code]), error=error)


def injected_error(example: Example) -> tuple[int, str]:
    """The turn and code of the error of a pair, in the clean twin where it would be (its label has
    probability 0); (-1, "") if not recorded."""
    return next(((label.turn, label.code) for label in example.labels), (-1, ""))


def truncate_example(example: Example, turn: int) -> Example:
    """The example up to and with `turn`, for training on dialogues that go on."""
    turns = tuple(item for item in example.dialogue.turns if item.index <= turn)
    return example.model_copy(
        update={
            "dialogue": example.dialogue.model_copy(update={"turns": turns}),
            "labels": tuple(label for label in example.labels if label.turn <= turn),
        }
    )


def _mask_label(label: Label, dialogue: Dialogue, texts: Sequence[MaskedText]) -> Label:
    """The label with its span in the masked text; without a span, the whole turn."""
    index = next(index for index, turn in enumerate(dialogue.turns) if turn.index == label.turn)
    if label.start is None or label.end is None:
        return label.model_copy(update={"start": 0, "end": max(1, len(texts[index].text))})
    start, end = texts[index].from_original(label.start, label.end)
    return label.model_copy(update={"start": start, "end": end})


def _build_target(
    window: Rendered, labels: Sequence[Label], column: dict[str, int], dialogue_codes: frozenset[str]
) -> Target:
    turns = np.zeros((len(window.slots), len(column)), np.float32)
    spans = []
    for index, slot in enumerate(window.slots):
        tokens = np.zeros((len(slot.offsets), len(column)), np.float32)
        for label in labels:
            if label.turn != slot.turn:
                continue
            touched = [start < (label.end or 0) and end > (label.start or 0) for start, end in slot.offsets]
            tokens[touched, column[label.code]] = label.probability
            if label.code not in dialogue_codes and any(touched):
                turns[index, column[label.code]] = label.probability
        spans.append(tokens)
    dialogue = None
    if window.dialogue_slot is not None:
        dialogue = np.zeros(len(column), np.float32)
        for label in labels:
            if label.code in dialogue_codes:
                dialogue[column[label.code]] = label.probability
    return Target(
        window, turns, np.vstack(spans) if spans else np.zeros((0, len(column)), np.float32), dialogue
    )


def pack_rows(order: Iterable[int], sizes: Sequence[int], row_tokens: int) -> Iterator[list[int]]:
    """Rows of the indices in `order`, as many in each as fit into `row_tokens`, one at least."""
    row: list[int] = []
    room = row_tokens
    for index in order:
        if row and sizes[index] > room:
            yield row
            row, room = [], row_tokens
        row.append(index)
        room -= sizes[index]
    if row:
        yield row


def pack_pairs(targets: Sequence[Target], seed: int, row_tokens: int) -> list[list[int]]:
    """Rows of indices of windows, shuffled, an error and its clean twin in the same one."""
    by_pair: dict[str, list[int]] = {}
    for index, target in enumerate(targets):
        by_pair.setdefault(target.pair or f"#{index}", []).append(index)
    groups = list(by_pair.values())
    random.Random(seed).shuffle(groups)
    sizes = [sum(len(targets[index].window) for index in group) for group in groups]
    rows = pack_rows(range(len(groups)), sizes, row_tokens)
    return [[index for number in row for index in groups[number]] for row in rows]
