"""The configuration of a dataset, the files that it is made of, and the example of each annotated dialogue.

Annotations, labels and verdicts are held in memory by dialogue; the dialogues stream past once. They are of
files (`read_files`), or of the store (`exchange.store_transfer`). Writes nothing and knows no splits.

Annotations are append-only: of one labeler the last answer to a question counts. A model's answers never
count here. A soft label is the share of people who answer yes; an aggregated label (``dialint label
aggregate``) replaces it where there is one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import file_entry
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.ingest.readers.tables import detect_table_format, read_rows
from dialint.detector.near_duplicates import RELATED
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Dialogue, Example, Finding, Label, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.aggregation.dialogue_answers import dialogue_codes, select_span
from dialint.labeling.annotation import Annotation, is_yes, judged_turns, read_annotations
from dialint.labeling.dataset.splits import GroupBy

if TYPE_CHECKING:
    from dialint.labeling.store.masked_view import MaskedView

SUM_TOLERANCE = 0.01
"""Tolerance of a sum of probabilities, which may be rounded."""
COLUMN = "probability:"
EXPECTED = (
    "a label record, a task called dialogue/turn/code with the probability of a yes, or a task called "
    "dialogue/turn with those of codes that exclude one another, together 1"
)


def read_labels(path: Path, taxonomy: Taxonomy) -> Iterator[Label]:
    """The labels of a file: `Label` records, or a table of ``dialint label aggregate`` (CSV, Parquet, JSONL).
    Its tasks are called dialogue/turn/code, with that of a yes, or dialogue/turn, with that of each
    of the codes that exclude one another; a label without a probability has probability 1 there.

    Raises:
        InputRefused: E_LABEL with the line; whatever makes the file unreadable.
    """
    (source,) = open_logs([str(path)])
    for line, _, row in read_rows(source, detect_table_format(source)):
        if isinstance(row, BadRecord):
            raise InputRefused("E_LABEL", f"{path}, line {line}: {row.code}, expected {row.expected}")
        try:
            if "task" not in row:
                yield Label.model_validate_json(json.dumps(row, default=str))
            elif codes := taxonomy.rivals(str(row.get("label"))):
                dialogue, _, turn = str(row["task"]).rpartition("/")
                if not dialogue:
                    raise ValueError("a turn of no dialogue")
                yield from _labels(row, dialogue, turn, _distribution(row, codes))
            else:
                name, own = str(row["task"]), row.get("code")
                if isinstance(own, str) and not name.endswith(f"/{own}"):
                    name = f"{name}/{own}"
                dialogue, turn, code = name.rsplit("/", 2)
                yield from _labels(row, dialogue, turn, {code: _probability_of_yes(row)})
        except (ValueError, TypeError, OverflowError):
            raise InputRefused("E_LABEL", f"{path}, line {line}: expected {EXPECTED}") from None


def _labels(
    row: dict[str, Any], dialogue: str, turn: str, probabilities: dict[str, float]
) -> Iterator[Label]:
    """A label of each code, those of probability 0 too: the share of people must not replace them."""
    for code, probability in probabilities.items():
        yield Label(
            dialogue_id=dialogue,
            turn=int(turn),
            code=code,
            probability=probability,
            method=str(row.get("method") or "aggregated"),
            n_labelers=int(row.get("n_labelers") or 0),
        )


def _values(row: dict[str, Any]) -> dict[str, float]:
    """The probability of each label that the row has one of."""
    columns = {name.removeprefix(COLUMN): p for name, p in row.items() if name.startswith(COLUMN)}
    return {name: float(p) for name, p in dict(row.get("probabilities") or columns).items() if p is not None}


def _distribution(row: dict[str, Any], codes: tuple[str, ...]) -> dict[str, float]:
    """Probabilities of `codes`, which sum to 1."""
    values = _values(row)
    if not values and {"probability", "worker"}.isdisjoint(row):
        values = {row["label"]: 1.0}
    total = sum(values.values())
    if set(values) - set(codes) or not abs(total - 1.0) <= SUM_TOLERANCE:
        raise ValueError("no distribution over these codes")
    return {code: values.get(code, 0.0) / total for code in codes}


def _probability_of_yes(row: dict[str, Any]) -> float:
    values = _values(row)
    if not values and row.get("probability") is not None:
        values = {str(row.get("label")): float(row["probability"])}
    answers = {is_yes(name): probability for name, probability in values.items()}
    if True in answers:
        return answers[True]
    if False not in answers:
        raise ValueError("no probability of a yes")
    return 1.0 - answers[False] if len(answers) == 1 else 0.0


SPLITS = ("train", "dev", "calibration", "test")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DatasetConfig:
    """Sources and splits of a dataset."""

    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Logs of the dialogues; the store has its own."""
    annotations: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = ()
    """Our annotations (JSONL), oldest first; without them those of the store are used."""
    out: Path
    """Folder for the dataset; must not hold a finished one."""
    key_file: Path | None = None
    """File with the secret of the splits, which nobody else may read: the same secret puts the same group on
    the same side. Made, with a random one, if it is not there. Without it: the environment's
    DIALINT_SPLIT_KEY."""
    key: Annotated[str, Parameter(parse=False)] = field(default="", repr=False)
    """The secret itself, for Python: every process of a machine sees every command line."""
    masked: Annotated[bool, Parameter(negative="--no-masked")] = True
    """Personal data as placeholders, as when dialogues are scored, without agents, authors and metadata;
    --no-masked leaves the originals, from the store for leads only."""
    labels: Path | None = None
    """Aggregated labels, which replace the share of people who answer yes."""
    verdicts: Path | None = None
    """Verdicts that people corrected: makes preference pairs."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes or categories of the dataset; without them all that people were asked about."""
    by: Annotated[tuple[GroupBy, ...], Parameter(consume_multiple=True)] = ("customer",)
    """What must not lie on two sides of a split: dialogues of a customer, of an agent, or neither."""
    near: Annotated[float, Field(ge=0, le=1)] = RELATED
    """Jaccard of word triples from which two dialogues stay on one side, 0.5 to 1; 0 looks for none."""
    shares: tuple[float, float, float, float] = (0.8, 0.05, 0.075, 0.075)
    """Parts of train, dev, calibration and test."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if not (min(self.shares) >= 0 and abs(sum(self.shares) - 1) <= 1e-9):
            raise ConfigError("E_OPTION", "--shares must be four parts of 1")
        if 0 < self.near < 0.5:
            raise ConfigError("E_OPTION", "--near must be 0 or lie between 0.5 and 1")
        if self.key and self.key_file is not None:
            raise ConfigError("E_OPTION", "--key-file: there is a key already")


KEPT_METADATA = ("agent_variety", "rating", "source", "split")


def without_people(dialogue: Dialogue) -> Dialogue:
    """Return a dialogue without its agent, authors, and metadata that no later stage reads."""
    turns = tuple(turn.model_copy(update={"author": None}) for turn in dialogue.turns)
    metadata = {name: value for name, value in dialogue.metadata.items() if name in KEPT_METADATA}
    return dialogue.model_copy(update={"turns": turns, "agent": None, "metadata": metadata})


@dataclass
class DatasetBuilder:
    """Dialogues, and annotations, labels and verdicts by dialogue; the manifest's entries on their origin
    (`inputs`), and counts of the dialogues and labels left out."""

    config: DatasetConfig
    dialogues: Iterable[Dialogue]
    annotations: dict[str, list[Annotation]]
    labels: dict[str, list[Label]]
    verdicts: dict[str, Verdict]
    inputs: dict[str, Any]
    left_out: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.taxonomy = load_taxonomy(self.config.taxonomy)
        annotations = chain.from_iterable(self.annotations.values())
        codes = {code for annotation in annotations for code in annotation.codes}
        if self.config.codes:
            codes = {*self.taxonomy.select_codes(self.config.codes)}
        if unknown := codes - self.taxonomy.codes.keys():
            raise InputRefused(
                "E_ANNOTATION", f"code {min(unknown)[:20]!r} is not in taxonomy {self.taxonomy.version}"
            )
        self.codes = tuple(code for code in self.taxonomy.codes if code in codes)
        self.dialogue_codes = dialogue_codes(self.taxonomy)
        self.left_out["with labels, not annotated"] = len(self.labels.keys() - self.annotations.keys())
        outside = (label.code not in self.codes for labels in self.labels.values() for label in labels)
        self.left_out["labels of other codes"] = sum(outside)

    def read_dialogues(self) -> Iterator[Dialogue]:
        """The dialogues that were annotated, in their order."""
        n = 0
        for dialogue in self.dialogues:
            if dialogue.id in self.annotations:
                n += 1
                yield dialogue.without_edits()
        self.left_out["annotated, not in the logs"] = len(self.annotations) - n

    def annotations_of(self, dialogue: Dialogue) -> DialogueAnnotations:
        """People's annotations of a dialogue, in its masked text if so configured; its labels and verdict
        are masked along with them.

        Raises:
            InputRefused: an annotation points out of the dialogue.
        """
        annotations = self.annotations[dialogue.id]
        findings = [(annotation, finding) for annotation in annotations for finding in annotation.findings]
        lengths = {turn.index: turn.n_places for turn in dialogue.turns} if findings else {}
        for annotation, finding in findings:
            if finding.end > lengths.get(finding.turn, 0):
                where = f"annotation {annotation.id} of dialogue {dialogue.id}"
                raise InputRefused("E_ANNOTATION", f"{where}: a finding outside the text of its turn")
        by_people = [annotation for annotation in annotations if annotation.kind != "model"]
        if self.config.masked:
            from dialint.labeling.store.masked_view import MaskedView

            view = MaskedView.of(dialogue)
            self._mask_labels_and_verdict(dialogue, view)
            dialogue = without_people(view.dialogue)
            by_people = [
                each.model_copy(update={"findings": view.mask_findings(each.findings)}) for each in by_people
            ]
        return DialogueAnnotations(dialogue, by_people, self.dialogue_codes)

    def _mask_labels_and_verdict(self, dialogue: Dialogue, view: MaskedView) -> None:
        if verdict := self.verdicts.get(dialogue.id):
            findings = view.mask_findings(verdict.findings)
            self.verdicts[dialogue.id] = verdict.model_copy(update={"findings": findings, "suggestions": ()})
        for position, label in enumerate(labels := self.labels.get(dialogue.id, [])):
            text = view.texts.get(label.turn)
            if text is not None and label.start is not None and label.end is not None:
                start, end = text.from_original(label.start, label.end)
                labels[position] = label.model_copy(update={"start": start, "end": end})

    def example(self, annotations: DialogueAnnotations) -> Example | None:
        """The example of a dialogue, not yet in a split; None, and counted, if people did not answer for
        all of it."""
        dialogue = annotations.dialogue
        if not judged_turns(dialogue):
            self.left_out["without an agent's turn"] += 1
            return None
        if not annotations.cover(self.codes):
            self.left_out["not asked of in full"] += 1
            return None
        return Example(dialogue=dialogue, labels=self._labels(annotations), split="")

    def _labels(self, annotations: DialogueAnnotations) -> tuple[Label, ...]:
        positives = annotations.positives()
        aggregated = self._aggregated_labels(annotations, positives)
        keys = {key for key in [*aggregated, *positives] if key[1] in self.codes}
        labels = []
        for turn, code in sorted(keys):
            share = annotations.soft_label(turn, code)
            label = aggregated.get((turn, code), share)
            if label is not None and share is not None and label.start is None:
                label = label.model_copy(update={"start": share.start, "end": share.end})
            if label is not None and label.probability > 0:
                labels.append(label)
        return tuple(labels)

    def _aggregated_labels(
        self, annotations: DialogueAnnotations, positives: list[tuple[int, str]]
    ) -> dict[tuple[int, str], Label]:
        """The aggregated labels of a dialogue by turn and code. One of dialogue scope, which aggregation puts
        on the last turn, moves to the turn where people marked it.

        Raises:
            InputRefused: one is of a turn that cannot hold an error.
        """
        marked = {code: turn for turn, code in positives if code in self.dialogue_codes}
        labels = self.labels.get(annotations.dialogue.id, ())
        judged = judged_turns(annotations.dialogue) if labels else ()
        by_key = {}
        for label in labels:
            if label.turn not in judged:
                raise InputRefused(
                    "E_LABEL", f"a label of a turn that dialogue {annotations.dialogue.id} has not"
                )
            turn = marked.get(label.code, label.turn)
            moved = {} if turn == label.turn else {"turn": turn, "start": None, "end": None}
            by_key[turn, label.code] = label.model_copy(update=moved)
        return by_key


def read_files(config: DatasetConfig) -> DatasetBuilder:
    """Read the files of a configuration, all but the logs.

    Raises:
        ConfigError: no `dialogues`, or no `annotations`.
        InputRefused: a bad line, or a code that the taxonomy does not have.
        OutputRefused: the verdicts are damaged.
    """
    if not config.dialogues or not config.annotations:
        raise ConfigError("E_OPTION", "from files, --dialogues and --annotations must name some")
    annotations: dict[str, list[Annotation]] = {}
    for annotation in chain.from_iterable(map(read_annotations, config.annotations)):
        annotations.setdefault(annotation.dialogue_id, []).append(annotation)
    labels: dict[str, list[Label]] = {}
    for label in read_labels(config.labels, load_taxonomy(config.taxonomy)) if config.labels else ():
        labels.setdefault(label.dialogue_id, []).append(label)
    scored = read_verdicts(config.verdicts) if config.verdicts else ()
    verdicts = {verdict.dialogue_id: verdict for verdict in scored if verdict.dialogue_id in annotations}
    sources = open_logs(list(config.dialogues))

    def dialogues() -> Iterator[Dialogue]:
        for item in read(sources, ReadConfig(), Counts()):
            if isinstance(item, Loaded):
                if verdict := verdicts.get(item.dialogue.id):
                    verdicts[item.dialogue.id] = verdict.placed_in(item.dialogue)
                yield item.dialogue

    paths = [source.path for source in sources]
    paths += [*config.annotations, *filter(None, (config.labels, config.verdicts))]
    inputs = {"inputs": [file_entry(path) for path in paths]}
    return DatasetBuilder(config, dialogues(), annotations, labels, verdicts, inputs)


@dataclass(frozen=True)
class DialogueAnnotations:
    """People's annotations of one dialogue, oldest first. `dialogue_codes` are those of dialogue scope."""

    dialogue: Dialogue
    annotations: Sequence[Annotation]
    dialogue_codes: frozenset[str]

    def cover(self, codes: Collection[str]) -> bool:
        """Returns whether people answered for every code in every judged turn."""
        missing = set(codes).difference(*(each.codes for each in self.annotations if each.turn is None))
        if not missing:
            return True
        questions = {(annotation.turn, code) for annotation in self.annotations for code in annotation.codes}
        answered_once = {code for _, code in questions} & self.dialogue_codes
        turns = judged_turns(self.dialogue)
        return all(
            code in answered_once or all((turn, code) in questions for turn in turns) for code in missing
        )

    def positives(self) -> list[tuple[int, str]]:
        """Turn and code of everything that at least one person marked, in order; a code of dialogue scope
        once, in the turn that most people marked (the first of equals)."""
        by_person = (
            {(finding.turn, finding.code) for finding in annotation.findings}
            for annotation in self.annotations
        )
        counts = Counter(chain.from_iterable(by_person))
        best: dict[str, tuple[int, int]] = {}
        for (turn, code), count in counts.items():
            if code in self.dialogue_codes:
                best[code] = max(best.get(code, (0, 0)), (count, -turn))
        once = {(-negative_turn, code) for code, (_, negative_turn) in best.items()}
        return sorted(key for key in counts if key[1] not in self.dialogue_codes or key in once)

    def last_answers(self, turn: int, code: str, kinds: Collection[str] = ()) -> list[Annotation]:
        """Each person's last answer to a question, oldest first; of `kinds` only, if any."""
        last: dict[str, Annotation] = {}
        any_turn = code in self.dialogue_codes
        for annotation in self.annotations:
            if kinds and annotation.kind not in kinds:
                continue
            if code in annotation.codes and (any_turn or annotation.turn in (None, turn)):
                last.pop(annotation.labeler, None)
                last[annotation.labeler] = annotation
        return list(last.values())

    def matching_findings(self, annotation: Annotation, turn: int, code: str) -> list[Finding]:
        """The findings of an annotation that answer a question with yes."""
        any_turn = code in self.dialogue_codes
        return [
            finding
            for finding in annotation.findings
            if finding.code == code and (any_turn or finding.turn == turn)
        ]

    def soft_label(self, turn: int, code: str) -> Label | None:
        """The share of people who answer yes, with the span most agree on; experts' answers alone where
        there are any. None if nobody answers yes."""
        answers = self.last_answers(turn, code, ("expert",))
        method = "expert" if answers else "people:share"
        answers = answers or self.last_answers(turn, code)
        yes = [findings for answer in answers if (findings := self.matching_findings(answer, turn, code))]
        if not yes:
            return None
        start, end = select_span([(f.start, f.end) for findings in yes for f in findings if f.turn == turn])
        return Label(
            dialogue_id=self.dialogue.id,
            turn=turn,
            code=code,
            probability=len(yes) / len(answers),
            method=method,
            n_labelers=len(answers),
            start=start,
            end=end,
        )
