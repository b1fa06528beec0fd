"""``dialint label gold import|synthetic``: gold labels from files.

What there is, doubts, retirements and exams: in the console (Admin, Gold).
"""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from dialint.app.output import print_line
from dialint.app.store_session import DEFAULT_SESSION, Session, TaxonomyOption

gold = App(name="gold", help="Import gold.")


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
    from dialint.labeling.store.gold import import_gold, read_gold_file

    rows = read_gold_file(file, load_taxonomy(taxonomy))
    with session.open() as (store, actor):
        counts = import_gold(store, actor, rows, replace=replace)
    print_line(
        f"{counts.new:,} rows of gold new, {counts.replaced:,} replaced, {counts.unchanged:,} unchanged"
    )
    return 0


@gold.command(name="synthetic")
def import_synthetic(file: Path, *, project: str | None = None, session: Session = DEFAULT_SESSION) -> int:
    """Import examples with made errors, and their clean twins, as dialogues with gold.

    Nobody gets to see both an example and its twin. Dialogues without an error that are no twin are left
    out. The same file again changes nothing.

    Parameters
    ----------
    file
        The examples.jsonl of dialint data inject.
    project
        Make them control tasks of this project.
    """
    from dialint.detector.example_files import read_examples
    from dialint.labeling.store import gold as store_gold

    with session.open() as (store, actor):
        names = store_gold.import_synthetic(store, actor, read_examples(file), project)
    print_line(f"{len(names):,} dialogues with gold" + (f", control tasks of {project}" if project else ""))
    return 0
