"""``dialint release``: lists, promotes, rolls back and verifies the releases on this machine.

`dialint serve vllm --release current` serves the promoted judge, `dialint score --release current` scans with
the promoted scan. A candidate must pass the gates of `dialint.eval.gates` against the release in use, or the
embedded scan, and a person signs it off. With ``--server`` a running server swaps its adapter first; the
pointer moves only if that succeeds and the adapter's answers differ from those of its base.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dialint.app.output import print_line, print_status, print_table
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.registry import (
    KINDS,
    SHIPPED_RELEASES,
    WHOLE,
    Gate,
    Registry,
    ReleaseKind,
    VerifiedFolder,
    verify_folder,
)


@dataclass(frozen=True, kw_only=True)
class SwapConfig:
    """The running server whose adapter is swapped, if any."""

    server: str | None = None
    """URL of a server on this machine, started by `dialint serve vllm --swap`: its adapter is exchanged
    without a pause. Judges only."""
    name: str = "judge"
    """Name of the adapter on the server."""
    key_file: Path | None = None
    """File with the server's API key; without it the environment variable DIALINT_JUDGE_KEY."""

    def prepare(self, kind: ReleaseKind) -> Callable[[Path], None] | None:
        """Returns a function to call with a folder before the pointer moves to it, if there is a server."""
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


def promote(
    folder: Path,
    /,
    *,
    by: str,
    gold: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    share: int = WHOLE,
    swap: Swap = NO_SWAP,
) -> int:
    """Make a release current, or let it score a share of the dialogues, if it passes the gates.

    Parameters
    ----------
    folder
        A folder of `dialint train pack` (a scan) or `dialint train sft judge` and later stages (a judge). It
        is copied; current is the copy.
    by
        Who signs it off.
    gold
        Labelled sets, as of `dialint eval run`, on which a scan must be no worse than the one in use; of a
        judge reports of `dialint eval judge --contract --out`, with --against where one is in use. Needed
        unless the release is in use or scores a share already.
    share
        Percentage of the dialogues that a scan scores from now on; 0: all of them aside, as a shadow. 100
        ends the roll-out.
    """
    if not folder.is_dir():
        raise ConfigError("E_RELEASE", f"{folder}: there is no such folder")
    if not by.strip():
        raise ConfigError("E_OPTION", "--by: the name of the person who signs it off")
    if not 0 <= share <= WHOLE:
        raise ConfigError("E_OPTION", f"--share {share}: a percentage")
    source = verify_folder(folder)
    if share < WHOLE and source.kind == "judge":
        raise ConfigError("E_OPTION", "--share: a judge is promoted as a whole")
    prepare, registry = swap.prepare(source.kind), Registry(source.kind)
    current, rollout = _in_use(registry), registry.rollout()
    gates: tuple[Gate, ...] = ()
    if gold:
        measure = _scan_gates if source.kind == "scan" else _judge_gates
        gates = tuple(measure(source, gold, current))
        rows = [(gate.name, "passed" if gate.passed else "FAILED", gate.detail) for gate in gates]
        print_table(("gate", "", "measured"), rows)
        if not all(gate.passed for gate in gates):
            print_line(f"{source.id} is not promoted: mend it, or name more labelled dialogues")
            return 1
    elif rollout is not None and rollout.fingerprint == source.fingerprint:
        gates = rollout.gates
    elif current is None or current.fingerprint != source.fingerprint:
        against = "" if current is None else f" --against local:{current.folder}"
        contracts = "FILE" if current is None else "FILE ITS_FILE"
        how = {
            "scan": "labelled dialogues, such as FOLDER/test.jsonl of `dialint export dataset --out FOLDER`",
            "judge": f"the report of `dialint eval judge DATASET --judge local:{folder}{against} --contract "
            f"{contracts} --out REPORT.json`",
        }
        beside = "" if current is None else f" with {current.id}"
        raise ConfigError("E_OPTION", f"--gold: what it is measured on{beside}, {how[source.kind]}")
    compared_with = current.id if gates and current is not None and registry.current() is not None else None
    pointer = registry.promote(source, prepare, by=by, share=share, gates=gates, compared_with=compared_with)
    if share < WHOLE:
        part = f"{share} %" if share else "aside"
        print_line(f"{source.kind} {source.id} scores {part} beside the current one")
    else:
        before = f"; before it {pointer.earlier[-1]}" if pointer.earlier else ""
        print_line(f"current {source.kind}: {pointer.id}{before}")
    return 0


