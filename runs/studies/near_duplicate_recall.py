"""How many near-copies `neighbours` finds, and how many it takes for one wrongly.

Run: ``python runs/studies/near_duplicate_recall.py --data FOLDER``. Two measurements on real dialogues:
edited copies planted at known likeness among the others; and, for one small corpus, every pair compared
exactly. Changes nothing and writes only what ``--out`` names.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
from cyclopts import App, Parameter

from dialint.detector.artifacts import to_json_bytes, write_json
from dialint.detector.near_duplicates import (
    NEAR_DUPLICATE,
    RELATED,
    WIDTH,
    Shingles,
    near_pairs,
    shingles,
    words,
)
from dialint.labeling.corpora.sources import SOURCES, read_source

LEVELS = (0.95, 0.9, 0.8, 0.7, 0.6)
MIN_WORDS = 60
"""Shorter dialogues cannot be brought near to every level by changing words."""


@Parameter(name="*")
@dataclass(frozen=True)
class RecallConfig:
    """On what recall is measured."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora."""
    sources: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ("star", "multiwoz_en")
    """Corpora among whose dialogues the copies are planted."""
    exhaustive: str = "taskmaster4"
    """Corpus of which every pair is compared exactly."""
    planted: int = 200
    """Copies at each level of likeness."""
    seed: int = 0
    """Draw of dialogues and edits."""
    out: Path | None = None
    """File for the figures as JSON; standard output has them in any case."""


def recall(config: RecallConfig) -> None:
    """Measure how many near-copies are found, on planted copies and on every pair of one corpus."""
    figures = {
        "near": NEAR_DUPLICATE,
        "kin": RELATED,
        "planted": planted(_texts(config.sources, config.data), config.planted, config.seed),
        "exhaustive": {"source": config.exhaustive, **exhaustive(_texts((config.exhaustive,), config.data))},
    }
    sys.stdout.write(to_json_bytes(figures).decode())
    if config.out:
        write_json(config.out, figures)


def planted(texts: Sequence[str], n: int, seed: int) -> list[dict[str, Any]]:
    """For each level: `n` dialogues copied and edited to that Jaccard, the copies looked for among all.

    ``found`` is the share whose original is proposed and confirmed at the copy's own Jaccard, ``dropped``
    the share taken for near-copies (right only from `NEAR_DUPLICATE` on); ``false`` counts pairs taken for
    near-copies whose word triples, compared as text, are less alike.
    """
    sets = [shingles(text) for text in texts]
    rng = Random(f"{seed}/planted")
    able = [number for number, text in enumerate(texts) if len(words(text)) >= MIN_WORDS]
    vocabulary = sorted({word for text in texts[:2000] for word in words(text)})
    rows = []
    for level in LEVELS:
        counts: Counter[str] = Counter()
        chosen = rng.sample(able, min(n, len(able)))
        copies = [edited(texts[number], level, vocabulary, rng) for number in chosen]
        likeness = [exact_jaccard(texts[number], copy) for number, copy in zip(chosen, copies, strict=True)]
        parts = [0] * len(copies) + [1] * len(sets)
        found: dict[int, dict[int, float]] = defaultdict(dict)
        for later, place, value in near_pairs([*map(shingles, copies), *sets], min(LEVELS), parts):
            found[place][later - len(copies)] = value
        for place, (number, copy) in enumerate(zip(chosen, copies, strict=True)):
            near = found[place]
            counts["found"] += near.get(number, 0.0) >= min(likeness[place], NEAR_DUPLICATE)
            counts["dropped"] += near.get(number, 0.0) >= NEAR_DUPLICATE
            taken = [other for other, value in near.items() if value >= NEAR_DUPLICATE]
            counts["taken"] += len(taken)
            counts["false"] += sum(exact_jaccard(texts[other], copy) < NEAR_DUPLICATE for other in taken)
        rows.append(
            {
                "level": level,
                "copies": len(likeness),
                "mean_jaccard": round(float(np.mean(likeness)), 3),
                "found": counts["found"] / len(likeness),
                "dropped": counts["dropped"] / len(likeness),
                "taken": counts["taken"],
                "false": counts["false"],
            }
        )
    return rows


def edited(text: str, level: float, vocabulary: Sequence[str], rng: Random) -> str:
    """A copy with words exchanged at random places for as long as its Jaccard is not below `level`."""
    said = words(text)
    for place in rng.sample(range(len(said)), len(said)):
        before, said[place] = said[place], rng.choice(vocabulary)
        if exact_jaccard(text, " ".join(said)) < level:
            said[place] = before
            break
    return " ".join(said)


def exact_jaccard(a: str, b: str) -> float:
    """Jaccard of the word triples as text, without hashes."""
    first, second = _triples(a), _triples(b)
    return len(first & second) / max(1, len(first | second))


def _triples(text: str) -> set[tuple[str, ...]]:
    said = words(text)
    return {tuple(said[i : i + WIDTH]) for i in range(max(1, len(said) - WIDTH + 1))}


def exhaustive(texts: Sequence[str]) -> dict[str, Any]:
    """Every pair compared: how many reach each level, and how many of these the search finds; ``wrong``
    counts pairs found whose exact Jaccard is below `RELATED`."""
    sets = [shingles(text) for text in texts]
    true = _all_pairs(sets, RELATED)
    found = {(later, earlier) for later, earlier, _ in near_pairs(sets, RELATED)}
    levels = {}
    for level in (RELATED, 0.7, NEAR_DUPLICATE, 0.9):
        wanted = {pair for pair, value in true.items() if value >= level}
        levels[str(level)] = {"pairs": len(wanted), "found": len(wanted & found)}
    return {"dialogues": len(texts), "levels": levels, "wrong": len(found - set(true))}


def _all_pairs(sets: Sequence[Shingles], at_least: float) -> dict[tuple[int, int], float]:
    """Exact Jaccard of all pairs that reach `at_least`, as (later, earlier), by a sparse product."""
    from scipy.sparse import csr_array

    columns = np.unique(np.concatenate(sets), return_inverse=True)[1]
    sizes = np.array([len(found) for found in sets])
    ends = np.concatenate(([0], np.cumsum(sizes)))
    matrix = csr_array((np.ones(len(columns), np.int32), columns, ends), (len(sets), int(columns.max()) + 1))
    pairs = {}
    for start in range(0, len(sets), 500):
        shared = (matrix[start : start + 500] @ matrix.T).tocoo()
        rows, others = shared.coords[0] + start, shared.coords[1]
        value = shared.data / (sizes[rows] + sizes[others] - shared.data)
        for place in np.flatnonzero((value >= at_least) & (others < rows)):
            pairs[int(rows[place]), int(others[place])] = float(value[place])
    return pairs


def _texts(names: Sequence[str], data: Path) -> list[str]:
    chosen = [source for source in SOURCES if source.name in names]
    return [dialogue.text for source in chosen for dialogue in read_source(source, data)]


if __name__ == "__main__":
    app = App(help="Measure how many near-copies are found.")
    app.default(recall)
    app()
