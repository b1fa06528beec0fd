"""The whole stage on a small data folder made here: copies found, splits kept, shards and manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from dedup import DedupConfig, run
from pyarrow import parquet
from sources import SOURCES, CorpusDialogue, read_source

from dialint.detector.artifacts import MANIFEST, read_manifest, sha256_file, verify_files
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused

THINGS = ["kettle", "ladder", "carpet", "lantern", "mirror", "saddle", "hammer", "basket", "violin", "anchor"]
PLACES = ["Ashford", "Brook", "Corby", "Dover", "Epsom", "Filey", "Goole", "Hythe", "Ilkley", "Jarrow"]
DEEDS = [
    "broke",
    "arrived late",
    "lost its colour",
    "was never sent",
    "fell apart",
    "came twice",
    "smells odd",
]


def said(seed: str) -> list[tuple[str, str]]:
    """A dialogue whose words depend on `seed` alone."""
    rng = Random(seed)
    thing, place, deed = rng.choice(THINGS), rng.choice(PLACES), rng.choice(DEEDS)
    pick = rng.sample(THINGS, 6)
    texts = (
        f"Hello, the {thing} I bought for {rng.randint(20, 900)} pounds in {place} {deed}.",
        f"I see a {pick[0]}, a {pick[1]} and the {thing} on order {rng.randint(1000, 99999)}.",
        f"Not the {pick[2]}, I mean what {rng.choice(PLACES)} sold me {rng.randint(2, 90)} days ago.",
        f"Then a {pick[3]} from {rng.choice(PLACES)} replaces it within {rng.randint(2, 90)} days.",
        f"Fine, leave it with the {pick[4]} at number {rng.randint(1, 400)}, please.",
        f"Done, the {pick[5]} of {place} is yours, reference {rng.randint(1000, 99999)}.",
    )
    return [(("customer", "agent")[number % 2], text) for number, text in enumerate(texts)]


def row(name: str, turns: list[tuple[str, str]] | None = None, **over: Any) -> dict[str, Any]:
    """One dialogue in the corpora's schema."""
    told = [
        {"turn_id": number, "role": role, "text": text, "action": None}
        for number, (role, text) in enumerate(turns or said(name))
    ]
    base = {"dialogue_id": name, "source": "x", "language": "en", "split": "Complete", "turns": told,
            "labels": [], "meta": "{}"}  # fmt: skip
    return {**base, **over}


RUDE = [
    *said("rude")[:5],
    ("agent", "Are you stupid? Read the page, you idiot, and stop asking about Corby."),
]
WON = [{"turn_id": -1, "annotator": "env", "category": "task_reward", "value": "1.0", "note": None}]


