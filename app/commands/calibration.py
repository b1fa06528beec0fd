"""``dialint label calibration`` and ``appeals``: work for a group, started by a schedule.

The answers are compared, and the appeals decided, in the console.
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from dialint.app.output import print_line
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption
from dialint.labeling.adjudication.calibration_session import CalibrationConfig


def calibration(
    *,
    config: Annotated[CalibrationConfig, Parameter(name="*")],
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Give the same dialogues, blind, to everybody with a skill; the console shows the results."""
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.adjudication.calibration_session import start_session

    with session.open() as (store, actor):
        summary = start_session(store, actor, config, load_taxonomy(taxonomy))
    print_line(f"{config.name}: {summary.tasks} dialogues to {', '.join(summary.people)}")
    return 0


def appeals(into: str, *, session: Session = DEFAULT_SESSION) -> int:
    """Send every open appeal to a blind second review; experts decide afterwards.

    Parameters
    ----------
    into
        Review project that is not pre-labelled.
    """
    from dialint.labeling.store.appeals import list_open, list_stuck, open_second_reviews

    with session.open() as (store, actor):
        new = open_second_reviews(store, actor, into)
        n = len(list_open(store, actor, 1000))
        nobody = list_stuck(store, actor, into)
    print_line(f"{n} open appeals, {new} new tasks in {into}")
    for one in nobody:
        print_line(
            f"appeal {one.id}, dialogue {one.dialogue}: nobody is left to review it; all reviewers have a "
            "part in the dialogue or have seen what others say of it. A new one: dialint label account"
        )
    return 0
