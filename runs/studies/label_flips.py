"""``python runs/studies/label_flips.py EXAMPLES [SOURCES]``: how many flipped labels the screening finds.

Takes the training dialogues made of so many sources (default 4,000) of a folder of ``dialint data inject``,
whose labels are known, flips some and screens what comes out: a share of the labels is removed and as many
false ones are put on turns without one. Shows precision and recall of suspected labels beside what drawing at
random would give.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from random import Random

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.records import Example, Label
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.baselines import judged_positions
from dialint.eval.results import read_examples, source_of
from dialint.finetune.screening import ScreenConfig, Suspect, run

RATES = (0.0, 0.05, 0.1)

Key = tuple[str, int, str]
"""Dialogue, turn, code."""


def label_keys(examples: Sequence[Example]) -> set[Key]:
    """Every label."""
    return {(each.dialogue.id, label.turn, label.code) for each in examples for label in each.labels}


def flip_randomly(examples: Sequence[Example], rate: float, rng: Random) -> list[Example]:
    """A share of the labels away, as many false ones of the same codes in dialogues that have none."""
    there = sorted(label_keys(examples))
    removed = rng.sample(there, round(rate * len(there)))
    used = {(name, code) for name, _, code in there}
    turns = [
        (each.dialogue.id, each.dialogue.turns[n].index)
        for each in examples
        for n in judged_positions(each.dialogue)
    ]
    added: set[Key] = set()
    for _, _, code in removed:
        name, turn = rng.choice(turns)
        while (name, code) in used:
            name, turn = rng.choice(turns)
        used.add((name, code))
        added.add((name, turn, code))
    return replace_labels(examples, set(removed), added)


def replace_labels(examples: Sequence[Example], removed: Set[Key], added: Set[Key]) -> list[Example]:
    """The examples without the labels `removed` and with the labels `added`."""
    more: dict[str, list[Label]] = {}
    for name, turn, code in sorted(added):
        label = Label(dialogue_id=name, turn=turn, code=code, probability=1.0, method="study")
        more.setdefault(name, []).append(label)
    kept = [
        [label for label in each.labels if (each.dialogue.id, label.turn, label.code) not in removed]
        for each in examples
    ]
    return [
        each.model_copy(update={"labels": tuple(own + more.get(each.dialogue.id, []))})
        for each, own in zip(examples, kept, strict=True)
    ]


def screen_examples(examples: Sequence[Example], folder: Path) -> tuple[list[Suspect], int]:
    """What the screening says of the examples: suspects, and how many dialogues it leaves out."""
    dataset, out = folder / "given", folder / "out"
    dataset.mkdir(parents=True)
    lines = [example.model_dump_json(exclude_defaults=True) + "\n" for example in examples]
    (dataset / "train.jsonl").write_text("".join(lines))
    files = [file_entry(dataset / "train.jsonl", len(examples))]
    write_manifest(dataset / "manifest.json", {"kind": "injected-examples", "files": files})
    manifest = run(ScreenConfig(dataset=dataset, out=out))
    suspects = [
        Suspect.model_validate_json(line) for line in (out / "suspects.jsonl").read_bytes().splitlines()
    ]
    return suspects, int(manifest["screening"]["dropped"])


def figures(
    true: set[Key], labelled: set[Key], n_others: int, found: Sequence[Suspect], whole: set[str]
) -> Iterator[str]:
    """Precision and recall of suspected labels by kind of flip, and what chance would give; `n_others` is the
    number of turns and codes without a label."""
    for name, flips, n in (
        ("false error", labelled - true, len(labelled)),
        ("missed error", true - labelled, n_others),
    ):
        held = [
            each
            for each in found
            if each.why == "label" and ((each.given or 0) > 0.5) == (name == "false error")
        ]
        wanted = {_spot(key, whole) for key in flips}
        right = {spot for each in held if (spot := (each.dialogue_id, each.turn, each.code)) in wanted}
        yield (
            f"{name}: {len(flips)} flipped, {len(held)} suspected, {len(right)} of them flipped: precision "
            f"{len(right) / max(1, len(held)):.3f} (chance {len(flips) / max(1, n):.4f}), "
            f"recall {len(right) / max(1, len(wanted)):.3f}"
        )


def _spot(key: Key, whole: set[str]) -> tuple[str, int | None, str]:
    return (key[0], None if key[2] in whole else key[1], key[2])


def _sample(folder: Path, n_sources: int) -> list[Example]:
    examples = list(read_examples(folder / "train.jsonl"))
    sources = sorted({source_of(each) for each in examples})
    wanted = set(Random(0).sample(sources, min(n_sources, len(sources))))
    return [each for each in examples if source_of(each) in wanted]


def main() -> None:
    """Measure on the folder that the first argument names."""
    examples = _sample(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4000)
    true = label_keys(examples)
    whole = {name for name, code in load_taxonomy().codes.items() if code.scope == "dialogue"}
    n_turns = sum(len(judged_positions(each.dialogue)) for each in examples)
    n_codes = len({code for _, _, code in true})
    for rate in RATES:
        attacked = flip_randomly(examples, rate, Random(1))
        with tempfile.TemporaryDirectory() as folder:
            found, dropped = screen_examples(attacked, Path(folder))
        labelled = label_keys(attacked)
        print(f"{rate:.0%}: {len(examples)} dialogues, {len(labelled)} labels, {dropped} dialogues left out")
        for line in figures(true, labelled, n_turns * n_codes - len(labelled), found, whole):
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()
