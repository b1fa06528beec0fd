"""Which similarity finds examples that agree with a question: words or the scan's backbone?

    DIALINT_DATA=... python runs/studies/natural/examples.py build/natural
    python runs/studies/example_similarity.py build/natural/dev.jsonl build/natural/calibration.jsonl

A case is a turn and code with a verdict: an error that was read there, or a suspicion of the embedded release
(finding or suggestion) that the reading does not share; what the reader was not sure of is left out. Each
case in turn is the question, and the others of its code the examples, but for those of its own dialogue or
task and nearly the same texts, as in `dialint.detector.judge.examples`. Printed: how often the nearest
example has the question's verdict, by code and in all, with what drawing an example at random would give, and
a paired bootstrap interval by dialogue of the difference to words. The sets named here are none that the
backbone was trained on. Vectors are of masked text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cyclopts
import numpy as np
import torch

from dialint.detector.engines.local import LocalEngine
from dialint.detector.example_files import read_examples
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.examples import SAME_TEXT
from dialint.detector.masking import mask_dialogue
from dialint.detector.near_duplicates import ngrams, words
from dialint.detector.pipeline import load_detector, score
from dialint.detector.records import JUDGED_ROLES, Dialogue, Example
from dialint.detector.render import Renderer

LEAST = 5
"""Cases of each verdict that a code must have."""
Vectors = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Case:
    """A turn and code with its verdict; `source` is the number of its dialogue's group."""

    dialogue: int
    turn: int
    code: str
    is_error: bool


def main(*sets: Path, resamples: int = 2000) -> None:
    """Print the table."""
    examples = [example for path in sets for example in read_examples(path)]
    detector = load_detector(DetectorConfig(threads=1))
    verdicts = score([example.dialogue for example in examples], detector)
    cases: list[Case] = []
    for number, (example, verdict) in enumerate(zip(examples, verdicts, strict=True)):
        sure = {(label.turn, label.code) for label in example.errors}
        known = {(label.turn, label.code) for label in example.labels}
        flagged = {(each.turn, each.code) for each in (*verdict.findings, *verdict.suggestions)}
        cases += [Case(number, turn, code, True) for turn, code in sorted(sure)]
        denied = sorted(flagged - known)
        cases += [Case(number, turn, code, False) for turn, code in denied if code not in example.unlabelled]
    masked = [mask_dialogue(example.dialogue)[0] for example in examples]
    engine = detector.scanner.engine
    assert isinstance(engine, LocalEngine)
    vectors = _backbone_vectors(masked, detector.scanner.renderer, engine)
    by_code: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_code[case.code].append(case)
    hits: dict[str, list[tuple[int, str, float]]] = defaultdict(list)
    for code, own in sorted(by_code.items()):
        n_errors = sum(case.is_error for case in own)
        if min(n_errors, len(own) - n_errors) >= LEAST:
            for name, values in _agreement(own, masked, examples, vectors).items():
                hits[name] += [(case.dialogue, code, hit) for case, hit in zip(own, values, strict=True)]
    _print(hits, resamples)


def _backbone_vectors(
    dialogues: Sequence[Dialogue], renderer: Renderer, engine: LocalEngine
) -> dict[str, dict[tuple[int, int], Vectors]]:
    """Unit vectors of each judged turn by dialogue and turn: the mean state of its tokens, and its slot's."""
    means: dict[tuple[int, int], Vectors] = {}
    slots: dict[tuple[int, int], Vectors] = {}
    for number, dialogue in enumerate(dialogues):
        if not any(turn.role in JUDGED_ROLES and turn.text.strip() for turn in dialogue.turns):
            continue
        for window in renderer.render(dialogue):
            with torch.inference_mode():
                row = engine.pack([window])
                states = engine.model.hidden_states(row)[-len(window) :].float().cpu().numpy().astype(float)
            for slot in window.slots:
                tokens = states[slot.first_token : slot.position]
                if len(tokens):
                    means[number, slot.turn] = tokens.mean(0)
                    slots[number, slot.turn] = states[slot.position]
    result = {}
    for name, raw in (("backbone: mean of tokens", means), ("backbone: slot", slots)):
        center = np.mean(list(raw.values()), 0)
        result[name] = {key: _unit(value - center) for key, value in raw.items()}
    return result


