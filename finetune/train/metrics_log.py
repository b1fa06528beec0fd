"""Reports of a training: ``metrics.jsonl``, experiment trackers, a progress line, usage of processor and GPU.

``metrics.jsonl``, a JSON object a line, is the record. ``--report-to`` adds trackers of accelerate, which
nothing reads back. Entries hold numbers and names, never dialogue text.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import Appender
from dialint.detector.progress import progress
from dialint.finetune.train.options import Tracker

if TYPE_CHECKING:
    import torch

METRICS = "metrics.jsonl"


class MetricsLog:
    """A folder's log of figures, opened for appending.

    The first `keep` bytes of an older log stay, all if it is None: a resumed run drops the lines that it will
    write again. A tracker that fails is reported once and no longer used, as it must not stop a training.
    """

    def __init__(self, folder: Path, keep: int | None = None, report_to: tuple[Tracker, ...] = ()) -> None:
        path = folder / METRICS
        size = path.stat().st_size if path.exists() else 0
        self._file = Appender(path, size if keep is None else min(keep, size))
        self._trackers = [open_tracker(name, folder) for name in report_to]

    @property
    def size(self) -> int:
        """The bytes so far, for checkpoints."""
        return self._file.size

    def write(self, entry: Mapping[str, Any]) -> None:
        """Appends an entry; trackers get its ``step``."""
        self._file.write(json.dumps(entry).encode() + b"\n")
        figures = dict(flatten(entry))
        step = int(figures.pop("step", 0))
        for tracker in tuple(self._trackers):
            try:
                tracker.log(figures, step=step)
            except Exception as error:  # noqa: BLE001 - as the class says
                reason = str(error).partition("\n")[0][:200]
                print(f"{tracker.name} no longer shows this run: {reason}", file=sys.stderr)
                self._trackers.remove(tracker)

    def close(self) -> None:
        """Syncs and closes the file and the trackers."""
        self._file.sync()
        self._file.close()
        for tracker in self._trackers:
            tracker.finish()

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def flatten(entry: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yields every number of nested mappings with its path, ``heldout/star/perplexity``."""
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", float(value)


def open_tracker(name: Tracker, folder: Path) -> Any:
    """Starts a tracker: TensorBoard's events under ``tensorboard/`` of the folder, the others' run with the
    name of the folder, configured by their own environment variables."""
    from accelerate import tracking

    if name == "tensorboard":
        tracker: Any = tracking.TensorBoardTracker(name, folder)
    elif name == "wandb":
        tracker = tracking.WandBTracker("dialint", name=folder.name)
    else:
        tracker = tracking.MLflowTracker("dialint", run_name=folder.name)
    tracker.start()
    return tracker


class Progress:
    """Counts steps and tokens of this process, of a run of `total` steps, of which `done` were done before in
    `earlier_s` seconds."""

    def __init__(self, total: int, done: int = 0, earlier_s: float = 0.0) -> None:
        self.total, self.done = total, done
        self.tokens = 0
        self._earlier_s = earlier_s
        self._started = time.monotonic()
        self._stack = ExitStack()

    @property
    def seconds(self) -> float:
        """Seconds of the run so far, including those of earlier processes."""
        return self._earlier_s + time.monotonic() - self._started

    @property
    def tokens_s(self) -> float:
        """Tokens a second since the start of this process."""
        return self.tokens / max(1e-9, time.monotonic() - self._started)

    def advance(self, tokens: int, message: str) -> None:
        """Counts a step of `tokens` tokens, and displays `message` with the speed."""
        self.done += 1
        self.tokens += tokens
        self._show(self.done, self.done / max(1, self.total), f"{message}, {self.tokens_s:,.0f} tokens/s")

    def __enter__(self) -> Progress:
        self._show = self._stack.enter_context(progress("training", f"of {self.total:,} steps"))
        self._show(self.done, self.done / max(1, self.total))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class UsageMeter:
    """Measures the usage of this process from now on, added to that of `earlier` ones of the run: seconds of
    processor time, with that of ended children, and joules of the GPU `device` by all its users; none of a
    GPU without NVML or an energy counter."""

    def __init__(self, device: torch.device, earlier: Mapping[str, float] | None = None) -> None:
        self._device = device
        now = self._read_counters()
        self._start = {name: now[name] - earlier[name] for name in now.keys() & earlier} if earlier else now

    def figures(self) -> dict[str, float]:
        now = self._read_counters()
        return {name: round(now[name] - start, 1) for name, start in self._start.items() if name in now}

    def _read_counters(self) -> dict[str, float]:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        counters = {"cpu_seconds": sum(each.ru_utime + each.ru_stime for each in used)}
        if self._device.type == "cuda":
            import torch

            try:
                import pynvml

                pynvml.nvmlInit()
                name = f"GPU-{torch.cuda.get_device_properties(self._device).uuid}"
                handle = pynvml.nvmlDeviceGetHandleByUUID(name)
                millijoules = pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
                counters["gpu_energy_joules"] = millijoules / 1000
            except ImportError:
                pass
            except pynvml.NVMLError:
                pass
        return counters
