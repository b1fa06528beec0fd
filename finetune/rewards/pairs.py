"""Preference pairs of readings, from reviewers' corrections and from labels.

The ``preferences`` of a data set have a finding of the model and a reviewer's correction: they become
readings with and without that error, beside the dialogue's other labels. Labels give more pairs, balanced so
that the answers alone hardly predict which is preferred: an error of one dialogue is in the chosen reading of
that one and in the rejected reading of another one. For each error the pairs of the first two rows, and those
of one more group:

| the dialogue has the error | chosen | rejected |
|---|---|---|
| yes | the labels | the error left out |
| no | the labels | that error added, with its quote |
| yes | the labels, with another passage of the turn as the quote | the error left out |
| no | the labels | an error added that quotes some passage of the turn |
| yes | the labels | the same with another passage of the turn as the quote |
| yes | the same with another passage | the same with the quote of another dialogue |
| yes | the labels | the same with another code of the family |

Labels have a code's usual severity only, so no pair differs in severities alone. `agreement` is the
probability that a random person prefers the chosen one.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dialint.detector.example_files import find_set, read_records
from dialint.detector.judge.prompt import Reader, applicable_codes, split_families
from dialint.detector.judge.reading import (
    LEAST_PROBABILITY,
    ReadError,
    Reading,
    format_reading,
    locate,
)
from dialint.detector.records import Example, Judgement, Preference
from dialint.detector.taxonomy import Taxonomy
from dialint.eval.labelled import (
    LabelledDialogue,
    LabelledQuestion,
    SelectionConfig,
    Truth,
    ask_about,
    label_dialogue,
    read_labelled,
    requested_codes,
    target_reading,
    verify_split,
)

Origin = Literal["reviewer", "label"]
DEFAULT_AGREEMENT = 0.9
"""Agreement where one person decided."""
MIN_AGREEMENT = 0.5
SURE = 0.95
"""Probability of an error that a reviewer or the model reported."""


@dataclass(frozen=True)
class PreferencePair:
    """Two answers to one question, as text; `agreement` in [0.5, 1]."""

    item: LabelledQuestion
    chosen: str
    rejected: str
    agreement: float
    origin: Origin = "label"


def read_pairs(
    dataset: Path, split: str, config: SelectionConfig, reader: Reader, seed: int
) -> list[PreferencePair]:
    """Reads all pairs of one split: those of reviewers first, then those from labels.

    Raises:
        InputRefused: a file cannot be read.
        OutputRefused: the folder is not complete.
    """
    labelled = read_labelled(dataset, split, config, seed)
    codes = requested_codes(dataset, split, config)
    reviewed: list[PreferencePair] = []
    if find_set(dataset, "preferences") is not None:
        by_id = {item.dialogue.id: item for item in labelled}
        for row in read_records(verify_split(dataset, "preferences"), Preference, "E_PREFERENCE"):
            if row.split == split and row.code in codes:
                reviewed += _reviewer_pair(row, by_id.get(row.dialogue.id), reader)
    return [*reviewed, *pairs_from_labels(ask_about(labelled, reader), reader.taxonomy, seed)]


def _reviewer_pair(
    row: Preference, labelled: LabelledDialogue | None, reader: Reader
) -> Iterator[PreferencePair]:
    """Yields the pair of a correction, with the question of the whole dialogue if the split has it; none if
    no question has its turn and code."""
    if labelled is None:
        alone = Example(dialogue=row.dialogue, split=row.split)
        labelled = label_dialogue(alone, (row.code,), reader.taxonomy)
    kinds = labelled.evidence.kinds(labelled.dialogue)
    codes, _ = applicable_codes(reader.taxonomy, frozenset({*labelled.codes, row.code}), kinds)
    for item in ask_about([replace(labelled, codes=codes)], reader):
        if row.turn not in item.question.turns or row.code not in item.question.codes:
            continue
        others = [
            error for error in target_reading(item).errors if (error.turn, error.code) != (row.turn, row.code)
        ]
        chosen, rejected = (
            _render([*others, *_reviewed_error(side, row, item)]) for side in (row.chosen, row.rejected)
        )
        if chosen != rejected:
            yield PreferencePair(item, chosen, rejected, _agreement(row, item.truths), "reviewer")


def _reviewed_error(side: Judgement, row: Preference, item: LabelledQuestion) -> Iterator[ReadError]:
    if side.verdict == "error":
        code, text = item.question.codes[row.code], item.question.turns[row.turn]
        start, end = locate(side.quote or "", text) or (0, len(text))
        truth = Truth(
            turn=row.turn,
            code=row.code,
            probability=SURE,
            span=(start, end),
            severity=side.severity or code.severity,
        )
        yield from target_reading(replace(item, truths=(truth,))).errors


def _agreement(row: Preference, truths: Sequence[Truth]) -> float:
    """Returns the probability of the reviewer's verdict; the default if both sides have the same."""
    own = [truth.probability for truth in truths if (truth.turn, truth.code) == (row.turn, row.code)]
    if not own or row.chosen.verdict == row.rejected.verdict:
        return DEFAULT_AGREEMENT
    return max(MIN_AGREEMENT, own[0] if row.chosen.verdict == "error" else 1 - own[0])


