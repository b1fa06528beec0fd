"""Times the scan against a padded one-by-one loop and against the bare forward pass.

    python runs/studies/scan_speed.py LOG... --rounds 5

All three run the same weights with the same threads on the same windows, in turns, in one process.
Equal scores are asserted (in fp32, to 1e-4) before anything is timed. Says nothing of quality.
"""

from __future__ import annotations

import copy
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import cyclopts
import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import package_versions
from dialint.detector.errors import ConfigError, DialogueFailed
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.interface import DetectorConfig
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import check_ranges
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import Dialogue
from dialint.detector.render import Rendered
from dialint.detector.scanner import WindowScores

if TYPE_CHECKING:
    from dialint.detector.engines.local import LocalEngine

TOLERANCE = 1e-4
DEFAULT_DETECTOR = DetectorConfig()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SpeedConfig:
    """Options of the measurement."""

    limit: Annotated[int, Field(ge=1)] = 200
    """Dialogues taken from the logs."""
    rounds: Annotated[int, Field(ge=1)] = 5
    """Runs of each variant, alternating."""

    def __post_init__(self) -> None:
        check_ranges(self)


def speed(
    *logs: str,
    config: SpeedConfig = SpeedConfig(),
    detector: Annotated[DetectorConfig, Parameter(name="*")] = DEFAULT_DETECTOR,
) -> None:
    """Time the scan against a one-by-one loop and the bare forward pass; print JSON."""
    if not logs:
        raise ConfigError("E_OPTION", "name at least one log to time on")
    exact = load_detector(replace(detector, precision="fp32"))
    report = run(load_detector(detector), exact, _dialogues(logs, config.limit), config.rounds)
    print(json.dumps(report, indent=1))


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
    if not dialogues:
        raise ConfigError("E_OPTION", "the logs hold no dialogue with an agent turn, so nothing can be timed")
    windows = [window for dialogue in dialogues for window in renderer.render(dialogue)]
    differences = _differences(_engine(exact), windows, renderer.config.context_tokens)
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
    seconds = _time(ways, rounds)
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
        "versions": package_versions("torch", "transformers", "tokenizers"),
    }


def _engine(detector: ReleaseDetector) -> LocalEngine:
    from dialint.detector.engines.local import LocalEngine

    if not isinstance(detector.scanner.engine, LocalEngine):
        raise ConfigError("E_OPTION", "only the local engine can be timed this way")
    return detector.scanner.engine


def _judgeable(detector: ReleaseDetector, dialogue: Dialogue) -> bool:
    try:
        return bool(detector.scanner.renderer.render(dialogue))
    except DialogueFailed:
        return False


class _Loop:
    """The naive implementation: each window alone, padded, with the model's own attention."""

    def __init__(self, engine: LocalEngine, context_tokens: int, padding: int | None = None) -> None:
        """Pads to `context_tokens`, or by at most `padding` tokens."""
        self.engine, self.context_tokens, self.padding = engine, context_tokens, padding
        self.backbone = copy.deepcopy(engine.model.backbone)
        self.backbone.set_attn_implementation("sdpa")

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]:
        """Scores of each window."""
        return [self._alone(window) for window in windows]

    def _alone(self, window: Rendered) -> WindowScores:
        import torch

        from dialint.detector.engines import local

        length = self.context_tokens
        if self.padding is not None:
            length = min(length, len(window) + self.padding)
        device = self.engine.device
        ids = torch.zeros(1, length, dtype=torch.long)
        ids[0, : len(window)] = torch.tensor(window.ids)
        speakers = torch.zeros_like(ids)
        speakers[0, : len(window.word_kinds)] = torch.tensor(window.word_kinds, dtype=torch.long)
        mask = (torch.arange(length) < len(window)).long()[None]
        inputs = self.engine.model.inputs(ids.to(device), speakers.to(device))
        with torch.inference_mode():
            with torch.autocast(device.type, torch.bfloat16, enabled=self.engine.precision == "bf16"):
                output = self.backbone(**inputs, attention_mask=mask.to(device))
            row = local.pack_windows([window])
            return local.read_heads(self.engine.model, output.last_hidden_state[0].float(), [window], row)[0]


def _differences(engine: LocalEngine, windows: Sequence[Rendered], context_tokens: int) -> float:
    """The largest difference of a turn's or a token's score between scan and loop."""
    pairs = zip(engine.scan(windows), _Loop(engine, context_tokens, 8).scan(windows), strict=True)
    return max(_apart(mine, theirs) for mine, theirs in pairs)


def _apart(mine: WindowScores, theirs: WindowScores) -> float:
    parts = [(mine.slots, theirs.slots), *zip(mine.spans, theirs.spans, strict=True)]
    return max((float(np.abs(a - b).max()) for a, b in parts if a.size), default=0.0)


def _bare(engine: LocalEngine, windows: Sequence[Rendered]) -> None:
    """The backbone alone on the rows that the scan makes."""
    import torch

    from dialint.detector.engines.local import fill_rows

    for row in fill_rows([len(window) for window in windows], engine.row_tokens):
        packed = engine.pack([windows[index] for index in row])
        with (
            torch.inference_mode(),
            torch.autocast(engine.device.type, torch.bfloat16, enabled=engine.precision == "bf16"),
        ):
            engine.model.hidden_states(packed)
    if engine.device.type == "cuda":
        torch.cuda.synchronize(engine.device)


def _time(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Wall seconds of every way, in turns, after one run each to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(rounds + 1):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            if round_:
                seconds[name].append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    cyclopts.run(speed)
