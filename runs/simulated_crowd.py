"""Creates a label store with the work of simulated labelers and reviewers.

    python runs/simulated_crowd.py --examples examples.jsonl --limit 1000 --out build/crowd
    python runs/simulated_crowd.py --dialogues LOG --labels LABELS --out build/crowd

For trying `dialint label aggregate`, `dialint export dataset` and later stages without people; no figure on
these annotations is a claim about people. Reads examples, such as those of ``dialint data inject``, or a log
with labels. Dialogues are imported without their labels, with the verdicts of a release; labelers annotate
blindly in one project, reviewers correct the verdicts in another, through the store's accounts, projects,
tasks and leases. All accounts, projects and the manifest are called simulated. Writes ``store.sqlite``, which
later commands may modify, and last the manifest, with the skill of each person.
"""

from __future__ import annotations

import math
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    disk_errors,
    make_output_folder,
    package_versions,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import read_records
from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.option_ranges import check_ranges, run_script
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Example, Finding, Label, Turn, Verdict
from dialint.detector.taxonomy import Code, load_taxonomy
from dialint.eval.results import read_labelled_log
from dialint.labeling.annotation import judged_turns
from dialint.labeling.exchange.store_transfer import batches
from dialint.labeling.store import accounts, dialogues, leases, projects, tasks
from dialint.labeling.store.annotations import submit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.records import Account, AccountRole, NewTask, Project

ADMIN = "simulated-admin"
STORE = "store.sqlite"
LABELS, REVIEWS = "simulated-labels", "simulated-reviews"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CrowdConfig:
    """Options of the simulated crowd."""

    out: Path
    """Folder for the store; must not hold a finished one."""
    examples: Path | None = None
    """A file of examples (JSONL), or a folder of them, whose training examples are used."""
    dialogues: Path | None = None
    """A log, in place of --examples."""
    labels: Path | None = None
    """The true labels of the log's dialogues (JSONL)."""
    limit: Annotated[int | None, Field(ge=1)] = None
    """At most this many dialogues, sampled by the seed."""
    labelers: Annotated[int, Field(ge=1)] = 8
    """Labelers."""
    overlap: Annotated[int, Field(ge=1)] = 3
    """Labelers that annotate each dialogue."""
    reviewers: Annotated[int, Field(ge=1)] = 2
    """Reviewers."""
    reviewed: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the dialogues whose verdict a reviewer corrects."""
    seed: int = 1
    """The same seed gives the same people, and the same annotations of each of the same dialogue."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.overlap > self.labelers:
            raise ConfigError("E_OPTION", "--overlap: expected at most --labelers")
        from_log = self.dialogues is not None and self.labels is not None
        if from_log == (self.examples is not None) or (self.dialogues is None) != (self.labels is None):
            raise ConfigError("E_OPTION", "name --examples, or --dialogues and --labels")


