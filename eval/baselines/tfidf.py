"""TF-IDF with logistic regression: words and letters of a turn, words of the turns before it.

Four blocks of hashed n-grams (no vocabulary is stored), each weighted by TF-IDF and of length one: words
(1-2) and characters (3-5) of the turn, words (1-2) of the two turns before it, and of all before those;
context words carry their speaker. One logistic regression for each code against the rest. All turns
with an error and their counterparts in clean twins are learned from, and one in `KEEP_ONE_IN` of the others;
what that does to the rates is for calibration to mend. Saved as arrays and JSON, no pickle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from dialint.detector.artifacts import sha256_file
from dialint.detector.errors import ConfigError
from dialint.detector.records import Dialogue, Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.baselines.scored import ScoredSpan, TurnScores, judged_positions
from dialint.eval.metrics import Floats

WEIGHTS = "weights.npz"
BITS = (17, 18, 17, 17)
"""Buckets of each block, as powers of two: turn words, turn characters, turns before, history."""
KEEP_ONE_IN = 4
MIN_ERRORS = 20
"""A code with fewer errors is not learned."""
PENALTY = 1e-6
"""Weight of the squared coefficients."""
PASSES = 12
"""Over all turns, by stochastic gradient: the exact solvers take minutes for each code (2026-11-21)."""
CHUNK = 4096
_TOKEN = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


@dataclass(frozen=True)
class Unit:
    """A judged turn: its text, the two turns before it, and all before those, as the blocks read them."""

    turn: str
    before: str
    history: str


def extract_units(dialogue: Dialogue) -> dict[int, Unit]:
    """The judged turns by their index; every digit reads as 0. Results of tools are no words of theirs."""
    dialogue = dialogue.model_copy(
        update={"turns": tuple(turn for turn in dialogue.turns if not turn.is_unseen)}
    )
    texts = [re.sub(r"\d", "0", turn.text.lower()) for turn in dialogue.turns]
    spoken = [
        " ".join(turn.role[0] + "_" + word for word in _TOKEN.findall(text))
        for turn, text in zip(dialogue.turns, texts, strict=True)
    ]
    return {
        dialogue.turns[position].index: Unit(
            texts[position],
            " ".join(spoken[max(0, position - 2) : position]),
            " ".join(spoken[: max(0, position - 2)]),
        )
        for position in judged_positions(dialogue)
    }


def count_ngrams(rows: Sequence[Unit]) -> list[Any]:
    """Counts of each block, sparse, shape (rows, buckets)."""
    from sklearn.feature_extraction.text import HashingVectorizer

    plain = {"alternate_sign": False, "norm": None, "lowercase": False, "dtype": np.float32}
    words = {**plain, "ngram_range": (1, 2)}
    blocks = (
        HashingVectorizer(n_features=2 ** BITS[0], token_pattern=_TOKEN.pattern, **words),
        HashingVectorizer(n_features=2 ** BITS[1], analyzer="char_wb", ngram_range=(3, 5), **plain),
        HashingVectorizer(n_features=2 ** BITS[2], token_pattern=r"\S+", **words),
        HashingVectorizer(n_features=2 ** BITS[3], token_pattern=r"\S+", **words),
    )
    columns = (
        [u.turn for u in rows],
        [u.turn for u in rows],
        [u.before for u in rows],
        [u.history for u in rows],
    )
    return [block.transform(column) for block, column in zip(blocks, columns, strict=True)]


def weight_blocks(counts: Sequence[Any], idf: Sequence[Floats]) -> Any:
    """The blocks side by side: 1 + log of the count, times idf, each row of a block of length one."""
    from scipy import sparse
    from sklearn.preprocessing import normalize

    blocks = []
    for block, weight in zip(counts, idf, strict=True):
        block = block.copy()
        block.data = np.log(block.data) + 1.0
        blocks.append(normalize(block @ sparse.diags(weight), copy=False))
    return sparse.hstack(blocks, format="csr", dtype=np.float32)


def train(examples: Iterable[Example], folder: Path, seed: int = 0) -> None:
    """Learn from labelled examples and write the weights to `folder`.

    Raises:
        ConfigError: no code has errors enough.
    """
    from sklearn.linear_model import SGDClassifier

    rows, labels = _rows(examples, Random(seed))
    entries = load_taxonomy().codes
    codes = [code for code in entries if sum(code in spans for spans in labels) >= MIN_ERRORS]
    if not codes:
        raise ConfigError("E_EXAMPLE", f"no code has {MIN_ERRORS} errors or more to learn from")
    counts = count_ngrams(rows)
    idf = [inverse_document_frequency(block) for block in counts]
    table = weight_blocks(counts, idf)
    del counts
    weights, offsets = [], []
    for code in codes:
        print(f"learning {code} from {len(rows)} turns", flush=True)
        model = SGDClassifier(loss="log_loss", alpha=PENALTY, max_iter=PASSES, tol=None, random_state=seed)
        model.fit(table, np.array([code in spans for spans in labels]))
        weights.append(model.coef_[0].astype(np.float32))
        offsets.append(float(model.intercept_[0]))
    arrays: dict[str, Any] = {f"idf{position}": weight for position, weight in enumerate(idf)}
    arrays |= {"codes": np.array(codes), "weights": np.array(weights), "offsets": np.array(offsets)}
    np.savez_compressed(folder / WEIGHTS, **arrays)


def inverse_document_frequency(block: Any) -> Floats:
    """Smoothed inverse document frequency of each bucket. Source: scikit-learn's ``TfidfTransformer``."""
    spans = np.bincount(block.indices, minlength=block.shape[1])
    return np.asarray(np.log((1.0 + block.shape[0]) / (1.0 + spans)) + 1.0, np.float32)


