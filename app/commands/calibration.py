"""``dialint label calibration start|report``, calibration sessions of a group, and ``dialint label
appeals``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption
from dialint.labeling.adjudication.calibration_session import CalibrationConfig

if TYPE_CHECKING:
    from dialint.detector.statistics import Estimate
    from dialint.labeling.adjudication.calibration_session import Agreement, RaterBias

calibration = App(name="calibration", help="Give a group the same dialogues, and compare their answers.")


@calibration.command(name="start")
def start_round(
    *,
    config: Annotated[CalibrationConfig, Parameter(name="*")],
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Give the same dialogues, blind, to everybody with a skill."""
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.adjudication.calibration_session import start_session

    with session.open() as (store, actor):
        summary = start_session(store, actor, config, load_taxonomy(taxonomy))
    print_line(f"{config.name}: {summary.tasks} dialogues to {', '.join(summary.people)}")
    return 0


@calibration.command(name="report")
def report_round(
    name: str,
    *,
    before: str | None = None,
    json: Path | None = None,
    taxonomy: TaxonomyOption = None,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Report the group's agreement, now and before, and who is strict and who lenient.

    Parameters
    ----------
    name
        The round.
    before
        An earlier round to set it beside.
    json
        File for all figures; must not exist.
    """
    from dialint.detector.artifacts import require_new_files
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.adjudication.calibration_session import report_session
    from dialint.labeling.raters.reports import write_report

    require_new_files(json)
    with session.open() as (store, actor):
        summary = report_session(store, actor, name, before, load_taxonomy(taxonomy))
    write_report(summary.as_json(), json)
    print_table(("code", "alpha", "95 %", "tasks", "alpha before"), map(_agreement, summary.agreement))
    print_line("")
    print_table(
        ("who", "code", "yes", "others", "difference", "95 %", "dialogues", ""),
        map(_leaning, summary.leanings),
    )
    return 0


def _agreement(one: Agreement) -> tuple[str, ...]:
    before = "-" if one.before is None else _figure(one.before)
    return one.code, _figure(one.now), _interval(one.now), str(one.now.n), before


def _leaning(one: RaterBias) -> tuple[str, ...]:
    shares = (f"{one.yes:.0%}", f"{one.others:.0%}", f"{one.difference.value:+.3f}")
    return one.worker, one.code, *shares, _interval(one.difference), str(one.difference.n), one.leans


def _figure(one: Estimate) -> str:
    return "-" if one.value != one.value else f"{one.value:.3f}"


def _interval(one: Estimate) -> str:
    return "-" if one.low != one.low else f"{one.low:.3f} to {one.high:.3f}"


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
