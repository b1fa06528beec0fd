"""Stage ``dialint train adapt``: a release's coherence model, fitted to the user's own unlabelled log.

    dialint train adapt chats.jsonl --out build/mine
    dialint score chats.jsonl --release build/mine --out verdicts.jsonl

Learns which replies fit which contexts from the log alone: every reply against those of other dialogues and
against another of the same dialogue. A prepared line, which stands in many dialogues, counts less. Without a
coherence model in the release it starts from the token embeddings of the scanner. One dialogue in ten is
kept from training and says how often the true reply is ranked first of `CANDIDATES`. Writes a release: a copy
with ``coherence.safetensors``, whose centre and spread are those of the log. A log in memory at once.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import require_new
from dialint.detector.coherence import (
    CoherenceModel,
    exchanges,
    open_coherence,
)
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.extras import require_single_process
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.masking import mask_dialogue
from dialint.detector.progress import progress
from dialint.detector.records import Dialogue
from dialint.detector.release import COHERENCE, EMBEDDED, Release, finalize_release
from dialint.detector.unfinished import making_folder
from dialint.finetune.scanner.coherence import (
    CANDIDATES,
    MIN_EXCHANGES,
    AdaptConfig,
    init_coherence,
    ranked_first,
    split_dialogues,
    train_coherence,
    write_coherence,
)


def adapt(
    *logs: str,
    config: Annotated[AdaptConfig, Parameter(name="*")],
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> None:
    """Adapt a release to your own unlabelled log: what fits what is learnt from it, in minutes on a CPU.

    Parameters
    ----------
    logs
        Log files or globs.
    """
    require_single_process("train adapt")
    require_new(config.out)
    if not logs:
        raise ConfigError("E_OPTION", "name a log to adapt to")
    if config.labels is not None and (len(logs) != 1 or not config.labels.is_file()):
        raise ConfigError("E_OPTION", f"--labels {config.labels}: needs one log, and the file of its labels")
    import torch

    torch.set_num_threads(config.threads)
    release = Release(config.release or EMBEDDED)
    dialogues = _read_masked(logs, reading or ReadConfig(), config.limit)
    started = time.monotonic()
    before = open_coherence(release)
    start = before or init_coherence(release, config.dim, config.seed)
    held, train = split_dialogues(dialogues)
    model = train_coherence(start, train, held, config)
    figures = {
        "dialogues": len(dialogues),
        "held_out_dialogues": len(held),
        "ranked_first_before": round(ranked_first(start, held), 4),
        "ranked_first": round(ranked_first(model, held), 4),
        "seconds": round(time.monotonic() - started, 1),
    }
    name = config.name or f"{release.info.id}-adapted"
    with making_folder(config.out) as folder:
        write_adapted(release, model, folder, name, figures)
    print(
        f"{config.out}: {name}, fitted to {len(dialogues)} dialogues in {figures['seconds']:.0f} s; of "
        f"{CANDIDATES} replies the true one is ranked first in {figures['ranked_first']:.2f} of the held-out "
        f"turns, {figures['ranked_first_before']:.2f} before"
    )
    if config.labels is not None:
        _print_measured(logs, config, reading)


def _read_masked(logs: Sequence[str], reading: ReadConfig, limit: int | None) -> list[Dialogue]:
    """The dialogues of the logs with personal data masked, as the scan sees them.

    Raises:
        InputRefused: E_LOG, they are too few to learn from.
    """
    dialogues: list[Dialogue] = []
    n_exchanges = 0
    with progress("reading") as report:
        for item in read(open_logs(list(logs)), reading, Counts()):
            if isinstance(item, Loaded):
                dialogues.append(mask_dialogue(item.dialogue)[0])
                n_exchanges += sum(1 for _ in exchanges(item.dialogue))
                report(len(dialogues))
            if limit is not None and len(dialogues) >= limit:
                break
    if n_exchanges < MIN_EXCHANGES:
        raise InputRefused(
            "E_LOG",
            f"{' '.join(logs)}: {n_exchanges} agents' turns with words before them; adapting needs at least "
            f"{MIN_EXCHANGES}, better some thousands",
        )
    return dialogues


def write_adapted(
    release: Release, model: CoherenceModel, folder: Path, name: str, figures: Mapping[str, Any]
) -> None:
    """Write to `folder` a copy of the release with this coherence model, under another id."""
    for entry in release.manifest["files"]:
        if entry["name"] != COHERENCE:
            shutil.copyfile(release.folder / entry["name"], folder / entry["name"])
    write_coherence(model, folder / COHERENCE)
    training = {**release.info.training, "coherence": dict(figures)}
    finalize_release(folder, release.info.model_copy(update={"id": name, "training": training}))


def _print_measured(logs: Sequence[str], config: AdaptConfig, reading: ReadConfig | None) -> None:
    """Print precision and average precision by code, before and after, on the labelled dialogues."""
    from dialint.detector.interface import DetectorConfig
    from dialint.detector.pipeline import load_detector
    from dialint.eval.results import read_labelled_log, score_examples
    from dialint.eval.run import evaluate

    assert config.labels is not None
    examples = [e for e in read_labelled_log(Path(logs[0]), config.labels, reading) if e.labels]
    rows = {}
    for when, folder in (("before", config.release), ("after", config.out)):
        detector = load_detector(DetectorConfig(release=folder, threads=config.threads))
        rows[when] = evaluate(detector, score_examples(detector, examples), 0)["codes"]
    print(f"average precision, and precision of findings, on {len(examples)} labelled dialogues:")
    for code, after in rows["after"].items():
        before = rows["before"].get(code, {})
        if code in detector.codes and after["average_precision"] is not None:
            print(f"  {code}: {_format_figures(before)} before, {_format_figures(after)} after")


def _format_figures(row: Mapping[str, Any]) -> str:
    values = (row.get("average_precision"), row.get("precision"))
    return " and ".join("-" if value is None else f"{value:.3f}" for value in values)
