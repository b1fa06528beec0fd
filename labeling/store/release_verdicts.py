"""What the store says of releases: how much each has judged, where two of them differ, what people said of
what one found, and who changed which release is in use.

The registry of releases is a folder (`dialint.detector.registry`); here is only the permission to change it,
and the record of each change in the audit log.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Literal, NamedTuple

from sqlalchemy import and_, case, func, select

from dialint.detector.records import Dialogue, Record, Verdict
from dialint.labeling.annotation import questions_in
from dialint.labeling.store.database.schema import audit, verdicts
from dialint.labeling.store.database.schema import dialogues as dialogue_rows
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import parse_verdict
from dialint.labeling.store.history import load_entries
from dialint.labeling.store.permissions import read_operation, write_operation
from dialint.labeling.store.stored_annotations import iterate_counted_on

MAX_DIALOGUES = 3000
"""Of the newest, in figures that read whole verdicts."""
MAX_DIFFERENT = 200
WEEK_MS = 7 * 86_400_000
LEAST_PROBABILITY = 0.02
"""Turns below it are in no figure about thresholds."""
RANKS = {"expert": 3, "appeal": 2, "reviewer": 1, "crowd": 0, "model": -1}
Change = Literal["promote", "rollback", "refused"]


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


class ScannedTurn(NamedTuple):
    """The probability of one turn for a code. `is_finding`: it is reported; `answer`: what people say of it,
    none if nobody was asked."""

    dialogue: str
    probability: float
    is_finding: bool
    answer: bool | None


class CodeTurns(NamedTuple):
    """Turns of one code by a release, the newest dialogues of the store: `n_weeks` between the first and the
    last, `seconds` of people for each review, if known. Errors that people saw in turns without a probability
    are in `n_unscanned`."""

    turns: tuple[ScannedTurn, ...]
    n_dialogues: int
    n_weeks: float
    n_unscanned: int
    seconds: tuple[float, ...]


class ReleaseChange(Record):
    """A change of the release in use, as the audit log has it."""

    at_ms: int
    account: str
    action: str
    release: str
    reason: str
    message: str = ""


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
def load_judged(transaction: Transaction, actor: str, release: str) -> tuple[tuple[Dialogue, Verdict], ...]:
    """The newest `MAX_DIALOGUES` dialogues that a release has judged, with its verdicts."""
    newest = (
        select(verdicts.c.content, dialogue_rows.c.content.label("dialogue"))
        .join(dialogue_rows, dialogue_rows.c.id == verdicts.c.dialogue)
        .where(verdicts.c.release == release)
        .order_by(verdicts.c.created_ms.desc(), verdicts.c.dialogue)
        .limit(MAX_DIALOGUES)
    )
    return tuple(
        (Dialogue.model_validate_json(row.dialogue), parse_verdict(row.content))
        for row in transaction.run(newest)
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


def load_code_turns(store: Store, actor: str, release: str) -> dict[str, CodeTurns]:
    """What a release makes of the turns of the newest `MAX_DIALOGUES` dialogues, by code, with what people
    say.

    Turns that the scan marked from today's threshold on and that another rule dropped are left out: no
    threshold brings them back. Only verdicts with all probabilities count. Of several people's answers to one
    question that of the highest rank counts, then the newest.
    """
    judged, n_weeks = _read_judged(store, actor, release)
    answers: dict[str, dict[tuple[int, str], tuple[int, bool]]] = defaultdict(dict)
    seconds: list[float] = []
    for annotation in iterate_counted_on(store, actor, list(judged)):
        verdict = judged[annotation.dialogue_id]
        if annotation.seconds is not None and annotation.kind == "reviewer":
            seconds.append(annotation.seconds)
        rank, of_dialogue = RANKS[annotation.kind], answers[annotation.dialogue_id]
        for question in questions_in(annotation, tuple(sorted(verdict.probabilities or ())), ()):
            key = question.turn, question.code
            if of_dialogue.get(key, (rank,))[0] <= rank:
                of_dialogue[key] = (rank, bool(question.findings))
    turns: dict[str, list[ScannedTurn]] = defaultdict(list)
    unscanned = Counter[str]()
    for name, verdict in judged.items():
        remaining = dict(answers.get(name, {}))
        probabilities = {(each.turn, each.code): each.probability for each in verdict.findings}
        for turn, codes in (verdict.probabilities or {}).items():
            for code, scanned in codes.items():
                probability = probabilities.get((turn, code), scanned)
                answer = remaining.pop((turn, code), None)
                if probability >= LEAST_PROBABILITY or answer is not None:
                    is_finding = (turn, code) in probabilities
                    turns[code].append(
                        ScannedTurn(name, probability, is_finding, None if answer is None else answer[1])
                    )
        unscanned.update(code for (_, code), (_, present) in remaining.items() if present)
    n = len(judged)
    return {
        code: CodeTurns(tuple(each), n, n_weeks, unscanned[code], tuple(seconds))
        for code, each in sorted(turns.items())
    }


@read_operation("plan")
def _read_judged(transaction: Transaction, actor: str, release: str) -> tuple[dict[str, Verdict], float]:
    newest = select(verdicts).where(verdicts.c.release == release)
    newest = newest.order_by(verdicts.c.created_ms.desc(), verdicts.c.dialogue.desc())
    rows = transaction.run(newest.limit(MAX_DIALOGUES)).all()
    if not rows:
        return {}, 1.0
    spread = (rows[0].created_ms - rows[-1].created_ms) / WEEK_MS
    parsed = {row.dialogue: parse_verdict(row.content) for row in rows}
    return {name: each for name, each in parsed.items() if each.probabilities is not None}, max(spread, 1.0)


@write_operation("plan", repeatable=False)
def record_change(
    transaction: Transaction, actor: str, action: Change, release: str, reason: str, message: str = ""
) -> None:
    """Record, before it is done, that the actor changes the release in use, or that the registry refused."""
    content = {"reason": reason, **({"message": message} if message else {})}
    transaction.log(actor, f"releases.{action}", release, **content)


@read_operation("plan")
def list_changes(transaction: Transaction, actor: str) -> tuple[ReleaseChange, ...]:
    """The changes of the release in use that were made in the console, newest first, as far back as
    `load_entries` looks."""
    return tuple(
        ReleaseChange(
            at_ms=entry.at_ms, account=entry.account, action=entry.action.partition(".")[2],
            release=entry.subject, reason=entry.content.get("reason", ""),
            message=entry.content.get("message", ""),
        )
        for entry in load_entries(transaction, audit.c.action.startswith("releases.")).entries
    )  # fmt: skip
