"""The whole stage on a small data folder made here: files, splits, manifest, the same seed twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialint.detector.artifacts import read_manifest, sha256_file, verify_files
from dialint.detector.errors import InputRefused, OutputRefused
from dialint.detector.records import Example
from dialint.labeling.synthetic.corpora import CORPORA, read, split_of
from dialint.labeling.synthetic.families import all_families
from dialint.labeling.synthetic.run import InjectConfig, run

PLACES = ("Ashford", "Brook", "Corby", "Dover", "Epsom", "Filey", "Goole", "Hythe", "Ilkley", "Jarrow")
THINGS = (
    "museum",
    "garden",
    "castle",
    "market",
    "harbour",
    "library",
    "theatre",
    "station",
    "mill",
    "bakery",
)


def row(number: int, **over: Any) -> dict[str, Any]:
    """One small dialogue in the corpora's schema, its words depending on the number."""
    index, thing = PLACES[number % 10], THINGS[number // 10 % 10]
    other, far = THINGS[number * 7 % 10], PLACES[(number // 10 + number * 3) % 10]  # no two are near-copies
    texts = [
        ("customer", f"Hello, I would like to see the {thing} of {index} on Friday with my family."),
        (
            "agent",
            f"The {thing} of {index} is open. The ticket costs {number + 3} pounds. Would you like one?",
        ),
        ("customer", f"How do I find the {thing}?"),
        (
            "agent",
            f"You pass the {other} on {number} {far} Street and there it is. It takes {number % 7 + 8} minutes.",
        ),
        ("system", '{"query": "nothing"}'),
        ("customer", f"Okay, I will tell my {number % 9 + 2} children about {far} and its {other}."),
        ("agent", f"I have booked the tickets for the {number * 3 % 89} of you."),
        ("customer", "What should I bring?"),
        ("agent", f"You could bring {number * 5 % 97} umbrellas, {index} is near {far}, a rainy place."),
        ("customer", "That's all, thanks."),
        ("agent", "You are welcome, have a nice visit!"),
    ]
    turns = [{"turn_id": i, "role": r, "text": t, "action": None} for i, (r, t) in enumerate(texts)]
    base = {"dialogue_id": str(number), "source": "x", "language": "en", "split": "Complete", "turns": turns,
            "labels": [], "meta": '{"domains": ["trip"], "services": ["Sights_1"]}'}  # fmt: skip
    return {**base, **over}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with 100 dialogues a corpus."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = tmp_path_factory.mktemp("data")
    labels = [{"turn_id": -1, "annotator": "env", "category": "task_reward", "value": "1.0", "note": None}]
    for corpus in CORPORA:
        path = folder / corpus.file
        path.parent.mkdir(exist_ok=True)
        rows = [row(number, labels=labels) for number in range(100)]
        parquet.write_table(pa.Table.from_pylist(rows), path)
    return folder


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished set."""
    out = tmp_path_factory.mktemp("out") / "set"
    run(InjectConfig(data=data, out=out, seed=5))
    return out


def examples(path: Path) -> Iterator[Example]:
    """The examples of a file, checked."""
    with open(path, "rb") as file:
        for line in file:
            yield Example.model_validate_json(line)


def test_the_manifest_describes_what_is_there(made: Path, data: Path) -> None:
    manifest = read_manifest(made / "manifest.json")
    verify_files(made, manifest["files"])
    assert {file["name"] for file in manifest["files"]} == {path.name for path in made.glob("*.jsonl")}
    for file in manifest["files"]:
        rows = list(examples(made / file["name"]))
        assert file["rows"] == len(rows)
        assert file["error_turns"] == sum(len({label.turn for label in row.labels}) for row in rows)
        assert sum(file["codes"].values()) == len(
            {(row.dialogue.id, label.code) for row in rows for label in row.labels}
        )
    star = next(source for source in manifest["sources"] if source["name"] == "star")
    assert star["sha256"] == sha256_file(data / "star/data.parquet")
    assert star["licence"].startswith("MIT")


def test_every_set_holds_errors_of_its_own_families_alone(made: Path) -> None:
    use = {f"inject:{family.name}": family.use for family in all_families()}
    for name, wanted in (
        ("train", {"train"}), ("dev", {"train"}), ("calibration", {"train", "dev"}), ("test_seen", {"train"}),
        ("dev_unseen", {"dev"}), ("test_unseen", {"heldout"}), ("test_domain", {"heldout"}),
    ):  # fmt: skip
        methods = {label.method for row in examples(made / f"{name}.jsonl") for label in row.labels}
        assert {use[method] for method in methods} == wanted, name
    assert not any(row.labels for row in examples(made / "clean_star.jsonl"))


def test_no_dialogue_straddles_splits_and_ids_are_unique(made: Path) -> None:
    splits: dict[str, set[str]] = {}
    for path in made.glob("*.jsonl"):
        rows = list(examples(path))
        assert len({row.dialogue.id for row in rows}) == len(rows)
        part = path.stem.split("_")[0].replace("clean", "test")
        for example in rows:
            splits.setdefault(example.dialogue.id.split("~")[0], set()).add(part)
    assert all(len(parts) == 1 for parts in splits.values())
    assert not any(row.dialogue.id.startswith("sgd:") for row in examples(made / "train.jsonl"))


def test_a_pair_joins_an_error_and_clean_twins(made: Path) -> None:
    pairs: dict[str, list[Example]] = {}
    for example in examples(made / "train.jsonl"):
        if example.pair:
            pairs.setdefault(example.pair, []).append(example)
    assert len(pairs) > 20
    for pair in pairs.values():
        error, twin = sorted(pair, key=lambda example: example.dialogue.id)
        assert error.labels
        assert not twin.labels
        assert twin.dialogue.id == f"{error.dialogue.id}~twin"
        probes = twin.dialogue.metadata["probes"]
        assert isinstance(probes, list)
        for probe in probes:
            assert isinstance(probe, dict)
            assert probe["code"] in {label.code for label in error.labels}
            assert twin.dialogue.turns[int(str(probe["turn"]))].role == "agent"


@pytest.mark.slow
def test_the_same_seed_makes_the_same_bytes(data: Path, made: Path, tmp_path: Path) -> None:
    run(InjectConfig(data=data, out=tmp_path / "again", seed=5))
    run(InjectConfig(data=data, out=tmp_path / "other", seed=6))
    for path in made.glob("*.jsonl"):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    assert (made / "train.jsonl").read_bytes() != (tmp_path / "other" / "train.jsonl").read_bytes()


def test_a_finished_set_is_never_overwritten_and_a_missing_corpus_named(
    data: Path, made: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputRefused, match="E_DATA"):
        run(InjectConfig(data=tmp_path, out=tmp_path / "out"))
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run(InjectConfig(data=data, out=made))


def corpus_of(tmp_path: Path, name: str, rows: list[dict[str, Any]]) -> list[Any]:
    """What `read` keeps of rows written as corpus `name`."""
    import pyarrow as pa
    from pyarrow import parquet

    corpus = next(corpus for corpus in CORPORA if corpus.name == name)
    (tmp_path / corpus.file).parent.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / corpus.file)
    return list(read(corpus, tmp_path))


def test_tau_shows_what_the_customer_saw_and_only_successes(tmp_path: Path) -> None:
    def turn(role: str, text: str) -> dict[str, Any]:
        return {"turn_id": 0, "role": role, "text": text, "action": None}

    def label(value: str) -> list[dict[str, Any]]:
        return [{"turn_id": -1, "annotator": "env", "category": "task_reward", "value": value, "note": None}]

    reply = 'Thought: hm\nAction:\n{"name": "respond", "arguments": {"content": "It left today."}}'
    call = 'Thought: look\nAction:\n{"name": "get_order", "arguments": {"id": "7"}}'
    seen = [
        turn("customer", "Where is it?"),
        turn("agent", call),
        turn("agent", reply),
        turn("customer", "###STOP###"),
    ]
    leaked = [turn("customer", "Where is that?"), turn("agent", "Thought: I must not say this")]
    kept = corpus_of(tmp_path, "tau_bench", [
        row(1, dialogue_id="react-x-retail#18#0", turns=seen, labels=label("1.0")),
        row(2, dialogue_id="react-y-retail#18#0", turns=seen[:1] + seen[2:], labels=label("0.0")),
        row(3, dialogue_id="react-z-retail#19#0", turns=leaked, labels=label("1.0")),
    ])  # fmt: skip
    assert [[(t.role, t.text) for t in clean.draft.turns] for clean in kept] == [
        [("customer", "Where is it?"), ("agent", "It left today.")]
    ]
    assert kept[0].group == "tau:retail#18"


def test_near_copies_share_a_split_and_splits_have_their_shares() -> None:
    assert json.dumps([split_of(f"g{i}") for i in range(20)]) == json.dumps(
        [split_of(f"g{i}") for i in range(20)]
    )
    counts = [split_of(f"group {number}") for number in range(8000)]
    for name, share in (("train", 0.8), ("dev", 0.05), ("calibration", 0.075), ("test", 0.075)):
        assert counts.count(name) / 8000 == pytest.approx(share, abs=0.012)
