"""What the store says of releases: how much each has judged, and where two of them differ."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import NamedTuple

from sqlalchemy import and_, case, func, select

from dialint.detector.records import Record
from dialint.labeling.store.database.schema import verdicts
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.permissions import read_operation

MAX_DIALOGUES = 3000
"""Of the newest, in figures that read whole verdicts."""
MAX_DIFFERENT = 200


class ReleaseCount(Record):
    """How many dialogues a release has judged, how many it flagged, and when the newest came (ms)."""

    release: str
    dialogues: int
    flagged: int
    newest_ms: int


class DialogueDifference(NamedTuple):
    """A dialogue in which two releases find different things: (turn, code) of one and not the other."""

    dialogue: str
    only_first: tuple[tuple[int, str], ...]
    only_second: tuple[tuple[int, str], ...]


class Comparison(NamedTuple):
    """Two releases on the dialogues that both have judged. `codes`: findings of the first, of the second, and
    of both in the same turn, by code."""

    n_dialogues: int
    n_equal: int
    codes: dict[str, tuple[int, int, int]]
    different: tuple[DialogueDifference, ...]


@read_operation("plan")
def count_by_release(transaction: Transaction, actor: str) -> tuple[ReleaseCount, ...]:
    """The releases with verdicts in the store, the one with the newest first."""
    flagged = func.sum(case((verdicts.c.flagged, 1), else_=0))
    query = select(
        verdicts.c.release,
        func.count().label("n"),
        flagged.label("flagged"),
        func.max(verdicts.c.created_ms).label("newest"),
    ).group_by(verdicts.c.release)
    rows = sorted(transaction.run(query), key=lambda row: (-row.newest, row.release))
    return tuple(
        ReleaseCount(release=row.release, dialogues=row.n, flagged=int(row.flagged), newest_ms=row.newest)
        for row in rows
    )


@read_operation("plan")
def compare_releases(transaction: Transaction, actor: str, first: str, second: str) -> Comparison:
    """Where two releases agree, on the newest `MAX_DIALOGUES` dialogues that both have judged."""
    one, other = verdicts.alias(), verdicts.alias()
    query = (
        select(one.c.dialogue, one.c.content.label("first"), other.c.content.label("second"))
        .join(other, and_(other.c.dialogue == one.c.dialogue, other.c.release == second))
        .where(one.c.release == first)
        .order_by(one.c.created_ms.desc(), one.c.dialogue.desc())
        .limit(MAX_DIALOGUES)
    )
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    different: list[DialogueDifference] = []
    n = n_equal = 0
    for row in transaction.run(query):
        left, right = _findings(row.first), _findings(row.second)
        n += 1
        for at, findings in enumerate((left, right, left & right)):
            for _, code in findings:
                counts[code][at] += 1
        if left == right:
            n_equal += 1
        elif len(different) < MAX_DIFFERENT:
            different.append(
                DialogueDifference(row.dialogue, tuple(sorted(left - right)), tuple(sorted(right - left)))
            )
    codes = {code: (one, two, both) for code, (one, two, both) in sorted(counts.items())}
    return Comparison(n, n_equal, codes, tuple(different))


def _findings(content: str) -> set[tuple[int, str]]:
    return {(finding["turn"], finding["code"]) for finding in json.loads(content)["findings"]}
