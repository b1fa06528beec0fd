"""Keeps the scores of windows on disk: no window is read twice, neither by a pack that was killed and goes on
nor by one that needs a set for two purposes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dialint.detector.artifacts import atomic_file, make_output_folder
from dialint.detector.render import Rendered
from dialint.detector.scanner import Engine, WindowScores

CHUNK = 16
"""Windows that a kill loses at most."""


class KeptScores:
    """An engine that asks `engine` only for windows without a file in `folder`. `weights` names the model's
    weights: other weights have other files."""

    def __init__(self, engine: Engine, folder: Path, weights: str) -> None:
        make_output_folder(folder)
        self._engine, self._folder = engine, folder
        self.fingerprint = engine.fingerprint
        self._key = f"{weights}|{engine.fingerprint}"
        self.on_row: Callable[[], None] = lambda: None
        self.n_tokens = 0
        self.share_scanned = 0.0

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]:
        """Scores of each window, in the order given."""
        files = [self._file(window) for window in windows]
        missing = [window for window, file in zip(windows, files, strict=True) if not file.exists()]
        wanted, before = sum(map(len, windows)), self.n_tokens
        self.n_tokens += wanted - sum(map(len, missing))
        missing.sort(key=len)
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            self.share_scanned = (self.n_tokens - before) / wanted
            self.on_row()
            for window, scores in zip(chunk, self._engine.scan(chunk), strict=True):
                with atomic_file(self._file(window)) as file:
                    np.savez(file, scores.slots, *scores.spans)
            self.n_tokens += sum(map(len, chunk))
        return [_read(file) for file in files]

    def _file(self, window: Rendered) -> Path:
        of = f"{self._key}|{window.ids}|{window.word_kinds}|{window.slots}"
        return self._folder / f"{hashlib.sha256(of.encode()).hexdigest()}.npz"


def _read(file: Path) -> WindowScores:
    with np.load(file) as arrays:
        slots, *spans = (arrays[name] for name in arrays.files)
    return WindowScores(slots, tuple(spans))
