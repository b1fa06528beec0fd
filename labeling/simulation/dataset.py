"""``python -m dialint.labeling.simulation.dataset``: examples whose labels are what a made-up crowd would
say of them.

Reads a folder of `dialint data inject`, whose labels are true; writes a data set's folder in which every
label of ``train``, ``dev`` and ``calibration`` is what Dawid-Skene makes of the answers of some simulated
labelers, each with a sensitivity and a specificity of their own that nobody knows, about what was injected,
about its look-alikes and about some turns at random. Who says yes marks evidence, whether there is an error
or not. ``test`` and ``test_unseen`` keep the truth. For studies of learning from people where there are
none: no figure from here is a claim about people. `dialint.labeling.simulation.crowd` fills a store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from dialint.detector.artifacts import (
    atomic_file,
    file_entry,
    fingerprint,
    make_output_folder,
    read_manifest,
    write_manifest,
)
from dialint.detector.records import Example, Label
from dialint.labeling.aggregation.answers import from_rows
from dialint.labeling.aggregation.methods import aggregate_answers
from dialint.labeling.aggregation.spans import Span, cluster_spans, weighted_median
from dialint.labeling.annotation import judged_turns
from dialint.labeling.simulation.people import SHAPE, Beta, Group, Person, Shapes, shapes_of

NOISY = {"train": "train", "dev": "dev", "calibration": "calibration"}
TRUE = {"test": "test_seen", "test_unseen": "test_unseen"}
CROWD = Group(Beta(7.0, 2.0), Beta(18.0, 1.5), severity=1.0, steady=0.6)
"""Means .78 and .92."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SimulatedConfig:
    """What crowd is made up, and of what."""

    examples: Path
    """Folder of `dialint data inject`."""
    out: Path
    """Folder for the data set."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Codes that are asked."""
    labelers: int = 3
    """Answers to each question."""
    crowd: int = 40
    """People in all."""
    dialogues: int = 8000
    """Dialogues of the training split, drawn from those that have one of the codes or a look-alike."""
    held: int = 600
    """Dialogues of each other split."""
    random_questions: float = 1.0
    """Further turns and codes that are asked of a dialogue."""
    seed: int = 1
    """Seed of people and answers."""


def make(config: SimulatedConfig) -> None:
    """Make up a crowd and write what it says."""
    known = read_manifest(config.examples / "manifest.json")
    people = [Person.drawn(f"simulated-{n}", CROWD, config.seed) for n in range(config.crowd)]
    held = {
        name: list(_drawn(config, source, config.dialogues if name == "train" else config.held))
        for name, source in {**NOISY, **TRUE}.items()
    }
    truths = (_truth(config, example) for name in NOISY for example in held[name])
    shapes = shapes_of((example.dialogue, truth) for example, truth in truths)
    asked = [question for name in NOISY for example in held[name]
             for question in _asked(config, example, people, shapes)]  # fmt: skip
    labels = _labels(config, asked)
    make_output_folder(config.out)
    files = []
    for name, examples in held.items():
        with atomic_file(config.out / f"{name}.jsonl") as file:
            for example in examples:
                if name in TRUE:
                    own = tuple(_truth(config, example)[1].values())
                else:
                    own = tuple(labels.get(example.dialogue.id, ()))
                kept = example.model_copy(update={"labels": own, "split": name})
                file.write(kept.model_dump_json().encode() + b"\n")
        files.append(file_entry(config.out / f"{name}.jsonl", len(examples)))
    told = {"labelers": config.labelers, "crowd": config.crowd, "seed": config.seed, "by": "dawid-skene"}
    content = {"kind": "labelled-examples", "codes": list(config.codes), "simulated_crowd": told}
    of = [file["sha256"] for file in known["files"]]
    write_manifest(config.out / "manifest.json", {**content, "of": fingerprint(of), "files": files})