def _rows(examples: Iterable[Example], random: Random) -> tuple[list[Unit], list[frozenset[str]]]:
    """Turns to learn from, with the codes of each."""
    rows: list[Unit] = []
    labels: list[frozenset[str]] = []
    for example in examples:
        of_turn: dict[int, set[str]] = {}
        for label in example.errors:
            of_turn.setdefault(label.turn, set()).add(label.code)
        probes = example.dialogue.metadata.get("probes")
        twins = {
            probe["turn"] for probe in (probes if isinstance(probes, list) else []) if isinstance(probe, dict)
        }
        for turn, unit in extract_units(example.dialogue).items():
            if turn in of_turn or turn in twins or random.random() < 1 / KEEP_ONE_IN:
                rows.append(unit)
                labels.append(frozenset(of_turn.get(turn, ())))
    return rows, labels


class TfidfScorer:
    """A trained model; its weights are read when the first dialogue is scored."""

    name = "tfidf"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fingerprint = sha256_file(folder / WEIGHTS)

    @cached_property
    def _stored(self) -> dict[str, Any]:
        with np.load(self.folder / WEIGHTS, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    @cached_property
    def codes(self) -> tuple[str, ...]:
        return tuple(str(code) for code in self._stored["codes"])

    @cached_property
    def _idf(self) -> list[Floats]:
        return [self._stored[f"idf{position}"] for position in range(len(BITS))]

    def score_dialogues(self, dialogues: Sequence[Dialogue]) -> list[TurnScores]:
        of_dialogue = [extract_units(dialogue) for dialogue in dialogues]
        rows = [unit for of_turn in of_dialogue for unit in of_turn.values()]
        scores = [self._scores(rows[start : start + CHUNK]) for start in range(0, len(rows), CHUNK)]
        rows_left = iter(np.concatenate(scores)) if scores else iter(())
        entries = load_taxonomy().codes
        whole = [code for code in self.codes if entries[code].scope == "dialogue"]
        spans: list[TurnScores] = []
        for of_turn in of_dialogue:
            table = {turn: dict(zip(self.codes, next(rows_left).tolist(), strict=True)) for turn in of_turn}
            for code in whole if table else ():
                best = max(table, key=lambda turn: (table[turn][code], turn))
                for turn in table.keys() - {best}:
                    del table[turn][code]
            spans.append({t: {code: ScoredSpan(s) for code, s in row.items()} for t, row in table.items()})
        return spans

    def _scores(self, rows: Sequence[Unit]) -> Floats:
        """Log odds, shape (rows, codes)."""
        table = weight_blocks(count_ngrams(rows), self._idf)
        return np.asarray(table @ self._stored["weights"].T + self._stored["offsets"])

    def evidence(self, text: str, code: str, suspicion: ScoredSpan) -> tuple[int, int]:
        """The words around the one with the greatest weight, while neighbours have a third of it."""
        words = list(_TOKEN.finditer(re.sub(r"\d", "0", text.lower())))
        if not words or len(text.lower()) != len(text):
            return 0, 0
        alone = [Unit(word.group(), "", "") for word in words]
        counts = count_ngrams(alone)
        weights = self._stored["weights"][self.codes.index(code)]
        weights = weights[: 2 ** BITS[0] + 2 ** BITS[1]]
        value = weight_blocks(counts[:2], self._idf[:2]) @ weights
        first = last = int(value.argmax())
        least = value[first] / 3
        while first > 0 and value[first - 1] >= least:
            first -= 1
        while last + 1 < len(words) and value[last + 1] >= least:
            last += 1
        return words[first].start(), words[last].end()
