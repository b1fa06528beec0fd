"""Data for coaching: an agent's dialogues with the errors that people confirmed, and rates of other agents.

For leads, and for the account of the agent. A finding that people rejected, or that an appeal overturned, is
no error here, nor is a suggestion unless it was accepted. Figures of others are sums over enough agents that
no single agent's can be inferred.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, case, func, insert, or_, select, update

from dialint.detector.records import Finding
from dialint.detector.statistics import Partial
from dialint.labeling.annotation import match_findings
from dialint.labeling.store.database.decisions import Review
from dialint.labeling.store.database.derived import cut_name
from dialint.labeling.store.database.schema import (
    accounts,
    annotation_rows,
    dialogue_index,
    dialogues,
    finding_index,
    notes,
)
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.dialogues import load_verdict
from dialint.labeling.store.documents import load_taxonomy_in_use
from dialint.labeling.store.exposure import record_read
from dialint.labeling.store.insights import (
    JudgedGroup,
    group_judged,
    has_status,
    is_added,
    name_conditions,
    require_own_or_plan,
    score_reviewed,
    span_conditions,
    whole_days,
)
from dialint.labeling.store.permissions import get_account, has_permission, read_operation, write_operation
from dialint.labeling.store.records import NotAllowed, StoreRefused

MAX_DIALOGUES = 20_000
"""Dialogues of an agent that one call returns at most, the newest ones: 111 a day in the longest period of
the Coaching page and the one before."""
MAX_AGENTS = 1000
MAX_REQUESTED = 20
"""Dialogues whose findings one call returns at most."""
MIN_OTHERS = 5
"""Least number of other agents in a sum: of fewer, a person who knows some of them could infer the rest. What
an agent sees satisfies this on each day, too, so that no difference of two periods reveals a colleague."""


class CoachedDialogue(NamedTuple):
    """A dialogue of an agent: its time in ms since 1970, its status, its `quality` by the model and by people
    (`reviewed_quality`, None without a decision), and its errors: `confirmed` as (code, severity), those that
    people added among them; the number that people changed to another code or severity (`n_changed`) and
    that of undecided ones (`n_open`)."""

    dialogue: str
    at_ms: int
    status: str
    quality: float | None
    reviewed_quality: float | None
    review: Review
    confirmed: tuple[tuple[str, str], ...]
    n_changed: int
    n_open: int

    @property
    def has_confirmed(self) -> bool:
        """True if people confirmed, changed or added an error."""
        return bool(self.confirmed) or self.n_changed > 0

    @property
    def has_error(self) -> bool:
        """True if an error is confirmed, or not decided yet."""
        return self.has_confirmed or self.n_open > 0


class CodeRates(NamedTuple):
    """Number of scored dialogues by code, with a confirmed error, and with a confirmed or undecided one:
    `own` of those of an agent, and `other` of those of `n_agents` other agents; `own_judged` and
    `other_judged` are all of them, by what was judged in them. The others are of `team` (empty: agents
    without one), or all where it is None. Without enough others, `other` and `other_judged` are empty."""

    own: Mapping[str, tuple[int, int]]
    own_judged: tuple[JudgedGroup, ...]
    other: Mapping[str, tuple[int, int]]
    other_judged: tuple[JudgedGroup, ...]
    n_agents: int
    team: str | None

    @property
    def own_dialogues(self) -> int:
        """Number of scored dialogues of the agent."""
        return sum(each.dialogues for each in self.own_judged)

    @property
    def other_dialogues(self) -> int:
        """Number of scored dialogues of the others."""
        return sum(each.dialogues for each in self.other_judged)


class ConfirmedFinding(NamedTuple):
    """An error that people confirmed, corrected or added, as they left it."""

    finding: Finding
    decision: str


@read_operation()
def list_dialogues(
    transaction: Transaction, actor: str, agent: str, since_ms: int, until_ms: int
) -> tuple[CoachedDialogue, ...]:
    """The dialogues of an agent in ``[since_ms, until_ms)``, newest first."""
    require_own_or_plan(transaction, actor, agent)
    span = span_conditions(dialogue_index.c, since_ms, until_ms)
    mine = and_(dialogue_index.c.agent == cut_name(agent), *span)
    names = ("number", "dialogue", "at_ms", "status", "quality", "reviewed_errors", "team", "review")
    newest = select(*(dialogue_index.c[name] for name in names)).where(mine).limit(MAX_DIALOGUES)
    rows = transaction.run(newest.order_by(dialogue_index.c.number.desc())).all()
    columns = [finding_index.c[name] for name in ("number", "code", "severity", "decision", "suggestion")]
    joined = select(*columns).join(dialogue_index, dialogue_index.c.number == finding_index.c.number)
    listed = joined.where(mine, finding_index.c.number >= (rows[-1].number if rows else 0))
    findings: dict[int, list[Any]] = defaultdict(list)
    for row in transaction.run(listed.order_by(finding_index.c.number, finding_index.c.place)):
        findings[row.number].append(row)
    taxonomy = load_taxonomy_in_use(transaction)
    coached = []
    for row in rows:
        of_dialogue = findings.get(row.number, ())
        confirmed = tuple(
            (each.code, each.severity) for each in of_dialogue if each.decision in ("confirmed", "added")
        )
        n_changed = sum(each.decision == "changed" for each in of_dialogue)
        n_open = sum(each.decision == "open" and not each.suggestion for each in of_dialogue)
        reviewed = score_reviewed(row, taxonomy)
        coached.append(CoachedDialogue(
            row.dialogue, row.at_ms, row.status, row.quality, reviewed, row.review, confirmed,
            n_changed, n_open,
        ))  # fmt: skip
    return tuple(coached)


@read_operation()
def compare_codes(
    transaction: Transaction, actor: str, agent: str, since_ms: int, until_ms: int, team: str | None = None
) -> CodeRates:
    """Count the dialogues with an error of each code, of an agent and of the others.

    For a lead, the others are those of `team`, or of all teams if there are fewer than `MIN_OTHERS` in it. An
    agent is compared with the own newest team only, on the days on which at least `MIN_OTHERS` others of it
    have scored dialogues. Spans are cut to whole days (UTC).

    Raises:
        NotAllowed: the actor neither plans nor is this agent, or is the agent and asks for another team.
    """
    account = require_own_or_plan(transaction, actor, agent)
    name, dialogue, finding = cut_name(agent), dialogue_index.c, finding_index.c
    n_agents = func.count(dialogue.agent.distinct())
    days = whole_days(dialogue, since_ms, until_ms)
    full_days: Select[Any] | None = None

    def is_other(columns: Any) -> ColumnElement[bool]:
        conditions = [columns.agent.not_in((name, "")), *name_conditions(columns, {"team": team})]
        return and_(*conditions, *([] if full_days is None else [columns.day.in_(full_days)]))

    def count_others() -> int:
        query: Select[Any] = select(n_agents).where(dialogue.status == "scored", *days, is_other(dialogue))
        return int(transaction.run(query).scalar_one())

    def count_by_code(is_counted: ColumnElement[bool]) -> dict[str, tuple[int, int]]:
        confirmed = or_(is_added(), and_(finding.suggestion.is_(False), finding.decision == "confirmed"))
        unrejected = or_(confirmed, and_(finding.suggestion.is_(False), finding.decision == "open"))
        counts = [func.count(case((each, finding.number)).distinct()) for each in (confirmed, unrejected)]
        query: Select[Any] = select(finding.code, *counts).where(unrejected, is_counted, has_status("scored"))
        rows = transaction.run(query.where(*whole_days(finding, since_ms, until_ms)).group_by(finding.code))
        return {row[0]: (int(row[1]), int(row[2])) for row in map(tuple, rows)}

    if not has_permission(account, "plan"):
        newest = select(dialogue.team).where(dialogue.agent == name).order_by(dialogue.number.desc())
        own_team = transaction.run(newest.limit(1)).scalar() or ""
        if team is not None and cut_name(team) != own_team:
            raise NotAllowed("E_RIGHT", "{actor} is compared with the own team only", actor=actor)
        team = own_team
        by_day: Select[Any] = select(dialogue.day).where(dialogue.status == "scored", *days)
        by_day = by_day.where(is_other(dialogue)).group_by(dialogue.day)
        full_days = by_day.having(n_agents >= MIN_OTHERS).correlate(None)
    elif team is not None and count_others() < MIN_OTHERS:
        team = None
    is_large = (n_others := count_others()) >= MIN_OTHERS
    return CodeRates(
        count_by_code(finding.agent == name), group_judged(transaction, dialogue.agent == name, *days),
        count_by_code(is_other(finding)) if is_large else {},
        group_judged(transaction, is_other(dialogue), *days) if is_large else (), n_others, team,
    )  # fmt: skip


@read_operation()
def read_confirmed(
    transaction: Transaction, actor: str, agent: str, names: Sequence[str]
) -> dict[str, tuple[ConfirmedFinding, ...]]:
    """The errors that people confirmed in some of an agent's dialogues, by dialogue, in order of turns. A
    lead's reading is recorded.

    Raises:
        NotAllowed: the actor neither plans nor is this agent, or a dialogue is not the agent's.
    """
    account = require_own_or_plan(transaction, actor, agent)
    requested = list(dict.fromkeys(names))[:MAX_REQUESTED]
    query = select(dialogues.c.id).where(dialogues.c.id.in_(requested), dialogues.c.agent == agent)
    if len(set(transaction.run(query).scalars())) != len(requested):
        raise NotAllowed("E_RIGHT", "a dialogue is not this agent's, or there is none")
    listed = select(finding_index, dialogue_index.c.dialogue).where(
        dialogue_index.c.number == finding_index.c.number,
        dialogue_index.c.dialogue.in_(requested),
        finding_index.c.decision.in_(("confirmed", "changed", "added")),
    )
    rows: dict[str, list[Any]] = defaultdict(list)
    for row in transaction.run(listed.order_by(finding_index.c.turn, finding_index.c.place)):
        rows[row.dialogue].append(row)
    if has_permission(account, "plan"):
        record_read(transaction, actor, requested, "verdict", "answers")
    return {name: _find_confirmed(transaction, name, rows[name]) for name in requested}


def _find_confirmed(transaction: Transaction, name: str, rows: Sequence[Any]) -> tuple[ConfirmedFinding, ...]:
    """The findings behind the rows of the index: the verdict's, or what people made of it or added."""
    if not rows:
        return ()
    verdict = load_verdict(transaction, name)
    proposed = () if verdict is None else (*verdict.findings, *verdict.suggestions)
    query = select(annotation_rows.c.findings).where(
        annotation_rows.c.dialogue == name, annotation_rows.c.kind.in_(("reviewer", "expert", "appeal"))
    )
    is_expert = case((annotation_rows.c.kind == "expert", 1), else_=0)
    query = query.order_by(is_expert.desc(), annotation_rows.c.id.desc())
    answered = [
        Finding.model_validate(finding)
        for content in transaction.run(query).scalars()
        for finding in json.loads(content)
    ]
    places = [(each.turn, each.start, each.end, each.code) for each in (*proposed, *answered)]
    n, suggested = len(proposed), range(0 if verdict is None else len(verdict.findings), len(proposed))
    matches = match_findings(places[:n], suggested, places[n:])
    rest = [each for at, each in enumerate(answered) if at not in matches]
    confirmed = []
    for row in rows:
        chosen: Finding | None = None
        if row.decision == "added":
            chosen = next((each for each in rest if (each.turn, each.code) == (row.turn, row.code)), None)
            rest = [each for each in rest if each is not chosen]
        elif row.decision == "changed" and (match := matches[row.place]) is not None:
            chosen = answered[match]
        elif row.decision == "confirmed":
            chosen = proposed[row.place]
        if chosen is not None:
            confirmed.append(ConfirmedFinding(chosen, row.decision))
    return tuple(confirmed)