def _in_use(registry: Registry) -> VerifiedFolder | None:
    """Returns the current release, else the embedded scan; None for a judge."""
    pointer = registry.current()
    if pointer is not None:
        folder = registry.folder / pointer.id
        return VerifiedFolder(folder, registry.kind, pointer.id, pointer.fingerprint)
    return verify_folder(SHIPPED_RELEASES["embedded"]) if registry.kind == "scan" else None


N_TIMED = 64
"""Dialogues that are scored to measure throughput."""


def _scan_gates(source: VerifiedFolder, gold: Sequence[Path], current: VerifiedFolder | None) -> list[Gate]:
    from dialint.detector.artifacts import sha256_file
    from dialint.detector.interface import Detector, DetectorConfig
    from dialint.detector.pipeline import load_detector
    from dialint.detector.records import Example
    from dialint.eval.attack.run import gate_attacks
    from dialint.eval.gates import CURRENT, release_gates
    from dialint.eval.results import read_examples, score_examples
    from dialint.eval.run import evaluate_against

    if len({path.stem for path in gold}) < len(gold):
        raise ConfigError("E_OPTION", "--gold: two files have the same name; rename one")
    folders = source.folder, None if current is None else current.folder
    candidate, baseline = (load_detector(DetectorConfig(release=folder)) for folder in folders)
    sets, examples = {}, list[Example]()
    for path in gold:
        own = list(read_examples(path))
        if not own:
            raise ConfigError("E_EXAMPLE", f"{path}: holds no example")
        if any(example.split == "train" for example in own):
            raise ConfigError("E_EXAMPLE", f"{path}: of the split train; name held-out dialogues")
        results = [score_examples(each, own) for each in (candidate, baseline)]
        content, _ = evaluate_against(
            candidate, results[0], {CURRENT: baseline}, {CURRENT: results[1]}, rounds=1000
        )
        sets[path.stem] = {"sha256": sha256_file(path), **content}
        examples += own
    dialogues = [example.dialogue for example in examples[:N_TIMED]]

    def cpu_seconds(detector: Detector) -> float:
        started = time.process_time()
        detector.verdicts(dialogues)
        return time.process_time() - started

    contracts = {
        code: own.scan.contract for code, own in candidate.info.codes.items() if own.scan is not None
    }
    return release_gates(
        sets,
        promised={code: own.false_accusations_per_100 for code, own in contracts.items() if own is not None},
        attacks=[gate_attacks(each, examples) for each in (candidate, baseline)],
        seconds=[min(cpu_seconds(each) for _ in range(2)) for each in (candidate, baseline)],
    )


def _judge_gates(source: VerifiedFolder, gold: Sequence[Path], current: VerifiedFolder | None) -> list[Gate]:
    from dialint.detector.artifacts import read_object
    from dialint.eval.gates import judge_gates

    gates = list[Gate]()
    for path in gold:
        report = read_object(path)
        if report is None or report.get("kind") != "judges":
            raise ConfigError("E_EXAMPLE", f"{path}: no report of `dialint eval judge --out`")
        gates += judge_gates(report, source.fingerprint, None if current is None else current.fingerprint)
    return gates


def rollback(kind: ReleaseKind, /, *, by: str = "", reason: str = "", swap: Swap = NO_SWAP) -> None:
    """Take back a roll-out; without one, go back to the release before the current one.

    Parameters
    ----------
    kind
        Of which kind.
    by, reason
        Who does so, and why, for the history.
    """
    pointer = Registry(kind).rollback(swap.prepare(kind), by=by, reason=reason)
    print_line(f"current {kind}: {pointer.id}")


def list_() -> None:
    """Show the releases on this machine."""
    rows = []
    for kind in KINDS:
        registry = Registry(kind)
        pointer = registry.current()
        lines = {line.before if line.action == "rollback" else line.id: line for line in registry.history()}
        rollout = registry.rollout()
        for name in registry.ids():
            mark = "current" if pointer is not None and pointer.id == name else ""
            if rollout is not None and rollout.id == name:
                mark = f"scores {rollout.share} %" if rollout.share else "scores aside"
            last = lines.get(name)
            rows.append((kind, name, mark, *((last.at, last.by, last.reason) if last else ("", "", ""))))
    if rows:
        print_table(("kind", "release", "", "last changed", "by", "why"), rows)
    else:
        print_line("no release was promoted yet: dialint release promote FOLDER")


def verify() -> int:
    """Check all releases, pointers and the history."""
    damaged = 0
    for kind in KINDS:
        for name, wrong in Registry(kind).verify():
            if wrong:
                damaged += 1
                print_status(f"{kind} {name}: {wrong}")
            else:
                print_line(f"{kind} {name}: whole")
    return OutputRefused.exit_code if damaged else 0