def _drawn(config: SimulatedConfig, source: str, count: int) -> Iterator[Example]:
    """Examples of the codes, pairs together, in an order of the seed."""
    with open(config.examples / f"{source}.jsonl", "rb") as file:
        held = [example for line in file if _of(config, example := Example.model_validate_json(line))]
    groups: dict[str, list[Example]] = {}
    for example in held:
        groups.setdefault(example.pair or example.dialogue.id, []).append(example)
    names = sorted(groups)
    Random(f"{config.seed}/{source}").shuffle(names)
    taken = 0
    for name in names:
        if taken >= count:
            return
        taken += len(groups[name])
        yield from groups[name]


def _of(config: SimulatedConfig, example: Example) -> bool:
    """Whether the example is about one of the codes: its pair's code, its only label or look-alike."""
    named = {label.code for label in example.labels} | {code for _, code in _probes(example)}
    return bool(named) and named <= set(config.codes)


def _probes(example: Example) -> list[tuple[int, str]]:
    probes = example.dialogue.metadata.get("probes")
    found = probes if isinstance(probes, list) else []
    return [(int(str(one["turn"])), str(one["code"])) for one in found if isinstance(one, dict)]


@dataclass(frozen=True)
class _Question:
    """A turn and a code, who was asked, and the evidence of everybody who said yes. `true` is the label of
    the injected error, if there is one."""

    dialogue: str
    turn: int
    code: str
    answers: Mapping[str, tuple[int, int] | None]
    true: Label | None

    @property
    def task(self) -> str:
        return f"{self.dialogue}/{self.turn}/{self.code}"


def _truth(config: SimulatedConfig, example: Example) -> tuple[Example, dict[tuple[int, str], Label]]:
    return example, {
        (label.turn, label.code): label for label in example.labels if label.code in config.codes
    }


def _asked(
    config: SimulatedConfig, example: Example, people: Sequence[Person], shapes: Shapes
) -> Iterator[_Question]:
    """What the crowd is asked of an example, and what it answers."""
    chance = Random(f"{config.seed}/{example.dialogue.id}")
    true = _truth(config, example)[1]
    every = [(turn, code) for turn in judged_turns(example.dialogue) for code in config.codes]
    count = int(config.random_questions) + (chance.random() < config.random_questions % 1)
    drawn = chance.sample(every, min(count, len(every)))
    places = dict.fromkeys([*true, *(p for p in _probes(example) if p[1] in config.codes), *drawn])
    texts = {turn.index: turn.text for turn in example.dialogue.turns}
    for turn, code in places:
        label = true.get((turn, code))
        answers: dict[str, tuple[int, int] | None] = {}
        for one in chance.sample(people, config.labelers):
            yes = chance.random() < (one.sensitivity if label is not None else 1 - one.specificity)
            shape = shapes.get(code, SHAPE)
            answers[one.name] = one.evidence(texts[turn], label, shape, chance) if yes else None
        yield _Question(example.dialogue.id, turn, code, answers, label)


def _labels(config: SimulatedConfig, asked: Sequence[_Question]) -> dict[str, list[Label]]:
    """The crowd's labels by dialogue: where nobody says yes there is none. Skills are estimated."""
    rows = [
        (one.task, name, "no" if marked is None else "yes")
        for one in asked
        for name, marked in one.answers.items()
    ]
    posterior = aggregate_answers(from_rows(rows, labels=("no", "yes")), "dawid-skene")
    probability = dict(zip(dict.fromkeys(row[0] for row in rows), posterior.probabilities[:, 1], strict=True))
    labels: dict[str, list[Label]] = {}
    for one in asked:
        spans = [Span(one.task, name, *marked) for name, marked in one.answers.items() if marked is not None]
        if not spans:
            continue
        meant = max(cluster_spans(spans), key=len)
        ones = [1.0] * len(meant)
        start, end = (weighted_median([getattr(s, side) for s in meant], ones) for side in ("start", "end"))
        if start >= end:
            start, end = meant[0].start, meant[0].end
        method = f"inject:{one.true.method.removeprefix('inject:')}" if one.true is not None else "simulated"
        labels.setdefault(one.dialogue, []).append(
            Label(
                dialogue_id=one.dialogue,
                turn=one.turn,
                code=one.code,
                probability=round(float(probability[one.task]), 4),
                method=method,
                n_labelers=config.labelers,
                start=start,
                end=end,
            )
        )
    return labels


if __name__ == "__main__":
    cyclopts.run(make)