@read_operation("plan")
def count_errors(
    transaction: Transaction,
    actor: str,
    since_ms: int,
    until_ms: int,
    *,
    team: str | None = None,
    channel: str | None = None,
) -> dict[str, Partial]:
    """Count each agent's scored dialogues in ``[since_ms, until_ms)``: those with an error that people
    confirmed, corrected or added; those with such an error or an undecided finding; and all."""
    columns = dialogue_index.c
    confirmed = columns.n_confirmed + columns.n_changed + columns.n_added > 0
    unrejected = or_(confirmed, columns.n_findings > columns.n_rejected)
    counts = [func.count(case((each, 1))) for each in (confirmed, unrejected)]
    where = [
        *span_conditions(columns, since_ms, until_ms),
        *name_conditions(columns, {"team": team, "channel": channel}),
    ]
    query: Select[Any] = select(columns.agent, *counts, func.count()).group_by(columns.agent)
    rows = transaction.run(query.where(columns.status == "scored", columns.agent != "", *where))
    return {row[0]: (int(row[1]), int(row[2]), int(row[3])) for row in map(tuple, rows)}


@read_operation("plan")
def list_agents(transaction: Transaction, actor: str) -> tuple[tuple[str, str], ...]:
    """The agents that dialogues name, each with a team of theirs, by name."""
    name, team = dialogue_index.c.agent, func.max(dialogue_index.c.team)
    query: Select[Any] = select(name, team).where(name != "").group_by(name)
    rows = map(tuple, transaction.run(query.order_by(name).limit(MAX_AGENTS)))
    return tuple((row[0], row[1]) for row in rows)


