"""``dialint release``: which releases are in use on this machine; promotion, rollback, verification.

A promoted judge is what `dialint serve vllm --release current` serves, a promoted scan what `dialint score
--release current` scans with. With ``--server`` a running server changes its adapter first, and the pointer
moves only if it did.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dialint.app.output import print_line, print_status, print_table
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.registry import KINDS, Registry, ReleaseKind, verify_folder


@dataclass(frozen=True, kw_only=True)
class SwapConfig:
    """The running server that changes over, if any."""

    server: str | None = None
    """URL of a server on this machine, started by `dialint serve vllm --swap`: its adapter is exchanged
    without a pause. Judges only."""
    name: str = "judge"
    """Name of the adapter on the server."""
    key_file: Path | None = None
    """File with the server's API key; without it the environment variable DIALINT_JUDGE_KEY."""

    def prepare(self, kind: ReleaseKind) -> Callable[[Path], None] | None:
        """What has to happen before the pointer moves to a folder."""
        if self.server is None:
            return None
        if kind != "judge":
            raise ConfigError("E_OPTION", "--server: servers run judges, and this is a scan")
        from dialint.app.serving.server import ServerClient, swap_adapter
        from dialint.detector.judge.config import read_key

        key, note = read_key(self.key_file, "--key-file")
        if note:
            print_status(note)
        client = ServerClient.of(self.server, key, timeout_s=300)
        return partial(swap_adapter, client, self.name)


Swap = Annotated[SwapConfig, Parameter(name="*")]
NO_SWAP = SwapConfig()


def promote(folder: Path, /, *, swap: Swap = NO_SWAP) -> None:
    """Make a release current.

    Parameters
    ----------
    folder
        A folder of `dialint train pack` (a scan) or `dialint train sft judge` and later stages (a judge). It
        is copied; current is the copy.
    """
    if not folder.is_dir():
        raise ConfigError("E_RELEASE", f"{folder}: there is no such folder")
    source = verify_folder(folder)
    pointer = Registry(source.kind).promote(source, swap.prepare(source.kind))
    before = f"; before it {pointer.earlier[-1]}" if pointer.earlier else ""
    print_line(f"current {source.kind}: {pointer.id}{before}")


def rollback(kind: ReleaseKind, /, *, swap: Swap = NO_SWAP) -> None:
    """Go back to the release before the current one.

    Parameters
    ----------
    kind
        Of which kind.
    """
    pointer = Registry(kind).rollback(swap.prepare(kind))
    print_line(f"current {kind}: {pointer.id}")


def list_() -> None:
    """Show the releases on this machine."""
    rows = []
    for kind in KINDS:
        registry = Registry(kind)
        pointer = registry.current()
        promoted = {line.id: line.at for line in registry.history()}
        for name in registry.ids():
            mark = "current" if pointer is not None and pointer.id == name else ""
            rows.append((kind, name, mark, promoted.get(name, "")))
    if rows:
        print_table(("kind", "release", "", "last made current"), rows)
    else:
        print_line("no release was promoted yet: dialint release promote FOLDER")


def verify() -> int:
    """Check all releases, pointers and the history."""
    damaged = 0
    for kind in KINDS:
        for name, wrong in Registry(kind).verify():
            if wrong:
                damaged += 1
                sys.stderr.write(f"dialint: {kind} {name}: {wrong}\n")
            else:
                print_line(f"{kind} {name}: whole")
    return OutputRefused.exit_code if damaged else 0
