"""Joins folders of examples into one, to train on all of them: made errors beside labels of people.

A folder labels the codes that its manifest names (``codes``), or else those of its labels. A code that
another folder labels and this one does not is unknown in its examples (`Example.unlabelled`), neither an
error nor free of one. ``train`` is all folders' training examples, repeated as requested and shuffled; any
other set that several folders have keeps its name for the first and gets the folder's name for the others
(``dev_natural``), so that each is measured by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import MANIFEST, filling_folder, read_manifest, write_manifest
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import list_sets, read_examples, require_set, to_line, write_lines
from dialint.detector.manifests import Examples
from dialint.detector.option_ranges import check_ranges
from dialint.labeling.dataset.export import LINEAGE, PREFERENCES

TRAIN = "train"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MixConfig:
    """The folders of a mix and their weights."""

    examples: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """Folders of `dialint data inject`, `dialint export dataset` or of this command."""
    out: Path
    """Folder for the mixture; must not hold a finished one."""
    repeat: Annotated[tuple[float, ...], Parameter(consume_multiple=True)] = ()
    """How often each folder's training examples are taken, in the order of the folders: 0.5 is a random half;
    none: once."""
    seed: int = 0
    """Seed of the order and of what is left out."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if len(self.examples) < 2 or len({folder.name for folder in self.examples}) < len(self.examples):
            raise ConfigError("E_OPTION", "--examples must name two or more folders of different names")
        if self.repeat and len(self.repeat) != len(self.examples):
            raise ConfigError("E_OPTION", "--repeat needs one number for each folder of --examples")
        if any(not 0 < share <= 1000 for share in self.repeat):
            raise ConfigError("E_OPTION", "--repeat must be above 0 and at most 1000")


def mix(config: MixConfig) -> None:
    """Mix folders of examples, so that one training learns from all."""
    with filling_folder(config.out, "a finished set"):
        started = time.monotonic()
        codes = {folder: labelled_codes(folder) for folder in config.examples}
        every = set().union(*codes.values())
        repeat = dict(zip(config.examples, config.repeat or [1.0] * len(config.examples), strict=True))
        rng = Random(config.seed)
        lines = [
            line
            for folder in config.examples
            for line in _repeat(list(_lines(folder, TRAIN, every - codes[folder])), repeat[folder], rng)
        ]
        rng.shuffle(lines)
        files = [write_lines(config.out / f"{TRAIN}.jsonl", (line for _, line in lines))]
        written = {TRAIN}
        for folder in config.examples:
            for name in list_sets(folder):
                if name in (TRAIN, PREFERENCES, LINEAGE):  # the last two hold no examples
                    continue
                unique = name if name not in written else f"{name}_{folder.name}"
                written.add(unique)
                path = config.out / f"{unique}.jsonl"
                files.append(
                    write_lines(path, (line for _, line in _lines(folder, name, every - codes[folder])))
                )
        manifests = [read_manifest(folder / MANIFEST, expected=Examples) for folder in config.examples]
        manifest: dict[str, Any] = {
            "kind": "mixed-examples",
            "codes": sorted(every),
            "sources": [entry for manifest in manifests for entry in manifest.get("sources", ())],
            "folders": [
                {
                    "name": folder.name,
                    "kind": manifest.get("kind"),
                    "repeat": repeat[folder],
                    "codes": sorted(codes[folder]),
                }
                for folder, manifest in zip(config.examples, manifests, strict=True)
            ],
            "config": {"seed": config.seed},
            "files": files,
            "seconds": round(time.monotonic() - started, 1),
        }
        write_manifest(config.out / MANIFEST, manifest)


def labelled_codes(folder: Path) -> set[str]:
    """The codes that the examples of a folder were labelled for.

    Raises:
        OutputRefused: the folder is not complete.
        ConfigError: E_EXAMPLE, no label names a code.
    """
    listed = read_manifest(folder / MANIFEST, expected=Examples).get("codes")
    codes = (
        set(listed)
        if listed is not None
        else {label.code for e in read_examples(require_set(folder, TRAIN)) for label in e.labels}
    )
    if not codes:
        raise ConfigError("E_EXAMPLE", f"{folder}: its examples have no label")
    return codes


def _lines(folder: Path, name: str, unknown: set[str]) -> Iterator[tuple[str, bytes]]:
    """The examples of a set as JSON lines, with the `unknown` codes added to the unlabelled ones. Before
    each the id that an error and its clean twin share."""
    for example in read_examples(require_set(folder, name)):
        unlabelled = tuple(sorted({*example.unlabelled, *unknown}))
        marked = example.model_copy(update={"unlabelled": unlabelled})
        yield example.pair or example.dialogue.id, to_line(marked)


def _repeat(lines: list[tuple[str, bytes]], times: float, rng: Random) -> list[tuple[str, bytes]]:
    """The lines `times` times; of a broken part those of a random share of the ids."""
    whole = int(times)
    ids = sorted({name for name, _ in lines})
    chosen = set(rng.sample(ids, round((times - whole) * len(ids))))
    return lines * whole + [line for line in lines if line[0] in chosen]
