"""``python -m labeling.dataset.simulated``: examples whose labels are what a made-up crowd would say of them.

Reads a folder of `dialint data inject`, whose labels are true; writes a data set's folder in which every
label of ``train``, ``dev`` and ``calibration`` is the posterior of some simulated labelers, each with a
sensitivity and a specificity of their own, of what was injected, of its look-alikes and of some turns at
random. ``test`` and ``test_unseen`` keep the truth. For studies of learning from people where there are none:
no figure from here is a claim about people. (`labeling.simulated_crowd` fills a store instead.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from detector.artifacts import atomic_file, described, fingerprint, make_folder, read_manifest, write_manifest
from detector.records import Example, Label
from labeling.annotation import judged_turns

NOISY = {"train": "train", "dev": "dev", "calibration": "calibration"}
TRUE = {"test": "test_seen", "test_unseen": "test_unseen"}
SENSITIVITY, SPECIFICITY = (7.0, 2.0), (18.0, 1.5)
"""Beta distributions of the labelers' skills: means .78 and .92."""
RATE = 0.3
"""Share of errors among what is asked, as the posterior takes it."""


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
    people = _people(config)
    make_folder(config.out, new=True)
    files = []
    for name, source in {**NOISY, **TRUE}.items():
        count = config.dialogues if name == "train" else config.held
        with atomic_file(config.out / f"{name}.jsonl") as file:
            rows = 0
            for example in _drawn(config, source, count):
                kept = _true(config, example) if name in TRUE else _asked(config, example, people)
                file.write(kept.model_copy(update={"split": name}).model_dump_json().encode() + b"\n")
                rows += 1
        files.append(described(config.out / f"{name}.jsonl", rows))
    told = {"labelers": config.labelers, "crowd": config.crowd, "seed": config.seed}
    content = {"kind": "labelled-examples", "codes": list(config.codes), "simulated_crowd": told}
    of = [file["sha256"] for file in known["files"]]
    write_manifest(config.out / "manifest.json", {**content, "of": fingerprint(of), "files": files})


def _people(config: SimulatedConfig) -> list[tuple[float, float]]:
    """Sensitivity and specificity of each person."""
    chance = Random(f"{config.seed}/people")
    return [(chance.betavariate(*SENSITIVITY), chance.betavariate(*SPECIFICITY)) for _ in range(config.crowd)]


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


def _true(config: SimulatedConfig, example: Example) -> Example:
    kept = tuple(label for label in example.labels if label.code in config.codes)
    return example.model_copy(update={"labels": kept})


def _asked(config: SimulatedConfig, example: Example, people: Sequence[tuple[float, float]]) -> Example:
    """The example with labels as the crowd gives them: where nobody says yes there is none."""
    chance = Random(f"{config.seed}/{example.dialogue.id}")
    true = {(label.turn, label.code): label for label in example.labels if label.code in config.codes}
    every = [(turn, code) for turn in judged_turns(example.dialogue) for code in config.codes]
    count = int(config.random_questions) + (chance.random() < config.random_questions % 1)
    drawn = chance.sample(every, min(count, len(every)))
    places = dict.fromkeys([*true, *(p for p in _probes(example) if p[1] in config.codes), *drawn])
    labels = []
    for turn, code in places:
        votes = [
            (who, chance.random() < (who[0] if (turn, code) in true else 1 - who[1]))
            for who in chance.sample(people, config.labelers)
        ]
        if any(yes for _, yes in votes):
            span = true.get((turn, code))
            labels.append(
                Label(
                    dialogue_id=example.dialogue.id,
                    turn=turn,
                    code=code,
                    probability=round(_posterior(votes), 4),
                    method="inject:" + span.method.removeprefix("inject:") if span else "simulated",
                    n_labelers=config.labelers,
                    start=span.start if span else None,
                    end=span.end if span else None,
                )
            )
    return example.model_copy(update={"labels": tuple(labels)})


def _posterior(votes: Sequence[tuple[tuple[float, float], bool]]) -> float:
    """Probability of an error by Bayes' rule, everybody's skill known: no aggregation can do better."""
    odds = math.log(RATE / (1 - RATE))
    for (sensitivity, specificity), yes in votes:
        odds += (
            math.log(sensitivity / (1 - specificity)) if yes else math.log((1 - sensitivity) / specificity)
        )
    return 1 / (1 + math.exp(-odds))


if __name__ == "__main__":
    cyclopts.run(make)
