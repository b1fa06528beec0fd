"""What a dataset is made of, and the example of one dialogue.

Annotations, labels and verdicts are held in memory by dialogue; the dialogues stream past once. Writes
nothing and knows no splits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.example_files import read_records
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.near_duplicates import RELATED
from dialint.detector.records import Dialogue, Example, Label, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.annotation import Annotation, judged_turns, read_annotations
from dialint.labeling.dataset.inputs import read_labels
from dialint.labeling.dataset.opinions import Opinions
from dialint.labeling.dataset.splits import By

if TYPE_CHECKING:
    from dialint.labeling.store.masked_view import MaskedView

SPLITS = ("train", "dev", "calibration", "test")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DatasetConfig:
    """What a dataset is made of and how it is split."""

    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Logs of the dialogues; the store has its own."""
    records: Annotated[bool, Parameter(parse=False)] = False
    """Whether `dialogues` hold records as the store has them, which verdicts' offsets are of, not logs."""
    annotations: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = ()
    """Our annotations (JSONL), oldest first; without them those of the store are taken."""
    out: Path
    """Folder for the dataset; must not hold a finished one."""
    key_file: Path | None = None
    """File with the secret of the splits, which nobody else may read: the same secret puts the same group on
    the same side. Made, with a random one, if it is not there. Without it: the environment's
    DIALINT_SPLIT_KEY."""
    key: Annotated[str, Parameter(parse=False)] = field(default="", repr=False)
    """The secret itself, for Python: every process of a machine sees every command line."""
    masked: Annotated[bool, Parameter(negative="--no-masked")] = True
    """Personal data as placeholders, as when dialogues are scored; --no-masked leaves the originals, from the
    store for leads only."""
    labels: Path | None = None
    """Aggregated labels, which replace the share of people who say yes."""
    verdicts: Path | None = None
    """Verdicts that people corrected: makes preference pairs."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes or categories of the dataset; all that were asked, if none is named."""
    by: Annotated[tuple[By, ...], Parameter(consume_multiple=True)] = ("customer",)
    """What must not lie on two sides of a split: dialogues of a customer, of an agent, or neither."""
    near: float = RELATED
    """Jaccard of word triples from which two dialogues are kept on one side; 0 looks for none."""
    shares: tuple[float, float, float, float] = (0.8, 0.05, 0.075, 0.075)
    """Parts of train, dev, calibration and test."""
    format: Literal["jsonl", "parquet"] = "jsonl"
    """Files of the examples and pairs."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        if not (min(self.shares) >= 0 and abs(sum(self.shares) - 1) <= 1e-9):
            raise ConfigError("E_OPTION", "--shares must be four parts of 1")
        if self.near and not 0.5 <= self.near <= 1:
            raise ConfigError("E_OPTION", "--near must be 0 or lie between 0.5 and 1")
        if self.key and self.key_file is not None:
            raise ConfigError("E_OPTION", "--key-file: there is a key already")


@dataclass
class Making:
    """What was said, by dialogue, and counts of what became of it."""

    config: DatasetConfig
    taxonomy: Taxonomy
    annotations: dict[str, list[Annotation]]
    labels: dict[str, list[Label]]
    verdicts: dict[str, Verdict]
    codes: tuple[str, ...]
    of_dialogue: frozenset[str]
    left_out: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, config: DatasetConfig) -> Making:
        """Read all but the dialogues."""
        taxonomy = load_taxonomy(config.taxonomy)
        annotations: dict[str, list[Annotation]] = {}
        for path in config.annotations:
            for annotation in read_annotations(path):
                annotations.setdefault(annotation.dialogue_id, []).append(annotation)
        labels: dict[str, list[Label]] = {}
        for label in read_labels(config.labels, taxonomy) if config.labels else ():
            labels.setdefault(label.dialogue_id, []).append(label)
        verdicts = read_verdicts(config.verdicts) if config.verdicts else ()
        made = cls(
            config,
            taxonomy,
            annotations,
            labels,
            {verdict.dialogue_id: verdict for verdict in verdicts if verdict.dialogue_id in annotations},
            _codes(config, taxonomy, annotations),
            frozenset(name for name, code in taxonomy.codes.items() if code.scope == "dialogue"),
        )
        made.left_out["with labels, not annotated"] = len(labels.keys() - annotations.keys())
        return made

    def dialogues(self) -> Iterator[Dialogue]:
        """The dialogues that were annotated, in the order of the logs."""
        met = 0
        for dialogue in self._read():
            if dialogue.id in self.annotations:
                met += 1
                yield dialogue.without_edits()
        self.left_out["annotated, not in the logs"] = len(self.annotations) - met

    def _read(self) -> Iterator[Dialogue]:
        if self.config.records:
            for path in self.config.dialogues:
                yield from read_records(Path(path), Dialogue, "E_DIALOGUE")
            return
        for item in read(open_logs(list(self.config.dialogues)), ReadConfig(), Counts()):
            if isinstance(item, Loaded):
                if verdict := self.verdicts.get(item.dialogue.id):
                    self.verdicts[item.dialogue.id] = verdict.placed_in(item.dialogue)
                yield item.dialogue

    def opinions(self, dialogue: Dialogue) -> Opinions:
        """What was said of a dialogue, in its masked text if so configured.

        Raises:
            InputRefused: an annotation points out of it.
        """
        given = self.annotations[dialogue.id]
        said = [(annotation, finding) for annotation in given for finding in annotation.findings]
        lengths = {turn.index: len(turn.text) for turn in dialogue.turns} if said else {}
        for annotation, finding in said:
            if finding.end > lengths.get(finding.turn, 0):
                where = f"annotation {annotation.id} of dialogue {dialogue.id}"
                raise InputRefused("E_ANNOTATION", f"{where}: a finding outside the text of its turn")
        people = [annotation for annotation in given if annotation.kind != "model"]
        if self.config.masked:
            from dialint.labeling.store.masked_view import MaskedView

            view = MaskedView.of(dialogue)
            self._masked(dialogue, view)
            dialogue = view.dialogue
            people = [each.model_copy(update={"findings": view.shown(each.findings)}) for each in people]
        return Opinions(dialogue, people, self.of_dialogue)

    def _masked(self, dialogue: Dialogue, view: MaskedView) -> None:
        """Put labels and verdict of a dialogue into its masked text."""
        if verdict := self.verdicts.get(dialogue.id):
            shown = view.shown(verdict.findings)
            self.verdicts[dialogue.id] = verdict.model_copy(update={"findings": shown})
        for place, label in enumerate(labels := self.labels.get(dialogue.id, [])):
            text = view.texts.get(label.turn)
            if text is not None and label.start is not None and label.end is not None:
                start, end = text.from_original(label.start, label.end)
                labels[place] = label.model_copy(update={"start": start, "end": end})

    def example(self, opinions: Opinions) -> Example | None:
        """The example of a dialogue, not yet in a split; none, and counted, if people were not asked of
        all of it."""
        dialogue = opinions.dialogue
        if not judged_turns(dialogue):
            self.left_out["without an agent's turn"] += 1
            return None
        if not opinions.covered(self.codes):
            self.left_out["not asked of in full"] += 1
            return None
        return Example(dialogue=dialogue, labels=self._labels(opinions), split="")

    def _labels(self, opinions: Opinions) -> tuple[Label, ...]:
        found = opinions.found()
        given = self._given(opinions, found)
        wanted = {key for key in [*given, *found] if key[1] in self.codes}
        labels = []
        for turn, code in sorted(wanted):
            own = opinions.share(turn, code)
            label = given.get((turn, code), own)
            if label is not None and own is not None and label.start is None:
                label = label.model_copy(update={"start": own.start, "end": own.end})
            if label is not None and label.probability > 0:
                labels.append(label)
        return tuple(labels)

    def _given(self, opinions: Opinions, found: list[tuple[int, str]]) -> dict[tuple[int, str], Label]:
        """The aggregated labels of a dialogue by turn and code. One of dialogue scope, which stands at
        the last turn for want of a better one, moves to the turn where people found it.

        Raises:
            InputRefused: one is of a turn that cannot hold an error.
        """
        places = {code: turn for turn, code in found if code in self.of_dialogue}
        labels = self.labels.get(opinions.dialogue.id, ())
        judged = judged_turns(opinions.dialogue) if labels else ()
        given = {}
        for label in labels:
            if label.turn not in judged:
                raise InputRefused(
                    "E_LABEL", f"a label of a turn that dialogue {opinions.dialogue.id} has not"
                )
            turn = places.get(label.code, label.turn)
            given[turn, label.code] = (
                label
                if turn == label.turn
                else label.model_copy(update={"turn": turn, "start": None, "end": None})
            )
        return given


def _codes(
    config: DatasetConfig, taxonomy: Taxonomy, annotations: dict[str, list[Annotation]]
) -> tuple[str, ...]:
    """Codes of the dataset in the taxonomy's order."""
    if config.codes:
        wanted = {code.code for name in config.codes for code in taxonomy.select(name)}
    else:
        wanted = set().union(*(own.codes for given in annotations.values() for own in given))
    if unknown := wanted - taxonomy.codes.keys():
        raise InputRefused(
            "E_ANNOTATION", f"code {min(unknown)[:20]!r} is not in taxonomy {taxonomy.version}"
        )
    return tuple(code for code in taxonomy.codes if code in wanted)