MAX_CHARACTERS = 4000
MAX_NOTES = 100
"""Notes that one call returns at most."""

_NOTE = select(notes).where(notes.c.id == bindparam("number"))
_AGENT_EXISTS = select(
    or_(
        select(dialogues.c.id).where(dialogues.c.agent == bindparam("agent")).exists(),
        select(accounts.c.id).where(accounts.c.agent == bindparam("agent")).exists(),
    )
)


class Note(NamedTuple):
    """A note on an `agent`, or on one of the agent's dialogues. Times are milliseconds since 1970; the last
    two are None until the agent has acknowledged it."""

    id: int
    agent: str
    dialogue: str | None
    author: str
    content: str
    at_ms: int
    acknowledged_by: str | None
    acknowledged_ms: int | None


@write_operation("plan", repeatable=False)
def write_note(
    transaction: Transaction, actor: str, agent: str, content: str, dialogue: str | None = None
) -> Note:
    """Write a note to an agent.

    Raises:
        StoreRefused: an empty or too long text, an agent nobody knows, or a dialogue that is not the agent's.
    """
    if not 0 < len(content.strip()) <= MAX_CHARACTERS or "\x00" in content:
        raise StoreRefused("E_NOTE", "a note has 1 to {most} characters", most=MAX_CHARACTERS)
    if "\x00" in agent or not transaction.run(_AGENT_EXISTS, {"agent": agent}).scalar_one():
        raise StoreRefused("E_NOTE", "no dialogue and no account has this agent")
    if dialogue is not None:
        own = and_(dialogues.c.id == dialogue, dialogues.c.agent == agent)
        if "\x00" in dialogue or transaction.run(select(dialogues.c.id).where(own)).one_or_none() is None:
            raise StoreRefused("E_NOTE", "the dialogue is not this agent's, or there is none")
    values = {
        "agent": agent, "dialogue": dialogue, "author": actor, "content": content.strip(),
        "at_ms": transaction.now_ms,
    }  # fmt: skip
    row = transaction.run(insert(notes).values(values).returning(notes)).one()
    transaction.log(actor, "note.write", f"note {row.id}", agent=agent, dialogue=dialogue)
    return _record(row)


