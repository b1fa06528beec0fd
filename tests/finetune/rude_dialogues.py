"""Made-up dialogues whose last turn is rude or is not, and a data set's folder of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.records import Dialogue, Example, Label, Turn

SORRY = "I am truly sorry to hear that, let me look into it for you."
RUDE = "That is your own fault, you should have read the terms."


def example(name: str, split: str, rude: bool, probability: float = 1.0) -> Example:
    """A dialogue of four turns whose last is rude or is not."""
    texts = ("My parcel never came.", SORRY, f"It is order {name}, and I am angry.", RUDE if rude else SORRY)
    turns = tuple(
        Turn(index=index, role=("customer", "agent")[index % 2], text=text)
        for index, text in enumerate(texts)
    )
    label = Label(
        dialogue_id=name, turn=3, code="T1", probability=probability, method="crowd", start=0, end=26
    )
    return Example(dialogue=Dialogue(id=name, turns=turns), labels=(label,) if rude else (), split=split)


def written(folder: Path, sure: Callable[[int], float], codes: Sequence[str] = ("T1",)) -> Path:
    """Splits of half rude dialogues of which people were asked `codes`; `sure` gives the probability of each
    label."""
    paths = []
    for split, count in (("train", 32), ("dev", 8), ("test", 8)):
        path = folder / f"{split}.jsonl"
        rows = [example(f"{split}{place}", split, place % 2 == 0, sure(place)) for place in range(count)]
        path.write_text("".join(row.model_dump_json() + "\n" for row in rows))
        paths.append(path)
    content = {"kind": "labelled-examples", "codes": [*codes], "files": [file_entry(path) for path in paths]}
    write_manifest(folder / "manifest.json", content)
    return folder
