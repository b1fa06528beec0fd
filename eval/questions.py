"""Questions for the judge, made of labelled dialogues, with the answers that people gave.

Every label is a question. Of the turns and codes without a label, hard ones (clean twins and look-alikes
that `dialint data inject` names) and a random sample are questions too, with the answer no. A question holds
what is known of its right answer, for rewards and for the evaluation.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import MANIFEST, read_manifest, verify_files
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import read_examples, require_set
from dialint.detector.judge import Answer, Question, fit_answer
from dialint.detector.manifests import Examples, Folder
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example, Label, Severity
from dialint.detector.taxonomy import Code, Taxonomy, load_taxonomy
from dialint.eval.results import pair_labels, probe_turns, source_of

MIN_WEIGHT = 0.1
"""Weight of a label with probability 0.5; one of 0 or 1, and no label, have weight 1."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class QuestionConfig:
    """Which questions are made of a data set."""

    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes to ask about; none: all that the labels name."""
    random_questions: Annotated[float, Field(ge=0)] = 1.0
    """Questions a dialogue, on average, of a turn and code without a label."""
    limit: Annotated[int | None, Field(ge=1)] = None
    """Maximum number of dialogues."""
    rewrites: bool = True
    """Train rewrites where the data have a clean twin of the turn."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class LabelledQuestion:
    """A question and what is known of its answer: the taxonomy's entry of its `code`, the `probability` that
    it is an error, the `span` of the evidence in the masked `text` of the turn, the same turn of the clean
    twin (`rewrite`). `source` is the dialogue it was made from; `weight` the certainty of its label;
    `stands_for` the number of questions that it was sampled from."""

    question: Question
    code: Code
    probability: float
    text: str
    span: tuple[int, int] | None
    severity: Severity
    rewrite: str | None
    source: str
    weight: float = 1.0
    stands_for: float = 1.0

    @property
    def is_error(self) -> bool:
        """Whether the label says that it is an error."""
        return self.probability > 0.5


def target_answer(labelled: LabelledQuestion) -> Answer:
    """The target answer for training: the label's verdict and probability."""
    if not labelled.is_error:
        return fit_answer(Answer(verdict="no_error", probability=labelled.probability))
    text = labelled.text
    start, end = labelled.span or (len(text) - len(text.lstrip()), len(text.rstrip()))
    return fit_answer(
        Answer(
            verdict="error",
            probability=labelled.probability,
            quote=text[start:end],
            severity=labelled.severity,
            rewrite=labelled.rewrite,
        )
    )


def read_questions(dataset: Path, split: str, config: QuestionConfig, seed: int) -> list[LabelledQuestion]:
    """The questions of one split of a data set's folder, in the order of its dialogues.

    Raises:
        OutputRefused: the folder is not complete, or the split's file was changed.
        InputRefused: a file of it cannot be read.
        ConfigError: E_CODE, unknown codes or none.
    """
    taxonomy = load_taxonomy(config.taxonomy)
    examples = list(_sample_sources(read_examples(verified_split(dataset, split)), config.limit, seed))
    codes = _codes(config, taxonomy, examples, dataset)
    twins = {example.pair: example for example in examples if example.pair and not pair_labels(example)}
    questions: list[LabelledQuestion] = []
    for example in examples:
        questions.extend(
            _questions_of_example(example, codes, taxonomy, config, twins.get(example.pair or ""), seed)
        )
    return questions


def count_agent_turns(dataset: Path, split: str, config: QuestionConfig, seed: int) -> dict[str, int]:
    """Judged turns of each dialogue that `read_questions` reads, with a question or without."""
    examples = _sample_sources(read_examples(verified_split(dataset, split)), config.limit, seed)
    return {
        example.dialogue.id: sum(
            turn.role in JUDGED_ROLES and bool(turn.text.strip()) for turn in example.dialogue.turns
        )
        for example in examples
    }


def verified_split(dataset: Path, name: str) -> Path:
    """The file of a set, its bytes those of the folder's manifest.

    Raises:
        ConfigError: E_EXAMPLE, there is no such set.
        OutputRefused: the folder is not complete, or the file was changed.
    """
    path = require_set(dataset, name)
    files = read_manifest(dataset / MANIFEST, expected=Folder)["files"]
    entries = [entry for entry in files if entry["name"] == path.name]
    if not entries:
        raise OutputRefused("E_CHECKSUM", f"{path}: the manifest does not name it")
    verify_files(dataset, entries)
    return path


