"""How fast the scan is: against a padded one-by-one loop and against the bare forward pass.

    dialint eval speed LOG... --rounds 5

All three run the same weights with the same threads on the same windows, in turns, in one process.
Equal scores are asserted (in fp32, to 1e-4) before anything is timed. Says nothing of quality.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from detector.artifacts import versions, write_json
from detector.detectors import DetectorConfig
from detector.errors import ConfigError, DialogueFailed
from detector.ingest.config import ReadConfig
from detector.ingest.read import Counts, Loaded, open_logs, read
from detector.masking import mask_dialogue
from detector.pipeline import ReleaseDetector, load_detector
from detector.records import Dialogue
from detector.render import Rendered

if TYPE_CHECKING:
    from detector.engines.local import LocalEngine

TOLERANCE = 1e-4


@Parameter(name="*")
@dataclass(frozen=True)
class SpeedConfig:
    """What is timed."""

    limit: int = 200
    """Dialogues taken from the logs."""
    rounds: int = 5
    """Times each way is run, in turns."""
    out: Path | None = None
    """Figures as JSON."""


def speed(
    *logs: str,
    config: SpeedConfig | None = None,
    detector: Annotated[DetectorConfig, Parameter(name="*")] | None = None,
) -> None:
    """Time the scan against a one-by-one loop and the bare forward pass."""
    config, chosen = config or SpeedConfig(), detector or DetectorConfig()
    if not logs:
        raise ConfigError("E_OPTION", "name at least one log to time on")
    found = run(
        load_detector(chosen), load_detector(_exact(chosen)), _dialogues(logs, config.limit), config.rounds
    )
    from rich.console import Console

    Console().print(table(found))
    if config.out is not None:
        write_json(config.out, found)


def _exact(config: DetectorConfig) -> DetectorConfig:
    """The same in fp32, where scores can be compared to 1e-4."""
    return DetectorConfig(**{**vars(config), "precision": "fp32"})


def _dialogues(logs: Sequence[str], limit: int) -> list[Dialogue]:
    """The first `limit` dialogues of the logs, masked."""
    items = read(open_logs(logs), ReadConfig(), Counts())
    loaded = islice((item.dialogue for item in items if isinstance(item, Loaded)), limit)
    return [mask_dialogue(dialogue)[0] for dialogue in loaded]


def run(
    detector: ReleaseDetector, exact: ReleaseDetector, dialogues: list[Dialogue], rounds: int
) -> dict[str, Any]:
    """Seconds of each way on the windows of `dialogues`, and their ratios; scores compared first."""
    renderer, engine = detector.scanner.renderer, _engine(detector)
    dialogues = [dialogue for dialogue in dialogues if _judgeable(detector, dialogue)]
    windows = [window for dialogue in dialogues for window in renderer.render(dialogue)]
    differences = _differences(_engine(exact), windows[:60])
    if differences > TOLERANCE:
        raise ConfigError(
            "E_UNEQUAL", f"scores of scan and loop differ by {differences:.1e}; nothing was timed"
        )
    loop = _Loop(engine, renderer.config.context_tokens)
    ways: dict[str, Callable[[], object]] = {
        "whole scan (render, forward, heads)": lambda: detector.scanner.scan(dialogues),
        "scan of rendered windows": lambda: engine.scan(windows),
        "bare forward pass, same rows": lambda: _bare(engine, windows),
        "one-by-one padded loop": lambda: loop.scan(windows),
    }
    seconds = _timed(ways, rounds)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    whole, scan, bare, slow = (medians[name] for name in ways)
    return {
        "dialogues": len(dialogues),
        "windows": len(windows),
        "tokens": sum(map(len, windows)),
        "engine": engine.fingerprint,
        "largest_difference_fp32": differences,
        "seconds": {name: {"median": medians[name], "all": values} for name, values in seconds.items()},
        "scan_over_bare": scan / bare,
        "whole_scan_over_bare": whole / bare,
        "loop_over_scan": slow / scan,
        "versions": versions("torch", "transformers", "tokenizers"),
    }


def _engine(detector: ReleaseDetector) -> LocalEngine:
    from detector.engines.local import LocalEngine

    if not isinstance(detector.scanner.engine, LocalEngine):
        raise ConfigError("E_OPTION", "only the local engine can be timed this way")
    return detector.scanner.engine


def _judgeable(detector: ReleaseDetector, dialogue: Dialogue) -> bool:
    try:
        return bool(detector.scanner.renderer.render(dialogue))
    except DialogueFailed:
        return False


class _Loop:
    """How one would do it at first: each window alone, padded to the model's length, own attention."""

    def __init__(self, engine: LocalEngine, length: int) -> None:
        self.engine, self.length = engine, length
        self.backbone = copy.deepcopy(engine.model.backbone)
        self.backbone.set_attn_implementation("sdpa")

    def scan(self, windows: Sequence[Rendered]) -> list[np.ndarray]:
        """Slot scores of each window."""
        import torch

        results = []
        for window in windows:
            ids = torch.zeros(1, self.length, dtype=torch.long)
            ids[0, : len(window)] = torch.tensor(window.ids)
            mask = (torch.arange(self.length) < len(window)).long()[None]
            with (
                torch.inference_mode(),
                torch.autocast("cpu", torch.bfloat16, enabled=self.engine.precision == "bf16"),
            ):
                states = self.backbone(input_ids=ids, attention_mask=mask).last_hidden_state[0]
            slots = [slot.position for slot in window.slots]
            with torch.inference_mode():
                results.append(self.engine.model.turn_head(states[slots].float()).numpy())
        return results


def _differences(engine: LocalEngine, windows: Sequence[Rendered]) -> float:
    """The largest difference of a slot's score between scan and loop."""
    length = max(map(len, windows)) + 8
    pairs = zip(engine.scan(windows), _Loop(engine, length).scan(windows), strict=True)
    return max(float(np.abs(mine.slots - theirs).max()) for mine, theirs in pairs if mine.slots.size)


def _bare(engine: LocalEngine, windows: Sequence[Rendered]) -> None:
    """The backbone alone on the rows that the scan makes."""
    import torch

    for row in engine.rows(windows):
        packed = engine.packed([windows[place] for place in row])
        with (
            torch.inference_mode(),
            torch.autocast("cpu", torch.bfloat16, enabled=engine.precision == "bf16"),
        ):
            engine.model.hidden(packed)


def _timed(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Wall seconds of every way, in turns, after one run each to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(rounds + 1):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            if round_:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def table(found: dict[str, Any]) -> Any:
    """The figures as a rich table."""
    from rich.table import Table

    shown = Table(title=f"{found['dialogues']} dialogues, {found['tokens']} tokens, {found['engine']}")
    for column in ("way", "seconds (median)", "spread", "dialogues/s"):
        shown.add_column(column, justify="left" if column == "way" else "right")
    for name, values in found["seconds"].items():
        low, high, median = min(values["all"]), max(values["all"]), values["median"]
        shown.add_row(name, f"{median:.3f}", f"{low:.3f}-{high:.3f}", f"{found['dialogues'] / median:.1f}")
    shown.caption = "   ".join(
        (
            f"scan / bare pass {found['scan_over_bare']:.3f}",
            f"whole scan / bare pass {found['whole_scan_over_bare']:.3f}",
            f"loop / scan {found['loop_over_scan']:.2f}",
            f"largest difference {found['largest_difference_fp32']:.1e}",
        )
    )
    return shown