def _render(errors: Sequence[ReadError]) -> str:
    ordered = sorted(errors, key=lambda error: (error.turn, error.start or 0, error.code))
    return format_reading(Reading(errors=tuple(ordered)))


def pairs_from_labels(
    questions: Sequence[LabelledQuestion], taxonomy: Taxonomy, seed: int
) -> list[PreferencePair]:
    """Makes pairs from labels. An error is added to a dialogue with as many other errors as the one that it
    comes from, if there is one, so that the number of errors predicts nothing."""
    pairs: list[PreferencePair] = []
    family_of = {name: family for family in split_families(taxonomy, taxonomy.codes) for name in family}
    targets = [(item, target_reading(item).errors) for item in questions]
    for code in taxonomy.codes:
        rng = random.Random(f"{seed}/pairs/{code}")
        errors = [
            (item, error)
            for item, own in targets
            for error in own
            if error.code == code and error.probability > 0.5
        ]
        clean: dict[int, list[LabelledQuestion]] = {}
        for item, own in targets:
            if code in item.question.codes and _probability_of(item, code) < LEAST_PROBABILITY:
                clean.setdefault(len(own), []).append(item)
        every = [item for items in clean.values() for item in items]
        for item, error in errors if every else ():
            pool = clean.get(len(target_reading(item).errors) - 1, every)
            clean_item, foreign = rng.choice(pool), rng.choice(errors)[1]
            pairs += _fault_pairs(item, error, clean_item, foreign, family_of[code], rng)
    random.Random(f"{seed}/pairs").shuffle(pairs)
    return pairs


def _probability_of(item: LabelledQuestion, code: str) -> float:
    """Returns the largest probability of an error of a code; aggregation labels clean turns too, near 0."""
    return max((truth.probability for truth in item.truths if truth.code == code), default=0.0)


def _fault_pairs(
    item: LabelledQuestion,
    error: ReadError,
    clean: LabelledQuestion,
    foreign: ReadError,
    family: Container[str],
    rng: random.Random,
) -> Iterator[PreferencePair]:
    """Yields the pairs of an `error` of `item`, of a dialogue without such an error, and of a `foreign` error
    of the same code, which has this `family`."""
    rest = [each for each in target_reading(item).errors if each != error]
    of_clean = list(target_reading(clean).errors)
    right, missed, unaccused = _render([*rest, error]), _render(rest), _render(of_clean)
    turn = rng.choice(list(clean.question.turns))

    def with_changes(**changes: str) -> str:
        return _render([*rest, error.model_copy(update=changes)])

    def with_error(quote: str) -> str:
        return _render([*of_clean, error.model_copy(update={"turn": turn, "quote": quote})])

    def passage(text: str) -> str:
        """Returns random consecutive words of a text, as many as the foreign error's quote has."""
        words, n = text.split(" "), len(foreign.quote.split())
        first = rng.randrange(max(1, len(words) - n + 1))
        return " ".join(words[first : first + n]).strip()

    yield PreferencePair(item, right, missed, error.probability)
    is_clean = 1.0 - _probability_of(clean, error.code)
    yield PreferencePair(clean, unaccused, with_error(error.quote), is_clean)
    text = item.question.turns[error.turn]
    misquote = passage(max(text[: error.start], text[error.end :], key=len))
    group = rng.choice(("false", "misquoted", "confused"))
    if group == "false" and misquote:
        yield PreferencePair(item, with_changes(quote=misquote), missed, error.probability)
        yield PreferencePair(clean, unaccused, with_error(passage(clean.question.turns[turn])), is_clean)
    if group == "misquoted" and misquote and locate(foreign.quote, text) is None:
        misquoted, invented = with_changes(quote=misquote), with_changes(quote=foreign.quote)
        yield PreferencePair(item, right, misquoted, DEFAULT_AGREEMENT)
        yield PreferencePair(item, misquoted, invented, DEFAULT_AGREEMENT)
    used = {each.code for each in (error, *rest) if each.turn == error.turn}
    others = [code for code in item.question.codes if code in family and code not in used]
    if group == "confused" and others:
        code = item.question.codes[rng.choice(others)]
        confused = with_changes(code=code.code, reason=code.name.en, severity=code.severity)
        yield PreferencePair(item, right, confused, DEFAULT_AGREEMENT)
