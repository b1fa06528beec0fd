"""``python -m dialint.labeling.simulation.dataset``: examples whose labels a simulated crowd has made.

Reads a folder of `dialint data inject`, whose labels are true; writes the folder of a data set in which the
labels of ``train``, ``dev`` and ``calibration`` are aggregated by Dawid-Skene from the answers of simulated
labelers, each with a sensitivity and a specificity of their own that the aggregation does not know. Questions
are the injected errors, their look-alikes and some turns at random. Who answers yes marks evidence, whether
there is an error or not. ``test`` and ``test_unseen`` keep the true labels. For studies of learning from
people where there are none: no figure from here is a claim about people. `dialint.labeling.simulation.crowd`
fills a store.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

from cyclopts import App, Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    file_entry,
    fingerprint,
    make_output_folder,
    read_manifest,
    write_manifest,
)
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.example_files import read_examples
from dialint.detector.manifests import Folder
from dialint.detector.option_ranges import check_ranges, format_usage_error
from dialint.detector.records import Example, Label
from dialint.labeling.aggregation.answers import from_rows
from dialint.labeling.aggregation.methods import aggregate_answers
from dialint.labeling.aggregation.spans import Span, cluster_spans, weighted_median
from dialint.labeling.annotation import judged_turns
from dialint.labeling.simulation.people import (
    DEFAULT_LENGTHS,
    Beta,
    EvidenceLengths,
    Person,
    SkillProfile,
    TrueLabels,
    evidence_lengths,
)

CROWD_SETS = {"train": "train", "dev": "dev", "calibration": "calibration"}
TRUE_SETS = {"test": "test_seen", "test_unseen": "test_unseen"}
"""Sets with the crowd's labels and with true ones, and the set of `dialint data inject` that each is
sampled of."""
CROWD = SkillProfile(Beta(7.0, 2.0), Beta(18.0, 1.5), severity=1.0, boundary_accuracy=0.6)
"""Means .78 and .92."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SimulatedConfig:
    """What is labeled, and by what crowd."""

    examples: Path
    """Folder of `dialint data inject`."""
    out: Path
    """Folder for the data set."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Codes to label."""
    labelers: Annotated[int, Field(ge=1)] = 3
    """Answers to each question."""
    crowd: Annotated[int, Field(ge=1)] = 40
    """People in all."""
    dialogues: Annotated[int, Field(ge=1)] = 8000
    """Dialogues of the training split, sampled from those that have one of the codes or a look-alike."""
    held: Annotated[int, Field(ge=1)] = 600
    """Dialogues of each other split."""
    random_questions: Annotated[float, Field(ge=0)] = 1.0
    """Mean number of further turns and codes, at random, in the questions about a dialogue."""
    seed: int = 1
    """Seed of people and answers."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.labelers > self.crowd:
            raise ConfigError("E_OPTION", "--labelers: expected at most --crowd")


def make_dataset(config: SimulatedConfig) -> None:
    """Label examples by a simulated crowd."""
    source_manifest = read_manifest(config.examples / MANIFEST, expected=Folder)
    people = [Person.sample(f"simulated-{n}", CROWD, config.seed) for n in range(config.crowd)]
    sets = {
        name: list(_sample_examples(config, source, config.dialogues if name == "train" else config.held))
        for name, source in {**CROWD_SETS, **TRUE_SETS}.items()
    }
    to_label = [example for name in CROWD_SETS for example in sets[name]]
    lengths = evidence_lengths((example.dialogue, _true_labels(config, example)) for example in to_label)
    questions = [
        question for example in to_label for question in _ask_crowd(config, example, people, lengths)
    ]
    labels = _aggregate(config, questions)
    make_output_folder(config.out)
    files = []
    for name, examples in sets.items():
        with atomic_file(config.out / f"{name}.jsonl") as file:
            for example in examples:
                if name in TRUE_SETS:
                    example_labels = tuple(_true_labels(config, example).values())
                else:
                    example_labels = tuple(labels.get(example.dialogue.id, ()))
                labeled = example.model_copy(update={"labels": example_labels, "split": name})
                file.write(labeled.model_dump_json().encode() + b"\n")
        files.append(file_entry(config.out / f"{name}.jsonl", len(examples)))
    manifest = {
        "kind": "labelled-examples",
        "codes": list(config.codes),
        "simulated_crowd": {
            "labelers": config.labelers,
            "crowd": config.crowd,
            "seed": config.seed,
            "by": "dawid-skene",
        },
        "of": fingerprint([file["sha256"] for file in source_manifest["files"]]),
        "files": files,
    }
    write_manifest(config.out / MANIFEST, manifest)


def _sample_examples(config: SimulatedConfig, source: str, count: int) -> Iterator[Example]:
    """Examples of the codes, pairs together, in an order of the seed."""
    groups: dict[str, list[Example]] = {}
    for example in read_examples(config.examples / f"{source}.jsonl"):
        codes = {label.code for label in example.labels} | {code for _, code in _probes(example)}
        if codes and codes <= set(config.codes):
            groups.setdefault(example.pair or example.dialogue.id, []).append(example)
    names = sorted(groups)
    Random(f"{config.seed}/{source}").shuffle(names)
    n_sampled = 0
    for name in names:
        if n_sampled >= count:
            return
        n_sampled += len(groups[name])
        yield from groups[name]


def _probes(example: Example) -> list[tuple[int, str]]:
    """Turn and code of each look-alike."""
    probes = example.dialogue.metadata.get("probes")
    entries = probes if isinstance(probes, list) else []
    return [(int(str(entry["turn"])), str(entry["code"])) for entry in entries if isinstance(entry, dict)]


@dataclass(frozen=True)
class _Question:
    """A turn and a code; by labeler the evidence that was marked, None for the answer no; and the label of
    the injected error, if there is one."""

    dialogue: str
    turn: int
    code: str
    answers: Mapping[str, tuple[int, int] | None]
    true_label: Label | None

    @property
    def task(self) -> str:
        return f"{self.dialogue}/{self.turn}/{self.code}"


def _true_labels(config: SimulatedConfig, example: Example) -> TrueLabels:
    return {(label.turn, label.code): label for label in example.labels if label.code in config.codes}


def _ask_crowd(
    config: SimulatedConfig, example: Example, people: Sequence[Person], lengths: EvidenceLengths
) -> Iterator[_Question]:
    """The questions about an example, with the crowd's answers."""
    rng = Random(f"{config.seed}/{example.dialogue.id}")
    true_labels = _true_labels(config, example)
    pairs = [(turn, code) for turn in judged_turns(example.dialogue) for code in config.codes]
    count = int(config.random_questions) + (rng.random() < config.random_questions % 1)
    sample = rng.sample(pairs, min(count, len(pairs)))
    probes = (probe for probe in _probes(example) if probe[1] in config.codes)
    texts = {turn.index: turn.text for turn in example.dialogue.turns}
    for turn, code in dict.fromkeys([*true_labels, *probes, *sample]):
        label = true_labels.get((turn, code))
        answers: dict[str, tuple[int, int] | None] = {}
        for person in rng.sample(people, config.labelers):
            yes = rng.random() < (person.sensitivity if label is not None else 1 - person.specificity)
            code_lengths = lengths.get(code, DEFAULT_LENGTHS)
            answers[person.name] = (
                person.sample_evidence(texts[turn], label, code_lengths, rng) if yes else None
            )
        yield _Question(example.dialogue.id, turn, code, answers, label)