def _sample_sources(examples: Iterable[Example], limit: int | None, seed: int) -> Iterator[Example]:
    """At most `limit` source dialogues with all examples made of them, sampled by the seed."""
    if limit is None:
        yield from examples
        return
    retained = list(examples)
    sources = sorted({source_of(example) for example in retained})
    random.Random(seed).shuffle(sources)
    selected = set(sources[:limit])
    yield from (example for example in retained if source_of(example) in selected)


def _codes(
    config: QuestionConfig, taxonomy: Taxonomy, examples: Sequence[Example], dataset: Path
) -> tuple[str, ...]:
    labelled_codes = set(config.codes) or set(
        read_manifest(dataset / MANIFEST, expected=Examples).get("codes", ())
    )
    labelled_codes = labelled_codes or {label.code for example in examples for label in example.labels}
    if not labelled_codes:
        raise ConfigError("E_CODE", f"{dataset}: no label names a code; --codes says which to ask")
    if unknown := sorted(labelled_codes - taxonomy.codes.keys()):
        raise ConfigError(
            "E_CODE",
            f"{dataset}: codes that the taxonomy lacks: {' '.join(unknown)}; --taxonomy names another",
        )
    return tuple(code for code in taxonomy.codes if code in labelled_codes)


def _questions_of_example(
    example: Example,
    codes: tuple[str, ...],
    taxonomy: Taxonomy,
    config: QuestionConfig,
    twin: Example | None,
    seed: int,
) -> Iterator[LabelledQuestion]:
    dialogue, texts = mask_dialogue(example.dialogue)
    position_of = {turn.index: position for position, turn in enumerate(dialogue.turns)}
    labels = {(label.turn, label.code): label for label in example.labels if label.code in codes}
    hard = [(turn, code) for turn, code in probe_turns(example) if code in codes and turn in position_of]
    labelled_codes = list(dict.fromkeys([*labels, *hard]))
    sampled, stands_for = _sample_unlabelled(
        dialogue, codes, set(labelled_codes), config.random_questions, seed
    )
    for turn, code in (*labelled_codes, *sampled):
        position = position_of[turn]
        text, label = dialogue.turns[position].text, labels.get((turn, code))
        turns = tuple(before for before in dialogue.turns if before.index <= turn)
        span = None
        if label is not None and label.start is not None and label.end is not None:
            span = texts[position].from_original(label.start, label.end)
        yield LabelledQuestion(
            question=Question(dialogue=dialogue.model_copy(update={"turns": turns}), turn=turn, code=code),
            code=taxonomy.codes[code],
            probability=label.probability if label is not None else 0.0,
            text=text,
            span=span if span and span[1] > span[0] else None,
            severity=taxonomy.codes[code].severity,
            rewrite=_clean_twin_turn(example, twin, label) if config.rewrites else None,
            source=source_of(example),
            weight=1.0 if label is None else max(MIN_WEIGHT, abs(2 * label.probability - 1)),
            stands_for=1.0 if (turn, code) in labelled_codes else stands_for,
        )


def _sample_unlabelled(
    dialogue: Dialogue, codes: tuple[str, ...], labelled_codes: set[tuple[int, str]], mean: float, seed: int
) -> tuple[list[tuple[int, str]], float]:
    """Turns and codes without a label, `mean` of them on average, and the number that each stands for."""
    rng = random.Random(f"{seed}/{dialogue.id}")
    turns = [turn.index for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
    rest = [(turn, code) for turn in turns for code in codes if (turn, code) not in labelled_codes]
    count = min(len(rest), int(mean) + (rng.random() < mean - int(mean)))
    return rng.sample(rest, count), len(rest) / min(mean, len(rest)) if rest and mean else 1.0


def _clean_twin_turn(example: Example, twin: Example | None, label: Label | None) -> str | None:
    """The same turn of the clean twin, if it is the pair's own error and the turn differs."""
    if twin is None or label is None or label not in pair_labels(example):
        return None
    masked, _ = mask_dialogue(twin.dialogue)
    clean = next((turn.text for turn in masked.turns if turn.index == label.turn), None)
    own = next(turn.text for turn in example.dialogue.turns if turn.index == label.turn)
    before = [turn.text for turn in example.dialogue.turns if turn.index < label.turn]
    same = before == [turn.text for turn in twin.dialogue.turns if turn.index < label.turn]
    return clean if clean and clean.strip() and clean != own and same else None