def _agreement(
    cases: Sequence[Case],
    dialogues: Sequence[Dialogue],
    examples: Sequence[Example],
    vectors: dict[str, dict[tuple[int, int], Vectors]],
) -> dict[str, list[float]]:
    """For each similarity whether the nearest example has the verdict of each case; at random its share."""
    cosines_of_words = word_cosines([(dialogues[case.dialogue], case.turn) for case in cases])
    groups = np.array([hash(_group(examples[case.dialogue].dialogue.id)) for case in cases])
    errors = np.array([case.is_error for case in cases])
    excluded = (groups[:, None] == groups[None]) | (cosines_of_words > SAME_TEXT)
    same = errors[:, None] == errors[None]
    allowed = ~excluded
    share = (same & allowed).sum(1) / np.maximum(allowed.sum(1), 1)
    result = {"at random": share.tolist()}
    tables = {"words": cosines_of_words}
    for name, own in vectors.items():
        size = len(next(iter(own.values())))
        stacked = np.stack([own.get((case.dialogue, case.turn), np.zeros(size)) for case in cases])
        tables[name] = stacked @ stacked.T
    for name, cosines in tables.items():
        nearest = np.where(excluded, -np.inf, cosines).argmax(1)
        result[name] = same[np.arange(len(cases)), nearest].astype(float).tolist()
    return result


def word_cosines(turns: Sequence[tuple[Dialogue, int]]) -> Vectors:
    """The cosines of turns with the customer's turn before each, weighted as in `detector.judge.examples`, by
    words and word pairs; shape (turns, turns)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def count(exchange: tuple[str, str]) -> list[int]:
        found: list[int] = []
        for text in exchange:
            tokens = words(text)
            found += ngrams(tokens, 1).tolist()
            found += ngrams(tokens, 2).tolist() if len(tokens) > 1 else []
        return found

    exchanges = []
    for dialogue, turn in turns:
        before = [each.text for each in dialogue.turns if each.index < turn and each.role == "customer"]
        own = next(each.text for each in dialogue.turns if each.index == turn)
        exchanges.append((before[-1] if before else "", own))
    table = TfidfVectorizer(analyzer=count, sublinear_tf=True, min_df=1).fit_transform(exchanges)
    cosines: Vectors = (table @ table.T).toarray()
    return cosines


def _group(dialogue_id: str) -> str:
    """The task of a dialogue of tau_bench, else the dialogue itself."""
    parts = dialogue_id.split("#")
    return "#".join((parts[0].rpartition("-")[2], parts[1])) if len(parts) == 3 else dialogue_id


def _unit(vector: Vectors) -> Vectors:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def _print(hits: dict[str, list[tuple[int, str, float]]], resamples: int) -> None:
    rng = np.random.default_rng(0)
    base = hits["words"]
    dialogues = sorted({number for number, _, _ in base})
    row_of = {number: row for row, number in enumerate(dialogues)}
    for name, rows in hits.items():
        values = np.array([hit for *_, hit in rows])
        differences = values - np.array([hit for *_, hit in base])
        sums, counts = np.zeros(len(dialogues)), np.zeros(len(dialogues))
        for (number, *_), difference in zip(rows, differences, strict=True):
            sums[row_of[number]] += difference
            counts[row_of[number]] += 1
        draws = rng.integers(0, len(dialogues), (resamples, len(dialogues)))
        means = sums[draws].sum(1) / counts[draws].sum(1)
        low, high = np.quantile(means, [0.025, 0.975])
        by_code = defaultdict(list)
        for _, code, hit in rows:
            by_code[code].append(hit)
        codes = ", ".join(f"{code} {np.mean(own):.2f} ({len(own)})" for code, own in sorted(by_code.items()))
        macro = np.mean([np.mean(own) for own in by_code.values()])
        print(f"{name}: {values.mean():.3f} of {len(rows)}, macro {macro:.3f}, against words "
              f"{differences.mean():+.3f} ({low:+.3f} to {high:+.3f}); {codes}")  # fmt: skip


if __name__ == "__main__":
    cyclopts.run(main)
