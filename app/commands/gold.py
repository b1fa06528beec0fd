"""``dialint label gold``: gold labels, and the control tasks made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from dialint.app.output import print_line, print_table
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption

gold = App(name="gold", help="Import, list, review and retire gold, and make control tasks of it.")


@gold.command(name="import")
def import_gold_file(
    file: Path, *, replace: bool = False, taxonomy: TaxonomyOption = None, session: Session = DEFAULT_SESSION
) -> int:
    """Import gold from a table (JSONL, CSV, TSV or Parquet); the same file again changes nothing.

    One row for each dialogue, turn and code: dialogue_id, turn (its index in the input), code, present (true
    or false, yes or no) and, if you like, reason. The dialogues must be in the store. Needs the rights of an
    expert.

    Parameters
    ----------
    file
        The table.
    replace
        Overwrite gold that says otherwise; without it such a file is refused.
    """
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.labeling.store.gold import import_gold
    from dialint.labeling.store.gold_files import read_gold_file

    rows = read_gold_file(file, load_taxonomy(taxonomy))
    with session.open() as (store, actor):
        counts = import_gold(store, actor, rows, replace=replace)
    print_line(
        f"{counts.new:,} rows of gold new, {counts.replaced:,} replaced, {counts.unchanged:,} unchanged"
    )
    return 0


@gold.command(name="synthetic")
def import_synthetic(file: Path, *, project: str | None = None, session: Session = DEFAULT_SESSION) -> int:
    """Import examples with injected errors, and their clean twins, as dialogues with gold.

    Nobody gets to see both an example and its twin. The same file again changes nothing.

    Parameters
    ----------
    file
        Examples, as dialint data inject writes them (.jsonl or .parquet).
    project
        Make them control tasks of this project.
    """
    from dialint.detector.example_files import read_examples
    from dialint.labeling.store import gold as store_gold

    with session.open() as (store, actor):
        names = store_gold.import_synthetic(store, actor, read_examples(file), project)
    print_line(f"{len(names):,} dialogues with gold" + (f", control tasks of {project}" if project else ""))
    return 0


@gold.command(name="list")
def list_gold(*, retired: bool = False, out: Path | None = None, session: Session = DEFAULT_SESSION) -> int:
    """List gold. Needs the rights of an expert, as it gives the answers away.

    Parameters
    ----------
    retired
        Include what is no longer shown in control tasks.
    out
        Write it to this file (.jsonl) as `dialint label gold import` reads it; must not exist.
    """
    from dialint.detector.artifacts import require_new_files
    from dialint.labeling.store import gold as store_gold
    from dialint.labeling.store.gold_files import write_gold_file

    require_new_files(out)
    with session.open() as (store, actor):
        rows = store_gold.list_gold(store, actor, retired=retired)
    if out is not None:
        write_gold_file(out, rows)
        print_line(f"{len(rows):,} rows of gold in {out}")
        return 0
    print_table(
        ("dialogue", "turn", "code", "present", "source", "state"),
        (
            (one.dialogue, str(one.turn), one.code, "yes" if one.present else "no", one.source, state)
            for one in rows
            for state in ["retired" if one.retired else "in doubt" if one.doubt else "in use"]
        ),
    )
    return 0


@gold.command(name="retire")
def retire(*dialogues: str, session: Session = DEFAULT_SESSION) -> int:
    """Stop showing dialogues in control tasks; their gold still grades the answers there are.

    Parameters
    ----------
    dialogues
        Ids of dialogues with gold.
    """
    from dialint.detector.errors import ConfigError
    from dialint.labeling.store.gold import retire_gold

    if not dialogues:
        raise ConfigError("E_OPTION", "name at least one dialogue")
    with session.open() as (store, actor):
        for name in dialogues:
            print_line(f"{name}: {retire_gold(store, actor, name):,} rows of gold retired")
    return 0


@gold.command(name="review")
def review(*, session: Session = DEFAULT_SESSION) -> int:
    """List gold in doubt: good labelers contradict it, so it grades nobody until an expert decides."""
    from dialint.labeling.store.gold import list_doubted

    with session.open() as (store, actor):
        doubtful = list_doubted(store, actor)
    print_table(
        ("dialogue", "turn", "code", "present", "source", "doubt"),
        (
            (
                one.dialogue,
                str(one.turn),
                one.code,
                "yes" if one.present else "no",
                one.source,
                one.doubt or "",
            )
            for one in doubtful
        ),
    )
    if doubtful:
        print_line("`dialint label gold decide DIALOGUE TURN CODE yes|no --reason TEXT` settles one")
    return 0


@gold.command(name="decide")
def decide(
    dialogue: str,
    turn: int,
    code: str,
    answer: Literal["yes", "no"],
    *,
    reason: str,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Decide whether an error is there, for gold in doubt or any other; it grades again from then on.

    Parameters
    ----------
    dialogue
        Id of the dialogue.
    turn
        Index of the turn.
    code
        The code.
    answer
        yes: the error is there; no: it is not.
    reason
        Why; kept with the gold.
    """
    from dialint.labeling.store.gold import decide_gold

    with session.open() as (store, actor):
        row = decide_gold(store, actor, dialogue, turn, code, present=answer == "yes", reason=reason)
    print_line(f"{row.dialogue}, turn {row.turn}, {row.code}: {answer}")
    return 0


@gold.command(name="tasks")
def make_tasks(
    project: str,
    *,
    pool: Annotated[Literal["control", "exam"], Parameter(negative=())] = "control",
    session: Session = DEFAULT_SESSION,
) -> int:
    """Make tasks of all gold that fits a project and is no task of it yet.

    dialint label plan and route do it by themselves for projects with --control-share.

    Parameters
    ----------
    project
        The project.
    pool
        control: mixed into the work of everybody. exam: for accounts in training, who are admitted by it.
    """
    from dialint.labeling.store.control_tasks import add_control_tasks

    with session.open() as (store, actor):
        n = add_control_tasks(store, actor, project, pool=pool)
    print_line(f"{project}: {n:,} new tasks of the pool {pool}")
    return 0
