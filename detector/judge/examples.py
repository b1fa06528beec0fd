"""Examples that people decided, for the judge's questions: the preferences of ``dialint export dataset``.

An example is an agent's turn with the customer's turn before it, masked, for one code: an error that a person
marked (confirmed), or a finding that a person took back (overturned). A question gets the most similar ones
of its own code. Similarity is the cosine of weighted words and word pairs: it needs no model, so it is the
same with every release, and it finds nothing across languages. The scan's embeddings found no better ones
(2026-11-26: the nearest example agrees in .827 by words, .824 to .829 by embeddings). The search is exact.

Against leakage an example is left out where it is from the same dialogue, from one made from the same
dialogue, or has nearly the same text as the turn in question; those of the split `test` are never shown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dialint.detector.artifacts import fingerprint, sha256_file
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import find_set, read_preferences
from dialint.detector.judge.messages import FewShotExample
from dialint.detector.masking import mask_dialogue
from dialint.detector.near_duplicates import ngrams, words
from dialint.detector.records import JUDGED_ROLES, Dialogue, Preference

PREFERENCES = "preferences"
"""The set of a dataset's folder that holds what people decided."""
HELD_OUT = "test"
"""The split that is never shown."""
MAX_CONFIRMED, MAX_OVERTURNED = 2, 1
SAME_TEXT = 0.95
"""Cosine over which two texts are taken for the same."""

Weights = dict[int, float]


@dataclass(frozen=True)
class _Decided:
    """An example and where it is from."""

    few_shot: FewShotExample
    source: str
    words: frozenset[int]
    counts: Counter[int]


@dataclass
class _Index:
    """The examples of one code as an inverted list of unit vectors: `rows` and `values` by word."""

    decided: list[_Decided] = field(default_factory=list)
    rows: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    values: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def cosines(self, vector: Weights) -> NDArray[np.float64]:
        """The cosine of each example with a unit vector."""
        result = np.zeros(len(self.decided))
        for word, weight in vector.items():
            if word in self.rows:
                result[self.rows[word]] += weight * self.values[word]
        return result


class DecidedExamples:
    """Finds examples among people's decisions; a `dialint.detector.judge.stage.ExampleSearch`."""

    def __init__(self, preferences: Sequence[Preference], content: str) -> None:
        """`content` is the hash of where the preferences are from.

        Raises:
            ConfigError: E_OPTION, a preference is about a turn that is no agent's turn of its dialogue.
        """
        self._content = content
        decided: dict[str, list[_Decided]] = {}
        for number, preference in enumerate(preferences, 1):
            if not _is_agent_turn(preference.dialogue, preference.turn):
                raise ConfigError(
                    "E_OPTION", f"--judge-examples, record {number}: its turn is no agent's turn"
                )
            if preference.split != HELD_OUT:
                decided.setdefault(preference.code, []).append(_decide(preference))
        every = [example for examples in decided.values() for example in examples]
        self._n_examples = len(every)
        self._frequency = Counter(word for example in every for word in example.words)
        self._by_code = {code: self._index(examples) for code, examples in decided.items()}

    def __len__(self) -> int:
        return self._n_examples

    @property
    def fingerprint(self) -> str:
        """Changes with the preferences and with how examples are chosen."""
        return fingerprint([self._content, MAX_CONFIRMED, MAX_OVERTURNED, SAME_TEXT, HELD_OUT])

    def find(self, dialogue: Dialogue, turn: int, code: str) -> tuple[FewShotExample, ...]:
        """Confirmed examples of `code`, then an overturned one, each most similar first. `dialogue` is
        masked."""
        index = self._by_code.get(code)
        if index is None or not _is_agent_turn(dialogue, turn):
            return ()
        cosines = index.cosines(self._vector(_count(*_exchange(dialogue, turn))))
        own = _source_name(dialogue.id)
        results: dict[str, list[FewShotExample]] = {"error": [], "no_error": []}
        most = {"error": MAX_CONFIRMED, "no_error": MAX_OVERTURNED}
        for row in np.argsort(-cosines, kind="stable").tolist():
            example = index.decided[row]
            same = example.source == own or cosines[row] > SAME_TEXT
            chosen = results[example.few_shot.verdict]
            if not same and len(chosen) < most[example.few_shot.verdict] and example.few_shot not in chosen:
                chosen.append(example.few_shot)
        return (*results["error"], *results["no_error"])

    def _index(self, decided: list[_Decided]) -> _Index:
        rows: dict[int, list[int]] = {}
        values: dict[int, list[float]] = {}
        for row, example in enumerate(decided):
            for word, weight in self._vector(example.counts).items():
                rows.setdefault(word, []).append(row)
                values.setdefault(word, []).append(weight)
        return _Index(
            decided,
            {word: np.array(own, np.int64) for word, own in rows.items()},
            {word: np.array(own, np.float64) for word, own in values.items()},
        )

    def _vector(self, counts: Counter[int]) -> Weights:
        """A unit vector: logarithms of the counts times inverse document frequencies."""
        weights = {
            word: (1 + math.log(n)) * (1 + math.log((1 + len(self)) / (1 + self._frequency[word])))
            for word, n in counts.items()
        }
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()} if length else {}