def make_crowd(config: CrowdConfig) -> None:
    """Creates a label store with the work of simulated people."""
    manifest, path = config.out / MANIFEST, config.out / STORE
    if manifest.exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a finished store already; name another folder")
    started = time.monotonic()
    examples = sample_examples(config)
    with disk_errors(config.out):
        make_output_folder(config.out)
        for leftover in config.out.glob(f"{STORE}*"):  # of a run that was stopped
            leftover.unlink()
    upgrade(str(path))
    with Store.open(str(path)) as store:
        accounts.create_first(store, ADMIN, secrets.token_urlsafe(16))
        summary = simulate_annotations(store, ADMIN, examples, load_detector(DetectorConfig()), config)
    options = asdict(config).items()
    content = summary | {
        "kind": "simulated-crowd",
        "config": {name: value.name if isinstance(value, Path) else value for name, value in options},
        "versions": package_versions("dialint", "SQLAlchemy"),
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(manifest, content)
    for person in content["people"]:
        print(f"{person['name']}: finds {person['sensitivity']:.0%} of the errors, leaves "
              f"{person['specificity']:.2%} of the rest alone, {person['answers']:,} answers")  # fmt: skip
    print(f"{path}: {content['dialogues']:,} dialogues, SIMULATED answers; account: {ADMIN}")


def sample_examples(config: CrowdConfig) -> list[Example]:
    """Samples the examples to annotate, without metadata, which may reveal the errors. All examples of a
    dialogue are sampled, or none.

    Raises:
        InputRefused: they cannot be read.
        ConfigError: there are none.
    """
    if config.examples is not None:
        path = config.examples / "train.jsonl" if config.examples.is_dir() else config.examples
        read = read_records(path, Example, "E_EXAMPLE")
    else:
        assert config.labels is not None, "required without --examples"
        assert config.dialogues is not None, "required with --labels"
        read = iter(read_labelled_log(config.dialogues, config.labels))
    sources: dict[str, list[Example]] = {}
    for example in read:
        if judged_turns(example.dialogue):
            bare = example.dialogue.model_copy(update={"metadata": {}})
            examples = sources.setdefault(example.dialogue.id.partition("~")[0], [])
            examples.append(example.model_copy(update={"dialogue": bare}))
    names = sorted(sources)
    Random(config.seed).shuffle(names)
    sample: list[Example] = []
    for name in names:
        if config.limit is None or len(sample) + len(sources[name]) <= config.limit:
            sample += sources[name]
    if not sample:
        raise ConfigError("E_EXAMPLE", "no example with an agent's turn, or --limit is too small for any")
    return sample


class Skills(NamedTuple):
    """Parameters of the Beta distributions of a role's skills. A question is an agent turn (or a dialogue)
    and a code: `sensitivity` is the probability to annotate a true error, `specificity` that of no annotation
    where there is none."""

    sensitivity: tuple[float, float]
    specificity: tuple[float, float]


SKILLS: dict[AccountRole, Skills] = {
    "labeler": Skills((8, 2), (1000, 2)),
    "reviewer": Skills((18, 2), (4000, 2)),
}
KEEP_PROBABILITY = 0.7
"""Probability that a reviewer leaves a displayed finding unchanged if it overlaps their own, and that
evidence is exact; otherwise it begins or ends a word early or late."""
MAX_WORDS = 6
"""Most words of the evidence of a false positive."""
TrueLabels = Mapping[tuple[int, str], Label]
"""The errors of a dialogue, by turn and code."""


@dataclass(frozen=True)
class Person:
    """A simulated person. `sensitivity` and `specificity` lie in [0, 1]."""

    name: str
    sensitivity: float
    specificity: float

    @classmethod
    def sample(cls, name: str, role: AccountRole, seed: int) -> Person:
        """Samples a person with the skills of a role, the same for the same name and seed."""
        rng = Random(f"{seed}/{name}")
        return cls(name, *(rng.betavariate(*shape) for shape in SKILLS[role]))

    def annotate(
        self,
        dialogue: Dialogue,
        true_labels: TrueLabels,
        codes: Iterable[Code],
        seed: int,
        seen: Verdict | None = None,
    ) -> tuple[Finding, ...]:
        """Returns this person's findings in `dialogue` for `codes`, the same for the same seed. `seen` is the
        displayed verdict, if any."""
        rng = Random(f"{seed}/{self.name}/{dialogue.id}")
        displayed = {(finding.turn, finding.code): finding for finding in (seen.findings if seen else ())}
        findings = []
        for turn, code in _questions(dialogue, true_labels, codes):
            label = true_labels.get((turn.index, code.code))
            if rng.random() >= (self.sensitivity if label is not None else 1 - self.specificity):
                continue
            start, end = _sample_evidence(turn.text, label, rng)
            existing = displayed.get((turn.index, code.code))
            overlaps = existing is not None and existing.start < end and start < existing.end
            if existing is not None and overlaps and rng.random() < KEEP_PROBABILITY:
                findings.append(existing.model_copy(update={"probability": 1.0}))
                continue
            findings.append(
                Finding(
                    code=code.code,
                    turn=turn.index,
                    severity=code.severity,
                    fault="bot" if turn.role == "bot" else code.fault,
                    probability=1.0,
                    quote=turn.text[start:end],
                    start=start,
                    end=end,
                    reason=f"{code.name.en}: {code.definition.split('. ')[0].rstrip('.')}.",
                )
            )
        return tuple(findings)

    def answer_seconds(self, dialogue: Dialogue, seed: int) -> float:
        """Samples the seconds that this person needs for the dialogue: 30, and about 5 a turn."""
        rng = Random(f"{seed}/{self.name}/{dialogue.id}/seconds")
        return round(30 + 5 * len(dialogue.turns) * math.exp(rng.gauss(0, 0.4)), 1)


def _questions(
    dialogue: Dialogue, true_labels: TrueLabels, codes: Iterable[Code]
) -> Iterator[tuple[Turn, Code]]:
    """Yields every agent turn and code. A code of scope dialogue is one question, at its first error, else at
    the last agent turn."""
    turns = {turn.index: turn for turn in dialogue.turns}
    judged = judged_turns(dialogue)
    for code in codes:
        indices = judged
        if code.scope == "dialogue":
            indices = (next((turn for turn in judged if (turn, code.code) in true_labels), judged[-1]),)
        yield from ((turns[index], code) for index in indices)


def _sample_evidence(text: str, label: Label | None, rng: Random) -> tuple[int, int]:
    """Samples the offsets of the evidence: the label's span, the whole text if it has none or, for a false
    positive, random words."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    if label is None:
        first = rng.randrange(len(words))
        last = min(first + rng.randrange(MAX_WORDS), len(words) - 1)
        return words[first][0], words[last][1]
    if label.start is None or label.end is None:
        return words[0][0], words[-1][1]
    if rng.random() < KEEP_PROBABILITY:
        return label.start, label.end
    covered = [at for at, (start, end) in enumerate(words) if start < label.end and end > label.start]
    first, last = max(0, covered[0] - rng.randrange(2)), min(covered[-1] + rng.randrange(2), len(words) - 1)
    return words[first][0], words[last][1]


def simulate_annotations(
    store: Store, admin: str, examples: Sequence[Example], detector: Detector, config: CrowdConfig
) -> dict[str, Any]:
    """Adds the dialogues and verdicts to `store` as the account `admin`, and annotates them. Returns a
    summary with the skill and the number of answers of each person.

    Raises:
        NotAllowed: `admin` is not an administrator.
        StoreRefused: the store has a simulated crowd.
    """
    labelers = _create_accounts(store, admin, "labeler", config.labelers, config.seed)
    reviewers = _create_accounts(store, admin, "reviewer", config.reviewers, config.seed)
    verdicts = {verdict.dialogue_id: verdict for verdict in _add_dialogues(store, admin, examples, detector)}
    labeled: dict[str, tuple[Dialogue, TrueLabels]] = {
        each.dialogue.id: (
            each.dialogue,
            {(label.turn, label.code): label for label in each.labels if label.probability > 0.5},
        )
        for each in examples
    }
    names, present = list(labeled), {code for _, labels in labeled.values() for _, code in labels}
    reviewed = Random(config.seed).sample(names, round(config.reviewed * len(names)))
    codes = tuple(code for code in load_taxonomy().codes.values() if code.code in present)
    code_ids = tuple(code.code for code in codes)
    blind = Project(
        id=LABELS, codes=code_ids, overlap=config.overlap, most=max(5, config.overlap), masked=False
    )
    review = Project(id=REVIEWS, codes=code_ids, purpose="review", prelabelled=True)
    n_answers = Counter[str]()
    for project, members, ids in ((blind, labelers, names), (review, reviewers, reviewed)):
        projects.create(store, admin, project)
        for batch in batches(iter(ids), MAX_PER_CALL):
            tasks.add(store, admin, project.id, [NewTask(dialogue=name, why="simulated") for name in batch])

        def annotate(person: Person, name: str, seen: bool = project.prelabelled) -> dict[str, Any]:
            findings = person.annotate(*labeled[name], codes, config.seed, verdicts[name] if seen else None)
            return {"findings": findings, "seconds": person.answer_seconds(labeled[name][0], config.seed)}

        n_answers.update(_answer_tasks(store, project.id, members, annotate, config.seed))
    return {
        "dialogues": len(names),
        "reviewed": len(reviewed),
        "codes": list(code_ids),
        "people": [
            {
                "name": person.name,
                "sensitivity": person.sensitivity,
                "specificity": person.specificity,
                "answers": n_answers[person.name],
            }
            for person in (*labelers, *reviewers)
        ],
    }


def _create_accounts(store: Store, admin: str, role: AccountRole, n: int, seed: int) -> list[Person]:
    """Creates accounts without sign-in; returns the simulated people who use them."""
    names = [f"simulated-{role}-{number}" for number in range(1, n + 1)]
    for name in names:
        accounts.create(store, admin, Account(id=name, role=role))
    return [Person.sample(name, role, seed) for name in names]


def _add_dialogues(
    store: Store, admin: str, examples: Sequence[Example], detector: Detector
) -> Iterator[Verdict]:
    for batch in batches((example.dialogue for example in examples), MAX_PER_CALL):
        dialogues.add(store, admin, batch)
        verdicts = detector.verdicts(batch, all_probabilities=True)
        dialogues.add_verdicts(store, admin, verdicts)
        yield from verdicts


def _answer_tasks(
    store: Store,
    project: str,
    people: Sequence[Person],
    annotate: Callable[[Person, str], dict[str, Any]],
    seed: int,
) -> Counter[str]:
    """Claims and answers tasks, one for each person in random order each round, until none is left. Returns
    the number of answers of each person."""
    rng, n_answers = Random(f"{seed}/{project}"), Counter[str]()
    active = list(people)
    while active:
        rng.shuffle(active)
        for person in tuple(active):
            lease = leases.claim(store, person.name, project)
            if lease is None:
                active.remove(person)
                continue
            key = f"{project}/{person.name}/{lease.dialogue}"
            answer = annotate(person, lease.dialogue)
            submit(store, person.name, lease.task, lease.token, key=key, **answer)
            n_answers[person.name] += 1
    return n_answers


if __name__ == "__main__":
    run_script(make_crowd, "Create a label store with the work of simulated people.")
