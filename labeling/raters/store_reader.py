"""Reads from the store what the reports on labelers need: the answers of all whose work counts.

Control tasks are included here, since they measure work best; labels are aggregated without them.
"""

from __future__ import annotations

from collections.abc import Iterator

from dialint.detector.errors import ConfigError, Message
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.dialogue_answers import dialogue_codes
from dialint.labeling.annotation import Annotation
from dialint.labeling.raters.agreement import ReadText
from dialint.labeling.raters.labeler_quality import Gold
from dialint.labeling.raters.workload import Workload, dated_tables, measure_workload
from dialint.labeling.store.counted_annotations import iterate_counted
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import StoredDialogues
from dialint.labeling.store.gold import list_gold


def load_annotations(
    store: Store, actor: str, project: str | None
) -> tuple[Iterator[Annotation], StoredDialogues, Gold]:
    """The annotations of a project or of the whole store, the dialogues, and gold, without gold in doubt:
    what good labelers contradict measures nobody.

    Raises:
        NotAllowed: the actor does not decide.
    """
    gold = {
        (one.dialogue, one.turn, one.code): one.present
        for one in list_gold(store, actor, retired=True)
        if one.doubt is None
    }
    return iterate_counted(store, actor, project, controls=True), StoredDialogues(store), gold


def load_workload(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> Workload:
    """The work of all labelers in a project or in the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    annotations = iterate_counted(store, actor, project, controls=True)
    workload = measure_workload(annotations, StoredDialogues(store), dialogue_codes(taxonomy))
    if not workload.answers.codes:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=project or Message("the store"))
    return workload


def load_tables(
    store: Store, actor: str, project: str | None, taxonomy: Taxonomy
) -> tuple[dict[str, Answers], dict[str, list[ReadText]]]:
    """The answers of a project or of the whole store by code, with their times, and the marked spans; without
    control tasks, whose items are selected to be clear.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    tables, reads = dated_tables(
        iterate_counted(store, actor, project), StoredDialogues(store), dialogue_codes(taxonomy)
    )
    if not tables:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=project or Message("the store"))
    return tables, reads