@write_operation("label")
def acknowledge_note(transaction: Transaction, actor: str, number: int) -> Note:
    """The agent acknowledges a note; doing so again changes nothing.

    Raises:
        NotAllowed: it is not a note to the actor, or there is no such note.
    """
    account = get_account(transaction, actor)
    row = transaction.run(_NOTE.with_for_update(), {"number": number}).one_or_none()
    if row is None or account.agent is None or row.agent != account.agent:
        raise NotAllowed("E_RIGHT", "{actor} acknowledges notes to the own agent only", actor=actor)
    if row.acknowledged_ms is None:
        values = {"acknowledged_by": actor, "acknowledged_ms": transaction.now_ms}
        transaction.run(update(notes).where(notes.c.id == number).values(values))
        transaction.log(actor, "note.acknowledge", f"note {number}")
    return _record(transaction.run(_NOTE, {"number": number}).one())


@read_operation()
def list_notes(transaction: Transaction, actor: str, agent: str, n: int = MAX_NOTES) -> tuple[Note, ...]:
    """The newest `n` notes to an agent, newest first."""
    require_own_or_plan(transaction, actor, agent)
    query = select(notes).where(notes.c.agent == agent)
    rows = transaction.run(query.order_by(notes.c.id.desc()).limit(min(n, MAX_NOTES)))
    return tuple(_record(row) for row in rows)


def _record(row: Row[Any]) -> Note:
    return Note(*(getattr(row, name) for name in Note._fields))
