"""``dialint export published``: the taxonomy and policies that leads published in the console, as files for
``dialint score --taxonomy`` and ``--policy``."""

from __future__ import annotations

from pathlib import Path

from dialint.app.output import print_line
from dialint.app.store_session import DEFAULT_SESSION, Session


def export_published(out: Path, *, session: Session = DEFAULT_SESSION) -> int:
    """Write the published taxonomy and policies as files for `dialint score`, and print its options.

    Needs the rights of a lead. Nothing is published until a lead does so on the page "Taxonomy and policies".

    Parameters
    ----------
    out
        Folder to write to; must not exist.
    """
    from dialint.detector.artifacts import atomic_file, make_output_folder, require_new_files
    from dialint.detector.errors import ConfigError
    from dialint.labeling.store.documents import load_published

    require_new_files(out)
    with session.open() as (store, actor):
        taxonomy = load_published(store, actor, "taxonomy")
        policies = load_published(store, actor, "policy")
    if not taxonomy and not policies:
        raise ConfigError("E_NO_RECORDS", "nothing is published; score uses the packaged taxonomy")
    make_output_folder(out)
    options = []
    for option, texts in (("--taxonomy", taxonomy), ("--policy", policies)):
        for name, text in texts.items():
            path = out / (f"{name}.yaml" if option == "--taxonomy" else f"policy-{name}.yaml")
            with atomic_file(path) as file:
                file.write(text.encode())
            options.append(f"{option} {path}")
    print_line(f"dialint score LOG {' '.join(options)}")
    return 0