def _aggregate(config: SimulatedConfig, questions: Sequence[_Question]) -> dict[str, list[Label]]:
    """The crowd's labels by dialogue, none where nobody answers yes. Skills are estimated."""
    rows = [
        (question.task, name, "no" if marked is None else "yes")
        for question in questions
        for name, marked in question.answers.items()
    ]
    posterior = aggregate_answers(from_rows(rows, labels=("no", "yes")), "dawid-skene")
    probability = dict(zip(dict.fromkeys(row[0] for row in rows), posterior.probabilities[:, 1], strict=True))
    labels: dict[str, list[Label]] = {}
    for question in questions:
        spans = [
            Span(question.task, name, *marked)
            for name, marked in question.answers.items()
            if marked is not None
        ]
        if not spans:
            continue
        cluster = max(cluster_spans(spans), key=len)
        weights = [1.0] * len(cluster)
        start, end = (
            weighted_median([getattr(span, side) for span in cluster], weights) for side in ("start", "end")
        )
        if start >= end:
            start, end = cluster[0].start, cluster[0].end
        true_label = question.true_label
        method = f"inject:{true_label.method.removeprefix('inject:')}" if true_label else "simulated"
        labels.setdefault(question.dialogue, []).append(
            Label(
                dialogue_id=question.dialogue,
                turn=question.turn,
                code=question.code,
                probability=round(float(probability[question.task]), 4),
                method=method,
                n_labelers=config.labelers,
                start=start,
                end=end,
            )
        )
    return labels


def main() -> None:
    """Entry point: an error becomes one line on standard error and an exit code."""
    app = App(help="Label examples by a simulated crowd.", error_formatter=format_usage_error)
    app.default(make_dataset)
    try:
        app(sys.argv[1:])
    except DialintError as error:
        print(f"dialint: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
