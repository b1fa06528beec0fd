"""``dialint label appeal``: agents object to findings, and experts decide after a blind second review."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from cyclopts import App

from dialint.app.output import print_line, print_status, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption

if TYPE_CHECKING:
    from dialint.detector.records import Dialogue, Finding
    from dialint.labeling.annotation import Annotation
    from dialint.labeling.store.records import Appeal

MAX_LISTED = 1000
"""Rows that a list of appeals or cases shows at most."""

appeal = App(name="appeal", help="Object to a finding, and decide on objections.")


@appeal.command(name="open")
def open_appeal(
    dialogue: str, turn: int, code: str, *, statement: str, session: Session = DEFAULT_SESSION
) -> int:
    """Object to a finding of the newest verdict on a dialogue of one's own; once for each finding.

    Parameters
    ----------
    dialogue
        Id of the dialogue. The acting account must be its agent (dialint label account create --agent).
    turn
        Index of the turn.
    code
        The code that was found.
    statement
        Why the finding is wrong, in at most 4,000 characters.
    """
    from dialint.labeling.store import appeals

    with session.open() as (store, actor):
        opened = appeals.open_appeal(store, actor, dialogue, turn, code, statement)
    print_line(f"appeal {opened.id}: {opened.state}")
    return 0


@appeal.command(name="list")
def list_appeals(*, own: bool = False, session: Session = DEFAULT_SESSION) -> int:
    """List open appeals, oldest first. Needs the rights of an expert, but for one's own.

    Parameters
    ----------
    own
        All appeals of the acting account instead, and what became of them.
    """
    from dialint.labeling.store import appeals

    with session.open() as (store, actor):
        listed = appeals.list_own(store, actor) if own else appeals.list_open(store, actor, MAX_LISTED)
    print_table(("appeal", "by", "dialogue", "turn", "code", "state", "reason"), map(_appeal_row, listed))
    if not own and len(listed) == MAX_LISTED:
        print_status(f"the first {MAX_LISTED:,}; there may be more")
    return 0


def _appeal_row(one: Appeal) -> tuple[str, ...]:
    return str(one.id), one.account, one.dialogue, str(one.turn), one.code, one.state, one.reason or ""


@appeal.command(name="show")
def show_appeal(number: int, *, session: Session = DEFAULT_SESSION) -> int:
    """Show an appeal with its dialogue, the finding, all answers and the blind second reviews.

    Parameters
    ----------
    number
        The appeal, as dialint label appeal list numbers it.
    """
    from dialint.labeling.store.appeals import load_dispute

    with session.open() as (store, actor):
        dispute = load_dispute(store, actor, number)
    one = dispute.appeal
    print_line(f"appeal {one.id} by {one.account}, {one.state}: {one.code} in turn {one.turn}")
    print_line(f"statement: {one.statement}")
    print_dialogue(dispute.dialogue)
    print_findings("verdict", dispute.verdict.findings if dispute.verdict else ())
    print_answers("answer", dispute.answers)
    print_answers("blind second review", dispute.second)
    return 0


@appeal.command(name="decide")
def decide_appeal(
    number: int,
    outcome: Literal["upheld", "overturned", "amended"],
    *,
    reason: str,
    code: str | None = None,
    quote: str | None = None,
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Decide an appeal after its blind second review (dialint label appeals). The outcome becomes gold.

    Parameters
    ----------
    number
        The appeal.
    outcome
        upheld: the error is there. overturned: it is not. amended: another finding is right in its place.
    reason
        Why; the agent reads it.
    code
        With amended: the code that is right.
    quote
        With amended: the words of the turn that show it; the whole turn, if left out.
    """
    from dialint.detector.errors import ConfigError
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.annotation import quoted_finding
    from dialint.labeling.store.appeals import decide_appeal as settle_appeal
    from dialint.labeling.store.appeals import load_dispute

    codes = load_taxonomy(taxonomy).codes
    if (code is not None) != (outcome == "amended") or (quote is not None and code is None):
        raise ConfigError("E_OPTION", "--code names the finding that is right, with amended and only then")
    if code is not None and code not in codes:
        raise ConfigError("E_CODE", f"--code {code[:40]!r}: not in the taxonomy; `dialint codes` lists them")
    with session.open() as (store, actor):
        finding = None
        if code is not None:
            dispute = load_dispute(store, actor, number)
            severity = codes[code].severity
            finding = quoted_finding(dispute.dialogue, dispute.appeal.turn, code, severity, reason, quote)
        decided = settle_appeal(store, actor, number, outcome, reason, finding)
    print_line(f"appeal {decided.id}: {decided.state}")
    return 0


def print_dialogue(dialogue: Dialogue) -> None:
    """Print the turns of a dialogue with their indices; further lines of a turn are indented, so that no text
    looks like a line of the command."""
    print_line(f"dialogue {dialogue.id}")
    for turn in dialogue.turns:
        text = turn.text.replace("\n", "\n      ")
        print_line(f"  {turn.index} {turn.role}: {text}")


def print_findings(title: str, findings: Iterable[Finding]) -> None:
    """Print a line for each finding, or that there is none."""
    lines = [f"{one.code} in turn {one.turn}, {one.quote!r}: {one.reason}" for one in findings]
    for line in lines or ["no finding"]:
        print_line(f"{title}: {line}")


def print_answers(title: str, answers: Iterable[Annotation]) -> None:
    """Print the findings of each answer with who gave it."""
    for answer in answers:
        print_findings(f"{title} by {answer.labeler}", answer.findings)
