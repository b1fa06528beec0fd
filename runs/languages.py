"""How often the language of a turn or dialogue is found wrongly: the figures in ``docs/experiments/``.

    python runs/languages.py DATA [--dialogues 3000]

DATA is the folder of corpora of one language each. Prints counts only.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from dialint.detector.languages import UNKNOWN, detect_language, detect_languages, language_words
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn

CORPORA = {
    "star": "en", "tau_bench": "en", "taskmaster4": "en", "taskmaster_reward": "en", "sgd": "en",
    "dbdc3": "en", "multiwoz_en_ru/data_en": "en", "multiwoz_en_ru/data_ru": "ru", "stc3_dch1/data_en": "en",
    "stc3_dch1/data_zh": "zh",
}  # fmt: skip
LENGTHS = (10, 20, 40, 80, 160, sys.maxsize)


def dialogues(path: Path, n: int) -> Iterator[Dialogue]:
    """At most `n` dialogues of a corpus, drawn at random; system turns are left out."""
    rows = pq.read_table(path).to_pylist()
    random.Random(0).shuffle(rows)
    for row in rows[:n]:
        turns = [turn for turn in row["turns"] if turn["role"] != "system" and turn["text"]]
        yield Dialogue(
            id=row["dialogue_id"],
            turns=tuple(Turn(index=i, role=t["role"], text=t["text"]) for i, t in enumerate(turns)),
        )


def measure(name: str, path: Path, wanted: str, n: int) -> None:
    """Print what is found of one corpus."""
    of_length: dict[int, Counter[str]] = {length: Counter() for length in LENGTHS}
    counts: Counter[str] = Counter()
    seconds = 0.0
    for dialogue in dialogues(path, n):
        agents = [turn.index for turn in dialogue.turns if turn.role in JUDGED_ROLES]
        began = time.perf_counter()
        whole, turns = detect_languages(dialogue)
        seconds += time.perf_counter() - began
        lost = sum(turns[index] not in (wanted, UNKNOWN) for index in agents)
        counts.update(
            dialogues=1, turns=len(agents), lost=lost, any_lost=lost > 0, all_lost=0 < lost == len(agents),
            whole_wrong=whole not in (wanted, UNKNOWN), whole_unknown=whole == UNKNOWN,
        )  # fmt: skip
        opening = dialogue.model_copy(update={"turns": dialogue.turns[:2]})
        counts["opening_wrong"] += detect_languages(opening)[0] not in (wanted, UNKNOWN)
        counts["opening_unknown"] += detect_languages(opening)[0] == UNKNOWN
        for turn in dialogue.turns:
            letters = sum(map(str.isalpha, language_words(turn.text)))
            alone = detect_language(turn.text)
            kind = "right" if alone == wanted else "unknown" if alone == UNKNOWN else "wrong"
            of_length[next(length for length in LENGTHS if letters <= length)][kind] += 1
    print(
        name,
        wanted,
        dict(counts),
        f"{1000 * seconds / max(counts['dialogues'], 1):.2f} ms a dialogue",
        flush=True,
    )
    for length, found in of_length.items():
        total = max(found.total(), 1)
        shown = "more" if length == sys.maxsize else f"to {length}"
        print(
            f"  turns alone, {shown:>6} letters: {found.total():6} of which wrong {found['wrong']:5} "
            f"({found['wrong'] / total:.4%}), unknown {found['unknown'] / total:.2%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--dialogues", type=int, default=3000)
    options = parser.parse_args()
    for name, wanted in CORPORA.items():
        folder = options.data / name
        paths = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder.with_suffix(".parquet")]
        measure(name, paths[0], wanted, options.dialogues)
    rows = pq.read_table(options.data / "gec/data.parquet").to_pylist()
    gec: dict[str, Counter[str]] = {}
    for row in rows:
        gec.setdefault(row["language"], Counter())[detect_language(row["source"])] += 1
    print("gec, sentences with errors:", {language: dict(found) for language, found in gec.items()})


if __name__ == "__main__":
    main()