def near(turns: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A near-copy: the last words of the last turn are others."""
    return [*turns[:-1], (turns[-1][0], turns[-1][1] + " Bye now.")]


def corpora() -> dict[str, list[dict[str, Any]]]:
    """Rows by source, with planted copies, a rude agent, one side only and a replayed task."""
    rows = {source.name: [row(f"{source.name} {n}") for n in range(40)] for source in SOURCES}
    rows["taskmaster4"] += [row("copy", said("star 3")), row("likeness", near(said("multiwoz_en 5")))]
    rows["sgd"] += [row("copy", said("star 4")), row("sgd 7", said("another seven"))]
    rows["dbdc3"] += [row("rude", RUDE), row("monologue", said("mono")[::2])]
    rows["tau_bench"] = [row(f"{agent}-retail#{n}#0", said(f"{agent}{n}"), labels=WON if n % 2 else [])
                         for agent in ("one-", "two_") for n in range(30)]  # fmt: skip
    rows["multiwoz_ru"] = [row(f"multiwoz_en {n}", said(f"ru {n}")) for n in range(40)]
    return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for source in SOURCES:
        path = folder / source.file
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(corpora()[source.name]), path)
    return folder


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "shards"
    run(DedupConfig(data=data, out=out, shard_rows=100))
    return out


@pytest.fixture(scope="module")
def rows(made: Path) -> dict[str, dict[str, Any]]:
    """What was written, by id; the file's name under ``file``."""
    paths = sorted(made.glob("*.parquet"))
    found = [{**row, "file": path.name} for path in paths for row in parquet.read_table(path).to_pylist()]
    assert len({row["dialogue_id"] for row in found}) == len(found)
    return {row["dialogue_id"]: row for row in found}


def test_planted_copies_are_left_out_across_sources_and_the_first_stays(
    rows: dict[str, dict[str, Any]],
) -> None:
    assert "taskmaster4:copy" not in rows
    assert "taskmaster4:likeness" not in rows
    assert "sgd:copy" not in rows
    for name in ("star:star 3", "star:star 4", "multiwoz_en:multiwoz_en 5", "sgd:sgd 7", "sgd:sgd 7+2"):
        assert name in rows


def test_every_dialogue_is_kept_or_has_its_reason(made: Path, rows: dict[str, dict[str, Any]]) -> None:
    for source in read_manifest(made / MANIFEST)["sources"]:
        assert source["read"] == source["kept"] + sum(source["dropped"].values()), source["name"]
        assert source["kept"] == sum(row["source"] == source["name"] for row in rows.values())
        assert source["kept"] == source["train"] + source["heldout"] + source["measure"]


def test_groups_never_cross_splits(rows: dict[str, dict[str, Any]]) -> None:
    splits: dict[str, set[str]] = {}
    for row in rows.values():
        assert row["file"].startswith(f"{row['split']}-")
        splits.setdefault(row["group"], set()).add(row["split"])
    assert all(len(found) == 1 for found in splits.values())
    assert {"train", "heldout"} <= {split for found in splits.values() for split in found}
    for n in range(30):  # two agents at one task, their ids written differently
        assert rows[f"tau_bench:one--retail#{n}#0"]["group"] == rows[f"tau_bench:two_-retail#{n}#0"]["group"]
    for n in range(40):
        assert rows[f"multiwoz_en:multiwoz_en {n}"]["group"] == rows[f"multiwoz_ru:multiwoz_en {n}"]["group"]


def test_measured_and_research_corpora_never_reach_training(rows: dict[str, dict[str, Any]]) -> None:
    train = {row["source"] for row in rows.values() if row["split"] != "measure"}
    measure = {row["source"] for row in rows.values() if row["split"] == "measure"}
    assert measure == {"sgd", "stc3_dch1_en", "stc3_dch1_zh"}
    assert not train & measure
    assert {source.name for source in SOURCES} == train | measure


def test_the_manifest_describes_the_shards_and_what_they_are_made_of(made: Path, data: Path) -> None:
    manifest = read_manifest(made / MANIFEST)
    verify_files(made, manifest["files"])
    assert {file["name"] for file in manifest["files"]} == {path.name for path in made.glob("*.parquet")}
    assert sum(file["split"] == "train" for file in manifest["files"]) > 1
    for source in manifest["sources"]:
        assert source["sha256"] == sha256_file(data / source["file"])
        assert source["licence"]
    assert manifest["kind"] == "dialogue-shards"


def test_the_same_seed_makes_the_same_bytes_and_another_another_order(
    data: Path, made: Path, tmp_path: Path
) -> None:
    run(DedupConfig(data=data, out=tmp_path / "again", shard_rows=100))
    run(DedupConfig(data=data, out=tmp_path / "other", shard_rows=100, seed=1))
    for path in made.glob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    first = "train-00000-of-" + next(made.glob("train-00000-*")).name[-13:]
    assert (made / first).read_bytes() != (tmp_path / "other" / first).read_bytes()


def test_a_finished_set_is_refused_and_the_rest_of_a_broken_run_removed(
    data: Path, made: Path, tmp_path: Path
) -> None:
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run(DedupConfig(data=data, out=made))
    (tmp_path / "train-00007-of-00009.parquet").write_bytes(b"left over")
    (tmp_path / "notes.txt").write_text("mine")
    manifest = run(DedupConfig(data=data, out=tmp_path, languages=("en",)))
    assert {path.name for path in tmp_path.glob("*.parquet")} == {file["name"] for file in manifest["files"]}
    assert (tmp_path / "notes.txt").exists()
    written = [row for path in tmp_path.glob("*.parquet") for row in parquet.read_table(path).to_pylist()]
    assert {row["language"] for row in written} == {"en"}


def test_a_missing_corpus_and_impossible_options_are_the_users_errors(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="E_DATA"):
        run(DedupConfig(data=tmp_path, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigError, match="--shard-rows"):
        DedupConfig(data=tmp_path, out=tmp_path, shard_rows=0)


def one(tmp_path: Path, name: str, written: dict[str, Any]) -> Iterator[CorpusDialogue]:
    """What is read of one row written as corpus `name`."""
    source = next(source for source in SOURCES if source.name == name)
    (tmp_path / source.file).parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist([written]), tmp_path / source.file)
    return read_source(source, tmp_path)


def test_tool_calls_and_hidden_thoughts_are_nobodys_words(tmp_path: Path) -> None:
    call = {"turn_id": 1, "role": "agent", "text": '{"api": {"get_menu": {}}}', "action": "api"}
    result = {"turn_id": 2, "role": "system", "text": '{"response": {}}', "action": "api"}
    written = row("a", [("customer", "Tea,  please."), ("agent", "Here\nyou are.")])
    written["turns"][1:1] = [call, result]
    (read,) = one(tmp_path, "taskmaster_reward", written)
    assert read.turns == (("customer", "Tea, please."), ("agent", "Here you are."))
    reply = "Thought: hm\nAction:\n" + json.dumps({"name": "respond", "arguments": {"content": "It left."}})
    (read,) = one(tmp_path, "tau_bench", row("x-retail#1#0", [("customer", "Where?"), ("agent", reply)]))
    assert read.turns == (("customer", "Where?"), ("agent", "It left."))
    assert not read.hidden
    (read,) = one(tmp_path, "tau_bench", row("x-retail#1#0", [("agent", "Thought: I must not say this")]))
    assert read.hidden
