"""Imports logs, verdicts and other tools' labels into the label store; the same files again add nothing.

Streams: memory does not grow with the file. Each thousand records is a transaction, so a killed import is
simply run again. Bad records of a log are rejected, up to the share that `read` allows. A label for an
unknown dialogue, code or worker, and a second one by the same worker, is rejected and counted, also where
the first came from another file, at the same moment, or was given in the console.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

from dialint.detector.artifacts import atomic_file, disk_errors, make_output_folder
from dialint.detector.errors import TooManyBad
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.progress import Progress
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange.import_labels import ImportConfig, LabelImport, LocatedAnnotation
from dialint.labeling.raters.reports import refuse_existing
from dialint.labeling.store import accounts, dialogues
from dialint.labeling.store.database.transactions import Store, Transaction, write_operation
from dialint.labeling.store.dialogues import MAX_PER_CALL, StoredDialogues
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.exposure import is_own
from dialint.labeling.store.masked_view import LONG_CHARS, prepare_view, refresh_long_views
from dialint.labeling.store.permissions import find_account, has_permission, require_permission
from dialint.labeling.store.projects import get_project, require_open
from dialint.labeling.store.stored_annotations import (
    find_by_key,
    has_answered,
    has_values,
    lock_dialogues,
    save,
)

SHOWN = 10


@dataclass
class Rejects:
    """How many by reason, and the first of them."""

    codes: Counter[str] = field(default_factory=Counter)
    first: list[Reject] = field(default_factory=list)
    file: BinaryIO | None = None

    def add(self, reject: Reject) -> None:
        """Take one in."""
        self.codes[reject.code] += 1
        if len(self.first) < SHOWN:
            self.first.append(reject)
        if self.file is not None:
            self.file.write(json.dumps(reject.as_json(), ensure_ascii=False).encode() + b"\n")


@contextmanager
def rejects_into(path: Path | None) -> Iterator[Rejects]:
    """Rejects that are in the file when all is done, and also when too many made an end of it.

    Raises:
        OutputRefused: the file is there already.
    """
    if path is None:
        yield Rejects()
        return
    refuse_existing(path)
    with disk_errors(path):
        make_output_folder(path.parent)
    stopped = None
    with atomic_file(path) as file:
        try:
            yield Rejects(file=file)
        except TooManyBad as error:
            stopped = error
    if stopped is not None:
        raise stopped


Fate = Literal[
    "new",
    "known",
    "an id again",
    "an answer of another project",
    "a second answer",
    "a code that is not asked",
    "an own dialogue",
]
"""What becomes of an annotation that comes from elsewhere; but for the first two, it is not taken."""


MOST_NAMED = 100
"""Names of others in the entry of the audit log, at most."""


@write_operation(repeatable=True)
def bring_in(
    transaction: Transaction,
    actor: str,
    found: Sequence[Annotation],
    source: str,
    project: str | None = None,
    *,
    once: bool = False,
) -> tuple[Fate, ...]:
    """Import up to 1,000 annotations made elsewhere, by people or models; what became of each. `source`
    names where from and, with their ids, makes them unique. They are answers to what `project` asks, if
    one is named. In the name of others only an admin imports, and the audit log says so; what a model
    said, by a name that is no account's, is in nobody's. Nobody's answer about a dialogue of their own comes
    in. With `once` nobody's second answer to a question comes in, not even by another import at
    the same moment: imports into the same dialogues wait for each other.

    Raises:
        NotAllowed: the actor does not plan; or is no admin, and there are answers of somebody else.
        StoreRefused: an unknown dialogue, or a project that is unknown or closed.
    """
    acting = require_permission(transaction, actor, "plan")
    people = {name: find_account(transaction, name) for name in sorted({one.labeler for one in found})}
    named = {one.labeler for one in found if one.kind != "model" or people[one.labeler]}
    others = sorted(named - {actor})
    if others and not has_permission(acting, "administer"):
        raise NotAllowed("E_RIGHT", f"{len(others)} labelers are not {actor}: an admin imports in their name")
    if project is not None:
        require_open(transaction, project)
    if len(found) > MAX_PER_CALL:
        raise StoreRefused("E_BATCH", f"{len(found)} in one call, at most {MAX_PER_CALL}")
    asked = None if project is None else frozenset(get_project(transaction, project).codes)
    lock_dialogues(transaction, {one.dialogue_id for one in found})
    fates: list[Fate] = []
    for one in found:
        values = {
            "key": f"{source}:{one.id}", "project": project, "task": None, "dialogue": one.dialogue_id,
            "turn": one.turn, "labeler": one.labeler, "kind": one.kind, "codes": one.codes,
            "findings": one.findings, "seconds": one.seconds, "supersedes": None,
        }  # fmt: skip
        account = people[one.labeler]
        own = account is not None and is_own(transaction, account, (one.dialogue_id,))
        fates.append("an own dialogue" if own else _fate(transaction, values, asked, once))
        if fates[-1] == "new":
            at_ms = transaction.now_ms if one.at is None else round(one.at.timestamp() * 1000)
            save(transaction, actor, {**values, "seen_verdict": one.seen_verdict, "at_ms": at_ms})
    if "new" in fates:
        content = {"source": source, "project": project, "n_others": len(others)}
        subject = f"{fates.count('new')} annotations"
        transaction.log(actor, "annotations.import", subject, **content, in_the_name_of=others[:MOST_NAMED])
    return tuple(fates)


def _fate(transaction: Transaction, values: dict[str, Any], asked: frozenset[str] | None, once: bool) -> Fate:
    row = find_by_key(transaction, values["key"])
    if row is not None:
        if has_values(row, values):
            return "known"
        elsewhere = has_values(row, {**values, "project": row.project})
        return "an answer of another project" if elsewhere else "an id again"
    if asked is not None and not asked.issuperset(values["codes"]):
        return "a code that is not asked"
    return "a second answer" if once and has_answered(transaction, values) else "new"


T = TypeVar("T")


@dataclass
class BroughtIn:
    """What became of the records: `new`, or `known` with the same content."""

    new: int = 0
    known: int = 0


def bring_logs(
    store: Store,
    actor: str,
    logs: Sequence[str],
    config: ReadConfig,
    told: Progress,
    rejects: Rejects | None = None,
) -> BroughtIn:
    """Put the dialogues of `logs` into the store, and what is bad among `rejects`.

    Raises:
        NotAllowed: the actor does not plan.
        InputRefused: a log is refused whole.
        TooManyBad: too many bad records; what came before is in the store.
        StoreRefused: a dialogue is there with other content.
    """
    brought, rejects = BroughtIn(), Rejects() if rejects is None else rejects
    sources, counts = open_logs(list(logs)), Counts()
    total = sum(source.size for source in sources)
    for source in sources:
        inspect(source, config)

    def good() -> Iterator[Loaded]:
        for item in read(sources, config, counts):
            if isinstance(item, Reject):
                rejects.add(item)
            else:
                yield item

    for piece in pieces(good(), MAX_PER_CALL):
        new = dialogues.add(store, actor, [item.dialogue for item in piece])
        for item in piece:
            if sum(len(turn.text) for turn in item.dialogue.turns) >= LONG_CHARS:
                prepare_view(store, item.dialogue.id)
        _count_batch(brought, new, len(piece))
        told(brought.new + brought.known, counts.bytes_read / total if total else None)
    return brought


def bring_verdicts(store: Store, actor: str, path: Path, told: Progress) -> BroughtIn:
    """Put the verdicts of a finished output of ``dialint score`` into the store.

    Raises:
        NotAllowed: the actor does not plan.
        OutputRefused: the output is not finished, or damaged.
        StoreRefused: a dialogue is not in the store, or the release said something else of it before.
    """
    brought = BroughtIn()
    for piece in pieces(read_verdicts(path), MAX_PER_CALL):
        new = dialogues.add_verdicts(store, actor, piece)
        refresh_long_views(store, [verdict.dialogue_id for verdict in piece])
        _count_batch(brought, new, len(piece))
        told(brought.new + brought.known)
    return brought


def _count_batch(brought: BroughtIn, new: int, size: int) -> None:
    brought.new += new
    brought.known += size - new


def pieces(records: Iterable[T], size: int) -> Iterator[list[T]]:
    """The records in order, `size` of them at a time."""
    stream = iter(records)
    while piece := list(islice(stream, size)):
        yield piece


REFUSED: dict[Fate, tuple[str, str]] = {
    "an id again": ("id", "each id once"),
    "an answer of another project": ("id", "an answer that is new to the store, or of this project"),
    "a second answer": ("labeler", "one answer by a labeler to a question"),
    "a code that is not asked": ("codes", "codes of the project"),
    "an own dialogue": ("labeler", "somebody who did not speak in the dialogue"),
}
"""The field that is wrong, and what was expected there."""


@dataclass
class LabelsIn:
    """How many annotations were `taken`, how many of them `new`; what was rejected, and what was left out
    and why."""

    rejects: Rejects
    taken: int = 0
    new: int = 0
    left_out: dict[str, int] = field(default_factory=dict)


def bring_labels(
    store: Store,
    actor: str,
    config: ImportConfig,
    source: str,
    told: Progress,
    *,
    project: str | None = None,
    rejects: Rejects | None = None,
) -> LabelsIn:
    """Put the labels of all files into the store as annotations; the same files again add nothing.

    `source` names where they are from: with it the ids of an export of ours are one store's. Those of a
    `project` are answers to what it asks; where they do not say what was asked, and no codes are named, it
    is all that the project asks.

    Raises:
        NotAllowed: the actor does not plan; or is no admin, and there are answers of somebody else.
        StoreRefused: there is no such project.
        InputRefused: a file is refused whole.
        TooManyBad: over `max_bad` of the answers are bad; the good ones are in the store.
    """
    people = frozenset(one.id for one in accounts.list_accounts(store, actor))
    if project is not None:
        asked = store.read(partial(get_project, name=project)).codes
        config = replace(config, codes=config.codes or asked)
    known = StoredDialogues(store)
    intake = config.intake(load_taxonomy(config.taxonomy), known, frozenset(config.labelers) or people)
    brought = LabelsIn(Rejects() if rejects is None else rejects)
    bring = partial(bring_in, store, actor, source=source, project=project)
    for file in open_logs(config.labels):
        for piece in pieces(intake.placed(file, config.format), MAX_PER_CALL):
            for item, fate in _fates(piece, bring):
                _count_answer(brought, intake, item, fate)
            told(brought.taken)
    brought.left_out = intake.left_out
    intake.counts.check_share(config.max_bad)
    return brought


def _fates(
    piece: Sequence[LocatedAnnotation | Reject], bring: Callable[..., Sequence[Fate]]
) -> Iterator[tuple[LocatedAnnotation | Reject, Fate | None]]:
    """What became of each in the store; none of what was rejected before."""
    some = [item for item in piece if isinstance(item, LocatedAnnotation)]
    fates = iter(bring([item.annotation for item in some], once=any(item.once for item in some)))
    for item in piece:
        yield item, next(fates) if isinstance(item, LocatedAnnotation) else None


def _count_answer(
    brought: LabelsIn, intake: LabelImport, item: LocatedAnnotation | Reject, fate: Fate | None
) -> None:
    if isinstance(item, LocatedAnnotation) and fate in REFUSED:
        path, expected = REFUSED[fate]
        item = item.refused(BadRecord("E_LABEL", path, fate, expected, item.annotation.dialogue_id))
        intake.counts.rejected += 1
        intake.counts.codes[item.code] += 1
    if isinstance(item, Reject):
        brought.rejects.add(item)
    else:
        brought.taken += 1
        brought.new += fate == "new"
