"""A label store that nobody had to work for: made-up labelers and reviewers answer about labelled examples.

    python -m dialint.labeling.simulation.crowd --examples build/examples --limit 1000 --out build/crowd
    python -m dialint.labeling.simulation.crowd --dialogues LOG --labels LABELS --out build/crowd

For trying `dialint label aggregate`, `dialint export dataset` and all that comes after without people. Reads
the training examples of ``dialint data inject``, or a log with labels. Dialogues go into the store without
their labels, with the verdicts of a release; labelers answer blindly in one project, reviewers correct the
verdicts in another, through the store's own claims and answers. Everything it makes is called simulated:
accounts, projects, manifest. Writes ``store.sqlite``, which others go on writing into, and last the
manifest, with everybody's skill.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cyclopts import App, Parameter

from dialint.detector.artifacts import disk_errors, make_output_folder, package_versions, write_manifest
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.interface import DetectorConfig
from dialint.detector.records import Example, Label, Record
from dialint.labeling.annotation import judged_turns
from dialint.labeling.simulation.store_work import Plan, fill
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade

Kind = TypeVar("Kind", bound=Record)

ADMIN = "simulated-admin"
STORE = "store.sqlite"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CrowdConfig:
    """Who answers about what."""

    out: Path
    """Folder for the store; must not hold a finished one."""
    examples: Path | None = None
    """Folder of `dialint data inject`, whose training examples are taken, or a file of examples (JSONL)."""
    dialogues: Path | None = None
    """A log, in place of --examples."""
    labels: Path | None = None
    """What is true of the log's dialogues (JSONL of labels)."""
    limit: int | None = None
    """At most this many dialogues, drawn by the seed."""
    plan: Plan = field(default_factory=Plan)
    release: Path | None = None
    """Release whose verdicts are corrected; the embedded one by itself."""

    def __post_init__(self) -> None:
        from_log = self.dialogues is not None and self.labels is not None
        if from_log == (self.examples is not None) or (self.dialogues is None) != (self.labels is None):
            raise ConfigError("E_OPTION", "name --examples, or --dialogues and --labels")
        if self.limit is not None and self.limit < 1:
            raise ConfigError("E_OPTION", "--limit must be at least 1")


def make_crowd(config: CrowdConfig) -> None:
    """Make a label store that people who do not exist have worked on."""
    told = run(config)
    for person in told["people"]:
        print(f"{person['name']}: finds {person['sensitivity']:.0%} of the errors, leaves "
              f"{person['specificity']:.2%} of the rest alone, {person['answers']:,} answers")  # fmt: skip
    print(f"{config.out / STORE}: {told['dialogues']:,} dialogues, answers all SIMULATED; acts: {ADMIN}")


def run(config: CrowdConfig) -> dict[str, Any]:
    """Make the store; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished one.
        InputRefused: the examples cannot be read.
    """
    from dialint.detector.pipeline import load_detector

    manifest, path = config.out / "manifest.json", config.out / STORE
    if manifest.exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a finished store already; name another folder")
    started = time.monotonic()
    examples = chosen(config)
    with disk_errors(config.out):
        make_output_folder(config.out)
        for left in config.out.glob(f"{STORE}*"):  # of a run that was stopped
            left.unlink()
    upgrade(str(path))
    with Store.open(str(path)) as store:
        accounts.create_first(store, ADMIN, secrets.token_urlsafe(16))
        told = fill(
            store, ADMIN, examples, load_detector(DetectorConfig(release=config.release)), config.plan
        )
    told |= {
        "kind": "simulated-crowd",
        "config": {name: _named(value) for name, value in asdict(config).items()},
        "versions": package_versions("dialint", "SQLAlchemy"),
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(manifest, told)
    return told


def chosen(config: CrowdConfig) -> list[Example]:
    """The examples that the crowd is asked about, all that was made of a dialogue or nothing of it, without
    what would tell where to look.

    Raises:
        InputRefused: they cannot be read.
        ConfigError: there are none.
    """
    sources: dict[str, list[Example]] = {}
    for one in _read(config):
        if judged_turns(one.dialogue):
            bare = one.dialogue.model_copy(update={"metadata": {}})
            known = sources.setdefault(one.dialogue.id.partition("~")[0], [])
            known.append(one.model_copy(update={"dialogue": bare}))
    names = sorted(sources)
    random.Random(config.plan.seed).shuffle(names)
    drawn: list[Example] = []
    for name in names:
        if config.limit is None or len(drawn) + len(sources[name]) <= config.limit:
            drawn += sources[name]
    if not drawn:
        raise ConfigError("E_EXAMPLE", "no example with an agent's turn, or --limit is too small for any")
    return drawn


def _read(config: CrowdConfig) -> Iterator[Example]:
    if config.examples is None:
        yield from _of_log(config)
        return
    path = config.examples / "train.jsonl" if config.examples.is_dir() else config.examples
    yield from _records(path, Example)


def _records(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield kind.model_validate_json(line)
                except ValueError:
                    what = f"no valid {kind.__name__.lower()}"
                    raise InputRefused("E_EXAMPLE", f"{path}, line {number}: {what}") from None
    except OSError as error:
        raise InputRefused("E_EXAMPLE", f"{path}: {error.strerror}") from None


def _of_log(config: CrowdConfig) -> Iterator[Example]:
    assert config.labels is not None, "named where --examples is not"
    labels: dict[str, list[Label]] = {}
    for label in _records(config.labels, Label):
        labels.setdefault(label.dialogue_id, []).append(label)
    for item in read(open_logs([str(config.dialogues)]), ReadConfig(), Counts()):
        if isinstance(item, Loaded):
            known = tuple(labels.get(item.dialogue.id, ()))
            yield Example(dialogue=item.dialogue, labels=known, split="train")


def _named(value: Any) -> Any:
    return value.name if isinstance(value, Path) else value


if __name__ == "__main__":
    app = App(help="Make a label store of people who do not exist.")
    app.default(make_crowd)
    app()
