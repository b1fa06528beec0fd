"""Contamination between files of examples and shards: what counts, what does not, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from contamination import ContaminationConfig, contamination, measure_contamination
from dedup import write_shards

from dialint.detector.errors import InputRefused, TooManyBad
from dialint.detector.records import Dialogue, Example, Turn

WORDS = [
    f"{a}{b}" for a in ("ba", "ko", "ru", "ti", "mo", "se", "fa") for b in ("lan", "mit", "ros", "dek", "pum")
]
STOCK = "Thank you for calling, is there anything else that I can do for you today?"


def talk(seed: object, length: int = 60) -> list[str]:
    """Random words in four turns, ending with the same stock phrase as all others."""
    rng = Random(f"{seed}")
    tokens = [rng.choice(WORDS) for _ in range(length)]
    return [" ".join(tokens[start : start + length // 4]) for start in range(0, length, length // 4)] + [
        STOCK
    ]


def write(path: Path, dialogues: dict[str, list[str]]) -> Path:
    """A file of examples, the source being what stands before the colon."""
    with open(path, "w") as file:
        for name, texts in dialogues.items():
            turns = tuple(
                Turn(index=i, role="agent" if i % 2 else "customer", text=text)
                for i, text in enumerate(texts)
            )
            dialogue = Dialogue(id=name, turns=turns, metadata={"source": name.split(":")[0]})
            file.write(Example(dialogue=dialogue, split="x").model_dump_json(exclude_defaults=True) + "\n")
    return path


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write(tmp_path / "train.jsonl", {f"a:{n}": talk(n) for n in range(40)})


def test_near_copies_and_long_runs_are_told_apart_and_stock_phrases_do_not_count(
    train: Path, tmp_path: Path
) -> None:
    against = write(tmp_path / "test.jsonl", {
        "a:stranger": talk("s"),
        "a:exact": [text.upper() + "!" for text in talk(3)],
        "a:near": [*talk(4)[:-1], "Bye now.", STOCK],
        "b:runs": [*talk(5), *talk("x", 40)],
        "b:other": talk("o"),
    })  # fmt: skip
    (file,) = measure_contamination(ContaminationConfig(train=(train,), against=(against,)))["against"]
    both = ["near", "runs"]
    assert file["found"] == {"a:exact": both, "a:near": both, "b:runs": ["runs"]}
    assert (file["dialogues"], file["any"], file["share"]) == (5, 3, 0.6)
    of_a = {"dialogues": 3, "near": 2, "runs": 2, "any": 2, "share": 0.666667}
    assert file["sources"]["a"] == of_a
    assert file["sources"]["b"]["any"] == 1


def test_too_much_is_exit_code_three_and_names_no_text(
    train: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    against = write(
        tmp_path / "test.jsonl", {"a:copy": talk(3)} | {f"a:new{n}": talk(f"n{n}") for n in range(9)}
    )
    out = tmp_path / "report.json"
    with pytest.raises(TooManyBad, match="E_CONTAMINATED") as refused:
        contamination(ContaminationConfig(train=(train,), against=(against,), out=out))
    assert refused.value.exit_code == 3
    assert json.loads(out.read_text())["against"][0]["found"] == {"a:copy": ["near", "runs"]}
    shown = capsys.readouterr()
    said = shown.out + shown.err + str(refused.value) + out.read_text()
    assert not any(word in said for word in [*WORDS, "calling"])
    contamination(ContaminationConfig(train=(train,), against=(against,), max_share=0.1))


def test_shards_are_read_as_well_as_examples(train: Path, tmp_path: Path) -> None:
    rows = [
        {"dialogue_id": f"b:{name}", "source": "b", "language": "en", "group": "g", "split": "heldout",
         "licence": "MIT", "turns": [{"role": "agent", "text": text} for text in talk(name)]}
        for name in (7, "new")
    ]  # fmt: skip
    write_shards(tmp_path, "heldout", rows, 10)
    shard = tmp_path / "heldout-00000-of-00001.parquet"
    (file,) = measure_contamination(ContaminationConfig(train=(train,), against=(shard,)))["against"]
    assert list(file["found"]) == ["b:7"]
    (back,) = measure_contamination(ContaminationConfig(train=(shard,), against=(train,)))["against"]
    assert list(back["found"]) == ["a:7"]


def test_what_cannot_be_compared_is_the_users_error(train: Path, tmp_path: Path) -> None:
    for name, content, code in (
        ("none.jsonl", None, "E_DATA"),
        ("empty.jsonl", b"", "E_EMPTY"),
        ("bad.jsonl", b'{"dialogue": "Hello"}\n', "E_EXAMPLE"),
        ("text.csv", b"a,b\n", "E_FORMAT"),
        ("not.parquet", b"PAR1 but not really", "E_SHARD"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(InputRefused, match=code):
            measure_contamination(ContaminationConfig(train=(train,), against=(tmp_path / name,)))
