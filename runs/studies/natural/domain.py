"""Builds the domain reference of a release, and measures how far other logs are from it.

    DIALINT_DATA=... python runs/studies/natural/domain.py build DOMAIN.json
    DIALINT_DATA=... python runs/studies/natural/domain.py table DOMAIN.json
    python runs/studies/natural/reissue.py detector/embedded OUT --name NAME --domain DOMAIN.json

The reference is made of 600 dialogues of each corpus that the embedded release is calibrated on, the first by
a hash of the id; `dialint train pack` makes its own of the examples of training and calibration. Near: the
next dialogues of the same corpora, SGD, which nothing was trained on, and the sample log. Far: translated
Weibo chats (stc3), dialogues in Chinese and Russian, dialogues whose words are shuffled within each turn.
Between: small talk with bots (dbdc3), logs masked in three styles, shuffled turns.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pyarrow.parquet as pq
from cyclopts import App

from dialint.detector.artifacts import atomic_file, require_new
from dialint.detector.domain import MIN_DIALOGUES, Domain, fit_domain
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.log_profile import profile_log
from dialint.detector.records import Dialogue

sys.path.insert(0, str(Path(__file__).parents[1]))
from masked_logs import STYLES, mask_dialogue

REFERENCE = {
    "star": "star/data.parquet",
    "multiwoz": "multiwoz_en_ru/data_en.parquet",
    "taskmaster4": "taskmaster4/data.parquet",
    "tau_bench": "tau_bench/data.parquet",
}
OTHERS = {
    "sgd": "sgd/data.parquet",
    "dbdc3": "dbdc3/data_en.parquet",
    "stc3": "stc3_dch1/data_en.parquet",
    "stc3, Chinese": "stc3_dch1/data_zh.parquet",
    "multiwoz, Russian": "multiwoz_en_ru/data_ru.parquet",
}
SAMPLE = Path(__file__).parents[3] / "app/sample/dialogues.jsonl"
PER_CORPUS = 600
HELD_OUT = 300
app = App(help_format="plaintext")


@app.command
def build(out: Path) -> None:
    """Write the reference to the new file OUT."""
    require_new(out)
    domain = fit_domain({name: islice(_corpus(path), PER_CORPUS) for name, path in REFERENCE.items()})
    assert domain is not None
    with atomic_file(out) as file:
        file.write(domain.model_dump_json().encode() + b"\n")
    print(f"{out}: {domain.n_dialogues} dialogues of {', '.join(domain.corpora)}")


@app.command
def table(reference: Path) -> None:
    """Print the distance of each log, and the least and largest one of its groups of 20 dialogues."""
    domain = Domain.model_validate_json(reference.read_bytes())
    print(f"{'log':28} dialogues  distance  groups of {MIN_DIALOGUES}")
    for name, dialogues in _logs():
        groups = [
            profile_log(dialogues[start : start + MIN_DIALOGUES], domain).distance or 0.0
            for start in range(0, len(dialogues) - MIN_DIALOGUES + 1, MIN_DIALOGUES)
        ]
        distance = profile_log(dialogues, domain).distance
        far = "far" if domain.is_far(distance, len(dialogues)) else ""
        print(f"{name:28} {len(dialogues):9}  {distance:.3f}  {min(groups):.2f} to {max(groups):.2f}  {far}")


def _logs() -> Iterator[tuple[str, list[Dialogue]]]:
    draws = random.Random(0)
    held_out = {
        name: list(islice(_corpus(path), PER_CORPUS, PER_CORPUS + HELD_OUT))
        for name, path in REFERENCE.items()
    }
    sample = list(_read(SAMPLE))
    yield from ((f"{name}, held out", dialogues) for name, dialogues in held_out.items())
    yield "sample log", sample
    for name, path in OTHERS.items():
        yield name, list(islice(_corpus(path), HELD_OUT))
    for style, mark in STYLES.items():
        if style != "unmasked":
            yield f"star, {style}", [mask_dialogue(each, mark) for each in held_out["star"]]
            yield f"sample log, {style}", [mask_dialogue(each, mark) for each in sample]
    yield "star, turns shuffled", [_shuffle_turns(each, draws) for each in held_out["star"]]
    for name in ("star", "multiwoz"):
        yield f"{name}, words shuffled", [_shuffle_words(each, draws) for each in held_out[name]]


def _corpus(path: str) -> Iterator[Dialogue]:
    """The readable dialogues of a corpus, in the order of a hash of their ids."""
    file = Path(os.environ["DIALINT_DATA"]) / path
    ids = pq.read_table(file, columns=["dialogue_id"])["dialogue_id"].to_pylist()
    wanted = sorted(ids, key=_order)[: 2 * (PER_CORPUS + HELD_OUT)]
    dialogues = {each.id: each for each in _read(file, frozenset(wanted))}
    return (dialogues[id] for id in wanted if id in dialogues)


def _order(id: str) -> str:
    return sha256(id.encode()).hexdigest()


def _read(file: Path, wanted: frozenset[str] = frozenset()) -> Iterator[Dialogue]:
    for record in read(open_logs([str(file)]), ReadConfig(max_bad=0.5), Counts()):
        if isinstance(record, Loaded) and (not wanted or record.dialogue.id in wanted):
            yield record.dialogue


def _shuffle_words(dialogue: Dialogue, draws: random.Random) -> Dialogue:
    def shuffled(text: str) -> str:
        parts = text.split()
        draws.shuffle(parts)
        return " ".join(parts)

    return _with_texts(dialogue, shuffled)


def _shuffle_turns(dialogue: Dialogue, draws: random.Random) -> Dialogue:
    texts = [turn.text for turn in dialogue.turns if turn.role != "tool"]
    draws.shuffle(texts)
    return _with_texts(dialogue, lambda _: texts.pop())


def _with_texts(dialogue: Dialogue, change: Callable[[str], str]) -> Dialogue:
    turns = (
        turn if turn.role == "tool" else turn.model_copy(update={"text": change(turn.text)})
        for turn in dialogue.turns
    )
    return dialogue.model_copy(update={"turns": tuple(turns)})


if __name__ == "__main__":
    app()