def _decide(preference: Preference) -> _Decided:
    dialogue = preference.dialogue
    customer, agent = _exchange(mask_dialogue(dialogue)[0], preference.turn)
    quote = preference.chosen.quote
    few_shot = FewShotExample(
        customer=customer or None,
        agent=agent,
        verdict=preference.chosen.verdict,
        quote=quote if quote and quote in agent else None,  # one with personal data is left out
    )
    counts = _count(customer, agent)
    return _Decided(few_shot, _source_name(dialogue.id), frozenset(counts), counts)


def _exchange(dialogue: Dialogue, turn: int) -> tuple[str, str]:
    """The customer's last words before the turn, if any, and those of the turn."""
    customer = ""
    for each in dialogue.turns:
        if each.index == turn:
            return customer, each.text
        if each.role == "customer":
            customer = each.text
    return customer, ""


def _count(*texts: str) -> Counter[int]:
    """How often each word and each pair of neighbours occurs."""
    counts: Counter[int] = Counter()
    for text in texts:
        tokens = words(text)
        counts.update(ngrams(tokens, 1).tolist())
        if len(tokens) > 1:
            counts.update(ngrams(tokens, 2).tolist())
    return counts


def _is_agent_turn(dialogue: Dialogue, turn: int) -> bool:
    return any(each.index == turn and each.role in JUDGED_ROLES for each in dialogue.turns)


def _source_name(dialogue_id: str) -> str:
    """The id of the dialogue that one of this id was made from, or its own."""
    return dialogue_id.partition("~")[0]


def examples_file(path: Path) -> Path:
    """The file of preferences that ``--judge-examples`` names: itself, or that of a dataset's folder.

    Raises:
        ConfigError: E_OPTION, there is none.
    """
    if not path.exists():
        raise ConfigError("E_OPTION", f"--judge-examples {path}: there is no such file or folder")
    file = find_set(path, PREFERENCES) if path.is_dir() else path
    if file is None:
        raise ConfigError(
            "E_OPTION",
            f"--judge-examples {path}: holds no {PREFERENCES}.jsonl of `dialint export dataset`",
        )
    return file


def read_decided(path: Path) -> DecidedExamples:
    """The examples of a file or folder of preferences.

    Raises:
        ConfigError: E_OPTION; there is no such file, or nothing in it may be shown.
        InputRefused: it holds something else; the message names the line.
    """
    file = examples_file(path)
    examples = DecidedExamples(list(read_preferences(file)), sha256_file(file))
    if not len(examples):
        raise ConfigError("E_OPTION", f"--judge-examples {path}: no example outside the split {HELD_OUT}")
    return examples
