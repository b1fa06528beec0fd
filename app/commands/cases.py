"""``dialint label decide``: experts decide the cases of adjudication projects."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from dialint.app.commands.appeals import MAX_LISTED, print_answers, print_dialogue, print_findings
from dialint.app.output import print_line, print_status, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption

decide = App(name="decide", help="Decide what `dialint label adjudicate` sent to experts.")


@decide.command(name="list")
def list_cases(project: str, *, session: Session = DEFAULT_SESSION) -> int:
    """List the cases that are not decided, the most costly doubt first; nothing of what was said on them.

    Parameters
    ----------
    project
        Adjudication project.
    """
    from dialint.labeling.store.expert_cases import list_open_cases

    with session.open() as (store, actor):
        cases = list_open_cases(store, actor, project, MAX_LISTED)
    print_table(
        ("task", "dialogue", "turn", "priority", "state"),
        (
            (str(one.task), one.dialogue, str(one.turn), f"{one.priority:.2f}", state)
            for one in cases
            for state in ["waiting" if one.state == "open" else "with an expert"]
        ),
    )
    if len(cases) == MAX_LISTED:
        print_status(f"the first {MAX_LISTED:,}; there may be more")
    return 0


@decide.command(name="next")
def next_case(project: str, *, session: Session = DEFAULT_SESSION) -> int:
    """Take the next case and show all there is: the dialogue, the verdict, every answer, every label.

    Parameters
    ----------
    project
        Adjudication project.
    """
    from dialint.labeling.store.expert_cases import load_case
    from dialint.labeling.store.leases import claim

    with session.open() as (store, actor):
        lease = claim(store, actor, project)
        case = None if lease is None else load_case(store, actor, lease.task)
    if case is None:
        print_line(f"{project}: no case is waiting")
        return 0
    print_line(f"task {case.task.task}: turn {case.task.turn}, codes {' '.join(case.task.codes)}")
    print_dialogue(case.task.dialogue)
    print_findings("verdict", case.verdict.findings if case.verdict else ())
    print_answers("answer", case.answers)
    for label in case.labels:
        print_line(f"label: {label.code} in turn {label.turn}, {label.probability:.2f} ({label.method})")
    print_line("`dialint label decide record PROJECT TASK --reason TEXT --present CODE` records the decision")
    return 0


@decide.command(name="record")
def record_decision(
    project: str,
    task: int,
    *,
    reason: str,
    present: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    quote: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Record the decision on the case that one holds: it becomes gold for every code of the project.

    Parameters
    ----------
    project
        Adjudication project.
    task
        The case, as dialint label decide next showed it.
    reason
        Why; kept with the gold.
    present
        Codes that are in the turn; all other codes of the project are not in it.
    quote
        The words of the turn that show each of them, in the same order; the whole turn, if left out.
    """
    from dialint.detector.errors import ConfigError
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.annotation import quoted_finding
    from dialint.labeling.store.expert_cases import decide_case, load_case
    from dialint.labeling.store.leases import find_held

    codes = load_taxonomy(taxonomy).codes
    if quote and len(quote) != len(present):
        raise ConfigError("E_OPTION", "--quote: expected as many as --present has codes, in the same order")
    if strangers := set(present) - codes.keys():
        raise ConfigError("E_CODE", f"--present {min(strangers)[:40]!r}: not in the taxonomy")
    with session.open() as (store, actor):
        lease = find_held(store, actor, project)
        if lease is None or lease.task != task or lease.turn is None:
            raise ConfigError(
                "E_LEASE",
                f"task {task}: not held by {actor}; `dialint label decide next {project}` takes one",
            )
        dialogue = load_case(store, actor, task).task.dialogue
        findings = [
            quoted_finding(dialogue, lease.turn, code, codes[code].severity, reason, words)
            for code, words in zip(present, quote or (None,) * len(present), strict=True)
        ]
        key = f"decision {actor} {task} {lease.token}"
        decide_case(store, actor, task, lease.token, key, findings, reason)
    print_line(f"task {task}: {' '.join(present) or 'no code'} in turn {lease.turn}; decided")
    return 0
