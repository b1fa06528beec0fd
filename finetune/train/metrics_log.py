"""Figures of a training run: a line of JSON each, and MLflow and TensorBoard where they are installed.

``metrics.jsonl`` is the record; the others are mirrors that nothing reads back. They are optional, and one
that raises an error is reported once and no longer used. Entries hold numbers and names, never dialogue text.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from dialint.detector.artifacts import Appender

METRICS = "metrics.jsonl"


class Mirror(Protocol):
    """An experiment tracker that gets every entry, too."""

    def show(self, step: int, figures: Mapping[str, float]) -> None:
        """Take the figures of one step."""

    def close(self) -> None:
        """Close the tracker's run."""


class MetricsLog:
    """A folder's log of figures, opened for adding."""

    def __init__(self, folder: Path, keep: int | None = None) -> None:
        """`keep` bytes of an older log stay, all if it is None: a run that resumes from a checkpoint drops
        the lines that it will write again.

        Raises:
            WorldError: the disk is full or failed.
        """
        path = folder / METRICS
        there = path.stat().st_size if path.exists() else 0
        self._file = Appender(path, there if keep is None else min(keep, there))
        self._mirrors = list(open_mirrors(folder))

    @property
    def size(self) -> int:
        """Bytes so far; a checkpoint records them."""
        return self._file.size

    def write(self, entry: Mapping[str, Any]) -> None:
        """Add an entry; its ``step`` places it in the mirrors."""
        self._file.write(json.dumps(entry).encode() + b"\n")
        figures = dict(flatten(entry))
        step = int(figures.pop("step", 0))
        self._each_mirror(lambda mirror: mirror.show(step, figures))

    def close(self) -> None:
        """Sync and close the file and the mirrors."""
        self._file.sync()
        self._file.close()
        self._each_mirror(lambda mirror: mirror.close())

    def _each_mirror(self, what: Callable[[Mirror], None]) -> None:
        for mirror in tuple(self._mirrors):
            try:
                what(mirror)
            except Exception as error:  # noqa: BLE001 - a tracker may not stop a training
                _warn(type(mirror).__name__, error)
                self._mirrors.remove(mirror)

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def flatten(entry: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    """Every number of nested mappings under its path, ``heldout/star/perplexity``."""
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{above}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{above}{name}", float(value)


def open_mirrors(folder: Path) -> Iterator[Mirror]:
    """The trackers that are installed; none with DIALINT_MIRRORS=0."""
    if os.environ.get("DIALINT_MIRRORS") == "0":
        return
    for library, kind in (("tensorboard", TensorBoard), ("mlflow", MLflow)):
        if find_spec(library):
            try:
                yield kind(folder)
            except Exception as error:  # noqa: BLE001 - a tracker may not stop a training
                _warn(kind.__name__, error)


def _warn(mirror: str, error: Exception) -> None:
    reason = str(error).partition("\n")[0][:200]
    print(f"{mirror} no longer shows this run: {type(error).__name__}: {reason}", file=sys.stderr)


class TensorBoard:
    """Event files under ``tensorboard/`` of the run's folder."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(str(folder / "tensorboard"))

    def show(self, step: int, figures: Mapping[str, float]) -> None:
        """Take the figures of one step."""
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush and close the event file."""
        self._writer.close()


class MLflow:
    """A run named like the folder, where MLFLOW_TRACKING_URI says, else in ``mlflow.db`` beside it. A run
    that resumes is the same run."""

    def __init__(self, folder: Path) -> None:
        client = import_module("mlflow").MlflowClient
        self._metric: Any = import_module("mlflow.entities").Metric
        uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(folder / 'mlflow.db').resolve()}"
        self._client: Any = client(tracking_uri=uri)
        run_file = folder / "mlflow_run"
        if not run_file.exists():
            existing = self._client.get_experiment_by_name("dialint")
            experiment = existing.experiment_id if existing else self._client.create_experiment("dialint")
            run_file.write_text(self._client.create_run(experiment, run_name=folder.name).info.run_id)
        self._run = run_file.read_text()

    def show(self, step: int, figures: Mapping[str, float]) -> None:
        """Take the figures of one step."""
        now = int(1000 * time.time())
        metrics = [self._metric(name, value, now, step) for name, value in figures.items()]
        self._client.log_batch(self._run, metrics=metrics)

    def close(self) -> None:
        """Mark the run as finished; resuming reopens it."""
        self._client.set_terminated(self._run)
