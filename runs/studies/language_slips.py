"""The hits of the checks of language on logs, counted and drawn for reading, and recall on corrected text.

    python runs/studies/language_slips.py --check misspelt_word --half development --draw 25
    python runs/studies/language_slips.py --check grammar_slip --half once --draw 10 --by why
    python runs/studies/language_slips.py --recall

Reads the folder that the environment variable DIALINT_DATA names, and prints text of dialogues.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import cyclopts
import pyarrow.parquet as pq

from dialint.detector.checks import CHECKS, CheckContext, Hit
from dialint.detector.checks.spelling import misspelt_word, speller
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.log_profile import profile_log, words
from dialint.detector.records import Dialogue, Turn

CORPORA = {
    "star": "star/data.parquet",
    "multiwoz": "multiwoz_en_ru/data_en.parquet",
    "sgd": "sgd/data.parquet",
    "tau_bench": "tau_bench/data.parquet",
    "stc3": "stc3_dch1/data_en.parquet",
    "taskmaster4": "taskmaster4/data.parquet",
    "dbdc3": "dbdc3/data_en.parquet",
}
AROUND = 50
"""Characters around a hit that are printed."""

app = cyclopts.App(help=__doc__)


def half_of(dialogue_id: str) -> str:
    """The half of the dialogues that an id belongs to, by its sha256."""
    return "once" if int(hashlib.sha256(dialogue_id.encode()).hexdigest()[:16], 16) % 2 else "development"


def hits_of(path: Path, check: str, half: str) -> Iterator[tuple[Turn, Hit]]:
    """The hits in one half of a corpus; the profile is that of the whole log."""
    records = read(open_logs([str(path)]), ReadConfig(max_bad=0.9), Counts())
    dialogues = [record.dialogue for record in records if isinstance(record, Loaded)]
    context = CheckContext(profile_log(dialogues))
    for dialogue in dialogues:
        if half_of(dialogue.id) == half:
            turns = {turn.index: turn for turn in dialogue.turns}
            yield from ((turns[hit.turn], hit) for hit in CHECKS[check](dialogue, context))


def corrected(data: Path) -> Iterator[tuple[str, list[str]]]:
    """English sentences with their corrections, apostrophes joined to their words."""
    for row in pq.read_table(data / "gec" / "data.parquet").to_pylist():
        if row["language"] == "en":
            yield re.sub(r" (?=n't|')", "", row["source"]), row["references"]


def print_recall(data: Path) -> None:
    """Of the words that no reference keeps and the dictionary lacks, the share that is found."""
    dictionary = speller("en")
    totals: Counter[str] = Counter()
    for source, references in corrected(data):
        kept = {word for reference in references for word in words(reference)}
        wrong = {
            w
            for w in re.findall(r"\b[a-z]{3,}\b(?!')", source)
            if w not in kept and not dictionary.is_known(w)
        }
        talk = Dialogue(id="d", language="en", turns=(Turn(index=0, role="agent", text=source),))
        whole = ";".join(hit.why.rpartition(", ")[2] for hit in misspelt_word(talk))
        found = {pair.partition(":")[0].strip().casefold() for pair in whole.split(";")} - {""}
        totals += Counter(wrong=len(wrong), found=len(wrong & found), hits=len(found), kept=len(found & kept))
    print(dict(totals))


@app.default
def main(
    *,
    check: str = "misspelt_word",
    half: Literal["development", "once"] = "development",
    draw: int = 25,
    by: Literal["corpus", "why"] = "corpus",
    recall: bool = False,
) -> None:
    """Count the hits of a check by corpus or by reason and print a draw of each."""
    data = Path(os.environ["DIALINT_DATA"])
    if recall:
        print_recall(data)
        return
    groups: dict[str, list[tuple[str, Turn, Hit]]] = defaultdict(list)
    for name, path in CORPORA.items():
        for turn, hit in hits_of(data / path, check, half):
            groups[name if by == "corpus" else hit.why].append((name, turn, hit))
    for group, hits in sorted(groups.items()):
        print(f"{group}: {len(hits)} {dict(Counter(name for name, _, _ in hits))}")
        for name, turn, hit in random.Random(f"{half}:{group}").sample(hits, min(draw, len(hits))):
            quote = turn.text[max(0, hit.start - AROUND) : hit.end + AROUND]
            print(f"  {name}: {hit.why} | {' '.join(quote.split())}")


if __name__ == "__main__":
    app()
